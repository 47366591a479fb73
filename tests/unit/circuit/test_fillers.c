/* Fillers against the rows, wire for wire, on random and edge inputs: every kind of argument
 * (constant, wire, negated, repeated), every arity and position. CUZK_TEST_SEED repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "circuit/fillers.h"
#include "circuit/gadgets.h"
#include "circuit/record.h"
#include "field/fields.h"

static cuzk_poseidon_set set;
static uint64_t rng;

static uint64_t rnd(void) { /* splitmix64 */
    uint64_t z = rng += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* A field element, often at an edge: 0, 1, r - 1, one bit. Plain. */
static cuzk_u256 rnd_fr(void) {
    static const cuzk_u256 r = {CUZK_BLS12_381_FR_MODULUS};
    cuzk_u256 v = {{0}};
    switch (rnd() % 8) {
    case 0:
        return v;
    case 1:
        v.l[0] = 1;
        return v;
    case 2:
        v = r;
        v.l[0] -= 1 + rnd() % 3;
        return v;
    case 3:
        v.l[rnd() % 3] = (uint64_t)1 << (rnd() % 64);
        return v;
    default:
        do {
            for (int i = 0; i < 4; i++)
                v.l[i] = rnd();
            v.l[3] >>= 1;
        } while (!cuzk_bls12_381_fr_is_canonical(&v));
        return v;
    }
}

/* Ends a recording. */
static cuzk_r1cs *finish(cuzk_recorder *rec) {
    cuzk_r1cs *r;
    cuzk_err err = {0};
    if (cuzk_recorder_finish(rec, &r, &err) != CUZK_OK) fail_msg("%s", err.msg);
    cuzk_recorder_free(rec);
    return r;
}

/* Solves a system through the rows and through fillers; every row must hold, every wire be equal.
 */
static cuzk_witness *compare(const cuzk_r1cs *r, const cuzk_u256 *frees) {
    cuzk_witness *w[2];
    cuzk_err err = {0};
    for (int k = 0; k < 2; k++) {
        cuzk_witness_plan *plan;
        assert_int_equal(k ? cuzk_circuit_plan(&plan, r, &set)
                           : cuzk_witness_plan_new(&plan, r, NULL, 0, NULL),
                         CUZK_OK);
        assert_int_equal(cuzk_witness_new(&w[k], r), CUZK_OK);
        if (cuzk_witness_solve(w[k], plan, frees, r->n_free, NULL, &err) != CUZK_OK)
            fail_msg("%s", err.msg);
        cuzk_witness_plan_free(plan);
    }
    if (cuzk_witness_check(w[0], NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
    for (uint32_t i = 0; i < r->n_aux; i++) {
        cuzk_u256 a, b;
        assert_int_equal(cuzk_witness_get(&a, w[0], CUZK_WIRE_AUX | i), CUZK_OK);
        assert_int_equal(cuzk_witness_get(&b, w[1], CUZK_WIRE_AUX | i), CUZK_OK);
        if (memcmp(&a, &b, sizeof a) != 0) fail_msg("wire %u differs", i);
    }
    cuzk_witness_free(w[0]);
    return w[1];
}

/* The value of a Boolean operand. */
static unsigned bit_value(const cuzk_witness *w, cuzk_bit b) {
    cuzk_u256 v;
    assert_int_equal(cuzk_witness_get(&v, w, cuzk_bit_wire(b)), CUZK_OK);
    return (unsigned)v.l[0] ^ cuzk_bit_is_not(b);
}

/* Messages of any mixture, hashed in the circuit and by OpenSSL. */
static void sha256(void **state) {
    (void)state;
    for (int round = 0; round < 6; round++) {
        cuzk_recorder *rec;
        const uint32_t n = 8 * (uint32_t)(rnd() % 120 + 4), pool = (uint32_t)(rnd() % 300 + 60);
        const unsigned consts = (unsigned)(rnd() % 3) * 40, nots = (unsigned)(rnd() % 3) * 40;
        cuzk_bit wires[360], msg[1024], out[256];
        cuzk_u256 frees[360] = {{{0}}};
        uint8_t bytes[128] = {0}, want[32], got[32] = {0};
        assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
        cuzk_cs *cs = cuzk_recorder_cs(rec);
        for (uint32_t i = 0; i < pool; i++) {
            wires[i] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
            frees[i].l[0] = round == 0 ? 0 : round == 1 ? 1 : rnd() & 1;
        }
        for (uint32_t i = 0; i < n; i++) {
            msg[i] = rnd() % 100 < consts ? cuzk_bit_const(rnd() & 1) : wires[rnd() % pool];
            if (rnd() % 100 < nots) msg[i] = cuzk_bit_not(msg[i]);
        }
        cuzk_gadget_sha256(cs, msg, n, out);
        cuzk_r1cs *r = finish(rec);
        cuzk_witness *w = compare(r, frees);
        for (uint32_t i = 0; i < n; i++)
            bytes[i / 8] = (uint8_t)(bytes[i / 8] | bit_value(w, msg[i]) << (7 - i % 8));
        for (uint32_t i = 0; i < 256; i++)
            got[i / 8] = (uint8_t)(got[i / 8] | bit_value(w, out[i]) << (7 - i % 8));
        assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, bytes, n / 8, want), CUZK_OK);
        assert_memory_equal(got, want, 32);
        cuzk_witness_free(w);
        cuzk_r1cs_free(r);
    }
}

/* All arities, against the plain hash; the second hash of each takes the first's result twice. */
static void poseidon(void **state) {
    static const uint32_t arities[] = {2, 4, 8, 11};
    (void)state;
    for (int round = 0; round < 4; round++) {
        for (int k = 0; k < 4; k++) {
            const uint32_t arity = arities[k];
            const uint64_t tag =
                k == 0 && round % 2 ? CUZK_POSEIDON_TAG_CUSTOM_1 : cuzk_poseidon_tree_tag(arity);
            cuzk_recorder *rec;
            cuzk_wire in[11], out;
            cuzk_u256 frees[11], mont[11], want, got;
            assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
            cuzk_cs *cs = cuzk_recorder_cs(rec);
            for (uint32_t i = 0; i < arity; i++) {
                in[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
                frees[i] = rnd_fr();
                cuzk_bls12_381_fr_to_mont(&mont[i], &frees[i]);
            }
            in[0] = in[1] = cuzk_gadget_poseidon(cs, arity, tag, in);
            out = cuzk_gadget_poseidon(cs, arity, tag, in);
            cuzk_r1cs *r = finish(rec);
            cuzk_witness *w = compare(r, frees);
            cuzk_poseidon_hash(&want, set.arity[arity], tag, mont);
            mont[0] = mont[1] = want;
            cuzk_poseidon_hash(&want, set.arity[arity], tag, mont);
            cuzk_bls12_381_fr_from_mont(&want, &want);
            assert_int_equal(cuzk_witness_get(&got, w, out), CUZK_OK);
            assert_memory_equal(&got, &want, sizeof got);
            cuzk_witness_free(w);
            cuzk_r1cs_free(r);
        }
    }
}

/* A path of three levels, every position of its first: the index comes out as public input and the
 * root is the one of the plain hash. own: siblings and bits belong to the level. */
static void tree_path(uint32_t arity, uint32_t position, bool own) {
    const uint32_t n_bits = (uint32_t)__builtin_ctz(arity);
    cuzk_recorder *rec;
    cuzk_u256 frees[64], cur, got;
    cuzk_bit bits[9];
    cuzk_wire node;
    uint32_t n = 0;
    assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
    cuzk_cs *cs = cuzk_recorder_cs(rec);
    node = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
    frees[n++] = rnd_fr();
    cuzk_bls12_381_fr_to_mont(&cur, &frees[0]);
    for (uint32_t l = 0; l < 3; l++) {
        const uint32_t at = l == 0 ? position : (uint32_t)rnd() % arity;
        cuzk_wire siblings[7];
        cuzk_u256 child[8];
        for (uint32_t i = 0; i < n_bits; i++)
            frees[n++] = (cuzk_u256){{at >> i & 1, 0, 0, 0}};
        for (uint32_t i = 0; i < arity; i++) {
            if (i == at) {
                child[i] = cur;
                continue;
            }
            frees[n] = rnd_fr();
            cuzk_bls12_381_fr_to_mont(&child[i], &frees[n++]);
        }
        if (own) {
            node = cuzk_gadget_level(cs, arity, node, bits + l * n_bits);
        } else {
            for (uint32_t i = 0; i < n_bits; i++)
                bits[l * n_bits + i] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
            for (uint32_t i = 0; i + 1 < arity; i++)
                siblings[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
            node = cuzk_gadget_level_with(cs, arity, node, bits + l * n_bits, siblings);
        }
        cuzk_poseidon_hash(&cur, set.arity[arity], cuzk_poseidon_tree_tag(arity), child);
    }
    cuzk_gadget_pack_inputs(cs, bits, 3 * n_bits);
    cuzk_r1cs *r = finish(rec);
    assert_int_equal(r->n_free, n);
    cuzk_witness *w = compare(r, frees);
    assert_int_equal(cuzk_witness_get(&got, w, node), CUZK_OK);
    cuzk_bls12_381_fr_from_mont(&cur, &cur);
    assert_memory_equal(&got, &cur, sizeof got);
    assert_int_equal(cuzk_witness_get(&got, w, 1), CUZK_OK); /* the public input */
    assert_int_equal(got.l[0] % arity, position);
    cuzk_witness_free(w);
    cuzk_r1cs_free(r);
}

static void levels(void **state) {
    (void)state;
    for (uint32_t arity = 2; arity <= 8; arity *= 2) {
        for (uint32_t p = 0; p < arity; p++) {
            tree_path(arity, p, true);
            tree_path(arity, p, false);
        }
    }
}

/* n paths under steps of their own, which a plan walks side by side, and hashes of every arity. */
static void side_by_side(void **state) {
    (void)state;
    static const uint32_t arities[] = {2, 4, 8, 11};
    for (uint32_t n = 1; n <= 18; n += n < 9 ? 1 : 9) {
        cuzk_recorder *rec;
        cuzk_u256 *frees = NULL;
        size_t n_free = 0;
        assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
        cuzk_cs *cs = cuzk_recorder_cs(rec);
        assert_int_equal(cuzk_alloc((void **)&frees, 18 * 100, sizeof *frees), CUZK_OK);
        for (uint32_t k = 0; k < n; k++) {
            cuzk_cs_push(cs, "path", k);
            for (int a = 0; a < 4; a++) {
                const uint32_t arity = arities[a], n_bits = (uint32_t)__builtin_ctz(arity);
                cuzk_wire in[11], node;
                cuzk_bit b[3];
                for (uint32_t i = 0; i < arity; i++) {
                    in[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
                    frees[n_free++] = rnd_fr();
                }
                node = cuzk_gadget_poseidon(cs, arity, cuzk_poseidon_tree_tag(arity), in);
                if (arity == 11) continue;
                for (int level = 0; level < 2; level++) {
                    for (uint32_t i = 0; i < n_bits; i++)
                        frees[n_free++] = (cuzk_u256){{rnd() & 1, 0, 0, 0}};
                    for (uint32_t i = 0; i + 1 < arity; i++)
                        frees[n_free++] = rnd_fr();
                    node = cuzk_gadget_level(cs, arity, node, b);
                }
                cuzk_gadget_level_with(cs, arity, node, b, in);
            }
            cuzk_cs_pop(cs);
        }
        cuzk_r1cs *r = finish(rec);
        assert_int_equal(r->n_free, n_free);
        cuzk_witness_free(compare(r, frees));
        cuzk_free(frees);
        cuzk_r1cs_free(r);
    }
}

static void bits(void **state) {
    (void)state;
    cuzk_recorder *rec;
    enum { N = 20 };
    cuzk_u256 frees[N];
    assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
    cuzk_cs *cs = cuzk_recorder_cs(rec);
    for (int i = 0; i < N; i++) {
        cuzk_bit b[255];
        frees[i] = rnd_fr();
        cuzk_gadget_to_bits(cs, cuzk_cs_alloc(cs, CUZK_CLASS_FREE), b);
    }
    cuzk_r1cs *r = finish(rec);
    cuzk_witness_free(compare(r, frees));
    cuzk_r1cs_free(r);
}

/* A gadget that uses a wire it was not given is refused, and so is a wire nothing defines. */
static cuzk_wire smuggled;

static void bad_body(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out) {
    (void)params;
    out[0] = cuzk_gadget_mul(cs, in[0], smuggled);
}

static void recorder_errors(void **state) {
    static const cuzk_gadget bad = {"bad", bad_body};
    (void)state;
    for (int k = 0; k < 2; k++) {
        cuzk_recorder *rec;
        cuzk_r1cs *r;
        cuzk_err err = {0};
        cuzk_wire out;
        assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
        cuzk_cs *cs = cuzk_recorder_cs(rec);
        const cuzk_wire a = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
        smuggled = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
        if (k == 0)
            cuzk_cs_call(cs, &bad, NULL, 0, &a, 1, &out, 1);
        else
            cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
        assert_int_equal(cuzk_recorder_finish(rec, &r, &err), CUZK_STATUS_BUG);
        assert_null(r);
        assert_non_null(strstr(err.msg, k == 0 ? "no argument" : "no definition"));
        cuzk_recorder_free(rec);
    }
}

static int setup(void **state) {
    (void)state;
    const char *seed = getenv("CUZK_TEST_SEED");
    rng = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    print_message("CUZK_TEST_SEED=%llu\n", (unsigned long long)rng);
    return cuzk_poseidon_set_init(&set) != CUZK_OK;
}

static int teardown(void **state) {
    (void)state;
    cuzk_poseidon_set_fini(&set);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256), cmocka_unit_test(poseidon),
        cmocka_unit_test(levels), cmocka_unit_test(side_by_side),
        cmocka_unit_test(bits),   cmocka_unit_test(recorder_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

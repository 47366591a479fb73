#include "support.h"

#include "bellperson.h"

#include "backend/cpu/cpu.h"
#include "base/hash.h"
#include "circuit/fillers.h"
#include "circuit/record.h"
#include "curve/zcash.h"
#include "format/proof_bytes.h"
#include "r1cs/eval.h"
#include "unit/circuit/vanilla.h"

static cuzk_poseidon_set set;

/* ---- circuits and witnesses ---- */

static void cubic(cuzk_cs *cs) {
    const uint32_t one = CUZK_COEF_ONE;
    uint32_t five;
    cuzk_u256 v = {{5, 0, 0, 0}};
    cuzk_bls12_381_fr_ops.to_mont(&v, &v);
    assert_int_equal(cuzk_coefs_id(&cs->coefs, &v, &five), CUZK_OK);
    const cuzk_wire x = cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
    const cuzk_wire x2 = cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
    const cuzk_flat_term tx = {x, one}, tx2 = {x2, one};
    cuzk_cs_row(cs, &tx, 1, &tx, 1, &tx2, 1);
    const cuzk_wire x3 = cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
    const cuzk_flat_term tx3 = {x3, one}, tone = {CUZK_WIRE_ONE, one};
    cuzk_cs_row(cs, &tx2, 1, &tx, 1, &tx3, 1);
    const cuzk_flat_term ty = {cuzk_cs_alloc_input(cs), one};
    const cuzk_flat_term sum[3] = {tx3, tx, {CUZK_WIRE_ONE, five}};
    cuzk_cs_row(cs, sum, 3, &tone, 1, &ty, 1);
}

static void preimage(cuzk_cs *cs) {
    cuzk_wire in[2];
    for (int i = 0; i < 2; i++)
        in[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
    cuzk_gadget_inputize(cs, cuzk_gadget_poseidon(cs, 2, cuzk_poseidon_tree_tag(2), in));
}

static void solve(sector *s, const cuzk_u256 *frees) {
    cuzk_witness_plan *plan;
    cuzk_err err = {0};
    assert_int_equal(cuzk_circuit_plan(&plan, s->r, &set), CUZK_OK);
    assert_int_equal(cuzk_witness_new(&s->w, s->r), CUZK_OK);
    if (cuzk_witness_solve(s->w, plan, frees, s->r->n_free, NULL, &err)) fail_msg("%s", err.msg);
    if (cuzk_witness_check(s->w, NULL, &err)) fail_msg("%s", err.msg);
    cuzk_witness_plan_free(plan);
    assert_int_equal(cuzk_r1cs_density_of(&s->density, s->r), CUZK_OK);
    cuzk_params_counts_of(&s->counts, s->r, &s->density);
}

static void need_constants(void) {
    if (!set.arity[2]) assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
}

static void tiny(sector *s, void (*build)(cuzk_cs *cs), const cuzk_u256 *frees) {
    cuzk_recorder *rec;
    cuzk_err err = {0};
    need_constants();
    assert_int_equal(cuzk_recorder_new(&rec, &set), CUZK_OK);
    build(cuzk_recorder_cs(rec));
    if (cuzk_recorder_finish(rec, &s->r, &err)) fail_msg("%s", err.msg);
    cuzk_recorder_free(rec);
    solve(s, frees);
}

void cubic_sector(sector *s) {
    const cuzk_u256 three = {{3, 0, 0, 0}};
    tiny(s, cubic, &three);
}

void poseidon_sector(sector *s) {
    const cuzk_u256 in[2] = {{{1, 0, 0, 0}}, {{2, 0, 0, 0}}};
    tiny(s, preimage, in);
}

void vanilla_sector(sector *s, const char *circuit, const char *file) {
    size_t len;
    cuzk_err err = {0};
    const cuzk_circuit *c = cuzk_circuit_find(circuit);
    assert_non_null(c);
    need_constants();
    uint8_t *bytes = vanilla_read(file, &len);
    if (cuzk_circuit_compact(&s->r, c, &err)) fail_msg("%s", err.msg);
    const size_t n = s->r->n_free;
    cuzk_u256 *frees = c->kind == CUZK_CIRCUIT_POREP  ? vanilla_porep(&c->u.porep, bytes, len, n)
                       : c->kind == CUZK_CIRCUIT_POST ? vanilla_post(&c->u.post, bytes, len, n)
                                                      : vanilla_update(&c->u.update, bytes, len, n);
    solve(s, frees);
    free(frees);
    free(bytes);
}

void sector_free(sector *s) {
    cuzk_witness_free(s->w);
    cuzk_r1cs_free(s->r);
    cuzk_r1cs_density_free(&s->density);
    cuzk_poseidon_set_fini(&set);
    memset(&set, 0, sizeof set);
}

cuzk_wires wires_of(const sector *s) {
    return (cuzk_wires){.bits = s->w->bits, .full = s->w->full, .montgomery = true};
}

/* ---- vectors ---- */

json_t *proof_vector(const char *name) {
    char path[512];
    json_error_t je;
    snprintf(path, sizeof path, "%s/porep/proofs/%s.json", CUZK_TEST_VECTORS, name);
    json_t *doc = json_load_file(path, 0, &je);
    if (!doc) fail_msg("%s: %s", path, je.text);
    return doc;
}

static unsigned digit(char c) {
    return (unsigned)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

static size_t hex_decode(const char *text, uint8_t *out, size_t room) {
    assert_non_null(text);
    const size_t n = strlen(text) / 2;
    assert_true(n <= room);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return n;
}

size_t hex_bytes(json_t *doc, const char *key, uint8_t *out, size_t room) {
    return hex_decode(json_string_value(json_object_get(doc, key)), out, room);
}

void hex_scalar(json_t *doc, const char *key, cuzk_u256 *out) {
    assert_int_equal(hex_bytes(doc, key, (uint8_t *)out, sizeof *out), sizeof *out);
}

cuzk_u256 *public_vector(json_t *doc, size_t *n) {
    json_t *list = json_object_get(doc, "public_inputs_le");
    *n = json_array_size(list);
    cuzk_u256 *out = calloc(*n + 1, sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < *n; i++)
        assert_int_equal(
            hex_decode(json_string_value(json_array_get(list, i)), (uint8_t *)&out[i], 32), 32);
    return out;
}

static void expect_digest(json_t *want, const uint8_t got[32], const char *what) {
    uint8_t d[32];
    hex_decode(json_string_value(want), d, sizeof d);
    if (memcmp(d, got, 32) != 0) fail_msg("%s differs", what);
}

/* Blake2s-256 over plain values: of a and b their Montgomery forms are given, of c the product. */
static void digest_rows(const cuzk_fr_ops *fr, const cuzk_u256 *x, size_t n, uint8_t out[32]) {
    cuzk_hash *h;
    assert_int_equal(cuzk_hash_new(&h, CUZK_HASH_BLAKE2S_256), CUZK_OK);
    for (size_t i = 0; i < n; i++) {
        cuzk_u256 plain;
        fr->from_mont(&plain, &x[i]);
        cuzk_hash_update(h, &plain, sizeof plain);
    }
    assert_int_equal(cuzk_hash_final(h, out), CUZK_OK);
}

static void expect_rows(const sector *s, json_t *doc) {
    const cuzk_r1cs *r = s->r;
    const size_t n = (size_t)r->n_rows + r->n_inputs;
    json_t *want = json_object_get(doc, "abc_blake2s");
    cuzk_u256 *x[3];
    uint8_t d[32];
    for (int m = 0; m < 3; m++) {
        x[m] = calloc(n, sizeof **x);
        assert_non_null(x[m]);
    }
    assert_int_equal(
        cuzk_r1cs_eval(r, s->w->bits, s->w->full, 0, r->n_rows, x[0], x[1], x[2], NULL), CUZK_OK);
    for (uint32_t i = 0; i < r->n_inputs; i++) {
        assert_int_equal(cuzk_witness_get(&x[0][r->n_rows + i], s->w, i), CUZK_OK);
        r->fr->to_mont(&x[0][r->n_rows + i], &x[0][r->n_rows + i]);
    }
    for (int m = 0; m < 3; m++) {
        digest_rows(r->fr, x[m], n, d);
        expect_digest(json_array_get(want, (size_t)m), d, "a row vector");
        free(x[m]);
    }
}

static void expect_sums(const cuzk_groth16_sums *sums, json_t *want) {
    const struct {
        const char *name;
        cuzk_group g;
        const cuzk_point *p;
    } list[5] = {{"a_g1", CUZK_G1, &sums->a},
                 {"b_g1", CUZK_G1, &sums->b1},
                 {"b_g2", CUZK_G2, &sums->b2},
                 {"l_g1", CUZK_G1, &sums->l},
                 {"h_g1", CUZK_G1, &sums->h}};
    for (int i = 0; i < 5; i++) {
        uint8_t got[96], expected[96];
        const size_t n = hex_bytes(want, list[i].name, expected, sizeof expected);
        assert_int_equal(n, list[i].g == CUZK_G1 ? 48 : 96);
        cuzk_zcash_compress(list[i].g, got, list[i].p);
        if (memcmp(got, expected, n) != 0) fail_msg("sum %s differs", list[i].name);
    }
}

void expect_vector(const sector *s, const cuzk_params_key *key, const char *vector, cuzk_pool *pool,
                   cuzk_cpu_impl impl) {
    json_t *doc = proof_vector(vector);
    cuzk_err err = {0};
    cuzk_u256 blind[2], zero[2] = {{{0}}};
    uint8_t d[32], bytes[CUZK_PROOF_BYTES], want[CUZK_PROOF_BYTES];
    assert_int_equal(cuzk_witness_digest(d, s->w), CUZK_OK);
    expect_digest(json_object_get(doc, "witness_blake2s"), d, "the witness");
    expect_rows(s, doc);
    hex_scalar(doc, "r", &blind[0]);
    hex_scalar(doc, "s", &blind[1]);

    cuzk_backend *cpu;
    cuzk_device_key *dk;
    cuzk_slot *slot;
    assert_int_equal(cuzk_cpu_backend_open(&cpu, impl, pool, &err), CUZK_OK);
    assert_int_equal(cpu->ops->key_load(cpu, &dk, &key->key, &err), CUZK_OK);
    assert_int_equal(cpu->ops->slot_new(dk, &slot, &err), CUZK_OK);
    const cuzk_wires wires = wires_of(s);
    cuzk_groth16_sums sums;
    for (int blinded = 1; blinded >= 0; blinded--) {
        const cuzk_u256 *b = blinded ? blind : zero;
        const cuzk_prove_opts opts = {.r = &b[0], .s = &b[1], .pool = pool, .sums = &sums};
        cuzk_proof proof, back;
        if (cuzk_groth16_prove_slot(slot, &wires, &key->vk.vk, &opts, &proof, NULL, &err))
            fail_msg("%s: %s", vector, err.msg);
        expect_sums(&sums, json_object_get(doc, "sums"));
        cuzk_proof_to_bytes(bytes, &proof);
        assert_int_equal(hex_bytes(doc, blinded ? "proof" : "proof_r0_s0", want, sizeof want),
                         CUZK_PROOF_BYTES);
        assert_memory_equal(bytes, want, sizeof want);
        assert_int_equal(cuzk_proof_from_bytes(&back, bytes, vector, 0, &err), CUZK_OK);
        assert_memory_equal(&back.b, &proof.b, sizeof back.b);
        if (s->r->n_rows > 1 << 20) break; /* once is enough there */
    }
    assert_int_equal(
        cuzk_hash_once(CUZK_HASH_BLAKE2S_256, cuzk__cpu_slot_h(slot), (size_t)s->counts.h * 32, d),
        CUZK_OK);
    expect_digest(json_object_get(doc, "h_blake2s"), d, "the quotient");
    cpu->ops->slot_free(slot);
    cpu->ops->key_free(dk);
    cpu->ops->close(cpu);
    json_decref(doc);
}

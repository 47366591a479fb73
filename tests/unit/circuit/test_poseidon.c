/* Poseidon's generated constants and plain hash against published values. */
#include "support.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "circuit/poseidon.h"
#include "field/field.h"
#include "field/fields.h"
#include "hex.h"

static const uint32_t arities[4] = {2, 4, 8, 11};

static void put(cuzk_hash *h, const cuzk_u256 *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        cuzk_u256 plain;
        cuzk_bls12_381_fr_from_mont(&plain, &v[i]);
        cuzk_hash_update(h, plain.l, sizeof plain);
    }
}

static void constants(void **state) {
    static const char *const all[4] = {
        "5c26cfce9d004ea046a96e4eb670291a67dbf9612166c0c6600cb1a729ef8296",
        "cd676a7cb4b1eda66d6b97fa4679b9cd937c4b7a9d0a7168712392df0eab5261",
        "e7e2ed066e61f5b816da81e6d58c62363d38ca65979ade118050a7fab98c7817",
        "aa1f938aa2dc8673d6eab24d36a79c0512e0b6c1a0e9d2052a262ff6fbe5446c"};
    static const char *const crc[4] = {
        "cdd104969c31097e956039d1b7a7ca588a0e2674e37e9dd9b0c625ae3f549c41",
        "86a74e0dbec567b45f89e55363cb872708d530315212d57f69f7b42c2a14b26c",
        "78daa85778ba3f3c4bafdce0f03afaba7a64cbc44700f4d02f9f5ceb56d31d51",
        "a3d5077ccb551e6d2e9f8cf91af6c09fe1429a3afd7c03fcd8650b50045b1810"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        cuzk_poseidon *p;
        cuzk_hash *h;
        uint8_t digest[32];
        char hex[65];
        assert_int_equal(cuzk_poseidon_new(&p, arities[i]), CUZK_OK);
        const uint32_t t = p->t, n_crc = 8 * t + p->n_partial;
        assert_int_equal(cuzk_hash_new(&h, CUZK_HASH_BLAKE2S_256), CUZK_OK);
        put(h, p->crc, n_crc);
        assert_int_equal(cuzk_hash_final(h, digest), CUZK_OK);
        assert_string_equal(hex32(digest, hex), crc[i]);
        assert_int_equal(cuzk_hash_new(&h, CUZK_HASH_BLAKE2S_256), CUZK_OK);
        put(h, p->crc, n_crc);
        put(h, p->mds, t * t);
        put(h, p->pre, t * t);
        put(h, p->sparse, p->n_partial * (2 * t - 1));
        assert_int_equal(cuzk_hash_final(h, digest), CUZK_OK);
        assert_string_equal(hex32(digest, hex), all[i]);
        cuzk_poseidon_free(p);
    }
}

static void hash_vectors(void **state) {
    static const uint64_t want[4][4] = {
        {0x2e203c369a02e7ff, 0xa6fba9339d05a69d, 0x739e0fd902efe161, 0x396508d75e76a56b},
        {0x019814ff6662075d, 0xfb6b4605bf1327ec, 0x00db3c6579229399, 0x58a54b10a9e5848a},
        {0x2a9934f56d38a5e6, 0x4b682e9d9cc4aed9, 0x1201004211677077, 0x2394611da3a5de55},
        {0xcee3bbc32b693163, 0x09f3dcd8ccb08fc1, 0x6ca537e232ebe87a, 0x0c0fc1b2e5227f28}};
    cuzk_poseidon_set set;
    (void)state;
    assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
    for (int i = 0; i < 4; i++) {
        cuzk_u256 in[11], out, plain;
        for (uint32_t j = 0; j < arities[i]; j++)
            cuzk_bls12_381_fr_from_u64(&in[j], j);
        cuzk_poseidon_hash(&out, set.arity[arities[i]], cuzk_poseidon_tree_tag(arities[i]), in);
        cuzk_bls12_381_fr_from_mont(&plain, &out);
        assert_memory_equal(plain.l, want[i], 32);
    }
    cuzk_poseidon_set_fini(&set);
    cuzk_poseidon *none;
    assert_int_equal(cuzk_poseidon_new(&none, 3), CUZK_STATUS_USAGE);
    assert_null(none);
}

/* The hash as the paper has it: round keys, S-boxes, dense matrix. */
static void paper_hash(cuzk_u256 *out, const cuzk_poseidon *p, uint64_t tag, const cuzk_u256 *in) {
    const uint32_t t = p->t, half = CUZK_POSEIDON_FULL / 2;
    cuzk_u256 s[CUZK_POSEIDON_MAX_ARITY + 1], n[CUZK_POSEIDON_MAX_ARITY + 1], x;
    cuzk_bls12_381_fr_from_u64(&s[0], tag);
    memcpy(s + 1, in, p->arity * sizeof *s);
    for (uint32_t r = 0; r < CUZK_POSEIDON_FULL + p->n_partial; r++) {
        const bool full = r < half || r >= half + p->n_partial;
        for (uint32_t i = 0; i < t; i++)
            cuzk_bls12_381_fr_add(&s[i], &s[i], &p->round[r * t + i]);
        for (uint32_t i = 0; i < (full ? t : 1); i++) {
            cuzk_bls12_381_fr_sqr(&x, &s[i]);
            cuzk_bls12_381_fr_sqr(&x, &x);
            cuzk_bls12_381_fr_mul(&s[i], &s[i], &x);
        }
        for (uint32_t j = 0; j < t; j++) {
            cuzk_bls12_381_fr_set_zero(&n[j]);
            for (uint32_t i = 0; i < t; i++) {
                cuzk_bls12_381_fr_mul(&x, &s[i], &p->mds[i * t + j]);
                cuzk_bls12_381_fr_add(&n[j], &n[j], &x);
            }
        }
        memcpy(s, n, t * sizeof *s);
    }
    *out = s[1];
}

static void hash_is_the_papers(void **state) {
    cuzk_poseidon_set set;
    (void)state;
    test_rng_start();
    assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
    for (int i = 0; i < 4; i++) {
        const cuzk_poseidon *p = set.arity[arities[i]];
        for (int k = 0; k < 20; k++) {
            const uint64_t tag = k % 2 ? test_rng() : cuzk_poseidon_tree_tag(arities[i]);
            cuzk_u256 in[CUZK_POSEIDON_MAX_ARITY], got, want;
            for (uint32_t j = 0; j < arities[i]; j++) {
                uint8_t wide[64] = {0};
                if (k > 2) test_rng_bytes(wide, sizeof wide);
                cuzk_bls12_381_fr_ops.from_wide(&in[j], wide);
            }
            cuzk_poseidon_hash(&got, p, tag, in);
            paper_hash(&want, p, tag, in);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
    cuzk_poseidon_set_fini(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants), cmocka_unit_test(hash_vectors),
                                       cmocka_unit_test(hash_is_the_papers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Verifying: proofs of the reference implementation and two that others published, alone and as
 * batches; each with any one public input changed is refused. */
#include "support.h"

#include "bellperson.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "curve/zcash.h"
#include "format/proof_bytes.h"

static void read_vk(cuzk_params_vk *vk, const char *name) {
    char path[512];
    cuzk_map m;
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/porep/keys/%s.vk", CUZK_TEST_VECTORS, name);
    if (cuzk_map_file(&m, path, &err)) fail_msg("%s", err.msg);
    if (cuzk_params_vk_from_bytes(vk, m.data, m.len, path, 0, name, &err)) fail_msg("%s", err.msg);
    /* and back */
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_params_vk_to_bytes(vk, &b);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    assert_int_equal(b.len, m.len);
    assert_memory_equal(b.data, m.data, m.len);
    cuzk_buf_free(&b);
    cuzk_map_close(&m);
}

static void proof_of(json_t *doc, const char *member, cuzk_proof *out) {
    uint8_t bytes[CUZK_PROOF_BYTES], again[CUZK_PROOF_BYTES];
    cuzk_err err = {0};
    assert_int_equal(hex_bytes(doc, member, bytes, sizeof bytes), CUZK_PROOF_BYTES);
    if (cuzk_proof_from_bytes(out, bytes, member, 0, &err)) fail_msg("%s", err.msg);
    cuzk_proof_to_bytes(again, out);
    assert_memory_equal(again, bytes, sizeof bytes);
}

static void expect_verified(const cuzk_vk *vk, const cuzk_proof *proof, cuzk_u256 *publics,
                            size_t n, size_t step) {
    cuzk_err err = {0};
    assert_int_equal(n, vk->n_public);
    if (cuzk_groth16_verify(vk, publics, n, proof, &err)) fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i += step) {
        publics[i].l[0] ^= 1;
        assert_int_equal(cuzk_groth16_verify(vk, publics, n, proof, &err), CUZK_STATUS_FALSE);
        publics[i].l[0] ^= 1;
    }
}

static const struct {
    const char *proof, *vk;
} pairs[] = {
    {"cubic", "cubic"},
    {"poseidon-preimage", "poseidon-preimage"},
    {"window_2kib_v1_2", "window-2KiB"},
    {"winning_2kib_v1", "winning-2KiB"},
    {"update_2kib", "update-2KiB"},
    {"porep_2kib_lotusbench", "porep-2KiB"},
};

static void proofs_of_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        json_t *doc = proof_vector(pairs[i].proof);
        cuzk_params_vk vk;
        cuzk_proof proof;
        size_t n;
        cuzk_u256 *publics = public_vector(doc, &n);
        read_vk(&vk, pairs[i].vk);
        proof_of(doc, "proof", &proof);
        expect_verified(&vk.vk, &proof, publics, n, n / 8 + 1);
        free(publics);
        cuzk_params_vk_free(&vk);
        json_decref(doc);
    }
}

/* ---- the two real ones ---- */

/* A .vk with compressed points, as their source has it; the count's byte order is told by its
 * size. */
static void read_compressed_vk(json_t *doc, cuzk_vk *vk) {
    enum { ROOM = 1 << 14 };
    uint8_t *bytes = malloc(ROOM);
    assert_non_null(bytes);
    const size_t len = hex_bytes(doc, "vk_compressed", bytes, ROOM);
    cuzk_point beta1, delta1;
    const struct {
        cuzk_group g;
        cuzk_point *to;
    } points[6] = {{CUZK_G1, &vk->alpha1}, {CUZK_G1, &beta1},  {CUZK_G2, &vk->beta2},
                   {CUZK_G2, &vk->gamma2}, {CUZK_G1, &delta1}, {CUZK_G2, &vk->delta2}};
    const uint8_t *p = bytes;
    memset(vk, 0, sizeof *vk);
    vk->curve = cuzk_curve_get(CUZK_BLS12_381);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(cuzk_zcash_decompress(points[i].g, points[i].to, p), CUZK_ZCASH_OK);
        p += cuzk_zcash_size(points[i].g) / 2;
    }
    const size_t n = (len - (size_t)(p - bytes) - 4) / 48;
    assert_true(cuzk_ld_u32be(p) == n || cuzk_ld_u32le(p) == n);
    void *ic;
    assert_int_equal(cuzk_alloc(&ic, n, CUZK_ZCASH_G1), CUZK_OK);
    vk->ic = ic;
    vk->n_public = (uint32_t)n - 1;
    p += 4;
    for (size_t i = 0; i < n; i++, p += 48) {
        cuzk_point t;
        assert_int_equal(cuzk_zcash_decompress(CUZK_G1, &t, p), CUZK_ZCASH_OK);
        memcpy(vk->ic + i * CUZK_ZCASH_G1, &t, CUZK_ZCASH_G1);
    }
    free(bytes);
}

static void real_proofs(void **state) {
    static const char *const names[] = {"real_porep_2kib", "real_windowpost_2kib"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        json_t *doc = proof_vector(names[i]);
        cuzk_vk vk;
        cuzk_proof proof;
        size_t n;
        cuzk_u256 *publics = public_vector(doc, &n);
        read_compressed_vk(doc, &vk);
        proof_of(doc, "proof", &proof);
        expect_verified(&vk, &proof, publics, n, 1);
        cuzk_err err = {0};
        assert_int_equal(
            cuzk_groth16_verify_batch(&vk, publics, vk.n_public, &proof, 1, NULL, &err), CUZK_OK);
        free(publics);
        cuzk_vk_free(&vk);
        json_decref(doc);
    }
}

/* ---- batches ---- */

static void batches(void **state) {
    (void)state;
    json_t *doc = proof_vector("window_2kib_v1_2");
    cuzk_params_vk vk;
    cuzk_proof two[2], proofs[20];
    size_t n;
    cuzk_u256 *publics = public_vector(doc, &n), *all = calloc(20 * n, sizeof *all);
    cuzk_pool *pool;
    cuzk_err err = {0};
    assert_non_null(all);
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    read_vk(&vk, "window-2KiB");
    proof_of(doc, "proof", &two[0]);
    proof_of(doc, "proof_r0_s0", &two[1]);
    for (size_t i = 0; i < 20; i++) {
        proofs[i] = two[i % 2];
        memcpy(all + i * n, publics, n * sizeof *all);
    }
    for (size_t k = 0; k <= 20; k++)
        if (cuzk_groth16_verify_batch(&vk.vk, all, vk.vk.n_public, proofs, k, pool, &err))
            fail_msg("%s", err.msg);
    all[13 * n + 2].l[1] ^= 4;
    assert_int_equal(cuzk_groth16_verify_batch(&vk.vk, all, vk.vk.n_public, proofs, 20, pool, &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "proof 13 of 20"));
    all[13 * n + 2].l[1] ^= 4;
    /* C of one proof and C of another exchanged: each sum is the same without coefficients */
    const cuzk_point c = proofs[4].c;
    proofs[4].c = proofs[5].c;
    proofs[5].c = c;
    assert_int_equal(cuzk_groth16_verify_batch(&vk.vk, all, vk.vk.n_public, proofs, 20, pool, &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "proof 4 of 20"));
    all[0] = cuzk_bls12_381_fr_ops.modulus;
    assert_int_equal(cuzk_groth16_verify_batch(&vk.vk, all, vk.vk.n_public, proofs, 1, NULL, &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "not below r"));
    cuzk_pool_free(pool);
    cuzk_params_vk_free(&vk);
    free(publics);
    free(all);
    json_decref(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(proofs_of_the_reference),
                                       cmocka_unit_test(real_proofs), cmocka_unit_test(batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* .params, .vk and proofs as bytes: what is accepted, and every way of being wrong. */
#include "../../support.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "curve/zcash.h"
#include "format/params.h"
#include "format/proof_bytes.h"

#include <inttypes.h>
#include <unistd.h>

enum { G1 = 96, G2 = 192, VK = 868 + 2 * 96 };

typedef struct {
    uint8_t *p;
    size_t n;
} blob;

static blob read_key(const char *name) {
    char path[512];
    blob b;
    snprintf(path, sizeof path, "%s/porep/keys/%s", CUZK_TEST_VECTORS, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    b.n = (size_t)ftell(f);
    rewind(f);
    b.p = malloc(b.n);
    assert_non_null(b.p);
    assert_int_equal(fread(b.p, 1, b.n, f), b.n);
    fclose(f);
    return b;
}

/* Opens a heap copy of exactly n bytes, so that a sanitizer sees a read past the end. */
static cuzk_status open_copy(const uint8_t *p, size_t n, const cuzk_params_counts *want,
                             cuzk_err *err) {
    cuzk_params *params;
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, p, n);
    memset(err, 0, sizeof *err);
    cuzk_status st =
        cuzk_params_from_memory(&params, copy, n, "dir/cubic.params", want, "cubic", NULL, err);
    if (st == CUZK_OK) st = cuzk_params_check_points(params, NULL, NULL, err);
    if (st == CUZK_OK) assert_non_null(params);
    cuzk_params_free(params);
    free(copy);
    return st;
}

static cuzk_status vk_copy(const uint8_t *p, size_t n, uint32_t want_ic, cuzk_err *err) {
    cuzk_params_vk vk;
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, p, n);
    memset(err, 0, sizeof *err);
    const cuzk_status st =
        cuzk_params_vk_from_bytes(&vk, copy, n, "cubic.vk", want_ic, "cubic", err);
    if (st != CUZK_OK) assert_null(vk.vk.ic);
    cuzk_params_vk_free(&vk);
    free(copy);
    return st;
}

static void expect(cuzk_status st, const cuzk_err *err, const char *words) {
    assert_int_equal(st, CUZK_STATUS_BAD_INPUT);
    if (!strstr(err->msg, words)) fail_msg("no \"%s\" in: %s", words, err->msg);
}

static const cuzk_params_counts cubic = {.ic = 2, .h = 7, .l = 3, .a = 5, .b = 2};

/* Where each array's count stands in cubic.params. */
enum {
    AT_IC = 864,
    AT_H = VK,
    AT_L = AT_H + 4 + 7 * G1,
    AT_A = AT_L + 4 + 3 * G1,
    AT_B1 = AT_A + 4 + 5 * G1,
    AT_B2 = AT_B1 + 4 + 2 * G1,
    AT_END = AT_B2 + 4 + 2 * G2
};

static void whole_files(void **state) {
    (void)state;
    cuzk_err err;
    blob b = read_key("cubic.params"), v = read_key("cubic.vk");
    assert_int_equal(b.n, AT_END);
    assert_int_equal(b.n, cuzk_params_bytes(&cubic));
    assert_int_equal(v.n, cuzk_params_vk_bytes(2));
    assert_memory_equal(b.p, v.p, v.n);
    assert_int_equal(open_copy(b.p, b.n, NULL, &err), CUZK_OK);
    assert_int_equal(open_copy(b.p, b.n, &cubic, &err), CUZK_OK);
    assert_int_equal(vk_copy(v.p, v.n, 0, &err), CUZK_OK);
    assert_int_equal(vk_copy(v.p, v.n, 2, &err), CUZK_OK);
    expect(vk_copy(v.p, v.n, 3, &err), &err,
           "section ic at offset 864: expected 3 points, as cubic has, actual 2");
    free(b.p);
    free(v.p);
}

static const char *section_at(size_t off) {
    static const struct {
        size_t from;
        const char *name;
    } sections[] = {{AT_B2, "b_g2"}, {AT_B1, "b_g1"}, {AT_A, "a"},   {AT_L, "l"},
                    {AT_H, "h"},     {AT_IC, "ic"},   {0, "a point"}};
    size_t i = 0;
    while (off < sections[i].from)
        i++;
    return sections[i].name;
}

/* Cut at every offset: one clear error that names the section. */
static void cut_anywhere(void **state) {
    (void)state;
    cuzk_err err;
    char words[64];
    blob b = read_key("cubic.params"), v = read_key("cubic.vk");
    for (size_t n = 0; n < b.n; n++) {
        snprintf(words, sizeof words, n < AT_IC ? "%s" : "section %s at offset", section_at(n));
        expect(open_copy(b.p, n, NULL, &err), &err, words);
        expect(open_copy(b.p, n, &cubic, &err), &err, "the file is cut short");
        assert_non_null(strstr(err.msg, "cubic.params: section "));
        assert_non_null(strstr(err.msg, "expected"));
        assert_non_null(strstr(err.msg, "actual"));
    }
    for (size_t n = 0; n < v.n; n++)
        expect(vk_copy(v.p, n, 0, &err), &err, "the file is cut short");
    free(b.p);
    free(v.p);
}

/* The sizes of a porep-32g key, 44 GiB, in a file with holes: whole, and cut around every border.
 */
static void large_sparse(void **state) {
    (void)state;
    const cuzk_params_counts n = {
        .ic = 328, .h = 134217727, .l = 130169893, .a = 129753620, .b = 33112282};
    const uint32_t counts[] = {n.h, n.l, n.a, n.b, n.b};
    const uint64_t sizes[] = {G1, G1, G1, G1, G2};
    char path[] = "/tmp/cuzk_test_params_XXXXXX";
    uint64_t border[12];
    cuzk_params *params;
    cuzk_err err = {0};
    blob b = read_key("cubic.params");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    uint8_t word[4];
    /* six points, then one point 328 times over */
    assert_int_equal(pwrite(fd, b.p, 864, 0), 864);
    cuzk_st_u32be(word, n.ic);
    assert_int_equal(pwrite(fd, word, 4, 864), 4);
    for (uint32_t i = 0; i < n.ic; i++)
        assert_int_equal(pwrite(fd, b.p + 868, G1, 868 + (off_t)G1 * i), G1);
    uint64_t at = cuzk_params_vk_bytes(n.ic);
    size_t borders = 0;
    for (int i = 0; i < 5; i++) {
        cuzk_st_u32be(word, counts[i]);
        assert_int_equal(pwrite(fd, word, 4, (off_t)at), 4);
        border[borders++] = at;
        border[borders++] = at + 4;
        at += 4 + counts[i] * sizes[i];
    }
    border[borders++] = at;
    assert_int_equal(at, cuzk_params_bytes(&n));
    assert_int_equal(at, UINT64_C(47373928632));
    free(b.p);
    if (ftruncate(fd, (off_t)at) != 0) {
        close(fd);
        unlink(path);
        skip(); /* the file system has no room for names of such sizes */
    }
    const cuzk_status st = cuzk_params_open(&params, path, &n, "porep-32g", NULL, &err);
#ifdef CUZK_TEST_EMULATED
    if (st == CUZK_STATUS_NO_MEMORY) { /* the emulator's address space is smaller */
        close(fd);
        unlink(path);
        skip();
    }
#endif
    if (st != CUZK_OK) fail_msg("%s", err.msg);
    assert_true(params->b2 == params->data + at - (uint64_t)n.b * G2);
    cuzk_params_free(params);
    for (size_t i = borders; i-- > 0;) {
        assert_int_equal(ftruncate(fd, (off_t)border[i] - 1), 0);
        expect(cuzk_params_open(&params, path, &n, "porep-32g", NULL, &err), &err,
               "the file is cut short");
        assert_non_null(strstr(err.msg, path));
    }
    close(fd);
    unlink(path);
}

static void one_byte_more(void **state) {
    (void)state;
    cuzk_err err;
    blob b = read_key("cubic.params");
    uint8_t *longer = calloc(b.n + 1, 1);
    assert_non_null(longer);
    memcpy(longer, b.p, b.n);
    expect(open_copy(longer, b.n + 1, NULL, &err), &err,
           "section end at offset 3096: expected the file to end, actual 1 bytes more");
    expect(vk_copy(longer, VK + 1, 0, &err), &err, "section end at offset 1060");
    free(longer);
    free(b.p);
}

static void wrong_counts(void **state) {
    (void)state;
    cuzk_err err;
    cuzk_params_counts want = cubic;
    blob b = read_key("cubic.params");
    static const size_t counts[] = {AT_IC, AT_H, AT_L, AT_A, AT_B1, AT_B2};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint32_t n = cuzk_ld_u32be(b.p + counts[i]);
        static const uint32_t bad[] = {0, 1, UINT32_MAX, 0x80000000u};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            cuzk_st_u32be(b.p + counts[i], bad[k]);
            assert_int_equal(open_copy(b.p, b.n, NULL, &err), CUZK_STATUS_BAD_INPUT);
            assert_int_equal(open_copy(b.p, b.n, &cubic, &err), CUZK_STATUS_BAD_INPUT);
        }
        cuzk_st_u32be(b.p + counts[i], n);
    }
    want.a = 6;
    expect(open_copy(b.p, b.n, &want, &err), &err,
           "section a at offset 2028: expected 6 points, as cubic has, actual 5");
    want = cubic;
    want.b = 1;
    expect(open_copy(b.p, b.n, &want, &err), &err, "section b_g1");
    free(b.p);
}

/* Every point of the file replaced by what no key may hold. */
static void bad_points(void **state) {
    (void)state;
    static const struct {
        size_t first, n, size;
        const char *name;
    } points[] = {
        {0, 1, G1, "alpha_g1"},   {96, 1, G1, "beta_g1"},     {192, 1, G2, "beta_g2"},
        {384, 1, G2, "gamma_g2"}, {576, 1, G1, "delta_g1"},   {672, 1, G2, "delta_g2"},
        {AT_IC + 4, 2, G1, "ic"}, {AT_H + 4, 7, G1, "h"},     {AT_L + 4, 3, G1, "l"},
        {AT_A + 4, 5, G1, "a"},   {AT_B1 + 4, 2, G1, "b_g1"}, {AT_B2 + 4, 2, G2, "b_g2"},
    };
    cuzk_err err;
    blob b = read_key("cubic.params");
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        for (size_t k = 0; k < points[i].n; k++) {
            const size_t size = points[i].size, off = points[i].first + k * size;
            uint8_t *at = b.p + off, old[G2];
            char text[96];
            snprintf(text, sizeof text, "section %s at offset %zu", points[i].name, off);
            memcpy(old, at, size);
            memset(at, 0, size); /* infinity */
            at[0] = 0x40;
            expect(open_copy(b.p, b.n, NULL, &err), &err, text);
            assert_non_null(strstr(err.msg, "other than infinity"));
            at[0] = 0; /* (0, 0) */
            expect(open_copy(b.p, b.n, NULL, &err), &err, text);
            memcpy(at, old, size);
            at[0] |= 0x80; /* compressed */
            expect(open_copy(b.p, b.n, NULL, &err), &err, "the flags of this encoding");
            memcpy(at, old, size);
            at[0] = 0x1f; /* x not below p */
            expect(open_copy(b.p, b.n, NULL, &err), &err, "a coordinate below p");
            memcpy(at, old, size);
            at[size - 1] ^= 1; /* off the curve */
            expect(open_copy(b.p, b.n, NULL, &err), &err, text);
            memcpy(at, old, size);
        }
    }
    /* beta and delta each twice, and not the same */
    uint8_t g1[G1];
    memcpy(g1, b.p, G1);
    memcpy(b.p + 96, g1, G1);
    expect(open_copy(b.p, b.n, NULL, &err), &err, "the multiple of the generator that beta_g1 is");
    free(b.p);
}

/* ---- proofs ---- */

static void proof_bytes(uint8_t out[CUZK_PROOF_BYTES]) {
    const cuzk_curve *c = cuzk_curve_get(CUZK_BLS12_381);
    cuzk_proof proof = {.curve = c};
    const cuzk_u256 k = {{test_rng(), test_rng(), 0, 0}};
    c->g1.mul(&proof.a, c->g1.generator, &k);
    c->g2.mul(&proof.b, c->g2.generator, &k);
    c->g1.neg(&proof.c, &proof.a);
    cuzk_proof_to_bytes(out, &proof);
    cuzk_proof back;
    cuzk_err err = {0};
    assert_int_equal(cuzk_proof_from_bytes(&back, out, "proof", 0, &err), CUZK_OK);
    assert_memory_equal(&back.a, &proof.a, G1);
    assert_memory_equal(&back.b, &proof.b, G2);
    assert_memory_equal(&back.c, &proof.c, G1);
}

static void refuse_proof(const uint8_t *bytes, const char *words) {
    cuzk_proof p;
    cuzk_err err = {0};
    assert_int_equal(cuzk_proof_from_bytes(&p, bytes, "proof", 384, &err), CUZK_STATUS_FALSE);
    if (!strstr(err.msg, words)) fail_msg("no \"%s\" in: %s", words, err.msg);
}

static void bad_proofs(void **state) {
    static const size_t at[3] = {0, 48, 144};
    static const char *const names[3] = {"point A at offset 384", "point B at offset 432",
                                         "point C at offset 528"};
    uint8_t good[CUZK_PROOF_BYTES], p[CUZK_PROOF_BYTES];
    (void)state;
    test_rng_start();
    for (int i = 0; i < 16; i++)
        proof_bytes(good);
    for (int i = 0; i < 3; i++) {
        const size_t size = i == 1 ? 96 : 48;
        memcpy(p, good, sizeof p);
        p[at[i]] &= 0x7f;
        refuse_proof(p, names[i]);
        memcpy(p, good, sizeof p);
        memset(p + at[i], 0, size);
        p[at[i]] = 0xc0;
        refuse_proof(p, "other than infinity");
        p[at[i] + size - 1] = 1;
        refuse_proof(p, "the flags");
        memcpy(p, good, sizeof p);
        memset(p + at[i], 0xff, size);
        p[at[i]] = 0x9f;
        refuse_proof(p, "a coordinate below p");
        /* points on the curve of another order, or no points: most x are one or the other */
        unsigned outside = 0, off = 0;
        memcpy(p, good, sizeof p);
        for (int k = 0; k < 64; k++) {
            cuzk_proof out;
            cuzk_err err = {0};
            p[at[i] + size - 1] = (uint8_t)(good[at[i] + size - 1] + 1 + k);
            assert_int_equal(cuzk_proof_from_bytes(&out, p, "proof", 0, &err), CUZK_STATUS_FALSE);
            outside += strstr(err.msg, "a point of order r") != NULL;
            off += strstr(err.msg, "a point on the curve") != NULL;
        }
        assert_int_equal(outside + off, 64);
        assert_true(outside > 8 && off > 8);
    }
}

static void many_proofs(void **state) {
    uint8_t p[3 * CUZK_PROOF_BYTES];
    cuzk_proof *list;
    cuzk_err err = {0};
    size_t n;
    (void)state;
    for (int i = 0; i < 3; i++)
        proof_bytes(p + i * CUZK_PROOF_BYTES);
    assert_int_equal(cuzk_proofs_from_bytes(&list, &n, p, sizeof p, "proof", &err), CUZK_OK);
    assert_int_equal(n, 3);
    cuzk_free(list);
    for (size_t len = 0; len < sizeof p; len++) {
        if (len && len % CUZK_PROOF_BYTES == 0) continue;
        expect(cuzk_proofs_from_bytes(&list, &n, p, len, "proof", &err), &err,
               "expected a multiple of 192 bytes");
        assert_null(list);
    }
    p[2 * CUZK_PROOF_BYTES] = 0;
    assert_int_equal(cuzk_proofs_from_bytes(&list, &n, p, sizeof p, "proof", &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "point A at offset 384"));
}

/* The same bytes as blst's own encoder is in test_batch; here ours both ways, flags included. */
static void uncompressed_round_trip(void **state) {
    const cuzk_curve *c = cuzk_curve_get(CUZK_BLS12_381);
    (void)state;
    for (int g = CUZK_G1; g <= CUZK_G2; g++) {
        const cuzk_group_ops *ops = cuzk_curve_group(c, (cuzk_group)g);
        const size_t size = ops->point_size;
        uint8_t points[8 * CUZK_POINT_MAX], encoded[8 * CUZK_POINT_MAX + 1], back[sizeof points];
        cuzk_zcash_result why;
        for (size_t i = 0; i < 8; i++) {
            const cuzk_u256 k = {{test_rng(), 0, 0, 0}};
            ops->mul(points + i * size, ops->generator, &k);
        }
        memset(points + 5 * size, 0, size); /* infinity */
        cuzk_zcash_write((cuzk_group)g, encoded + 1, points, 8);
        assert_int_equal(cuzk_zcash_read((cuzk_group)g, back, encoded + 1, 5, &why), 5);
        assert_memory_equal(back, points, 5 * size);
        assert_int_equal(cuzk_zcash_read((cuzk_group)g, back, encoded + 1, 8, &why), 5);
        assert_int_equal(why, CUZK_ZCASH_INFINITY);
        assert_int_equal(encoded[1 + 5 * size], 0x40);
        memcpy(back, points, sizeof back); /* in place */
        cuzk_zcash_write((cuzk_group)g, back, back, 5);
        assert_memory_equal(back, encoded + 1, 5 * size);
        assert_int_equal(cuzk_zcash_read((cuzk_group)g, back, back, 5, &why), 5);
        assert_memory_equal(back, points, 5 * size);
    }
}

static void meta(void **state) {
    cuzk_buf b = CUZK_BUF_INIT;
    (void)state;
    cuzk_params_meta(34359738368u, &b);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    assert_string_equal(b.data, "{\"sector_size\":34359738368}");
    cuzk_buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files),   cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(one_byte_more), cmocka_unit_test(wrong_counts),
        cmocka_unit_test(bad_points),    cmocka_unit_test(bad_proofs),
        cmocka_unit_test(many_proofs),   cmocka_unit_test(uncompressed_round_trip),
        cmocka_unit_test(meta),          cmocka_unit_test(large_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

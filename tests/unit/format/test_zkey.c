/* The zkey's structure: sections, header, coefficients. Points: test_zkey_points.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/bytes.h"
#include "base/thread.h"
#include "format/zkey.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const MUL3[] = {"bn128/mul3/circuit_final.zkey",
                                   "bls12381/mul3/circuit_final.zkey"};

static cuzk_status parse(blob b, cuzk_err *err) {
    cuzk_zkey *zk;
    *err = (cuzk_err){0};
    cuzk_status st =
        cuzk_zkey_from_memory(&zk, b.p, b.n, "k.zkey", CUZK_ZKEY_CHECK_SHAPE, NULL, err);
    if (st != CUZK_OK) assert_null(zk);
    cuzk_zkey_free(zk);
    return st;
}

static void expect_bad(blob b, const char *part1, const char *part2) {
    cuzk_err err;
    cuzk_status st = parse(b, &err);
    assert_bad_input(st, &err, part1, part2);
    assert_has(err.msg, "k.zkey: ");
    assert_has(err.msg, "offset");
}

static void reads_vectors(void **state) {
    (void)state;
    static const struct {
        const char *dir, *curve;
        uint32_t n_vars, n_public;
        unsigned log2_domain;
        uint64_t n_coefs;
    } v[] = {
        {"bn128/mul3", "bn128", 6, 1, 2, 6},
        {"bn128/nopub", "bn128", 4, 0, 2, 5},
        {"bn128/poseidon2", "bn128", 243, 1, 8, 956},
        {"bn128/semaphore20", "bn128", 6454, 4, 13, 25781},
        {"bn128/manypub", "bn128", 4097, 4096, 13, 8193},
        {"bls12381/mul3", "bls12381", 6, 1, 2, 6},
        {"bls12381/nopub", "bls12381", 4, 0, 2, 5},
        {"bls12381/poseidon2", "bls12381", 243, 1, 8, 956},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/circom/%s/circuit_final.zkey", CUZK_TEST_VECTORS, v[i].dir);
        cuzk_zkey *zk;
        cuzk_err err = {0};
        cuzk_status st = cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_CURVE, NULL, &err);
        if (st != CUZK_OK) fail_msg("%s", err.msg);
        assert_string_equal(zk->curve->circom, v[i].curve);
        assert_int_equal(zk->n_vars, v[i].n_vars);
        assert_int_equal(zk->n_public, v[i].n_public);
        assert_int_equal(zk->log2_domain, v[i].log2_domain);
        assert_int_equal(zk->n_coefs, v[i].n_coefs);
        /* gamma is 1 in every key that snarkjs makes: this also pins the order of section 2. */
        assert_memory_equal(zk->gamma2, zk->curve->g2.generator, zk->curve->g2.point_size);
        /* The public rows close the list of coefficients. */
        const uint8_t *last = zk->coefs + (zk->n_coefs - 1) * CUZK_ZKEY_COEF_SIZE;
        assert_int_equal(cuzk_ld_u32le(last), 0);
        assert_int_equal(cuzk_ld_u32le(last + 8), zk->n_public);
        cuzk_vk vk;
        assert_int_equal(cuzk_zkey_vk(zk, &vk, &err), CUZK_OK);
        assert_int_equal(vk.n_public, zk->n_public);
        assert_memory_equal(vk.ic, zk->ic, (zk->n_public + 1) * zk->curve->g1.point_size);
        assert_memory_equal(vk.delta2.b, zk->delta2, zk->curve->g2.point_size);
        cuzk_vk_free(&vk);
        cuzk_zkey_free(zk);
    }
}

/* Section in which a cut at n falls, for the message; 0: no section's type has been read yet. */
static uint32_t section_cut(blob whole, size_t n) {
    for (uint32_t i = 0; i < section_count(whole); i++) {
        uint32_t type;
        span s = section_at(whole, i, &type);
        if (n < s.header + 4) return 0;
        if (n < s.off + s.len) return type;
    }
    return 0;
}

static void expect_cut(blob whole, size_t n) {
    blob b = blob_copy(whole.p, n);
    uint32_t type = section_cut(whole, n);
    char part[32] = "section";
    if (n < 12) snprintf(part, sizeof part, "file header");
    if (type) snprintf(part, sizeof part, "section %u (", type);
    expect_bad(b, part, "truncated");
    blob_free(&b);
}

static void truncation_at_every_offset(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob whole = vector_read(MUL3[k]);
        for (size_t n = 0; n < whole.n; n++)
            expect_cut(whole, n);
        blob_free(&whole);
    }
}

static void truncation_at_boundaries(void **state) {
    (void)state;
    static const char *const files[] = {"bn128/poseidon2/circuit_final.zkey",
                                        "bls12381/poseidon2/circuit_final.zkey",
                                        "tolerated/section_order.zkey"};
    for (size_t k = 0; k < 3; k++) {
        blob whole = vector_read(files[k]);
        for (uint32_t i = 0; i < section_count(whole); i++) {
            uint32_t type;
            span s = section_at(whole, i, &type);
            const size_t at[] = {s.header, s.header + 4, s.off, s.off + s.len / 2, s.off + s.len};
            for (size_t j = 0; j < 5; j++) {
                for (size_t n = at[j] - 1; n <= at[j] + 1 && n < whole.n; n++)
                    expect_cut(whole, n);
            }
        }
        blob_free(&whole);
    }
}

/* Every section one unit and one byte longer and shorter, with its length field kept true. */
static void section_sizes(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob whole = vector_read(MUL3[k]);
        size_t g1 = k ? 96 : 64, g2 = 2 * g1;
        const size_t unit[] = {0, 4, 4, g1, 44, g1, g1, g2, g1, g1};
        for (uint32_t type = 1; type <= 9; type++) {
            span s = section_of(whole, type);
            char part[16];
            snprintf(part, sizeof part, "section %u (", type);
            const size_t by[] = {1, unit[type], s.len};
            for (size_t i = 0; i < 3; i++) {
                static const uint8_t zeros[4096];
                assert_true(by[i] <= sizeof zeros && by[i] <= s.len);
                blob b = blob_splice(whole, s.off + s.len, 0, zeros, by[i]);
                cuzk_st_u64le(b.p + s.header + 4, s.len + by[i]);
                expect_bad(b, part, NULL);
                blob_free(&b);
                b = blob_splice(whole, s.off + s.len - by[i], by[i], NULL, 0);
                cuzk_st_u64le(b.p + s.header + 4, s.len - by[i]);
                expect_bad(b, part, NULL);
                blob_free(&b);
            }
        }
        blob_free(&whole);
    }
}

static void missing_and_repeated_sections(void **state) {
    (void)state;
    blob whole = vector_read(MUL3[0]);
    for (uint32_t gone = 1; gone <= 10; gone++) {
        uint32_t order[11], n = 0;
        for (uint32_t t = 1; t <= 10; t++) {
            if (t != gone) order[n++] = t;
        }
        order[n] = 0;
        blob b = container_rebuild(whole, order, 0);
        cuzk_err err;
        char part[16];
        snprintf(part, sizeof part, "section %u (", gone);
        if (gone == 10) /* proving does not need the contributions */
            assert_int_equal(parse(b, &err), CUZK_OK);
        else
            expect_bad(b, part, "none");
        blob_free(&b);
    }
    for (uint32_t twice = 1; twice <= 10; twice++) {
        uint32_t order[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, twice, 0};
        blob b = container_rebuild(whole, order, 0);
        char part[16];
        snprintf(part, sizeof part, "section %u (", twice);
        expect_bad(b, part, "once");
        blob_free(&b);
    }
    blob_free(&whole);
}

static void any_order_and_alignment(void **state) {
    (void)state;
    static const uint32_t order[][11] = {
        {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
        {1, 2, 4, 3, 9, 8, 5, 6, 7, 10, 0},
        {5, 1, 9, 2, 7, 3, 8, 4, 6, 0},
    };
    cuzk_pool *pool;
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    for (size_t k = 0; k < 2; k++) {
        blob whole = vector_read(MUL3[k]);
        for (size_t i = 0; i < 3; i++) {
            for (size_t odd = 0; odd < 9; odd++) {
                blob b = container_rebuild(whole, order[i], odd);
                cuzk_zkey *zk;
                cuzk_err err = {0};
                cuzk_status st =
                    cuzk_zkey_from_memory(&zk, b.p, b.n, "k", CUZK_ZKEY_CHECK_FULL, pool, &err);
                if (st != CUZK_OK) fail_msg("%s", err.msg);
                span a = section_of(b, 5);
                assert_ptr_equal(zk->a, b.p + a.off);
                cuzk_zkey_free(zk);
                blob_free(&b);
            }
        }
        blob_free(&whole);
    }
    blob b = vector_read("tolerated/section_order.zkey");
    cuzk_err err;
    assert_int_equal(parse(b, &err), CUZK_OK);
    blob_free(&b);
    cuzk_pool_free(pool);
}

static void try_u32(blob b, size_t at, const uint32_t *values, size_t n, const char *part1,
                    const char *part2) {
    uint32_t save = cuzk_ld_u32le(b.p + at);
    for (size_t i = 0; i < n; i++) {
        if (values[i] == save) continue;
        cuzk_st_u32le(b.p + at, values[i]);
        expect_bad(b, part1, part2);
    }
    cuzk_st_u32le(b.p + at, save);
}
#define TRY_U32(b, at, part1, part2, ...)                                                          \
    try_u32(b, at, (const uint32_t[]){__VA_ARGS__},                                                \
            sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), part1, part2)

static void header_fields(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob b = vector_read(MUL3[k]);
        cuzk_err err;
        uint32_t n8q = k ? 48 : 32;
        size_t h = section_of(b, 2).off, q = h + 4, r = q + n8q + 4, counts = r + 32;
        TRY_U32(b, 4, "file header", "version", 0, 3, UINT32_MAX);
        TRY_U32(b, section_of(b, 1).off, "section 1", "groth16", 0, 2, 3, 10, UINT32_MAX);
        TRY_U32(b, h, "section 2", NULL, 0, 1, 31, 32, 33, 47, 48, 49, 64, UINT32_MAX);
        TRY_U32(b, r - 4, "section 2", "32 bytes", 0, 1, 31, 33, 48, UINT32_MAX);
        for (size_t i = 0; i < n8q; i++) {
            b.p[q + i] ^= 1;
            expect_bad(b, "section 2", "the prime q");
            b.p[q + i] ^= 1;
        }
        for (size_t i = 0; i < 32; i++) {
            b.p[r + i] ^= 0x80;
            expect_bad(b, "section 2", "the prime r");
            b.p[r + i] ^= 0x80;
        }
        /* r of the other curve */
        const cuzk_curve *other = cuzk_curve_get(k ? CUZK_BN254 : CUZK_BLS12_381);
        uint8_t save[32];
        memcpy(save, b.p + r, 32);
        memcpy(b.p + r, other->fr->modulus.l, 32);
        expect_bad(b, "section 2", other->circom);
        memcpy(b.p + r, save, 32);
        /* wires: a wrong number no longer fits the point sections */
        TRY_U32(b, counts, "section", NULL, 0, 1, 2, 5, 7, 0x7fffffff, UINT32_MAX);
        TRY_U32(b, counts + 4, "section", NULL, 0, 2, 4, 5, 6, 0x7fffffff, UINT32_MAX);
        TRY_U32(b, counts + 8, "section", NULL, 0, 1, 2, 3, 5, 6, 7, 8, 1u << 31, UINT32_MAX);
        TRY_U32(b, counts + 8, "section 2", "power of two", 0, 1, 3, 5, 6, 7, (1u << 31) + 1,
                UINT32_MAX);
        if (!k) TRY_U32(b, counts + 8, "section 2", "2^28", 1u << 29, 1u << 31);
        assert_int_equal(parse(b, &err), CUZK_OK);
        blob_free(&b);
    }
}

static void coefficient_fields(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob b = vector_read(MUL3[k]);
        cuzk_err err;
        span s = section_of(b, 4);
        const cuzk_fr_ops *fr = cuzk_curve_get(k ? CUZK_BLS12_381 : CUZK_BN254)->fr;
        TRY_U32(b, s.off, "section 4", "coefficients", 0, 5, 7, 1006, 0x7fffffff, UINT32_MAX);
        for (uint32_t i = 0; i < 6; i++) {
            size_t at = s.off + 4 + 44 * i;
            char where[48];
            snprintf(where, sizeof where, "section 4 (coefficients) at offset %zu", at);
            TRY_U32(b, at, where, "matrix 0 or 1", 2, 3, 0x80000000u, UINT32_MAX);
            snprintf(where, sizeof where, "section 4 (coefficients) at offset %zu", at + 4);
            TRY_U32(b, at + 4, where, "domain size 4", 4, 5, 0x7fffffff, UINT32_MAX);
            snprintf(where, sizeof where, "section 4 (coefficients) at offset %zu", at + 8);
            TRY_U32(b, at + 8, where, "6 wires", 6, 7, 0x7fffffff, UINT32_MAX);
            uint8_t save[32], *v = b.p + at + 12;
            memcpy(save, v, 32);
            snprintf(where, sizeof where, "section 4 (coefficients) at offset %zu", at + 12);
            memcpy(v, fr->modulus.l, 32);
            expect_bad(b, where, "below r");
            v[0]++;
            expect_bad(b, where, "below r");
            memset(v, 0xff, 32);
            expect_bad(b, where, "below r");
            memcpy(v, fr->modulus.l, 32);
            v[0]--;
            assert_int_equal(parse(b, &err), CUZK_OK);
            memset(v, 0, 32);
            assert_int_equal(parse(b, &err), CUZK_OK);
            memcpy(v, save, 32);
        }
        blob_free(&b);
    }
}

/* The first bad coefficient is named whatever the number of threads. */
static void first_bad_coefficient(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    blob b = vector_read("bn128/semaphore20/circuit_final.zkey");
    span s = section_of(b, 4);
    for (unsigned threads = 1; threads <= 7; threads += 3) {
        cuzk_pool *pool;
        assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
        for (int round = 0; round < 20; round++) {
            uint64_t i = test_random(&rng) % 25781, j = i + test_random(&rng) % (25781 - i);
            uint8_t *p = b.p + s.off + 4 + 44 * i, *p2 = b.p + s.off + 4 + 44 * j;
            uint32_t save = cuzk_ld_u32le(p), save2 = cuzk_ld_u32le(p2);
            cuzk_st_u32le(p2, 3);
            cuzk_st_u32le(p, 2);
            cuzk_zkey *zk;
            cuzk_err err = {0};
            cuzk_status st =
                cuzk_zkey_from_memory(&zk, b.p, b.n, "k", CUZK_ZKEY_CHECK_SHAPE, pool, &err);
            char part[48];
            snprintf(part, sizeof part, "coefficient %llu:", (unsigned long long)i);
            assert_bad_input(st, &err, "section 4", part);
            cuzk_st_u32le(p2, save2);
            cuzk_st_u32le(p, save);
        }
        cuzk_pool_free(pool);
    }
    blob_free(&b);
}

static void manifest(void **state) {
    (void)state;
    static const struct {
        const char *file, *part1, *part2;
    } row[] = {
        {"malformed/coef_constraint_oob.zkey", "section 4", "actual 2147483647"},
        {"malformed/coef_count_lies.zkey", "section 4", "1956 coefficients"},
        {"malformed/domain_not_pow2.zkey", "section 2", "actual 255"},
        {"malformed/truncated.zkey", "section 7", "truncated"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = vector_read(row[i].file);
        expect_bad(b, row[i].part1, row[i].part2);
        blob_free(&b);
    }
}

static uint64_t sparse_section(int fd, uint64_t at, uint32_t type, uint64_t len,
                               const void *payload, size_t n) {
    uint8_t head[12];
    cuzk_st_u32le(head, type);
    cuzk_st_u64le(head + 4, len);
    assert_int_equal(pwrite(fd, head, 12, (off_t)at), 12);
    if (n) assert_int_equal(pwrite(fd, payload, n, (off_t)at + 12), n);
    return at + 12 + len;
}

/* A key of 2^26 wires, 21 GiB of which almost all is a hole (points at infinity). Opening it must
 * neither overflow 32 bits nor read the holes. */
static void sparse_file_beyond_4_gib(void **state) {
    (void)state;
    blob small = vector_read(MUL3[0]);
    span h = section_of(small, 2), ic = section_of(small, 3), co = section_of(small, 4);
    char *path = temp_path("sparse.zkey");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    const uint64_t vars = (uint64_t)1 << 26, domain = 1 << 24, last_b2 = 128 * (vars - 1);
    cuzk_st_u32le(small.p + h.off + 72, (uint32_t)vars);
    cuzk_st_u32le(small.p + h.off + 80, (uint32_t)domain);
    uint8_t head[12];
    memcpy(head, small.p, 8);
    cuzk_st_u32le(head + 8, 9);
    assert_int_equal(pwrite(fd, head, 12, 0), 12);
    uint64_t at = 12;
    at = sparse_section(fd, at, 5, 64 * vars, NULL, 0);
    at = sparse_section(fd, at, 6, 64 * vars, NULL, 0);
    uint64_t b2 = at + 12;
    at = sparse_section(fd, at, 7, 128 * vars, NULL, 0);
    at = sparse_section(fd, at, 8, 64 * (vars - 2), NULL, 0);
    at = sparse_section(fd, at, 9, 64 * domain, NULL, 0);
    at = sparse_section(fd, at, 1, 4, small.p + section_of(small, 1).off, 4);
    at = sparse_section(fd, at, 2, h.len, small.p + h.off, h.len);
    at = sparse_section(fd, at, 3, ic.len, small.p + ic.off, ic.len);
    at = sparse_section(fd, at, 4, co.len, small.p + co.off, co.len);
    /* One real point at the end of B2, past 4 GiB. */
    const cuzk_curve *c = cuzk_curve_get(CUZK_BN254);
    assert_int_equal(pwrite(fd, c->g2.generator, 128, (off_t)(b2 + last_b2)), 128);
    struct stat sb;
    assert_int_equal(fstat(fd, &sb), 0);
    assert_true((uint64_t)sb.st_size == at && at > (uint64_t)20 << 30);
    if ((uint64_t)sb.st_blocks * 512 > (uint64_t)64 << 20) {
        close(fd);
        temp_remove(path);
        fail_msg("%s: no sparse files on this file system: set TMPDIR to one that has them", path);
    }
    cuzk_zkey *zk;
    cuzk_err err = {0};
    cuzk_status st = cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_SHAPE, NULL, &err);
    if (st != CUZK_OK) fail_msg("%s", err.msg);
    assert_int_equal(zk->n_vars, vars);
    assert_int_equal(zk->len, at);
    assert_true(zk->c - zk->data > (ptrdiff_t)4 << 30);
    assert_memory_equal(zk->b2 + last_b2, c->g2.generator, 128);
    assert_true(c->g1.is_infinity(zk->c + 64 * (vars - 3)));
    cuzk_zkey_free(zk);
    /* And cut inside the hole of B2, as a download would be. */
    assert_int_equal(ftruncate(fd, (off_t)(b2 + last_b2)), 0);
    st = cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_SHAPE, NULL, &err);
    assert_bad_input(st, &err, "section 7 (B2)", "truncated");
    char part[48];
    snprintf(part, sizeof part, "actual %llu", (unsigned long long)last_b2);
    assert_has(err.msg, part);
    close(fd);
    temp_remove(path);
    blob_free(&small);
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    cuzk_zkey *zk;
    cuzk_err err = {0};
    assert_int_equal(cuzk_zkey_open(&zk, "/nonexistent/x.zkey", CUZK_ZKEY_CHECK_SHAPE, NULL, &err),
                     CUZK_STATUS_IO);
    assert_null(zk);
    assert_has(err.msg, "/nonexistent/x.zkey");
    assert_int_equal(cuzk_zkey_open(&zk, "/tmp", CUZK_ZKEY_CHECK_SHAPE, NULL, &err),
                     CUZK_STATUS_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_vectors),
        cmocka_unit_test(truncation_at_every_offset),
        cmocka_unit_test(truncation_at_boundaries),
        cmocka_unit_test(section_sizes),
        cmocka_unit_test(missing_and_repeated_sections),
        cmocka_unit_test(any_order_and_alignment),
        cmocka_unit_test(header_fields),
        cmocka_unit_test(coefficient_fields),
        cmocka_unit_test(first_bad_coefficient),
        cmocka_unit_test(manifest),
        cmocka_unit_test(sparse_file_beyond_4_gib),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

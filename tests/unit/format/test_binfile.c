#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/file.h"
#include "format/binfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {NULL, "first", "second"};
static const cuzk_binfile_format format = {"test", 1, 2, names, 3};

/* magic, version 1, n sections; then the sections. */
static blob make(uint32_t n, const uint8_t *rest, size_t len) {
    blob b = blob_copy("test", 4);
    uint8_t head[8];
    cuzk_st_u32le(head, 1);
    cuzk_st_u32le(head + 4, n);
    blob c = blob_splice(b, 4, 0, head, 8);
    blob d = blob_splice(c, 12, 0, rest, len);
    blob_free(&b);
    blob_free(&c);
    return d;
}

static size_t put_section(uint8_t *at, uint32_t type, uint64_t len, size_t payload) {
    cuzk_st_u32le(at, type);
    cuzk_st_u64le(at + 4, len);
    memset(at + 12, 0x11, payload);
    return 12 + payload;
}

static void expect_bad(blob b, const char *part1, const char *part2) {
    cuzk_binfile f;
    cuzk_err err = {0};
    assert_bad_input(cuzk_binfile_parse(&f, &format, b.p, b.n, "file.test", &err), &err, part1,
                     part2);
    assert_has(err.msg, "file.test: ");
    assert_has(err.msg, "offset");
}

static void any_order_and_unknown_types(void **state) {
    (void)state;
    uint8_t rest[128];
    size_t n = put_section(rest, 2, 5, 5);
    n += put_section(rest + n, 999, 3, 3);
    n += put_section(rest + n, 1, 0, 0);
    rest[n++] = 0xee; /* a byte after the last section is nobody's */
    blob b = make(3, rest, n);
    cuzk_binfile f;
    cuzk_err err = {0};
    assert_int_equal(cuzk_binfile_parse(&f, &format, b.p, b.n, "x", &err), CUZK_OK);
    assert_int_equal(f.n, 3);
    assert_int_equal(f.end, b.n - 1);
    const cuzk_binfile_section *s = cuzk_binfile_find(&f, 2);
    assert_non_null(s);
    assert_int_equal(s->off, 24);
    assert_int_equal(s->len, 5);
    assert_int_equal(cuzk_binfile_find(&f, 1)->off, 12 + 17 + 15 + 12);
    assert_null(cuzk_binfile_find(&f, 3));
    assert_bad_input(cuzk_binfile_need(&f, 7, &s, &err), &err, "section 7", "none");
    blob_free(&b);
}

static void file_header(void **state) {
    (void)state;
    for (size_t n = 0; n < 12; n++) {
        blob b = blob_copy("test\1\0\0\0\0\0\0", n);
        expect_bad(b, "file header at offset 0", "12 bytes");
        blob_free(&b);
    }
    blob b = make(0, NULL, 0);
    cuzk_binfile f;
    assert_int_equal(cuzk_binfile_parse(&f, &format, b.p, b.n, "x", NULL), CUZK_OK);
    for (uint32_t v = 0; v < 5; v++) {
        cuzk_st_u32le(b.p + 4, v);
        if (v == 1 || v == 2)
            assert_int_equal(cuzk_binfile_parse(&f, &format, b.p, b.n, "x", NULL), CUZK_OK);
        else
            expect_bad(b, "offset 4", "version");
    }
    cuzk_st_u32le(b.p + 4, 1);
    b.p[3] ^= 1;
    expect_bad(b, "offset 0", "\"test\"");
    blob_free(&b);
}

/* A message keeps the section however long the path is. */
static void long_paths(void **state) {
    (void)state;
    uint8_t rest[32];
    char path[4096];
    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 10, "/last.key", 10);
    size_t n = put_section(rest, 2, 100, 4);
    blob b = make(1, rest, n);
    cuzk_binfile f;
    cuzk_err err = {0};
    assert_bad_input(cuzk_binfile_parse(&f, &format, b.p, b.n, path, &err), &err,
                     "/last.key: section 2 (second) at offset 24", "actual 4");
    blob_free(&b);
}

static void truncated_sections(void **state) {
    (void)state;
    uint8_t rest[64];
    size_t n = put_section(rest, 1, 4, 4);
    n += put_section(rest + n, 2, 9, 9);
    blob whole = make(2, rest, n);
    for (size_t len = 12; len < whole.n; len++) {
        blob b = blob_copy(whole.p, len);
        bool in_first = len < 12 + 16;
        bool type_known = len >= (in_first ? 12u + 4 : 12u + 16 + 4);
        expect_bad(b, "truncated", type_known ? in_first ? "section 1" : "section 2" : "section");
        blob_free(&b);
    }
    blob_free(&whole);
}

static void wild_lengths(void **state) {
    (void)state;
    static const uint64_t len[] = {5, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX - 11, UINT64_MAX};
    for (size_t i = 0; i < sizeof len / sizeof len[0]; i++) {
        uint8_t rest[32];
        size_t n = put_section(rest, 2, len[i], 4);
        blob b = make(1, rest, n);
        expect_bad(b, "section 2 (second) at offset 24", "length");
        blob_free(&b);
    }
}

static void repeated_types(void **state) {
    (void)state;
    for (uint32_t type = 1; type < 4; type++) {
        uint8_t rest[64];
        size_t n = put_section(rest, type, 1, 1);
        n += put_section(rest + n, type, 1, 1);
        blob b = make(2, rest, n);
        char part[32];
        snprintf(part, sizeof part, "section %u", type);
        expect_bad(b, part, "also at offset 24");
        blob_free(&b);
    }
}

static void section_counts(void **state) {
    (void)state;
    static uint8_t rest[12 * 70];
    size_t n = 0;
    for (uint32_t i = 0; i < 65; i++)
        n += put_section(rest + n, i + 1, 0, 0);
    blob b = make(64, rest, n);
    cuzk_binfile f;
    assert_int_equal(cuzk_binfile_parse(&f, &format, b.p, b.n, "x", NULL), CUZK_OK);
    cuzk_st_u32le(b.p + 8, 65);
    expect_bad(b, "section 65", "at most 64");
    /* A count of four billion in a file of zeros costs nothing. */
    memset(b.p + 12, 0, b.n - 12);
    cuzk_st_u32le(b.p + 8, UINT32_MAX);
    expect_bad(b, "section 0", "once");
    blob_free(&b);
}

/* What the writer writes, the reader reads; small and large puts. */
static void round_trip(void **state) {
    (void)state;
    char *path = temp_path("out.bin");
    cuzk_out out;
    cuzk_binfile_writer w;
    cuzk_err err = {0};
    size_t big = 200000;
    uint8_t *data = malloc(big);
    assert_non_null(data);
    for (size_t i = 0; i < big; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(cuzk_out_open(&out, path, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_begin(&w, &out, "test", 1, 2, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_section_begin(&w, 2, 4 + big, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_put_u32(&w, 0xdeadbeef, &err), CUZK_OK);
    for (size_t at = 0, n = 1; at < big; at += n, n = n * 3 + 1) {
        if (n > big - at) n = big - at;
        assert_int_equal(cuzk_binfile_put(&w, data + at, n, &err), CUZK_OK);
    }
    assert_int_equal(cuzk_binfile_section_begin(&w, 1, 0, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_end(&w, &err), CUZK_OK);
    cuzk_binfile_writer_free(&w);
    assert_int_equal(cuzk_out_commit(&out, &err), CUZK_OK);

    cuzk_map map;
    cuzk_binfile f;
    assert_int_equal(cuzk_map_file(&map, path, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_parse(&f, &format, map.data, map.len, path, &err), CUZK_OK);
    assert_int_equal(f.end, f.len);
    const cuzk_binfile_section *s = cuzk_binfile_find(&f, 2);
    assert_int_equal(s->len, 4 + big);
    assert_int_equal(cuzk_ld_u32le(map.data + s->off), 0xdeadbeef);
    assert_memory_equal(map.data + s->off + 4, data, big);
    cuzk_map_close(&map);
    free(data);
    temp_remove(path);
}

static void writer_keeps_its_word(void **state) {
    (void)state;
    char *path = temp_path("out.bin");
    cuzk_out out;
    cuzk_binfile_writer w;
    cuzk_err err = {0};
    assert_int_equal(cuzk_out_open(&out, path, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_begin(&w, &out, "test", 1, 1, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_end(&w, &err), CUZK_STATUS_BUG);
    assert_int_equal(cuzk_binfile_section_begin(&w, 1, 3, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_put_u32(&w, 1, &err), CUZK_STATUS_BUG);
    assert_int_equal(cuzk_binfile_put(&w, "ab", 2, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_section_begin(&w, 2, 0, &err), CUZK_STATUS_BUG);
    assert_int_equal(cuzk_binfile_end(&w, &err), CUZK_STATUS_BUG);
    assert_int_equal(cuzk_binfile_put(&w, "c", 1, &err), CUZK_OK);
    assert_int_equal(cuzk_binfile_section_begin(&w, 2, 0, &err), CUZK_STATUS_BUG);
    assert_int_equal(cuzk_binfile_end(&w, &err), CUZK_OK);
    cuzk_binfile_writer_free(&w);
    cuzk_out_abort(&out);
    temp_remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_unknown_types),
        cmocka_unit_test(file_header),
        cmocka_unit_test(long_paths),
        cmocka_unit_test(truncated_sections),
        cmocka_unit_test(wild_lengths),
        cmocka_unit_test(repeated_types),
        cmocka_unit_test(section_counts),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(writer_keeps_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

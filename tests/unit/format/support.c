#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

blob blob_copy(const void *p, size_t n) {
    blob b = {malloc(n ? n : 1), n};
    assert_non_null(b.p);
    if (n) memcpy(b.p, p, n);
    return b;
}

blob vector_read(const char *rel) {
    char path[512];
    snprintf(path, sizeof path, "%s/circom/%s", CUZK_TEST_VECTORS, rel);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    assert_true(n >= 0);
    blob b = {malloc((size_t)n ? (size_t)n : 1), (size_t)n};
    assert_non_null(b.p);
    assert_int_equal(fread(b.p, 1, b.n, f), b.n);
    fclose(f);
    return b;
}

blob blob_splice(blob b, size_t at, size_t n, const void *with, size_t m) {
    assert_true(at + n <= b.n);
    blob r = {malloc(b.n - n + m + 1), b.n - n + m};
    assert_non_null(r.p);
    memcpy(r.p, b.p, at);
    if (m) memcpy(r.p + at, with, m);
    memcpy(r.p + at + m, b.p + at + n, b.n - at - n);
    return r;
}

void blob_free(blob *b) {
    free(b->p);
    b->p = NULL;
    b->n = 0;
}

uint32_t section_count(blob file) {
    return cuzk_ld_u32le(file.p + 8);
}

span section_at(blob file, uint32_t i, uint32_t *type) {
    span s = {12, 24, 0};
    for (uint32_t k = 0;; k++) {
        assert_true(s.header + 12 <= file.n);
        s.off = s.header + 12;
        s.len = (size_t)cuzk_ld_u64le(file.p + s.header + 4);
        assert_true(s.len <= file.n - s.off);
        *type = cuzk_ld_u32le(file.p + s.header);
        if (k == i) return s;
        s.header = s.off + s.len;
    }
}

span section_of(blob file, uint32_t type) {
    for (uint32_t i = 0; i < section_count(file); i++) {
        uint32_t t;
        span s = section_at(file, i, &t);
        if (t == type) return s;
    }
    fail_msg("no section %u", type);
    return (span){0, 0, 0};
}

blob container_rebuild(blob file, const uint32_t *order, size_t odd) {
    uint32_t n = 0;
    blob r = {malloc(2 * file.n + 24 + odd), 12}; /* a section may be listed twice */
    assert_non_null(r.p);
    memcpy(r.p, file.p, 8);
    if (odd) {
        cuzk_st_u32le(r.p + r.n, 0x7000);
        cuzk_st_u64le(r.p + r.n + 4, odd);
        memset(r.p + r.n + 12, 0xa5, odd);
        r.n += 12 + odd;
        n++;
    }
    for (; *order; order++, n++) {
        span s = section_of(file, *order);
        memcpy(r.p + r.n, file.p + s.header, 12 + s.len);
        r.n += 12 + s.len;
    }
    cuzk_st_u32le(r.p + 8, n);
    blob exact = blob_copy(r.p, r.n);
    blob_free(&r);
    return exact;
}

void assert_has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void assert_bad_input(cuzk_status st, const cuzk_err *err, const char *part1, const char *part2) {
    if (st != CUZK_STATUS_BAD_INPUT)
        fail_msg("status %d instead of bad input (wanted \"%s\")", (int)st, part1);
    assert_int_equal(err->status, CUZK_STATUS_BAD_INPUT);
    assert_has(err->msg, part1);
    if (part2) assert_has(err->msg, part2);
    assert_has(err->msg, "expected");
    assert_has(err->msg, "actual");
}

uint64_t test_seed(void) {
    const char *s = getenv("CUZK_TEST_SEED");
    uint64_t seed = s ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32);
    print_message("CUZK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* splitmix64 */
uint64_t test_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

char *temp_path(const char *name) {
    const char *tmp = getenv("TMPDIR");
    char dir[512];
    snprintf(dir, sizeof dir, "%s/cuzk-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = malloc(n);
    assert_non_null(path);
    snprintf(path, n, "%s/%s", dir, name);
    return path;
}

void temp_remove(char *path) {
    unlink(path);
    char *slash = strrchr(path, '/');
    if (slash) {
        *slash = '\0';
        rmdir(path);
    }
    free(path);
}

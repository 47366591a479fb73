/* Bases without those at infinity, counted and copied in blocks, against a plain loop. Needs no
 * device. */
#include "support.h"

#include "backend/cuda/base_scan.h"

enum { MOST = 5 * CUZK__SCAN_BLOCK };

/* A third of them at infinity, all of them, none of them; at any alignment. */
enum pattern { THIRD, EVERY, NONE, PATTERNS };

static void make(char *bases, size_t n, size_t size, enum pattern pattern) {
    memset(bases, 0, n * size);
    for (size_t i = 0; i < n; i++) {
        const bool infinite = pattern == EVERY || (pattern == THIRD && test_rng() % 3 == 0);
        /* one byte anywhere makes a point finite */
        if (!infinite) bases[i * size + test_rng() % size] = (char)(1 + i % 127);
    }
}

static bool finite(const char *base, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (base[i]) return true;
    return false;
}

/* The copies of all spans, one behind another, are what a plain loop keeps. */
static void copied(const cuzk__base_scan *s, uint32_t room, const char *want, cuzk_pool *pool) {
    char *got = malloc((size_t)cuzk__base_scan_kept(s) * s->size + 1);
    assert_non_null(got);
    size_t spans = 0;
    for (size_t first = 0, end; first < s->blocks; first = end, spans++) {
        end = cuzk__base_scan_span(s, first, room);
        assert_in_range(end, first + 1, s->blocks);
        assert_true(end == first + 1 || s->before[end] - s->before[first] <= room);
        assert_true(end == s->blocks || s->before[end + 1] - s->before[first] > room);
        cuzk__base_scan_copy(s, first, end, got + s->before[first] * s->size, pool);
    }
    assert_true(spans <= s->blocks);
    assert_memory_equal(got, want, (size_t)cuzk__base_scan_kept(s) * s->size);
    free(got);
}

static void one(const char *bases, size_t n, size_t size, bool all, cuzk_pool *pool) {
    cuzk__base_scan s;
    cuzk_err err = {0};
    char *want = malloc(n * size + 1);
    uint32_t kept = 0;
    assert_non_null(want);
    assert_int_equal(cuzk__base_scan_init(&s, bases, n, size, all, pool, &err), CUZK_OK);
    for (size_t i = 0; i < n; i++) {
        if (i % CUZK__SCAN_BLOCK == 0) assert_int_equal(s.before[i / CUZK__SCAN_BLOCK], kept);
        const bool keep = all || finite(bases + i * size, size);
        assert_int_equal(cuzk__base_scan_keeps(&s, i), keep);
        if (keep) memcpy(want + size * kept++, bases + i * size, size);
    }
    assert_int_equal(cuzk__base_scan_kept(&s), kept);
    assert_int_equal(s.blocks ? cuzk__base_scan_end(&s, s.blocks - 1) : 0, n);
    const uint32_t rooms[] = {1, CUZK__SCAN_BLOCK, 2 * CUZK__SCAN_BLOCK + 5, UINT32_MAX};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        copied(&s, rooms[i], want, pool);
    cuzk__base_scan_fini(&s);
    cuzk__base_scan_fini(&s);
    free(want);
}

static void scans(void **state) {
    (void)state;
    static const size_t sizes[] = {32, 64, 96, 128, 192};
    static const size_t counts[] = {
        0, 1, CUZK__SCAN_BLOCK - 1, CUZK__SCAN_BLOCK, CUZK__SCAN_BLOCK + 1, MOST - 7, MOST};
    cuzk_pool *pool;
    char *room = malloc((size_t)MOST * 192 + 8);
    assert_non_null(room);
    assert_int_equal(cuzk_pool_new(&pool, 3), CUZK_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            for (int p = 0; p < PATTERNS; p++) {
                char *bases = room + test_rng() % 8;
                make(bases, counts[j], sizes[i], (enum pattern)p);
                one(bases, counts[j], sizes[i], false, pool);
                one(bases, counts[j], sizes[i], true, pool);
            }
        }
    }
    cuzk_pool_free(pool);
    free(room);
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {cmocka_unit_test(scans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

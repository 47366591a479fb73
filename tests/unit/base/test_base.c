#include "support.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/rand.h"
#include "base/status.h"

#include <unistd.h>

static void status_texts_and_exit_codes(void **state) {
    (void)state;
    static const struct {
        cuzk_status st;
        int code;
    } want[] = {
        {CUZK_OK, 0},
        {CUZK_STATUS_FALSE, 1},
        {CUZK_STATUS_USAGE, 2},
        {CUZK_STATUS_BAD_INPUT, 3},
        {CUZK_STATUS_IO, 4},
        {CUZK_STATUS_NO_MEMORY, 5},
        {CUZK_STATUS_NO_DEVICE, 5},
        {CUZK_STATUS_BUG, 70},
        {(cuzk_status)12345, 70},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(cuzk_status_exit_code(want[i].st), want[i].code);
        assert_true(strlen(cuzk_status_text(want[i].st)) > 0);
    }
    assert_string_equal(cuzk_status_text((cuzk_status)12345), "unknown status");
}

static void errors_are_truncated_not_overrun(void **state) {
    (void)state;
    char big[2000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    struct {
        cuzk_err err;
        char guard[16];
    } e;
    memset(&e, 0x5a, sizeof e);
    assert_int_equal(cuzk_err_set(&e.err, CUZK_STATUS_IO, "%s", big), CUZK_STATUS_IO);
    assert_int_equal(strlen(e.err.msg), sizeof e.err.msg - 1);
    cuzk_err_prefix(&e.err, CUZK_STATUS_IO, "file %d", 7);
    assert_memory_equal(e.err.msg, "file 7: xxx", 11);
    cuzk_err_prefix(&e.err, CUZK_STATUS_IO, "%s", big);
    assert_int_equal(strlen(e.err.msg), sizeof e.err.msg - 1);
    for (size_t i = 0; i < sizeof e.guard; i++)
        assert_int_equal(e.guard[i], 0x5a);
    assert_int_equal(cuzk_err_set(NULL, CUZK_STATUS_BUG, "x"), CUZK_STATUS_BUG);
    assert_int_equal(cuzk_err_prefix(NULL, CUZK_STATUS_BUG, "x"), CUZK_STATUS_BUG);
}

static void cursor_never_leaves_its_window(void **state) {
    (void)state;
    uint8_t data[13];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i + 1);
    for (size_t len = 0; len <= sizeof data; len++) {
        cuzk_cursor c = cuzk_cursor_init(data, len);
        uint32_t v;
        uint64_t w;
        const uint8_t *p;
        bool ok32 = cuzk_rd_u32le(&c, &v);
        assert_int_equal(ok32, len >= 4);
        if (ok32) assert_int_equal(v, 0x04030201);
        size_t before = c.off;
        bool ok64 = cuzk_rd_u64le(&c, &w);
        assert_int_equal(ok64, len >= 12);
        if (ok64) assert_true(w == 0x0c0b0a0908070605u);
        if (!ok64) assert_int_equal(c.off, before);
        assert_false(cuzk_rd_bytes(&c, SIZE_MAX, &p));
        assert_false(cuzk_rd_bytes(&c, cuzk_cursor_left(&c) + 1, &p));
        assert_true(cuzk_rd_bytes(&c, cuzk_cursor_left(&c), &p));
        assert_int_equal(cuzk_cursor_left(&c), 0);
    }
    assert_true(cuzk_ld_u64be(data) == 0x0102030405060708u);
    uint8_t out[8];
    cuzk_st_u64be(out, 0x0102030405060708u);
    assert_memory_equal(out, data, 8);
}

static void buf_grows_and_escapes(void **state) {
    (void)state;
    cuzk_buf b = CUZK_BUF_INIT;
    for (int i = 0; i < 1000; i++)
        cuzk_buf_printf(&b, "%d,", i);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(b.data), b.len);
    cuzk_buf_free(&b);
    cuzk_buf_json_str(&b, "a\"\\\n\xff/");
    assert_string_equal(b.data, "\"a\\\"\\\\\\u000a\\u00ff/\"");
    cuzk_buf_free(&b);
    cuzk_buf_append(&b, NULL, SIZE_MAX);
    assert_int_equal(cuzk_buf_status(&b), CUZK_STATUS_NO_MEMORY);
    cuzk_buf_puts(&b, "x"); /* sticky */
    assert_int_equal(cuzk_buf_status(&b), CUZK_STATUS_NO_MEMORY);
    cuzk_buf_free(&b);
}

static void allocations_refuse_overflow(void **state) {
    (void)state;
    void *p;
    assert_int_equal(cuzk_alloc(&p, SIZE_MAX / 2, 3), CUZK_STATUS_NO_MEMORY);
    assert_null(p);
    assert_int_equal(cuzk_big_alloc(&p, SIZE_MAX - 5), CUZK_STATUS_NO_MEMORY);
    assert_int_equal(cuzk_alloc(&p, 0, 8), CUZK_OK);
    assert_non_null(p);
    void *q = p;
    assert_int_equal(cuzk_realloc(&q, SIZE_MAX / 2, 3), CUZK_STATUS_NO_MEMORY);
    assert_ptr_equal(p, q);
    cuzk_free(p);
    static const size_t sizes[] = {0,      1, 4095, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1,
                                   9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(cuzk_big_alloc(&p, sizes[i]), CUZK_OK);
        unsigned char *b = p;
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(b[k], 0);
        memset(b, 0xff, sizes[i]);
        cuzk_wipe(b, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k += 511)
            assert_int_equal(b[k], 0);
        if (sizes[i] >= 2 << 20) assert_int_equal((uintptr_t)p % (2 << 20), 0);
        cuzk_big_free(p, sizes[i]);
    }
}

static void hashes_match_published_vectors(void **state) {
    (void)state;
    /* "abc": FIPS 180-4, RFC 7693 appendices A and B. */
    static const uint8_t sha[4] = {0xba, 0x78, 0x16, 0xbf}, b2b[4] = {0xba, 0x80, 0xa5, 0x3f},
                         b2s[4] = {0x50, 0x8c, 0x5e, 0x8c};
    uint8_t out[64];
    assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, "abc", 3, out), CUZK_OK);
    assert_memory_equal(out, sha, 4);
    assert_int_equal(cuzk_hash_once(CUZK_HASH_BLAKE2B_512, "abc", 3, out), CUZK_OK);
    assert_memory_equal(out, b2b, 4);
    assert_int_equal(cuzk_hash_once(CUZK_HASH_BLAKE2S_256, "abc", 3, out), CUZK_OK);
    assert_memory_equal(out, b2s, 4);
}

static void randomness_differs(void **state) {
    (void)state;
    uint8_t a[64] = {0}, b[64] = {0};
    assert_int_equal(cuzk_random(a, sizeof a, NULL), CUZK_OK);
    assert_int_equal(cuzk_random(b, sizeof b, NULL), CUZK_OK);
    assert_true(memcmp(a, b, sizeof a) != 0);
}

static void faults_are_off_by_default(void **state) {
    (void)state;
    assert_false(cuzk_fault("anything"));
}

static void progress_counts_quietly(void **state) {
    (void)state;
    cuzk_progress p;
    cuzk_progress_begin(&p, NULL, "x", 10);
    for (int i = 0; i < 20; i++)
        cuzk_progress_add(&p, 1);
    assert_int_equal(atomic_load(&p.done), 20);
    cuzk_progress_end(&p);
    cuzk_progress_add(NULL, 1);
    cuzk_progress_end(NULL);
}

static void cpu_is_described(void **state) {
    (void)state;
    char name[64];
    cuzk_cpu_name(name, sizeof name);
    assert_true(strlen(name) > 0 && strlen(name) < sizeof name);
    assert_true(cuzk_cpu_count() >= 1);
}

static void unknown_processors_are_refused(void **state) {
    (void)state;
    static const char *const good[] = {"", "auto", "scalar", "baseline"};
    static const char *const bad[] = {"nonsense", "Scalar", "scalar ", "base", "ifma"};
    char before[32] = "";
    const char *now = getenv("CUZK_CPU");
    cuzk_err err = {0};
    if (now) snprintf(before, sizeof before, "%s", now);
    unsetenv("CUZK_CPU");
    assert_int_equal(cuzk_process_env(&err), CUZK_OK);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        setenv("CUZK_CPU", good[i], 1);
        assert_int_equal(cuzk_process_env(&err), CUZK_OK);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("CUZK_CPU", bad[i], 1);
        assert_int_equal(cuzk_process_env(&err), CUZK_STATUS_USAGE);
        assert_non_null(strstr(err.msg, "auto, scalar or baseline"));
    }
    setenv("CUZK_CPU", before, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_texts_and_exit_codes),
        cmocka_unit_test(errors_are_truncated_not_overrun),
        cmocka_unit_test(cursor_never_leaves_its_window),
        cmocka_unit_test(buf_grows_and_escapes),
        cmocka_unit_test(allocations_refuse_overflow),
        cmocka_unit_test(hashes_match_published_vectors),
        cmocka_unit_test(randomness_differs),
        cmocka_unit_test(faults_are_off_by_default),
        cmocka_unit_test(progress_counts_quietly),
        cmocka_unit_test(cpu_is_described),
        cmocka_unit_test(unknown_processors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

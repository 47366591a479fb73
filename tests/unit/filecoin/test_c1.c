/* C1 outputs: every form reads the same, and whatever is wrong with one is refused with a message
 * that says what and where. */
#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "filecoin/c1.h"
#include "made.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

static const made sector = {"porep-2k", "cuzk test", 7, 5, CUZK_C1_BINCODE, 0, false, NULL};

static cuzk_c1 *opened(const cuzk_buf *b) {
    cuzk_c1 *c;
    cuzk_err err = {0};
    if (cuzk_c1_from_memory(&c, made_bytes(b), b->len, "c1", &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    return c;
}

static cuzk_buf made_as(cuzk_c1_format format) {
    made m = sector;
    cuzk_buf b;
    m.format = format;
    make(&b, &m);
    return b;
}

static void same(const cuzk_c1 *a, const cuzk_c1 *b) {
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
    assert_ptr_equal(a->circuit, b->circuit);
    assert_int_equal(a->partitions, b->partitions);
    assert_memory_equal(a->comm_r, b->comm_r, 5 * 32);
}

static void refused(const void *data, size_t n, const char *part) {
    cuzk_c1 *c;
    cuzk_err err = {0};
    const cuzk_status st = cuzk_c1_from_memory(&c, data, n, "c1", &err);
    assert_null(c);
    if (st != CUZK_STATUS_BAD_INPUT) fail_msg("status %d: %s (wanted: %s)", st, err.msg, part);
    if (strncmp(err.msg, "c1: ", 4) != 0 || !strstr(err.msg, "expected") ||
        !strstr(err.msg, "actual") || !strstr(err.msg, part))
        fail_msg("%s (wanted: %s)", err.msg, part);
}

static void forms(void **state) {
    cuzk_buf bin = made_as(CUZK_C1_BINCODE), json = made_as(CUZK_C1_JSON),
             lotus = made_as(CUZK_C1_LOTUS);
    cuzk_c1 *a = opened(&bin), *b = opened(&json), *c = opened(&lotus);
    (void)state;
    assert_int_equal(bin.len, 28248);
    assert_ptr_equal(a->data, bin.data); /* zero copy */
    same(a, b);
    same(a, c);
    assert_null(a->type);
    assert_string_equal(b->type->name, "StackedDrg2KiBV1_1");
    assert_true(!b->has_sector && c->has_sector && c->sector == 7);
    cuzk_c1_free(a);
    cuzk_c1_free(b);
    cuzk_c1_free(c);
    cuzk_buf_free(&bin);
    cuzk_buf_free(&json);
    cuzk_buf_free(&lotus);
}

/* Replaces the first `from` of text by `to`. */
static cuzk_buf replaced(const cuzk_buf *text, const char *from, const char *to) {
    cuzk_buf out = CUZK_BUF_INIT;
    const char *at = strstr(text->data, from);
    assert_non_null(at);
    cuzk_buf_append(&out, text->data, (size_t)(at - text->data));
    cuzk_buf_puts(&out, to);
    cuzk_buf_puts(&out, at + strlen(from));
    assert_int_equal(cuzk_buf_status(&out), CUZK_OK);
    return out;
}

static void refused_with(const cuzk_buf *text, const char *from, const char *to, const char *part) {
    cuzk_buf changed = replaced(text, from, to);
    refused(changed.data, changed.len, part);
    cuzk_buf_free(&changed);
}

/* Members in another order (the registered proof last, the proofs first of all), and white space
 * wherever it may be. */
static void order_and_space(void **state) {
    cuzk_buf json = made_as(CUZK_C1_JSON), moved, last, spaced = CUZK_BUF_INIT;
    cuzk_c1 *want = opened(&json), *got;
    (void)state;
    moved = replaced(&json, "\"registered_proof\":\"StackedDrg2KiBV1_1\",", "");
    assert_int_equal(moved.data[moved.len - 1], '}');
    moved.data[--moved.len] = '\0';
    last = (cuzk_buf)CUZK_BUF_INIT;
    cuzk_buf_append(&last, moved.data, moved.len);
    cuzk_buf_puts(&last, ",\"registered_proof\":\"StackedDrg2KiBV1_1\"}\n");
    got = opened(&last);
    same(want, got);
    assert_ptr_equal(want->type, got->type);
    cuzk_c1_free(got);
    for (size_t i = 0; i < json.len; i++) {
        cuzk_buf_append(&spaced, &json.data[i], 1);
        if (strchr("{}[],:", json.data[i])) cuzk_buf_puts(&spaced, i % 2 ? " " : "\r\n\t");
    }
    got = opened(&spaced);
    same(want, got);
    cuzk_c1_free(got);
    cuzk_c1_free(want);
    cuzk_buf_free(&json);
    cuzk_buf_free(&moved);
    cuzk_buf_free(&last);
    cuzk_buf_free(&spaced);
}

static void wrong_json(void **state) {
    cuzk_buf json = made_as(CUZK_C1_JSON), lotus = made_as(CUZK_C1_LOTUS);
    (void)state;
    refused_with(&json, "StackedDrg2KiBV1_1", "StackedDrg3KiBV1_1",
                 "a registered proof that is known");
    refused_with(&json, "StackedDrg2KiBV1_1", "StackedDrg8MiBV1_1", "StackedDrg8MiBV1");
    refused_with(&json, "StackedDrg2KiBV1_1", "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep",
                 "13 partitions");
    refused_with(&json, "\"StackedDrg2KiBV1\":", "\"StackedDrg4KiBV1\":", "vanilla_proofs");
    refused_with(&json, "\"comm_d_proofs\"", "\"comm_d_proof\"", "unknown");
    refused_with(&json, "\"Single\"", "\"Sub\"", "vanilla_proofs.StackedDrg2KiBV1[0][0]");
    refused_with(&json, "\"index\":", "\"index\":9", "a number up to");
    refused_with(&json, "\"root\":[", "\"root\":[1,", "32 numbers");
    refused_with(&json, "\"root\":[", "\"root\":[-", "a whole number");
    refused_with(&json, "\"_h\":null", "\"_h\":0", "_h: expected null");
    refused_with(&json, "\"seed\":", "\"ticket\":", "each field once");
    refused_with(&json, ",\"seed\":[", ",\"sead\":[", "sead: expected a field");
    refused_with(&json, "\"layer_index\":", "\"layer_index\":99999999999", "4294967295");
    refused_with(&json, "{\"comm_d_proofs\"", "{\"comm_d_proofs\":0},{\"comm_d_proofs\"",
                 "an object");
    refused_with(&lotus, "\"SectorSize\":2048", "\"SectorSize\":8388608", "SectorSize");
    refused_with(&lotus, "\"Phase1Out\":\"", "\"Phase1Out\":\"!", "base64");
    refused_with(&lotus, "\"Phase1Out\":\"", "\"Phase1Out\":\"AAAA", "an object");
    refused_with(&lotus, "Phase1Out", "Phase2Out", "a field `Phase1Out`");
    refused_with(&lotus, "\"SectorSize\":2048", "\"SectorSize\":0",
                 "the size of Phase1Out, actual 0");
    refused_with(&json, "{\"registered_proof\"", "{\"x\":[1],\"registered_proof\"",
                 "x: expected a field of this object");
    refused("{}", 2, "`Phase1Out`");
    refused("{\"x\":1}", 7, "`vanilla_proofs`");
    refused("[]", 2, "a JSON object or bincode");
    refused("/* C1 */ {}", 11, "JSON has no comments");
    refused("\xef\xbb\xbf{}", 5, "byte order mark");
    /* a whole challenge less, and one more */
    char *second = strstr(json.data + 200, "{\"comm_d_proofs\"");
    assert_non_null(second);
    cuzk_buf one = CUZK_BUF_INIT, three = CUZK_BUF_INIT;
    char *end = strstr(second, "]]},\"comm_r\"");
    if (!end) end = strstr(second, "]]}");
    assert_non_null(end);
    cuzk_buf_append(&one, json.data, (size_t)(second - 1 - json.data));
    cuzk_buf_puts(&one, end);
    refused(one.data, one.len, "2 challenges");
    cuzk_buf_append(&three, json.data, (size_t)(end - json.data));
    cuzk_buf_puts(&three, ",");
    cuzk_buf_append(&three, second, (size_t)(end - second));
    cuzk_buf_puts(&three, end);
    refused(three.data, three.len, "2 challenges");
    cuzk_buf_free(&one);
    cuzk_buf_free(&three);
    cuzk_buf_free(&json);
    cuzk_buf_free(&lotus);
}

static void truncated(void **state) {
    cuzk_buf bin = made_as(CUZK_C1_BINCODE), json = made_as(CUZK_C1_JSON);
    (void)state;
    for (size_t n = 0; n < bin.len; n++)
        refused(bin.data, n, "expected");
    for (size_t n = 0; n < json.len; n += n < 600 || n > json.len - 300 ? 1 : 97)
        refused(json.data, n, "expected");
    cuzk_buf_append(&bin, "", 1);
    refused(bin.data, bin.len, "the end");
    cuzk_buf_free(&bin);
    cuzk_buf_free(&json);
}

static void refused_u64(cuzk_buf *bin, size_t off, uint64_t v, const char *part) {
    uint8_t *at = (uint8_t *)bin->data + off;
    const uint64_t before = cuzk_ld_u64le(at);
    cuzk_st_u64le(at, v);
    refused(bin->data, bin->len, part);
    cuzk_st_u64le(at, before);
}

static void wrong_bincode(void **state) {
    cuzk_buf bin = made_as(CUZK_C1_BINCODE);
    cuzk__c1_layout l;
    (void)state;
    cuzk__c1_layout_of(&l, &cuzk_circuit_find("porep-2k")->u.porep);
    assert_int_equal(cuzk__c1_bytes(&l, 1), bin.len);
    const size_t first = 16; /* the first challenge */
    const uint64_t wrong[] = {0, 1, 3, 7, 0xffffffff, UINT64_MAX, UINT64_MAX / 32 + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wrong[i] != 1) refused_u64(&bin, 0, wrong[i], "partitions");
        refused_u64(&bin, 8, wrong[i], "partition 0: expected 2 challenges");
        refused_u64(&bin, first + 4 + 64, wrong[i],
                    wrong[i] == 7 ? "comm_d_proofs" : "levels of tree D"); /* 7: 4 KiB */
        refused_u64(&bin, first + l.replica + 4 + 64, wrong[i], "comm_r_last_proof: expected 2");
        refused_u64(&bin, first + l.own + 4, wrong[i], "c_x: expected 2 rows");
        refused_u64(&bin, first + l.drg, wrong[i], "drg_parents");
        refused_u64(&bin, first + l.exp, wrong[i], "exp_parents");
        refused_u64(&bin, first + l.labels, wrong[i], "labeling_proofs");
        refused_u64(&bin, first + l.labels + 8, wrong[i], "labeling_proofs 0: expected 37");
    }
    refused_u64(&bin, first + l.proof + l.encoding, 36, "challenge 1, encoding_proof");
    refused_u64(&bin, first + l.replica, 1, "kind Single");
    refused_u64(&bin, first + 4 + 64 + 8 + 8 + 32, 2, "a position below 2");
    /* 8 MiB in the place of 2 KiB: other lengths follow */
    refused_u64(&bin, first + 4 + 64, 18, "comm_d_proofs");
    cuzk_buf_free(&bin);
}

static void commitments(void **state) {
    static const char *const names[] = {"comm_r", "comm_d", "replica_id"};
    cuzk_buf bin = made_as(CUZK_C1_BINCODE);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *top = bin.data + bin.len - 160 + 32 * i + 31;
        const char before = *top;
        *top = (char)0x74; /* r begins with 0x73 */
        refused(bin.data, bin.len, names[i]);
        *top = before;
    }
    cuzk_buf_free(&bin);
}

static void types(void **state) {
    cuzk_buf bin = made_as(CUZK_C1_BINCODE), json = made_as(CUZK_C1_JSON);
    cuzk_c1 *a = opened(&bin), *b = opened(&json);
    (void)state;
    for (uint64_t i = 0; i < CUZK_SEAL_TYPES; i++) {
        const bool size = i % 5 == 0, interactive = i < 15;
        const cuzk_seal_type *t = cuzk_seal_type_at(i);
        cuzk_err err = {0};
        assert_int_equal(cuzk_c1_fits(a, t, &err),
                         size && interactive ? CUZK_OK : CUZK_STATUS_BAD_INPUT);
        assert_int_equal(cuzk_c1_fits(b, t, &err), i == 5 ? CUZK_OK : CUZK_STATUS_BAD_INPUT);
        assert_ptr_equal(cuzk_seal_type_find(t->name, strlen(t->name)), t);
        assert_true(t->number == i && t->sector_size == 32ull << t->log2_nodes);
        assert_int_equal(cuzk_circuit_find(t->circuit)->u.porep.log2_nodes, t->log2_nodes);
    }
    assert_null(cuzk_seal_type_at(20));
    cuzk_c1_free(a);
    cuzk_c1_free(b);
    cuzk_buf_free(&bin);
    cuzk_buf_free(&json);
}

/* ---- 32 GiB ---- */

/* Limits hold where the test runs as it is, not instrumented and not emulated. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
enum { LIMITS = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { LIMITS = 0 };
#else
enum { LIMITS = 1 };
#endif
#else
enum { LIMITS = 1 };
#endif

/* Bytes of private writable memory of this process. */
static size_t data_bytes(void) {
    char line[128];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmData: %zu kB", &kib) == 1) break;
    fclose(f);
    return kib * 1024;
}

/* The wrapper of a 32 GiB C1, 51 MB, is read within 1.5 times the bincode's bytes of memory (the
 * system refuses more); the time is printed, 0.1 core-seconds where docs/performance.md was
 * measured. */
static void large(void **state) {
    enum { BINCODE = 11014808 };
    const made m = {"porep-32g", "cuzk sparse", 77, 8, CUZK_C1_LOTUS, 0, true, NULL};
    char path[] = "/tmp/cuzk_test_c1_XXXXXX";
    struct rlimit before, limit;
    cuzk_buf text;
    cuzk_c1 *c;
    cuzk_err err = {0};
    (void)state;
    make(&text, &m);
    assert_true(text.len > 51000000);
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.data, text.len), text.len);
    close(fd);
    cuzk_buf_free(&text);
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = data_bytes() + BINCODE / 2 * 3;
    if (LIMITS) assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    int64_t best = INT64_MAX;
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 3 && st == CUZK_OK; i++) {
        const int64_t t = cuzk_cpu_ns();
        st = cuzk_c1_open(&c, path, &err);
        const int64_t spent = cuzk_cpu_ns() - t;
        if (spent < best) best = spent;
        if (st == CUZK_OK && i < 2) cuzk_c1_free(c);
    }
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    unlink(path);
    if (st != CUZK_OK) fail_msg("%s", err.msg);
    fprintf(stderr, "51 MB wrapper: %.3f core-seconds\n", (double)best * 1e-9);
    assert_int_equal(c->len, BINCODE);
    assert_true(c->has_sector && c->sector == 77 && c->partitions == 10);
    cuzk_c1_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),         cmocka_unit_test(order_and_space),
        cmocka_unit_test(wrong_json),    cmocka_unit_test(truncated),
        cmocka_unit_test(wrong_bincode), cmocka_unit_test(commitments),
        cmocka_unit_test(types),         cmocka_unit_test(large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

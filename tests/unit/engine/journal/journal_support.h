/* What the journal's tests share: directories of their own, short forms of requests. */
#ifndef CUZK_TESTS_JOURNAL_SUPPORT_H
#define CUZK_TESTS_JOURNAL_SUPPORT_H

#include "support.h"

#include "engine/journal/hooks.h"
#include "engine/journal/journal.h"

#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        cuzk_err err = {0};                                                                        \
        cuzk_status status_ = (call);                                                              \
        if (status_ != CUZK_OK) fail_msg("%s: %d: %s", #call, status_, err.msg);                   \
    } while (0)
/* The call fails so, with a sentence that has `text` in it. */
#define FAILS(call, expected, text)                                                                \
    do {                                                                                           \
        cuzk_err err = {0};                                                                        \
        assert_int_equal((call), (expected));                                                      \
        assert_int_equal(err.status, (expected));                                                  \
        if (!strstr(err.msg, (text))) fail_msg("\"%s\" lacks \"%s\"", err.msg, (text));            \
    } while (0)

static inline void test_dir(char out[256]) {
    /* memory, where there is such a place: every commit is synced */
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !tmp[0]) tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(out, 256, "%s/cuzk-journal-XXXXXX", tmp);
    assert_non_null(mkdtemp(out));
}

static inline int remove_entry(const char *path, const struct stat *sb, int flag, struct FTW *f) {
    (void)sb;
    (void)flag;
    (void)f;
    return remove(path);
}

static inline void test_dir_remove(const char *dir) {
    assert_int_equal(nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline cuzk_journal *open_with(const char *dir, const cuzk_journal_options *o) {
    cuzk_journal *j = NULL;
    OK(cuzk_journal_open(&j, dir, o, &err));
    return j;
}

static inline cuzk_journal_part part(const void *data, size_t len) {
    return (cuzk_journal_part){data, len};
}

static inline cuzk_journal_part text_part(const char *s) {
    return part(s, strlen(s));
}

/* Calls fn in a child that ends there, the journal open and without a word, as by kill -9. */
static inline void in_child(void (*fn)(void)) {
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fn();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What became of a request. */
typedef struct answer_t {
    int runs;
    cuzk_status status;
    char msg[640];
} answer_t;

static inline void on_done(void *ctx, cuzk_status status, const cuzk_err *err) {
    answer_t *a = ctx;
    a->runs++;
    a->status = status;
    snprintf(a->msg, sizeof a->msg, "%s", err->msg);
}

/* Accepts a job with a payload of one part (NULL: none) and waits until it is durable. */
static inline cuzk_status try_accept(cuzk_journal *j, cuzk_journal_accepted *out,
                                     const char *request_id, const void *payload, size_t len,
                                     uint32_t partitions, cuzk_err *err) {
    const cuzk_journal_part one = {payload, len};
    cuzk_payload *p = NULL;
    answer_t a = {0};
    if (payload) CUZK_TRY(cuzk_journal_put(j, &p, &one, 1, false, err));
    const cuzk_journal_spec spec = {.request_id = request_id,
                                    .client = "test",
                                    .kind = "porep_c2",
                                    .priority = 2,
                                    .n_partitions = partitions,
                                    .meta = {"meta", 4},
                                    .payload = p};
    cuzk_status st = cuzk_journal_accept(j, out, &spec, on_done, &a, err);
    cuzk_journal_sync(j);
    cuzk_payload_free(p);
    if (st != CUZK_OK) {
        assert_int_equal(a.runs, 0);
        return st;
    }
    assert_int_equal(a.runs, 1);
    return a.status == CUZK_OK ? CUZK_OK : cuzk_err_set(err, a.status, "%s", a.msg);
}

static inline uint64_t accept_job(cuzk_journal *j, const char *request_id, const char *payload) {
    cuzk_journal_accepted a;
    OK(try_accept(j, &a, request_id, payload, payload ? strlen(payload) : 0, 4, &err));
    return a.job;
}

static inline cuzk_status end_job(cuzk_journal *j, uint64_t job, cuzk_journal_outcome outcome,
                                  cuzk_journal_part result) {
    answer_t a = {0};
    const cuzk_journal_end_spec end = {.outcome = outcome,
                                       .stage = outcome == CUZK_JOURNAL_FAILED ? "verify" : NULL,
                                       .message =
                                           outcome == CUZK_JOURNAL_FAILED ? "it went wrong" : NULL,
                                       .result = result,
                                       .timings = {"end", 3}};
    OK(cuzk_journal_end(j, job, &end, on_done, &a, &err));
    cuzk_journal_sync(j);
    assert_int_equal(a.runs, 1);
    return a.status;
}

static inline cuzk_status partition_done(cuzk_journal *j, uint64_t job, uint32_t p,
                                         const char *proof) {
    answer_t a = {0};
    OK(cuzk_journal_partition_done(j, job, p, text_part(proof), text_part("t"), on_done, &a, &err));
    cuzk_journal_sync(j);
    assert_int_equal(a.runs, 1);
    return a.status;
}

#endif

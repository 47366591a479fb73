/* Under load and when things fail: kill -9, many threads, full disks, syncs that fail. */
#include "journal_support.h"

#include "lossy.h"

#include "base/log.h"
#include "base/mem.h"
#include "engine/journal/internal.h"

#include <errno.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static char dir[256];

static int setup(void **state) {
    (void)state;
    test_dir(dir);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_dir_remove(dir);
    return 0;
}

/* ---- kill -9 ---- */

typedef enum report_type { ACCEPTED, PARTITION, ENDED } report_type;

/* What the child says is durable. */
typedef struct report_t {
    report_type what;
    uint32_t partition;
    uint64_t job, seed;
    char id[CUZK_JOURNAL_ID_BYTES];
} report_t;

static int report_fd;
enum { KILL_PARTS = 3 };

static size_t payload_of(uint8_t *out, uint64_t seed) {
    const size_t n = seed % 4 == 0 ? 70000 : 40 + seed % 200;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(seed >> (8 * (i % 8)));
    return n;
}

/* ctx: a report, on the heap. */
static void tell(void *ctx, cuzk_status status, const cuzk_err *err) {
    (void)err;
    if (status == CUZK_OK && write(report_fd, ctx, sizeof(report_t)) != sizeof(report_t)) _exit(3);
    free(ctx);
}

static report_t *report(report_type what, uint64_t job, uint32_t partition, uint64_t seed,
                        const char *id) {
    report_t *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->what = what;
    r->job = job;
    r->partition = partition;
    r->seed = seed;
    if (id) snprintf(r->id, sizeof r->id, "%s", id);
    return r;
}

static void prove_one(cuzk_journal *j, uint64_t seed) {
    static uint8_t payload[1 << 17];
    const cuzk_journal_part one = {payload, payload_of(payload, seed)};
    cuzk_payload *p;
    OK(cuzk_journal_put(j, &p, &one, 1, false, &err));
    char request[32];
    snprintf(request, sizeof request, "r%016llx", (unsigned long long)seed);
    const cuzk_journal_spec spec = {
        .request_id = request, .kind = "k", .n_partitions = KILL_PARTS, .payload = p};
    cuzk_journal_accepted a;
    report_t *r = report(ACCEPTED, 0, 0, seed, NULL);
    OK(cuzk_journal_accept(j, &a, &spec, NULL, NULL, &err));
    r->job = a.job;
    snprintf(r->id, sizeof r->id, "%s", a.id);
    /* its own request again: `done` runs when the first is durable */
    OK(cuzk_journal_accept(j, &a, &spec, tell, r, &err));
    assert_true(a.existing);
    cuzk_payload_free(p);
    for (uint32_t i = 0; i < KILL_PARTS; i++)
        OK(cuzk_journal_partition_done(j, a.job, i, part(&seed, 8), part(NULL, 0), tell,
                                       report(PARTITION, a.job, i, seed, NULL), &err));
    const cuzk_journal_end_spec end = {.outcome = CUZK_JOURNAL_DONE, .result = {&seed, 8}};
    if (seed % 3) return;
    OK(cuzk_journal_end(j, a.job, &end, tell, report(ENDED, a.job, 0, seed, NULL), &err));
}

static void child(uint64_t seed) {
    cuzk_journal *j = open_with(dir, NULL);
    for (;; seed = seed * 6364136223846793005u + 1442695040888963407u) {
        prove_one(j, seed >> 8);
        if (seed >> 60 < 4) cuzk_journal_sync(j);
    }
}

static void check_report(cuzk_journal *j, const report_t *r) {
    static uint8_t expected[1 << 17];
    cuzk_journal_job job;
    OK(cuzk_journal_get(j, &job, r->job, &err));
    if (r->what == ACCEPTED) {
        char request[32];
        snprintf(request, sizeof request, "r%016llx", (unsigned long long)r->seed);
        assert_string_equal(job.id, r->id);
        assert_string_equal(job.request_id, request);
        if (!job.outcome) {
            const size_t n = payload_of(expected, r->seed);
            cuzk_payload *p;
            OK(cuzk_journal_payload(j, &p, r->job, &err));
            assert_int_equal(cuzk_payload_part(p, 0).len, n);
            assert_memory_equal(cuzk_payload_part(p, 0).data, expected, n);
            cuzk_payload_free(p);
        }
    } else if (r->what == PARTITION) {
        assert_true(job.partitions[r->partition].done);
        if (!job.outcome) assert_memory_equal(job.partitions[r->partition].proof.data, &r->seed, 8);
    } else {
        uint8_t *result;
        size_t len;
        assert_int_equal(job.outcome, CUZK_JOURNAL_DONE);
        OK(cuzk_journal_result(j, &result, &len, r->job, &err));
        assert_int_equal(len, 8);
        assert_memory_equal(result, &r->seed, 8);
        cuzk_free(result);
    }
    cuzk_journal_job_free(&job);
}

static int kill_once(uint64_t seed) {
    int fds[2], reports = 0;
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        report_fd = fds[1];
        child(seed);
        _exit(1);
    }
    close(fds[1]);
    report_t *all = NULL;
    const int limit = 1 + (int)(test_rng() % 300);
    for (;;) {
        report_t r;
        size_t got = 0;
        for (ssize_t n = 1; n > 0 && got<sizeof r; got += n> 0 ? (size_t)n : 0)
            n = read(fds[0], (char *)&r + got, sizeof r - got);
        if (got < sizeof r) break;
        all = realloc(all, (size_t)(reports + 1) * sizeof *all);
        assert_non_null(all);
        all[reports++] = r;
        if (reports == limit) assert_int_equal(kill(pid, SIGKILL), 0);
    }
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    cuzk_journal *j = open_with(dir, NULL);
    for (int i = 0; i < reports; i++)
        check_report(j, &all[i]);
    const cuzk_journal_retention rules = {.max_jobs = 20};
    uint64_t removed;
    OK(cuzk_journal_retain(j, &removed, &rules, &err));
    /* the queue is worked off as the daemon would */
    cuzk_journal_job job;
    for (uint64_t at = 0; cuzk_journal_next(j, &job, at, NULL) == CUZK_OK; at = job.job) {
        const cuzk_journal_end_spec end = {.outcome = CUZK_JOURNAL_CANCELLED};
        const uint64_t number = job.job;
        OK(cuzk_journal_end(j, number, &end, NULL, NULL, &err));
        cuzk_journal_job_free(&job);
        job.job = number;
    }
    cuzk_journal_close(j);
    free(all);
    return reports;
}

static void what_was_reported_survives_a_kill(void **state) {
    (void)state;
    const char *env = getenv("CUZK_TEST_KILLS");
    int reports = 0;
    for (int i = 0; i < (env ? (int)strtol(env, NULL, 10) : 8); i++)
        reports += kill_once(test_rng());
    assert_true(reports > 0);
}

/* ---- threads ---- */

static void *many_requests(void *ctx) {
    cuzk_journal *j = ctx;
    cuzk_journal_accepted a;
    static const char *const names[] = {"x", "y", "z"};
    for (int i = 0; i < 40; i++) {
        OK(try_accept(j, &a, i % 4 ? NULL : names[i % 3], "payload", 7, 4, &err));
        partition_done(j, a.job, 1, "proof"); /* of a shared job: perhaps ended already */
        end_job(j, a.job, CUZK_JOURNAL_DONE, text_part("result"));
        cuzk_journal_job *list;
        size_t n;
        OK(cuzk_journal_list(j, &list, &n, &(cuzk_journal_filter){.limit = 3}, &err));
        assert_true(n >= 1);
        cuzk_journal_jobs_free(list, n);
        cuzk_journal_stats stats;
        cuzk_journal_get_stats(j, &stats);
    }
    return NULL;
}

static void any_thread_may_call(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    cuzk_journal *j = open_with(dir, NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_requests, j), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cuzk_journal_total *totals;
    size_t n;
    OK(cuzk_journal_totals(j, &totals, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(totals[0].jobs, THREADS * 30 + 3);
    assert_int_equal(totals[1].jobs, THREADS * 30 + 3); /* each ended once */
    cuzk_free(totals);
    cuzk_journal_close(j);
}

static void hold(void *ctx, cuzk_status status, const cuzk_err *err) {
    (void)status;
    (void)err;
    sem_wait(ctx);
}

static void count(void *ctx, cuzk_status status, const cuzk_err *err) {
    (void)err;
    if (status == CUZK_OK) ++*(int *)ctx;
}

static void many_requests_share_a_commit(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_stats before, after;
    const cuzk_journal_spec spec = {.kind = "k", .n_partitions = 1};
    cuzk_journal_accepted a;
    sem_t gate;
    int done = 0;
    sem_init(&gate, 0, 0);
    cuzk_journal_get_stats(j, &before);
    OK(cuzk_journal_accept(j, &a, &spec, hold, &gate, &err));
    for (int i = 0; i < 500; i++)
        OK(cuzk_journal_accept(j, &a, &spec, count, &done, &err));
    sem_post(&gate);
    cuzk_journal_sync(j);
    cuzk_journal_get_stats(j, &after);
    assert_int_equal(done, 500);
    assert_int_equal(after.requests - before.requests, 501);
    assert_true(after.commits - before.commits <= 3);
    assert_int_equal(after.waiting, 0);
    /* and close answers what still waits */
    OK(cuzk_journal_accept(j, &a, &spec, count, &done, &err));
    cuzk_journal_close(j);
    assert_int_equal(done, 501);
    sem_destroy(&gate);
}

/* ---- no room ---- */

static void a_request_too_large_fails_alone(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_spec spec = {.request_id = "first", .kind = "k", .n_partitions = 1};
    cuzk_journal_accepted a;
    sem_t gate;
    sem_init(&gate, 0, 0);
    OK(cuzk_journal_accept(j, &a, &spec, NULL, NULL, &err));
    cuzk_journal_sync(j);
    assert_int_equal(cuzk__db_exec(&j->w, "PRAGMA max_page_count=100"), SQLITE_OK);
    OK(cuzk_journal_accept(j, &a, &(cuzk_journal_spec){.kind = "k", .n_partitions = 1}, hold, &gate,
                           &err));
    static uint8_t big[1 << 20];
    answer_t done[4] = {{0}};
    spec.request_id = "before";
    OK(cuzk_journal_accept(j, &a, &spec, on_done, &done[0], &err));
    spec.request_id = "big";
    spec.meta = part(big, sizeof big);
    OK(cuzk_journal_accept(j, &a, &spec, on_done, &done[1], &err));
    OK(cuzk_journal_partition_done(j, a.job, 0, text_part("p"), text_part("t"), on_done, &done[2],
                                   &err));
    spec.request_id = "after";
    spec.meta.len = 10;
    OK(cuzk_journal_accept(j, &a, &spec, on_done, &done[3], &err));
    sem_post(&gate);
    cuzk_journal_sync(j);
    assert_int_equal(done[0].status, CUZK_OK);
    assert_int_equal(done[1].status, CUZK_STATUS_IO);
    assert_non_null(strstr(done[1].msg, "free some space"));
    assert_non_null(strstr(done[1].msg, "journal.db"));
    assert_int_equal(done[2].status, CUZK_STATUS_NOT_FOUND);
    assert_int_equal(done[3].status, CUZK_OK);
    cuzk_journal_job job;
    FAILS(cuzk_journal_find_request(j, &job, "big", &err), CUZK_STATUS_NOT_FOUND, "big");
    /* and when there is room again, it is taken */
    assert_int_equal(cuzk__db_exec(&j->w, "PRAGMA max_page_count=100000"), SQLITE_OK);
    spec.request_id = "big";
    spec.meta.len = sizeof big;
    OK(cuzk_journal_accept(j, &a, &spec, on_done, &done[1], &err));
    cuzk_journal_sync(j);
    assert_int_equal(done[1].status, CUZK_OK);
    assert_false(a.existing);
    cuzk_journal_close(j);
    sem_destroy(&gate);
    cuzk_journal_close(open_with(dir, NULL));
}

/* In a process of its own, whose files may not grow. */
static void work_without_room(void) {
    struct rlimit all, tight;
    int log[2];
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(pipe(log), 0);
    cuzk_log_setup(log[1], CUZK_LOG_INFO, CUZK_LOG_JSON);
    cuzk_journal *j = open_with(dir, NULL);
    const uint64_t first = accept_job(j, "first", "payload");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    tight = all;
    tight.rlim_cur = 300000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    static uint8_t big[400000], meta[5000];
    cuzk_journal_accepted a;
    FAILS(try_accept(j, &a, "", big, sizeof big, 1, &err), CUZK_STATUS_BUSY, "free some space");
    cuzk_status st = CUZK_OK;
    cuzk_err why = {0};
    int taken = 0;
    for (int i = 0; i < 1000 && st == CUZK_OK; i++, taken++) {
        answer_t done = {0};
        const cuzk_journal_spec spec = {
            .kind = "k", .n_partitions = 1, .meta = {meta, sizeof meta}};
        OK(cuzk_journal_accept(j, &a, &spec, on_done, &done, &err));
        cuzk_journal_sync(j);
        st = done.status;
        snprintf(why.msg, sizeof why.msg, "%s", done.msg);
    }
    assert_true(taken > 0);
    assert_int_equal(st, CUZK_STATUS_IO);
    if (!strstr(why.msg, "free some space")) fail_msg("%s", why.msg);
    cuzk_journal_stats stats;
    cuzk_journal_get_stats(j, &stats);
    assert_int_equal(stats.last_status, CUZK_STATUS_IO);
    cuzk_journal_job job;
    OK(cuzk_journal_get(j, &job, first, &err)); /* reading goes on */
    cuzk_journal_job_free(&job);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    accept_job(j, "later", "payload");
    end_job(j, first, CUZK_JOURNAL_DONE, text_part("result"));
    cuzk_journal_get_stats(j, &stats);
    assert_int_equal(stats.last_status, CUZK_OK);
    cuzk_journal_close(j);
    close(log[1]);
    static char text[20000];
    size_t n = 0;
    for (ssize_t k; (k = read(log[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)k;
    /* each change once, with the reason; and the payload for which there was no room */
    static const char *const said[] = {
        "\"level\":\"error\",\"component\":\"journal\",\"message\":\"not stored: ",
        "cannot be written, so no job is accepted: ",
        "\"level\":\"info\",\"component\":\"journal\",\"message\":", " can be written again; "};
    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(text, said[i]);
        if (!at || strstr(at + 1, said[i])) fail_msg("%s: not once in\n%s", said[i], text);
    }
    assert_non_null(strstr(strstr(text, said[1]), "free some space"));
}

static void a_full_disk_costs_nothing_that_was_taken(void **state) {
    (void)state;
    in_child(work_without_room);
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_job job;
    OK(cuzk_journal_find_request(j, &job, "first", &err));
    assert_int_equal(job.outcome, CUZK_JOURNAL_DONE);
    cuzk_journal_job_free(&job);
    OK(cuzk_journal_find_request(j, &job, "later", &err));
    cuzk_journal_job_free(&job);
    cuzk_journal_close(j);
}

static void open_without_room(void) {
    struct rlimit all, tight;
    cuzk_journal *j;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    tight = all;
    for (rlim_t room = 0; room < 60000; room = 2 * room + 100) {
        tight.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, dir);
        FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "free some space");
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    j = open_with(dir, NULL);
    accept_job(j, "later", "payload");
    /* left with a log, for which the database would have to grow */
    tight.rlim_cur = 20000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    cuzk_journal_close(j);
}

static void a_full_disk_at_the_start_is_said(void **state) {
    (void)state;
    in_child(open_without_room);
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_job job;
    OK(cuzk_journal_find_request(j, &job, "later", &err));
    cuzk_journal_job_free(&job);
    cuzk_journal_close(j);
}

static struct {
    cuzk_journal_step step;
    int error;
} failing;

static int fail_step(void *ctx, cuzk_journal_step step, int fd, const char *name) {
    (void)ctx;
    (void)fd;
    (void)name;
    return step == failing.step ? failing.error : 0;
}

static void a_spool_that_fails_is_said(void **state) {
    (void)state;
    static uint8_t big[100000];
    const cuzk_journal_hooks hooks = {.step = fail_step};
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.hooks = &hooks;
    failing.error = 0;
    cuzk_journal *j = open_with(dir, &o);
    static const struct {
        cuzk_journal_step step;
        int error;
        cuzk_status status;
    } cases[] = {{CUZK_JOURNAL_WRITE, ENOSPC, CUZK_STATUS_BUSY},
                 {CUZK_JOURNAL_SYNC_FILE, EIO, CUZK_STATUS_IO},
                 {CUZK_JOURNAL_NAME, EDQUOT, CUZK_STATUS_BUSY},
                 {CUZK_JOURNAL_SYNC_DIR, EIO, CUZK_STATUS_IO}};
    cuzk_journal_accepted a;
    cuzk_journal_stats stats;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        failing.step = cases[i].step;
        failing.error = cases[i].error;
        big[0] = (uint8_t)i;
        FAILS(try_accept(j, &a, "", big, sizeof big, 1, &err), cases[i].status, "/spool/");
        failing.error = 0;
        cuzk_journal_get_stats(j, &stats);
        assert_int_equal(stats.spool_files, 0);
        assert_int_equal(stats.spool_bytes, 0);
    }
    OK(try_accept(j, &a, "", big, sizeof big, 1, &err));
    cuzk_journal_close(j);
}

static void a_lost_sync_ends_all_promises(void **state) {
    (void)state;
    cuzk_journal_hooks hooks;
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.hooks = &hooks;
    lossy_start(dir, &hooks);
    cuzk_journal *j = open_with(dir, &o);
    const uint64_t job = accept_job(j, "confirmed", "payload");
    cuzk_journal_accepted a;
    lossy_fail_syncs(1);
    FAILS(try_accept(j, &a, "lost", "payload", 7, 1, &err), CUZK_STATUS_IO, "started again");
    FAILS(try_accept(j, &a, "later", "payload", 7, 1, &err), CUZK_STATUS_IO, "started again");
    assert_int_equal(end_job(j, job, CUZK_JOURNAL_DONE, text_part("")), CUZK_STATUS_IO);
    cuzk_journal_job r;
    OK(cuzk_journal_get(j, &r, job, &err));
    cuzk_journal_job_free(&r);
    cuzk_journal_close(j);
    j = open_with(dir, &o);
    OK(cuzk_journal_find_request(j, &r, "confirmed", &err));
    assert_int_equal(r.outcome, CUZK_JOURNAL_UNFINISHED);
    cuzk_journal_job_free(&r);
    accept_job(j, "later", "payload");
    cuzk_journal_close(j);
    lossy_stop();
}

/* rm -rf of the directory, or another one in its place. */
static void a_directory_that_is_gone_ends_all_promises(void **state) {
    (void)state;
    for (int moved = 0; moved < 2; moved++) {
        char own[300], aside[320];
        cuzk_journal_accepted a;
        snprintf(own, sizeof own, "%s/own", dir);
        snprintf(aside, sizeof aside, "%s/aside", dir);
        assert_int_equal(mkdir(own, 0700), 0);
        cuzk_journal *j = open_with(own, NULL);
        OK(try_accept(j, &a, "before", "payload", 7, 1, &err));
        if (moved)
            assert_int_equal(rename(own, aside), 0);
        else
            test_dir_remove(own);
        FAILS(try_accept(j, &a, "lost", "payload", 7, 1, &err), CUZK_STATUS_IO, "started again");
        FAILS(try_accept(j, &a, "later", "payload", 7, 1, &err), CUZK_STATUS_IO, "removed");
        assert_int_equal(mkdir(own, 0700), 0);
        FAILS(try_accept(j, &a, "too late", "payload", 7, 1, &err), CUZK_STATUS_IO, "removed");
        cuzk_journal_close(j);
        test_dir_remove(own);
    }
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_reported_survives_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(any_thread_may_call, setup, teardown),
        cmocka_unit_test_setup_teardown(many_requests_share_a_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_too_large_fails_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_costs_nothing_that_was_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_at_the_start_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spool_that_fails_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_sync_ends_all_promises, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_is_gone_ends_all_promises, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

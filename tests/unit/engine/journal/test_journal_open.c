/* The state directory: whose it is, what is damaged, what is older or newer, what goes when. */
#include "journal_support.h"

#include "base/mem.h"
#include "engine/journal/db.h"

#include <fcntl.h>
#include <sqlite3.h>

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

static char *in_dir(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool exists(const char *name) {
    return access(in_dir(name), F_OK) == 0;
}

static long size_of(const char *name) {
    struct stat sb;
    return stat(in_dir(name), &sb) == 0 ? (long)sb.st_size : -1;
}

static void read_all(const char *name, uint8_t *out, size_t n) {
    int fd = open(in_dir(name), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, out, n), n);
    close(fd);
}

static void write_all(const char *name, const uint8_t *data, size_t n) {
    int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), n);
    close(fd);
}

static void sql(const char *text) {
    sqlite3 *h;
    char *why = NULL;
    assert_int_equal(sqlite3_open(in_dir("journal.db"), &h), SQLITE_OK);
    if (sqlite3_exec(h, text, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", text, why);
    sqlite3_close(h);
}

/* ---- whose it is ---- */

static void a_second_process_is_refused(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL), *k;
    char pid[32];
    snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
    FAILS(cuzk_journal_open(&k, dir, NULL, &err), CUZK_STATUS_IO, pid);
    FAILS(cuzk_journal_open(&k, dir, NULL, &err), CUZK_STATUS_IO, "state directory of its own");
    accept_job(j, "", NULL);
    cuzk_journal_close(j);
    cuzk_journal_close(open_with(dir, NULL)); /* the lock went with it */
}

static void leave_open(void) {
    cuzk_journal *j = open_with(dir, NULL);
    accept_job(j, "left", "payload");
}

static void a_lock_ends_with_its_process(void **state) {
    (void)state;
    in_child(leave_open);
    assert_true(exists("journal.db-wal"));
    struct stat sb;
    assert_int_equal(stat(in_dir("journal.db"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0600);
    assert_int_equal(stat(in_dir("journal.db-wal"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0600);
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_job job;
    OK(cuzk_journal_find_request(j, &job, "left", &err));
    cuzk_journal_job_free(&job);
    cuzk_journal_close(j);
    assert_false(exists("journal.db-wal"));
}

static void a_directory_is_made_or_refused(void **state) {
    (void)state;
    cuzk_journal *j;
    struct stat sb;
    char path[300];
    snprintf(path, sizeof path, "%s/new/", dir);
    cuzk_journal_close(open_with(path, NULL));
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "%s/none/below", dir);
    FAILS(cuzk_journal_open(&j, path, NULL, &err), CUZK_STATUS_IO, "cannot create");
    snprintf(path, sizeof path, "%s/new/lock", dir);
    FAILS(cuzk_journal_open(&j, path, NULL, &err), CUZK_STATUS_IO, "must be a directory");
    FAILS(cuzk_journal_open(&j, "/dev/full", NULL, &err), CUZK_STATUS_IO, "/dev/full");
    FAILS(cuzk_journal_open(&j, "/proc", NULL, &err), CUZK_STATUS_IO, "/proc");
}

static void the_database_may_not_be_written(void **state) {
    (void)state;
    cuzk_journal *j;
    cuzk_journal_close(open_with(dir, NULL));
    if (geteuid() == 0) { /* to whom nothing is forbidden: a directory in its place */
        assert_int_equal(rename(in_dir("journal.db"), "/dev/null/x"), -1);
        assert_int_equal(unlink(in_dir("journal.db")), 0);
        assert_int_equal(mkdir(in_dir("journal.db"), 0700), 0);
    } else {
        assert_int_equal(chmod(in_dir("journal.db"), 0400), 0);
    }
    FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "writable for this user");
}

/* ---- damage ---- */

static void fill_journal(void) {
    cuzk_journal *j = open_with(dir, NULL);
    static uint8_t big[100000];
    cuzk_journal_accepted a;
    for (int i = 0; i < 12; i++) {
        const uint64_t job = accept_job(j, "", "a payload");
        partition_done(j, job, 0, "proof of nothing");
        if (i % 3 == 0) end_job(j, job, CUZK_JOURNAL_DONE, text_part("result"));
    }
    OK(try_accept(j, &a, "big", big, sizeof big, 1, &err));
    OK(cuzk_journal_set_fact(j, "fact", text_part("value"), NULL, NULL, &err));
    cuzk_journal_close(j);
}

static void any_flipped_bit_is_noticed(void **state) {
    (void)state;
    static uint8_t good[1 << 20], bad[1 << 20];
    const char *env = getenv("CUZK_TEST_ROUNDS");
    fill_journal();
    const size_t n = (size_t)size_of("journal.db");
    assert_true(n > 0 && n <= sizeof good);
    read_all("journal.db", good, n);
    int refused = 0, harmless = 0;
    for (int i = 0; i < (env ? (int)strtol(env, NULL, 10) : 150); i++) {
        memcpy(bad, good, n);
        size_t at = test_rng() % n;
        while (i % 4 && !good[at]) /* mostly where something is */
            at = test_rng() % n;
        bad[at] ^= (uint8_t)(1u << test_rng() % 8);
        write_all("journal.db", bad, n);
        cuzk_journal *j;
        cuzk_err why = {0};
        if (cuzk_journal_open(&j, dir, NULL, &why) != CUZK_OK) {
            assert_int_equal(why.status, CUZK_STATUS_IO);
            assert_non_null(strstr(why.msg, "journal.db"));
            refused++;
            continue;
        }
        /* bytes that hold nothing: everything must be as it was */
        cuzk_journal_job *list;
        size_t jobs;
        OK(cuzk_journal_list(j, &list, &jobs, NULL, &err));
        assert_int_equal(jobs, 13);
        for (size_t k = 1; k < jobs; k++) {
            assert_int_equal(list[k].job, 13 - k);
            assert_int_equal(list[k].partitions_done, 1);
            assert_int_equal(list[k].outcome, (13 - k) % 3 == 1 ? CUZK_JOURNAL_DONE : 0);
        }
        cuzk_journal_jobs_free(list, jobs);
        cuzk_journal_close(j);
        harmless++;
    }
    printf("%d of %d flipped bits refused, the others in unused bytes\n", refused,
           refused + harmless);
    assert_true(refused > 0);
}

static void a_cut_database_is_noticed(void **state) {
    (void)state;
    static uint8_t good[1 << 20];
    fill_journal();
    const size_t n = (size_t)size_of("journal.db");
    read_all("journal.db", good, n);
    for (size_t len = 0; len < n; len += len < 600 ? 97 : 3001) {
        cuzk_journal *j;
        write_all("journal.db", good, len);
        FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "damaged");
        assert_int_equal(size_of("journal.db"), len);
    }
    write_all("journal.db", good, n);
    cuzk_journal_close(open_with(dir, NULL));
}

static void leave_many_open(void) {
    cuzk_journal *j = open_with(dir, NULL);
    for (int i = 0; i < 10; i++)
        accept_job(j, "", "payload");
}

static void a_damaged_log_is_noticed(void **state) {
    (void)state;
    static uint8_t log[1 << 20], bad[1 << 20];
    in_child(leave_many_open);
    const size_t n = (size_t)size_of("journal.db-wal");
    assert_true(n > 32 + 4120 && n <= sizeof log);
    read_all("journal.db-wal", log, n);
    static uint8_t db[1 << 16];
    const size_t db_len = (size_t)size_of("journal.db");
    assert_true(db_len <= sizeof db);
    read_all("journal.db", db, db_len);
    /* in the log's header, and in any page but those of the last two transactions */
    for (int i = 0; i < 40; i++) {
        cuzk_journal *j;
        memcpy(bad, log, n);
        const size_t frames = (n - 32) / 4120;
        size_t at = test_rng() % 32;
        if (i % 4) at = 32 + test_rng() % (frames / 2) * 4120 + 24 + test_rng() % 4096;
        bad[at] ^= (uint8_t)(1u << test_rng() % 8);
        write_all("journal.db-wal", bad, n);
        FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "its log");
    }
    write_all("journal.db-wal", log, n);
    assert_int_equal(unlink(in_dir("journal.db")), 0);
    cuzk_journal *j;
    FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "missing beside its log");
    write_all("journal.db", db, db_len);
    j = open_with(dir, NULL);
    cuzk_journal_job job;
    OK(cuzk_journal_get(j, &job, 10, &err));
    cuzk_journal_job_free(&job);
    cuzk_journal_close(j);
}

static void a_missing_database_is_noticed(void **state) {
    (void)state;
    cuzk_journal *j;
    fill_journal();
    assert_int_equal(unlink(in_dir("journal.db")), 0);
    FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "missing beside its spool");
}

static void damage_is_set_aside_when_asked(void **state) {
    (void)state;
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.recover = true;
    fill_journal();
    static const uint8_t nothing[100] = "not a database at all";
    for (int i = 1; i <= 2; i++) {
        char name[64];
        write_all("journal.db", nothing, sizeof nothing);
        cuzk_journal *j = open_with(dir, &o);
        snprintf(name, sizeof name, "damaged-%d", i);
        assert_non_null(strstr(cuzk_journal_set_aside(j), name));
        cuzk_journal_job job;
        FAILS(cuzk_journal_next(j, &job, 0, &err), CUZK_STATUS_NOT_FOUND, "");
        accept_job(j, "", "payload");
        cuzk_journal_close(j);
        snprintf(name, sizeof name, "damaged-%d/journal.db", i);
        assert_int_equal(size_of(name), sizeof nothing);
        snprintf(name, sizeof name, "damaged-%d/spool", i);
        assert_true(exists(name));
    }
}

static void a_damaged_payload_is_noticed(void **state) {
    (void)state;
    static uint8_t big[100000];
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_accepted a, b;
    OK(try_accept(j, &a, "", big, sizeof big, 1, &err));
    cuzk_payload *p;
    OK(cuzk_journal_payload(j, &p, a.job, &err));
    char name[100] = "spool/";
    for (int i = 0; i < 32; i++)
        snprintf(name + 6 + 2 * i, 3, "%02x", cuzk_payload_digest(p)[i]);
    cuzk_payload_free(p);
    static uint8_t file[200000];
    const size_t n = (size_t)size_of(name);
    read_all(name, file, n);
    file[n / 2] ^= 4;
    write_all(name, file, n);
    FAILS(cuzk_journal_payload(j, &p, a.job, &err), CUZK_STATUS_BAD_INPUT, "submitted again");
    write_all(name, file, n - 1);
    FAILS(cuzk_journal_payload(j, &p, a.job, &err), CUZK_STATUS_BAD_INPUT, "submitted again");
    /* which mends it */
    OK(try_accept(j, &b, "", big, sizeof big, 1, &err));
    OK(cuzk_journal_payload(j, &p, a.job, &err));
    assert_memory_equal(cuzk_payload_part(p, 0).data, big, sizeof big);
    cuzk_payload_free(p);
    assert_int_equal(unlink(in_dir(name)), 0);
    FAILS(cuzk_journal_payload(j, &p, a.job, &err), CUZK_STATUS_BAD_INPUT, "is gone");
    cuzk_journal_close(j);
}

/* ---- versions ---- */

/* What fill_journal made, as version 1 would have left it. */
static void make_older(void) {
    cuzk__db db;
    OK(cuzk__db_open(&db, in_dir("journal.db"), NULL, false, &err));
    assert_int_equal(
        cuzk__db_exec(&db, "DROP TABLE fault; DROP TABLE fact; ALTER TABLE total DROP COLUMN ns;"
                           "UPDATE total SET sum=cuzk_sum(kind,outcome,jobs);"
                           "PRAGMA user_version=1"),
        SQLITE_OK);
    cuzk__db_close(&db);
}

static void an_older_version_is_upgraded(void **state) {
    (void)state;
    const cuzk_journal_hooks older = {.version = 1};
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.hooks = &older;
    cuzk_journal *j;
    fill_journal();
    make_older();
    cuzk_journal_close(open_with(dir, &o)); /* the older program takes it for its own */
    j = open_with(dir, NULL);
    cuzk_journal_job job;
    OK(cuzk_journal_get(j, &job, 2, &err));
    assert_memory_equal(job.partitions[0].proof.data, "proof of nothing", 16);
    cuzk_journal_job_free(&job);
    cuzk_journal_total *totals;
    size_t n;
    OK(cuzk_journal_totals(j, &totals, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(totals[0].jobs, 13);
    assert_int_equal(totals[1].jobs, 4);
    cuzk_free(totals);
    OK(cuzk_journal_set_fact(j, "new", text_part("x"), NULL, NULL, &err));
    OK(cuzk_journal_fault(j, 2, 0, "stage", "device", "text", NULL, NULL, &err));
    end_job(j, 2, CUZK_JOURNAL_DONE, text_part("result"));
    cuzk_journal_close(j);
    FAILS(cuzk_journal_open(&j, dir, &o, &err), CUZK_STATUS_IO, "newer");
    cuzk_journal_close(open_with(dir, NULL));

    sql("PRAGMA user_version=1"); /* what is damaged is not upgraded */
    FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "tables");
}

static void a_newer_version_is_refused(void **state) {
    (void)state;
    cuzk_journal *j;
    fill_journal();
    sql("PRAGMA user_version=99");
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.recover = true; /* it is not damaged */
    FAILS(cuzk_journal_open(&j, dir, &o, &err), CUZK_STATUS_IO, "use the newer program");
    assert_false(exists("damaged-1"));
    sql("PRAGMA user_version=2");
    cuzk_journal_close(open_with(dir, NULL));
    sql("CREATE TABLE intruder(x)");
    FAILS(cuzk_journal_open(&j, dir, NULL, &err), CUZK_STATUS_IO, "tables");
}

/* ---- what goes when ---- */

static struct { int64_t wall, mono; } now;
static int64_t wall(void *ctx) {
    (void)ctx;
    return now.wall;
}
static int64_t mono(void *ctx) {
    (void)ctx;
    return now.mono;
}

static uint64_t retain(cuzk_journal *j, int64_t fetched, int64_t ended, uint64_t max) {
    const cuzk_journal_retention rules = {
        .fetched_ns = fetched, .ended_ns = ended, .max_jobs = max};
    uint64_t removed;
    OK(cuzk_journal_retain(j, &removed, &rules, &err));
    return removed;
}

static void jobs_go_by_age_and_number(void **state) {
    (void)state;
    const int64_t hour = INT64_C(3600000000000);
    const cuzk_journal_hooks hooks = {.wall = wall, .mono = mono};
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.hooks = &hooks;
    now.wall = 1000 * hour;
    now.mono = 5;
    cuzk_journal *j = open_with(dir, &o);
    cuzk_journal_job job;
    uint64_t jobs[4];
    for (int i = 0; i < 4; i++)
        jobs[i] = accept_job(j, i == 3 ? "open" : "", "payload");
    for (int i = 0; i < 3; i++)
        end_job(j, jobs[i], CUZK_JOURNAL_DONE, text_part("result"));
    OK(cuzk_journal_fetched(j, jobs[1], NULL, NULL, &err));
    assert_int_equal(retain(j, 0, 0, 0), 0);
    assert_int_equal(retain(j, hour, 10 * hour, 3), 0);
    now.wall += 5000 * hour; /* somebody sets the clock: nothing is older for it */
    assert_int_equal(retain(j, hour, 10 * hour, 3), 0);
    now.wall -= 9000 * hour;
    now.mono += 2 * hour; /* so long it ran */
    assert_int_equal(retain(j, hour, 10 * hour, 3), 1);
    FAILS(cuzk_journal_get(j, &job, jobs[1], &err), CUZK_STATUS_NOT_FOUND, "any more");
    OK(cuzk_journal_fetched(j, jobs[2], NULL, NULL, &err));
    assert_int_equal(retain(j, 0, 0, 1), 1); /* fetched ones first */
    FAILS(cuzk_journal_get(j, &job, jobs[2], &err), CUZK_STATUS_NOT_FOUND, "any more");
    cuzk_journal_close(j);

    now.wall += 7 * hour; /* between two runs */
    now.mono = 1;
    j = open_with(dir, &o);
    assert_int_equal(retain(j, hour, 10 * hour, 1), 0);
    cuzk_journal_close(j);
    now.wall += 100000 * hour; /* a wrong clock at a start counts a day at most */
    j = open_with(dir, &o);
    assert_int_equal(retain(j, hour, 48 * hour, 1), 0);
    assert_int_equal(retain(j, hour, 10 * hour, 1), 1);
    assert_int_equal(retain(j, 1, 1, 1), 0); /* what has not ended never goes */
    OK(cuzk_journal_find_request(j, &job, "open", &err));
    cuzk_journal_job_free(&job);
    cuzk_journal_close(j);
}

static void many_jobs_go_and_the_file_shrinks(void **state) {
    (void)state;
    enum { JOBS = 350 };
    cuzk_journal *j = open_with(dir, NULL);
    static uint8_t result[8000];
    for (int i = 0; i < JOBS; i++) {
        const cuzk_journal_spec spec = {.kind = "k", .n_partitions = 1};
        result[0] = (uint8_t)i;
        result[1] = (uint8_t)(i >> 8);
        const cuzk_journal_end_spec end = {.outcome = CUZK_JOURNAL_DONE,
                                           .result = {result, sizeof result}};
        cuzk_journal_accepted a;
        OK(cuzk_journal_accept(j, &a, &spec, NULL, NULL, &err));
        OK(cuzk_journal_end(j, a.job, &end, NULL, NULL, &err));
    }
    cuzk_journal_sync(j);
    cuzk_journal_stats stats;
    cuzk_journal_get_stats(j, &stats);
    assert_int_equal(stats.stored_bytes, JOBS * sizeof result);
    cuzk_journal_close(j);
    assert_true(size_of("journal.db") > (long)(JOBS * sizeof result));
    j = open_with(dir, NULL);
    assert_int_equal(retain(j, 0, 0, 40), JOBS - 40);
    cuzk_journal_get_stats(j, &stats);
    assert_int_equal(stats.stored_bytes, 40 * sizeof result);
    cuzk_journal_close(j);
    assert_true(size_of("journal.db") < (long)(100 * sizeof result));
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_process_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_ends_with_its_process, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_is_made_or_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_database_may_not_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(any_flipped_bit_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cut_database_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_log_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_database_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_set_aside_when_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_payload_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_version_is_upgraded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_version_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_go_by_age_and_number, setup, teardown),
        cmocka_unit_test_setup_teardown(many_jobs_go_and_the_file_shrinks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

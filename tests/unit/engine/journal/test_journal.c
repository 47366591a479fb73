/* The journal as its callers see it: what is accepted, done and ended is there after a restart. */
#include "journal_support.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

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

static uint64_t spool_files(void) {
    char path[300];
    snprintf(path, sizeof path, "%s/spool", dir);
    uint64_t n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void a_job_survives_restarts(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_job job;
    FAILS(cuzk_journal_next(j, &job, 0, &err), CUZK_STATUS_NOT_FOUND, "unfinished");
    const cuzk_journal_part parts[] = {text_part("first"), {NULL, 0}, text_part("third")};
    cuzk_payload *p;
    OK(cuzk_journal_put(j, &p, parts, 3, false, &err));
    const cuzk_journal_spec spec = {.request_id = "request",
                                    .client = "a client",
                                    .kind = "window_post",
                                    .priority = 3,
                                    .deadline_ns = 77,
                                    .submitted_ns = 55,
                                    .n_partitions = 3,
                                    .meta = {"me\0ta", 5},
                                    .payload = p};
    cuzk_journal_accepted a;
    answer_t done = {0};
    OK(cuzk_journal_accept(j, &a, &spec, on_done, &done, &err));
    assert_false(a.existing);
    assert_int_equal(strncmp(a.id, "j-1-", 4), 0);
    assert_int_equal(strlen(a.id), 4 + 16);
    /* reported before the acceptance is confirmed: in order */
    OK(cuzk_journal_partition_done(j, a.job, 2, text_part("proof 2"), text_part("times"), NULL,
                                   NULL, &err));
    cuzk_journal_sync(j);
    assert_int_equal(done.runs, 1);
    assert_int_equal(done.status, CUZK_OK);
    cuzk_payload_free(p);
    cuzk_journal_close(j);

    j = open_with(dir, NULL);
    OK(cuzk_journal_next(j, &job, 0, &err));
    assert_int_equal(job.job, a.job);
    assert_string_equal(job.id, a.id);
    assert_string_equal(job.request_id, "request");
    assert_string_equal(job.client, "a client");
    assert_string_equal(job.kind, "window_post");
    assert_int_equal(job.priority, 3);
    assert_int_equal(job.deadline_ns, 77);
    assert_int_equal(job.submitted_ns, 55);
    assert_int_equal(job.n_partitions, 3);
    assert_int_equal(job.partitions_done, 4);
    assert_int_equal(job.payload_bytes, 10);
    assert_true(job.has_payload);
    assert_int_equal(job.outcome, CUZK_JOURNAL_UNFINISHED);
    assert_int_equal(job.meta.len, 5);
    assert_memory_equal(job.meta.data, "me\0ta", 5);
    assert_false(job.partitions[0].done);
    assert_true(job.partitions[2].done);
    assert_memory_equal(job.partitions[2].proof.data, "proof 2", 7);
    assert_memory_equal(job.partitions[2].timings.data, "times", 5);
    cuzk_journal_job_free(&job);
    FAILS(cuzk_journal_next(j, &job, a.job, &err), CUZK_STATUS_NOT_FOUND, "");

    OK(cuzk_journal_payload(j, &p, a.job, &err));
    assert_int_equal(cuzk_payload_parts(p), 3);
    for (size_t i = 0; i < 3; i++) {
        const cuzk_journal_part got = cuzk_payload_part(p, i);
        assert_int_equal(got.len, parts[i].len);
        if (got.len) assert_memory_equal(got.data, parts[i].data, got.len);
    }
    cuzk_payload_free(p);
    cuzk_journal_close(j);
}

static void a_job_ends_once(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    const uint64_t job = accept_job(j, "", "payload");
    uint8_t *result;
    size_t len;
    FAILS(cuzk_journal_result(j, &result, &len, job, &err), CUZK_STATUS_FALSE, "not ended");
    assert_int_equal(partition_done(j, job, 1, "proof"), CUZK_OK);
    assert_int_equal(partition_done(j, job, 1, "another"), CUZK_OK);
    assert_int_equal(partition_done(j, job, 4, "beyond"), CUZK_STATUS_BAD_INPUT);
    assert_int_equal(partition_done(j, job + 1, 0, "x"), CUZK_STATUS_NOT_FOUND);
    cuzk_journal_job r;
    OK(cuzk_journal_get(j, &r, job, &err));
    assert_memory_equal(r.partitions[1].proof.data, "proof", 5); /* the first counts */
    cuzk_journal_job_free(&r);

    assert_int_equal(end_job(j, job, CUZK_JOURNAL_DONE, text_part("result")), CUZK_OK);
    assert_int_equal(end_job(j, job, CUZK_JOURNAL_FAILED, text_part("")), CUZK_STATUS_FALSE);
    assert_int_equal(partition_done(j, job, 2, "late"), CUZK_STATUS_FALSE);
    assert_int_equal(end_job(j, 99, CUZK_JOURNAL_DONE, text_part("")), CUZK_STATUS_NOT_FOUND);
    cuzk_journal_close(j);

    j = open_with(dir, NULL);
    FAILS(cuzk_journal_next(j, &r, 0, &err), CUZK_STATUS_NOT_FOUND, "");
    OK(cuzk_journal_get(j, &r, job, &err));
    assert_int_equal(r.outcome, CUZK_JOURNAL_DONE);
    assert_int_equal(r.partitions_done, 2);
    assert_int_equal(r.partitions[1].proof.len, 0);
    assert_memory_equal(r.partitions[1].timings.data, "t", 1);
    assert_memory_equal(r.timings.data, "end", 3);
    assert_false(r.has_payload);
    assert_int_equal(r.payload_bytes, 7);
    assert_true(r.ended_ns >= r.submitted_ns);
    assert_false(r.fetched);
    cuzk_journal_job_free(&r);
    OK(cuzk_journal_result(j, &result, &len, job, &err));
    assert_int_equal(len, 6);
    assert_memory_equal(result, "result", 6);
    cuzk_free(result);
    cuzk_payload *p;
    FAILS(cuzk_journal_payload(j, &p, job, &err), CUZK_STATUS_NOT_FOUND, "no payload");
    answer_t a = {0};
    OK(cuzk_journal_fetched(j, job, on_done, &a, &err));
    cuzk_journal_sync(j);
    assert_int_equal(a.status, CUZK_OK);
    OK(cuzk_journal_get(j, &r, job, &err));
    assert_true(r.fetched);
    cuzk_journal_job_free(&r);
    cuzk_journal_close(j);
}

static void a_request_id_is_one_job(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_accepted a, b;
    OK(try_accept(j, &a, "r", "payload", 7, 4, &err));
    OK(try_accept(j, &b, "r", "payload", 7, 4, &err));
    assert_true(b.existing);
    assert_string_equal(a.id, b.id);
    FAILS(try_accept(j, &b, "r", "payloae", 7, 4, &err), CUZK_STATUS_CONFLICT, a.id);
    assert_string_equal(a.id, b.id);
    /* the same before either is durable: both hear of it when it is */
    const cuzk_journal_spec spec = {.request_id = "s", .kind = "k", .n_partitions = 1};
    cuzk_journal_spec other = spec;
    answer_t done[2] = {{0}, {0}};
    cuzk_journal_accepted c[2];
    for (int i = 0; i < 2; i++)
        OK(cuzk_journal_accept(j, &c[i], &spec, on_done, &done[i], &err));
    other.same = text_part("randomness");
    FAILS(cuzk_journal_accept(j, &b, &other, NULL, NULL, &err), CUZK_STATUS_CONFLICT, c[0].id);
    cuzk_journal_sync(j);
    assert_string_equal(c[0].id, c[1].id);
    assert_true(c[1].existing && !c[0].existing);
    for (int i = 0; i < 2; i++)
        assert_true(done[i].runs == 1 && done[i].status == CUZK_OK);
    /* without an id: always a new one */
    assert_true(accept_job(j, "", "payload") != accept_job(j, NULL, "payload"));
    assert_int_equal(end_job(j, a.job, CUZK_JOURNAL_CANCELLED, text_part("")), CUZK_OK);
    cuzk_journal_close(j);

    j = open_with(dir, NULL); /* also after the end and a restart */
    OK(try_accept(j, &b, "r", "payload", 7, 4, &err));
    assert_true(b.existing);
    assert_string_equal(a.id, b.id);
    FAILS(try_accept(j, &b, "r", "other", 5, 4, &err), CUZK_STATUS_CONFLICT, "new request id");
    cuzk_journal_job job;
    OK(cuzk_journal_find_request(j, &job, "r", &err));
    assert_int_equal(job.job, a.job);
    cuzk_journal_job_free(&job);
    OK(cuzk_journal_find(j, &job, a.id, &err));
    assert_int_equal(job.job, a.job);
    cuzk_journal_job_free(&job);
    a.id[strlen(a.id) - 1] ^= 1;
    FAILS(cuzk_journal_find(j, &job, a.id, &err), CUZK_STATUS_NOT_FOUND, a.id);
    static const char *const wrong[] = {
        "", "j", "j-", "j-1", "j-1-", "r", "j-99999999999999999999-"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(cuzk_journal_find(j, &job, wrong[i], &err), CUZK_STATUS_NOT_FOUND, "not known");
    cuzk_journal_close(j);
}

static void job_numbers_are_never_used_again(void **state) {
    (void)state;
    uint64_t last = 0;
    for (int round = 0; round < 3; round++) {
        cuzk_journal *j = open_with(dir, NULL);
        const uint64_t job = accept_job(j, "", NULL);
        assert_true(job > last);
        last = job;
        assert_int_equal(end_job(j, job, CUZK_JOURNAL_DONE, text_part("")), CUZK_OK);
        const cuzk_journal_retention rules = {.ended_ns = 1};
        uint64_t removed;
        OK(cuzk_journal_retain(j, &removed, &rules, &err));
        assert_int_equal(removed, 1);
        cuzk_journal_close(j);
    }
}

static void the_same_payload_is_stored_once(void **state) {
    (void)state;
    enum { SIZE = 300000 };
    static uint8_t big[SIZE];
    test_rng_bytes(big, sizeof big);
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_accepted a, b;
    OK(try_accept(j, &a, "a", big, SIZE, 1, &err));
    OK(try_accept(j, &b, "b", big, SIZE, 1, &err));
    cuzk_journal_stats stats;
    cuzk_journal_get_stats(j, &stats);
    assert_int_equal(stats.spool_files, 1);
    assert_true(stats.spool_bytes >= SIZE && stats.spool_bytes < SIZE + 256);
    assert_int_equal(spool_files(), 1);
    cuzk_payload *p;
    OK(cuzk_journal_payload(j, &p, b.job, &err));
    assert_memory_equal(cuzk_payload_part(p, 0).data, big, SIZE);
    assert_int_equal((uintptr_t)cuzk_payload_part(p, 0).data % 64, 0);
    assert_int_equal(end_job(j, a.job, CUZK_JOURNAL_DONE, part(big, 100)), CUZK_OK);
    assert_int_equal(spool_files(), 1);
    assert_int_equal(end_job(j, b.job, CUZK_JOURNAL_DONE, part(big, 100000)), CUZK_OK);
    /* one is the result; the payload is still in use here */
    assert_int_equal(spool_files(), 2);
    assert_memory_equal(cuzk_payload_part(p, 0).data, big, SIZE);
    cuzk_payload_free(p);
    assert_int_equal(spool_files(), 1);
    uint8_t *result;
    size_t len;
    OK(cuzk_journal_result(j, &result, &len, b.job, &err));
    assert_int_equal(len, 100000);
    assert_memory_equal(result, big, len);
    cuzk_free(result);
    /* put, and never accepted */
    const cuzk_journal_part one = {big, SIZE};
    OK(cuzk_journal_put(j, &p, &one, 1, false, &err));
    assert_int_equal(spool_files(), 2);
    cuzk_payload_free(p);
    assert_int_equal(spool_files(), 1);
    cuzk_journal_get_stats(j, &stats);
    assert_int_equal(stats.spool_files, 1);
    assert_int_equal(stats.spool_bytes, 100000);
    assert_int_equal(stats.stored_bytes, 100100);
    cuzk_journal_close(j);
}

static void orphans_go_at_open_and_others_stay(void **state) {
    (void)state;
    static uint8_t big[100000];
    cuzk_journal *j = open_with(dir, NULL);
    cuzk_journal_accepted a;
    OK(try_accept(j, &a, "", big, sizeof big, 1, &err));
    cuzk_journal_close(j);
    const char *const names[] = {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                                 ".tmp-77", "README"};
    for (size_t i = 0; i < 3; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/spool/%s", dir, names[i]);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(spool_files(), 3);
    j = open_with(dir, NULL);
    assert_int_equal(spool_files(), 2); /* the payload, and what is nobody's of ours */
    cuzk_payload *p;
    OK(cuzk_journal_payload(j, &p, a.job, &err));
    cuzk_payload_free(p);
    cuzk_journal_close(j);
}

static void a_secret_is_not_written(void **state) {
    (void)state;
    static char secret[200000];
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = "WITNESS-"[i % 8];
    cuzk_journal *j = open_with(dir, NULL);
    const cuzk_journal_part one = {secret, sizeof secret}, less = {secret, 100};
    cuzk_payload *p[3];
    OK(cuzk_journal_put(j, &p[0], &one, 1, true, &err));
    OK(cuzk_journal_put(j, &p[1], &one, 1, true, &err));
    OK(cuzk_journal_put(j, &p[2], &less, 1, true, &err));
    assert_int_equal(cuzk_payload_parts(p[0]), 0);
    assert_memory_equal(cuzk_payload_digest(p[0]), cuzk_payload_digest(p[1]), 32);
    cuzk_journal_spec spec = {.request_id = "r", .kind = "circom", .n_partitions = 1};
    cuzk_journal_accepted a, b;
    spec.payload = p[0];
    OK(cuzk_journal_accept(j, &a, &spec, NULL, NULL, &err));
    spec.payload = p[1];
    OK(cuzk_journal_accept(j, &b, &spec, NULL, NULL, &err));
    assert_true(b.existing);
    spec.payload = p[2];
    FAILS(cuzk_journal_accept(j, &b, &spec, NULL, NULL, &err), CUZK_STATUS_CONFLICT, a.id);
    for (int i = 0; i < 3; i++)
        cuzk_payload_free(p[i]);
    cuzk_journal_close(j);

    j = open_with(dir, NULL);
    cuzk_journal_job job;
    OK(cuzk_journal_next(j, &job, 0, &err));
    assert_false(job.has_payload);
    assert_int_equal(job.payload_bytes, sizeof secret);
    cuzk_journal_job_free(&job);
    FAILS(cuzk_journal_payload(j, &p[0], a.job, &err), CUZK_STATUS_NOT_FOUND, "no payload");
    /* the digest is another one in another journal, so it cannot be looked up */
    char other[256];
    test_dir(other);
    cuzk_journal *k = open_with(other, NULL);
    OK(cuzk_journal_put(k, &p[0], &one, 1, true, &err));
    OK(cuzk_journal_put(j, &p[1], &one, 1, true, &err));
    assert_memory_not_equal(cuzk_payload_digest(p[0]), cuzk_payload_digest(p[1]), 32);
    cuzk_payload_free(p[0]);
    cuzk_payload_free(p[1]);
    cuzk_journal_close(k);
    cuzk_journal_close(j);
    test_dir_remove(other);
    assert_int_equal(spool_files(), 0);
    char path[300];
    snprintf(path, sizeof path, "%s/journal.db", dir);
    int fd = open(path, O_RDONLY);
    struct stat sb;
    assert_int_equal(fstat(fd, &sb), 0);
    void *map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_null(memmem(map, (size_t)sb.st_size, "WITNESS-", 8));
    munmap(map, (size_t)sb.st_size);
    close(fd);
}

static void the_spool_has_a_limit(void **state) {
    (void)state;
    static uint8_t big[300000];
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.max_bytes = 400000;
    cuzk_journal *j = open_with(dir, &o);
    cuzk_journal_accepted a, b;
    OK(try_accept(j, &a, "", big, sizeof big, 1, &err));
    OK(try_accept(j, &b, "", big, sizeof big, 1, &err)); /* the same: takes nothing */
    big[0] = 1;
    FAILS(try_accept(j, &b, "", big, sizeof big, 1, &err), CUZK_STATUS_BUSY, "of 400000");
    OK(try_accept(j, &b, "", big, 60000, 1, &err));
    FAILS(try_accept(j, &b, "", big + 1, 60000, 1, &err), CUZK_STATUS_BUSY, "no room");
    /* results are taken all the same */
    assert_int_equal(end_job(j, a.job, CUZK_JOURNAL_DONE, part(big, 200000)), CUZK_OK);
    cuzk_journal_close(j);
}

static void lists_are_newest_first_with_filters(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    uint64_t jobs[7];
    for (int i = 0; i < 7; i++)
        jobs[i] = accept_job(j, "", NULL);
    end_job(j, jobs[1], CUZK_JOURNAL_DONE, text_part("x"));
    end_job(j, jobs[4], CUZK_JOURNAL_FAILED, text_part(""));
    cuzk_journal_job *list;
    size_t n;
    OK(cuzk_journal_list(j, &list, &n, NULL, &err));
    assert_int_equal(n, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(list[i].job, jobs[6 - i]);
    assert_string_equal(list[2].stage, "verify");
    assert_string_equal(list[2].message, "it went wrong");
    cuzk_journal_jobs_free(list, n);
    cuzk_journal_filter f = {.limit = 3};
    OK(cuzk_journal_list(j, &list, &n, &f, &err));
    assert_int_equal(n, 3);
    f.before = list[2].job;
    cuzk_journal_jobs_free(list, n);
    OK(cuzk_journal_list(j, &list, &n, &f, &err));
    assert_int_equal(n, 3);
    assert_int_equal(list[0].job, jobs[3]);
    cuzk_journal_jobs_free(list, n);
    f = (cuzk_journal_filter){.outcomes = 1u << CUZK_JOURNAL_DONE | 1u << CUZK_JOURNAL_FAILED};
    OK(cuzk_journal_list(j, &list, &n, &f, &err));
    assert_int_equal(n, 2);
    assert_int_equal(list[1].job, jobs[1]);
    assert_int_equal(list[1].result_bytes, 1);
    cuzk_journal_jobs_free(list, n);
    f = (cuzk_journal_filter){.kind = "winning_post"};
    OK(cuzk_journal_list(j, &list, &n, &f, &err));
    assert_int_equal(n, 0);
    cuzk_journal_jobs_free(list, n);
    f = (cuzk_journal_filter){.client = "test", .outcomes = 1u};
    OK(cuzk_journal_list(j, &list, &n, &f, &err));
    assert_int_equal(n, 5);
    cuzk_journal_jobs_free(list, n);
    cuzk_journal_close(j);
}

static void totals_faults_and_facts_stay(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    for (int i = 0; i < 3; i++) {
        const uint64_t job = accept_job(j, "", NULL);
        if (i == 2) {
            answer_t a = {0};
            OK(cuzk_journal_fault(j, job, 1, "compute", "gpu0", "sticky", on_done, &a, &err));
            OK(cuzk_journal_fault(j, job, 4, "assemble", NULL, "whole", on_done, &a, &err));
            cuzk_journal_sync(j);
            assert_int_equal(a.runs, 2);
            assert_int_equal(a.status, CUZK_OK);
            OK(cuzk_journal_fault(j, job, 5, "x", "", "none such", on_done, &a, &err));
            cuzk_journal_sync(j);
            assert_int_equal(a.status, CUZK_STATUS_BAD_INPUT);
        }
        end_job(j, job, i == 2 ? CUZK_JOURNAL_FAILED : CUZK_JOURNAL_DONE, text_part(""));
    }
    OK(cuzk_journal_set_fact(j, "key", text_part("digest"), NULL, NULL, &err));
    OK(cuzk_journal_set_fact(j, "other", text_part("x"), NULL, NULL, &err));
    OK(cuzk_journal_set_fact(j, "other", part(NULL, 0), NULL, NULL, &err));
    const cuzk_journal_retention rules = {.ended_ns = 1};
    uint64_t removed;
    cuzk_journal_fault_record *faults;
    size_t n;
    OK(cuzk_journal_faults(j, &faults, &n, 3, 10, &err));
    assert_int_equal(n, 2);
    assert_string_equal(faults[0].stage, "assemble");
    assert_string_equal(faults[1].device, "gpu0");
    assert_string_equal(faults[1].text, "sticky");
    assert_int_equal(faults[1].partition, 1);
    cuzk_journal_faults_free(faults, n);
    OK(cuzk_journal_retain(j, &removed, &rules, &err));
    assert_int_equal(removed, 3);
    OK(cuzk_journal_faults(j, &faults, &n, 0, 10, &err));
    assert_int_equal(n, 0);
    cuzk_journal_faults_free(faults, n);
    cuzk_journal_close(j);

    j = open_with(dir, NULL);
    cuzk_journal_total *totals;
    OK(cuzk_journal_totals(j, &totals, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(totals[0].kind, "porep_c2");
    assert_int_equal(totals[0].outcome, CUZK_JOURNAL_UNFINISHED);
    assert_int_equal(totals[0].jobs, 3);
    assert_int_equal(totals[1].outcome, CUZK_JOURNAL_DONE);
    assert_int_equal(totals[1].jobs, 2);
    assert_true(totals[1].seconds > 0);
    assert_int_equal(totals[2].jobs, 1);
    cuzk_free(totals);
    uint8_t *value;
    OK(cuzk_journal_get_fact(j, &value, &n, "key", &err));
    assert_int_equal(n, 6);
    assert_memory_equal(value, "digest", 6);
    cuzk_free(value);
    FAILS(cuzk_journal_get_fact(j, &value, &n, "other", &err), CUZK_STATUS_NOT_FOUND, "other");
    cuzk_journal_close(j);
}

static void only_the_last_faults_are_kept(void **state) {
    (void)state;
    cuzk_journal *j = open_with(dir, NULL);
    const uint64_t job = accept_job(j, "", NULL);
    char text[5000];
    memset(text, 'a', sizeof text);
    memcpy(text + 3999, "\xc3\xa4", 2); /* a character across the cut */
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < CUZK_JOURNAL_FAULTS + 7; i++)
        OK(cuzk_journal_fault(j, job, (uint32_t)i % 4, "s", "d", text, NULL, NULL, &err));
    cuzk_journal_sync(j);
    cuzk_journal_fault_record *faults;
    size_t n;
    OK(cuzk_journal_faults(j, &faults, &n, job, 1000, &err));
    assert_int_equal(n, CUZK_JOURNAL_FAULTS);
    assert_int_equal(faults[0].partition, (CUZK_JOURNAL_FAULTS + 6) % 4);
    assert_int_equal(strlen(faults[0].text), 3999);
    cuzk_journal_faults_free(faults, n);
    char name[300];
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    FAILS(cuzk_journal_fault(j, job, 0, name, "d", "t", NULL, NULL, &err), CUZK_STATUS_BAD_INPUT,
          "255");
    cuzk_journal_close(j);
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_survives_restarts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_ends_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_id_is_one_job, setup, teardown),
        cmocka_unit_test_setup_teardown(job_numbers_are_never_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(the_same_payload_is_stored_once, setup, teardown),
        cmocka_unit_test_setup_teardown(orphans_go_at_open_and_others_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(a_secret_is_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(the_spool_has_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_are_newest_first_with_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(totals_faults_and_facts_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_last_faults_are_kept, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

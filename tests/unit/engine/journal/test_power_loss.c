/* The power goes at random moments, hundreds of times: what was reported durable is there, whole,
 * and nothing is there that nobody asked for. CUZK_TEST_SEED repeats a run, CUZK_TEST_ROUNDS makes
 * it longer; a failure prints its round's seed. */
#include "journal_support.h"
#include "lossy.h"

#include "base/mem.h"

#include <stdatomic.h>

enum { PARTS = 4, MAX_FACTS = 600, CHAIN = 20, ROUNDS = 200 };

/* What was asked for, and what came of it: 0 nothing yet, 1 durable, -1 failed. */
typedef struct fact_t {
    cuzk_journal_accepted id;
    char request[32];
    uint64_t seed;
    bool has_payload;
    size_t payload_len, result_len;
    atomic_int accepted;
    bool part_asked[PARTS];
    atomic_int part_done[PARTS];
    cuzk_journal_outcome end_asked;
    atomic_int ended;
} fact_t;

static fact_t facts[MAX_FACTS];
static int n_facts;
static char dir[256];
static cuzk_journal_hooks hooks;
static uint64_t round_seed;

#define HOLDS(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "CUZK_TEST_SEED=0x%llx CUZK_TEST_ROUNDS=%d\n",                         \
                    (unsigned long long)round_seed, CHAIN);                                        \
            fail_msg("%s does not hold", #cond);                                                   \
        }                                                                                          \
    } while (0)

static void fill(uint8_t *out, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i += 8) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        memcpy(out + i, &seed, n - i < 8 ? n - i : 8);
    }
}

static bool filled(const void *data, size_t n, uint64_t seed) {
    static uint8_t expected[1 << 17];
    fill(expected, n, seed);
    return n == 0 || memcmp(data, expected, n) == 0;
}

static void on_answer(void *ctx, cuzk_status status, const cuzk_err *err) {
    (void)err;
    atomic_store((atomic_int *)ctx, status == CUZK_OK ? 1 : -1);
}

/* ---- what is asked for ---- */

static void ask_accept(cuzk_journal *j) {
    static uint8_t payload[1 << 17];
    static const size_t sizes[] = {0, 200, 5000, 30, 66000};
    if (n_facts == MAX_FACTS) return;
    fact_t *f = &facts[n_facts];
    memset(f, 0, sizeof *f);
    f->seed = test_rng();
    f->payload_len = sizes[f->seed % 5];
    f->has_payload = (f->seed >> 8) % 4 != 0;
    f->result_len = (f->seed >> 16) % 16 == 0 ? 70000 : 100;
    if (f->seed & 1 << 20)
        snprintf(f->request, sizeof f->request, "r-%016llx", (unsigned long long)f->seed);
    fill(payload, f->payload_len, f->seed);
    const cuzk_journal_part one = {payload, f->payload_len};
    cuzk_payload *p = NULL;
    cuzk_err why = {0};
    if (f->has_payload && cuzk_journal_put(j, &p, &one, 1, false, &why) != CUZK_OK) {
        HOLDS(lossy_is_off());
        return;
    }
    const cuzk_journal_spec spec = {.request_id = f->request,
                                    .kind = f->seed & 1 << 21 ? "a" : "b",
                                    .n_partitions = PARTS,
                                    .meta = {&f->seed, 8},
                                    .payload = p};
    OK(cuzk_journal_accept(j, &f->id, &spec, on_answer, &f->accepted, &err));
    n_facts++;
    if (f->request[0]) { /* again, before anything is durable */
        cuzk_journal_accepted again;
        OK(cuzk_journal_accept(j, &again, &spec, NULL, NULL, &err));
        /* a request that failed meanwhile begins anew; the power is off then */
        HOLDS(again.existing ? !strcmp(again.id, f->id.id) : lossy_is_off());
    }
    cuzk_payload_free(p);
}

static fact_t *any_fact(void) {
    return n_facts ? &facts[test_rng() % (uint64_t)n_facts] : NULL;
}

static void ask_partition(cuzk_journal *j, fact_t *f) {
    uint8_t proof[192];
    const uint32_t p = (uint32_t)(test_rng() % PARTS);
    if (f->part_asked[p] || f->end_asked) return;
    fill(proof, sizeof proof, f->seed + p);
    f->part_asked[p] = true;
    OK(cuzk_journal_partition_done(j, f->id.job, p, part(proof, sizeof proof), part(&p, 4),
                                   on_answer, &f->part_done[p], &err));
}

static void ask_end(cuzk_journal *j, fact_t *f) {
    static uint8_t result[70000];
    if (f->end_asked) return;
    const cuzk_journal_outcome outcome = 1 + (cuzk_journal_outcome)(test_rng() % 4);
    fill(result, f->result_len, f->seed + 99);
    const cuzk_journal_end_spec end = {.outcome = outcome, .result = {result, f->result_len}};
    cuzk_err err = {0};
    if (cuzk_journal_end(j, f->id.job, &end, on_answer, &f->ended, &err) != CUZK_OK) {
        HOLDS(lossy_is_off());
        return;
    }
    f->end_asked = outcome;
}

static void work(cuzk_journal *j) {
    for (uint64_t n = 5 + test_rng() % 30; n; n--) {
        const uint64_t r = test_rng() % 100;
        fact_t *f = any_fact();
        if (r < 30 || !f)
            ask_accept(j);
        else if (r < 65)
            ask_partition(j, f);
        else if (r < 80)
            ask_end(j, f);
        else if (r < 95)
            cuzk_journal_sync(j);
        else
            OK(cuzk_journal_set_fact(j, "fact", part(&r, sizeof r), NULL, NULL, &err));
    }
}

/* ---- what is there afterwards ---- */

static void check_result(cuzk_journal *j, const fact_t *f) {
    uint8_t *result;
    size_t len;
    OK(cuzk_journal_result(j, &result, &len, f->id.job, &err));
    HOLDS(len == f->result_len && filled(result, len, f->seed + 99));
    cuzk_free(result);
}

static void check_payload(cuzk_journal *j, const fact_t *f) {
    cuzk_payload *p;
    OK(cuzk_journal_payload(j, &p, f->id.job, &err));
    HOLDS(cuzk_payload_parts(p) == 1 && cuzk_payload_part(p, 0).len == f->payload_len);
    HOLDS(filled(cuzk_payload_part(p, 0).data, f->payload_len, f->seed));
    cuzk_payload_free(p);
}

/* False: it is not there, and may be missing. Afterwards the fact is what the journal says. */
static bool check_fact(cuzk_journal *j, fact_t *f) {
    cuzk_journal_job job;
    cuzk_err err = {0};
    cuzk_status st = cuzk_journal_get(j, &job, f->id.job, &err);
    HOLDS(st == CUZK_OK || st == CUZK_STATUS_NOT_FOUND);
    if (st != CUZK_OK || strcmp(job.id, f->id.id)) {
        HOLDS(f->accepted != 1);
        for (int p = 0; p < PARTS; p++)
            HOLDS(f->part_done[p] != 1);
        HOLDS(f->ended != 1);
        cuzk_journal_job_free(&job);
        return false;
    }
    HOLDS(!strcmp(job.request_id, f->request) && job.n_partitions == PARTS);
    HOLDS(job.meta.len == 8 && !memcmp(job.meta.data, &f->seed, 8));
    if (f->ended == 1) HOLDS(job.outcome == f->end_asked);
    if (job.outcome) HOLDS(job.outcome == f->end_asked);
    for (uint32_t p = 0; p < PARTS; p++) {
        const bool done = job.partitions[p].done;
        HOLDS(done == (job.partitions_done >> p & 1));
        if (f->part_done[p] == 1) HOLDS(done);
        if (done) HOLDS(f->part_asked[p]);
        if (done && !job.outcome)
            HOLDS(job.partitions[p].proof.len == 192 &&
                  filled(job.partitions[p].proof.data, 192, f->seed + p));
        f->part_asked[p] = done;
        f->part_done[p] = done;
    }
    if (job.outcome)
        check_result(j, f);
    else if (f->has_payload)
        check_payload(j, f);
    f->accepted = 1;
    f->end_asked = job.outcome;
    f->ended = job.outcome != 0;
    cuzk_journal_job_free(&job);
    return true;
}

static void check_counts(cuzk_journal *j) {
    uint64_t jobs[CUZK_JOURNAL_OUTCOMES] = {0}, totals[CUZK_JOURNAL_OUTCOMES] = {0};
    const cuzk_journal_filter all = {.limit = 1000};
    cuzk_journal_job *list;
    cuzk_journal_total *rows;
    size_t n;
    OK(cuzk_journal_list(j, &list, &n, &all, &err));
    HOLDS(n == (size_t)n_facts);
    for (size_t i = 0; i < n; i++) {
        jobs[0]++;
        if (list[i].outcome) jobs[list[i].outcome]++;
    }
    cuzk_journal_jobs_free(list, n);
    OK(cuzk_journal_totals(j, &rows, &n, &err));
    for (size_t i = 0; i < n; i++)
        totals[rows[i].outcome] += rows[i].jobs;
    cuzk_free(rows);
    for (int o = 0; o < CUZK_JOURNAL_OUTCOMES; o++)
        HOLDS(jobs[o] == totals[o]);
}

static void check(cuzk_journal *j) {
    int kept = 0;
    for (int i = 0; i < n_facts; i++)
        if (check_fact(j, &facts[i])) {
            if (kept != i) memcpy(&facts[kept], &facts[i], sizeof *facts);
            kept++;
        }
    n_facts = kept;
    check_counts(j);
    /* an end stands */
    for (int i = 0; i < n_facts && i < 3; i++) {
        fact_t *f = any_fact();
        const cuzk_journal_end_spec end = {.outcome = CUZK_JOURNAL_FAILED};
        atomic_int answer = 0;
        if (!f->end_asked) continue;
        OK(cuzk_journal_end(j, f->id.job, &end, on_answer, &answer, &err));
        cuzk_journal_sync(j);
        HOLDS(answer == -1);
    }
}

static void one_round(void) {
    const uint64_t at = 1 + test_rng() % 120;
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.hooks = &hooks;
    lossy_arm(at, test_rng());
    cuzk_journal *j;
    cuzk_err err = {0};
    if (cuzk_journal_open(&j, dir, &o, &err) != CUZK_OK) {
        if (!lossy_is_off()) fprintf(stderr, "%s\n", err.msg);
        HOLDS(lossy_is_off());
    } else {
        check(j);
        work(j);
        if (test_rng() & 1) lossy_cut(); /* else: in the middle of closing, or after */
        cuzk_journal_close(j);
    }
    lossy_restore();
}

static void nothing_that_was_confirmed_is_lost(void **state) {
    (void)state;
    const char *env = getenv("CUZK_TEST_ROUNDS");
    const int rounds = env ? (int)strtol(env, NULL, 10) : ROUNDS;
    for (int i = 0; i < rounds; i++) {
        if (i % CHAIN == 0) {
            round_seed = test_rng_state;
            test_dir(dir);
            lossy_start(dir, &hooks);
            n_facts = 0;
            cuzk_journal_close(open_with(dir, &(cuzk_journal_options){.hooks = &hooks}));
        }
        one_round();
        if (i % CHAIN == CHAIN - 1 || i == rounds - 1) {
            lossy_stop();
            test_dir_remove(dir);
        }
    }
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_that_was_confirmed_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `cuzk bench partition`: whole proofs of one partition on the CPU, in units of blst. */
#include "bench_filecoin.h"

#include "base/clock.h"
#include "base/mem.h"
#include "keys/keys.h"
#include "msm/msm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { UNIT_LOG2 = 16, UNIT_RUNS = 5 };

typedef struct unit {
    size_t n;
    int64_t ns[UNIT_RUNS]; /* CPU time of blst's sum over n points, ascending */
    bool right;
} unit;

/* blst's sum over the key's first bases of H, beside ours. */
static cuzk_status measure_unit(unit *u, const cuzk_bench *b, const cuzk_proving_key *key) {
    cuzk_bench_rng rng = {5};
    cuzk_point ours, theirs;
    void *mem;
    u->n = (size_t)1 << UNIT_LOG2;
    if (u->n >= (size_t)1 << key->log2_domain) u->n = ((size_t)1 << key->log2_domain) - 1;
    CUZK_TRY(cuzk_alloc(&mem, u->n, sizeof(cuzk_u256)));
    cuzk_u256 *scalars = mem;
    for (size_t i = 0; i < u->n; i++) {
        cuzk_bench_element(&rng, key->curve->fr, &scalars[i]);
        key->curve->fr->from_mont(&scalars[i], &scalars[i]);
    }
    const cuzk_msm_args args = {.curve = CUZK_BLS12_381,
                                .group = CUZK_G1,
                                .n = u->n,
                                .bases = key->h,
                                .scalars = scalars,
                                .pool = b->pool};
    cuzk_status st = cuzk_msm(&args, &ours);
    u->right = true;
    for (int i = 0; i < UNIT_RUNS && st == CUZK_OK; i++) {
        int64_t wall;
        const int64_t t = cuzk_cpu_ns();
        st = cuzk_bench_blst_msm(CUZK_G1, key->h, scalars, u->n, &theirs, &wall);
        int64_t spent = cuzk_cpu_ns() - t;
        for (int k = 0; k < i; k++) { /* keep them sorted */
            if (u->ns[k] <= spent) continue;
            const int64_t greater = u->ns[k];
            u->ns[k] = spent;
            spent = greater;
        }
        u->ns[i] = spent;
        u->right = u->right && key->curve->g1.eq(&ours, &theirs);
    }
    cuzk_free(mem);
    return st;
}

static void stages_of(cuzk_buf *t, const cuzk_prove_stats *stats, int64_t witness_ns) {
    cuzk_buf_printf(t, "{\"witness\":%.4f", (double)witness_ns * 1e-6);
    for (int i = 0; i < CUZK_STAGE_COUNT; i++)
        cuzk_buf_printf(t, ",\"%s\":%.4f", cuzk_prove_stage_name((cuzk_prove_stage)i),
                        (double)stats->ns[i] * 1e-6);
    cuzk_buf_puts(t, "}");
}

static cuzk_status prove_runs(cuzk_bench *b, cuzk_bench_partition *p, const cuzk_circuit_key *key,
                              const unit *u, int64_t load_ns, cuzk_err *err) {
    const cuzk_prove_opts opts = {.impl = b->impl};
    int64_t ns[CUZK_BENCH_MAX_RUNS], cpu_ns = INT64_MAX, witness_ns = 0;
    cuzk_buf stages = CUZK_BUF_INIT, more = CUZK_BUF_INIT;
    struct rusage usage = {0};
    cuzk_prove_stats stats;
    cuzk_proof proof;
    for (unsigned i = 0; i < b->runs; i++) {
        const int64_t wall = cuzk_now_ns(), cpu = cuzk_cpu_ns();
        CUZK_TRY(cuzk_bench_partition_solve(p, b, err));
        witness_ns = cuzk_now_ns() - wall;
        CUZK_TRY(cuzk_circuit_key_prove(key, p->w, &opts, &proof, &stats, err));
        ns[i] = cuzk_now_ns() - wall;
        if (cuzk_cpu_ns() - cpu < cpu_ns) cpu_ns = cuzk_cpu_ns() - cpu;
    }
    stages_of(&stages, &stats, witness_ns);
    getrusage(RUSAGE_SELF, &usage);
    cuzk_buf_printf(&more,
                    ",\"circuit\":\"%s\",\"partition\":%u,\"rows\":%u,\"core_seconds\":%.4f,"
                    "\"blst_points\":%zu,\"blst_seconds\":%.4f,\"r\":%.2f,\"load_seconds\":%.3f,"
                    "\"peak_rss_bytes\":%" PRIu64,
                    p->v->circuit->name, b->partition, p->r1cs->n_rows, (double)cpu_ns * 1e-9, u->n,
                    (double)u->ns[UNIT_RUNS / 2] * 1e-9,
                    (double)cpu_ns / (double)u->ns[UNIT_RUNS / 2], (double)load_ns * 1e-9,
                    (uint64_t)usage.ru_maxrss * 1024);
    if (stages.failed || more.failed) b->rows.failed = true;
    const cuzk_bench_row row = {.op = "partition",
                                .curve = "bls12_381",
                                .log2n = cuzk_circuit_key_data(key)->log2_domain,
                                .device = "cpu",
                                .threads = b->threads,
                                .variant = p->v->circuit->name,
                                .verified = u->right, /* and every proof, before it came out */
                                .ns = ns,
                                .runs = b->runs,
                                .stages = stages.failed ? NULL : stages.data,
                                .extra = more.failed ? NULL : more.data};
    cuzk_bench_add(b, &row);
    cuzk_buf_free(&stages);
    cuzk_buf_free(&more);
    return CUZK_OK;
}

cuzk_status cuzk_bench_partition_proof(cuzk_bench *b, cuzk_err *err) {
    cuzk_bench_partition p = {0};
    cuzk_circuit_key *key = NULL;
    unit u;
    const cuzk_keys_opts opts = {
        .dir = b->wtns, .allow_insecure = true, .pool = b->pool, .progress = stderr};
    cuzk_status st = cuzk_bench_partition_load(&p, b, err);
    const int64_t t = cuzk_now_ns();
    if (st == CUZK_OK) st = cuzk_circuit_key_open(&key, p.v->circuit, p.r1cs, &opts, err);
    const int64_t load_ns = cuzk_now_ns() - t;
    if (st == CUZK_OK) {
        st = measure_unit(&u, b, cuzk_circuit_key_data(key));
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for blst's sum");
    }
    if (st == CUZK_OK) st = prove_runs(b, &p, key, &u, load_ns, err);
    cuzk_circuit_key_free(key);
    cuzk_bench_partition_unload(&p);
    return st;
}

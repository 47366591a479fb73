/* `cuzk bench witness` and `cuzk bench eval`: one partition of a Filecoin proof. */
#include "bench_filecoin.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/progress.h"
#include "circuit/fillers.h"
#include "filecoin/vanilla.h"
#include "r1cs/eval.h"
#include "r1cs/figures.h"
#include "witness/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CHUNK = 1 << 19 }; /* rows evaluated at a time */

typedef cuzk_bench_partition partition;

static int64_t lap(int64_t *since) {
    const int64_t now = cuzk_cpu_ns(), spent = now - *since;
    *since = now;
    return spent;
}

cuzk_status cuzk_bench_partition_load(cuzk_bench_partition *p, const cuzk_bench *b, cuzk_err *err) {
    cuzk_status st = cuzk_poseidon_set_init(&p->set);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory");
    int64_t t = cuzk_cpu_ns();
    CUZK_TRY(cuzk_vanilla_open(&p->v, b->zkey, NULL, err));
    p->open_ns = lap(&t);
    if (b->partition >= p->v->partitions)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "--partition %u: %s has %u", b->partition,
                            b->zkey, p->v->partitions);
    CUZK_TRY(cuzk_circuit_compact(&p->r1cs, p->v->circuit, err));
    p->compact_ns = lap(&t);
    st = cuzk_circuit_plan(&p->plan, p->r1cs, &p->set);
    if (st == CUZK_OK) st = cuzk_alloc((void **)&p->frees, p->r1cs->n_free, sizeof *p->frees);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory");
    p->plan_ns = lap(&t);
    CUZK_TRY(cuzk_vanilla_check(p->v, b->partition, 1, &p->set, b->pool, NULL, err));
    p->check_ns = lap(&t);
    CUZK_TRY(cuzk_vanilla_free_values(p->v, b->partition, p->frees, p->r1cs->n_free, err));
    p->values_ns = lap(&t);
    return CUZK_OK;
}

void cuzk_bench_partition_unload(cuzk_bench_partition *p) {
    cuzk_witness_free(p->w);
    cuzk_free(p->frees);
    cuzk_witness_plan_free(p->plan);
    cuzk_r1cs_free(p->r1cs);
    cuzk_vanilla_free(p->v);
    cuzk_poseidon_set_fini(&p->set);
}

cuzk_status cuzk_bench_partition_solve(cuzk_bench_partition *p, const cuzk_bench *b,
                                       cuzk_err *err) {
    cuzk_witness_free(p->w);
    p->w = NULL;
    if (cuzk_witness_new(&p->w, p->r1cs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a witness");
    return cuzk_witness_solve(p->w, p->plan, p->frees, p->r1cs->n_free, b->pool, err);
}

static void hex(cuzk_buf *t, const uint8_t d[32]) {
    cuzk_buf_puts(t, "\"");
    for (int i = 0; i < 32; i++)
        cuzk_buf_printf(t, "%02x", d[i]);
    cuzk_buf_puts(t, "\"");
}

static double seconds(int64_t ns) {
    return (double)ns * 1e-9;
}

/* Of the CPU time so far, what the kernel took: clearing pages of new memory, for the most part. */
static int64_t kernel_ns(void) {
    struct rusage u = {0};
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)u.ru_stime.tv_sec * 1000000000 + (int64_t)u.ru_stime.tv_usec * 1000;
}

/* Circuit, sizes and where the other time went, for the row's further members. */
static void describe(cuzk_buf *t, const partition *p, const cuzk_bench *b, int64_t cpu_ns) {
    struct rusage u = {0};
    getrusage(RUSAGE_SELF, &u);
    cuzk_buf_printf(t,
                    ",\"circuit\":\"%s\",\"partition\":%u,\"rows\":%u,\"core_seconds\":%.4f,"
                    "\"witness_bytes\":%" PRIu64 ",\"circuit_bytes\":%" PRIu64
                    ",\"peak_rss_bytes\":%" PRIu64 ",\"before\":{\"open\":%.4f,\"compact\":%.4f,"
                    "\"plan\":%.4f,\"vanilla_check\":%.4f,\"free_values\":%.4f}",
                    p->v->circuit->name, b->partition, p->r1cs->n_rows, seconds(cpu_ns),
                    ((uint64_t)p->r1cs->n_bits / 64 + 2) * 8 + (uint64_t)p->r1cs->n_full * 32,
                    cuzk_r1cs_bytes(p->r1cs), (uint64_t)u.ru_maxrss * 1024, seconds(p->open_ns),
                    seconds(p->compact_ns), seconds(p->plan_ns), seconds(p->check_ns),
                    seconds(p->values_ns));
}

static unsigned log2_domain(const cuzk_r1cs *r) {
    unsigned k = 0;
    while (((uint64_t)1 << k) < (uint64_t)r->n_rows + r->n_inputs)
        k++;
    return k;
}

static void add(cuzk_bench *b, const partition *p, const char *op, int64_t *ns, unsigned runs,
                bool verified, const cuzk_buf *more) {
    if (more->failed) b->rows.failed = true;
    const cuzk_bench_row row = {.op = op,
                                .curve = "bls12_381",
                                .log2n = log2_domain(p->r1cs),
                                .device = "cpu",
                                .threads = b->threads,
                                .variant = p->v->circuit->name,
                                .verified = verified,
                                .ns = ns,
                                .runs = runs,
                                .extra = more->failed ? NULL : more->data};
    cuzk_bench_add(b, &row);
}

cuzk_status cuzk_bench_witness(cuzk_bench *b, cuzk_err *err) {
    partition p = {0};
    int64_t ns[CUZK_BENCH_MAX_RUNS], cpu_ns = INT64_MAX, of_kernel = 0;
    uint8_t digest[32];
    cuzk_progress progress;
    cuzk_buf more = CUZK_BUF_INIT;
    cuzk_status st = cuzk_bench_partition_load(&p, b, err);
    for (unsigned i = 0; i < b->runs && st == CUZK_OK; i++) {
        const int64_t wall = cuzk_now_ns();
        int64_t cpu = cuzk_cpu_ns(), kernel = kernel_ns();
        st = cuzk_bench_partition_solve(&p, b, err);
        ns[i] = cuzk_now_ns() - wall;
        cpu = lap(&cpu);
        kernel = kernel_ns() - kernel;
        if (cpu < cpu_ns) of_kernel = kernel;
        if (cpu < cpu_ns) cpu_ns = cpu;
    }
    if (st == CUZK_OK) {
        describe(&more, &p, b, cpu_ns);
        cuzk_buf_printf(&more, ",\"of_kernel\":%.4f", seconds(of_kernel));
        cuzk_bench_disturb(p.w->full);
        cuzk_progress_begin(&progress, stderr, "rows", p.r1cs->n_rows);
        const cuzk_status holds = cuzk_witness_check(p.w, &progress, err);
        cuzk_progress_end(&progress);
        st = cuzk_witness_digest(digest, p.w);
        cuzk_buf_puts(&more, ",\"digest\":");
        hex(&more, digest);
        if (st == CUZK_OK) add(b, &p, "witness", ns, b->runs, holds == CUZK_OK, &more);
    }
    cuzk_buf_free(&more);
    cuzk_bench_partition_unload(&p);
    return st;
}

/* ---- row values ---- */

typedef struct rows {
    const cuzk_r1cs *r;
    cuzk_u256 *v[3]; /* CHUNK each */
    uint32_t n;
    cuzk_hash *hash[3];
    int64_t ab_ns, c_ns, ab_wall;
    bool wrong; /* some a b is not c */
} rows;

/* Hashes what a chunk's matrix m holds; makes it plain on the way. */
static void hash_matrix(void *ctx, size_t m) {
    rows *x = ctx;
    for (uint32_t i = 0; i < x->n; i++)
        x->r->fr->from_mont(&x->v[m][i], &x->v[m][i]);
    cuzk_hash_update(x->hash[m], x->v[m], (size_t)x->n * sizeof(cuzk_u256));
}

static void check_products(rows *x) {
    cuzk_u256 ab;
    for (uint32_t i = 0; i < x->n; i++) {
        x->r->fr->mul(&ab, &x->v[0][i], &x->v[1][i]);
        x->wrong = x->wrong || memcmp(&ab, &x->v[2][i], sizeof ab) != 0;
    }
}

static cuzk_status eval_rows(rows *x, const partition *p, const cuzk_bench *b,
                             cuzk_progress *progress) {
    for (uint32_t row = 0; row < p->r1cs->n_rows; row += x->n) {
        x->n = p->r1cs->n_rows - row < CHUNK ? p->r1cs->n_rows - row : CHUNK;
        const int64_t wall = cuzk_now_ns();
        int64_t t = cuzk_cpu_ns();
        CUZK_TRY(cuzk_r1cs_eval(p->r1cs, p->w->bits, p->w->full, row, row + x->n, x->v[0], x->v[1],
                                NULL, b->pool));
        x->ab_ns += lap(&t);
        x->ab_wall += cuzk_now_ns() - wall;
        CUZK_TRY(cuzk_r1cs_eval(p->r1cs, p->w->bits, p->w->full, row, row + x->n, NULL, NULL,
                                x->v[2], b->pool));
        x->c_ns += lap(&t);
        if (row == 0) cuzk_bench_disturb(&x->v[2][0]);
        check_products(x);
        cuzk_pool_run(b->pool, 3, hash_matrix, x);
        cuzk_progress_add(progress, x->n);
    }
    return CUZK_OK;
}

/* The rows that Groth16 adds: A = input i, B = C = 0. */
static cuzk_status input_rows(rows *x, const partition *p) {
    const cuzk_u256 zero = {{0}};
    for (uint32_t i = 0; i < p->r1cs->n_inputs; i++) {
        cuzk_u256 v;
        CUZK_TRY(cuzk_witness_get(&v, p->w, i));
        cuzk_hash_update(x->hash[0], &v, sizeof v);
        cuzk_hash_update(x->hash[1], &zero, sizeof zero);
        cuzk_hash_update(x->hash[2], &zero, sizeof zero);
    }
    return CUZK_OK;
}

static cuzk_status report_rows(cuzk_bench *b, rows *x, const partition *p) {
    static const char *const names[] = {"a", "b", "c"};
    uint8_t d[32];
    cuzk_buf more = CUZK_BUF_INIT;
    cuzk_status st = CUZK_OK;
    describe(&more, p, b, x->ab_ns);
    cuzk_buf_printf(&more, ",\"core_seconds_c\":%.4f,\"digests\":{", seconds(x->c_ns));
    for (int m = 0; m < 3 && st == CUZK_OK; m++) {
        st = cuzk_hash_final(x->hash[m], d);
        x->hash[m] = NULL;
        cuzk_buf_printf(&more, "%s\"%s\":", m ? "," : "", names[m]);
        hex(&more, d);
    }
    cuzk_buf_puts(&more, "}");
    if (st == CUZK_OK) add(b, p, "eval", &x->ab_wall, 1, !x->wrong, &more);
    cuzk_buf_free(&more);
    return st;
}

cuzk_status cuzk_bench_eval(cuzk_bench *b, cuzk_err *err) {
    partition p = {0};
    rows x = {0};
    cuzk_progress progress;
    cuzk_status st = cuzk_bench_partition_load(&p, b, err);
    if (st == CUZK_OK) st = cuzk_bench_partition_solve(&p, b, err);
    x.r = p.r1cs;
    if (st == CUZK_OK) {
        for (int m = 0; m < 3 && st == CUZK_OK; m++) {
            st = cuzk_big_alloc((void **)&x.v[m], CHUNK * sizeof(cuzk_u256));
            if (st == CUZK_OK) st = cuzk_hash_new(&x.hash[m], CUZK_HASH_BLAKE2S_256);
        }
        cuzk_progress_begin(&progress, stderr, "rows", p.r1cs->n_rows);
        if (st == CUZK_OK) st = eval_rows(&x, &p, b, &progress);
        cuzk_progress_end(&progress);
        if (st == CUZK_OK) st = input_rows(&x, &p);
        if (st == CUZK_OK) st = report_rows(b, &x, &p);
        if (st != CUZK_OK) cuzk_err_set(err, st, "cannot evaluate: %s", cuzk_status_text(st));
    }
    for (int m = 0; m < 3; m++) {
        cuzk_hash_free(x.hash[m]);
        if (x.v[m]) cuzk_big_free(x.v[m], CHUNK * sizeof(cuzk_u256));
    }
    cuzk_bench_partition_unload(&p);
    return st;
}

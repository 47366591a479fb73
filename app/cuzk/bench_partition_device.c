/* `cuzk bench partition --device cuda`: proofs of one partition with its key resident. */
#include "bench_device.h"
#include "bench_filecoin.h"
#include "filecoin.h"

#include "base/clock.h"
#include "base/mem.h"
#include "groth16/params_key.h"
#include "keys/keys.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SLOTS = 16 };

typedef struct resident {
    cuzk_bench_partition p;
    cuzk_statement *statement;
    cuzk_u256 *publics;    /* of every partition */
    cuzk_circuit_key *key; /* read from a file; NULL: made here */
    cuzk_params_key *made;
    const cuzk_proving_key *data;
    const cuzk_vk *vk;
    int64_t setup_ns;
    cuzk_device_key *device_key;
    cuzk_slot *slots[MOST_SLOTS]; /* as many as proofs share a pass over the key */
    unsigned n_slots;
} resident;

/* The key's logarithms, which the device multiplies out when it loads them. */
static cuzk_status make_key(cuzk_bench *b, resident *r, cuzk_err *err) {
    const int64_t t = cuzk_now_ns();
    const char *name = r->p.v->circuit->name;
    cuzk_toxic toxic;
    cuzk_r1cs_density density;
    CUZK_TRY(cuzk_toxic_from_hex(&toxic, cuzk_curve_get(CUZK_BLS12_381), b->seed, err));
    cuzk_status st = cuzk_r1cs_density_of(&density, r->p.r1cs);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for %s", name);
    st =
        cuzk_groth16_setup_logs(&r->made, r->p.r1cs, &density, &toxic, name, b->fold, b->pool, err);
    cuzk_r1cs_density_free(&density);
    if (st != CUZK_OK) return st;
    r->made->key.plan = r->p.plan;
    r->data = &r->made->key;
    r->vk = &r->made->vk.vk;
    r->setup_ns = cuzk_now_ns() - t;
    return CUZK_OK;
}

static cuzk_status open_key(cuzk_bench *b, resident *r, cuzk_err *err) {
    const cuzk_keys_opts opts = {.dir = b->wtns,
                                 .allow_insecure = true,
                                 .pool = b->pool,
                                 .progress = stderr,
                                 .plan = r->p.plan};
    if (b->seed) return make_key(b, r, err);
    CUZK_TRY(cuzk_circuit_key_open(&r->key, r->p.v->circuit, r->p.r1cs, &opts, err));
    r->data = cuzk_circuit_key_data(r->key);
    r->vk = cuzk_circuit_key_vk(r->key);
    return CUZK_OK;
}

static cuzk_status load(cuzk_bench *b, resident *r, int64_t *load_ns, cuzk_err *err) {
    b->device.share = r->p.v->partitions;
    CUZK_TRY(cuzk_device_open(&b->device, b->threads, true, err));
    const cuzk_backend_ops *ops = b->device.backend->ops;
    const int64_t t = cuzk_now_ns();
    CUZK_TRY(ops->key_load(b->device.backend, &r->device_key, r->data, err));
    const unsigned share = cuzk_device_key_share(r->device_key);
    for (r->n_slots = 0; r->n_slots < share && r->n_slots < MOST_SLOTS; r->n_slots++)
        CUZK_TRY(ops->slot_new(r->device_key, &r->slots[r->n_slots], err));
    *load_ns = cuzk_now_ns() - t;
    return CUZK_OK;
}

static void unload_device(cuzk_bench *b, resident *r) {
    if (b->device.backend) {
        for (unsigned i = 0; i < r->n_slots; i++)
            b->device.backend->ops->slot_free(r->slots[i]);
        b->device.backend->ops->key_free(r->device_key);
    }
    r->n_slots = 0;
    r->device_key = NULL;
    cuzk_device_close(&b->device);
}

static void unload(cuzk_bench *b, resident *r) {
    unload_device(b, r);
    cuzk_circuit_key_free(r->key);
    cuzk_params_key_free(r->made);
    cuzk_free(r->publics);
    cuzk_statement_free(r->statement);
    cuzk_bench_partition_unload(&r->p);
}

/* The witness is made on the device from these free values. */
static cuzk_status prove(const resident *r, cuzk_slot *slot, uint32_t partition,
                         const cuzk_u256 *frees, const cuzk_prove_opts *opts, cuzk_proof *proof,
                         cuzk_prove_stats *stats, cuzk_err *err) {
    const cuzk_u256 *publics =
        r->publics + partition * (size_t)cuzk_circuit_public(r->p.v->circuit);
    if (r->key)
        return cuzk_circuit_key_prove_inputs(r->key, slot, frees, publics, opts, proof, stats, err);
    return cuzk_groth16_prove_inputs(slot, frees, r->p.r1cs->n_free, publics, r->vk, opts, proof,
                                     stats, err);
}

/* The same sums as the CPU's, which makes its own witness; without a key that the CPU could take,
 * the check that every proof undergoes has to do. */
static cuzk_status check(cuzk_bench *b, resident *r, bool *same, cuzk_err *err) {
    const cuzk_u256 one = {{1, 0, 0, 0}};
    cuzk_prove_opts opts = {.r = &one, .s = &one, .impl = b->impl};
    cuzk_proof proof[2];
    *same = true;
    if (!r->key) return prove(r, r->slots[0], b->partition, r->p.frees, NULL, &proof[1], NULL, err);
    CUZK_TRY(cuzk_bench_partition_solve(&r->p, b, err));
    CUZK_TRY(cuzk_circuit_key_prove(r->key, r->p.w, &opts, &proof[0], NULL, err));
    CUZK_TRY(prove(r, r->slots[0], b->partition, r->p.frees, &opts, &proof[1], NULL, err));
    *same = memcmp(&proof[0].a, &proof[1].a, sizeof proof[0].a) == 0 &&
            memcmp(&proof[0].b, &proof[1].b, sizeof proof[0].b) == 0 &&
            memcmp(&proof[0].c, &proof[1].c, sizeof proof[0].c) == 0;
    return CUZK_OK;
}

/* ---- every partition: one is proved while the next one's witness is made ---- */

typedef struct proving {
    const resident *r;
    uint32_t partition;
    cuzk_u256 *frees; /* its own, used again for the next but one */
    cuzk_proof proof;
    cuzk_prove_stats stats;
    cuzk_status st;
    cuzk_err err;
    pthread_t thread;
    bool running;
} proving;

static void *prove_thread(void *ctx) {
    proving *j = ctx;
    j->st =
        prove(j->r, j->r->slots[0], j->partition, j->frees, NULL, &j->proof, &j->stats, &j->err);
    return NULL;
}

static cuzk_status start(proving *j, const resident *r, uint32_t partition, cuzk_u256 *frees,
                         cuzk_err *err) {
    *j = (proving){.r = r, .partition = partition, .frees = frees};
    j->running = pthread_create(&j->thread, NULL, prove_thread, j) == 0;
    if (j->running) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot start a thread");
}

static void add_sums(cuzk_sums_stats *to, const cuzk_sums_stats *from) {
    for (int k = 0; k < CUZK_SUMS_STAGES; k++)
        to->ns[k] += from->ns[k];
    to->device_ns += from->device_ns;
    to->bytes_in += from->bytes_in;
    to->bytes_out += from->bytes_out;
}

static cuzk_status join(proving *j, cuzk_proof *out, cuzk_sums_stats *sums, cuzk_err *err) {
    (void)pthread_join(j->thread, NULL);
    j->running = false;
    *out = j->proof;
    add_sums(sums, &j->stats.sums);
    if (j->st != CUZK_OK && err) *err = j->err;
    return j->st;
}

static cuzk_status prove_each(resident *r, cuzk_u256 *more_frees, cuzk_proof *proofs,
                              cuzk_sums_stats *sums, int64_t *values_ns, cuzk_err *err) {
    const cuzk_bench_partition *p = &r->p;
    const uint32_t n = p->v->partitions;
    cuzk_u256 *frees[2] = {p->frees, more_frees};
    proving job = {0};
    cuzk_status st = CUZK_OK;
    *values_ns = 0;
    for (uint32_t i = 0; i <= n && st == CUZK_OK; i++) {
        const int64_t t = cuzk_now_ns();
        if (i < n) st = cuzk_vanilla_free_values(p->v, i, frees[i % 2], p->r1cs->n_free, err);
        *values_ns += cuzk_now_ns() - t;
        if (i > 0 && st == CUZK_OK) st = join(&job, &proofs[i - 1], sums, err);
        if (i < n && st == CUZK_OK) st = start(&job, r, i, frees[i % 2], err);
    }
    cuzk_proof unused;
    if (job.running) (void)join(&job, &unused, sums, NULL);
    return st;
}

/* ---- or several share a pass over a key that is streamed ---- */

typedef struct shared {
    const resident *r;
    uint32_t partition;
    unsigned slot;
    cuzk_proof *proofs;
    cuzk_sums_stats *sums;
    int64_t *values_ns;
} shared;

static cuzk_status prove_shared(shared *g, cuzk_err *err);

static cuzk_status prove_next(void *ctx, cuzk_err *err) {
    shared next = *(const shared *)ctx;
    next.partition++;
    next.slot++;
    const bool more = next.partition < next.r->p.v->partitions && next.slot < next.r->n_slots;
    return more ? prove_shared(&next, err) : CUZK_OK;
}

static cuzk_status prove_shared(shared *g, cuzk_err *err) {
    const cuzk_bench_partition *p = &g->r->p;
    const size_t n = p->r1cs->n_free;
    const cuzk_prove_opts opts = {.queued = prove_next, .queued_ctx = g};
    cuzk_prove_stats stats = {0};
    void *frees;
    if (cuzk_alloc(&frees, n, sizeof(cuzk_u256)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    const int64_t t = cuzk_now_ns();
    cuzk_status st = cuzk_vanilla_free_values(p->v, g->partition, frees, n, err);
    *g->values_ns += cuzk_now_ns() - t;
    if (st == CUZK_OK)
        st = prove(g->r, g->r->slots[g->slot], g->partition, frees, &opts, &g->proofs[g->partition],
                   &stats, err);
    add_sums(g->sums, &stats.sums);
    cuzk_wipe(frees, n * sizeof(cuzk_u256));
    cuzk_free(frees);
    return st;
}

static cuzk_status prove_groups(const resident *r, cuzk_proof *proofs, cuzk_sums_stats *sums,
                                int64_t *values_ns, cuzk_err *err) {
    *values_ns = 0;
    for (uint32_t i = 0; i < r->p.v->partitions; i += r->n_slots) {
        shared g = {r, i, 0, proofs, sums, values_ns};
        CUZK_TRY(prove_shared(&g, err));
    }
    return CUZK_OK;
}

/* All proofs at once against the public inputs that follow from the statement, as the chain
 * derives them. */
static cuzk_status verify_all(cuzk_bench *b, resident *r, const cuzk_proof *proofs, cuzk_err *err) {
    return cuzk_groth16_verify_batch(r->vk, r->publics, cuzk_circuit_public(r->p.v->circuit),
                                     proofs, r->p.v->partitions, b->pool, err);
}

static cuzk_status all_partitions(cuzk_bench *b, resident *r, cuzk_bench_device_series *s,
                                  cuzk_err *err) {
    const uint32_t n = r->p.v->partitions;
    const unsigned runs = b->runs;
    const size_t frees_bytes = r->p.r1cs->n_free * sizeof(cuzk_u256);
    void *mem, *frees = NULL;
    int64_t values_ns;
    if (n < 2) return CUZK_OK;
    if (cuzk_alloc(&mem, n, sizeof(cuzk_proof)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    if (cuzk_alloc(&frees, frees_bytes, 1) != CUZK_OK) {
        cuzk_free(mem);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    }
    memset(&s->sums[0], 0, sizeof s->sums[0]);
    const int64_t t = cuzk_now_ns();
    cuzk_status st = r->n_slots > 1 ? prove_groups(r, mem, &s->sums[0], &values_ns, err)
                                    : prove_each(r, frees, mem, &s->sums[0], &values_ns, err);
    s->points_ns[0] = cuzk_now_ns() - t;
    cuzk_wipe(frees, frees_bytes);
    cuzk_free(frees);
    if (st == CUZK_OK) st = verify_all(b, r, mem, err);
    s->wall_ns[0] = cuzk_now_ns() - t;
    cuzk_free(mem);
    if (st != CUZK_OK) return st;
    fprintf(stderr,
            "%u partitions: %.2f s, and checked together %.2f s; their free values %.3f s\n", n,
            (double)s->points_ns[0] * 1e-9, (double)s->wall_ns[0] * 1e-9, (double)values_ns * 1e-9);
    char variant[64];
    snprintf(variant, sizeof variant, "%s all %u", r->p.v->circuit->name, n);
    b->runs = 1;
    cuzk_bench_device_add(b, &b->device, r->device_key, r->data, s, "partition", variant,
                          s->wall_ns);
    b->runs = runs;
    return CUZK_OK;
}

static cuzk_status run(cuzk_bench *b, resident *r, cuzk_bench_device_series *s, cuzk_err *err) {
    cuzk_proof proof;
    cuzk_prove_stats stats;
    bool same;
    CUZK_TRY(load(b, r, &s->load_ns, err));
    CUZK_TRY(check(b, r, &same, err));
    if (!same) b->wrong = true;
    for (unsigned i = 0; i < b->runs; i++) {
        const int64_t t = cuzk_now_ns();
        CUZK_TRY(prove(r, r->slots[0], b->partition, r->p.frees, NULL, &proof, &stats, err));
        s->wall_ns[i] = cuzk_now_ns() - t;
        s->points_ns[i] = s->wall_ns[i] - stats.ns[CUZK_STAGE_VERIFY];
        s->sums[i] = stats.sums;
        cuzk_bench_device_count(s, &b->device);
    }
    if (r->made)
        fprintf(stderr, "key: logarithms %.2f s, to the device %.2f s\n",
                (double)r->setup_ns * 1e-9, (double)s->load_ns * 1e-9);
    char variant[64];
    snprintf(variant, sizeof variant, "%s warm", r->p.v->circuit->name);
    cuzk_bench_device_add(b, &b->device, r->device_key, r->data, s, "partition", variant,
                          s->points_ns);
    snprintf(variant, sizeof variant, "%s warm_verified", r->p.v->circuit->name);
    cuzk_bench_device_add(b, &b->device, r->device_key, r->data, s, "partition", variant,
                          s->wall_ns);
    return b->n_vram > 1 && r->n_slots == 1 ? CUZK_OK : all_partitions(b, r, s, err);
}

/* With each size of --vram, or once. */
static cuzk_status run_all(cuzk_bench *b, resident *r, cuzk_bench_device_series *s, cuzk_err *err) {
    CUZK_TRY(cuzk_bench_partition_load(&r->p, b, err));
    CUZK_TRY(cuzk_statement_of_vanilla(&r->statement, r->p.v, err));
    CUZK_TRY(cuzk_statement_publics(&r->publics, r->statement, 0, r->p.v->partitions, err));
    CUZK_TRY(open_key(b, r, err));
    for (unsigned i = 0; i == 0 || i < b->n_vram; i++) {
        if (b->n_vram) b->device.vram = b->vram[i];
        memset(s, 0, sizeof *s);
        CUZK_TRY(run(b, r, s, err));
        unload_device(b, r);
    }
    return CUZK_OK;
}

cuzk_status cuzk_bench_partition_device(cuzk_bench *b, cuzk_err *err) {
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(cuzk_bench_device_series)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    resident r = {0};
    const cuzk_status st = run_all(b, &r, mem, err);
    unload(b, &r);
    cuzk_free(mem);
    return st;
}

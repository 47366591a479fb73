/* `cuzk bench partition --device cuda`: proofs of one partition with its key resident. */
#include "bench_device.h"
#include "bench_filecoin.h"

#include "base/clock.h"
#include "base/mem.h"
#include "keys/keys.h"

#include <stdio.h>
#include <string.h>

typedef struct resident {
    cuzk_bench_partition p;
    cuzk_circuit_key *key;
    cuzk_device_key *device_key;
    cuzk_slot *slot;
} resident;

static cuzk_status load(cuzk_bench *b, resident *r, int64_t *load_ns, cuzk_err *err) {
    const cuzk_keys_opts opts = {
        .dir = b->wtns, .allow_insecure = true, .pool = b->pool, .progress = stderr};
    CUZK_TRY(cuzk_bench_partition_load(&r->p, b, err));
    CUZK_TRY(cuzk_circuit_key_open(&r->key, r->p.v->circuit, r->p.r1cs, &opts, err));
    CUZK_TRY(cuzk_device_open(&b->device, b->threads, true, err));
    const cuzk_backend_ops *ops = b->device.backend->ops;
    const int64_t t = cuzk_now_ns();
    CUZK_TRY(ops->key_load(b->device.backend, &r->device_key, cuzk_circuit_key_data(r->key), err));
    CUZK_TRY(ops->slot_new(r->device_key, &r->slot, err));
    *load_ns = cuzk_now_ns() - t;
    return CUZK_OK;
}

static void unload(cuzk_bench *b, resident *r) {
    if (b->device.backend) {
        b->device.backend->ops->slot_free(r->slot);
        b->device.backend->ops->key_free(r->device_key);
    }
    cuzk_device_close(&b->device);
    cuzk_circuit_key_free(r->key);
    cuzk_bench_partition_unload(&r->p);
}

/* The same sums as the CPU's for this witness. */
static cuzk_status check(cuzk_bench *b, resident *r, bool *same, cuzk_err *err) {
    const cuzk_u256 one = {{1, 0, 0, 0}};
    cuzk_prove_opts opts = {.r = &one, .s = &one, .impl = b->impl};
    cuzk_proof proof[2];
    CUZK_TRY(cuzk_circuit_key_prove(r->key, r->p.w, &opts, &proof[0], NULL, err));
    CUZK_TRY(cuzk_circuit_key_prove_slot(r->key, r->slot, r->p.w, &opts, &proof[1], NULL, err));
    *same = memcmp(&proof[0].a, &proof[1].a, sizeof proof[0].a) == 0 &&
            memcmp(&proof[0].b, &proof[1].b, sizeof proof[0].b) == 0 &&
            memcmp(&proof[0].c, &proof[1].c, sizeof proof[0].c) == 0;
    return CUZK_OK;
}

static cuzk_status run(cuzk_bench *b, resident *r, cuzk_bench_device_series *s, cuzk_err *err) {
    cuzk_proof proof;
    cuzk_prove_stats stats;
    bool same;
    CUZK_TRY(load(b, r, &s->load_ns, err));
    CUZK_TRY(cuzk_bench_partition_solve(&r->p, b, err));
    CUZK_TRY(check(b, r, &same, err));
    if (!same) b->wrong = true;
    for (unsigned i = 0; i < b->runs; i++) {
        const int64_t t = cuzk_now_ns();
        CUZK_TRY(cuzk_circuit_key_prove_slot(r->key, r->slot, r->p.w, NULL, &proof, &stats, err));
        s->wall_ns[i] = cuzk_now_ns() - t;
        s->points_ns[i] = s->wall_ns[i] - stats.ns[CUZK_STAGE_VERIFY];
        s->sums[i] = stats.sums;
    }
    const cuzk_proving_key *data = cuzk_circuit_key_data(r->key);
    char variant[64];
    snprintf(variant, sizeof variant, "%s warm", r->p.v->circuit->name);
    cuzk_bench_device_add(b, &b->device, r->device_key, data, s, "partition", variant,
                          s->points_ns);
    snprintf(variant, sizeof variant, "%s warm_verified", r->p.v->circuit->name);
    cuzk_bench_device_add(b, &b->device, r->device_key, data, s, "partition", variant, s->wall_ns);
    return CUZK_OK;
}

cuzk_status cuzk_bench_partition_device(cuzk_bench *b, cuzk_err *err) {
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(cuzk_bench_device_series)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    resident r = {0};
    const cuzk_status st = run(b, &r, mem, err);
    unload(b, &r);
    cuzk_free(mem);
    return st;
}

#include "bench_device.h"

#include "api/key.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "groth16/assemble.h"
#include "groth16/groth16.h"

#include <stdio.h>
#include <string.h>

/* Every proof is verified, after the part that `warm` counts. */
typedef cuzk_bench_device_series series;

/* A key and a witness, and the key on a device. */
typedef struct loaded {
    cuzk_zkey *zkey;
    cuzk_wtns *wtns;
    cuzk_vk vk;
    cuzk_proving_key data;
    cuzk_device_key *key;
    cuzk_slot *slot;
} loaded;

static cuzk_status load(const cuzk_bench *b, const cuzk_device *d, loaded *l, cuzk_err *err) {
    CUZK_TRY(cuzk_zkey_open(&l->zkey, b->zkey, CUZK_ZKEY_CHECK_SHAPE, b->pool, err));
    CUZK_TRY(cuzk_wtns_open(&l->wtns, b->wtns, err));
    CUZK_TRY(cuzk__key_fits(l->zkey, l->wtns, err));
    CUZK_TRY(cuzk_zkey_vk(l->zkey, &l->vk, err));
    cuzk_zkey_proving_key(l->zkey, &l->data);
    CUZK_TRY(d->backend->ops->key_load(d->backend, &l->key, &l->data, err));
    return d->backend->ops->slot_new(l->key, &l->slot, err);
}

static void unload(const cuzk_device *d, loaded *l) {
    d->backend->ops->slot_free(l->slot);
    d->backend->ops->key_free(l->key);
    cuzk_vk_free(&l->vk);
    cuzk_wtns_free(l->wtns);
    cuzk_zkey_free(l->zkey);
    memset(l, 0, sizeof *l);
}

/* One proof; ns counts up to its points, wall_ns to the end of its check. */
static cuzk_status prove(const loaded *l, int64_t *ns, int64_t *wall_ns, cuzk_sums_stats *sums,
                         cuzk_err *err) {
    const cuzk_wires wires = {.full = l->wtns->values};
    cuzk_proof proof;
    cuzk_prove_stats stats;
    const int64_t t = cuzk_now_ns();
    CUZK_TRY(cuzk_groth16_prove_slot(l->slot, &wires, &l->vk, NULL, &proof, &stats, err));
    *wall_ns = cuzk_now_ns() - t;
    *ns = *wall_ns - stats.ns[CUZK_STAGE_VERIFY];
    *sums = stats.sums;
    return CUZK_OK;
}

/* Without tables, as a command that proves once; opening the files and loading the key count. */
static cuzk_status cold(const cuzk_bench *b, const cuzk_device *d, series *s, cuzk_err *err) {
    for (unsigned r = 0; r < b->runs; r++) {
        loaded l = {0};
        const int64_t t = cuzk_now_ns();
        cuzk_status st = load(b, d, &l, err);
        s->load_ns = cuzk_now_ns() - t;
        if (st == CUZK_OK) st = prove(&l, &s->points_ns[r], &s->wall_ns[r], &s->sums[r], err);
        s->points_ns[r] += s->load_ns;
        s->wall_ns[r] = cuzk_now_ns() - t;
        unload(d, &l);
        if (st != CUZK_OK) return st;
    }
    return CUZK_OK;
}

static cuzk_status warm(const cuzk_bench *b, const loaded *l, series *s, cuzk_err *err) {
    CUZK_TRY(prove(l, &s->points_ns[0], &s->wall_ns[0], &s->sums[0], err));
    for (unsigned r = 0; r < b->runs; r++)
        CUZK_TRY(prove(l, &s->points_ns[r], &s->wall_ns[r], &s->sums[r], err));
    return CUZK_OK;
}

static void add(cuzk_bench *b, const cuzk_device *d, const loaded *l, const series *s,
                const char *variant, const int64_t *ns) {
    cuzk_bench_device_add(b, d, l->key, &l->data, s, "prove", variant, ns);
}

static cuzk_status run_cold(cuzk_bench *b, series *s, cuzk_err *err) {
    cuzk_device d = b->device;
    loaded shape = {0};
    cuzk_status st = cuzk_device_open(&d, b->threads, false, err);
    if (st == CUZK_OK) st = cold(b, &d, s, err);
    if (st == CUZK_OK) st = cuzk_zkey_open(&shape.zkey, b->zkey, CUZK_ZKEY_CHECK_SIZES, NULL, err);
    if (st == CUZK_OK) {
        cuzk_zkey_proving_key(shape.zkey, &shape.data);
        add(b, &d, &shape, s, "cold", s->wall_ns);
    }
    cuzk_zkey_free(shape.zkey);
    cuzk_device_close(&d);
    return st;
}

static cuzk_status run_warm(cuzk_bench *b, series *s, cuzk_err *err) {
    cuzk_device *d = &b->device;
    loaded l = {0};
    cuzk_status st = cuzk_device_open(d, b->threads, true, err);
    if (st == CUZK_OK) {
        const int64_t t = cuzk_now_ns();
        st = load(b, d, &l, err);
        s->load_ns = cuzk_now_ns() - t;
        if (st == CUZK_OK) st = warm(b, &l, s, err);
        if (st == CUZK_OK) add(b, d, &l, s, "warm", s->points_ns);
        if (st == CUZK_OK) add(b, d, &l, s, "warm_verified", s->wall_ns);
        unload(d, &l);
    }
    cuzk_device_close(d);
    return st;
}

cuzk_status cuzk_bench_prove_device(cuzk_bench *b, cuzk_err *err) {
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(series)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    series *s = mem;
    cuzk_status st = run_cold(b, s, err);
    if (st == CUZK_OK) st = run_warm(b, s, err);
    cuzk_free(mem);
    return st;
}

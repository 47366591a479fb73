/* Devices of this process. */
#include "jobs/local.h"

#include "backend/cpu/cpu.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "circuit/fillers.h"
#include "groth16/assemble.h"
#include "groth16/params_key.h"
#include "jobs/internal.h"
#include "jobs/points.h"
#include "keys/keys.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct device_key {
    struct device_key *next;
    char name[CUZK_ENGINE_KEY_NAME];
    cuzk_r1cs *r1cs; /* of a circuit */
    cuzk_witness_plan *plan;
    cuzk_circuit_key *circuit;
    cuzk_zkey *zkey; /* of circom */
    cuzk_proving_key flat;
    const cuzk_proving_key *data;
    cuzk_device_key *device;
    size_t witness; /* bytes that a partition comes as: of a circuit free values */
} device_key;

typedef struct slot {
    device_key *key;
    cuzk_slot *slot; /* NULL: none is made */
    bool staged;
} slot;

typedef struct result {
    size_t len; /* 0: none */
    uint8_t bytes[CUZK_SUMS_BYTES_MAX];
} result;

typedef struct device {
    cuzk_backend *backend; /* NULL: closed */
    bool own_memory;
    pthread_mutex_t lock; /* of keys */
    device_key *keys;
    slot slots[CUZK_LOCAL_SLOTS];
    result results[CUZK_LOCAL_RESULTS];
} device;

struct cuzk_local {
    cuzk_local_config config;
    cuzk_poseidon_set set;
    device devices[CUZK_LOCAL_DEVICES];
};

cuzk_status cuzk_local_new(cuzk_local **out, const cuzk_local_config *config, cuzk_err *err) {
    cuzk_local *l;
    *out = NULL;
    if (config->devices == 0 || config->devices > CUZK_LOCAL_DEVICES)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%u devices: 1 to %d work", config->devices,
                            CUZK_LOCAL_DEVICES);
    if (cuzk_alloc((void **)&l, 1, sizeof *l) != CUZK_OK) return cuzk__jobs_no_memory(err);
    l->config = *config;
    if (cuzk_poseidon_set_init(&l->set) != CUZK_OK) {
        cuzk_free(l);
        return cuzk__jobs_no_memory(err);
    }
    for (uint32_t i = 0; i < CUZK_LOCAL_DEVICES; i++)
        if (pthread_mutex_init(&l->devices[i].lock, NULL) != 0) {
            while (i-- > 0)
                (void)pthread_mutex_destroy(&l->devices[i].lock);
            cuzk_poseidon_set_fini(&l->set);
            cuzk_free(l);
            return cuzk__jobs_no_memory(err);
        }
    *out = l;
    return CUZK_OK;
}

static uint32_t count(void *self) {
    return ((const cuzk_local *)self)->config.devices;
}

static cuzk_status get(cuzk_local *l, uint32_t n, device **out, cuzk_err *err) {
    *out = n < l->config.devices ? &l->devices[n] : NULL;
    if (*out && (*out)->backend) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "device %u is not open", n);
}

static cuzk_status open_device(void *self, uint32_t n, cuzk_engine_device_info *info,
                               cuzk_err *err) {
    cuzk_local *l = self;
    memset(info, 0, sizeof *info);
    if (n >= l->config.devices || l->devices[n].backend)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "device %u is open, or there is none", n);
    device *d = &l->devices[n];
    return l->config.open(l->config.ctx, n, &d->backend, info, &d->own_memory, err);
}

cuzk_status cuzk_local_open_cpu(void *ctx, uint32_t n, cuzk_backend **out,
                                cuzk_engine_device_info *info, bool *own_memory, cuzk_err *err) {
    const long pages = sysconf(_SC_PHYS_PAGES), free_pages = sysconf(_SC_AVPHYS_PAGES),
               page = sysconf(_SC_PAGESIZE);
    *own_memory = false;
    CUZK_TRY(cuzk_cpu_backend_open(out, CUZK_CPU_AUTO, ctx, err));
    *info = (cuzk_engine_device_info){.pid = 0};
    snprintf(info->name, sizeof info->name, "CPU, %u threads", cuzk_pool_threads(ctx));
    snprintf(info->uuid, sizeof info->uuid, "cpu:%u", n);
    info->memory_total = pages > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    info->memory_free = free_pages > 0 ? (uint64_t)free_pages * (uint64_t)page : 0;
    return CUZK_OK;
}

/* ---- slots ---- */

static void empty_slot(const device *d, slot *s) {
    if (s->slot) d->backend->ops->slot_free(s->slot);
    *s = (slot){.key = NULL};
}

/* ---- keys ---- */

static void drop_key(const device *d, device_key *k) {
    if (!k) return;
    if (k->device) d->backend->ops->key_free(k->device);
    cuzk_circuit_key_free(k->circuit);
    cuzk_witness_plan_free(k->plan);
    cuzk_r1cs_free(k->r1cs);
    cuzk_zkey_free(k->zkey);
    cuzk_free(k);
}

static cuzk_status read_circuit(const cuzk_local *l, device_key *k, const cuzk_circuit *c,
                                cuzk_err *err) {
    cuzk_keys_opts opts = {.dir = l->config.keys.params_dir,
                           .allow_insecure = l->config.keys.allow_insecure,
                           .seed = l->config.keys.seed,
                           .pool = l->config.pool,
                           .data_only = true};
    CUZK_TRY(cuzk_circuit_compact(&k->r1cs, c, err));
    if (cuzk_circuit_plan(&k->plan, k->r1cs, &l->set) != CUZK_OK) return cuzk__jobs_no_memory(err);
    opts.plan = k->plan;
    CUZK_TRY(cuzk_circuit_key_open(&k->circuit, c, k->r1cs, &opts, err));
    k->data = cuzk_circuit_key_data(k->circuit);
    k->witness = (size_t)k->r1cs->n_free * sizeof(cuzk_u256);
    return CUZK_OK;
}

static cuzk_status read_zkey(const cuzk_local *l, device_key *k, const char *path, cuzk_err *err) {
    CUZK_TRY(cuzk_zkey_open(&k->zkey, path, CUZK_ZKEY_CHECK_SHAPE, l->config.pool, err));
    cuzk_zkey_proving_key(k->zkey, &k->flat);
    k->data = &k->flat;
    k->witness = (size_t)k->zkey->n_vars * sizeof(cuzk_u256);
    return CUZK_OK;
}

static cuzk_status make_key(const cuzk_local *l, const device *d, device_key **out,
                            const cuzk__where *w, cuzk_err *err) {
    device_key *k;
    if (cuzk_alloc((void **)&k, 1, sizeof *k) != CUZK_OK) return cuzk__jobs_no_memory(err);
    memcpy(k->name, w->name, sizeof k->name);
    cuzk_status st =
        w->circuit ? read_circuit(l, k, w->circuit, err) : read_zkey(l, k, w->path, err);
    if (st == CUZK_OK) st = d->backend->ops->key_load(d->backend, &k->device, k->data, err);
    if (st == CUZK_OK && d->own_memory && k->circuit) cuzk_circuit_key_drop_bases(k->circuit);
    if (st == CUZK_OK)
        *out = k;
    else
        drop_key(d, k);
    return st;
}

static device_key *find_key(device *d, const char *name) {
    (void)pthread_mutex_lock(&d->lock);
    device_key *k = d->keys;
    while (k && strcmp(k->name, name) != 0)
        k = k->next;
    (void)pthread_mutex_unlock(&d->lock);
    return k;
}

static cuzk_status key_load(void *self, uint32_t n, const char *key, cuzk_err *err) {
    cuzk_local *l = self;
    device *d;
    device_key *k = NULL;
    cuzk__where w;
    CUZK_TRY(get(l, n, &d, err));
    CUZK_TRY(cuzk__jobs_where(&w, &l->config.keys, key, err));
    cuzk_status st = CUZK_OK;
    if (!find_key(d, w.name)) st = make_key(l, d, &k, &w, err);
    cuzk_free(w.path);
    if (st != CUZK_OK || !k) return st;
    (void)pthread_mutex_lock(&d->lock);
    k->next = d->keys;
    d->keys = k;
    (void)pthread_mutex_unlock(&d->lock);
    return CUZK_OK;
}

static cuzk_status key_free(void *self, uint32_t n, const char *key, cuzk_err *err) {
    device *d;
    CUZK_TRY(get(self, n, &d, err));
    (void)pthread_mutex_lock(&d->lock);
    device_key **at = &d->keys, *k;
    while (*at && strcmp((*at)->name, key) != 0)
        at = &(*at)->next;
    k = *at;
    if (k) *at = k->next;
    (void)pthread_mutex_unlock(&d->lock);
    if (!k) return cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "the key %s is not loaded", key);
    for (int i = 0; i < CUZK_LOCAL_SLOTS; i++)
        if (d->slots[i].key == k) empty_slot(d, &d->slots[i]);
    drop_key(d, k);
    return CUZK_OK;
}

static cuzk_status plan_circuit(const cuzk_local *l, const device *d, const cuzk_circuit *c,
                                cuzk_backend_plan *out, uint64_t *own, cuzk_err *err) {
    cuzk_r1cs_density density;
    cuzk_proving_key shape;
    cuzk_witness_plan *plan = NULL;
    cuzk_r1cs *r;
    CUZK_TRY(cuzk_circuit_compact(&r, c, err));
    cuzk_status st = cuzk_r1cs_density_of(&density, r);
    if (st == CUZK_OK) {
        st = cuzk_params_key_shape(&shape, r, &density, err);
        cuzk_r1cs_density_free(&density);
        if (st == CUZK_OK && cuzk_circuit_plan(&plan, r, &l->set) != CUZK_OK)
            st = cuzk__jobs_no_memory(err);
        shape.plan = plan;
        if (st == CUZK_OK) st = d->backend->ops->plan(d->backend, &shape, out, err);
        if (st == CUZK_OK)
            *own = cuzk_r1cs_bytes(r) + cuzk_witness_plan_bytes(r) + cuzk_params_key_bytes(&shape);
    } else {
        cuzk__jobs_no_memory(err);
    }
    cuzk_witness_plan_free(plan);
    cuzk_r1cs_free(r);
    return st;
}

static cuzk_status plan_zkey(const device *d, const char *path, cuzk_backend_plan *out,
                             uint64_t *own, cuzk_err *err) {
    cuzk_proving_key shape;
    cuzk_zkey *zk;
    CUZK_TRY(cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_SIZES, NULL, err));
    cuzk_zkey_proving_key(zk, &shape);
    *own = zk->len;
    const cuzk_status st = d->backend->ops->plan(d->backend, &shape, out, err);
    cuzk_zkey_free(zk);
    return st;
}

cuzk_status cuzk_local_plan(cuzk_local *l, uint32_t n, const char *key, cuzk_backend_plan *out,
                            cuzk_err *err) {
    device *d;
    cuzk__where w;
    uint64_t own = 0;
    CUZK_TRY(get(l, n, &d, err));
    CUZK_TRY(cuzk__jobs_where(&w, &l->config.keys, key, err));
    const cuzk_status st = w.circuit ? plan_circuit(l, d, w.circuit, out, &own, err)
                                     : plan_zkey(d, w.path, out, &own, err);
    cuzk_free(w.path);
    if (st == CUZK_OK && !d->own_memory) out->key += own;
    return st;
}

/* ---- partitions ---- */

/* Memory of a device that somebody else takes for a while: the partition waits for it. */
static cuzk_status new_slot(const device *d, const device_key *k, cuzk_slot **out, cuzk_err *err) {
    enum { TRIES = 100 };
    const struct timespec pause = {0, 100000000};
    for (int i = 0;; i++) {
        const cuzk_status st = d->backend->ops->slot_new(k->device, out, err);
        if (st != CUZK_STATUS_NO_MEMORY || !d->own_memory || i == TRIES) return st;
        nanosleep(&pause, NULL);
    }
}

static cuzk_status stage(void *self, uint32_t n, uint32_t number, const char *key,
                         const cuzk_engine_witness *w, cuzk_err *err) {
    device *d;
    CUZK_TRY(get(self, n, &d, err));
    device_key *k = find_key(d, key);
    if (!k || number >= CUZK_LOCAL_SLOTS)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "slot %u, key %s: not there", number, key);
    if (w->len != k->witness || !w->data)
        return cuzk_err_set(err, CUZK_STATUS_BUG,
                            "a witness of %zu bytes for the key %s, which wants %zu", w->len, key,
                            k->witness);
    slot *s = &d->slots[number];
    const cuzk_backend_ops *ops = d->backend->ops;
    if (s->key != k) empty_slot(d, s);
    s->key = k;
    s->staged = false;
    if (!s->slot) CUZK_TRY(new_slot(d, k, &s->slot, err));
    const cuzk_wires wires = {.full = w->data};
    const cuzk_status st = k->r1cs ? ops->stage_inputs(s->slot, w->data, k->r1cs->n_free, err)
                                   : ops->stage(s->slot, &wires, err);
    s->staged = st == CUZK_OK;
    if (st != CUZK_OK) empty_slot(d, s);
    return st;
}

static cuzk_status compute(void *self, uint32_t n, uint32_t number, uint32_t to,
                           cuzk_engine_moved *moved, cuzk_err *err) {
    cuzk_groth16_sums sums;
    cuzk_sums_stats stats;
    device *d;
    memset(moved, 0, sizeof *moved);
    CUZK_TRY(get(self, n, &d, err));
    if (number >= CUZK_LOCAL_SLOTS || to >= CUZK_LOCAL_RESULTS || !d->slots[number].staged)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "slot %u has nothing staged for result %u",
                            number, to);
    slot *s = &d->slots[number];
    const cuzk_backend_ops *ops = d->backend->ops;
    memset(&stats, 0, sizeof stats);
    cuzk_status st = ops->compute(s->slot, err);
    if (st == CUZK_OK) st = ops->finish(s->slot, &sums, &stats, err);
    if (st == CUZK_OK) {
        d->results[to].len = cuzk_sums_to_bytes(d->results[to].bytes, s->key->data->curve, &sums);
        *moved = (cuzk_engine_moved){.in_pinned = stats.bytes_in,
                                     .out_pinned = stats.bytes_out,
                                     .in_gate = stats.bytes_out,
                                     .device_ns = stats.device_ns};
    }
    cuzk_wipe(&sums, sizeof sums);
    s->staged = false;
    if (st != CUZK_OK || !d->own_memory) empty_slot(d, s);
    return st;
}

static cuzk_status finish(void *self, uint32_t n, uint32_t from, void *out, size_t *out_len,
                          cuzk_err *err) {
    device *d;
    *out_len = 0;
    CUZK_TRY(get(self, n, &d, err));
    if (from >= CUZK_LOCAL_RESULTS || d->results[from].len == 0)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "no result number %u", from);
    result *r = &d->results[from];
    memcpy(out, r->bytes, r->len);
    *out_len = r->len;
    cuzk_wipe(r, sizeof *r);
    return CUZK_OK;
}

/* ---- the end ---- */

static void close_device(void *self, uint32_t n) {
    cuzk_local *l = self;
    if (n >= l->config.devices || !l->devices[n].backend) return;
    device *d = &l->devices[n];
    for (int i = 0; i < CUZK_LOCAL_SLOTS; i++)
        empty_slot(d, &d->slots[i]);
    while (d->keys) {
        device_key *k = d->keys;
        d->keys = k->next;
        drop_key(d, k);
    }
    cuzk_wipe(d->results, sizeof d->results);
    d->backend->ops->close(d->backend);
    d->backend = NULL;
}

void cuzk_local_free(cuzk_local *l) {
    if (!l) return;
    for (uint32_t i = 0; i < l->config.devices; i++)
        close_device(l, i);
    for (int i = 0; i < CUZK_LOCAL_DEVICES; i++)
        (void)pthread_mutex_destroy(&l->devices[i].lock);
    cuzk_poseidon_set_fini(&l->set);
    cuzk_free(l);
}

/* A device of this process is not lost by itself. */
static void on_lost(void *self, void (*lost)(void *ctx, uint32_t device, const char *why),
                    void *ctx) {
    (void)self;
    (void)lost;
    (void)ctx;
}

const cuzk_device_ops cuzk_local_devices = {
    .count = count,
    .open = open_device,
    .close = close_device,
    .on_lost = on_lost,
    .key_load = key_load,
    .key_free = key_free,
    .stage = stage,
    .compute = compute,
    .finish = finish,
};

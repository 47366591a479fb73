/* `cuzk bench partition --device cuda`: proofs of one partition with its key resident. */
#include "bench_device.h"
#include "bench_filecoin.h"

#include "base/clock.h"
#include "base/mem.h"
#include "groth16/params_key.h"
#include "keys/keys.h"

#include <stdio.h>
#include <string.h>

typedef struct resident {
    cuzk_bench_partition p;
    cuzk_circuit_key *key; /* read from a file; NULL: made here */
    cuzk_params_key *made;
    const cuzk_proving_key *data;
    const cuzk_vk *vk;
    int64_t setup_ns;
    cuzk_device_key *device_key;
    cuzk_slot *slot;
} resident;

static bool read_seed(const char *hex, uint8_t *out, size_t *n) {
    const size_t len = strlen(hex);
    unsigned v;
    if (len == 0 || len % 2 || len > 128 || strspn(hex, "0123456789abcdefABCDEF") != len)
        return false;
    for (*n = 0; 2 * *n < len; ++*n) {
        if (sscanf(hex + 2 * *n, "%2x", &v) != 1) return false;
        out[*n] = (uint8_t)v;
    }
    return true;
}

/* The key's logarithms, which the device multiplies out when it loads them. */
static cuzk_status make_key(cuzk_bench *b, resident *r, cuzk_err *err) {
    const int64_t t = cuzk_now_ns();
    const char *name = r->p.v->circuit->name;
    uint8_t seed[64];
    size_t n;
    cuzk_toxic toxic;
    cuzk_r1cs_density density;
    if (!read_seed(b->seed, seed, &n))
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "--insecure-seed wants an even number of hexadecimal digits up to 128");
    CUZK_TRY(cuzk_toxic_from_seed(&toxic, cuzk_curve_get(CUZK_BLS12_381), seed, n, err));
    cuzk_status st = cuzk_r1cs_density_of(&density, r->p.r1cs);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for %s", name);
    st = cuzk_groth16_setup_logs(&r->made, r->p.r1cs, &density, &toxic, name, b->pool, err);
    cuzk_r1cs_density_free(&density);
    if (st != CUZK_OK) return st;
    r->data = &r->made->key;
    r->vk = &r->made->vk.vk;
    r->setup_ns = cuzk_now_ns() - t;
    return CUZK_OK;
}

static cuzk_status open_key(cuzk_bench *b, resident *r, cuzk_err *err) {
    const cuzk_keys_opts opts = {
        .dir = b->wtns, .allow_insecure = true, .pool = b->pool, .progress = stderr};
    if (b->seed) return make_key(b, r, err);
    CUZK_TRY(cuzk_circuit_key_open(&r->key, r->p.v->circuit, r->p.r1cs, &opts, err));
    r->data = cuzk_circuit_key_data(r->key);
    r->vk = cuzk_circuit_key_vk(r->key);
    return CUZK_OK;
}

static cuzk_status load(cuzk_bench *b, resident *r, int64_t *load_ns, cuzk_err *err) {
    CUZK_TRY(cuzk_bench_partition_load(&r->p, b, err));
    CUZK_TRY(open_key(b, r, err));
    CUZK_TRY(cuzk_device_open(&b->device, b->threads, true, err));
    const cuzk_backend_ops *ops = b->device.backend->ops;
    const int64_t t = cuzk_now_ns();
    CUZK_TRY(ops->key_load(b->device.backend, &r->device_key, r->data, err));
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
    cuzk_params_key_free(r->made);
    cuzk_bench_partition_unload(&r->p);
}

static cuzk_status prove(resident *r, const cuzk_prove_opts *opts, cuzk_proof *proof,
                         cuzk_prove_stats *stats, cuzk_err *err) {
    if (r->key)
        return cuzk_circuit_key_prove_slot(r->key, r->slot, r->p.w, opts, proof, stats, err);
    const cuzk_witness *w = r->p.w;
    const cuzk_wires wires = {.bits = w->bits, .full = w->full, .montgomery = true};
    return cuzk_groth16_prove_slot(r->slot, &wires, r->vk, opts, proof, stats, err);
}

/* The same sums as the CPU's for this witness; without a key that the CPU could take, the check
 * that every proof undergoes has to do. */
static cuzk_status check(cuzk_bench *b, resident *r, bool *same, cuzk_err *err) {
    const cuzk_u256 one = {{1, 0, 0, 0}};
    cuzk_prove_opts opts = {.r = &one, .s = &one, .impl = b->impl};
    cuzk_proof proof[2];
    *same = true;
    if (!r->key) return prove(r, NULL, &proof[1], NULL, err);
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
        CUZK_TRY(prove(r, NULL, &proof, &stats, err));
        s->wall_ns[i] = cuzk_now_ns() - t;
        s->points_ns[i] = s->wall_ns[i] - stats.ns[CUZK_STAGE_VERIFY];
        s->sums[i] = stats.sums;
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

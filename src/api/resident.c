/* DESIGN. A device key and up to two slots behind one mutex: while one slot computes, another may
 * bring its witness in or have its proof checked. More would wait for the device. */
#include "api/resident.h"

#include "base/mem.h"
#include "groth16/assemble.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 2 };

struct cuzk_resident {
    cuzk_device device;
    const cuzk_zkey *zkey;
    cuzk_proving_key data;
    cuzk_vk vk;
    cuzk_device_key *key;
    cuzk_slot *slot[SLOTS]; /* the free ones first */
    unsigned n_slots, n_free;
    pthread_mutex_t mu;
    pthread_cond_t freed;
    pid_t owner; /* only there does the device answer */
};

static cuzk_status load(cuzk_resident *r, unsigned threads, bool tables, cuzk_err *err) {
    CUZK_TRY(cuzk_zkey_vk(r->zkey, &r->vk, err));
    cuzk_zkey_proving_key(r->zkey, &r->data);
    CUZK_TRY(cuzk_device_open(&r->device, threads, tables, err));
    cuzk_backend *b = r->device.backend;
    CUZK_TRY(b->ops->key_load(b, &r->key, &r->data, err));
    for (int i = 0; i < SLOTS; i++) {
        cuzk_err full = {0};
        const cuzk_status st = b->ops->slot_new(r->key, &r->slot[i], i ? &full : err);
        if (i && st == CUZK_STATUS_NO_MEMORY) break;
        if (i && st != CUZK_OK && err) *err = full;
        if (st != CUZK_OK) return st;
        r->n_slots = r->n_free = (unsigned)i + 1;
    }
    return CUZK_OK;
}

cuzk_status cuzk__resident_open(cuzk_resident **out, const cuzk_zkey *zkey,
                                const cuzk_device *where, unsigned threads, bool tables,
                                cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", zkey->name);
    cuzk_resident *r = mem;
    r->device = *where;
    r->zkey = zkey;
    r->owner = getpid();
    pthread_mutex_init(&r->mu, NULL);
    pthread_cond_init(&r->freed, NULL);
    const cuzk_status st = load(r, threads, tables, err);
    if (st == CUZK_OK)
        *out = r;
    else
        cuzk__resident_free(r);
    return st;
}

void cuzk__resident_free(cuzk_resident *r) {
    if (!r) return;
    if (r->device.backend && r->owner == getpid()) {
        const cuzk_backend_ops *ops = r->device.backend->ops;
        for (int i = 0; i < SLOTS; i++)
            ops->slot_free(r->slot[i]);
        ops->key_free(r->key);
        cuzk_device_close(&r->device);
    }
    cuzk_vk_free(&r->vk);
    if (r->owner == getpid()) {
        pthread_cond_destroy(&r->freed);
        pthread_mutex_destroy(&r->mu);
    }
    cuzk_free(r);
}

static cuzk_slot *take(cuzk_resident *r) {
    pthread_mutex_lock(&r->mu);
    while (r->n_free == 0)
        pthread_cond_wait(&r->freed, &r->mu);
    cuzk_slot *s = r->slot[--r->n_free];
    pthread_mutex_unlock(&r->mu);
    return s;
}

/* Puts s among the free ones, and whatever stood there into its old place. */
static void give(cuzk_resident *r, cuzk_slot *s) {
    pthread_mutex_lock(&r->mu);
    for (unsigned i = r->n_free; i < r->n_slots; i++) {
        if (r->slot[i] != s) continue;
        r->slot[i] = r->slot[r->n_free];
        break;
    }
    r->slot[r->n_free++] = s;
    pthread_cond_signal(&r->freed);
    pthread_mutex_unlock(&r->mu);
}

cuzk_status cuzk__resident_prove(cuzk_resident *r, const void *witness, const cuzk_prove_opts *opts,
                                 cuzk_proof *out, cuzk_prove_stats *stats, cuzk_err *err) {
    if (r->owner != getpid())
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "%s: a key on a device serves the process that opened it: open it in "
                            "the child of a fork",
                            r->zkey->name);
    cuzk_slot *s = take(r);
    const cuzk_status st =
        cuzk_groth16_prove_resident(s, r->zkey, &r->vk, witness, opts, out, stats, err);
    give(r, s);
    return st;
}

const cuzk_device *cuzk__resident_device(const cuzk_resident *r) {
    return &r->device;
}

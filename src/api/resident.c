/* DESIGN. A device key and up to two slots behind one mutex: while one slot computes, another may
 * bring its witness in or have its proof checked. More would wait for the device. All keys of the
 * process on one device share a backend, and so the memory in which proofs are computed. */
#include "api/resident.h"

#include "base/mem.h"
#include "groth16/assemble.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 2 };

/* A backend and its holders. */
typedef struct opened {
    struct opened *next;
    cuzk_device device;
    unsigned threads;
    bool tables;
    size_t holders;
    pid_t owner; /* only there does the device answer */
} opened;

static struct {
    pthread_mutex_t mu;
    opened *list;
} all = {.mu = PTHREAD_MUTEX_INITIALIZER};

/* Under the mutex. Of another process there may be copies in the list. */
static opened *find(const cuzk_device *where, unsigned threads, bool tables) {
    for (opened *o = all.list; o; o = o->next)
        if (o->owner == getpid() && o->device.ordinal == where->ordinal && o->threads == threads &&
            o->tables == tables)
            return o;
    return NULL;
}

static cuzk_status open_new(opened **out, const cuzk_device *where, unsigned threads, bool tables,
                            cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "out of memory");
    opened *o = mem;
    *o = (opened){.device = *where, .threads = threads, .tables = tables, .owner = getpid()};
    const cuzk_status st = cuzk_device_open(&o->device, threads, tables, err);
    if (st != CUZK_OK) {
        cuzk_device_close(&o->device);
        cuzk_free(o);
        return st;
    }
    o->next = all.list;
    all.list = *out = o;
    return CUZK_OK;
}

static cuzk_status hold(opened **out, const cuzk_device *where, unsigned threads, bool tables,
                        cuzk_err *err) {
    pthread_mutex_lock(&all.mu);
    cuzk_status st = CUZK_OK;
    *out = find(where, threads, tables);
    if (!*out) st = open_new(out, where, threads, tables, err);
    if (st == CUZK_OK) (*out)->holders++;
    pthread_mutex_unlock(&all.mu);
    return st;
}

static void let_go(opened *o) {
    pthread_mutex_lock(&all.mu);
    if (--o->holders == 0) {
        opened **link = &all.list;
        while (*link != o)
            link = &(*link)->next;
        *link = o->next;
        cuzk_device_close(&o->device);
        cuzk_free(o);
    }
    pthread_mutex_unlock(&all.mu);
}

struct cuzk_resident {
    opened *on;
    const cuzk_zkey *zkey;
    cuzk_proving_key data;
    cuzk_vk vk;
    cuzk_device_key *key;
    cuzk_slot *slot[SLOTS]; /* the free ones first */
    unsigned n_slots, n_free;
    pthread_mutex_t mu;
    pthread_cond_t freed;
    pid_t owner;
};

static cuzk_status load(cuzk_resident *r, const cuzk_device *where, unsigned threads, bool tables,
                        cuzk_err *err) {
    CUZK_TRY(cuzk_zkey_vk(r->zkey, &r->vk, err));
    cuzk_zkey_proving_key(r->zkey, &r->data);
    CUZK_TRY(hold(&r->on, where, threads, tables, err));
    cuzk_backend *b = r->on->device.backend;
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
    r->zkey = zkey;
    r->owner = getpid();
    pthread_mutex_init(&r->mu, NULL);
    pthread_cond_init(&r->freed, NULL);
    const cuzk_status st = load(r, where, threads, tables, err);
    if (st == CUZK_OK)
        *out = r;
    else
        cuzk__resident_free(r);
    return st;
}

void cuzk__resident_free(cuzk_resident *r) {
    if (!r) return;
    if (r->on && r->owner == getpid()) {
        const cuzk_backend_ops *ops = r->on->device.backend->ops;
        for (int i = 0; i < SLOTS; i++)
            ops->slot_free(r->slot[i]);
        ops->key_free(r->key);
        let_go(r->on);
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
    return &r->on->device;
}

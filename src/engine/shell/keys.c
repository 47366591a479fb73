/* Keys: known to the scheduler from the first request that names them; loaded and evicted by
 * threads of their own. */
#include "state.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* ---- records ---- */

static shell_key *find(cuzk_engine *e, const char *name) {
    for (uint32_t i = 0; i < SHELL_KEYS; i++)
        if (strcmp(e->keys[i].name, name) == 0) return &e->keys[i];
    return NULL;
}

static cuzk_sched_key_state state_at(cuzk_engine *e, const shell_key *k, uint32_t place) {
    return cuzk_sched_get_key(e->sched, k->index, place ? place - 1 : CUZK_SCHED_HOST, NULL);
}

static bool absent(cuzk_engine *e, const shell_key *k) {
    if (!k->defined) return true;
    for (uint32_t place = 0; place <= e->n_devices; place++)
        if (state_at(e, k, place) != CUZK_KEY_ABSENT) return false;
    return true;
}

/* Whether copies of it are being freed, or will be. */
static bool leaving(cuzk_engine *e, const shell_key *k) {
    if (k->defined && cuzk_sched_key_leaves(e->sched, k->index)) return true;
    for (uint32_t place = 0; k->defined && place <= e->n_devices; place++)
        if (state_at(e, k, place) == CUZK_KEY_EVICTING) return true;
    return false;
}

/* A record for a new name: a free one, else one that nobody uses and that is nowhere. The scheduler
 * may be looked at, since its owner holds the lock when it does not stand still. */
static shell_key *make(cuzk_engine *e, const char *name) {
    shell_key *k = NULL;
    for (uint32_t i = 0; i < SHELL_KEYS && !k; i++)
        if (!e->keys[i].name[0]) k = &e->keys[i];
    for (uint32_t i = 0; i < SHELL_KEYS && !k; i++) {
        shell_key *other = &e->keys[i];
        if (other->pins == 0 && !other->calls && !other->busy && absent(e, other)) k = other;
    }
    if (!k) return NULL;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->trouble[0] = '\0';
    k->last_used = k->load_ns = 0;
    k->dirty = true;
    return k;
}

cuzk_status cuzk__shell_key_pin(cuzk_engine *e, shell_key **out, const char *name, cuzk_err *err) {
    cuzk_engine_key_plan plan = {0, 0, 0, 0};
    CUZK_TRY(e->work->key_plan(e->work_self, name, &plan, err));
    pthread_mutex_lock(&e->lock);
    shell_key *k = find(e, name);
    if (!k) k = make(e, name);
    if (k) {
        k->pins++;
        if (!k->defined || memcmp(&k->plan, &plan, sizeof plan) != 0) {
            k->asked = plan;
            k->dirty = true;
        }
    }
    pthread_mutex_unlock(&e->lock);
    *out = k;
    return k ? CUZK_OK
             : cuzk_err_set(err, CUZK_STATUS_BUSY,
                            "key %s: %d other keys are in use; try again when jobs have ended",
                            name, SHELL_KEYS);
}

void cuzk__shell_key_unpin(cuzk_engine *e, shell_key *k) {
    k->last_used = cuzk_now_ns();
    k->pins--;
    (void)e;
}

/* What is loaded is of a file that has been changed or replaced since: it goes, unless jobs use it,
 * and is loaded again for the next one. */
static void drop_changed(cuzk_engine *e, shell_key *k) {
    if (!k->defined || !k->dirty || k->asked.identity == k->plan.identity || absent(e, k)) return;
    cuzk_log_limited(&k->log, CUZK_LOG_INFO, "engine", NULL,
                     "key %s: its file is not the one that was loaded; it is loaded again",
                     k->name);
    cuzk__shell_step(e, &(cuzk_sched_event){
                            .type = CUZK_EV_KEY_EVICT, .key = k->index, .device = CUZK_SCHED_HOST});
}

void cuzk__shell_key_define(cuzk_engine *e, shell_key *k) {
    drop_changed(e, k);
    if (!k->dirty || !absent(e, k)) return; /* figures in use stay until the key has gone */
    const cuzk_sched_key_spec spec = {
        .host = {k->asked.host, 0}, .device = k->asked.device, .keep = k->keep};
    e->refusal = (cuzk_sched_action){.type = CUZK_ACT_DRAINED};
    k->plan = k->asked;
    cuzk__shell_step(
        e, &(cuzk_sched_event){.type = CUZK_EV_KEY_DEFINE, .key = k->index, .key_spec = &spec});
    const bool refused = e->refusal.type == CUZK_ACT_KEY_REFUSED;
    if (refused && e->refusal.reason != CUZK_REASON_HOST) return; /* jobs still name the old one */
    k->defined = true;
    k->dirty = false;
    if (refused) k->keep = false;
}

/* ---- loading and evicting ---- */

/* Calls that wait for the key to be loaded, or for what was evicted to be gone: by then a job may
 * have loaded it again. */
static void answer_calls(cuzk_engine *e, shell_key *k, bool failed) {
    call **at = &k->calls;
    while (*at) {
        call *c = *at;
        const bool loads = c->flag;
        if (loads ? !(k->ready || failed) : leaving(e, k)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (loads && failed)
            cuzk__shell_answer(e, c, CUZK_STATUS_IO, "key %s: %s", k->name, k->trouble);
        else
            cuzk__shell_answer(e, c, CUZK_OK, "done");
    }
}

/* A device has the key: jobs that were there wait for it no more. Of several devices the longest
 * load counts, and of a load the part since the job came. */
static void note_device_load(cuzk_engine *e, const shell_key *k, int64_t took) {
    const int64_t now = cuzk_now_ns();
    for (job *j = e->jobs; j; j = j->next) {
        if (j->key != k || j->over) continue;
        const int64_t here = now - j->submitted;
        const uint64_t ms = (uint64_t)(took < here ? took : here) / 1000000;
        if (ms > j->key_device_ms) j->key_device_ms = ms;
        j->view.times.key_load = j->key_host_ms + j->key_device_ms;
    }
}

static void on_worked(cuzk_engine *e, note *n) {
    key_work *w = (key_work *)n;
    shell_key *k = w->key;
    const uint32_t place = w->device ? w->device->index : CUZK_SCHED_HOST;
    /* The step may hand the record out again. */
    const bool failed_here = w->load && !w->device && w->fault != CUZK_FAULT_NONE;
    k->busy--;
    if (w->load && !w->device && w->fault == CUZK_FAULT_NONE) {
        k->ready = true;
        k->plan.identity = k->asked.identity;
        k->load_ns = w->took;
        k->last_used = cuzk_now_ns();
        answer_calls(e, k, false); /* before the step, in which it may have to go again */
    }
    if (w->load && w->device && w->fault == CUZK_FAULT_NONE) note_device_load(e, k, w->took);
    cuzk__shell_step(e,
                     &(cuzk_sched_event){.type = w->load ? CUZK_EV_KEY_LOADED : CUZK_EV_KEY_EVICTED,
                                         .key = k->index,
                                         .device = place,
                                         .fault = w->fault});
    pthread_cond_broadcast(&e->moved_on);
    const bool failed =
        failed_here && cuzk_sched_get_key(e->sched, k->index, place, NULL) == CUZK_KEY_ABSENT;
    answer_calls(e, k, failed);
}

void cuzk__shell_keys_lost(cuzk_engine *e) {
    for (uint32_t i = 0; i < SHELL_KEYS; i++)
        if (e->keys[i].calls) answer_calls(e, &e->keys[i], false);
}

void cuzk__shell_key_work(cuzk_engine *e, const cuzk_sched_action *a) {
    const bool host = a->device == CUZK_SCHED_HOST;
    shell_key *k = &e->keys[a->key];
    key_work *w = &k->works[host ? 0 : a->device + 1];
    loader *l = host ? &e->loader : &e->devices[a->device].keys;
    w->note.handle = on_worked;
    w->key = k;
    w->device = host ? NULL : &e->devices[a->device];
    w->load = a->type == CUZK_ACT_KEY_LOAD;
    w->next = NULL;
    k->busy++;
    if (host && !w->load) k->ready = false;
    if (w->device) {
        pthread_mutex_lock(&w->device->lock);
        w->device->pending++;
        pthread_mutex_unlock(&w->device->lock);
    }
    pthread_mutex_lock(&l->lock);
    if (l->tail)
        l->tail->next = w;
    else
        l->head = w;
    l->tail = w;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void cuzk__shell_key_refused(cuzk_engine *e, const cuzk_sched_action *a) {
    shell_key *k = &e->keys[a->key];
    e->refusal = *a;
    call **at = &k->calls;
    while (*at) {
        call *c = *at;
        if (!c->flag && a->reason != CUZK_REASON_IN_USE) {
            at = &c->next;
            continue;
        }
        if (c->flag && a->reason != CUZK_REASON_HOST) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (c->flag)
            cuzk__shell_answer(e, c, CUZK_STATUS_NO_MEMORY,
                               "key %s: it takes %llu bytes, and of %llu no more are free; evict "
                               "another key, or raise the memory budget",
                               k->name, (unsigned long long)a->need, (unsigned long long)a->limit);
        else
            cuzk__shell_answer(e, c, CUZK_STATUS_BUSY,
                               "key %s: jobs use it now; cancel them or wait", k->name);
    }
}

static void work_host(cuzk_engine *e, key_work *w) {
    cuzk_err err = {0};
    cuzk_status st = CUZK_OK;
    if (w->load)
        st = e->work->key_load(e->work_self, w->key->name, &err);
    else
        e->work->key_free(e->work_self, w->key->name);
    w->fault = st == CUZK_STATUS_NOT_FOUND ? CUZK_FAULT_INPUT : cuzk__shell_fault_of(st);
    if (st == CUZK_OK) return;
    pthread_mutex_lock(&e->lock);
    snprintf(w->key->trouble, sizeof w->key->trouble, "%s", err.msg);
    pthread_mutex_unlock(&e->lock);
    cuzk_log_limited(&w->key->log, CUZK_LOG_WARN, "engine", NULL, "key %s was not loaded: %s",
                     w->key->name, err.msg);
}

/* False: the device is gone, there is nothing to report. */
static bool work_device(cuzk_engine *e, key_work *w) {
    shell_dev *d = w->device;
    device_call c;
    cuzk_err err = {0};
    cuzk_status st;
    const int64_t begin = cuzk_now_ns();
    if (!cuzk__shell_device_enter(d, &c, e->config.hang_ns * SHELL_KEY_PATIENCE,
                                  w->load ? "loading a key" : "evicting a key"))
        return false;
    if (w->load)
        st = e->device_ops->key_load(e->device_self, d->index, w->key->name, &err);
    else
        st = e->device_ops->key_free(e->device_self, d->index, w->key->name, &err);
    w->took = cuzk_now_ns() - begin;
    w->fault = cuzk__shell_fault_of(st);
    if (st == CUZK_STATUS_NO_DEVICE)
        cuzk__shell_device_lost(d, err.msg);
    else if (st != CUZK_OK)
        cuzk_log_limited(&d->log.key, CUZK_LOG_WARN, "engine", NULL,
                         "key %s was not %s device %u: %s", w->key->name,
                         w->load ? "loaded on" : "evicted from", d->index, err.msg);
    if (st != CUZK_OK) {
        pthread_mutex_lock(&d->lock);
        snprintf(d->trouble, sizeof d->trouble, "key: %s (%.*s)", err.msg,
                 (int)(sizeof d->trouble - sizeof err.msg - 8), w->key->name);
        pthread_mutex_unlock(&d->lock);
    }
    return cuzk__shell_device_leave(d, &c, &w->note);
}

static void *load_keys(void *arg) {
    loader *l = arg;
    cuzk_engine *e = l->e;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->head && !l->quit)
            pthread_cond_wait(&l->wake, &l->lock);
        key_work *w = l->head;
        if (!w) break;
        l->head = w->next;
        if (!l->head) l->tail = NULL;
        pthread_mutex_unlock(&l->lock);
        const int64_t begin = cuzk_now_ns();
        if (!w->device) {
            work_host(e, w);
            w->took = cuzk_now_ns() - begin;
            cuzk__shell_post(e, &w->note);
        } else if (!work_device(e, w)) {
            pthread_mutex_lock(&e->lock);
            w->key->busy--;
            pthread_mutex_unlock(&e->lock);
        }
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

cuzk_status cuzk__shell_loader_start(cuzk_engine *e, loader *l, uint32_t threads) {
    l->e = e;
    for (; l->n_threads < threads; l->n_threads++)
        if (pthread_create(&l->threads[l->n_threads], NULL, load_keys, l))
            return CUZK_STATUS_NO_MEMORY;
    return CUZK_OK;
}

void cuzk__shell_loader_stop(loader *l) {
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_broadcast(&l->wake);
    pthread_mutex_unlock(&l->lock);
    for (uint32_t i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    l->n_threads = 0;
}

/* ---- the interface ---- */

static void on_preload(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    shell_key *k = c->key;
    cuzk__shell_key_define(e, k);
    c->yes = k->ready;
    c->next = k->calls;
    k->calls = c;
    if (k->ready) answer_calls(e, k, false);
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_KEY_PRELOAD,
                                            .key = k->index,
                                            .device = CUZK_SCHED_HOST});
}

static void on_evict(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    shell_key *k = c->key;
    for (uint32_t place = 0; k->defined && place <= e->n_devices; place++) {
        const cuzk_sched_key_state state = state_at(e, k, place);
        if (state != CUZK_KEY_READY && (place == 0 || state != CUZK_KEY_LOADING)) continue;
        c->yes = true;
        c->freed += place == 0 ? k->plan.host : k->plan.device;
    }
    c->next = k->calls;
    k->calls = c;
    k->keep = false;
    if (k->defined)
        cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_KEY_EVICT,
                                                .key = k->index,
                                                .device = CUZK_SCHED_HOST});
    answer_calls(e, k, false);
}

cuzk_status cuzk_engine_preload(cuzk_engine *e, const char *name, bool *already, int64_t *took_ns,
                                cuzk_err *err) {
    const int64_t begin = cuzk_now_ns();
    shell_key *k = NULL;
    call *c = NULL;
    CUZK_TRY(cuzk__shell_enter(e, err));
    cuzk_status st = cuzk__shell_key_pin(e, &k, name, err);
    if (st == CUZK_OK) st = cuzk__shell_call_new(e, &c, on_preload, err);
    if (st == CUZK_OK) {
        c->key = k;
        c->flag = true;
        cuzk__shell_post(e, &c->note);
        st = cuzk__shell_call_wait(e, c, 0, "preload", err);
        *already = c->yes;
        *took_ns = c->yes ? 0 : cuzk_now_ns() - begin;
        cuzk__shell_call_drop(c);
    }
    if (k) {
        pthread_mutex_lock(&e->lock);
        k->pins--;
        pthread_mutex_unlock(&e->lock);
    }
    cuzk__shell_leave(e);
    return st;
}

/* Whether the provider knows a key of this name. */
typedef struct lookup {
    const char *name;
    bool found;
} lookup;

static void look(void *ctx, const char *name, const char *file, bool present) {
    lookup *l = ctx;
    (void)file, (void)present;
    l->found |= strcmp(l->name, name) == 0;
}

static cuzk_status evict(cuzk_engine *e, const char *name, bool *was_loaded, uint64_t *freed,
                         cuzk_err *err) {
    lookup l = {name, false};
    call *c;
    *was_loaded = false;
    *freed = 0;
    pthread_mutex_lock(&e->lock);
    shell_key *k = name[0] ? find(e, name) : NULL;
    if (k) k->pins++;
    pthread_mutex_unlock(&e->lock);
    if (!k) {
        CUZK_TRY(e->work->keys(e->work_self, look, &l, err));
        return l.found ? CUZK_OK
                       : cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "key %s: no such key", name);
    }
    cuzk_status st = cuzk__shell_call_new(e, &c, on_evict, err);
    if (st == CUZK_OK) {
        c->key = k;
        cuzk__shell_post(e, &c->note);
        st = cuzk__shell_call_wait(e, c, 0, "evict", err);
        *was_loaded = c->yes;
        *freed = st == CUZK_OK ? c->freed : 0;
        cuzk__shell_call_drop(c);
    }
    pthread_mutex_lock(&e->lock);
    k->pins--;
    pthread_mutex_unlock(&e->lock);
    return st;
}

cuzk_status cuzk_engine_evict(cuzk_engine *e, const char *name, bool *was_loaded, uint64_t *freed,
                              cuzk_err *err) {
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = evict(e, name, was_loaded, freed, err);
    cuzk__shell_leave(e);
    return st;
}

static void on_keep(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    c->key->keep = true;
    cuzk__shell_key_define(e, c->key);
    if (c->key->keep)
        cuzk__shell_answer(e, c, CUZK_OK, "kept");
    else
        cuzk__shell_answer(e, c, CUZK_STATUS_NO_MEMORY,
                           "preload: key %s takes %llu bytes of host memory, and beside the other "
                           "preloaded keys fewer of %llu are there",
                           c->key->name, (unsigned long long)e->refusal.need,
                           (unsigned long long)e->refusal.limit);
}

cuzk_status cuzk__shell_preload_kept(cuzk_engine *e, cuzk_err *err) {
    for (uint32_t i = 0; i < e->config.n_preload; i++) {
        shell_key *k;
        call *c;
        cuzk_status st = cuzk__shell_key_pin(e, &k, e->config.preload[i], err);
        if (st != CUZK_OK) return cuzk_err_prefix(err, st, "preload");
        CUZK_TRY(cuzk__shell_call_new(e, &c, on_keep, err));
        c->key = k;
        cuzk__shell_post(e, &c->note);
        st = cuzk__shell_call_wait(e, c, 0, "preload", err);
        cuzk__shell_call_drop(c);
        pthread_mutex_lock(&e->lock);
        k->pins--;
        pthread_mutex_unlock(&e->lock);
        CUZK_TRY(st);
    }
    return CUZK_OK;
}

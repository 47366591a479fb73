/* Keys: loaded once however many ask, counted, evicted least recently used when memory is needed
 * and nobody uses them. A key has a copy on the host and one on each device that used it; a
 * device's copy is made from the host's. */
#include "state.h"

enum { LOAD_TRIES = 2 };
#define RETRY_NS INT64_C(60000000000)

static uint64_t total(cuzk_sched_mem m) {
    return m.host + m.pinned;
}

static void set_memory(cuzk_sched *s, uint32_t k, uint32_t place, bool take) {
    const cuzk_sched_key_spec *spec = &s->keys[k].spec;
    const uint8_t account = copy_at(s, k, place)->account;
    if (place == 0 && take) cuzk__sched_host_take(s, spec->host, account);
    if (place == 0 && !take) cuzk__sched_host_give(s, spec->host, account);
    if (place == 0) return;
    uint64_t *used = &s->devices[place - 1].memory.used[account];
    *used = take ? *used + spec->device : *used - spec->device;
}

static void announce(cuzk_sched *s, cuzk_sched_action_type type, uint32_t k, uint32_t place) {
    cuzk_sched_action *a = cuzk__sched_emit(s, type);
    a->key = k;
    a->device = place == 0 ? CUZK_SCHED_HOST : place - 1;
    a->stage = CUZK_STAGE_KEY;
    a->need = place == 0 ? total(s->keys[k].spec.host) : s->keys[k].spec.device;
}

static void load(cuzk_sched *s, uint32_t k, uint32_t place, int account) {
    copy *c = copy_at(s, k, place);
    c->state = CUZK_KEY_LOADING;
    c->account = (uint8_t)account;
    c->faults = 0;
    c->last_used = s->now;
    set_memory(s, k, place, true);
    announce(s, CUZK_ACT_KEY_LOAD, k, place);
}

static void evict(cuzk_sched *s, uint32_t k, uint32_t place) {
    copy_at(s, k, place)->state = CUZK_KEY_EVICTING;
    announce(s, CUZK_ACT_KEY_EVICT, k, place);
}

/* A host copy from which a device's is being made is in use. */
static bool feeds_a_device(const cuzk_sched *s, uint32_t k) {
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        if (copy_at(s, k, d + 1)->state == CUZK_KEY_LOADING) return true;
    return false;
}

static bool idle(const cuzk_sched *s, uint32_t k, uint32_t place) {
    const copy *c = copy_at(s, k, place);
    return c->state == CUZK_KEY_READY && c->users == 0 && !s->keys[k].spec.keep &&
           (place != 0 || !feeds_a_device(s, k));
}

/* The least recently used idle key at the place, but `not`; unless `any`, only those that no
 * accepted job will use. NONE: there is none. */
static uint32_t victim(const cuzk_sched *s, uint32_t place, uint32_t not, bool any) {
    uint32_t best = NONE;
    for (uint32_t k = 0; k < s->config.max_keys; k++) {
        if (k == not || !s->keys[k].defined || !idle(s, k, place)) continue;
        if (!any && s->keys[k].jobs) continue;
        if (best == NONE || copy_at(s, k, place)->last_used < copy_at(s, best, place)->last_used)
            best = k;
    }
    return best;
}

/* Bytes on their way out of a place. */
static cuzk_sched_mem leaving(const cuzk_sched *s, uint32_t place, int account) {
    cuzk_sched_mem sum = {0, 0};
    for (uint32_t k = 0; k < s->config.max_keys; k++) {
        const copy *c = copy_at(s, k, place);
        if (c->state != CUZK_KEY_EVICTING || c->account != account) continue;
        if (place == 0)
            sum = mem_add(sum, s->keys[k].spec.host);
        else
            sum.host += s->keys[k].spec.device;
    }
    return sum;
}

/* Whether need would fit once the evictions under way have ended. */
static bool will_fit(const cuzk_sched *s, uint32_t place, cuzk_sched_mem need, int account) {
    pool host = place == 0 ? s->host : s->devices[place - 1].memory, pinned = s->pinned;
    for (int a = 0; a < 2; a++) {
        const cuzk_sched_mem out = leaving(s, place, a);
        host.used[a] -= total(out);
        pinned.used[a] -= out.pinned;
    }
    return cuzk__pool_fits(&host, total(need), account) &&
           (place != 0 || cuzk__pool_fits(&pinned, need.pinned, account));
}

static bool fits(const cuzk_sched *s, uint32_t place, cuzk_sched_mem need, int account) {
    if (place == 0) return cuzk__sched_host_fits(s, need, account);
    return cuzk__pool_fits(&s->devices[place - 1].memory, need.host, account);
}

/* True when need fits now. Else begins to evict as many idle keys as that takes. Keys that accepted
 * jobs will use go only for a key (for_key) or when nothing runs that will give memory back. */
static bool make_room(cuzk_sched *s, uint32_t place, cuzk_sched_mem need, int account,
                      uint32_t for_key, bool key_needed, bool others_run) {
    if (fits(s, place, need, account)) return true;
    while (!will_fit(s, place, need, account)) {
        const uint32_t k = victim(s, place, for_key, key_needed || !others_run);
        const uint32_t spare = victim(s, place, for_key, false);
        if (k == NONE) break;
        evict(s, spare != NONE ? spare : k, place);
    }
    return false;
}

static void use(cuzk_sched *s, uint32_t k, uint32_t place) {
    copy *c = copy_at(s, k, place);
    c->users++;
    c->last_used = s->now;
}

bool cuzk__sched_take_host(cuzk_sched *s, part *p) {
    job *j = job_of(s, p);
    const uint32_t k = j->spec.key;
    const int account = j->spec.reserved;
    cuzk_sched_mem need = mem_add(j->spec.witness, j->spec.scratch);
    if (!j->started) need = mem_add(need, j->spec.shared);
    const cuzk_sched_key_state state = k == NONE ? CUZK_KEY_READY : copy_at(s, k, 0)->state;
    const bool must_load = state == CUZK_KEY_ABSENT;
    if (state == CUZK_KEY_EVICTING) return false;
    if (must_load) need = mem_add(need, s->keys[k].spec.host);
    if (!make_room(s, 0, need, account, k, must_load, s->holders > 0)) return false;
    if (must_load) load(s, k, 0, account);
    if (k != NONE) use(s, k, 0);
    p->has_host_key = k != NONE;
    p->has_witness = p->has_scratch = true;
    cuzk__sched_host_take(s, mem_add(j->spec.witness, j->spec.scratch), account);
    if (!j->started) cuzk__sched_host_take(s, j->spec.shared, account);
    s->n_started += !j->started;
    j->started = true;
    p->holder = true;
    s->holders++;
    return true;
}

got cuzk__sched_take_device(cuzk_sched *s, part *p, uint32_t d) {
    const job *j = job_of(s, p);
    const uint32_t k = j->spec.key;
    const int account = j->spec.reserved;
    device *dev = &s->devices[d];
    const bool others_run = cuzk__sched_slots_busy(s, d) > 0;
    const bool has_key = k != NONE && s->keys[k].spec.device > 0;
    if (k != NONE && copy_at(s, k, 0)->state != CUZK_KEY_READY) return GOT_LATER;
    if (has_key) {
        const cuzk_sched_mem bytes = {s->keys[k].spec.device, 0};
        switch (copy_at(s, k, d + 1)->state) {
        case CUZK_KEY_LOADING:
            return GOT_LATER;
        case CUZK_KEY_EVICTING:
            return GOT_NO;
        case CUZK_KEY_ABSENT:
            if (!make_room(s, d + 1, bytes, account, k, true, others_run)) return GOT_NO;
            load(s, k, d + 1, account);
            return GOT_LATER;
        case CUZK_KEY_READY:
            break;
        }
    }
    if (!make_room(s, d + 1, (cuzk_sched_mem){j->spec.slot, 0}, account, k, false, others_run))
        return GOT_NO;
    dev->memory.used[account] += j->spec.slot;
    p->has_slot_memory = true;
    if (has_key) use(s, k, d + 1);
    p->has_device_key = has_key;
    return GOT_IT;
}

bool cuzk__sched_clear_device(cuzk_sched *s, uint32_t d, uint64_t bytes) {
    return make_room(s, d + 1, (cuzk_sched_mem){bytes, 0}, 0, NONE, true, false);
}

void cuzk__sched_drop_key(cuzk_sched *s, part *p, bool host) {
    const uint32_t k = job_of(s, p)->spec.key;
    bool *has = host ? &p->has_host_key : &p->has_device_key;
    if (!*has) return;
    *has = false;
    copy *c = copy_at(s, k, host ? 0 : p->device + 1);
    c->users--;
    c->last_used = s->now;
}

bool cuzk__sched_key_bad(const cuzk_sched *s, uint32_t k, uint32_t d) {
    return k != NONE && copy_at(s, k, d + 1)->state == CUZK_KEY_ABSENT &&
           copy_at(s, k, d + 1)->faults >= LOAD_TRIES;
}

static void forget_faults(cuzk_sched *s, uint32_t k) {
    for (uint32_t place = 0; place <= s->config.n_devices; place++)
        if (copy_at(s, k, place)->state == CUZK_KEY_ABSENT) copy_at(s, k, place)->faults = 0;
}

void cuzk__sched_keys_retry(cuzk_sched *s, uint32_t d) {
    for (uint32_t k = 0; k < s->config.max_keys; k++)
        if (copy_at(s, k, d + 1)->state == CUZK_KEY_ABSENT) copy_at(s, k, d + 1)->faults = 0;
}

void cuzk__sched_key_asked(cuzk_sched *s, uint32_t k) {
    if (k >= s->config.max_keys) return;
    for (uint32_t d = 0; d < s->config.n_devices; d++) {
        copy *c = copy_at(s, k, d + 1);
        if (c->state == CUZK_KEY_ABSENT && s->now - c->last_used >= RETRY_NS) c->faults = 0;
    }
}

static void refuse(cuzk_sched *s, uint32_t k, cuzk_sched_reason reason) {
    announce(s, CUZK_ACT_KEY_REFUSED, k, 0);
    cuzk_sched_action *a = &s->actions[s->n_actions - 1];
    a->reason = reason;
    a->limit = s->host.limit - s->host.reserve;
}

/* Loads it now, when evictions under way have made room, or never: idle keys make room for it,
 * what is in use does not. */
static void preload(cuzk_sched *s, uint32_t k) {
    key *it = &s->keys[k];
    const cuzk_sched_key_state state = copy_at(s, k, 0)->state;
    it->preload = state == CUZK_KEY_EVICTING;
    if (state != CUZK_KEY_ABSENT) return;
    if (make_room(s, 0, it->spec.host, 0, k, true, true))
        load(s, k, 0, 0);
    else if (will_fit(s, 0, it->spec.host, 0))
        it->preload = true;
    else
        refuse(s, k, CUZK_REASON_HOST);
}

static void define(cuzk_sched *s, uint32_t k, const cuzk_sched_key_spec *spec) {
    key *it = &s->keys[k];
    if (!mem_sane(spec->host) || spec->device >> 56) {
        refuse(s, k, CUZK_REASON_INVALID);
        return;
    }
    for (uint32_t place = 0; place <= s->config.n_devices; place++)
        if (it->defined && (it->jobs || copy_at(s, k, place)->state != CUZK_KEY_ABSENT)) {
            refuse(s, k, CUZK_REASON_IN_USE);
            return;
        }
    it->defined = true;
    it->spec = *spec;
    forget_faults(s, k);
    if (!spec->keep) return;
    if (cuzk__sched_may_keep(s) && cuzk__sched_host_fits(s, spec->host, 0)) {
        load(s, k, 0, 0);
        s->recheck = true; /* it takes room on devices */
    } else {
        it->spec.keep = false;
        refuse(s, k, CUZK_REASON_HOST);
    }
}

/* Loads that no job waits for, on devices, refuse nobody: what they bring goes as it comes. */
static void evict_everywhere(cuzk_sched *s, uint32_t k) {
    key *it = &s->keys[k];
    bool busy = copy_at(s, k, 0)->state == CUZK_KEY_LOADING, loading = false;
    for (uint32_t place = 0; place <= s->config.n_devices; place++) {
        loading |= copy_at(s, k, place)->state == CUZK_KEY_LOADING;
        busy |= copy_at(s, k, place)->users > 0;
    }
    it->leaves = false;
    if (busy || (loading && it->jobs)) {
        refuse(s, k, CUZK_REASON_IN_USE);
        return;
    }
    it->spec.keep = it->warm = false;
    it->leaves = loading;
    if (loading) return;
    for (uint32_t place = 0; place <= s->config.n_devices; place++)
        if (copy_at(s, k, place)->state == CUZK_KEY_READY) evict(s, k, place);
}

void cuzk__sched_keys_lost(cuzk_sched *s, uint32_t d) {
    for (uint32_t k = 0; k < s->config.max_keys; k++) {
        copy *c = copy_at(s, k, d + 1);
        if (c->state != CUZK_KEY_ABSENT) set_memory(s, k, d + 1, false);
        c->state = CUZK_KEY_ABSENT;
        c->faults = 0;
        if (s->keys[k].leaves) evict_everywhere(s, k);
    }
}

/* Ends every job that waits for a key that cannot be loaded on the host. */
static void fail_jobs(cuzk_sched *s, uint32_t k) {
    for (uint32_t i = 0; i < s->config.max_jobs; i++) {
        job *j = &s->jobs[i];
        if (j->used && !j->ended && j->spec.key == k)
            cuzk__sched_end(s, j, CUZK_OUTCOME_FAILED, CUZK_STAGE_KEY, CUZK_REASON_FAULT);
    }
}

static void loaded(cuzk_sched *s, uint32_t k, uint32_t place, cuzk_sched_fault fault) {
    copy *c = copy_at(s, k, place);
    if (c->state != CUZK_KEY_LOADING) return; /* the device went down meanwhile */
    if (fault == CUZK_FAULT_NONE) {
        c->state = CUZK_KEY_READY;
        c->last_used = s->now;
        return;
    }
    c->faults++;
    if (fault != CUZK_FAULT_INPUT && c->faults < LOAD_TRIES) {
        announce(s, CUZK_ACT_KEY_LOAD, k, place);
        return;
    }
    set_memory(s, k, place, false);
    c->state = CUZK_KEY_ABSENT;
    if (place == 0) {
        s->keys[k].spec.keep = false;
        fail_jobs(s, k);
    } else {
        /* This device is not asked again for a while, unless it or the key is begun anew. */
        c->faults = LOAD_TRIES;
        c->last_used = s->now;
        /* A file that is not sound is not the device's fault. */
        if (fault != CUZK_FAULT_INPUT) cuzk__sched_device_fault(s, place - 1, NULL);
        s->recheck = true;
    }
}

void cuzk__sched_key_event(cuzk_sched *s, const cuzk_sched_event *e) {
    const uint32_t k = e->key, place = e->device == CUZK_SCHED_HOST ? 0 : e->device + 1;
    if (k >= s->config.max_keys || place > s->config.n_devices) return;
    if (e->type == CUZK_EV_KEY_DEFINE) {
        define(s, k, e->key_spec);
        return;
    }
    if (!s->keys[k].defined) return;
    copy *c = copy_at(s, k, place);
    switch (e->type) {
    case CUZK_EV_KEY_PRELOAD:
        forget_faults(s, k);
        s->keys[k].warm = true;
        s->keys[k].leaves = false;
        preload(s, k);
        break;
    case CUZK_EV_KEY_EVICT:
        forget_faults(s, k);
        evict_everywhere(s, k);
        break;
    case CUZK_EV_KEY_LOADED:
        loaded(s, k, place, e->fault);
        if (s->keys[k].leaves) evict_everywhere(s, k);
        break;
    default: /* CUZK_EV_KEY_EVICTED */
        if (c->state != CUZK_KEY_EVICTING) return;
        set_memory(s, k, place, false);
        c->state = CUZK_KEY_ABSENT;
    }
}

static void load_on_devices(cuzk_sched *s, uint32_t k) {
    const uint64_t need = s->keys[k].spec.device;
    for (uint32_t d = 0; need && d < s->config.n_devices; d++) {
        const device *dev = &s->devices[d];
        const copy *c = copy_at(s, k, d + 1);
        if (dev->up && !dev->quarantined && c->state == CUZK_KEY_ABSENT && c->faults < LOAD_TRIES &&
            cuzk__pool_fits(&dev->memory, need, 0))
            load(s, k, d + 1, 0);
    }
}

void cuzk__sched_keep_warm(cuzk_sched *s) {
    for (uint32_t k = 0; k < s->config.max_keys; k++) {
        key *it = &s->keys[k];
        if (it->preload) preload(s, k);
        if (!it->defined || copy_at(s, k, 0)->state != CUZK_KEY_READY) continue;
        if (it->spec.keep || it->warm) load_on_devices(s, k);
        it->warm = false;
    }
}

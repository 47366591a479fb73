/* What can be seen of a scheduler, and the audit of its books. */
#include "state.h"

const char *cuzk_sched_stage_name(cuzk_sched_stage stage) {
    static const char *const names[] = {
#define CUZK__STAGE_TEXT(name, text) text,
        CUZK_SCHED_STAGES(CUZK__STAGE_TEXT)
#undef CUZK__STAGE_TEXT
    };
    return stage < CUZK_STAGES ? names[stage] : "?";
}

/* Adds the partitions that some workers run to their stages. */
static void count_running(const cuzk_sched *s, const uint32_t *workers, uint32_t n,
                          cuzk_sched_stats *out) {
    for (uint32_t i = 0; i < n; i++) {
        if (workers[i] == NONE) continue;
        const part *p = &s->parts[workers[i]];
        if (cuzk__sched_runs(p)) out->running[cuzk__sched_stage_of(p->state)]++;
    }
}

void cuzk_sched_get_stats(const cuzk_sched *s, cuzk_sched_stats *out) {
    const cuzk_sched_config *c = &s->config;
    *out = (cuzk_sched_stats){.jobs = s->n_live,
                              .started_jobs = s->n_started,
                              .queued = s->queues[Q_WITNESS].n,
                              .ready = s->queues[Q_READY].n,
                              .host_used = s->host.used[0] + s->host.used[1],
                              .host_limit = s->host.limit,
                              .pinned_used = s->pinned.used[0] + s->pinned.used[1],
                              .pinned_limit = s->pinned.limit,
                              .draining = s->draining,
                              .witness_paused = s->witness_paused};
    count_running(s, s->witness, c->witness_workers + c->reserved_witness_workers, out);
    count_running(s, s->finishing, c->finishers, out);
    count_running(s, s->verifying, c->verifiers, out);
    /* A slot may be kept beyond its stages: what finishes or is verified is counted above. */
    cuzk_sched_stats slots = {0};
    count_running(s, s->slots, c->n_devices * slots_of(s), &slots);
    out->running[CUZK_STAGE_STAGE] = slots.running[CUZK_STAGE_STAGE];
    out->running[CUZK_STAGE_COMPUTE] = slots.running[CUZK_STAGE_COMPUTE];
}

void cuzk_sched_get_device(const cuzk_sched *s, uint32_t d, cuzk_sched_device_stats *out) {
    const device *dev = &s->devices[d];
    *out = (cuzk_sched_device_stats){.up = dev->up,
                                     .quarantined = dev->quarantined,
                                     .faults = dev->faults,
                                     .slots_busy = cuzk__sched_slots_busy(s, d),
                                     .memory_used = dev->memory.used[0] + dev->memory.used[1],
                                     .memory_limit = dev->memory.limit,
                                     .lent = dev->lent};
}

cuzk_sched_key_state cuzk_sched_get_key(const cuzk_sched *s, uint32_t k, uint32_t place,
                                        uint32_t *users) {
    const copy *c = copy_at(s, k, place == CUZK_SCHED_HOST ? 0 : place + 1);
    if (users) *users = c->users;
    return c->state;
}

bool cuzk_sched_key_leaves(const cuzk_sched *s, uint32_t k) {
    return s->keys[k].leaves;
}

/* Sums of what records say they hold. */
typedef struct sums {
    uint64_t host[2], pinned[2], device[CUZK_SCHED_MAX_DEVICES][2];
    uint32_t results[CUZK_SCHED_MAX_DEVICES];
    uint32_t parts, jobs, live, started, holders, queued[QUEUES];
} sums;

static void add_mem(sums *t, cuzk_sched_mem m, int account) {
    t->host[account] += m.host + m.pinned;
    t->pinned[account] += m.pinned;
}

static void add_part(const cuzk_sched *s, sums *t, const part *p) {
    const job *j = job_of(s, p);
    const int account = j->spec.reserved;
    t->parts++;
    t->holders += p->holder;
    if (p->has_witness) add_mem(t, j->spec.witness, account);
    if (p->has_scratch) add_mem(t, j->spec.scratch, account);
    if (p->has_slot_memory) t->device[p->device][account] += j->spec.slot;
    if (p->has_result) t->results[p->device]++;
    t->queued[Q_WITNESS] += p->state == PART_QUEUED;
    t->queued[Q_READY] += p->state == PART_READY;
    t->queued[Q_FINISH] += p->state == PART_COMPUTED;
    t->queued[Q_VERIFY] += p->state == PART_FINISHED || (p->state == PART_ASSEMBLY && j->left == 0);
}

static void add_keys(const cuzk_sched *s, sums *t) {
    for (uint32_t k = 0; k < s->config.max_keys; k++) {
        for (uint32_t place = 0; place <= s->config.n_devices; place++) {
            const copy *c = copy_at(s, k, place);
            if (c->state == CUZK_KEY_ABSENT) continue;
            if (place == 0)
                add_mem(t, s->keys[k].spec.host, c->account);
            else
                t->device[place - 1][c->account] += s->keys[k].spec.device;
        }
    }
}

static bool same(const pool *p, const uint64_t used[2]) {
    return p->used[0] == used[0] && p->used[1] == used[1];
}

static bool bounded(const pool *p) {
    return p->used[0] + p->used[1] <= p->limit && p->used[0] <= p->limit - p->reserve;
}

static const char *check_users(const cuzk_sched *s) {
    for (uint32_t k = 0; k < s->config.max_keys; k++) {
        uint32_t users[CUZK_SCHED_MAX_DEVICES + 1] = {0}, jobs = 0;
        for (uint32_t i = 0; i < s->config.max_partitions; i++) {
            const part *p = &s->parts[i];
            if (p->state == PART_FREE || job_of(s, p)->spec.key != k) continue;
            users[0] += p->has_host_key;
            if (p->has_device_key) users[p->device + 1]++;
        }
        for (uint32_t i = 0; i < s->config.max_jobs; i++)
            jobs += s->jobs[i].used && !s->jobs[i].ended && s->jobs[i].spec.key == k;
        if (jobs != s->keys[k].jobs) return "jobs of a key";
        for (uint32_t place = 0; place <= s->config.n_devices; place++)
            if (users[place] != copy_at(s, k, place)->users) return "users of a key";
    }
    return NULL;
}

static const char *check_queues(const cuzk_sched *s, const sums *t) {
    for (int q = 0; q < QUEUES; q++) {
        const queue *list = &s->queues[q];
        if (list->n != t->queued[q]) return "entries of a queue";
        for (uint32_t i = 1; i < list->n; i++)
            if (cuzk__sched_compare(s, list->items[i - 1], list->items[i]) >= 0)
                return "order of a queue";
    }
    return NULL;
}

static const char *check_devices(const cuzk_sched *s, const sums *t) {
    for (uint32_t d = 0; d < s->config.n_devices; d++) {
        const device *dev = &s->devices[d];
        if (!same(&dev->memory, t->device[d])) return "memory of a device";
        if (!bounded(&dev->memory)) return "bound of a device's memory";
        if (dev->results != t->results[d]) return "results of a device";
        if (dev->results > s->config.results_per_device) return "bound of results";
        if (dev->gate != NONE && s->parts[dev->gate].state != PART_COMPUTING) return "gate";
        for (uint32_t i = 0; i < slots_of(s); i++) {
            const uint32_t p = *slot_at(s, d, i);
            if (p == NONE) continue;
            if (s->parts[p].device != d || s->parts[p].slot != i) return "slot";
            if (i < s->config.slots_per_device) continue;
            if (!job_of(s, &s->parts[p])->spec.reserved) return "reserved slot";
        }
    }
    return NULL;
}

static const char *check_totals(const cuzk_sched *s, const sums *t) {
    if (s->overflow) return "bound of actions";
    if (t->parts != s->n_parts || t->jobs != s->n_jobs) return "records";
    if (t->live != s->n_live || t->started != s->n_started) return "live jobs";
    if (t->holders != s->holders) return "holders";
    if (!same(&s->host, t->host) || !same(&s->pinned, t->pinned)) return "host memory";
    if (!bounded(&s->host) || !bounded(&s->pinned)) return "bound of host memory";
    return NULL;
}

const char *cuzk_sched_check(const cuzk_sched *s) {
    sums t = {0};
    for (uint32_t i = 0; i < s->config.max_partitions; i++)
        if (s->parts[i].state != PART_FREE) add_part(s, &t, &s->parts[i]);
    for (uint32_t i = 0; i < s->config.max_jobs; i++) {
        const job *j = &s->jobs[i];
        t.jobs += j->used;
        t.live += j->used && !j->ended;
        t.started += j->used && j->started;
        if (j->used && j->started) add_mem(&t, j->spec.shared, j->spec.reserved);
    }
    add_keys(s, &t);
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        t.device[d][0] += s->devices[d].lent;
    const char *wrong = check_totals(s, &t);
    if (!wrong) wrong = check_queues(s, &t);
    if (!wrong) wrong = check_devices(s, &t);
    return wrong ? wrong : check_users(s);
}

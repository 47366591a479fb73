/* Memory: exact reservations against limits.
 *
 * DESIGN. Partitions take all host memory they will need when their witness starts, so a partition
 * that runs never waits for host memory. What a job holds from its first witness to its end (its
 * parsed input, `shared`) could still lock everybody out: each begun job holds some and waits for
 * more. So a job begins only if, beside what begun jobs hold, the most that one partition of any of
 * them needs (its key and its witness) still fits. Then the first partition in order always gets
 * its memory once what runs has ended and idle keys are evicted: no deadlock, and nobody overtakes
 * it meanwhile. */
#include "state.h"

bool cuzk__pool_fits(const pool *p, uint64_t need, int account) {
    const uint64_t used = p->used[0] + p->used[1];
    if (need > p->limit || used > p->limit - need) return false;
    return account == 1 || p->used[0] + need <= p->limit - p->reserve;
}

bool cuzk__sched_host_fits(const cuzk_sched *s, cuzk_sched_mem need, int account) {
    return cuzk__pool_fits(&s->host, need.host + need.pinned, account) &&
           cuzk__pool_fits(&s->pinned, need.pinned, account);
}

void cuzk__sched_host_take(cuzk_sched *s, cuzk_sched_mem need, int account) {
    s->host.used[account] += need.host + need.pinned;
    s->pinned.used[account] += need.pinned;
}

void cuzk__sched_host_give(cuzk_sched *s, cuzk_sched_mem need, int account) {
    s->host.used[account] -= need.host + need.pinned;
    s->pinned.used[account] -= need.pinned;
}

/* What one partition needs at a time beside `shared`. */
static cuzk_sched_mem partition_needs(const cuzk_sched *s, const cuzk_sched_job_spec *spec) {
    cuzk_sched_mem need = mem_add(spec->witness, spec->scratch);
    if (spec->key != NONE && !s->keys[spec->key].spec.keep)
        need = mem_add(need, s->keys[spec->key].spec.host);
    return need;
}

/* Of keys that are never evicted. */
static cuzk_sched_mem kept_keys(const cuzk_sched *s) {
    cuzk_sched_mem sum = {0, 0};
    for (uint32_t k = 0; k < s->config.max_keys; k++)
        if (s->keys[k].defined && s->keys[k].spec.keep) sum = mem_add(sum, s->keys[k].spec.host);
    return sum;
}

/* Bytes of host memory of both kinds, and of pinned alone: what begun jobs share, and the most that
 * one partition of any of them needs. */
typedef struct demand {
    uint64_t shared, shared_pinned, most, most_pinned;
} demand;

static void count(const cuzk_sched *s, demand *d, const cuzk_sched_job_spec *spec) {
    const cuzk_sched_mem need = partition_needs(s, spec);
    d->shared += spec->shared.host + spec->shared.pinned;
    d->shared_pinned += spec->shared.pinned;
    if (need.host + need.pinned > d->most) d->most = need.host + need.pinned;
    if (need.pinned > d->most_pinned) d->most_pinned = need.pinned;
}

static bool sums_to(const pool *p, uint64_t sum, bool general) {
    return sum <= (general ? p->limit - p->reserve : p->limit);
}

static bool affordable(const cuzk_sched *s, const demand *d, bool general) {
    const cuzk_sched_mem kept = kept_keys(s);
    return sums_to(&s->host, d->shared + d->most + kept.host + kept.pinned, general) &&
           sums_to(&s->pinned, d->shared_pinned + d->most_pinned + kept.pinned, general);
}

static bool begun_afford(const cuzk_sched *s, const job *more, bool general) {
    demand d = {0, 0, 0, 0};
    for (uint32_t i = 0; i < s->config.max_jobs; i++) {
        const job *j = &s->jobs[i];
        if (j->used && (j->started || j == more) && !(general && j->spec.reserved))
            count(s, &d, &j->spec);
    }
    return affordable(s, &d, general);
}

bool cuzk__sched_may_begin(const cuzk_sched *s, const job *j) {
    return begun_afford(s, j, false) && (j->spec.reserved || begun_afford(s, j, true));
}

bool cuzk__sched_may_keep(const cuzk_sched *s) {
    return begun_afford(s, NULL, false) && begun_afford(s, NULL, true);
}

uint64_t cuzk__sched_kept_on_device(const cuzk_sched *s, uint32_t but) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < s->config.max_keys; k++)
        if (k != but && s->keys[k].defined && s->keys[k].spec.keep) sum += s->keys[k].spec.device;
    return sum;
}

static uint64_t device_needs(const cuzk_sched *s, const cuzk_sched_job_spec *spec) {
    return spec->slot + (spec->key == NONE ? 0 : s->keys[spec->key].spec.device);
}

/* What an otherwise idle device has for the job. */
static uint64_t device_room(const cuzk_sched *s, const cuzk_sched_job_spec *spec, uint32_t d) {
    const pool *memory = &s->devices[d].memory;
    const uint64_t top = spec->reserved ? memory->limit : memory->limit - memory->reserve;
    const uint64_t kept = cuzk__sched_kept_on_device(s, spec->key);
    return top > kept ? top - kept : 0;
}

bool cuzk__sched_device_fits(const cuzk_sched *s, const cuzk_sched_job_spec *spec, uint32_t d) {
    return device_needs(s, spec) <= device_room(s, spec, d);
}

cuzk_sched_reason cuzk__sched_never_fits(const cuzk_sched *s, const cuzk_sched_job_spec *spec,
                                         uint64_t *need, uint64_t *limit) {
    const cuzk_sched_mem kept = kept_keys(s);
    const cuzk_sched_mem sum = mem_add(spec->shared, partition_needs(s, spec));
    const bool general = !spec->reserved;
    const struct {
        const pool *of;
        uint64_t need, kept;
        cuzk_sched_reason reason;
    } rows[] = {
        {&s->host, sum.host + sum.pinned, kept.host + kept.pinned, CUZK_REASON_HOST},
        {&s->pinned, sum.pinned, kept.pinned, CUZK_REASON_PINNED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t top = general ? rows[i].of->limit - rows[i].of->reserve : rows[i].of->limit;
        *need = rows[i].need;
        *limit = top > rows[i].kept ? top - rows[i].kept : 0;
        if (*need > *limit) return rows[i].reason;
    }
    /* The device with most room decides. */
    *need = device_needs(s, spec);
    *limit = 0;
    for (uint32_t d = 0; d < s->config.n_devices; d++) {
        const uint64_t room = device_room(s, spec, d);
        if ((s->devices[d].kinds >> spec->kind & 1) && room > *limit) *limit = room;
    }
    return *need > *limit ? CUZK_REASON_DEVICE : CUZK_REASON_NONE;
}

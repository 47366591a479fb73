/* Jobs: admission, end, deadline. */
#include "state.h"

#define SECOND INT64_C(1000000000)

job *cuzk__sched_find(const cuzk_sched *s, uint64_t ref) {
    const uint32_t i = (uint32_t)ref;
    if (i >= s->config.max_jobs) return NULL;
    job *j = &s->jobs[i];
    return j->used && j->generation == ref >> 32 ? j : NULL;
}

static uint64_t all_partitions(uint32_t n) {
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static bool valid(const cuzk_sched *s, const cuzk_sched_job_spec *spec) {
    if (spec->n_partitions == 0 || spec->n_partitions > CUZK_SCHED_MAX_PARTITIONS) return false;
    if (spec->done & ~all_partitions(spec->n_partitions)) return false;
    if (spec->kind >= CUZK_SCHED_MAX_KINDS) return false;
    if (spec->key != NONE && (spec->key >= s->config.max_keys || !s->keys[spec->key].defined))
        return false;
    return mem_sane(spec->shared) && mem_sane(spec->witness) && mem_sane(spec->scratch) &&
           spec->slot >> 56 == 0;
}

/* How long until the queue has moved on by a job like this one. */
static int64_t retry_hint(const cuzk_sched *s, const cuzk_sched_job_spec *spec) {
    int64_t ns = s->done_interval ? s->done_interval : SECOND;
    ns *= spec->n_partitions;
    return ns < SECOND ? SECOND : ns > 600 * SECOND ? 600 * SECOND : ns;
}

static cuzk_sched_reason refusal(const cuzk_sched *s, const cuzk_sched_job_spec *spec,
                                 uint64_t *need, uint64_t *limit) {
    *need = *limit = 0;
    if (!valid(s, spec)) return CUZK_REASON_INVALID;
    if (s->draining) return CUZK_REASON_DRAINING;
    if (spec->deadline <= s->now) return CUZK_REASON_LATE;
    if (!cuzk__sched_kind_possible(s, spec->kind)) return CUZK_REASON_NO_DEVICE;
    const cuzk_sched_reason never = cuzk__sched_never_fits(s, spec, need, limit);
    if (never != CUZK_REASON_NONE) return never;
    *need = *limit = 0;
    if (!cuzk__sched_placeable(s, spec)) return CUZK_REASON_NO_DEVICE;
    *need = spec->n_partitions + 1;
    *limit = s->config.max_partitions;
    if (*need > *limit) return CUZK_REASON_INVALID;
    if (s->n_parts > *limit - *need) return CUZK_REASON_QUEUE_FULL;
    *need = *limit = 0;
    if (s->n_jobs == s->config.max_jobs) return CUZK_REASON_QUEUE_FULL;
    return CUZK_REASON_NONE;
}

static job *take_job(cuzk_sched *s) {
    uint32_t i = s->free_job;
    while (s->jobs[i].used)
        i = (i + 1) % s->config.max_jobs;
    s->free_job = (i + 1) % s->config.max_jobs;
    s->n_jobs++;
    s->n_live++;
    return &s->jobs[i];
}

static part *take_part(cuzk_sched *s) {
    uint32_t i = s->free_part;
    while (s->parts[i].state != PART_FREE)
        i = (i + 1) % s->config.max_partitions;
    s->free_part = (i + 1) % s->config.max_partitions;
    s->n_parts++;
    return &s->parts[i];
}

static void add_part(cuzk_sched *s, job *j, uint32_t index) {
    part *p = take_part(s);
    *p = (part){.job = (uint32_t)(j - s->jobs),
                .index = index,
                .state = index == j->spec.n_partitions ? PART_ASSEMBLY : PART_QUEUED,
                .device = NONE,
                .slot = NONE,
                .worker = NONE,
                .last_device = NONE};
    j->parts[index] = part_id(s, p);
    j->live++;
    if (p->state == PART_QUEUED) cuzk__sched_push(s, Q_WITNESS, part_id(s, p));
}

static uint32_t rank(const cuzk_sched *s, const job *j) {
    const uint32_t mine = j->parts[j->spec.n_partitions];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->config.max_jobs; i++) {
        const job *other = &s->jobs[i];
        if (!other->used || other->ended || other == j) continue;
        n += cuzk__sched_compare(s, other->parts[other->spec.n_partitions], mine) < 0;
    }
    return n;
}

void cuzk__sched_submit(cuzk_sched *s, const cuzk_sched_job_spec *spec) {
    uint64_t need, limit;
    cuzk__sched_key_asked(s, spec->key);
    const cuzk_sched_reason reason = refusal(s, spec, &need, &limit);
    if (reason != CUZK_REASON_NONE) {
        cuzk_sched_action *a = cuzk__sched_emit(s, CUZK_ACT_REFUSED);
        a->cookie = spec->cookie;
        a->reason = reason;
        a->need = need;
        a->limit = limit;
        if (reason == CUZK_REASON_QUEUE_FULL) a->retry_after = retry_hint(s, spec);
        return;
    }
    job *j = take_job(s);
    const uint32_t generation = j->generation;
    *j = (job){.spec = *spec, .seq = s->next_seq++, .generation = generation, .used = true};
    for (uint32_t i = 0; i <= CUZK_SCHED_MAX_PARTITIONS; i++)
        j->parts[i] = NONE;
    for (uint32_t i = 0; i < spec->n_partitions; i++) {
        if (spec->done >> i & 1) continue;
        add_part(s, j, i);
        j->left++;
    }
    add_part(s, j, spec->n_partitions);
    if (j->left == 0) cuzk__sched_push(s, Q_VERIFY, j->parts[spec->n_partitions]);
    if (spec->key != NONE) s->keys[spec->key].jobs++;
    if (spec->deadline < s->next_deadline) s->next_deadline = spec->deadline;
    cuzk__sched_emit_part(s, CUZK_ACT_ACCEPTED, j, NULL)->position = rank(s, j);
}

static void free_job(cuzk_sched *s, job *j) {
    if (j->started) cuzk__sched_host_give(s, j->spec.shared, j->spec.reserved);
    s->n_started -= j->started;
    cuzk__sched_emit_part(s, CUZK_ACT_JOB_FREE, j, NULL);
    j->used = j->started = false;
    j->generation++;
    s->n_jobs--;
}

void cuzk__sched_free_part(cuzk_sched *s, part *p) {
    job *j = job_of(s, p);
    j->parts[p->index] = NONE;
    p->state = PART_FREE;
    p->device = NONE;
    s->n_parts--;
    if (--j->live == 0 && j->ended) free_job(s, j);
}

void cuzk__sched_end(cuzk_sched *s, job *j, cuzk_sched_outcome outcome, cuzk_sched_stage stage,
                     cuzk_sched_reason reason) {
    cuzk_sched_action *a = cuzk__sched_emit_part(s, CUZK_ACT_JOB_END, j, NULL);
    a->outcome = outcome;
    a->stage = stage;
    a->reason = reason;
    j->ended = true;
    s->n_live--;
    if (j->spec.key != NONE) s->keys[j->spec.key].jobs--;
    j->live++; /* so that the record outlives the loop */
    for (uint32_t i = 0; i <= j->spec.n_partitions; i++) {
        if (j->parts[i] == NONE) continue;
        part *p = &s->parts[j->parts[i]];
        const bool lost = cuzk__sched_on_device(p) && !s->devices[p->device].up;
        if (cuzk__sched_runs(p) && !lost) {
            cuzk__sched_emit_part(s, CUZK_ACT_STOP, j, p);
        } else {
            cuzk__sched_release(s, p);
            cuzk__sched_free_part(s, p);
        }
    }
    if (--j->live == 0) free_job(s, j);
}

/* The earliest stage that some partition of the job has not passed. */
static cuzk_sched_stage behind(const cuzk_sched *s, const job *j) {
    cuzk_sched_stage stage = CUZK_STAGE_ASSEMBLE;
    for (uint32_t i = 0; i < j->spec.n_partitions; i++) {
        if (j->parts[i] == NONE) continue;
        const part *p = &s->parts[j->parts[i]];
        if (p->state == PART_QUEUED) return CUZK_STAGE_QUEUE;
        const part_state next = cuzk__sched_runs(p) ? p->state : p->state + 1;
        if (cuzk__sched_stage_of(next) < stage) stage = cuzk__sched_stage_of(next);
    }
    return stage;
}

void cuzk__sched_expire(cuzk_sched *s) {
    if (s->now < s->next_deadline) return;
    s->next_deadline = CUZK_SCHED_NEVER;
    for (uint32_t i = 0; i < s->config.max_jobs; i++) {
        job *j = &s->jobs[i];
        if (!j->used || j->ended) continue;
        if (j->spec.deadline <= s->now)
            cuzk__sched_end(s, j, CUZK_OUTCOME_DEADLINE, behind(s, j), CUZK_REASON_LATE);
        else if (j->spec.deadline < s->next_deadline)
            s->next_deadline = j->spec.deadline;
    }
}

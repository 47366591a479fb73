/* One partition: what it holds at each step, and what a finished step leads to. */
#include "state.h"

bool cuzk__sched_runs(const part *p) {
    switch (p->state) {
    case PART_WITNESS:
    case PART_STAGING:
    case PART_COMPUTING:
    case PART_FINISHING:
    case PART_VERIFYING:
    case PART_ASSEMBLING:
        return true;
    default:
        return false;
    }
}

bool cuzk__sched_on_device(const part *p) {
    return p->state >= PART_STAGING && p->state <= PART_FINISHING;
}

cuzk_sched_stage cuzk__sched_stage_of(part_state state) {
    switch (state) {
    case PART_WITNESS:
        return CUZK_STAGE_WITNESS;
    case PART_STAGING:
        return CUZK_STAGE_STAGE;
    case PART_COMPUTING:
        return CUZK_STAGE_COMPUTE;
    case PART_FINISHING:
        return CUZK_STAGE_FINISH;
    case PART_VERIFYING:
        return CUZK_STAGE_VERIFY;
    case PART_ASSEMBLING:
        return CUZK_STAGE_ASSEMBLE;
    default:
        return CUZK_STAGE_QUEUE;
    }
}

/* Where the worker that runs p is noted; NULL when none is. */
static uint32_t *worker_of(cuzk_sched *s, const part *p) {
    if (p->worker == NONE) return NULL;
    if (p->state == PART_WITNESS) return &s->witness[p->worker];
    if (p->state == PART_FINISHING) return &s->finishing[p->worker];
    if (p->state == PART_VERIFYING || p->state == PART_ASSEMBLING) return &s->verifying[p->worker];
    return NULL;
}

static void leave_worker(cuzk_sched *s, part *p) {
    uint32_t *worker = worker_of(s, p);
    if (worker) *worker = NONE;
    p->worker = NONE;
    if (p->state == PART_COMPUTING) s->devices[p->device].gate = NONE;
}

static void leave_queue(cuzk_sched *s, const part *p) {
    switch (p->state) {
    case PART_QUEUED:
        cuzk__sched_remove(s, Q_WITNESS, part_id(s, p));
        break;
    case PART_READY:
        cuzk__sched_remove(s, Q_READY, part_id(s, p));
        break;
    case PART_COMPUTED:
        cuzk__sched_remove(s, Q_FINISH, part_id(s, p));
        break;
    case PART_FINISHED:
    case PART_ASSEMBLY:
        cuzk__sched_remove(s, Q_VERIFY, part_id(s, p));
        break;
    default:
        break;
    }
}

uint32_t cuzk__sched_slots_busy(const cuzk_sched *s, uint32_t d) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < slots_of(s); i++)
        n += *slot_at(s, d, i) != NONE;
    return n;
}

static void release_scratch(cuzk_sched *s, part *p) {
    const job *j = job_of(s, p);
    if (p->has_scratch) cuzk__sched_host_give(s, j->spec.scratch, j->spec.reserved);
    p->has_scratch = false;
}

static void release_witness(cuzk_sched *s, part *p) {
    const job *j = job_of(s, p);
    if (p->has_witness) cuzk__sched_host_give(s, j->spec.witness, j->spec.reserved);
    p->has_witness = false;
}

static void release_slot(cuzk_sched *s, part *p) {
    const job *j = job_of(s, p);
    if (p->slot != NONE) *slot_at(s, p->device, p->slot) = NONE;
    p->slot = NONE;
    if (p->has_slot_memory) s->devices[p->device].memory.used[j->spec.reserved] -= j->spec.slot;
    p->has_slot_memory = false;
    cuzk__sched_drop_key(s, p, false);
}

static void release_result(cuzk_sched *s, part *p) {
    if (p->has_result) s->devices[p->device].results--;
    p->has_result = false;
}

void cuzk__sched_release_device(cuzk_sched *s, part *p) {
    leave_queue(s, p);
    leave_worker(s, p);
    release_slot(s, p);
    release_result(s, p);
    release_scratch(s, p);
    p->state = PART_DONE;
}

void cuzk__sched_release(cuzk_sched *s, part *p) {
    cuzk__sched_release_device(s, p);
    release_witness(s, p);
    cuzk__sched_drop_key(s, p, true);
    if (p->holder) s->holders--;
    p->holder = false;
}

void cuzk__sched_start_partition(cuzk_sched *s, part *p, part_state state, uint32_t worker) {
    leave_queue(s, p);
    p->state = state;
    p->worker = worker;
    p->run = ++s->next_run;
    cuzk__sched_emit_part(s, CUZK_ACT_START, job_of(s, p), p);
}

/* What ends with the stage that has just ended well. */
static void after(cuzk_sched *s, part *p, cuzk_sched_stage stage) {
    if (stage >= s->config.witness_until) release_witness(s, p);
    if (stage >= s->config.slot_until) release_slot(s, p);
}

static void wait_in(cuzk_sched *s, part *p, part_state state, int q) {
    p->state = state;
    cuzk__sched_push(s, q, part_id(s, p));
}

/* For retry hints: the mean interval between verified partitions, the last ones weighing most. */
static void note_rate(cuzk_sched *s) {
    if (s->last_done >= 0) {
        const int64_t interval = s->now - s->last_done;
        s->done_interval += (interval - s->done_interval) / (s->done_interval ? 8 : 1);
    }
    s->last_done = s->now;
}

static void verified(cuzk_sched *s, part *p) {
    job *j = job_of(s, p);
    cuzk__sched_device_good(s, p->device);
    note_rate(s);
    cuzk__sched_emit_part(s, CUZK_ACT_PARTITION_DONE, j, p);
    cuzk__sched_release(s, p);
    cuzk__sched_free_part(s, p);
    if (--j->left == 0) cuzk__sched_push(s, Q_VERIFY, j->parts[j->spec.n_partitions]);
}

static void went_well(cuzk_sched *s, part *p) {
    switch (p->state) {
    case PART_WITNESS:
        leave_worker(s, p);
        release_scratch(s, p);
        wait_in(s, p, PART_READY, Q_READY);
        break;
    case PART_STAGING:
        after(s, p, CUZK_STAGE_STAGE);
        p->state = PART_STAGED;
        break;
    case PART_COMPUTING:
        leave_worker(s, p);
        after(s, p, CUZK_STAGE_COMPUTE);
        wait_in(s, p, PART_COMPUTED, Q_FINISH);
        break;
    case PART_FINISHING:
        leave_worker(s, p);
        release_result(s, p);
        after(s, p, CUZK_STAGE_FINISH);
        wait_in(s, p, PART_FINISHED, Q_VERIFY);
        break;
    case PART_VERIFYING:
        verified(s, p);
        break;
    default: /* PART_ASSEMBLING */
        cuzk__sched_release(s, p);
        cuzk__sched_end(s, job_of(s, p), CUZK_OUTCOME_DONE, CUZK_STAGE_ASSEMBLE, CUZK_REASON_NONE);
    }
}

void cuzk__sched_done(cuzk_sched *s, const cuzk_sched_event *e) {
    job *j = cuzk__sched_find(s, e->job);
    if (!j || e->partition > j->spec.n_partitions || j->parts[e->partition] == NONE) return;
    part *p = &s->parts[j->parts[e->partition]];
    if (p->run != e->run || !cuzk__sched_runs(p)) return;
    if (j->ended) {
        cuzk__sched_release(s, p);
        cuzk__sched_free_part(s, p);
    } else if (e->fault == CUZK_FAULT_NONE) {
        went_well(s, p);
    } else {
        cuzk__sched_fault(s, p, e->fault, true);
    }
}

/* Starts whatever may start, in order. Nobody overtakes a partition by taking what it waits for:
 * one that waits for memory stops those behind it; one that waits for its key to load, or for one
 * particular device, does not. Reserved partitions have workers, slots and memory of their own, so
 * only a reserved one stops them. */
#include "state.h"

static uint32_t free_worker(const uint32_t *workers, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++)
        if (workers[i] == NONE) return i;
    return NONE;
}

/* Reserved partitions use the reserved ones first; `general` of them are everybody's. */
static uint32_t worker_for(const uint32_t *workers, uint32_t general, uint32_t all, bool reserved) {
    const uint32_t own = reserved ? free_worker(workers, general, all) : NONE;
    return own != NONE ? own : free_worker(workers, 0, general);
}

/* Whether p's witness would have a place in the ready queue: a worker whose witness finds none
 * counts as if it held it, so that ready and running ones together are bounded and workers go on
 * one by one as the device takes witnesses, not all at once. What ranks behind p is not in its way,
 * up to a bound of its own. */
static bool ready_room(const cuzk_sched *s, uint32_t p) {
    const uint32_t most = s->config.witness_workers + s->config.max_ready;
    const queue *ready = &s->queues[Q_READY];
    uint32_t running = 0;
    for (uint32_t i = 0; i < s->config.witness_workers; i++)
        running += s->witness[i] != NONE;
    return ready->n < most + s->config.max_ready &&
           cuzk__sched_before(s, Q_READY, p) + running < most;
}

static void start_witness(cuzk_sched *s, part *p, uint32_t worker) {
    s->witness[worker] = part_id(s, p);
    cuzk__sched_start_partition(s, p, PART_WITNESS, worker);
}

static void fill_witness_workers(cuzk_sched *s) {
    const uint32_t general = s->config.witness_workers;
    const uint32_t all = general + s->config.reserved_witness_workers;
    queue *q = &s->queues[Q_WITNESS];
    bool stop = false, no_new = false; /* for the others; for jobs that have not begun */
    s->witness_paused = false;
    for (uint32_t i = 0; i < q->n && !s->checkpoint;) {
        part *p = &s->parts[q->items[i]];
        const bool reserved = job_of(s, p)->spec.reserved;
        if (!reserved && stop) {
            if (s->queued_reserved == 0) return;
            i++;
            continue;
        }
        const uint32_t worker = worker_for(s->witness, general, all, reserved);
        const bool room = reserved || ready_room(s, q->items[i]);
        if (worker == NONE || !room) {
            if (worker != NONE) s->witness_paused = true;
            if (reserved && stop) return;
            stop = true;
            i++;
            continue;
        }
        if (!job_of(s, p)->started && (no_new || !cuzk__sched_may_begin(s, job_of(s, p)))) {
            no_new = true;
            i++;
            continue;
        }
        if (!cuzk__sched_take_host(s, p)) {
            if (reserved) return;
            stop = true;
            i++;
            continue;
        }
        start_witness(s, p, worker);
    }
}

/* Starts at most one partition on the device. */
static bool stage_one(cuzk_sched *s, uint32_t d) {
    const uint32_t *slots = slot_at(s, d, 0);
    const queue *q = &s->queues[Q_READY];
    bool stop = s->devices[d].lend > 0; /* for all but reserved ones */
    for (uint32_t i = 0; i < q->n; i++) {
        part *p = &s->parts[q->items[i]];
        const bool reserved = job_of(s, p)->spec.reserved;
        if ((stop && !reserved) || !cuzk__sched_eligible(s, p, d)) continue;
        const uint32_t slot = worker_for(slots, s->config.slots_per_device, slots_of(s), reserved);
        if (slot == NONE) {
            if (reserved) return false;
            stop = true;
            continue;
        }
        p->device = d;
        const got have = cuzk__sched_take_device(s, p, d);
        if (have == GOT_IT) {
            p->slot = slot;
            *slot_at(s, d, slot) = part_id(s, p);
            cuzk__sched_start_partition(s, p, PART_STAGING, NONE);
            return true;
        }
        p->device = NONE;
        if (have == GOT_NO && reserved) return false;
        if (have == GOT_NO) stop = true;
    }
    return false;
}

/* Fills slots, the least busy device first. */
static void fill_slots(cuzk_sched *s) {
    uint32_t tried = 0; /* devices that take no more */
    while (s->queues[Q_READY].n > 0) {
        uint32_t best = NONE;
        for (uint32_t d = 0; d < s->config.n_devices; d++) {
            if (tried >> d & 1) continue;
            if (best == NONE || cuzk__sched_slots_busy(s, d) < cuzk__sched_slots_busy(s, best))
                best = d;
        }
        if (best == NONE) return;
        if (!stage_one(s, best)) tried |= UINT32_C(1) << best;
    }
}

/* Lets the first staged partition of a device through its gate. */
static void open_gate(cuzk_sched *s, uint32_t d) {
    device *dev = &s->devices[d];
    if (dev->gate != NONE || dev->results >= s->config.results_per_device) return;
    uint32_t best = NONE;
    for (uint32_t i = 0; i < slots_of(s); i++) {
        const uint32_t p = *slot_at(s, d, i);
        if (p == NONE || s->parts[p].state != PART_STAGED) continue;
        if (best == NONE || cuzk__sched_compare(s, p, best) < 0) best = p;
    }
    if (best == NONE) return;
    part *p = &s->parts[best];
    dev->gate = best;
    dev->results++;
    p->has_result = true;
    cuzk__sched_start_partition(s, p, PART_COMPUTING, NONE);
}

static void fill_finishers(cuzk_sched *s) {
    while (s->queues[Q_FINISH].n > 0) {
        const uint32_t worker = free_worker(s->finishing, 0, s->config.finishers);
        if (worker == NONE) return;
        const uint32_t p = s->queues[Q_FINISH].items[0];
        s->finishing[worker] = p;
        cuzk__sched_start_partition(s, &s->parts[p], PART_FINISHING, worker);
    }
}

static void fill_verifiers(cuzk_sched *s) {
    while (s->queues[Q_VERIFY].n > 0) {
        const uint32_t worker = free_worker(s->verifying, 0, s->config.verifiers);
        if (worker == NONE) return;
        const uint32_t p = s->queues[Q_VERIFY].items[0];
        const bool assembly = s->parts[p].state == PART_ASSEMBLY;
        s->verifying[worker] = p;
        cuzk__sched_start_partition(s, &s->parts[p], assembly ? PART_ASSEMBLING : PART_VERIFYING,
                                    worker);
    }
}

/* A ready witness that no device takes now is not: it would wait for a device to come back. */
static bool anything_under_way(const cuzk_sched *s) {
    for (uint32_t i = 0; i < s->config.verifiers; i++)
        if (s->verifying[i] != NONE) return true;
    return s->holders > s->queues[Q_READY].n || s->queues[Q_VERIFY].n > 0;
}

static void note_drained(cuzk_sched *s) {
    if (!s->draining || s->drained) return;
    if (s->n_jobs > 0 && (!s->checkpoint || anything_under_way(s))) return;
    s->drained = true;
    cuzk__sched_emit(s, CUZK_ACT_DRAINED);
}

void cuzk__sched_dispatch(cuzk_sched *s) {
    cuzk__sched_lend(s);
    cuzk__sched_keep_warm(s);
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        open_gate(s, d);
    fill_finishers(s);
    fill_verifiers(s);
    fill_slots(s);
    fill_witness_workers(s);
    note_drained(s);
}

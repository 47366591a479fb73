/* Failures: once more on the same device, once on another, then the job fails and names the stage.
 * A device whose work fails job after job is set aside. */
#include "state.h"

enum { DEVICE_TRIES = 3, HOST_TRIES = 2 };

static bool suits(const cuzk_sched *s, const cuzk_sched_job_spec *spec, uint32_t d) {
    return (s->devices[d].kinds >> spec->kind & 1) && !cuzk__sched_key_bad(s, spec->key, d) &&
           cuzk__sched_device_fits(s, spec, d);
}

static bool usable(const cuzk_sched *s, const part *p, uint32_t d) {
    if (!suits(s, &job_of(s, p)->spec, d)) return false;
    return p->device_faults < 2 || !(p->failed_on >> d & 1);
}

static bool serves(const device *dev) {
    return dev->up && !dev->quarantined;
}

bool cuzk__sched_eligible(const cuzk_sched *s, const part *p, uint32_t d) {
    if (!serves(&s->devices[d]) || !usable(s, p, d)) return false;
    if (p->device_faults != 1 || p->last_device == d) return true;
    /* The same device first, if it still can. */
    return !serves(&s->devices[p->last_device]) || !usable(s, p, p->last_device);
}

static bool returns(const cuzk_sched *s, uint32_t d) {
    return !s->devices[d].quarantined || s->config.quarantine_ns > 0;
}

static bool possible(const cuzk_sched *s, const part *p) {
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        if (returns(s, d) && usable(s, p, d)) return true;
    return false;
}

bool cuzk__sched_kind_possible(const cuzk_sched *s, uint32_t kind) {
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        if (returns(s, d) && (s->devices[d].kinds >> kind & 1)) return true;
    return false;
}

bool cuzk__sched_placeable(const cuzk_sched *s, const cuzk_sched_job_spec *spec) {
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        if (returns(s, d) && suits(s, spec, d)) return true;
    return false;
}

void cuzk__sched_device_fault(cuzk_sched *s, uint32_t d, const job *j) {
    device *dev = &s->devices[d];
    /* One job with a bad input must not condemn a device. */
    if (j && dev->fault_job == j->seq + 1) return;
    dev->fault_job = j ? j->seq + 1 : 0;
    dev->faults++;
    dev->good = 0;
    if (dev->quarantined || s->config.quarantine_after == 0 ||
        dev->faults < s->config.quarantine_after)
        return;
    dev->quarantined = true;
    dev->until = s->config.quarantine_ns > 0 ? s->now + s->config.quarantine_ns : CUZK_SCHED_NEVER;
    cuzk__sched_emit(s, CUZK_ACT_QUARANTINE)->device = d;
    s->recheck = true;
}

void cuzk__sched_device_good(cuzk_sched *s, uint32_t d) {
    device *dev = &s->devices[d];
    if (dev->faults == 0 || ++dev->good < CUZK_SCHED_FORGIVEN_AFTER) return;
    dev->faults--;
    dev->good = 0;
}

static void restore(cuzk_sched *s, uint32_t d) {
    device *dev = &s->devices[d];
    if (!dev->quarantined) return;
    dev->quarantined = false;
    dev->until = CUZK_SCHED_NEVER;
    dev->faults = dev->good = 0;
    dev->fault_job = 0;
    cuzk__sched_emit(s, CUZK_ACT_RESTORE)->device = d;
}

void cuzk__sched_quarantine_timers(cuzk_sched *s) {
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        if (s->devices[d].quarantined && s->devices[d].until <= s->now) restore(s, d);
}

static void fail(cuzk_sched *s, part *p, cuzk_sched_stage stage, cuzk_sched_reason reason) {
    cuzk__sched_end(s, job_of(s, p), CUZK_OUTCOME_FAILED, stage, reason);
}

static void again(cuzk_sched *s, part *p) {
    const bool witness = p->has_witness;
    if (!witness) cuzk__sched_release(s, p);
    p->state = witness ? PART_READY : PART_QUEUED;
    cuzk__sched_push(s, witness ? Q_READY : Q_WITNESS, part_id(s, p));
}

static void host_fault(cuzk_sched *s, part *p, cuzk_sched_stage stage, bool final) {
    cuzk__sched_release(s, p);
    if (final || ++p->host_faults >= HOST_TRIES) {
        fail(s, p, stage, CUZK_REASON_FAULT);
    } else if (stage == CUZK_STAGE_WITNESS) {
        again(s, p);
    } else {
        p->state = PART_ASSEMBLY;
        cuzk__sched_push(s, Q_VERIFY, part_id(s, p));
    }
}

void cuzk__sched_fault(cuzk_sched *s, part *p, cuzk_sched_fault fault, bool blame) {
    const cuzk_sched_stage stage =
        cuzk__sched_runs(p) ? cuzk__sched_stage_of(p->state) : CUZK_STAGE_COMPUTE;
    const uint32_t d = p->device;
    p->fault_stage = stage;
    if (stage == CUZK_STAGE_WITNESS || stage == CUZK_STAGE_ASSEMBLE) {
        host_fault(s, p, stage, fault == CUZK_FAULT_INPUT);
        return;
    }
    cuzk__sched_release_device(s, p);
    p->device = NONE;
    if (fault != CUZK_FAULT_INPUT) {
        p->failed_on |= UINT32_C(1) << d;
        p->last_device = d;
        p->device_faults++;
        if (blame) cuzk__sched_device_fault(s, d, job_of(s, p));
    }
    if (fault == CUZK_FAULT_INPUT || p->device_faults >= DEVICE_TRIES || !possible(s, p))
        fail(s, p, stage, CUZK_REASON_FAULT);
    else
        again(s, p);
}

static void device_down(cuzk_sched *s, uint32_t d) {
    device *dev = &s->devices[d];
    if (!dev->up) return;
    dev->up = false;
    cuzk__sched_device_fault(s, d, NULL);
    for (uint32_t i = 0; i < s->config.max_partitions; i++) {
        part *p = &s->parts[i];
        if (p->state == PART_FREE || p->device != d) continue;
        /* A finished one may still keep its slot; its verification goes on. */
        if (!cuzk__sched_on_device(p)) continue;
        if (job_of(s, p)->ended) {
            cuzk__sched_release(s, p);
            cuzk__sched_free_part(s, p);
        } else {
            cuzk__sched_fault(s, p, CUZK_FAULT_ERROR, false);
        }
    }
    cuzk__sched_keys_lost(s, d);
    s->recheck = true;
}

/* What is lent, and what reserved jobs may have, stays. */
static void device_up(cuzk_sched *s, device *dev, uint64_t bytes) {
    pool *memory = &dev->memory;
    dev->up = true;
    if (bytes == 0 || bytes >> 56 || bytes < memory->reserve + memory->used[0]) return;
    s->recheck |= bytes < memory->limit;
    memory->limit = bytes;
}

void cuzk__sched_device_event(cuzk_sched *s, const cuzk_sched_event *e) {
    if (e->device >= s->config.n_devices) return;
    if (e->type == CUZK_EV_DEVICE_UP) {
        device_up(s, &s->devices[e->device], e->bytes);
    } else if (e->type == CUZK_EV_DEVICE_DOWN) {
        device_down(s, e->device);
    } else {
        cuzk__sched_keys_retry(s, e->device);
        restore(s, e->device);
    }
}

void cuzk__sched_fail_unplaceable(cuzk_sched *s) {
    if (!s->recheck) return;
    s->recheck = false;
    for (uint32_t i = 0; i < s->config.max_partitions; i++) {
        part *p = &s->parts[i];
        const bool before =
            p->state == PART_QUEUED || p->state == PART_WITNESS || p->state == PART_READY;
        if (!before || job_of(s, p)->ended || possible(s, p)) continue;
        if (p->device_faults)
            fail(s, p, p->fault_stage, CUZK_REASON_FAULT);
        else
            fail(s, p, CUZK_STAGE_QUEUE, CUZK_REASON_NO_DEVICE);
    }
}

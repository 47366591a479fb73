/* Carries the scheduler's actions out on a virtual clock. */
#include "run.h"

#include "base/mem.h"

#include <math.h>

enum { WORK_STALL = CUZK_SIM_WORK_COUNT, WORK_KEY, WORK_TAGS };

static const double GIB = 1073741824.0;
static const double LONGEST = 1e9; /* seconds; nanoseconds of it fit into 63 bits */

static int64_t to_ns(double seconds) {
    return (int64_t)llround(seconds * 1e9);
}
static uint64_t to_bytes(double gib) {
    return (uint64_t)llround(gib * GIB);
}

static const cuzk_sim_kind *kind_of(const sim *s, const sim_part *p) {
    return &s->in->kinds[s->jobs[p->job].kind];
}

static void flow_in(sim *s, const cuzk_sim_work *work, uint64_t tag) {
    const cuzk_status st = fluid_add(&s->fluid, work, tag);
    if (st != CUZK_OK) s->status = cuzk_err_set(s->err, st, "not enough memory to simulate");
}

/* began: seconds, of what ends now; negative: nothing ends. */
static void note(sim *s, const sim_part *p, cuzk_trace_event event, double began) {
    const bool device = event >= CUZK_TRACE_GPU_PICKUP;
    const cuzk_trace_item item = {.ns = to_ns(s->fluid.now),
                                  .took = began < 0 ? -1 : to_ns(s->fluid.now - began),
                                  .job = p->job,
                                  .event = event,
                                  .partition = p->index,
                                  .worker = device ? p->worker : CUZK_TRACE_NONE,
                                  .device = device ? p->device : CUZK_TRACE_NONE};
    if (!s->trace || s->status != CUZK_OK) return;
    const cuzk_status st = cuzk_trace_add(s->trace, &item);
    if (st != CUZK_OK) s->status = cuzk_err_set(s->err, st, "not enough memory for the timeline");
}

static void begin_work(sim *s, sim_part *p, cuzk_sim_work_id id) {
    flow_in(s, &kind_of(s, p)->work[id], (uint64_t)(p - s->parts) * WORK_TAGS + id);
}

/* ---- the device ---- */

static void begin_copy(sim *s, sim_part *p) {
    p->hold = HOLD_NONE;
    begin_work(s, p, CUZK_SIM_COPY);
    begin_work(s, p, CUZK_SIM_PREPARE);
}

static void begin_kernels(sim *s, sim_part *p) {
    sim_device *d = &s->devices[p->device];
    p->hold = HOLD_NONE;
    p->since = s->fluid.now;
    d->kernels++;
    begin_work(s, p, p->after);
}

static void begin_stall(sim *s, sim_part *p) {
    const cuzk_sim_work work = {.seconds = kind_of(s, p)->stall};
    p->hold = HOLD_NONE;
    s->devices[p->device].stalls++;
    flow_in(s, &work, (uint64_t)(p - s->parts) * WORK_TAGS + WORK_STALL);
}

/* Lets p go on if nothing holds it. */
static bool go_on(sim *s, sim_part *p) {
    sim_device *d = &s->devices[p->device];
    const cuzk_sim_kind *k = kind_of(s, p);
    switch (p->hold) {
    case HOLD_SECTION:
        if (k->exclusive && d->owner != CUZK_SCHED_NONE) return false;
        if (k->exclusive) d->owner = (uint32_t)(p - s->parts);
        if (k->stall > 0 && d->kernels > 0) {
            p->hold = HOLD_STALL;
            return false;
        }
        if (k->stall > 0)
            begin_stall(s, p);
        else
            begin_copy(s, p);
        return true;
    case HOLD_STALL:
        if (d->kernels > 0) return false;
        begin_stall(s, p);
        return true;
    case HOLD_KERNELS:
        if (d->stalls > 0) return false;
        begin_kernels(s, p);
        return true;
    case HOLD_RESULT:
        if (!p->prepared) return false;
        p->hold = HOLD_KERNELS;
        p->after = CUZK_SIM_TAIL;
        return go_on(s, p);
    case HOLD_NONE:
        return true;
    }
    return true;
}

static void wake_device(sim *s, uint32_t device) {
    sim_device *d = &s->devices[device];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->n_waiting; i++)
        if (!go_on(s, &s->parts[d->waiting[i]])) d->waiting[kept++] = d->waiting[i];
    d->n_waiting = kept;
}

static void wait_device(sim *s, sim_part *p, hold why) {
    sim_device *d = &s->devices[p->device];
    p->hold = why;
    d->waiting[d->n_waiting++] = (uint32_t)(p - s->parts);
    wake_device(s, p->device);
}

/* ---- actions ---- */

static void on_start(sim *s, const cuzk_sched_action *a) {
    sim_job *j = &s->jobs[a->cookie];
    const double now = s->fluid.now;
    if (a->stage == CUZK_STAGE_ASSEMBLE) {
        /* The job's last work is done in the record of its first partition. */
        sim_part *p = &s->parts[j->first_part];
        p->run = a->run;
        begin_work(s, p, CUZK_SIM_ASSEMBLE);
        return;
    }
    sim_part *p = &s->parts[j->first_part + a->partition];
    p->run = a->run;
    p->device = a->device;
    p->worker = a->worker;
    switch (a->stage) {
    case CUZK_STAGE_WITNESS:
        p->witness_begin = now;
        note(s, p, CUZK_TRACE_SYNTH_START, -1);
        begin_work(s, p, CUZK_SIM_WITNESS);
        break;
    case CUZK_STAGE_STAGE:
        if (j->first_stage < 0) j->first_stage = now;
        note(s, p, CUZK_TRACE_GPU_PICKUP, -1);
        p->copied = p->prepared = false;
        wait_device(s, p, HOLD_SECTION);
        break;
    case CUZK_STAGE_COMPUTE:
        if (j->first_kernel < 0) j->first_kernel = now;
        p->gate_begin = now;
        note(s, p, CUZK_TRACE_GPU_START, -1);
        if (s->devices[p->device].first < 0) s->devices[p->device].first = now;
        p->after = CUZK_SIM_KERNELS;
        wait_device(s, p, HOLD_KERNELS);
        break;
    case CUZK_STAGE_FINISH:
        begin_work(s, p, CUZK_SIM_FINISH);
        break;
    default:
        begin_work(s, p, CUZK_SIM_VERIFY);
        break;
    }
}

static void on_key(sim *s, const cuzk_sched_action *a, cuzk_sched_event *answer) {
    const cuzk_sim_kind *k = &s->in->kinds[a->key];
    const bool host = a->device == CUZK_SCHED_HOST;
    if (a->type == CUZK_ACT_KEY_EVICT) {
        *answer =
            (cuzk_sched_event){.type = CUZK_EV_KEY_EVICTED, .key = a->key, .device = a->device};
        return;
    }
    const cuzk_sim_work work = {.seconds = host ? k->key_seconds : k->key_device_seconds};
    const uint64_t place = host ? 0 : (uint64_t)a->device + 1;
    flow_in(s, &work,
            (a->key * (uint64_t)(CUZK_SCHED_MAX_DEVICES + 1) + place) * WORK_TAGS + WORK_KEY);
}

static void on_accepted(sim *s, const cuzk_sched_action *a) {
    const sim_job *j = &s->jobs[a->cookie];
    for (uint32_t i = 0; i < s->in->kinds[j->kind].partitions; i++)
        s->parts[j->first_part + i].job_ref = a->job;
}

static void on_end(sim *s, const cuzk_sched_action *a) {
    sim_job *j = &s->jobs[a->cookie];
    j->end = s->fluid.now;
    j->outcome = a->outcome;
    s->n_ended++;
    s->live_of_kind[j->kind]--;
}

static void on_refused(sim *s, const cuzk_sched_action *a) {
    sim_job *j = &s->jobs[a->cookie];
    j->refused = true;
    s->n_ended++;
    s->live_of_kind[j->kind]--;
    if (s->status == CUZK_OK && a->limit > 0)
        s->status =
            cuzk_err_set(s->err, CUZK_STATUS_BAD_INPUT,
                         "scenario %s: a job of %s needs %.1f GiB%s and at most %.1f GiB are "
                         "there for it",
                         s->in->name, s->in->kinds[j->kind].name, (double)a->need / GIB,
                         a->reason == CUZK_REASON_DEVICE   ? " on a device"
                         : a->reason == CUZK_REASON_PINNED ? " pinned"
                                                           : " on the host",
                         (double)a->limit / GIB);
    else if (s->status == CUZK_OK)
        s->status =
            cuzk_err_set(s->err, CUZK_STATUS_BAD_INPUT, "scenario %s: a job of %s is refused",
                         s->in->name, s->in->kinds[j->kind].name);
}

static void note_state(sim *s) {
    cuzk_sched_stats stats;
    cuzk_sched_get_stats(s->sched, &stats);
    if (stats.host_used > s->peak_host) s->peak_host = stats.host_used;
    if (s->paused) s->paused_time += s->fluid.now - s->last_change;
    s->last_change = s->fluid.now;
    s->paused = stats.witness_paused;
    for (uint32_t d = 0; d < s->in->devices; d++) {
        cuzk_sched_device_stats dev;
        cuzk_sched_get_device(s->sched, d, &dev);
        if (dev.memory_used > s->peak_device) s->peak_device = dev.memory_used;
    }
}

/* Evictions take no time: their reports follow the actions among which they were asked for. */
static void send(sim *s, const cuzk_sched_event *event) {
    cuzk_sched_event queue[64] = {*event};
    const size_t room = sizeof queue / sizeof *queue;
    size_t n = 1;
    for (size_t i = 0; i < n; i++) {
        const cuzk_sched_action *actions;
        const size_t count = cuzk_sched_step(s->sched, &queue[i], to_ns(s->fluid.now), &actions);
        for (size_t k = 0; k < count; k++) {
            const cuzk_sched_action *a = &actions[k];
            cuzk_sched_event answer = {.type = CUZK_EV_TICK};
            if (a->type == CUZK_ACT_ACCEPTED) on_accepted(s, a);
            if (a->type == CUZK_ACT_START) on_start(s, a);
            if (a->type == CUZK_ACT_JOB_END) on_end(s, a);
            if (a->type == CUZK_ACT_REFUSED) on_refused(s, a);
            if (a->type == CUZK_ACT_KEY_LOAD || a->type == CUZK_ACT_KEY_EVICT)
                on_key(s, a, &answer);
            if (answer.type != CUZK_EV_TICK && n < room) queue[n++] = answer;
        }
    }
    note_state(s);
}

static void report(sim *s, const sim_part *p, bool whole_job) {
    const sim_job *j = &s->jobs[p->job];
    send(s,
         &(cuzk_sched_event){.type = CUZK_EV_DONE,
                             .job = p->job_ref,
                             .partition = whole_job ? s->in->kinds[j->kind].partitions : p->index,
                             .run = p->run});
}

/* ---- ends of work ---- */

static void witness_ended(sim *s, sim_part *p) {
    const double took = s->fluid.now - p->witness_begin;
    s->witness_time += took;
    s->witness_alone += kind_of(s, p)->work[CUZK_SIM_WITNESS].seconds;
    note(s, p, CUZK_TRACE_SYNTH_END, p->witness_begin);
    note(s, p, CUZK_TRACE_GPU_QUEUE, -1);
    report(s, p, false);
}

static void staged(sim *s, sim_part *p, bool copied) {
    const bool waits = kind_of(s, p)->gate_waits;
    const bool was = p->copied && (waits || p->prepared);
    *(copied ? &p->copied : &p->prepared) = true;
    if (!was && p->copied && (waits || p->prepared)) report(s, p, false);
    if (!copied && p->hold == HOLD_RESULT) wake_device(s, p->device);
}

static void kernels_ended(sim *s, sim_part *p, cuzk_sim_work_id id) {
    sim_device *d = &s->devices[p->device];
    d->kernels--;
    d->kernel_time += s->fluid.now - p->since;
    if (id == CUZK_SIM_KERNELS) {
        wait_device(s, p, HOLD_RESULT);
        return;
    }
    if (d->owner == (uint32_t)(p - s->parts)) d->owner = CUZK_SCHED_NONE;
    d->gate_time += s->fluid.now - p->gate_begin;
    d->last = s->fluid.now;
    note(s, p, CUZK_TRACE_GPU_END, p->gate_begin);
    const uint32_t device = p->device;
    report(s, p, false);
    wake_device(s, device);
}

static void work_ended(sim *s, uint64_t tag) {
    const uint32_t id = (uint32_t)(tag % WORK_TAGS);
    if (id == WORK_KEY) {
        const uint64_t at = tag / WORK_TAGS, places = CUZK_SCHED_MAX_DEVICES + 1;
        const uint32_t place = (uint32_t)(at % places);
        send(s, &(cuzk_sched_event){.type = CUZK_EV_KEY_LOADED,
                                    .key = (uint32_t)(at / places),
                                    .device = place ? place - 1 : CUZK_SCHED_HOST});
        return;
    }
    sim_part *p = &s->parts[tag / WORK_TAGS];
    switch (id) {
    case CUZK_SIM_WITNESS:
        witness_ended(s, p);
        break;
    case CUZK_SIM_COPY:
    case CUZK_SIM_PREPARE:
        staged(s, p, id == CUZK_SIM_COPY);
        break;
    case CUZK_SIM_KERNELS:
    case CUZK_SIM_TAIL:
        kernels_ended(s, p, id);
        break;
    case WORK_STALL:
        s->devices[p->device].stalls--;
        begin_copy(s, p);
        wake_device(s, p->device);
        break;
    default:
        report(s, p, id == CUZK_SIM_ASSEMBLE);
    }
}

/* ---- the load ---- */

static void submit_next(sim *s, uint32_t kind) {
    const cuzk_sim_kind *k = &s->in->kinds[kind];
    const uint32_t number = s->first_of_kind[kind] + s->next_of_kind[kind]++;
    sim_job *j = &s->jobs[number];
    j->submitted = s->fluid.now;
    s->live_of_kind[kind]++;
    s->n_submitted++;
    const cuzk_sched_job_spec spec = {
        .cookie = number,
        .kind = kind,
        .key = kind,
        .priority = k->priority,
        .deadline = k->deadline > 0 ? to_ns(s->fluid.now + k->deadline) : CUZK_SCHED_NEVER,
        .reserved = k->reserved,
        .n_partitions = k->partitions,
        .shared = {to_bytes(k->shared), 0},
        .witness = {to_bytes(k->memory), to_bytes(k->pinned)},
        .scratch = {to_bytes(k->scratch), 0},
        .slot = to_bytes(k->slot)};
    send(s, &(cuzk_sched_event){.type = CUZK_EV_SUBMIT, .spec = &spec});
}

/* When the kind's next job is due; INFINITY: not by the clock. */
static double due(const sim *s, uint32_t kind) {
    const cuzk_sim_kind *k = &s->in->kinds[kind];
    if (s->next_of_kind[kind] >= k->count) return INFINITY;
    if (k->interval > 0) return k->interval * s->next_of_kind[kind];
    return k->concurrency == 0 || s->live_of_kind[kind] < k->concurrency ? s->fluid.now : INFINITY;
}

static void submit_due(sim *s) {
    for (uint32_t kind = 0; kind < s->in->n_kinds; kind++)
        while (s->status == CUZK_OK && due(s, kind) <= s->fluid.now)
            submit_next(s, kind);
}

static double next_time(const sim *s) {
    double t = fluid_next(&s->fluid);
    for (uint32_t kind = 0; kind < s->in->n_kinds; kind++)
        t = fmin(t, due(s, kind));
    const int64_t timer = cuzk_sched_next_timer(s->sched);
    if (timer != CUZK_SCHED_NEVER) t = fmin(t, fmax((double)timer / 1e9, s->fluid.now));
    return t;
}

static cuzk_status run(sim *s) {
    uint64_t tag;
    submit_due(s);
    while (s->status == CUZK_OK && s->n_ended < s->n_jobs) {
        const double t = next_time(s);
        if (isinf(t))
            return cuzk_err_set(s->err, CUZK_STATUS_BUG, "scenario %s stands still at %.3f s",
                                s->in->name, s->fluid.now);
        if (t > LONGEST)
            return cuzk_err_set(s->err, CUZK_STATUS_BAD_INPUT,
                                "scenario %s takes more than thirty years", s->in->name);
        fluid_advance(&s->fluid, t);
        while (s->status == CUZK_OK && fluid_take(&s->fluid, &tag))
            work_ended(s, tag);
        const int64_t timer = cuzk_sched_next_timer(s->sched);
        if (timer <= to_ns(t)) send(s, &(cuzk_sched_event){.type = CUZK_EV_TICK});
        submit_due(s);
    }
    return s->status;
}

/* ---- beginning and end ---- */

static cuzk_status make_scheduler(sim *s) {
    const cuzk_sim_scenario *in = s->in;
    cuzk_sched_device devices[CUZK_SCHED_MAX_DEVICES];
    for (uint32_t d = 0; d < in->devices && d < CUZK_SCHED_MAX_DEVICES; d++)
        devices[d] = (cuzk_sched_device){to_bytes(in->device_memory), UINT32_MAX};
    cuzk_sched_config c = {.max_jobs = s->n_jobs,
                           .max_partitions = s->n_parts + s->n_jobs,
                           .max_keys = in->n_kinds,
                           .n_devices = in->devices,
                           .devices = devices,
                           .witness_workers = in->witness_workers,
                           .reserved_witness_workers = in->reserved_witness_workers,
                           .max_ready = in->max_ready,
                           .slots_per_device = in->slots,
                           .reserved_slots = in->reserved_slots,
                           .results_per_device = in->results,
                           .finishers = in->finishers,
                           .verifiers = in->verifiers,
                           .slot_until = (cuzk_sched_stage)in->slot_until,
                           .witness_until = (cuzk_sched_stage)in->witness_until,
                           .host_memory = to_bytes(fmax(in->memory - in->base_memory, 0)),
                           .pinned_memory = to_bytes(in->pinned)};
    for (uint32_t i = 0; i < in->n_kinds; i++) {
        const cuzk_sim_kind *k = &in->kinds[i];
        if (!k->reserved) continue;
        c.reserved.host += to_bytes(k->shared + k->memory + k->scratch);
        c.reserved.pinned += to_bytes(k->pinned);
        c.reserved_device += to_bytes(k->slot);
    }
    const size_t bytes = cuzk_sched_bytes(&c);
    if (bytes == 0)
        return cuzk_err_set(
            s->err, CUZK_STATUS_BAD_INPUT,
            "scenario %s: its numbers of workers, slots, devices or its memory make "
            "no scheduler",
            in->name);
    CUZK_TRY(cuzk_alloc(&s->block, bytes, 1));
    s->sched = cuzk_sched_init(s->block, &c);
    return CUZK_OK;
}

static cuzk_status make_records(sim *s) {
    for (uint32_t i = 0; i < s->in->n_kinds; i++) {
        const cuzk_sim_kind *k = &s->in->kinds[i];
        s->first_of_kind[i] = s->n_jobs;
        s->n_jobs += k->count;
        s->n_parts += k->count * k->partitions;
    }
    const uint32_t slots = s->in->slots + s->in->reserved_slots;
    CUZK_TRY(cuzk_alloc((void **)&s->jobs, s->n_jobs, sizeof *s->jobs));
    CUZK_TRY(cuzk_alloc((void **)&s->parts, s->n_parts, sizeof *s->parts));
    CUZK_TRY(cuzk_alloc((void **)&s->waiting_store, (size_t)s->in->devices * slots,
                        sizeof *s->waiting_store));
    uint32_t part = 0;
    for (uint32_t i = 0; i < s->in->n_kinds; i++) {
        for (uint32_t n = 0; n < s->in->kinds[i].count; n++) {
            const uint32_t number = s->first_of_kind[i] + n;
            s->jobs[number] = (sim_job){
                .kind = i, .first_part = part, .first_stage = -1, .first_kernel = -1, .end = -1};
            for (uint32_t p = 0; p < s->in->kinds[i].partitions; p++)
                s->parts[part++] = (sim_part){.job = number, .index = p};
        }
    }
    for (uint32_t d = 0; d < s->in->devices; d++)
        s->devices[d] = (sim_device){
            .owner = CUZK_SCHED_NONE, .waiting = s->waiting_store + (size_t)d * slots, .first = -1};
    return CUZK_OK;
}

static void begin(sim *s) {
    for (uint32_t d = 0; d < s->in->devices; d++)
        send(s, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = d});
    for (uint32_t i = 0; i < s->in->n_kinds; i++) {
        const cuzk_sim_kind *k = &s->in->kinds[i];
        const cuzk_sched_key_spec key = {
            {to_bytes(k->key_host), 0}, to_bytes(k->key_device), k->key_kept};
        send(s, &(cuzk_sched_event){.type = CUZK_EV_KEY_DEFINE, .key = i, .key_spec = &key});
    }
}

static cuzk_status check(const cuzk_sim_scenario *in, cuzk_err *err) {
    uint64_t parts = 0, jobs = 0;
    for (uint32_t i = 0; i < in->n_kinds; i++) {
        const cuzk_sim_kind *k = &in->kinds[i];
        if (k->partitions < 1 || k->partitions > CUZK_SCHED_MAX_PARTITIONS)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "kind %s: partitions must be 1 to %d",
                                k->name, CUZK_SCHED_MAX_PARTITIONS);
        parts += (uint64_t)k->count * k->partitions;
        jobs += k->count;
    }
    if (jobs == 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "scenario %s has no jobs", in->name);
    if (parts + jobs > 1u << 20)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "scenario %s has more than a million partitions", in->name);
    if (in->devices < 1 || in->devices > CUZK_SCHED_MAX_DEVICES)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "scenario %s: devices must be 1 to %d",
                            in->name, CUZK_SCHED_MAX_DEVICES);
    return CUZK_OK;
}

cuzk_status cuzk_sim_run(cuzk_sim_result *out, const cuzk_sim_scenario *in, cuzk_trace *trace,
                         cuzk_err *err) {
    sim s = {.in = in, .trace = trace, .err = err};
    *out = (cuzk_sim_result){0};
    CUZK_TRY(check(in, err));
    s.fluid.bandwidth = in->bandwidth;
    s.fluid.cores = in->cores;
    cuzk_status st;
    CUZK_TRY_GOTO(make_records(&s), out);
    CUZK_TRY_GOTO(make_scheduler(&s), out);
    begin(&s);
    CUZK_TRY_GOTO(run(&s), out);
    cuzk__sim_measure(&s, out);
out:
    if (st == CUZK_STATUS_NO_MEMORY) (void)cuzk_err_set(err, st, "not enough memory to simulate");
    cuzk_free(s.jobs);
    cuzk_free(s.parts);
    cuzk_free(s.waiting_store);
    cuzk_free(s.block);
    fluid_free(&s.fluid);
    return st;
}

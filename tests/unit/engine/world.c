#include "support.h"

#include "world.h"

uint64_t world_rng(world *w) {
    test_rng_state = w->rng;
    const uint64_t v = test_rng();
    w->rng = test_rng_state;
    return v;
}

void world_fail(const world *w, const char *rule) {
    fail_msg("seed 0x%llx, t = %lld: %s", (unsigned long long)w->seed, (long long)w->now, rule);
}

static void require(const world *w, bool ok, const char *rule) {
    if (!ok) world_fail(w, rule);
}

void world_later(world *w, int64_t at, const cuzk_sched_event *e) {
    require(w, w->n_pending < WORLD_PENDING, "the test's list of events is too short");
    world_event *v = &w->pending[w->n_pending++];
    *v = (world_event){.at = at, .order = w->next_order++, .e = *e};
    if (e->device < CUZK_SCHED_MAX_DEVICES) v->epoch = w->epoch[e->device];
}

static world_job *job_by_cookie(world *w, uint64_t cookie) {
    require(w, cookie < w->n_jobs, "cookie of no job");
    return &w->jobs[cookie];
}

static void leave_work(world *w, world_part *p) {
    if (p->where != AT_WORK) return;
    w->running[p->stage]--;
    if (p->worker < WORLD_WORKERS) {
        const uint32_t d =
            p->stage == CUZK_STAGE_STAGE || p->stage == CUZK_STAGE_COMPUTE ? p->device : 0;
        w->worker_busy[p->stage][d][p->worker] = false;
    }
    p->where = AT_NOTHING;
}

/* ---- order ---- */

static bool ranks_before(const world_job *a, uint32_t pa, const world_job *b, uint32_t pb) {
    if (a->spec.priority != b->spec.priority) return a->spec.priority > b->spec.priority;
    if (a->spec.deadline != b->spec.deadline) return a->spec.deadline < b->spec.deadline;
    if (a->seq != b->seq) return a->seq < b->seq;
    return pa < pb;
}

/* Whether (a, pa) may stand waiting at `where` while (b, pb) goes on. */
static bool excused(const world *w, const world_job *a, uint32_t pa, const world_job *b,
                    const cuzk_sched_action *act) {
    const world_part *p = &a->parts[pa];
    switch (p->where) {
    case AT_WITNESS_QUEUE: /* what has not begun may wait for memory that begun jobs hold */
        return b->spec.reserved || (!a->started && b->started);
    case AT_READY_QUEUE: {
        if (!w->strict_ready) return true;
        return b->spec.reserved;
    }
    case AT_GATE:
        return p->device != act->device;
    default:
        return false;
    }
}

static void check_order(const world *w, const world_job *b, const cuzk_sched_action *act,
                        world_where from) {
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        const world_job *a = &w->jobs[i];
        if (!a->accepted || a->ended) continue;
        for (uint32_t pa = 0; pa <= a->spec.n_partitions; pa++) {
            if (a->parts[pa].where != from || !ranks_before(a, pa, b, act->partition)) continue;
            require(w, excused(w, a, pa, b, act), "a partition overtook another");
        }
    }
}

/* ---- actions ---- */

static world_where queue_before(cuzk_sched_stage stage) {
    static const world_where from[] = {AT_WITNESS_QUEUE, AT_READY_QUEUE,  AT_GATE,
                                       AT_FINISH_QUEUE,  AT_VERIFY_QUEUE, AT_VERIFY_QUEUE};
    return from[stage];
}

static uint32_t workers_of(const world *w, cuzk_sched_stage stage) {
    const cuzk_sched_config *c = &w->config;
    switch (stage) {
    case CUZK_STAGE_WITNESS:
        return c->witness_workers + c->reserved_witness_workers;
    case CUZK_STAGE_STAGE:
    case CUZK_STAGE_COMPUTE:
        return c->slots_per_device + c->reserved_slots;
    case CUZK_STAGE_FINISH:
        return c->finishers;
    default:
        return c->verifiers;
    }
}

static void check_device(const world *w, const world_job *j, const cuzk_sched_action *a) {
    const uint32_t d = a->device, k = j->spec.key;
    require(w, d < w->config.n_devices && w->up[d], "work for a device that is down");
    require(w, w->devices[d].kinds >> j->spec.kind & 1, "work for a device of another kind");
    if (a->stage == CUZK_STAGE_STAGE)
        require(w, !w->quarantined[d], "work for a device in quarantine");
    if (a->stage == CUZK_STAGE_COMPUTE) {
        for (uint32_t i = 0; i < WORLD_WORKERS; i++)
            require(w, !w->worker_busy[CUZK_STAGE_COMPUTE][d][i], "two partitions in one gate");
    }
    if (k == CUZK_SCHED_NONE || a->stage == CUZK_STAGE_FINISH) return;
    require(w, w->keys[k][0] == CUZK_KEY_READY, "work without its key");
}

static int64_t random_duration(world *w, const cuzk_sched_action *a) {
    static const unsigned most[] = {300, 40, 100, 20, 10, 5};
    return 1 + (int64_t)(world_rng(w) % most[a->stage]);
}

static cuzk_sched_fault random_fault(world *w, cuzk_sched_stage stage) {
    const unsigned dice = (unsigned)(world_rng(w) % 1000);
    if (dice < w->input_permille) return CUZK_FAULT_INPUT;
    if (dice < w->input_permille + w->fault_permille) return CUZK_FAULT_ERROR;
    if (stage == CUZK_STAGE_VERIFY &&
        dice < w->input_permille + w->fault_permille + w->wrong_permille)
        return CUZK_FAULT_WRONG;
    return CUZK_FAULT_NONE;
}

static void on_start(world *w, const cuzk_sched_action *a) {
    world_job *j = job_by_cookie(w, a->cookie);
    require(w, j->accepted && !j->ended && j->ref == a->job, "work for a job that is not live");
    require(w, a->partition <= j->spec.n_partitions, "partition");
    world_part *p = &j->parts[a->partition];
    const world_where from = queue_before(a->stage);
    require(w, p->where == from, "a stage out of turn");
    check_order(w, j, a, from);
    if (a->stage == CUZK_STAGE_STAGE) p->device = a->device;
    if (a->stage >= CUZK_STAGE_STAGE && a->stage <= CUZK_STAGE_FINISH) {
        require(w, p->device == a->device, "device changed between stages");
        check_device(w, j, a);
    }
    if (a->stage == CUZK_STAGE_STAGE) p->slot = a->worker;
    if (a->stage == CUZK_STAGE_COMPUTE) require(w, p->slot == a->worker, "slot changed");
    const uint32_t n = workers_of(w, a->stage);
    require(w, a->worker < n, "no such worker");
    const uint32_t d =
        a->stage == CUZK_STAGE_STAGE || a->stage == CUZK_STAGE_COMPUTE ? a->device : 0;
    bool *busy = &w->worker_busy[a->stage][d][a->worker];
    require(w, !*busy, "a worker with two pieces of work");
    if (a->stage == CUZK_STAGE_WITNESS && a->worker >= w->config.witness_workers)
        require(w, j->spec.reserved, "a reserved worker used");
    *busy = true;
    if (a->stage == CUZK_STAGE_WITNESS) j->started = true;
    if (a->stage == CUZK_STAGE_COMPUTE && j->first_compute < 0) j->first_compute = w->now;
    p->where = AT_WORK;
    p->stage = a->stage;
    p->run = a->run;
    p->worker = a->worker;
    p->tries[a->stage]++;
    w->running[a->stage]++;
    const int64_t ns = w->duration ? w->duration(w, a) : random_duration(w, a);
    const cuzk_sched_event done = {
        .type = CUZK_EV_DONE,
        .job = a->job,
        .partition = a->partition,
        .run = a->run,
        .fault = w->fault ? w->fault(w, a) : random_fault(w, a->stage),
        .key = (uint32_t)a->cookie, /* unused by DONE: for the test */
        .device = a->stage >= CUZK_STAGE_STAGE && a->stage <= CUZK_STAGE_FINISH ? a->device
                                                                                : CUZK_SCHED_HOST};
    world_later(w, w->now + ns, &done);
}

static void on_key(world *w, const cuzk_sched_action *a) {
    const uint32_t place = a->device == CUZK_SCHED_HOST ? 0 : a->device + 1;
    const bool load = a->type == CUZK_ACT_KEY_LOAD;
    cuzk_sched_key_state *state = &w->keys[a->key][place];
    if (load) {
        require(w, *state == CUZK_KEY_ABSENT || *state == CUZK_KEY_LOADING, "key loaded twice");
        require(w, place == 0 || w->keys[a->key][0] == CUZK_KEY_READY, "device key without host's");
        require(w, place == 0 || w->up[a->device], "key for a device that is down");
        w->key_loads++;
    } else {
        require(w, *state == CUZK_KEY_READY, "key evicted that is not there");
        w->key_evicts++;
        for (uint32_t i = 0; i < w->n_jobs; i++) {
            const world_job *j = &w->jobs[i];
            if (!j->accepted || j->spec.key != a->key) continue;
            for (uint32_t q = 0; q < j->spec.n_partitions; q++) {
                const world_part *p = &j->parts[q];
                const bool device_work = p->where == AT_WORK && (p->stage == CUZK_STAGE_STAGE ||
                                                                 p->stage == CUZK_STAGE_COMPUTE);
                if (device_work && (place == 0 || p->device == a->device))
                    world_fail(w, "key evicted in use");
            }
        }
    }
    *state = load ? CUZK_KEY_LOADING : CUZK_KEY_EVICTING;
    const cuzk_sched_event e = {.type = load ? CUZK_EV_KEY_LOADED : CUZK_EV_KEY_EVICTED,
                                .key = a->key,
                                .device = a->device,
                                .fault = load && world_rng(w) % 1000 < w->fault_permille
                                             ? CUZK_FAULT_ERROR
                                             : CUZK_FAULT_NONE};
    world_later(w, w->now + 1 + (int64_t)(world_rng(w) % 200), &e);
}

static void on_end(world *w, const cuzk_sched_action *a) {
    world_job *j = job_by_cookie(w, a->cookie);
    require(w, j->accepted && !j->ended, "a job ended twice");
    j->ended = true;
    j->outcome = a->outcome;
    j->stage = a->stage;
    j->reason = a->reason;
    j->end = w->now;
    w->ends++;
    for (uint32_t i = 0; i <= j->spec.n_partitions; i++) {
        const bool done = j->parts[i].where == AT_END || (j->spec.done >> i & 1);
        if (a->outcome == CUZK_OUTCOME_DONE && i < j->spec.n_partitions)
            require(w, done, "a job done without all its partitions");
        if (j->parts[i].where != AT_WORK) j->parts[i].where = AT_END;
    }
    if (a->outcome == CUZK_OUTCOME_DEADLINE)
        require(w, j->spec.deadline <= w->now, "a deadline too early");
    if (a->outcome == CUZK_OUTCOME_DONE)
        require(w, w->now <= j->spec.deadline, "a job done after its deadline");
}

static void on_action(world *w, const cuzk_sched_action *a) {
    world_job *j;
    if (w->watch) w->watch(w, a);
    switch (a->type) {
    case CUZK_ACT_ACCEPTED:
        j = job_by_cookie(w, a->cookie);
        j->accepted = true;
        j->ref = a->job;
        j->position = a->position;
        break;
    case CUZK_ACT_REFUSED:
        w->refusals++;
        w->last_refusal = *a;
        break;
    case CUZK_ACT_START:
        on_start(w, a);
        break;
    case CUZK_ACT_STOP:
        j = job_by_cookie(w, a->cookie);
        require(w, j->ended && j->parts[a->partition].where == AT_WORK, "stop of nothing");
        w->stops++;
        break;
    case CUZK_ACT_PARTITION_DONE:
        j = job_by_cookie(w, a->cookie);
        require(w, !j->ended && j->parts[a->partition].stage == CUZK_STAGE_VERIFY, "done early");
        j->parts[a->partition].where = AT_END;
        break;
    case CUZK_ACT_JOB_END:
        on_end(w, a);
        break;
    case CUZK_ACT_JOB_FREE:
        j = job_by_cookie(w, a->cookie);
        require(w, j->ended && !j->freed, "a job freed twice or before its end");
        j->freed = true;
        for (uint32_t i = 0; i <= j->spec.n_partitions; i++)
            require(w, j->parts[i].where != AT_WORK, "a job freed while work uses it");
        break;
    case CUZK_ACT_KEY_LOAD:
    case CUZK_ACT_KEY_EVICT:
        on_key(w, a);
        break;
    case CUZK_ACT_KEY_REFUSED:
        w->key_refusals++;
        break;
    case CUZK_ACT_LENT:
        w->lent++;
        break;
    case CUZK_ACT_LEND_REFUSED:
        w->lend_refusals++;
        break;
    case CUZK_ACT_QUARANTINE:
        w->quarantined[a->device] = true;
        w->quarantines++;
        break;
    case CUZK_ACT_RESTORE:
        w->quarantined[a->device] = false;
        break;
    case CUZK_ACT_DRAINED:
        w->drained++;
        break;
    }
}

/* ---- reports ---- */

static bool witness_left(const world *w, cuzk_sched_stage failed) {
    /* The witness's memory goes with the end of witness_until, so a later failure starts anew. */
    return failed <= w->config.witness_until;
}

/* What the world knows before the scheduler hears of it. */
static void note_report(world *w, const cuzk_sched_event *e) {
    world_job *j = job_by_cookie(w, e->key);
    world_part *p = &j->parts[e->partition];
    if (p->where != AT_WORK || p->run != e->run) return;
    leave_work(w, p);
    if (j->ended) {
        p->where = AT_END;
    } else if (e->fault == CUZK_FAULT_NONE) {
        static const world_where next[] = {AT_READY_QUEUE,  AT_GATE,    AT_FINISH_QUEUE,
                                           AT_VERIFY_QUEUE, AT_NOTHING, AT_NOTHING};
        p->where = next[p->stage];
        if (p->stage == CUZK_STAGE_VERIFY) { /* the last one lets the assembly wait */
            bool all = true;
            for (uint32_t i = 0; i < j->spec.n_partitions; i++)
                all &= i == e->partition || j->parts[i].where == AT_END;
            if (all) j->parts[j->spec.n_partitions].where = AT_VERIFY_QUEUE;
        }
    } else if (p->stage == CUZK_STAGE_ASSEMBLE) {
        p->where = AT_VERIFY_QUEUE;
    } else {
        p->retried = true;
        p->where = p->stage != CUZK_STAGE_WITNESS && witness_left(w, p->stage) ? AT_READY_QUEUE
                                                                               : AT_WITNESS_QUEUE;
    }
}

static void note_device_down(world *w, uint32_t d) {
    w->up[d] = false;
    w->epoch[d]++;
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        world_job *j = &w->jobs[i];
        for (uint32_t q = 0; j->accepted && q < j->spec.n_partitions; q++) {
            world_part *p = &j->parts[q];
            const bool there = p->where == AT_GATE || p->where == AT_FINISH_QUEUE ||
                               (p->where == AT_WORK && p->stage >= CUZK_STAGE_STAGE &&
                                p->stage <= CUZK_STAGE_FINISH);
            if (!there || p->device != d) continue;
            /* The witness outlives the stage that frees it only when that stage has not ended. */
            const bool ended = p->where != AT_WORK;
            const bool kept =
                ended ? p->stage < w->config.witness_until : p->stage <= w->config.witness_until;
            leave_work(w, p);
            p->retried = true;
            p->where = j->ended ? AT_END : kept ? AT_READY_QUEUE : AT_WITNESS_QUEUE;
        }
    }
    for (uint32_t k = 0; k < WORLD_KEYS; k++)
        w->keys[k][d + 1] = CUZK_KEY_ABSENT;
}

static void note_key(world *w, const cuzk_sched_event *e) {
    const uint32_t place = e->device == CUZK_SCHED_HOST ? 0 : e->device + 1;
    cuzk_sched_key_state *state = &w->keys[e->key][place];
    if (e->type == CUZK_EV_KEY_EVICTED)
        *state = CUZK_KEY_ABSENT;
    else if (e->fault == CUZK_FAULT_NONE)
        *state = CUZK_KEY_READY;
    else
        *state = CUZK_KEY_ABSENT; /* or LOADING again, by an action that follows */
}

void world_send(world *w, const cuzk_sched_event *e) {
    const cuzk_sched_action *a;
    switch (e->type) {
    case CUZK_EV_DONE:
        note_report(w, e);
        break;
    case CUZK_EV_DEVICE_UP:
        w->up[e->device] = true;
        break;
    case CUZK_EV_DEVICE_DOWN:
        if (!w->up[e->device]) return;
        note_device_down(w, e->device);
        break;
    case CUZK_EV_KEY_LOADED:
    case CUZK_EV_KEY_EVICTED:
        note_key(w, e);
        break;
    default:
        break;
    }
    const size_t n = cuzk_sched_step(w->s, e, w->now, &a);
    for (size_t i = 0; i < n; i++)
        on_action(w, &a[i]);
    const char *wrong = cuzk_sched_check(w->s);
    if (wrong) world_fail(w, wrong);
    cuzk_sched_stats stats;
    cuzk_sched_get_stats(w->s, &stats);
    if (stats.ready > w->most_ready) w->most_ready = stats.ready;
}

static bool stale(const world *w, const world_event *v) {
    const bool report = v->e.type == CUZK_EV_DONE || v->e.type == CUZK_EV_KEY_LOADED ||
                        v->e.type == CUZK_EV_KEY_EVICTED;
    return report && v->e.device < CUZK_SCHED_MAX_DEVICES && v->epoch != w->epoch[v->e.device];
}

void world_run_until(world *w, int64_t t) {
    for (;;) {
        size_t best = w->n_pending;
        for (size_t i = 0; i < w->n_pending; i++) {
            const world_event *v = &w->pending[i];
            if (best == w->n_pending || v->at < w->pending[best].at ||
                (v->at == w->pending[best].at && v->order < w->pending[best].order))
                best = i;
        }
        const int64_t timer = cuzk_sched_next_timer(w->s);
        const int64_t event = best < w->n_pending ? w->pending[best].at : INT64_MAX;
        const int64_t next = event <= timer ? event : timer;
        if (next == INT64_MAX || next > t) break;
        if (next > w->now) w->now = next;
        if (event > timer) {
            world_send(w, &(cuzk_sched_event){.type = CUZK_EV_TICK});
            require(w, cuzk_sched_next_timer(w->s) > timer, "a timer that does not go away");
            continue;
        }
        const world_event v = w->pending[best];
        w->pending[best] = w->pending[--w->n_pending];
        if (!stale(w, &v)) world_send(w, &v.e);
    }
    if (t != INT64_MAX && t > w->now) w->now = t;
}

void world_run(world *w) {
    world_run_until(w, INT64_MAX);
}

/* ---- beginning and end ---- */

void world_begin(world *w) {
    w->config.devices = w->devices;
    const size_t bytes = cuzk_sched_bytes(&w->config);
    require(w, bytes > 0, "the test's configuration is refused");
    w->block = malloc(bytes);
    assert_non_null(w->block);
    w->s = cuzk_sched_init(w->block, &w->config);
    assert_non_null(w->s);
    for (uint32_t d = 0; d < w->config.n_devices; d++)
        world_send(w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = d});
}

void world_end(world *w) {
    for (uint32_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].accepted)
            require(w, w->jobs[i].ended && w->jobs[i].freed, "a job that never ended");
    cuzk_sched_stats stats;
    cuzk_sched_get_stats(w->s, &stats);
    require(w, stats.jobs == 0 && stats.queued == 0 && stats.ready == 0, "something is left");
    free(w->block);
    w->block = NULL;
}

world_job *world_submit(world *w, const cuzk_sched_job_spec *spec) {
    require(w, w->n_jobs < WORLD_JOBS, "the test has too many jobs");
    world_job *j = &w->jobs[w->n_jobs];
    *j = (world_job){.spec = *spec, .seq = w->n_jobs, .submitted = w->now, .first_compute = -1};
    j->spec.cookie = w->n_jobs++;
    for (uint32_t i = 0; i < spec->n_partitions && i < CUZK_SCHED_MAX_PARTITIONS; i++)
        j->parts[i].where = spec->done >> i & 1 ? AT_END : AT_WITNESS_QUEUE;
    if (spec->n_partitions && spec->n_partitions <= CUZK_SCHED_MAX_PARTITIONS &&
        spec->done ==
            (spec->n_partitions == 64 ? UINT64_MAX : (UINT64_C(1) << spec->n_partitions) - 1))
        j->parts[spec->n_partitions].where = AT_VERIFY_QUEUE;
    world_send(w, &(cuzk_sched_event){.type = CUZK_EV_SUBMIT, .spec = &j->spec});
    return j->accepted ? j : NULL;
}

void world_cancel(world *w, const world_job *j) {
    world_send(w, &(cuzk_sched_event){.type = CUZK_EV_CANCEL, .job = j->ref});
}

void world_define_key(world *w, uint32_t k, cuzk_sched_key_spec spec) {
    world_send(w, &(cuzk_sched_event){.type = CUZK_EV_KEY_DEFINE, .key = k, .key_spec = &spec});
}

/* One event in, the decisions out. */
#include "state.h"

cuzk_sched_action *cuzk__sched_emit(cuzk_sched *s, cuzk_sched_action_type type) {
    if (s->n_actions == s->max_actions) {
        s->overflow = true;
        s->n_actions--;
    }
    cuzk_sched_action *a = &s->actions[s->n_actions++];
    *a = (cuzk_sched_action){.type = type,
                             .stage = CUZK_STAGE_QUEUE,
                             .partition = NONE,
                             .worker = NONE,
                             .device = NONE,
                             .key = NONE};
    return a;
}

cuzk_sched_action *cuzk__sched_emit_part(cuzk_sched *s, cuzk_sched_action_type type, const job *j,
                                         const part *p) {
    cuzk_sched_action *a = cuzk__sched_emit(s, type);
    a->job = job_ref(s, j);
    a->cookie = j->spec.cookie;
    a->key = j->spec.key;
    if (!p) return a;
    a->partition = p->index;
    a->run = p->run;
    a->stage = cuzk__sched_stage_of(p->state);
    a->device = p->device;
    a->worker = p->worker != NONE ? p->worker : p->slot;
    return a;
}

static void drain(cuzk_sched *s, const cuzk_sched_event *e) {
    s->draining = e->type == CUZK_EV_DRAIN;
    s->checkpoint = s->draining && e->checkpoint;
    s->drained = false;
}

static void cancel(cuzk_sched *s, uint64_t ref) {
    job *j = cuzk__sched_find(s, ref);
    if (j && !j->ended)
        cuzk__sched_end(s, j, CUZK_OUTCOME_CANCELLED, CUZK_STAGE_QUEUE, CUZK_REASON_NONE);
}

static void handle(cuzk_sched *s, const cuzk_sched_event *e) {
    switch (e->type) {
    case CUZK_EV_TICK:
        break;
    case CUZK_EV_SUBMIT:
        cuzk__sched_submit(s, e->spec);
        break;
    case CUZK_EV_CANCEL:
        cancel(s, e->job);
        break;
    case CUZK_EV_DONE:
        cuzk__sched_done(s, e);
        break;
    case CUZK_EV_KEY_DEFINE:
    case CUZK_EV_KEY_PRELOAD:
    case CUZK_EV_KEY_EVICT:
    case CUZK_EV_KEY_LOADED:
    case CUZK_EV_KEY_EVICTED:
        cuzk__sched_key_event(s, e);
        break;
    case CUZK_EV_DEVICE_UP:
    case CUZK_EV_DEVICE_DOWN:
    case CUZK_EV_DEVICE_RESTORE:
        cuzk__sched_device_event(s, e);
        break;
    case CUZK_EV_LEND:
    case CUZK_EV_TAKE_BACK:
        cuzk__sched_lend_event(s, e);
        break;
    case CUZK_EV_DRAIN:
    case CUZK_EV_RESUME:
        drain(s, e);
        break;
    }
}

size_t cuzk_sched_step(cuzk_sched *s, const cuzk_sched_event *event, int64_t now,
                       const cuzk_sched_action **actions) {
    if (now > s->now) s->now = now;
    s->n_actions = 0;
    cuzk__sched_quarantine_timers(s);
    handle(s, event);
    cuzk__sched_expire(s);
    cuzk__sched_fail_unplaceable(s);
    cuzk__sched_dispatch(s);
    *actions = s->actions;
    return s->n_actions;
}

int64_t cuzk_sched_next_timer(const cuzk_sched *s) {
    int64_t t = s->next_deadline;
    for (uint32_t d = 0; d < s->config.n_devices; d++)
        if (s->devices[d].quarantined && s->devices[d].until < t) t = s->devices[d].until;
    return t;
}

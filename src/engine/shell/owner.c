/* The owner: the one thread that has the scheduler. */
#include "state.h"

#include "base/clock.h"

void cuzk__shell_post(cuzk_engine *e, note *n) {
    n->next = NULL;
    pthread_mutex_lock(&e->notes_lock);
    if (e->notes_last)
        e->notes_last->next = n;
    else
        e->notes = n;
    e->notes_last = n;
    pthread_cond_signal(&e->notes_wake);
    pthread_mutex_unlock(&e->notes_lock);
}

void cuzk__shell_step(cuzk_engine *e, const cuzk_sched_event *event) {
    const cuzk_sched_action *actions;
    const size_t n = cuzk_sched_step(e->sched, event, cuzk_now_ns(), &actions);
    for (size_t i = 0; i < n; i++)
        cuzk__shell_act(e, &actions[i]);
}

void cuzk__shell_changed(cuzk_engine *e, job *j) {
    if (j->changed || atomic_load(&e->n_watches) == 0) return;
    j->changed = true;
    atomic_fetch_add(&j->refs, 1);
    j->next_changed = e->changed;
    e->changed = j;
}

/* When something is due that nobody will tell. */
static int64_t next_timer(const cuzk_engine *e) {
    int64_t t = cuzk_sched_next_timer(e->sched);
    if (e->retry && e->retry_at < t) t = e->retry_at;
    if (e->n_recent && e->sweep_at < t) t = e->sweep_at;
    return t;
}

/* All notes there are, in order; waits for one, or until `timer`. */
static note *take_notes(cuzk_engine *e, int64_t timer, bool *stop) {
    pthread_mutex_lock(&e->notes_lock);
    while (!e->notes && !e->stop && cuzk_now_ns() < timer) {
        const struct timespec t = {timer / 1000000000, timer % 1000000000};
        if (timer == CUZK_SCHED_NEVER)
            pthread_cond_wait(&e->notes_wake, &e->notes_lock);
        else
            pthread_cond_timedwait(&e->notes_wake, &e->notes_lock, &t);
    }
    note *n = e->notes;
    *stop = e->stop;
    if (!*stop) e->notes = e->notes_last = NULL;
    pthread_mutex_unlock(&e->notes_lock);
    return *stop ? NULL : n;
}

/* What snapshots show of the scheduler. */
static void publish(cuzk_engine *e) {
    cuzk_sched_get_stats(e->sched, &e->stats);
    for (uint32_t d = 0; d < e->n_devices; d++)
        cuzk_sched_get_device(e->sched, d, &e->device_stats[d]);
}

static void timers(cuzk_engine *e, int64_t now) {
    if (cuzk_sched_next_timer(e->sched) <= now)
        cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_TICK});
    if (e->retry && e->retry_at <= now) cuzk__shell_retry_ends(e, now);
    if (e->n_recent && e->sweep_at <= now) cuzk__shell_sweep(e, now);
}

static void tell_watches(cuzk_engine *e, job *changed) {
    while (changed) {
        job *j = changed;
        changed = j->next_changed;
        cuzk__shell_tell(e, j);
        cuzk__shell_job_drop(j);
    }
}

/* One note, or none: only timers. */
static void turn(cuzk_engine *e, note *n) {
    pthread_mutex_lock(&e->lock);
    if (n) n->handle(e, n);
    timers(e, cuzk_now_ns());
    publish(e);
    job *changed = e->changed;
    e->changed = NULL;
    for (job *j = changed; j; j = j->next_changed)
        j->changed = false;
    pthread_mutex_unlock(&e->lock);
    tell_watches(e, changed);
}

void *cuzk__shell_owner(void *engine) {
    cuzk_engine *e = engine;
    bool stop = false;
    pthread_setname_np(pthread_self(), "owner");
    int64_t timer = 0;
    while (!stop) {
        note *n = take_notes(e, timer, &stop);
        if (stop) break;
        if (!n) turn(e, NULL);
        while (n) {
            note *next = n->next; /* it may be somebody's again as soon as it is handled */
            turn(e, n);
            n = next;
        }
        pthread_mutex_lock(&e->lock);
        timer = next_timer(e);
        pthread_mutex_unlock(&e->lock);
    }
    return NULL;
}

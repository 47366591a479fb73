/* Those who want to hear of jobs. watch_lock is held while they are called, so that none is called
 * after it has gone. */
#include "state.h"

#include "base/mem.h"

#include <string.h>

static void snapshot(cuzk_engine *e, const job *j, cuzk_engine_job *out) {
    pthread_mutex_lock(&e->lock);
    *out = j->view;
    pthread_mutex_unlock(&e->lock);
}

static void call_all(cuzk_engine_watch *list, const cuzk_engine_job *view) {
    for (cuzk_engine_watch *w = list; w; w = w->next)
        w->changed(w->ctx, view);
}

void cuzk__shell_tell(cuzk_engine *e, job *j) {
    cuzk_engine_job view;
    pthread_mutex_lock(&e->watch_lock);
    snapshot(e, j, &view);
    if (view.id[0]) {
        call_all(j->watches, &view);
        call_all(e->watches, &view);
    }
    pthread_mutex_unlock(&e->watch_lock);
}

static cuzk_engine_watch **list_of(cuzk_engine_watch *w) {
    return w->job ? &w->job->watches : w->all ? &w->e->watches : NULL;
}

static void link_watch(cuzk_engine_watch *w) {
    cuzk_engine_watch **list = list_of(w);
    if (!list) return;
    w->next = *list;
    if (*list) (*list)->prev = w;
    *list = w;
}

/* Tells of all jobs, or of the one, as they are now; watch_lock is held. */
static cuzk_status tell_first(cuzk_engine *e, cuzk_engine_watch *w, const char *id, cuzk_err *err) {
    cuzk_engine_job *views = NULL;
    uint32_t n = 0;
    pthread_mutex_lock(&e->lock);
    job *one = cuzk__shell_job_find(e, id);
    const uint32_t most = w->all ? e->n_jobs : one ? 1 : 0;
    cuzk_status st = cuzk_alloc((void **)&views, most + 1, sizeof *views);
    for (job *j = w->all ? e->jobs : one; st == CUZK_OK && j && n < most; j = j->next)
        if (j->view.id[0]) views[n++] = j->view;
    if (one && !w->all && st == CUZK_OK) {
        atomic_fetch_add(&one->refs, 1);
        w->job = one;
    }
    pthread_mutex_unlock(&e->lock);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for a watch");
    if (!w->all && !one) {
        st = cuzk_engine_get(e, id, &views[0], err);
        n = st == CUZK_OK;
    }
    link_watch(w);
    for (uint32_t i = 0; i < n; i++)
        w->changed(w->ctx, &views[i]);
    cuzk_free(views);
    return st;
}

cuzk_status cuzk_engine_watch_new(cuzk_engine *e, const char *id,
                                  void (*changed)(void *ctx, const cuzk_engine_job *job), void *ctx,
                                  cuzk_engine_watch **out, cuzk_err *err) {
    cuzk_engine_watch *w;
    *out = NULL;
    CUZK_TRY(cuzk__shell_enter(e, err));
    cuzk_status st = cuzk_alloc((void **)&w, 1, sizeof *w);
    if (st != CUZK_OK) {
        cuzk__shell_leave(e);
        return cuzk_err_set(err, st, "not enough memory for a watch");
    }
    *w = (cuzk_engine_watch){.e = e, .all = id[0] == '\0', .changed = changed, .ctx = ctx};
    atomic_fetch_add(&e->n_watches, 1);
    pthread_mutex_lock(&e->watch_lock);
    st = tell_first(e, w, id, err);
    pthread_mutex_unlock(&e->watch_lock);
    if (st == CUZK_OK)
        *out = w;
    else
        cuzk_engine_unwatch(w);
    cuzk__shell_leave(e);
    return st;
}

void cuzk_engine_unwatch(cuzk_engine_watch *w) {
    if (!w) return;
    cuzk_engine *e = w->e;
    pthread_mutex_lock(&e->watch_lock);
    cuzk_engine_watch **list = list_of(w);
    if (w->prev)
        w->prev->next = w->next;
    else if (list && *list == w)
        *list = w->next;
    if (w->next) w->next->prev = w->prev;
    pthread_mutex_unlock(&e->watch_lock);
    if (w->job) cuzk__shell_job_drop(w->job);
    atomic_fetch_sub(&e->n_watches, 1);
    cuzk_free(w);
}

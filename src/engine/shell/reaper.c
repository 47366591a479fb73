/* Frees what takes long to free: witnesses are wiped, parsed payloads are large. The scheduler
 * counts such memory as free when a partition or job has ended; a witness that is to be made with
 * it waits for the reaper's ticket, so memory never exceeds the scheduler's books. */
#include "state.h"

#include "base/mem.h"

static void *reap(void *engine) {
    cuzk_engine *e = engine;
    reaper *r = &e->reaper;
    pthread_setname_np(pthread_self(), "reaper");
    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (!r->head && !r->quit)
            pthread_cond_wait(&r->wake, &r->lock);
        reaped *it = r->head;
        if (!it) break;
        r->head = it->next;
        if (!r->head) r->tail = NULL;
        pthread_mutex_unlock(&r->lock);
        if (it->witness) {
            e->work->witness_free(e->work_self, &it->witness->w);
            cuzk_free(it->witness);
        } else {
            cuzk__shell_job_close(e, it->job);
            cuzk__shell_job_free_proofs(it->job);
            cuzk__shell_job_drop(it->job);
        }
        pthread_mutex_lock(&r->lock);
        r->done++;
        pthread_cond_broadcast(&r->reaped);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

cuzk_status cuzk__shell_reaper_start(cuzk_engine *e) {
    if (pthread_create(&e->reaper.thread, NULL, reap, e)) return CUZK_STATUS_NO_MEMORY;
    e->reaper.started = true;
    return CUZK_OK;
}

void cuzk__shell_reaper_stop(cuzk_engine *e) {
    reaper *r = &e->reaper;
    pthread_mutex_lock(&r->lock);
    r->quit = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    if (r->started) pthread_join(r->thread, NULL);
    r->started = false;
}

static void put(cuzk_engine *e, reaped *it) {
    reaper *r = &e->reaper;
    it->next = NULL;
    pthread_mutex_lock(&r->lock);
    if (r->tail)
        r->tail->next = it;
    else
        r->head = it;
    r->tail = it;
    r->taken++;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

void cuzk__shell_reap_witness(cuzk_engine *e, witness *w) {
    w->reaped.witness = w;
    put(e, &w->reaped);
}

void cuzk__shell_reap_job(cuzk_engine *e, job *j) {
    j->reaped.job = j;
    put(e, &j->reaped);
}

uint64_t cuzk__shell_ticket(cuzk_engine *e) {
    pthread_mutex_lock(&e->reaper.lock);
    const uint64_t ticket = e->reaper.taken;
    pthread_mutex_unlock(&e->reaper.lock);
    return ticket;
}

void cuzk__shell_reaped(cuzk_engine *e, uint64_t ticket) {
    reaper *r = &e->reaper;
    pthread_mutex_lock(&r->lock);
    while (r->done < ticket && !r->quit)
        pthread_cond_wait(&r->reaped, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

/* Devices: a supervisor each opens its device, sees that it is gone or hangs, ends its worker and
 * opens it again. What a lost device was doing is never reported: notes of its work are posted
 * under its lock and only while it is up, so they come before the note that it went down. */
#include "state.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static const int64_t MS = 1000000;

enum {
    BACKOFF_MS = 100,
    BACKOFF_MAX_MS = 30000,
    GOOD_MS = 60000,
    GOOD_CALLS = 12,
    WATCH_MS = 1000
};

static void wait_ms(shell_dev *d, int64_t ms) {
    const int64_t end = cuzk_now_ns() + ms * MS;
    const struct timespec t = {end / 1000000000, end % 1000000000};
    pthread_cond_timedwait(&d->wake, &d->lock, &t);
}

/* d->lock is held. */
static void go_down(shell_dev *d, const char *why) {
    if (!d->up) return;
    d->up = false;
    d->acked = false;
    snprintf(d->trouble, sizeof d->trouble, "%.700s", why);
    cuzk__shell_post(d->e, &d->down_note);
    pthread_cond_broadcast(&d->wake);
}

void cuzk__shell_device_lost(shell_dev *d, const char *why) {
    pthread_mutex_lock(&d->lock);
    go_down(d, why);
    pthread_mutex_unlock(&d->lock);
}

void cuzk__shell_on_lost(void *engine, uint32_t device, const char *why) {
    cuzk_engine *e = engine;
    char text[CUZK_ENGINE_MESSAGE];
    snprintf(text, sizeof text, "its worker %s", why);
    if (device < e->n_devices) cuzk__shell_device_lost(&e->devices[device], text);
}

void cuzk__shell_device_aside(shell_dev *d, bool aside) {
    pthread_mutex_lock(&d->lock);
    d->aside = aside;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

/* d->lock is held. */
static void one_less(shell_dev *d) {
    if (--d->pending == 0 && !d->up) pthread_cond_broadcast(&d->wake);
}

void cuzk__shell_device_skip(shell_dev *d) {
    pthread_mutex_lock(&d->lock);
    one_less(d);
    pthread_mutex_unlock(&d->lock);
}

bool cuzk__shell_device_enter(shell_dev *d, device_call *c, int64_t limit, const char *what) {
    pthread_mutex_lock(&d->lock);
    const bool up = d->up;
    if (up) {
        *c = (device_call){NULL, d->calls, cuzk_now_ns(), limit, what};
        if (d->calls) d->calls->prev = c;
        d->calls = c;
    } else {
        one_less(d);
    }
    pthread_mutex_unlock(&d->lock);
    return up;
}

bool cuzk__shell_device_leave(shell_dev *d, device_call *c, note *n) {
    pthread_mutex_lock(&d->lock);
    *(c->prev ? &c->prev->next : &d->calls) = c->next;
    if (c->next) c->next->prev = c->prev;
    const bool up = d->up;
    if (up) cuzk__shell_post(d->e, n);
    d->served += up;
    one_less(d);
    pthread_mutex_unlock(&d->lock);
    return up;
}

/* ---- the owner's side ---- */

static void on_up(cuzk_engine *e, note *n) {
    shell_dev *d = (shell_dev *)((char *)n - offsetof(shell_dev, up_note));
    pthread_mutex_lock(&d->lock);
    const uint64_t memory = d->info.memory_free;
    pthread_mutex_unlock(&d->lock);
    const uint64_t configured = e->config.device_memory[d->index];
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP,
                                            .device = d->index,
                                            .bytes = configured ? configured : memory});
}

static void on_down(cuzk_engine *e, note *n) {
    shell_dev *d = (shell_dev *)((char *)n - offsetof(shell_dev, down_note));
    char why[sizeof d->trouble];
    pthread_mutex_lock(&d->lock);
    memcpy(why, d->trouble, sizeof why);
    pthread_mutex_unlock(&d->lock);
    cuzk__shell_lose_parts(e, d, why);
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = d->index});
    cuzk__shell_keys_lost(e);
    pthread_mutex_lock(&d->lock);
    d->acked = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

/* ---- the supervisor ---- */

/* Looks for a call that takes too long; d->lock is held. */
static void watch_calls(shell_dev *d) {
    const int64_t now = cuzk_now_ns();
    char why[128];
    for (const device_call *c = d->calls; c; c = c->next) {
        if (c->limit <= 0 || now - c->since <= c->limit) continue;
        snprintf(why, sizeof why, "it hangs: %s takes more than %.1f s", c->what,
                 (double)c->limit * 1e-9);
        go_down(d, why);
        return;
    }
}

/* What the owner said since. d->lock is held, and is not while this logs. */
static void log_aside(shell_dev *d, bool *said) {
    char why[CUZK_ENGINE_MESSAGE], name[96];
    if (d->aside == *said) return;
    const bool aside = *said = d->aside;
    memcpy(why, d->trouble, sizeof why);
    memcpy(name, d->info.name, sizeof name);
    pthread_mutex_unlock(&d->lock);
    if (aside)
        cuzk_log_limited(&d->log.aside, CUZK_LOG_ERROR, "engine", NULL,
                         "device %u (%s) is set aside after repeated faults%s: %s", d->index, name,
                         d->e->config.quarantine_ns > 0 ? " for a while" : " until it is restored",
                         why[0] ? why : "its worker was lost");
    else
        cuzk_log_limited(&d->log.back, CUZK_LOG_INFO, "engine", NULL,
                         "device %u (%s) takes work again", d->index, name);
    pthread_mutex_lock(&d->lock);
}

/* How an attempt to open it ended. */
static void log_open(shell_dev *d, bool opened, bool again, int64_t backoff) {
    char why[CUZK_ENGINE_MESSAGE], name[96];
    pthread_mutex_lock(&d->lock);
    memcpy(why, d->trouble, sizeof why);
    memcpy(name, d->info.name, sizeof name);
    const int pid = d->info.pid;
    const bool quit = d->quit;
    pthread_mutex_unlock(&d->lock);
    if (quit) return;
    if (!opened)
        cuzk_log_limited(&d->log.lost, CUZK_LOG_WARN, "engine", NULL,
                         "device %u: %s; tried again in %.1f s", d->index, why,
                         (double)backoff * 1e-3);
    else if (again)
        cuzk_log_limited(&d->log.up, CUZK_LOG_INFO, "engine", NULL,
                         "device %u (%s) is up again, process %d", d->index, name, pid);
}

/* Why it is up no more. */
static void log_lost(shell_dev *d, int64_t backoff) {
    char why[CUZK_ENGINE_MESSAGE];
    pthread_mutex_lock(&d->lock);
    memcpy(why, d->trouble, sizeof why);
    const bool quit = d->quit;
    pthread_mutex_unlock(&d->lock);
    if (!quit)
        cuzk_log_limited(&d->log.lost, CUZK_LOG_WARN, "engine", NULL,
                         "device %u is lost: %s; started again in %.1f s", d->index, why,
                         (double)backoff * 1e-3);
}

/* While it is up; d->lock is held. */
static void stand_by(shell_dev *d, bool *aside) {
    const int64_t hang = d->e->config.hang_ns / MS / 4;
    const int64_t pause = hang <= 0 || hang > WATCH_MS ? WATCH_MS : hang < 1 ? 1 : hang;
    while (d->up && !d->quit) {
        wait_ms(d, pause);
        log_aside(d, aside);
        watch_calls(d);
    }
}

static bool open_once(shell_dev *d) {
    cuzk_engine *e = d->e;
    cuzk_engine_device_info info = {.pid = 0};
    cuzk_err err = {0};
    const cuzk_status st = e->device_ops->open(e->device_self, d->index, &info, &err);
    pthread_mutex_lock(&d->lock);
    if (st == CUZK_OK) {
        d->info = info;
        d->up = true;
        d->served = 0;
        cuzk__shell_post(e, &d->up_note);
    } else {
        snprintf(d->trouble, sizeof d->trouble, "open: %s", err.msg);
    }
    d->tried = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
    return st == CUZK_OK;
}

void *cuzk__shell_supervise(void *arg) {
    shell_dev *d = arg;
    cuzk_engine *e = d->e;
    int64_t backoff = BACKOFF_MS;
    bool aside = false, again = false;
    char name[16];
    snprintf(name, sizeof name, "device %u", d->index);
    pthread_setname_np(pthread_self(), name);
    d->up_note.handle = on_up;
    d->down_note.handle = on_down;
    for (;;) {
        const int64_t begin = cuzk_now_ns();
        const bool opened = open_once(d);
        log_open(d, opened, again, backoff);
        again = true;
        pthread_mutex_lock(&d->lock);
        if (opened) {
            stand_by(d, &aside);
            d->up = false; /* also when the engine stops: no more calls */
            pthread_mutex_unlock(&d->lock);
            e->device_ops->close(e->device_self, d->index);
            log_lost(d, backoff);
            pthread_mutex_lock(&d->lock);
            while (!d->quit && (!d->acked || d->pending > 0))
                pthread_cond_wait(&d->wake, &d->lock);
        }
        /* One that was of use is opened again soon; the scheduler sets aside what fails often. */
        if (opened && (d->served >= GOOD_CALLS || cuzk_now_ns() - begin > GOOD_MS * MS))
            backoff = BACKOFF_MS;
        const int64_t until = cuzk_now_ns() + backoff * MS;
        while (!d->quit && cuzk_now_ns() < until) {
            wait_ms(d, (until - cuzk_now_ns()) / MS + 1);
            log_aside(d, &aside);
        }
        const bool quit = d->quit;
        if (!quit) d->restarts++;
        pthread_mutex_unlock(&d->lock);
        if (quit) return NULL;
        backoff = backoff * 2 < BACKOFF_MAX_MS ? backoff * 2 : BACKOFF_MAX_MS;
    }
}

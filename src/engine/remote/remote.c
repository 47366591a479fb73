/* DESIGN. Each open device has a thread of its own (the keeper), which starts the worker, reads its
 * replies and waits for its end. It must be the one that starts it: a parent-death signal comes
 * when the thread that made the child ends, not the process.
 *
 * A call puts itself on the device's list, sends its packet and sleeps until the keeper has filled
 * in the reply, or has found the worker gone. Nothing waits with the lock held: packets are sent
 * without blocking, and a worker that does not read (the socket holds some hundred packets) counts
 * as gone. */
#include "engine/remote/remote.h"

#include "engine/remote/inject.h"
#include "engine/remote/spawn.h"
#include "engine/remote/wire.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND ((int64_t)1000000000)

/* More than that are never under way: a worker has 64 slots and 64 results at most. */
enum { CALLS = 192 };

typedef struct call {
    uint64_t id; /* 0: free */
    cuzk_wire_type type;
    cuzk_wire_reply *reply; /* of the thread that waits */
    bool done;
} call;

typedef enum state { CLOSED, OPEN, LOST, CLOSING } state;

typedef struct device {
    struct cuzk_remote *remote;
    uint32_t number;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t changed;
    state state;
    int socket, worker_socket; /* worker_socket: until the worker has it */
    pthread_t keeper;
    call calls[CALLS];
    uint64_t next_id;
    uint32_t starts;
    char why[sizeof((cuzk_err *)0)->msg]; /* LOST: how it ended */
} device;

struct cuzk_remote {
    cuzk_remote_config config;
    void (*lost)(void *ctx, uint32_t device, const char *why);
    void *lost_ctx;
    device devices[CUZK_REMOTE_DEVICES];
};

/* ---- the keeper ---- */

/* lock is held. */
static void end_calls(device *d, const char *why) {
    for (call *c = d->calls; c < d->calls + CALLS; c++) {
        if (!c->id || c->done) continue;
        memset(c->reply, 0, sizeof *c->reply);
        (void)cuzk_err_set(&c->reply->err, CUZK_STATUS_NO_DEVICE, "device %u: its worker %s",
                           d->number, why);
        c->done = true;
    }
    (void)pthread_cond_broadcast(&d->changed);
}

/* Whether somebody waits for this reply, or did and gave up. */
static bool deliver(device *d, const cuzk_wire_reply *reply) {
    (void)pthread_mutex_lock(&d->lock);
    call *c = d->calls;
    while (c < d->calls + CALLS && (c->id != reply->id || c->type != reply->type || c->done))
        c++;
    const bool asked = c < d->calls + CALLS;
    if (asked) {
        *c->reply = *reply;
        c->done = true;
        (void)pthread_cond_broadcast(&d->changed);
    }
    (void)pthread_mutex_unlock(&d->lock);
    return asked && reply->id != 0;
}

static void read_replies(device *d) {
    uint8_t packet[CUZK_WIRE_MAX];
    cuzk_wire_reply reply;
    int fd;
    for (;;) {
        const size_t n = cuzk__wire_receive(d->socket, packet, &fd);
        if (fd >= 0) (void)close(fd); /* a worker has none to give */
        if (n == 0 || !cuzk_wire_get_reply(&reply, packet, n) || !deliver(d, &reply)) break;
    }
    cuzk_wipe(&reply, sizeof reply);
    cuzk_wipe(packet, sizeof packet);
}

static void *keep(void *arg) {
    device *d = arg;
    const cuzk_remote_config *c = &d->remote->config;
    const bool inject = c->inject && (c->inject_starts == 0 || d->starts <= c->inject_starts);
    cuzk_err err = {.status = CUZK_OK};
    char how[sizeof d->why];
    pid_t pid;
    const cuzk_status st = cuzk__spawn(&pid, c->commands[d->number], inject ? c->inject : NULL,
                                       d->worker_socket, &err);
    (void)close(d->worker_socket);
    if (st == CUZK_OK) {
        read_replies(d);
        (void)shutdown(d->socket, SHUT_RDWR);
    }
    (void)pthread_mutex_lock(&d->lock);
    bool asked = d->state == CLOSING;
    if (!asked) d->state = LOST; /* no new calls */
    (void)pthread_mutex_unlock(&d->lock);
    if (st == CUZK_OK)
        cuzk__reap(pid, asked, c->grace_ns, how, sizeof how);
    else
        snprintf(how, sizeof how, "did not start: %.600s", err.msg);
    (void)pthread_mutex_lock(&d->lock);
    asked = d->state == CLOSING;
    memcpy(d->why, how, sizeof d->why);
    end_calls(d, asked ? "was closed" : how);
    (void)pthread_mutex_unlock(&d->lock);
    if (!asked && d->remote->lost) d->remote->lost(d->remote->lost_ctx, d->number, how);
    return NULL;
}

/* ---- calls ---- */

static struct timespec time_of(int64_t ns) {
    return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
}

/* lock is held, and is not while this waits. until 0: for ever. */
static bool wait_for_reply(device *d, const call *c, int64_t until) {
    const struct timespec limit = time_of(until);
    int e = 0;
    while (!c->done && e != ETIMEDOUT)
        e = until ? pthread_cond_timedwait(&d->changed, &d->lock, &limit)
                  : pthread_cond_wait(&d->changed, &d->lock);
    return c->done;
}

/* lock is held. The worker is gone, or does not read; how it ended is known in a moment. */
static cuzk_status gone(device *d, const char *otherwise, cuzk_err *err) {
    const struct timespec limit = time_of(cuzk_now_ns() + d->remote->config.grace_ns);
    int e = d->state == CLOSED || d->state == CLOSING ? ETIMEDOUT : 0;
    while (!d->why[0] && e != ETIMEDOUT)
        e = pthread_cond_timedwait(&d->changed, &d->lock, &limit);
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "device %u: its worker %s", d->number,
                        d->state != CLOSED && d->why[0] ? d->why : otherwise);
}

/* lock is held. A call that gave up waiting is followed by close, so that its late reply, which
 * nobody asked for then, does no harm. */
static cuzk_status send_and_wait(device *d, cuzk_wire_request *r, int fd, int64_t until,
                                 cuzk_wire_reply *reply, cuzk_err *err) {
    uint8_t packet[CUZK_WIRE_MAX];
    call *c = d->calls;
    if (d->state != OPEN) return gone(d, "is not there", err);
    while (c < d->calls + CALLS && c->id)
        c++;
    if (c == d->calls + CALLS)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "device %u: %d calls at a time", d->number,
                            CALLS);
    r->id = ++d->next_id;
    const size_t n = cuzk_wire_put_request(packet, r);
    if (!cuzk__wire_send(d->socket, packet, n, fd, MSG_DONTWAIT))
        return gone(d, "does not take requests", err);
    *c = (call){.id = r->id, .type = r->type, .reply = reply};
    const bool answered = wait_for_reply(d, c, until);
    *c = (call){.id = 0};
    if (!answered)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE,
                            "device %u: its worker did not answer in time (%s)", d->number,
                            cuzk_wire_type_name(r->type));
    if (reply->err.status == CUZK_OK) return CUZK_OK;
    return cuzk_err_set(err, reply->err.status, "%s", reply->err.msg);
}

static cuzk_status request(void *self, uint32_t n, cuzk_wire_request *r, int fd, int64_t until,
                           cuzk_wire_reply *reply, cuzk_err *err) {
    cuzk_remote *remote = self;
    if (n >= remote->config.n_devices)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "no device %u", n);
    device *d = &remote->devices[n];
    (void)pthread_mutex_lock(&d->lock);
    const cuzk_status st = send_and_wait(d, r, fd, until, reply, err);
    (void)pthread_mutex_unlock(&d->lock);
    return st;
}

/* ---- the operations ---- */

static uint32_t count(void *self) {
    return ((const cuzk_remote *)self)->config.n_devices;
}

static void close_device(void *self, uint32_t n) {
    cuzk_remote *remote = self;
    if (n >= remote->config.n_devices) return;
    device *d = &remote->devices[n];
    (void)pthread_mutex_lock(&d->lock);
    if (d->state == CLOSED || d->state == CLOSING) { /* or another thread is at it */
        (void)pthread_mutex_unlock(&d->lock);
        return;
    }
    d->state = CLOSING;
    end_calls(d, "was closed");
    (void)shutdown(d->socket, SHUT_RDWR);
    (void)pthread_mutex_unlock(&d->lock);
    (void)pthread_join(d->keeper, NULL);
    (void)pthread_mutex_lock(&d->lock);
    (void)close(d->socket);
    d->state = CLOSED;
    (void)pthread_mutex_unlock(&d->lock);
}

/* lock is held. */
static cuzk_status start(device *d, cuzk_err *err) {
    int s[2];
    if (d->state != CLOSED)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "device %u is open", d->number);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) != 0)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "device %u: no socket: %s", d->number,
                            strerror(errno));
    d->socket = s[0];
    d->worker_socket = s[1];
    d->why[0] = '\0';
    d->starts++;
    d->state = OPEN;
    if (pthread_create(&d->keeper, NULL, keep, d) == 0) return CUZK_OK;
    (void)close(s[0]);
    (void)close(s[1]);
    d->state = CLOSED;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "device %u: no thread for it", d->number);
}

static cuzk_status open_device(void *self, uint32_t n, cuzk_engine_device_info *out,
                               cuzk_err *err) {
    cuzk_remote *remote = self;
    cuzk_wire_request r = {.type = CUZK_WIRE_OPEN};
    cuzk_wire_reply reply;
    memset(out, 0, sizeof *out);
    if (n >= remote->config.n_devices)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "no device %u", n);
    device *d = &remote->devices[n];
    (void)pthread_mutex_lock(&d->lock);
    cuzk_status st = start(d, err);
    (void)pthread_mutex_unlock(&d->lock);
    if (st != CUZK_OK) return st;
    st = request(self, n, &r, -1, cuzk_now_ns() + remote->config.open_ns, &reply, err);
    if (st != CUZK_OK)
        close_device(self, n);
    else
        *out = reply.info;
    return st;
}

static void on_lost(void *self, void (*lost)(void *ctx, uint32_t device, const char *why),
                    void *ctx) {
    cuzk_remote *remote = self;
    remote->lost = lost;
    remote->lost_ctx = ctx;
}

static cuzk_status set_key(cuzk_wire_request *r, const char *key, cuzk_err *err) {
    const size_t n = strlen(key);
    if (n >= sizeof r->key) return cuzk_err_set(err, CUZK_STATUS_USAGE, "a key's name is too long");
    memcpy(r->key, key, n + 1);
    return CUZK_OK;
}

static cuzk_status key_load(void *self, uint32_t n, const char *key, cuzk_err *err) {
    cuzk_wire_request r = {.type = CUZK_WIRE_KEY_LOAD};
    cuzk_wire_reply reply;
    CUZK_TRY(set_key(&r, key, err));
    return request(self, n, &r, -1, 0, &reply, err);
}

static cuzk_status key_free(void *self, uint32_t n, const char *key, cuzk_err *err) {
    cuzk_wire_request r = {.type = CUZK_WIRE_KEY_FREE};
    cuzk_wire_reply reply;
    CUZK_TRY(set_key(&r, key, err));
    return request(self, n, &r, -1, 0, &reply, err);
}

static cuzk_status stage(void *self, uint32_t n, uint32_t slot, const char *key,
                         const cuzk_engine_witness *w, cuzk_err *err) {
    cuzk_wire_request r = {.type = CUZK_WIRE_STAGE, .slot = slot};
    cuzk_wire_reply reply;
    CUZK_TRY(set_key(&r, key, err));
    if (w->fd < 0 && w->len)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "a witness without a memfd cannot go to another process");
    r.bytes = w->fd < 0 ? 0 : w->len;
    return request(self, n, &r, w->fd, 0, &reply, err);
}

static cuzk_status compute(void *self, uint32_t n, uint32_t slot, uint32_t result,
                           cuzk_engine_moved *moved, cuzk_err *err) {
    cuzk_wire_request r = {.type = CUZK_WIRE_COMPUTE, .slot = slot, .result = result};
    cuzk_wire_reply reply;
    memset(moved, 0, sizeof *moved);
    CUZK_TRY(request(self, n, &r, -1, 0, &reply, err));
    *moved = reply.moved;
    return CUZK_OK;
}

static cuzk_status finish(void *self, uint32_t n, uint32_t result, void *out, size_t *out_len,
                          cuzk_err *err) {
    cuzk_wire_request r = {.type = CUZK_WIRE_FINISH, .result = result};
    cuzk_wire_reply reply;
    *out_len = 0;
    CUZK_TRY(request(self, n, &r, -1, 0, &reply, err));
    memcpy(out, reply.result, reply.result_len);
    *out_len = reply.result_len;
    cuzk_wipe(reply.result, sizeof reply.result);
    return CUZK_OK;
}

cuzk_status cuzk_remote_plan(cuzk_remote *remote, uint32_t n, const char *key,
                             cuzk_device_plan *out, cuzk_err *err) {
    cuzk_wire_request r = {.type = CUZK_WIRE_PLAN};
    cuzk_wire_reply reply;
    memset(out, 0, sizeof *out);
    CUZK_TRY(set_key(&r, key, err));
    CUZK_TRY(request(remote, n, &r, -1, 0, &reply, err));
    *out = reply.plan;
    return CUZK_OK;
}

const cuzk_device_ops cuzk_remote_devices = {
    .count = count,
    .open = open_device,
    .close = close_device,
    .on_lost = on_lost,
    .key_load = key_load,
    .key_free = key_free,
    .stage = stage,
    .compute = compute,
    .finish = finish,
};

/* ---- the whole ---- */

static cuzk_status init_device(device *d, cuzk_remote *remote, uint32_t number) {
    pthread_condattr_t monotonic;
    d->remote = remote;
    d->number = number;
    if (pthread_condattr_init(&monotonic) != 0) return CUZK_STATUS_NO_MEMORY;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int e = pthread_mutex_init(&d->lock, NULL);
    if (!e) e = pthread_cond_init(&d->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return e ? CUZK_STATUS_NO_MEMORY : CUZK_OK;
}

cuzk_status cuzk_remote_new(cuzk_remote **out, const cuzk_remote_config *config, cuzk_err *err) {
    cuzk_remote *r;
    cuzk_inject inject;
    *out = NULL;
    if (config->n_devices > CUZK_REMOTE_DEVICES || !cuzk_inject_parse(&inject, config->inject))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%u devices, at most %d; or bad injection",
                            config->n_devices, CUZK_REMOTE_DEVICES);
    if (cuzk_alloc((void **)&r, 1, sizeof *r) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    r->config = *config;
    if (!r->config.open_ns) r->config.open_ns = 120 * SECOND;
    if (!r->config.grace_ns) r->config.grace_ns = SECOND / 2;
    for (uint32_t i = 0; i < config->n_devices; i++)
        if (init_device(&r->devices[i], r, i) != CUZK_OK) {
            cuzk_free(r); /* what was made before holds no memory */
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
        }
    *out = r;
    return CUZK_OK;
}

void cuzk_remote_free(cuzk_remote *r) {
    if (!r) return;
    for (uint32_t i = 0; i < r->config.n_devices; i++) {
        close_device(r, i);
        (void)pthread_cond_destroy(&r->devices[i].changed);
        (void)pthread_mutex_destroy(&r->devices[i].lock);
    }
    cuzk_free(r);
}

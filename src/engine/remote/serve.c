/* DESIGN. The caller's thread reads requests and hands each to one of HANDLERS threads, so that a
 * key loads while one partition is staged and another computes. The daemon never has more requests
 * under way than slots and results together and a key, so the queue is small; what does not fit is
 * not one of ours.
 *
 * A witness is mapped read-only from stage until its compute has returned. Its memfd is sealed
 * against shrinking, so that the mapping cannot be cut under the reader. */
#include "engine/remote/serve.h"

#include "engine/remote/inject.h"
#include "engine/remote/wire.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HANDLERS = 16, QUEUE = 256, SLOTS = 64 };

typedef struct mapping {
    void *data;
    size_t len;
} mapping;

typedef struct item {
    cuzk_wire_request request;
    int fd;
} item;

typedef struct server {
    const cuzk_serve_config *config;
    cuzk_inject inject;
    pthread_mutex_t lock; /* of the queue and what stands below it */
    pthread_cond_t wake;
    item queue[QUEUE];
    size_t first, n;
    unsigned busy; /* handlers at work */
    bool ending, open;
    pthread_mutex_t sending;
    mapping slots[SLOTS]; /* each of one handler at a time */
    pthread_t threads[HANDLERS];
    unsigned n_threads;
    atomic_bool broken;
} server;

/* ---- what is done ---- */

static void unmap(mapping *m) {
    if (m->data) (void)munmap(m->data, m->len);
    *m = (mapping){NULL, 0};
}

static cuzk_status map_witness(mapping *out, int fd, uint64_t bytes, cuzk_err *err) {
    struct stat s;
    const int seals = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1;
    *out = (mapping){NULL, 0};
    if (fd < 0 && bytes == 0) return CUZK_OK;
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &s) != 0 || s.st_size < 0 ||
        (uint64_t)s.st_size != bytes)
        return cuzk_err_set(err, CUZK_STATUS_BUG,
                            "no sealed memory of %llu bytes came with the witness",
                            (unsigned long long)bytes);
    void *p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot map a witness of %llu bytes: %s",
                            (unsigned long long)bytes, strerror(errno));
    (void)madvise(p, (size_t)bytes, MADV_DONTDUMP);
    *out = (mapping){p, (size_t)bytes};
    return CUZK_OK;
}

static cuzk_status do_stage(server *s, const item *it, cuzk_err *err) {
    const cuzk_serve_config *c = s->config;
    const cuzk_wire_request *r = &it->request;
    if (r->slot >= SLOTS) return cuzk_err_set(err, CUZK_STATUS_BUG, "no slot %u", r->slot);
    mapping *m = &s->slots[r->slot];
    unmap(m);
    CUZK_TRY(map_witness(m, it->fd, r->bytes, err));
    const cuzk_engine_witness w = {it->fd, m->len, m->data};
    const cuzk_status st = c->ops->stage(c->self, 0, r->slot, r->key, &w, err);
    if (st != CUZK_OK) unmap(m);
    return st;
}

static cuzk_status do_compute(server *s, const cuzk_wire_request *r, cuzk_engine_moved *moved,
                              cuzk_err *err) {
    const cuzk_serve_config *c = s->config;
    if (r->slot >= SLOTS) return cuzk_err_set(err, CUZK_STATUS_BUG, "no slot %u", r->slot);
    const cuzk_status st = c->ops->compute(c->self, 0, r->slot, r->result, moved, err);
    unmap(&s->slots[r->slot]);
    return st;
}

static cuzk_status do_open(server *s, cuzk_engine_device_info *info, cuzk_err *err) {
    CUZK_TRY(s->config->ops->open(s->config->self, 0, info, err));
    info->pid = (int)getpid();
    (void)pthread_mutex_lock(&s->lock);
    s->open = true;
    (void)pthread_mutex_unlock(&s->lock);
    return CUZK_OK;
}

static cuzk_status carry_out(server *s, const item *it, cuzk_wire_reply *out) {
    const cuzk_serve_config *c = s->config;
    const cuzk_wire_request *r = &it->request;
    cuzk_err *err = &out->err;
    switch (r->type) {
    case CUZK_WIRE_OPEN:
        return do_open(s, &out->info, err);
    case CUZK_WIRE_KEY_LOAD:
        return c->ops->key_load(c->self, 0, r->key, err);
    case CUZK_WIRE_KEY_FREE:
        return c->ops->key_free(c->self, 0, r->key, err);
    case CUZK_WIRE_STAGE:
        return do_stage(s, it, err);
    case CUZK_WIRE_COMPUTE:
        return do_compute(s, r, &out->moved, err);
    case CUZK_WIRE_FINISH:
        return c->ops->finish(c->self, 0, r->result, out->result, &out->result_len, err);
    case CUZK_WIRE_PLAN:
        if (c->plan) return c->plan(c->self, r->key, &out->plan, err);
        break;
    case CUZK_WIRE_TYPES:
        break;
    }
    return cuzk_err_set(err, CUZK_STATUS_BUG, "no such request");
}

static cuzk_status suffer(cuzk_inject_what what, const cuzk_wire_request *r, cuzk_err *err) {
    if (what == CUZK_INJECT_CRASH) (void)kill(getpid(), SIGKILL);
    while (what == CUZK_INJECT_HANG)
        (void)pause();
    return cuzk_err_set(err, CUZK_STATUS_BUG, "injected: %s fails", cuzk_wire_type_name(r->type));
}

static void answer(server *s, const item *it) {
    cuzk_wire_reply reply;
    uint8_t packet[CUZK_WIRE_MAX];
    memset(&reply, 0, sizeof reply);
    reply.type = it->request.type;
    reply.id = it->request.id;
    const cuzk_inject_what what = cuzk_inject_due(&s->inject, reply.type);
    cuzk_status st;
    if (what == CUZK_INJECT_NOTHING || what == CUZK_INJECT_FLIP)
        st = carry_out(s, it, &reply);
    else
        st = suffer(what, &it->request, &reply.err);
    if (what == CUZK_INJECT_FLIP && reply.result_len) reply.result[reply.result_len / 2] ^= 1;
    reply.err.status = st; /* a provider's error may leave the message empty */
    if (st != CUZK_OK &&
        (what == CUZK_INJECT_STICKY || (s->config->broken && s->config->broken(s->config->ctx))))
        atomic_store(&s->broken, true);
    const size_t n = cuzk_wire_put_reply(packet, &reply);
    (void)pthread_mutex_lock(&s->sending);
    (void)cuzk__wire_send(s->config->fd, packet, n, -1, 0);
    (void)pthread_mutex_unlock(&s->sending);
    cuzk_wipe(reply.result, sizeof reply.result);
    cuzk_wipe(packet, sizeof packet);
    /* the reader wakes up to nothing more to read */
    if (atomic_load(&s->broken)) (void)shutdown(s->config->fd, SHUT_RD);
}

/* ---- threads ---- */

static void *handle(void *arg) {
    server *s = arg;
    (void)pthread_mutex_lock(&s->lock);
    for (;;) {
        while (s->n == 0 && !s->ending)
            (void)pthread_cond_wait(&s->wake, &s->lock);
        if (s->n == 0) break;
        const item it = s->queue[s->first];
        s->first = (s->first + 1) % QUEUE;
        s->n--;
        s->busy++;
        (void)pthread_mutex_unlock(&s->lock);
        answer(s, &it);
        if (it.fd >= 0) (void)close(it.fd);
        (void)pthread_mutex_lock(&s->lock);
        s->busy--;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* What a handler wrote before it replied is seen by whoever serves the request that the reply led
 * to: the reply was sent with this lock held, and that the request came proves it was sent. */
static void follow_replies(server *s) {
    (void)pthread_mutex_lock(&s->sending);
    (void)pthread_mutex_unlock(&s->sending);
}

static bool enqueue(server *s, const item *it) {
    follow_replies(s);
    (void)pthread_mutex_lock(&s->lock);
    const bool room = s->n < QUEUE;
    if (room) s->queue[(s->first + s->n++) % QUEUE] = *it;
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    return room;
}

static cuzk_status read_requests(server *s, cuzk_err *err) {
    uint8_t packet[CUZK_WIRE_MAX];
    item it;
    for (;;) {
        const size_t n = cuzk__wire_receive(s->config->fd, packet, &it.fd);
        if (n == 0) return CUZK_OK;
        if (cuzk_wire_get_request(&it.request, packet, n) && enqueue(s, &it)) continue;
        if (it.fd >= 0) (void)close(it.fd);
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "a packet of %zu bytes that is no request of version %d", n,
                            CUZK_WIRE_VERSION);
    }
}

/* Whether all handlers are idle, and have then ended. */
static bool end_threads(server *s) {
    (void)pthread_mutex_lock(&s->lock);
    const bool idle = s->busy == 0 && s->n == 0;
    s->ending = idle;
    (void)pthread_cond_broadcast(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; idle && i < s->n_threads; i++)
        (void)pthread_join(s->threads[i], NULL);
    return idle;
}

static cuzk_status run(server *s, bool *orderly, cuzk_err *err) {
    cuzk_status st = CUZK_OK;
    for (; s->n_threads < HANDLERS && st == CUZK_OK; s->n_threads++)
        if (pthread_create(&s->threads[s->n_threads], NULL, handle, s) != 0) {
            st = cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot start a thread");
            break;
        }
    if (st == CUZK_OK) st = read_requests(s, err);
    if (st == CUZK_OK && atomic_load(&s->broken))
        st = cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "the device broke");
    *orderly = end_threads(s) && !atomic_load(&s->broken);
    return st;
}

cuzk_status cuzk_serve(const cuzk_serve_config *config, bool *orderly, cuzk_err *err) {
    server *s;
    *orderly = false;
    if (cuzk_alloc((void **)&s, 1, sizeof *s) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    s->config = config;
    if (!cuzk_inject_parse(&s->inject, config->inject)) {
        cuzk_free(s);
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "--inject: expected WHAT:STEP[:K], as crash:compute:3, actual %s",
                            config->inject);
    }
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->sending, NULL);
    (void)pthread_cond_init(&s->wake, NULL);
    const cuzk_status st = run(s, orderly, err);
    if (!*orderly) return st; /* its threads use it until the process ends */
    if (s->open) config->ops->close(config->self, 0);
    for (int i = 0; i < SLOTS; i++)
        unmap(&s->slots[i]);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_mutex_destroy(&s->sending);
    (void)pthread_mutex_destroy(&s->lock);
    cuzk_wipe(s, sizeof *s);
    cuzk_free(s);
    return st;
}

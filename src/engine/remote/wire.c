#include "engine/remote/wire.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC 0x577a7563u /* "cuzW" */
enum { REPLY = 0x8000 };

const char *cuzk_wire_type_name(cuzk_wire_type t) {
    static const char *const names[CUZK_WIRE_TYPES] = {"",      "open",    "key_load", "key_free",
                                                       "stage", "compute", "finish",   "plan"};
    return t < CUZK_WIRE_TYPES ? names[t] : "";
}

static bool has_key(cuzk_wire_type t) {
    return t == CUZK_WIRE_KEY_LOAD || t == CUZK_WIRE_KEY_FREE || t == CUZK_WIRE_STAGE ||
           t == CUZK_WIRE_PLAN;
}

/* ---- writing ---- */

typedef struct writer {
    uint8_t *p;
    size_t n;
} writer;

static void put_u16(writer *w, uint32_t v) {
    w->p[w->n++] = (uint8_t)v;
    w->p[w->n++] = (uint8_t)(v >> 8);
}

static void put_u32(writer *w, uint32_t v) {
    cuzk_st_u32le(w->p + w->n, v);
    w->n += 4;
}

static void put_u64(writer *w, uint64_t v) {
    cuzk_st_u64le(w->p + w->n, v);
    w->n += 8;
}

static void put_bytes(writer *w, const void *p, size_t n) {
    put_u16(w, (uint32_t)n);
    memcpy(w->p + w->n, p, n);
    w->n += n;
}

static void put_text(writer *w, const char *text, size_t room) {
    put_bytes(w, text, strnlen(text, room - 1));
}

static void put_head(writer *w, uint32_t type, uint64_t id) {
    put_u32(w, MAGIC);
    put_u16(w, CUZK_WIRE_VERSION);
    put_u16(w, type);
    put_u64(w, id);
}

size_t cuzk_wire_put_request(uint8_t out[CUZK_WIRE_MAX], const cuzk_wire_request *r) {
    writer w = {out, 0};
    put_head(&w, r->type, r->id);
    if (r->type == CUZK_WIRE_STAGE || r->type == CUZK_WIRE_COMPUTE) put_u32(&w, r->slot);
    if (r->type == CUZK_WIRE_COMPUTE || r->type == CUZK_WIRE_FINISH) put_u32(&w, r->result);
    if (r->type == CUZK_WIRE_STAGE) put_u64(&w, r->bytes);
    if (has_key(r->type)) put_text(&w, r->key, sizeof r->key);
    return w.n;
}

size_t cuzk_wire_put_reply(uint8_t out[CUZK_WIRE_MAX], const cuzk_wire_reply *r) {
    writer w = {out, 0};
    put_head(&w, (uint32_t)r->type | REPLY, r->id);
    put_u32(&w, (uint32_t)r->err.status);
    put_text(&w, r->err.msg, sizeof r->err.msg);
    if (r->err.status != CUZK_OK) return w.n;
    if (r->type == CUZK_WIRE_OPEN) {
        put_u64(&w, r->info.memory_total);
        put_u64(&w, r->info.memory_free);
        put_u32(&w, (uint32_t)r->info.pid);
        put_text(&w, r->info.name, sizeof r->info.name);
        put_text(&w, r->info.uuid, sizeof r->info.uuid);
    } else if (r->type == CUZK_WIRE_COMPUTE) {
        put_u64(&w, r->moved.in_pinned);
        put_u64(&w, r->moved.in_pageable);
        put_u64(&w, r->moved.out_pinned);
        put_u64(&w, r->moved.out_pageable);
        put_u64(&w, r->moved.in_gate);
        put_u64(&w, (uint64_t)r->moved.device_ns);
    } else if (r->type == CUZK_WIRE_FINISH) {
        put_bytes(&w, r->result, r->result_len);
    } else if (r->type == CUZK_WIRE_PLAN) {
        put_u64(&w, r->plan.key);
        put_u64(&w, r->plan.slot);
        put_u64(&w, r->plan.slot_pinned);
        put_u64(&w, r->plan.key_pinned);
    }
    return w.n;
}

/* ---- reading ---- */

static bool get_u16(cuzk_cursor *c, uint32_t *out) {
    const uint8_t *p;
    if (!cuzk_rd_bytes(c, 2, &p)) return false;
    *out = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    return true;
}

/* room counts the NUL that is put behind it. */
static bool get_text(cuzk_cursor *c, char *out, size_t room) {
    uint32_t n;
    const uint8_t *p;
    if (!get_u16(c, &n) || n >= room || !cuzk_rd_bytes(c, n, &p) || memchr(p, 0, n)) return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

static bool get_head(cuzk_cursor *c, uint32_t *type, uint64_t *id) {
    uint32_t magic, version;
    return cuzk_rd_u32le(c, &magic) && magic == MAGIC && get_u16(c, &version) &&
           version == CUZK_WIRE_VERSION && get_u16(c, type) && cuzk_rd_u64le(c, id);
}

bool cuzk_wire_get_request(cuzk_wire_request *out, const void *packet, size_t len) {
    cuzk_cursor c = cuzk_cursor_init(packet, len);
    uint32_t type;
    bool good = true;
    memset(out, 0, sizeof *out);
    if (!get_head(&c, &type, &out->id) || type < CUZK_WIRE_OPEN || type >= CUZK_WIRE_TYPES)
        return false;
    out->type = (cuzk_wire_type)type;
    if (type == CUZK_WIRE_STAGE || type == CUZK_WIRE_COMPUTE) good = cuzk_rd_u32le(&c, &out->slot);
    if (type == CUZK_WIRE_COMPUTE || type == CUZK_WIRE_FINISH)
        good = good && cuzk_rd_u32le(&c, &out->result);
    if (type == CUZK_WIRE_STAGE) good = good && cuzk_rd_u64le(&c, &out->bytes);
    if (has_key(out->type)) good = good && get_text(&c, out->key, sizeof out->key);
    return good && cuzk_cursor_left(&c) == 0;
}

static bool is_status(uint32_t v) {
    switch (v) {
#define CUZK__CASE(name, value, exit_code, text)                                                   \
    case value:                                                                                    \
        return true;
        CUZK_STATUS_MAP(CUZK__CASE)
#undef CUZK__CASE
    default:
        return false;
    }
}

static bool get_info(cuzk_cursor *c, cuzk_engine_device_info *out) {
    uint32_t pid;
    if (!cuzk_rd_u64le(c, &out->memory_total) || !cuzk_rd_u64le(c, &out->memory_free) ||
        !cuzk_rd_u32le(c, &pid) || pid > INT32_MAX)
        return false;
    out->pid = (int)pid;
    return get_text(c, out->name, sizeof out->name) && get_text(c, out->uuid, sizeof out->uuid);
}

static bool get_moved(cuzk_cursor *c, cuzk_engine_moved *out) {
    uint64_t ns;
    if (!cuzk_rd_u64le(c, &out->in_pinned) || !cuzk_rd_u64le(c, &out->in_pageable) ||
        !cuzk_rd_u64le(c, &out->out_pinned) || !cuzk_rd_u64le(c, &out->out_pageable) ||
        !cuzk_rd_u64le(c, &out->in_gate) || !cuzk_rd_u64le(c, &ns) || ns > INT64_MAX)
        return false;
    out->device_ns = (int64_t)ns;
    return true;
}

static bool get_result(cuzk_cursor *c, cuzk_wire_reply *out) {
    uint32_t n;
    const uint8_t *p;
    if (!get_u16(c, &n) || n > sizeof out->result || !cuzk_rd_bytes(c, n, &p)) return false;
    memcpy(out->result, p, n);
    out->result_len = n;
    return true;
}

bool cuzk_wire_get_reply(cuzk_wire_reply *out, const void *packet, size_t len) {
    cuzk_cursor c = cuzk_cursor_init(packet, len);
    uint32_t type, status;
    bool good = true;
    memset(out, 0, sizeof *out);
    if (!get_head(&c, &type, &out->id) || !(type & REPLY)) return false;
    type &= ~(uint32_t)REPLY;
    if (type < CUZK_WIRE_OPEN || type >= CUZK_WIRE_TYPES) return false;
    out->type = (cuzk_wire_type)type;
    if (!cuzk_rd_u32le(&c, &status) || !is_status(status) ||
        !get_text(&c, out->err.msg, sizeof out->err.msg))
        return false;
    out->err.status = (cuzk_status)status;
    if (status == CUZK_OK && type == CUZK_WIRE_OPEN) good = get_info(&c, &out->info);
    if (status == CUZK_OK && type == CUZK_WIRE_COMPUTE) good = get_moved(&c, &out->moved);
    if (status == CUZK_OK && type == CUZK_WIRE_FINISH) good = get_result(&c, out);
    if (status == CUZK_OK && type == CUZK_WIRE_PLAN)
        good = cuzk_rd_u64le(&c, &out->plan.key) && cuzk_rd_u64le(&c, &out->plan.slot) &&
               cuzk_rd_u64le(&c, &out->plan.slot_pinned) &&
               cuzk_rd_u64le(&c, &out->plan.key_pinned);
    return good && cuzk_cursor_left(&c) == 0;
}

/* ---- packets ---- */

bool cuzk__wire_send(int socket, const uint8_t *packet, size_t len, int fd_to_pass, int flags) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    uint8_t copy[CUZK_WIRE_MAX]; /* iovec is not const */
    memcpy(copy, packet, len);
    struct iovec part = {copy, len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    if (fd_to_pass >= 0) {
        m.msg_control = control.room;
        m.msg_controllen = sizeof control.room;
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(h), &fd_to_pass, sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(socket, &m, MSG_NOSIGNAL | flags);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

/* Takes the descriptor that came along; more than one is closed. */
static int take_fd(struct msghdr *m) {
    int fd = -1;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
        const size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int got;
            memcpy(&got, CMSG_DATA(h) + i * sizeof(int), sizeof got);
            if (fd < 0)
                fd = got;
            else
                (void)close(got);
        }
    }
    return fd;
}

size_t cuzk__wire_receive(int socket, uint8_t packet[CUZK_WIRE_MAX], int *fd) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec part = {packet, CUZK_WIRE_MAX};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    ssize_t n;
    do
        n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    *fd = n > 0 ? take_fd(&m) : -1;
    if (n > 0 && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return (size_t)n;
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
    return 0;
}

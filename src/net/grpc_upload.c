/* The request's side of a call.
 *
 * DESIGN: memory for requests is a budget of the server. A small message (64 KiB) takes its share
 * at once or is refused. A larger one takes 64 KiB, the window that its stream has, and then waits,
 * in order of arrival, until the whole rest is there: no two half-sent ones can wait for each
 * other. While it waits its window is not refilled, so the client waits too; the connection's
 * window is refilled always, so other calls on it are not held up. Those who wait hold at most a
 * quarter of the budget. A granted upload must come at 64 KiB a second in every stall_ns, and at
 * 256 KiB a second in every quarter of it while somebody waits, so that nobody keeps memory by
 * sending a byte now and then, and those who wait outlast him. */
#include "net/grpc_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static void give_back(cuzk_grpc_call *call, uint64_t n) {
    atomic_fetch_sub(&call->charged, n);
    cuzk__grpc_budget_give(call->shared, n);
}

static bool take(cuzk_grpc_call *call, uint64_t n) {
    if (!cuzk__grpc_budget_take(call->shared, n, call->shared->budget)) return false;
    atomic_fetch_add(&call->charged, n);
    return true;
}

/* ---- waiting for the budget ---- */

static void stop_waiting(cuzk_grpc_call *call) {
    cuzk_grpc_server *s = call->conn->server;
    if (!call->wait_link) return;
    *call->wait_link = call->wait_next;
    if (call->wait_next)
        call->wait_next->wait_link = call->wait_link;
    else
        s->waiters_last = call->wait_link;
    call->wait_link = NULL;
    call->wait_next = NULL;
    s->waiting_bytes -= CUZK__SMALL;
    if (!s->waiters) atomic_store(&call->shared->waiting, false);
}

/* False: too many wait. */
static bool start_waiting(cuzk_grpc_call *call) {
    cuzk_grpc_server *s = call->conn->server;
    if (s->waiting_bytes + CUZK__SMALL > call->shared->budget / 4) return false;
    s->waiting_bytes += CUZK__SMALL;
    call->wait_link = s->waiters_last;
    *s->waiters_last = call;
    s->waiters_last = &call->wait_next;
    call->upload = CUZK__UPLOAD_WAITING;
    atomic_store(&call->shared->waiting, true);
    cuzk__grpc_serve_waiters(s); /* something may have become free before waiting was set */
    return true;
}

static void start_upload(cuzk_grpc_call *call, int64_t now) {
    call->upload = CUZK__UPLOAD_GRANTED;
    call->progress_ns = now;
    cuzk__pace_start(&call->pace, now);
    cuzk__conn_look_at(call->conn, now + call->conn->server->limits.stall_ns / 4);
}

static void consume(cuzk_grpc_call *call) {
    if (call->unconsumed)
        nghttp2_session_consume_stream(call->conn->session, call->stream_id, call->unconsumed);
    call->unconsumed = 0;
}

void cuzk__call_granted(cuzk_grpc_call *call) {
    cuzk__grpc_frames *f = &call->frames;
    stop_waiting(call);
    if (cuzk_realloc((void **)&f->body, f->len, 1) != CUZK_OK) {
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "the server is out of memory");
        return;
    }
    f->room = f->len;
    start_upload(call, cuzk_now_ns());
    if (!(call->method->flags & CUZK_GRPC_CLIENT_STREAM))
        nghttp2_session_set_local_window_size(call->conn->session, NGHTTP2_FLAG_NONE,
                                              call->stream_id, CUZK__GRANTED_WINDOW);
    consume(call);
}

/* ---- room for a message ---- */

static bool make_room(cuzk_grpc_call *call) {
    cuzk__grpc_frames *f = &call->frames;
    const size_t first = f->len < CUZK__SMALL ? f->len : CUZK__SMALL;
    const bool client_streams = call->method->flags & CUZK_GRPC_CLIENT_STREAM;
    if (f->room) {
        cuzk__call_abort(call, CUZK_GRPC_INTERNAL, "the client ignores flow control");
        return false;
    }
    if (f->len > call->shared->max_message) {
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                         "a message of %zu bytes; at most %llu are taken", f->len,
                         (unsigned long long)call->shared->max_message);
        return false;
    }
    if (call->have_body && !client_streams) {
        cuzk__call_abort(call, CUZK_GRPC_UNIMPLEMENTED, "this method takes one message");
        return false;
    }
    if (!take(call, first)) {
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                         "the memory for requests is used up; try again later");
        return false;
    }
    if (cuzk_realloc((void **)&f->body, first, 1) != CUZK_OK) {
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "the server is out of memory");
        return false;
    }
    f->room = first;
    start_upload(call, cuzk_now_ns());
    if (first == f->len || start_waiting(call)) return true;
    cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                     "too many large requests wait for memory; try again later");
    return false;
}

void cuzk__upload_stop(cuzk_grpc_call *call) {
    if (call->conn) stop_waiting(call);
    if (call->upload == CUZK__UPLOAD_DONE) return;
    call->upload = CUZK__UPLOAD_DONE;
    if (cuzk__grpc_frames_idle(&call->frames)) return;
    const uint64_t rest = atomic_load(&call->charged) - call->body_len;
    cuzk_free(call->frames.body);
    cuzk__grpc_frames_next(&call->frames);
    give_back(call, rest);
}

/* ---- what comes ---- */

/* A whole message. */
static void deliver(cuzk_grpc_call *call) {
    call->body = call->frames.body;
    call->body_len = call->frames.len;
    call->have_body = true;
    call->progress_ns = cuzk_now_ns();
    cuzk__grpc_frames_next(&call->frames);
    call->upload = CUZK__UPLOAD_NONE;
    if (!(call->method->flags & CUZK_GRPC_CLIENT_STREAM)) return;
    call->method->handler(call->method->ctx, call);
    call->have_body = false;
    cuzk_grpc_call_drop_request(call);
}

/* One event; false: nothing more to do with these bytes. */
static bool step(cuzk_grpc_call *call, const uint8_t **p, const uint8_t *end) {
    switch (cuzk__grpc_frames_feed(&call->frames, p, end)) {
    case CUZK__GRPC_ROOM:
        return make_room(call);
    case CUZK__GRPC_MESSAGE:
        if (call->have_body) { /* an empty one more: it asked for no room */
            cuzk__call_abort(call, CUZK_GRPC_UNIMPLEMENTED, "this method takes one message");
            return false;
        }
        deliver(call);
        return call->upload != CUZK__UPLOAD_DONE && *p < end;
    case CUZK__GRPC_FLAGGED:
        if (call->frames.head[0] == 1)
            cuzk__call_abort(call, CUZK_GRPC_UNIMPLEMENTED,
                             "a compressed message; send without compression");
        else
            cuzk__call_abort(call, CUZK_GRPC_INTERNAL, "a message begins with byte 0x%02x",
                             call->frames.head[0]);
        return false;
    default:
        return false;
    }
}

void cuzk__call_bytes(cuzk_grpc_call *call, const uint8_t *p, size_t n) {
    const uint8_t *end = p + n;
    cuzk_grpc_call_ref(call);
    call->unconsumed += n;
    if (call->upload == CUZK__UPLOAD_GRANTED)
        cuzk__pace_add(&call->pace, n);
    else if (call->upload == CUZK__UPLOAD_NONE && !call->have_body)
        call->progress_ns = cuzk_now_ns();
    while (call->upload != CUZK__UPLOAD_DONE && step(call, &p, end)) {
    }
    if (call->conn && call->upload != CUZK__UPLOAD_WAITING) consume(call);
    cuzk_grpc_call_unref(call);
}

void cuzk__call_half_close(cuzk_grpc_call *call) {
    if (call->upload == CUZK__UPLOAD_DONE) return;
    if (!cuzk__grpc_frames_idle(&call->frames)) {
        cuzk__call_abort(call, CUZK_GRPC_INTERNAL, "the request ends within a message");
        return;
    }
    const bool client_streams = call->method->flags & CUZK_GRPC_CLIENT_STREAM;
    if (!call->have_body && !client_streams) {
        cuzk__call_abort(call, CUZK_GRPC_UNIMPLEMENTED, "this method takes one message; none came");
        return;
    }
    call->upload = CUZK__UPLOAD_DONE;
    call->half_closed = true;
    call->method->handler(call->method->ctx, call);
}

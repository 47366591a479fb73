/* DESIGN: a stream is a buffer between whoever writes and MHD's thread. When there is nothing to
 * send MHD's connection is suspended, so that it costs no time; writing resumes it. A suspended
 * connection does not see its client leave, hence the advice to write now and then. */
#include "net/http_internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { MOST_UNREAD = 4 << 20, BLOCK = 16384 };

struct cuzk_http_stream {
    _Atomic unsigned refs;
    cuzk_http_server *server; /* used while it is listed alone */
    cuzk_http_stream *next, **link;
    pthread_mutex_t lock;
    struct MHD_Connection *connection;
    cuzk_buf unread;
    size_t off;
    bool suspended, closed, dead;
};

static void unref(cuzk_http_stream *s) {
    if (atomic_fetch_sub(&s->refs, 1) != 1) return;
    pthread_mutex_destroy(&s->lock);
    cuzk_buf_free(&s->unread);
    cuzk_free(s);
}

static void resume(cuzk_http_stream *s) {
    if (s->suspended) MHD_resume_connection(s->connection);
    s->suspended = false;
}

static ssize_t read_stream(void *ctx, uint64_t pos, char *out, size_t cap) {
    cuzk_http_stream *s = ctx;
    ssize_t n = 0;
    (void)pos;
    pthread_mutex_lock(&s->lock);
    const size_t left = s->unread.len - s->off;
    if (left) {
        n = (ssize_t)(left < cap ? left : cap);
        memcpy(out, s->unread.data + s->off, (size_t)n);
        s->off += (size_t)n;
        if (s->off == s->unread.len) s->off = s->unread.len = 0;
    } else if (s->closed || s->dead) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->suspended = true;
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* MHD has done with it. */
static void free_stream(void *ctx) {
    cuzk_http_stream *s = ctx;
    pthread_mutex_lock(&s->server->lock);
    *s->link = s->next;
    if (s->next) s->next->link = s->link;
    s->server->n_streams--;
    pthread_mutex_unlock(&s->server->lock);
    pthread_mutex_lock(&s->lock);
    s->dead = true;
    cuzk_buf_free(&s->unread);
    s->off = 0;
    pthread_mutex_unlock(&s->lock);
    unref(s);
}

cuzk_http_stream *cuzk_http_stream_new(cuzk_http_response *res, unsigned status,
                                       const char *content_type) {
    cuzk_http_server *server = res->server;
    cuzk_http_stream *s;
    if (res->made) return NULL;
    pthread_mutex_lock(&server->lock);
    const bool room = server->n_streams < (server->limits.max_connections + 1) / 2;
    pthread_mutex_unlock(&server->lock);
    if (!room || atomic_load(&server->stopping) ||
        cuzk_alloc((void **)&s, 1, sizeof *s) != CUZK_OK) {
        cuzk_http_respond_error(res, 503, "busy", "no stream can be opened now");
        return NULL;
    }
    atomic_init(&s->refs, 2); /* the caller's and MHD's */
    s->server = server;
    s->connection = res->connection;
    pthread_mutex_init(&s->lock, NULL);
    res->made =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, s, free_stream);
    if (!res->made) {
        pthread_mutex_destroy(&s->lock);
        cuzk_free(s);
        cuzk_http_respond_error(res, 503, "busy", "no memory for a stream");
        return NULL;
    }
    pthread_mutex_lock(&server->lock);
    server->n_streams++;
    if (res->conn) res->conn->streams = true;
    s->link = &server->streams;
    s->next = server->streams;
    if (s->next) s->next->link = &s->next;
    server->streams = s;
    /* under the lock that stopping walks the list with */
    s->closed = atomic_load(&server->stopping);
    pthread_mutex_unlock(&server->lock);
    res->status = status;
    res->streams = true;
    MHD_add_response_header(res->made, "Content-Type", content_type);
    MHD_add_response_header(res->made, "X-Accel-Buffering", "no"); /* proxies pass it on at once */
    return s;
}

bool cuzk_http_stream_write(cuzk_http_stream *s, const void *data, size_t len) {
    pthread_mutex_lock(&s->lock);
    bool alive = !s->dead && !s->closed;
    if (alive && len > MOST_UNREAD - (s->unread.len - s->off)) s->dead = true;
    if (alive && !s->dead) {
        if (s->off) {
            memmove(s->unread.data, s->unread.data + s->off, s->unread.len - s->off);
            s->unread.len -= s->off;
            s->off = 0;
        }
        cuzk_buf_append(&s->unread, data, len);
        if (s->unread.failed) s->dead = true;
    }
    if (s->dead) s->off = s->unread.len = 0;
    if (alive) resume(s);
    alive = alive && !s->dead;
    pthread_mutex_unlock(&s->lock);
    return alive;
}

bool cuzk_http_stream_event(cuzk_http_stream *s, const char *event, const char *data) {
    cuzk_buf text = CUZK_BUF_INIT;
    if (event) cuzk_buf_printf(&text, "event: %s\n", event);
    cuzk_buf_printf(&text, "data: %s\n\n", data);
    const bool alive = !text.failed && cuzk_http_stream_write(s, text.data, text.len);
    cuzk_buf_free(&text);
    return alive;
}

void cuzk_http_stream_close(cuzk_http_stream *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->closed = true;
    if (!s->dead) resume(s);
    pthread_mutex_unlock(&s->lock);
    unref(s);
}

void cuzk__http_streams_stop(cuzk_http_server *server) {
    pthread_mutex_lock(&server->lock);
    for (cuzk_http_stream *s = server->streams; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        s->closed = true;
        resume(s);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

/* grpc.health.v1.Health. */
#include "net/grpc_internal.h"
#include "net/pb.h"

#include "base/mem.h"

#include <string.h>

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3, NAME_MOST = 255 };

typedef struct service {
    struct service *next;
    bool serving;
    char name[NAME_MOST + 1];
} service;

typedef struct watcher {
    struct watcher *next, **link;
    cuzk__grpc_health *health;
    cuzk_grpc_call *call;
    int last;
    char name[NAME_MOST + 1];
} watcher;

struct cuzk__grpc_health {
    service *services;
    watcher *watchers;
    bool draining;
    cuzk_grpc_method methods[2];
};

static int status_of(const cuzk__grpc_health *h, const char *name) {
    for (const service *s = h->services; s; s = s->next)
        if (!strcmp(s->name, name)) return s->serving && !h->draining ? SERVING : NOT_SERVING;
    return SERVICE_UNKNOWN;
}

/* HealthCheckRequest{service}: false (and the call ended) when it is none. */
static bool read_request(cuzk_grpc_call *call, char name[NAME_MOST + 1]) {
    const uint8_t *p;
    size_t n;
    cuzk__pb_field f;
    cuzk_grpc_call_request(call, &p, &n);
    cuzk_cursor c = cuzk_cursor_init(p, n);
    name[0] = 0;
    while (cuzk__pb_next(&c, &f)) {
        if (f.tag != 1 || f.wire != 2) continue;
        if (f.len > NAME_MOST) {
            cuzk_grpc_fail(call, CUZK_GRPC_NOT_FOUND, "no service has so long a name");
            return false;
        }
        memcpy(name, f.data, f.len);
        name[f.len] = 0;
    }
    if (!cuzk_cursor_left(&c)) return true;
    cuzk_grpc_fail(call, CUZK_GRPC_INVALID_ARGUMENT, "this is no HealthCheckRequest");
    return false;
}

static size_t response(uint8_t out[2], int status) {
    out[0] = 1 << 3;
    out[1] = (uint8_t)status;
    return 2;
}

static void check(void *ctx, cuzk_grpc_call *call) {
    char name[NAME_MOST + 1];
    uint8_t out[2];
    if (!read_request(call, name)) return;
    const int status = status_of(ctx, name);
    if (status == SERVICE_UNKNOWN)
        cuzk_grpc_fail(call, CUZK_GRPC_NOT_FOUND, "no service \"%s\" here", name);
    else
        cuzk_grpc_reply(call, out, response(out, status));
}

static void forget(void *ctx, cuzk_grpc_call *call) {
    watcher *w = ctx;
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    cuzk_free(w);
    cuzk_grpc_call_unref(call);
}

static void tell(watcher *w) {
    uint8_t out[2];
    const int status = status_of(w->health, w->name);
    if (status == w->last) return;
    w->last = status;
    cuzk_grpc_send(w->call, out, response(out, status));
}

static void watch(void *ctx, cuzk_grpc_call *call) {
    cuzk__grpc_health *h = ctx;
    watcher *w;
    char name[NAME_MOST + 1];
    if (!read_request(call, name)) return;
    if (cuzk_alloc((void **)&w, 1, sizeof *w) != CUZK_OK) {
        cuzk_grpc_fail(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "the server is out of memory");
        return;
    }
    memcpy(w->name, name, sizeof name);
    w->health = h;
    w->call = cuzk_grpc_call_ref(call);
    w->link = &h->watchers;
    w->next = h->watchers;
    if (w->next) w->next->link = &w->next;
    h->watchers = w;
    cuzk_grpc_call_on_cancel(call, forget, w);
    cuzk_grpc_call_drop_request(call);
    tell(w);
}

static void tell_all(cuzk__grpc_health *h) {
    for (watcher *w = h->watchers; w; w = w->next)
        tell(w);
}

void cuzk__grpc_health_drain(cuzk__grpc_health *h) {
    h->draining = true;
    tell_all(h);
}

void cuzk__grpc_health_free(cuzk__grpc_health *h) {
    if (!h) return; /* the watchers went with their calls */
    while (h->services) {
        service *s = h->services;
        h->services = s->next;
        cuzk_free(s);
    }
    cuzk_free(h);
}

/* ---- setting ---- */

typedef struct setting {
    cuzk__grpc_shared *shared;
    service *service;
} setting;

static void set(cuzk__grpc_health *h, service *add) {
    for (service *s = h->services; s; s = s->next)
        if (!strcmp(s->name, add->name)) {
            s->serving = add->serving;
            cuzk_free(add);
            tell_all(h);
            return;
        }
    add->next = h->services;
    h->services = add;
    tell_all(h);
}

static void set_task(void *ctx) {
    setting *m = ctx;
    if (m->shared->server && m->shared->server->health)
        set(m->shared->server->health, m->service);
    else
        cuzk_free(m->service);
    cuzk__grpc_shared_unref(m->shared);
    cuzk_free(m);
}

static cuzk_status new_service(service **out, const char *name, bool serving) {
    if (strlen(name) > NAME_MOST) return CUZK_STATUS_USAGE;
    CUZK_TRY(cuzk_alloc((void **)out, 1, sizeof **out));
    memcpy((*out)->name, name, strlen(name));
    (*out)->serving = serving;
    return CUZK_OK;
}

cuzk_status cuzk_grpc_health_set(cuzk_grpc_server *s, const char *name, bool serving) {
    setting *m;
    cuzk_status st;
    CUZK_TRY(cuzk_alloc((void **)&m, 1, sizeof *m));
    CUZK_TRY_GOTO(new_service(&m->service, name, serving), out);
    m->shared = cuzk__grpc_shared_ref(s->shared);
    st = cuzk_net_post(s->loop, set_task, m);
    if (st == CUZK_OK) return CUZK_OK;
    cuzk__grpc_shared_unref(m->shared);
    cuzk_free(m->service);
out:
    cuzk_free(m);
    return st;
}

cuzk_status cuzk_grpc_server_health(cuzk_grpc_server *s, cuzk_err *err) {
    cuzk__grpc_health *h;
    service *whole;
    CUZK_TRY(cuzk_alloc((void **)&h, 1, sizeof *h));
    s->health = h;
    CUZK_TRY(new_service(&whole, "", true));
    set(h, whole);
    h->methods[0] = (cuzk_grpc_method){"/grpc.health.v1.Health/Check", CUZK_GRPC_UNARY, check, h};
    h->methods[1] = (cuzk_grpc_method){"/grpc.health.v1.Health/Watch",
                                       CUZK_GRPC_SERVER_STREAM | CUZK_GRPC_WATCH, watch, h};
    return cuzk__grpc_add_methods(s, h->methods, 2, err);
}

/* Lines of a log, written and read. */
#include "trace.h"

#include "base/digest.h"
#include "base/mem.h"

#include <string.h>

static const char *const names[] = {
#define CUZK__TRACE_NAME(name) #name,
    CUZK_TRACE_EVENTS(CUZK__TRACE_NAME)
#undef CUZK__TRACE_NAME
};

static long long to_ms(int64_t ns) {
    return (long long)((ns + 500000) / 1000000);
}

static void put_item(cuzk_buf *out, const cuzk_trace *t, const cuzk_trace_item *i) {
    char job[32];
    cuzk_buf_printf(out, "TIMELINE,%lld,%s,%s,", to_ms(i->ns), names[i->event],
                    cuzk_trace_job(t, i->job, job));
    if (i->worker != CUZK_TRACE_NONE) cuzk_buf_printf(out, "worker=%u,", i->worker);
    cuzk_buf_printf(out, "partition=%u", i->partition);
    if (i->took >= 0)
        cuzk_buf_printf(out, i->event == CUZK_TRACE_GPU_END ? ",gpu_ms=%lld" : ",synth_ms=%lld",
                        to_ms(i->took));
    if (i->device != CUZK_TRACE_NONE) cuzk_buf_printf(out, ",device=%u", i->device);
    cuzk_buf_puts(out, "\n");
}

void cuzk_trace_write(cuzk_buf *out, const cuzk_trace *t) {
    for (size_t i = 0; i < t->n; i++)
        put_item(out, t, &t->items[i]);
}

/* ---- reading ---- */

typedef struct piece {
    const char *p;
    size_t n;
} piece;

/* What stands before the next `stop`, or everything. */
static piece cut(piece *rest, char stop) {
    const char *at = memchr(rest->p, stop, rest->n);
    const piece head = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    const size_t used = head.n + (at != NULL);
    rest->p += used;
    rest->n -= used;
    return head;
}

static bool is(piece a, const char *word) {
    return a.n == strlen(word) && memcmp(a.p, word, a.n) == 0;
}

static bool number(piece a, int64_t most, int64_t *out) {
    int64_t v = 0;
    if (a.n == 0 || a.n > 15) return false;
    for (size_t i = 0; i < a.n; i++) {
        if (a.p[i] < '0' || a.p[i] > '9') return false;
        v = v * 10 + (a.p[i] - '0');
    }
    *out = v;
    return v <= most;
}

static uint32_t *slot_of(cuzk_trace *t, piece name) {
    size_t at = (size_t)cuzk_digest_of(name.p, name.n, 0).lo & (t->index_cap - 1);
    while (t->index[at]) {
        const char *other = t->names[t->index[at] - 1];
        if (is(name, other)) break;
        at = (at + 1) & (t->index_cap - 1);
    }
    return &t->index[at];
}

static cuzk_status grow_names(cuzk_trace *t) {
    const size_t cap = t->names_cap ? 2 * t->names_cap : 64;
    uint32_t *index;
    CUZK_TRY(cuzk_realloc((void **)&t->names, cap, sizeof *t->names));
    t->names_cap = cap;
    CUZK_TRY(cuzk_alloc((void **)&index, 2 * cap, sizeof *index));
    cuzk_free(t->index);
    t->index = index;
    t->index_cap = 2 * cap;
    for (size_t i = 0; i < t->n_names; i++)
        *slot_of(t, (piece){t->names[i], strlen(t->names[i])}) = (uint32_t)i + 1;
    return CUZK_OK;
}

static cuzk_status job_number(cuzk_trace *t, piece name, uint64_t *out) {
    if (t->n_names == t->names_cap) CUZK_TRY(grow_names(t));
    uint32_t *slot = slot_of(t, name);
    if (*slot == 0) {
        char *copy;
        CUZK_TRY(cuzk_alloc((void **)&copy, name.n + 1, 1));
        memcpy(copy, name.p, name.n);
        t->names[t->n_names++] = copy;
        *slot = (uint32_t)t->n_names;
    }
    *out = *slot - 1;
    return CUZK_OK;
}

cuzk_status cuzk_trace_name(cuzk_trace *t, const char *name, uint64_t *out) {
    return job_number(t, (piece){name, strlen(name)}, out);
}

static bool detail(cuzk_trace_item *i, piece field) {
    int64_t v;
    const piece key = cut(&field, '=');
    const bool ms = is(key, "synth_ms") || is(key, "gpu_ms");
    /* kind=, monolithic and what later engines may add say nothing about time */
    if (!ms && !is(key, "partition") && !is(key, "worker") && !is(key, "device")) return true;
    if (!number(field, ms ? INT64_C(1) << 40 : UINT32_MAX - 1, &v)) return false;
    if (ms)
        i->took = v * 1000000;
    else if (is(key, "partition"))
        i->partition = (uint32_t)v;
    else if (is(key, "worker"))
        i->worker = (uint32_t)v;
    else
        i->device = (uint32_t)v;
    return i->device == CUZK_TRACE_NONE || i->device < CUZK_TRACE_MAX_DEVICES;
}

/* ms,event,job,detail... */
static bool parse(cuzk_trace_item *i, piece *job, piece rest) {
    int64_t ms;
    *i = (cuzk_trace_item){.took = -1,
                           .event = CUZK_TRACE_EVENT_COUNT,
                           .worker = CUZK_TRACE_NONE,
                           .device = CUZK_TRACE_NONE};
    if (!number(cut(&rest, ','), INT64_C(1) << 40, &ms)) return false;
    i->ns = ms * 1000000;
    const piece event = cut(&rest, ',');
    for (int e = 0; e < CUZK_TRACE_EVENT_COUNT; e++)
        if (is(event, names[e])) i->event = (cuzk_trace_event)e;
    if (is(event, "CHAN_SEND")) i->event = CUZK_TRACE_GPU_QUEUE; /* its older name */
    *job = cut(&rest, ',');
    if (i->event == CUZK_TRACE_EVENT_COUNT || job->n == 0 || job->n > 200) return false;
    while (rest.n > 0)
        if (!detail(i, cut(&rest, ','))) return false;
    return true;
}

cuzk_status cuzk_trace_read(cuzk_trace *t, const char *text, size_t len) {
    static const char tag[] = "TIMELINE,";
    piece rest = {text, len};
    while (rest.n > 0) {
        piece line = cut(&rest, '\n'), job;
        cuzk_trace_item item;
        if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
        if (line.n < sizeof tag || memcmp(line.p, tag, sizeof tag - 1) != 0) continue;
        line.p += sizeof tag - 1;
        line.n -= sizeof tag - 1;
        if (memchr(line.p, '\0', line.n) || !parse(&item, &job, line)) {
            t->ignored++;
            continue;
        }
        CUZK_TRY(job_number(t, job, &item.job));
        CUZK_TRY(cuzk_trace_add(t, &item));
    }
    cuzk_trace_sort(t);
    return CUZK_OK;
}

/* A timeline as Chrome's trace events, for chrome://tracing and Perfetto. */
#include "trace.h"
#include "visits.h"

#include <inttypes.h>
#include <stdio.h>

/* "Processes" of the picture: the witness workers, then each device; its threads are what waits
 * for a slot, its slots and its kernels. */
enum { WITNESSES = 1, FIRST_DEVICE = 2, KERNELS = 0, SLOTS = 1 };

static void put_name(cuzk_buf *out, const char *name) {
    for (const char *p = name; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            cuzk_buf_printf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            cuzk_buf_printf(out, "\\u%04x", c);
        else
            cuzk_buf_append(out, p, 1);
    }
}

static void put_event(cuzk_buf *out, const cuzk_trace *t, const visit *v, const char *what,
                      uint64_t pid, uint64_t tid, int64_t from, int64_t to) {
    char number[32];
    if (from < 0 || to < from) return;
    cuzk_buf_puts(out, ",\n{\"ph\":\"X\",\"name\":\"");
    put_name(out, cuzk_trace_job(t, v->job, number));
    if (v->partition != CUZK_TRACE_NONE) cuzk_buf_printf(out, " #%" PRIu32, v->partition);
    cuzk_buf_printf(out,
                    "\",\"cat\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"ts\":%" PRId64
                    ".%03d,\"dur\":%" PRId64 ".%03d,\"args\":{\"stage\":\"%s\"}}",
                    what, pid, tid, from / 1000, (int)(from % 1000), (to - from) / 1000,
                    (int)((to - from) % 1000), what);
}

static void name_process(cuzk_buf *out, uint64_t pid, const char *name) {
    cuzk_buf_printf(out,
                    ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu64
                    ",\"args\":{\"name\":\"%s\"}}",
                    pid, name);
}

static void name_thread(cuzk_buf *out, uint64_t pid, uint64_t tid, const char *name) {
    cuzk_buf_printf(out,
                    ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64
                    ",\"args\":{\"name\":\"%s\"}}",
                    pid, tid, name);
}

static void name_devices(cuzk_buf *out, visits *v) {
    uint64_t seen = 0;
    for (size_t i = 0; i < v->n; i++) {
        const uint32_t d = v->items[i].device == CUZK_TRACE_NONE ? 0 : v->items[i].device;
        char name[32];
        if (d >= CUZK_TRACE_MAX_DEVICES || seen >> d & 1) continue;
        seen |= (uint64_t)1 << d;
        snprintf(name, sizeof name, "device %" PRIu32, d);
        name_process(out, FIRST_DEVICE + (uint64_t)d, name);
        name_thread(out, FIRST_DEVICE + (uint64_t)d, KERNELS, "kernels");
        (void)cuzk__trace_place(v->items, v->n, v->items[i].device, false);
    }
}

cuzk_status cuzk_trace_chrome(cuzk_buf *out, const cuzk_trace *t) {
    visits v;
    CUZK_TRY(cuzk__trace_visits(&v, t));
    cuzk_buf_puts(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    cuzk_buf_puts(out, "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,"
                       "\"args\":{\"name\":\"witness workers\"}}");
    name_devices(out, &v);
    (void)cuzk__trace_place(v.synths, v.n_synths, 0, true);
    for (size_t i = 0; i < v.n_synths; i++) {
        const visit *s = &v.synths[i];
        put_event(out, t, s, "witness", WITNESSES, s->lane, s->synth_start, s->synth_end);
    }
    for (size_t i = 0; i < v.n; i++) {
        const visit *s = &v.items[i];
        const uint64_t pid =
            FIRST_DEVICE + (uint64_t)(s->device != CUZK_TRACE_NONE ? s->device : 0);
        put_event(out, t, s, "kernels", pid, KERNELS, s->start, s->end);
        put_event(out, t, s, "staging", pid, SLOTS + (uint64_t)s->lane, s->pickup, s->start);
    }
    cuzk_buf_puts(out, "\n]}\n");
    cuzk__trace_visits_free(&v);
    return cuzk_buf_status(out);
}

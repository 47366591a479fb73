#include "engine/trace/trace.h"

#include "rpc/internal.h"

/* Keeps the events from a time on. */
static void cut(cuzk_trace *t, int64_t since_ns) {
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].ns >= since_ns) t->items[kept++] = t->items[i];
    }
    t->n = kept;
}

cuzk_status cuzk__rpc_trace(cuzk_rpc *r, cuzk__rpc_trace_format format, int64_t since_ns,
                            cuzk_buf *out, cuzk_err *err) {
    cuzk_trace t = {0};
    cuzk_status st = cuzk_engine_trace(r->engine, &t);
    if (st == CUZK_OK) {
        cut(&t, since_ns);
        cuzk_trace_sort(&t);
        if (format == CUZK__RPC_TRACE_CSV)
            cuzk_trace_write(out, &t);
        else if (format == CUZK__RPC_TRACE_CHROME)
            st = cuzk_trace_chrome(out, &t);
        else
            st = cuzk_trace_svg(out, &t);
    }
    cuzk_trace_free(&t);
    if (st == CUZK_OK) st = cuzk_buf_status(out);
    if (st == CUZK_OK) return st;
    return cuzk_err_set(err, st, "the timeline: %s", cuzk_status_text(st));
}

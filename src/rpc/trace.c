#include "engine/trace/trace.h"

#include "rpc/internal.h"

cuzk_status cuzk__rpc_trace(cuzk_rpc *r, cuzk__rpc_trace_format format, cuzk_buf *out,
                            cuzk_err *err) {
    cuzk_trace t = {0};
    cuzk_status st = cuzk_engine_trace(r->engine, &t);
    if (st == CUZK_OK) {
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

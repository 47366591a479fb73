/* Logs: whatever they hold, what is read can be summed up, drawn, written and read again. */
#include "fuzz.h"

#include "engine/trace/trace.h"

static int refused(cuzk_status st, const cuzk_err *err) {
    FUZZ_CHECK(st == CUZK_OK || (st == CUZK_STATUS_BAD_INPUT && err->msg[0]));
    return st != CUZK_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_trace t = {0}, again = {0};
    cuzk_trace_summary sum;
    cuzk_buf text = CUZK_BUF_INIT, svg = CUZK_BUF_INIT;
    cuzk_err err = {0};
    FUZZ_CHECK(cuzk_trace_read(&t, (const char *)data, size) == CUZK_OK);
    if (!refused(cuzk_trace_sum(&sum, &t, &err), &err)) {
        for (uint32_t d = 0; d < sum.n_devices; d++)
            FUZZ_CHECK(sum.devices[d].busy >= 0 && sum.devices[d].busy <= sum.devices[d].span);
        FUZZ_CHECK(cuzk_trace_svg(&svg, &t) == CUZK_OK);
        cuzk_trace_write(&text, &t);
        FUZZ_CHECK(cuzk_trace_read(&again, text.data, text.len) == CUZK_OK);
        FUZZ_CHECK(again.n == t.n && again.ignored == 0);
    }
    cuzk_buf_free(&text);
    cuzk_buf_free(&svg);
    cuzk_trace_free(&t);
    cuzk_trace_free(&again);
    return 0;
}

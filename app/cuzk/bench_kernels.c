/* `cuzk bench field|ntt|msm|bits|eval --device cuda`: single kernels. */
#include "bench.h"

#ifdef CUZK_HAVE_CUDA
#include "gpu/kernels.h"

#include "base/mem.h"

#include <string.h>

typedef struct sink {
    cuzk_bench *b;
    cuzk_status st;
} sink;

/* Clocks and power are those right after the kernel. */
static void add_row(void *ctx, const cuzk_kernels_row *r) {
    sink *s = ctx;
    cuzk_bench *b = s->b;
    const double best = (double)r->ms[0];
    cuzk_buf extra = CUZK_BUF_INIT, note = CUZK_BUF_INIT;
    void *ns;
    if (cuzk_alloc(&ns, r->runs, sizeof(int64_t)) != CUZK_OK) {
        s->st = CUZK_STATUS_NO_MEMORY;
        return;
    }
    for (unsigned i = 0; i < r->runs; i++)
        ((int64_t *)ns)[i] = (int64_t)((double)r->ms[i] * 1e6);
    if (r->floor_ms > 0) {
        cuzk_buf_printf(&extra, ",\"floor_ms\":%.4f,\"share_of_floor\":%.3f", r->floor_ms,
                        r->floor_ms / best);
        cuzk_buf_printf(&note, "%.0f %% of the floor", 100 * r->floor_ms / best);
    }
    if (r->bytes > 0) cuzk_buf_printf(&extra, ",\"bytes_moved\":%.0f", r->bytes);
    cuzk_buf_puts(&extra, r->extra);
    cuzk_buf_puts(&extra, ",\"hardware\":{");
    cuzk_device_json(&b->device, &extra);
    cuzk_device_clocks_json(&b->device, &extra);
    cuzk_buf_puts(&extra, "}");
    if (extra.failed || note.failed) b->rows.failed = true;
    const cuzk_bench_row row = {.op = r->op,
                                .group = r->group,
                                .curve = r->curve,
                                .log2n = r->log2n,
                                .device = b->device.word,
                                .threads = 1,
                                .variant = r->variant,
                                .verified = r->verified,
                                .ns = ns,
                                .runs = r->runs,
                                .extra = extra.failed ? NULL : extra.data,
                                .note = note.failed ? NULL : note.data};
    cuzk_bench_add(b, &row);
    cuzk_free(ns);
    cuzk_buf_free(&extra);
    cuzk_buf_free(&note);
}

static cuzk_status run(cuzk_bench *b, cuzk_err *err) {
    const cuzk_bench_kernels *k = &b->kernels;
    const cuzk_kernels_options o = {.curve = k->both_curves ? 0 : b->curve->id,
                                    .group = k->both_groups ? 0 : b->group,
                                    .log2_lo = b->log2_lo,
                                    .log2_hi = b->log2_hi,
                                    .step = k->step,
                                    .runs = b->runs,
                                    .pattern = k->pattern,
                                    .patterns = b->all,
                                    .factor = k->factor,
                                    .window = k->window,
                                    .circuit = k->circuit};
    sink s = {b, CUZK_OK};
    const cuzk_kernels_sink rows = {add_row, &s};
    cuzk_cuda *dev;
    unsigned wrong = 0;
    CUZK_TRY(cuzk_device_open(&b->device, b->threads, false, err)); /* for what it is called */
    CUZK_TRY(cuzk_cuda_open(&dev, b->device.ordinal, err));
    cuzk_status st = cuzk_kernels_run(dev, k->operation, &o, &rows, &wrong, err);
    cuzk_cuda_close(dev);
    if (wrong) b->wrong = true;
    if (st == CUZK_OK && s.st != CUZK_OK)
        st = cuzk_err_set(err, s.st, "not enough memory for the report");
    return st;
}

cuzk_status cuzk_bench_kernels_run(cuzk_bench *b, cuzk_err *err) {
    const cuzk_status st = run(b, err);
    cuzk_device_close(&b->device);
    return st;
}
#else
cuzk_status cuzk_bench_kernels_run(cuzk_bench *b, cuzk_err *err) {
    return cuzk_device_open(&b->device, b->threads, false, err); /* says that there is none */
}
#endif

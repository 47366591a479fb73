#include "groth16/points.h"

#include "backend/cpu/cpu.h"

cuzk_status cuzk__points_open(cuzk__points *p, const cuzk_curve *curve, cuzk_backend *backend,
                              uint64_t n1, uint64_t n2, cuzk_pool *pool, cuzk_err *err) {
    *p = (cuzk__points){.curve = curve, .pool = pool, .backend = backend};
    if (!backend) {
        CUZK_TRY(cuzk_cpu_backend_open(&p->own, CUZK_CPU_AUTO, pool, err));
        p->backend = p->own;
    }
    const cuzk_backend_ops *ops = p->backend->ops;
    const uint64_t n[2] = {n1, n2};
    for (int i = 0; i < 2; i++) {
        const size_t batch = n[i] < CUZK__POINTS_BATCH ? (size_t)n[i] : CUZK__POINTS_BATCH;
        if (n[i] == 0) continue;
        CUZK_TRY(ops->multiples_new(p->backend, &p->of[i], curve, i ? CUZK_G2 : CUZK_G1, batch,
                                    n[i], err));
    }
    return CUZK_OK;
}

void cuzk__points_close(cuzk__points *p) {
    if (!p->backend) return;
    for (int i = 0; i < 2; i++) {
        p->backend->ops->multiples_free(p->of[i]);
        p->of[i] = NULL;
    }
    if (p->own) p->own->ops->close(p->own);
    p->own = p->backend = NULL;
}

cuzk_multiples_stats cuzk__points_stats(const cuzk__points *p) {
    cuzk_multiples_stats sum = {0};
    for (int i = 0; i < 2; i++) {
        if (!p->of[i]) continue;
        const cuzk_multiples_stats *s = &p->of[i]->stats;
        sum.device_ns += s->device_ns;
        sum.bytes_in += s->bytes_in;
        sum.bytes_out += s->bytes_out;
    }
    return sum;
}

typedef struct {
    const cuzk__points_job *job;
    cuzk_u256 *out;
    size_t first;
} filling;

static void fill_range(void *ctx, size_t begin, size_t end) {
    const filling *f = ctx;
    f->job->fill(f->job->ctx, f->out + begin, f->first + begin, end - begin);
}

cuzk_status cuzk__points_run(cuzk__points *p, cuzk_group group, size_t n,
                             const cuzk__points_job *job, cuzk_err *err) {
    enum { MIN_LEN = 1024 };
    const cuzk_backend_ops *ops = p->backend->ops;
    cuzk_multiples *m = p->of[group == CUZK_G2];
    const size_t batch = CUZK__POINTS_BATCH;
    size_t queued = 0, taken = 0;
    unsigned under_way = 0;
    while (taken < n) {
        if (queued < n && under_way < m->depth) {
            const size_t k = n - queued < batch ? n - queued : batch;
            filling f = {job, ops->multiples_room(m), queued};
            cuzk_pool_run_ranges(p->pool, k, MIN_LEN, 4, fill_range, &f);
            CUZK_TRY(ops->multiples_queue(m, k, err));
            queued += k;
            under_way++;
            continue;
        }
        const size_t k = n - taken < batch ? n - taken : batch;
        const void *points;
        CUZK_TRY(ops->multiples_take(m, &points, err));
        CUZK_TRY(job->put(job->ctx, points, k, err));
        taken += k;
        under_way--;
    }
    return CUZK_OK;
}

/* Multiples of a generator by the table of curve/fixed_base.c. A batch is computed when it is
 * queued: the pool works on nothing else meanwhile. */
#include "backend/cpu/internal.h"

#include "base/mem.h"

typedef struct multiples {
    cuzk_multiples base;
    cuzk_pool *pool;
    cuzk_fixed_base *table;
    cuzk_u256 *scalars;
    void *points;
    size_t batch, point_size;
} multiples;

cuzk_status cuzk__cpu_multiples_new(cuzk_backend *b, cuzk_multiples **out, const cuzk_curve *curve,
                                    cuzk_group group, size_t batch, uint64_t total, cuzk_err *err) {
    const cuzk_group_ops *g = cuzk_curve_group(curve, group);
    void *mem, *scalars = NULL, *points = NULL;
    *out = NULL;
    cuzk_status st = cuzk_alloc(&mem, 1, sizeof(multiples));
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for a table of multiples");
    multiples *m = mem;
    m->base = (cuzk_multiples){.backend = b, .depth = 1};
    m->pool = ((cuzk__cpu_backend *)b)->pool;
    m->batch = batch;
    m->point_size = g->point_size;
    st = cuzk_fixed_base_new(&m->table, curve, group, g->generator, (size_t)total, m->pool);
    if (st == CUZK_OK) st = cuzk_big_alloc(&scalars, batch * sizeof(cuzk_u256));
    m->scalars = scalars;
    if (st == CUZK_OK) st = cuzk_big_alloc(&points, batch * g->point_size);
    m->points = points;
    if (st != CUZK_OK) {
        cuzk__cpu_multiples_free(&m->base);
        return cuzk_err_set(err, st, "not enough memory for a table of multiples");
    }
    *out = &m->base;
    return CUZK_OK;
}

cuzk_u256 *cuzk__cpu_multiples_room(cuzk_multiples *base) {
    return ((multiples *)base)->scalars;
}

cuzk_status cuzk__cpu_multiples_queue(cuzk_multiples *base, size_t n, cuzk_err *err) {
    multiples *m = (multiples *)base;
    const cuzk_status st = cuzk_fixed_base_run(m->table, m->points, m->scalars, n, m->pool);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "fixed-base multiplication: %s", cuzk_status_text(st));
    return CUZK_OK;
}

cuzk_status cuzk__cpu_multiples_take(cuzk_multiples *base, const void **points, cuzk_err *err) {
    (void)err;
    *points = ((multiples *)base)->points;
    return CUZK_OK;
}

void cuzk__cpu_multiples_free(cuzk_multiples *base) {
    multiples *m = (multiples *)base;
    if (!m) return;
    if (m->scalars) cuzk_wipe(m->scalars, m->batch * sizeof(cuzk_u256));
    cuzk_big_free(m->scalars, m->batch * sizeof(cuzk_u256));
    cuzk_big_free(m->points, m->batch * m->point_size);
    cuzk_fixed_base_free(m->table);
    cuzk_free(m);
}

#include "curve/curve.h"

#include "curve/internal.h"

#include <stdatomic.h>
#include <string.h>

static const cuzk_curve *const curves[] = {&cuzk__curve_bn254, &cuzk__curve_bls12_381};

enum { N_CURVES = sizeof curves / sizeof curves[0] };

const cuzk_curve *cuzk_curve_get(cuzk_curve_id id) {
    for (size_t i = 0; i < N_CURVES; i++)
        if (curves[i]->id == id) return curves[i];
    return NULL;
}

const cuzk_curve *cuzk_curve_by_name(const char *name) {
    for (size_t i = 0; i < N_CURVES; i++)
        if (strcmp(name, curves[i]->name) == 0 || strcmp(name, curves[i]->circom) == 0)
            return curves[i];
    return NULL;
}

const cuzk_curve *cuzk_curve_by_modulus(const uint8_t *q, size_t n) {
    for (size_t i = 0; i < N_CURVES; i++) {
        const size_t bytes = 8 * (size_t)curves[i]->fp_limbs;
        if (n == bytes && memcmp(q, curves[i]->fp_modulus, bytes) == 0) return curves[i];
    }
    return NULL;
}

typedef struct {
    const uint8_t *points;
    size_t size;
    bool (*good)(const void *a);
    atomic_size_t first; /* lowest bad index so far */
} check;

static void check_range(void *arg, size_t begin, size_t end) {
    check *c = arg;
    for (size_t i = begin; i < end; i++) {
        if (c->good(c->points + i * c->size)) continue;
        size_t seen = atomic_load(&c->first);
        while (i < seen && !atomic_compare_exchange_weak(&c->first, &seen, i)) {
        }
        return;
    }
}

size_t cuzk_points_first_bad(const cuzk_curve *c, cuzk_group g, const void *points, size_t n,
                             bool subgroup, cuzk_pool *pool) {
    const cuzk_group_ops *ops = cuzk_curve_group(c, g);
    check job = {points, ops->point_size, subgroup ? ops->in_subgroup : ops->on_curve, n};
    cuzk_pool_run_ranges(pool, n, 16, 8, check_range, &job);
    return atomic_load(&job.first);
}

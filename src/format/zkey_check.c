/* DESIGN. Section 4 is walked at the speed of memory: four compares a record, the value's top limb
 * almost always decides it. Each range stops at its first bad record and the lowest of all wins, so
 * the message does not depend on the threads. */
#include "format/zkey_internal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MIN_COEFS_PER_RANGE = 1 << 14 };

typedef struct coef_walk {
    const cuzk_zkey *zk;
    _Atomic uint64_t first_bad;
} coef_walk;

static bool coef_ok(const cuzk_zkey *zk, const uint8_t *p) {
    return cuzk_ld_u32le(p) <= 1 && cuzk_ld_u32le(p + 4) >> zk->log2_domain == 0 &&
           cuzk_ld_u32le(p + 8) < zk->n_vars && cuzk_scalar_is_canonical(zk->curve->fr, p + 12);
}

static void walk_coefs(void *ctx, size_t begin, size_t end) {
    coef_walk *w = ctx;
    const uint8_t *p = w->zk->coefs + begin * CUZK_ZKEY_COEF_SIZE;
    for (size_t i = begin; i < end; i++, p += CUZK_ZKEY_COEF_SIZE) {
        if (coef_ok(w->zk, p)) continue;
        uint64_t old = atomic_load(&w->first_bad);
        while (i < old && !atomic_compare_exchange_weak(&w->first_bad, &old, i)) {
        }
        return;
    }
}

static cuzk_status coef_error(const cuzk_zkey *zk, uint64_t i, cuzk_err *err) {
    const uint8_t *p = zk->coefs + i * CUZK_ZKEY_COEF_SIZE;
    uint32_t matrix = cuzk_ld_u32le(p), row = cuzk_ld_u32le(p + 4), wire = cuzk_ld_u32le(p + 8);
    if (matrix > 1)
        return cuzk__zkey_bad(zk, CUZK__ZKEY_COEFS, p, err,
                              "coefficient %" PRIu64 ": expected matrix 0 or 1, actual %" PRIu32, i,
                              matrix);
    if (row >> zk->log2_domain)
        return cuzk__zkey_bad(zk, CUZK__ZKEY_COEFS, p + 4, err,
                              "coefficient %" PRIu64
                              ": expected a constraint below the domain size %" PRIu32
                              ", actual %" PRIu32,
                              i, (uint32_t)1 << zk->log2_domain, row);
    if (wire >= zk->n_vars)
        return cuzk__zkey_bad(zk, CUZK__ZKEY_COEFS, p + 8, err,
                              "coefficient %" PRIu64 ": expected a signal below the %" PRIu32
                              " wires, actual %" PRIu32,
                              i, zk->n_vars, wire);
    return cuzk__zkey_bad(zk, CUZK__ZKEY_COEFS, p + 12, err,
                          "coefficient %" PRIu64
                          ": expected a value below r, actual one that is not: top limbs "
                          "%016" PRIx64 " %016" PRIx64,
                          i, cuzk_ld_u64le(p + 36), cuzk_ld_u64le(p + 28));
}

cuzk_status cuzk__zkey_check_coefs(const cuzk_zkey *zk, cuzk_pool *pool, cuzk_err *err) {
    coef_walk w = {.zk = zk};
    atomic_init(&w.first_bad, UINT64_MAX);
    cuzk_pool_run_ranges(pool, zk->n_coefs, MIN_COEFS_PER_RANGE, 4, walk_coefs, &w);
    uint64_t bad = atomic_load(&w.first_bad);
    return bad == UINT64_MAX ? CUZK_OK : coef_error(zk, bad, err);
}

/* Says why a point is refused. */
static cuzk_status point_error(const cuzk_zkey *zk, uint32_t section, cuzk_group group,
                               const uint8_t *at, const char *what, cuzk_err *err) {
    const cuzk_group_ops *g = cuzk_curve_group(zk->curve, group);
    const char *actual = !g->is_canonical(at) ? "a coordinate that is not below q"
                         : !g->on_curve(at)   ? "a pair (x, y) that is not on the curve"
                                              : "a point of the curve outside that group";
    return cuzk__zkey_bad(zk, section, at, err, "%s: expected a point of %s's G%d, actual %s", what,
                          zk->curve->circom, (int)group, actual);
}

static cuzk_status check_section(const cuzk_zkey *zk, uint32_t section, cuzk_group group,
                                 const uint8_t *points, uint64_t n, bool full, cuzk_pool *pool,
                                 cuzk_err *err) {
    size_t bad = cuzk_points_first_bad(zk->curve, group, points, (size_t)n, full, pool);
    if (bad == n) return CUZK_OK;
    char what[40];
    snprintf(what, sizeof what, "point %zu", bad);
    return point_error(zk, section, group,
                       points + bad * cuzk_curve_group(zk->curve, group)->point_size, what, err);
}

static cuzk_status check_header_points(const cuzk_zkey *zk, cuzk_err *err) {
    const struct {
        const uint8_t *at;
        cuzk_group group;
        const char *what;
    } point[] = {{zk->alpha1, CUZK_G1, "alpha1"}, {zk->beta1, CUZK_G1, "beta1"},
                 {zk->beta2, CUZK_G2, "beta2"},   {zk->gamma2, CUZK_G2, "gamma2"},
                 {zk->delta1, CUZK_G1, "delta1"}, {zk->delta2, CUZK_G2, "delta2"}};
    for (size_t i = 0; i < sizeof point / sizeof point[0]; i++) {
        const cuzk_group_ops *g = cuzk_curve_group(zk->curve, point[i].group);
        if (!g->in_subgroup(point[i].at))
            return point_error(zk, CUZK__ZKEY_HEADER, point[i].group, point[i].at, point[i].what,
                               err);
        if (g->is_infinity(point[i].at))
            return cuzk__zkey_bad(zk, CUZK__ZKEY_HEADER, point[i].at, err,
                                  "%s: expected a point other than infinity, actual infinity",
                                  point[i].what);
    }
    return CUZK_OK;
}

cuzk_status cuzk__zkey_check_vk(const cuzk_zkey *zk, cuzk_pool *pool, cuzk_err *err) {
    CUZK_TRY(check_header_points(zk, err));
    return check_section(zk, CUZK__ZKEY_IC, CUZK_G1, zk->ic, (uint64_t)zk->n_public + 1, true, pool,
                         err);
}

cuzk_status cuzk_zkey_check_points(const cuzk_zkey *zk, bool full, cuzk_pool *pool, cuzk_err *err) {
    const struct {
        uint32_t section;
        cuzk_group group;
        const uint8_t *points;
        uint64_t n;
    } part[] = {
        {CUZK__ZKEY_IC, CUZK_G1, zk->ic, (uint64_t)zk->n_public + 1},
        {CUZK__ZKEY_A, CUZK_G1, zk->a, zk->n_vars},
        {CUZK__ZKEY_B1, CUZK_G1, zk->b1, zk->n_vars},
        {CUZK__ZKEY_B2, CUZK_G2, zk->b2, zk->n_vars},
        {CUZK__ZKEY_C, CUZK_G1, zk->c, (uint64_t)zk->n_vars - zk->n_public - 1},
        {CUZK__ZKEY_H, CUZK_G1, zk->h, (uint64_t)1 << zk->log2_domain},
    };
    CUZK_TRY(check_header_points(zk, err));
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        CUZK_TRY(check_section(zk, part[i].section, part[i].group, part[i].points, part[i].n, full,
                               pool, err));
    return CUZK_OK;
}

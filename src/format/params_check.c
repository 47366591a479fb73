/* Every point of a .params, some at a time: converted to ours, then checked together. */
#include "format/params.h"

#include "base/mem.h"
#include "curve/zcash.h"

#include <stdatomic.h>

enum { BATCH = 1 << 17 };

typedef struct {
    cuzk_group g;
    const uint8_t *from;
    uint8_t *to;
    _Atomic size_t first_bad;
} conversion;

static void convert_range(void *ctx, size_t begin, size_t end) {
    conversion *c = ctx;
    const size_t size = cuzk_zcash_size(c->g);
    cuzk_zcash_result why;
    const size_t good = begin + cuzk_zcash_read(c->g, c->to + begin * size, c->from + begin * size,
                                                end - begin, &why);
    if (good == end) return;
    size_t seen = atomic_load(&c->first_bad);
    while (good < seen && !atomic_compare_exchange_weak(&c->first_bad, &seen, good)) {
    }
}

static cuzk_status check_section(const cuzk_params *p, const char *section, cuzk_group g,
                                 const uint8_t *points, size_t n, uint8_t *buf, cuzk_pool *pool,
                                 cuzk_progress *progress, cuzk_err *err) {
    const cuzk_curve *curve = p->vk.vk.curve;
    const size_t size = cuzk_zcash_size(g);
    for (size_t i = 0; i < n; i += BATCH) {
        const size_t m = n - i < BATCH ? n - i : BATCH;
        conversion c = {.g = g, .from = points + i * size, .to = buf};
        cuzk_zcash_result why;
        cuzk_point one;
        atomic_init(&c.first_bad, m);
        cuzk_pool_run_ranges(pool, m, 1 << 10, 4, convert_range, &c);
        const size_t bad = atomic_load(&c.first_bad);
        const size_t off = cuzk_points_first_bad(curve, g, buf, bad, true, pool);
        if (off < bad)
            return cuzk_params_bad_point(p, section, points, size, i + off,
                                         "a point on the curve and of order r", err);
        if (bad < m) {
            (void)cuzk_zcash_read(g, &one, points + (i + bad) * size, 1, &why);
            return cuzk_params_bad_point(p, section, points, size, i + bad,
                                         cuzk_zcash_expected(why), err);
        }
        if (progress) cuzk_progress_add(progress, m);
    }
    return CUZK_OK;
}

cuzk_status cuzk_params_check_points(const cuzk_params *p, cuzk_pool *pool, cuzk_progress *progress,
                                     cuzk_err *err) {
    const struct {
        const char *name;
        cuzk_group g;
        const uint8_t *points;
        size_t n;
    } sections[5] = {{"h", CUZK_G1, p->h, p->n.h},
                     {"l", CUZK_G1, p->l, p->n.l},
                     {"a", CUZK_G1, p->a, p->n.a},
                     {"b_g1", CUZK_G1, p->b1, p->n.b},
                     {"b_g2", CUZK_G2, p->b2, p->n.b}};
    const size_t bytes = (size_t)BATCH * CUZK_ZCASH_G2;
    void *buf;
    if (cuzk_big_alloc(&buf, bytes) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory to check points",
                            p->name);
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 5 && st == CUZK_OK; i++)
        st = check_section(p, sections[i].name, sections[i].g, sections[i].points, sections[i].n,
                           buf, pool, progress, err);
    cuzk_big_free(buf, bytes);
    return st;
}

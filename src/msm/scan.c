#include "msm/scan.h"

#include "base/mem.h"

#include <stdatomic.h>

void cuzk__scan_shape(cuzk__scan *s, size_t n) {
    s->n = n;
    s->step = n / CUZK__SCAN_BLOCKS + 1;
    if (s->step < CUZK__SCAN_STEP) s->step = CUZK__SCAN_STEP;
    s->blocks = n / s->step + (n % s->step != 0);
}

typedef struct {
    cuzk__scan *s;
    const cuzk__digits *d;
    const uint8_t *bases, *scalars;
    size_t point_size;
    atomic_bool bad;
} job;

static void scan_block(void *ctx, size_t j) {
    job *a = ctx;
    cuzk__scan *s = a->s;
    cuzk__scan_block *b = &s->block[j];
    size_t begin = j * s->step, end = begin + s->step < s->n ? begin + s->step : s->n;
    memset(b, 0, sizeof *b);
    bool bad = false;
    for (size_t i = begin; i < end; i++) {
        const uint8_t *scalar = a->scalars + 32 * i;
        bad |= !cuzk__scalar_is_canonical(a->d, scalar);
        unsigned bits = cuzk__scalar_bits(a->d, scalar);
        if (bits && cuzk__all_zero(a->bases + i * a->point_size, a->point_size)) bits = 0;
        s->bits[i] = (uint8_t)bits;
        b->count[bits]++;
    }
    if (bad) atomic_store_explicit(&a->bad, true, memory_order_relaxed);
}

cuzk_status cuzk__scan_run(cuzk__scan *s, const cuzk__digits *d, const uint8_t *bases,
                           size_t point_size, const uint8_t *scalars, cuzk_pool *pool) {
    job a = {.s = s, .d = d, .bases = bases, .scalars = scalars, .point_size = point_size};
    atomic_init(&a.bad, false);
    cuzk_pool_run(pool, s->blocks, scan_block, &a);
    if (atomic_load(&a.bad)) return CUZK_STATUS_BAD_INPUT;
    memset(&s->all, 0, sizeof s->all);
    for (size_t j = 0; j < s->blocks; j++)
        for (unsigned i = 0; i < CUZK__SCAN_BITS; i++)
            s->all.count[i] += s->block[j].count[i];
    return CUZK_OK;
}

void cuzk__scan_wipe(cuzk__scan *s) {
    cuzk_wipe(s->block, s->blocks * sizeof *s->block);
    cuzk_wipe(&s->all, sizeof s->all);
}

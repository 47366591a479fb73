/* DESIGN. A scalar k is cut into `count` signed digits of `bits` bits, and the table holds the
 * multiples 1 … 2^(bits-1) of every 2^(bits w) base, so that a product is one addition a window.
 * Additions of a window are independent across scalars: they are affine and share inversions
 * (batch_affine.inl.h), 6 products each, where a mixed XYZZ addition takes 10 and a conversion in
 * the end. The table itself is made the same way.
 */
#include "base/cpu.h"
#include "base/mem.h"
#include "curve/batch_ifma.h"
#include "curve/curve.h"
#include "curve/groups.h"

#include <stdatomic.h>
#include <string.h>

/* Additions that share an inversion: at 512 it costs each less than a tenth of a product, and
 * the scratch space of BN254's G1 stays within half a level-2 cache. */
enum { CUZK__BATCH = 512 };

typedef struct {
    unsigned bits, count;
    size_t half;      /* 2^(bits - 1): entries of a window */
    uint64_t bias[5]; /* half in every window */
} windows;

/* Windows for n scalars: the least additions for table and products together. Beyond 16 bits a
 * window's table would leave the level-2 cache. */
static windows windows_for(size_t n, unsigned scalar_bits) {
    windows best = {0};
    size_t least = SIZE_MAX;
    for (unsigned bits = 3; bits <= 16; bits++) {
        /* One bit more than the scalar. The bias is below 4/7 of 2^(bits * count), a scalar below
         * the order at most 0.46 of it from 4 bits on and 0.38 at 3, so their sum stays inside. */
        const unsigned count = scalar_bits / bits + 1;
        const size_t half = (size_t)1 << (bits - 1);
        const size_t cost = (n + half) > SIZE_MAX / count ? SIZE_MAX : count * (n + half);
        if (bits > 3 && cost >= least) continue;
        least = cost;
        best.bits = bits;
        best.count = count;
        best.half = half;
    }
    for (unsigned w = 0; w < best.count; w++) {
        const unsigned at = w * best.bits + best.bits - 1;
        best.bias[at / 64] |= (uint64_t)1 << (at % 64);
    }
    return best;
}

/* Digit w of the scalar, in [-half, half): with half added to every digit the digits are plain
 * bits of k + bias, and no carry has to be followed. */
static int window_digit(const windows *win, const uint8_t *scalar, unsigned w) {
    uint64_t v[6], k[4], carry = 0;
    memcpy(k, scalar, sizeof k);
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&v[i], k[i], win->bias[i], carry);
    v[4] = win->bias[4] + carry;
    v[5] = 0;
    const unsigned at = w * win->bits, limb = at / 64, shift = at % 64;
    uint64_t d = v[limb] >> shift;
    if (shift + win->bits > 64) d |= v[limb + 1] << (64 - shift);
    d &= ((uint64_t)1 << win->bits) - 1;
    return (int)d - (int)win->half;
}

#define BA bn254_g1
#define BA_EC cuzk_bn254_g1
#define BA_F cuzk_bn254_fp
#include "curve/batch_affine.inl.h"
#define FB bn254_g1_fixed
#define FB_EC cuzk_bn254_g1
#define FB_BA bn254_g1
#include "curve/fixed_base.inl.h"

#define BA bn254_g2
#define BA_EC cuzk_bn254_g2
#define BA_F cuzk_bn254_fp2
#include "curve/batch_affine.inl.h"
#define FB bn254_g2_fixed
#define FB_EC cuzk_bn254_g2
#define FB_BA bn254_g2
#include "curve/fixed_base.inl.h"

#define BA bls12_381_g1
#define BA_EC cuzk_bls12_381_g1
#define BA_F cuzk_bls12_381_fp
#include "curve/batch_affine.inl.h"
#define FB bls12_381_g1_fixed
#define FB_EC cuzk_bls12_381_g1
#define FB_BA bls12_381_g1
#include "curve/fixed_base.inl.h"

#define BA bls12_381_g2
#define BA_EC cuzk_bls12_381_g2
#define BA_F cuzk_bls12_381_fp2
#include "curve/batch_affine.inl.h"
#define FB bls12_381_g2_fixed
#define FB_EC cuzk_bls12_381_g2
#define FB_BA bls12_381_g2
#include "curve/fixed_base.inl.h"

struct cuzk_fixed_base {
    windows win;
    void *table;
    size_t bytes;
    cuzk_status (*make)(const windows *win, void *table, const void *base, cuzk_pool *pool);
    cuzk_status (*run)(const windows *win, void *table, void *out, const void *scalars, size_t n,
                       cuzk_pool *pool);
};

static void choose(cuzk_fixed_base *f, const cuzk_curve *c, cuzk_group g) {
    const bool g1 = g == CUZK_G1;
    if (c->id == CUZK_BN254) {
        f->make = g1 ? bn254_g1_fixed_make : bn254_g2_fixed_make;
        f->run = g1 ? bn254_g1_fixed_run : bn254_g2_fixed_run;
    } else {
        f->make = g1 ? bls12_381_g1_fixed_make : bls12_381_g2_fixed_make;
        f->run = g1 ? bls12_381_g1_fixed_run : bls12_381_g2_fixed_run;
    }
}

cuzk_status cuzk_fixed_base_new(cuzk_fixed_base **out, const cuzk_curve *c, cuzk_group g,
                                const void *base, size_t n_total, cuzk_pool *pool) {
    void *mem;
    *out = NULL;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_fixed_base)));
    cuzk_fixed_base *f = mem;
    choose(f, c, g);
    f->win = windows_for(n_total, c->fr->bits);
    f->bytes = f->win.half * f->win.count * cuzk_curve_group(c, g)->point_size;
    cuzk_status st = cuzk_big_alloc(&f->table, f->bytes);
    if (st == CUZK_OK) st = f->make(&f->win, f->table, base, pool);
    if (st == CUZK_OK)
        *out = f;
    else
        cuzk_fixed_base_free(f);
    return st;
}

cuzk_status cuzk_fixed_base_run(const cuzk_fixed_base *f, void *out, const void *scalars, size_t n,
                                cuzk_pool *pool) {
    return f->run(&f->win, f->table, out, scalars, n, pool);
}

void cuzk_fixed_base_free(cuzk_fixed_base *f) {
    if (!f) return;
    cuzk_big_free(f->table, f->bytes);
    cuzk_free(f);
}

cuzk_status cuzk_fixed_base_mul(const cuzk_curve *c, cuzk_group g, void *out, const void *base,
                                const void *scalars, size_t n, cuzk_pool *pool) {
    cuzk_fixed_base *f;
    CUZK_TRY(cuzk_fixed_base_new(&f, c, g, base, n, pool));
    const cuzk_status st = cuzk_fixed_base_run(f, out, scalars, n, pool);
    cuzk_fixed_base_free(f);
    return st;
}

/* DESIGN. Division steps of Bernstein and Yang, "Fast constant-time gcd computation and modular
 * inversion", eprint 2019/266, here in variable time. One step maps (delta, f, g), f odd, to
 *
 *   (1 - delta, g, (g - f)/2)            when delta > 0 and g is odd,
 *   (1 + delta, f, (g + (g mod 2) f)/2)  otherwise,
 *
 * which keeps gcd(f, g) and ends in g = 0, f = +-gcd. From (1, p, a), f is then +-1.
 * Sixty-two steps depend on the low 62 bits of f and g only, so they are taken on machine words
 * and collected in a matrix t = (u v; q r), which is then applied to the long numbers:
 *
 *   (f, g) = t (f, g) / 2^62, exactly;   (d, e) = t (d, e) / 2^62 mod p,
 *
 * where d = f/a and e = g/a mod p hold throughout, so that +-d is the inverse in the end.
 *
 * Long numbers are signed: n digits of 62 bits, of which the last carries the sign. t's rows have
 * |u| + |v| <= 2^62, so that a digit times a row fits in 128 bits with room for a carry.
 */
#include "field/modinv.h"

#include "field/limb.h"

#include <stdbool.h>

typedef __int128 int128;

#define M62 ((int64_t)(UINT64_MAX >> 2))

enum { MAX_DIGITS = 7 };

typedef struct {
    int64_t u, v, q, r;
} matrix;

/* Sixty-two division steps from the low words of f and g; returns delta. */
static inline int64_t divsteps_62(int64_t delta, uint64_t f, uint64_t g, matrix *t) {
    uint64_t u = 1, v = 0, q = 0, r = 1;
    int left = 62;
    for (;;) {
        /* Steps for an even g: the other row is doubled instead of this one halved. */
        const int zeros = __builtin_ctzll(g | UINT64_MAX << left);
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        delta += zeros;
        left -= zeros;
        if (left == 0) break;
        /* The step that exchanges f and g, short of its halving. */
        if (delta > 0) {
            uint64_t x = f;
            delta = -delta;
            f = g, g = (uint64_t)0 - x;
            x = u, u = q, q = (uint64_t)0 - x;
            x = v, v = r, r = (uint64_t)0 - x;
        }
        /* Until delta is positive again, steps only add f to g and halve: clear up to six low
         * bits of g at once with w = -g/f. (f^2 = 1 mod 8 makes f(2 - f^2) an inverse mod 64.) */
        int64_t bits = 1 - delta;
        if (bits > left) bits = left;
        if (bits > 6) bits = 6;
        const uint64_t w = (f * g * (f * f - 2)) & (((uint64_t)1 << bits) - 1);
        g += f * w;
        q += u * w;
        r += v * w;
    }
    t->u = (int64_t)u;
    t->v = (int64_t)v;
    t->q = (int64_t)q;
    t->r = (int64_t)r;
    return delta;
}

/* (f, g) = t (f, g) / 2^62 on n digits. */
static inline void update_fg(int64_t *f, int64_t *g, int n, const matrix *t) {
    int128 cf = (int128)t->u * f[0] + (int128)t->v * g[0];
    int128 cg = (int128)t->q * f[0] + (int128)t->r * g[0];
    cf >>= 62; /* the low bits are zero */
    cg >>= 62;
    for (int i = 1; i < n; i++) {
        cf += (int128)t->u * f[i] + (int128)t->v * g[i];
        cg += (int128)t->q * f[i] + (int128)t->r * g[i];
        f[i - 1] = (int64_t)cf & M62;
        g[i - 1] = (int64_t)cg & M62;
        cf >>= 62;
        cg >>= 62;
    }
    f[n - 1] = (int64_t)cf;
    g[n - 1] = (int64_t)cg;
}

/* One row of (d, e) = t (d, e) / 2^62 mod p: the multiple of p that makes ud + ve divisible by
 * 2^62 and brings it back to (-2p, p), if d and e were in that range. A negative d or e counts as
 * d + p, e + p, in (-p, p); then |ud + ve| < 2^62 p, and adding k p with -2^62 < k <= 0 gives a
 * quotient above -2p and below p. */
static inline int64_t row_multiple(int64_t u, int64_t v, const int64_t *d, const int64_t *e, int n,
                                   uint64_t pinv) {
    const uint64_t sd = (uint64_t)(d[n - 1] >> 63), se = (uint64_t)(e[n - 1] >> 63);
    const uint64_t lifted = ((uint64_t)u & sd) + ((uint64_t)v & se);
    const uint64_t low = (uint64_t)u * (uint64_t)d[0] + (uint64_t)v * (uint64_t)e[0];
    const uint64_t k = (pinv * low + lifted) & (uint64_t)M62;
    return (int64_t)(lifted - k);
}

static inline void update_de(int64_t *d, int64_t *e, const int64_t *p, int n, uint64_t pinv,
                             const matrix *t) {
    const int64_t md = row_multiple(t->u, t->v, d, e, n, pinv);
    const int64_t me = row_multiple(t->q, t->r, d, e, n, pinv);
    int128 cd = 0, ce = 0;
    for (int i = 0; i < n; i++) {
        const int64_t di = d[i], ei = e[i];
        cd += (int128)t->u * di + (int128)t->v * ei + (int128)md * p[i];
        ce += (int128)t->q * di + (int128)t->r * ei + (int128)me * p[i];
        if (i > 0) {
            d[i - 1] = (int64_t)cd & M62;
            e[i - 1] = (int64_t)ce & M62;
        }
        cd >>= 62;
        ce >>= 62;
    }
    d[n - 1] = (int64_t)cd;
    e[n - 1] = (int64_t)ce;
}

/* v += m, digits brought back to 62 bits. */
static inline void add_digits(int64_t *v, const int64_t *m, int n) {
    int64_t carry = 0;
    for (int i = 0; i < n; i++) {
        carry += v[i] + m[i];
        v[i] = i + 1 < n ? carry & M62 : carry;
        carry >>= 62;
    }
}

static inline void negate_digits(int64_t *v, int n) {
    int64_t carry = 0;
    for (int i = 0; i < n; i++) {
        carry -= v[i];
        v[i] = i + 1 < n ? carry & M62 : carry;
        carry >>= 62;
    }
}

static inline void to_digits(int64_t *v, int n, const uint64_t *a, int limbs) {
    for (int i = 0; i < n; i++) {
        const int at = 62 * i, limb = at / 64, shift = at % 64;
        uint64_t x = limb < limbs ? a[limb] >> shift : 0;
        if (shift > 2 && limb + 1 < limbs) x |= a[limb + 1] << (64 - shift);
        v[i] = (int64_t)(x & (uint64_t)M62);
    }
}

static inline void from_digits(uint64_t *a, int limbs, const int64_t *v, int n) {
    for (int i = 0; i < limbs; i++) {
        const int at = 64 * i, digit = at / 62, shift = at % 62;
        uint64_t x = (uint64_t)v[digit] >> shift;
        for (int k = 1; k <= 2 && digit + k < n && 62 * k - shift < 64; k++)
            x |= (uint64_t)v[digit + k] << (62 * k - shift);
        a[i] = x;
    }
}

static inline __attribute__((always_inline)) void
modinv(uint64_t *r, const uint64_t *a, const uint64_t *modulus, uint64_t n0, int limbs, int n) {
    int64_t p[MAX_DIGITS], f[MAX_DIGITS], g[MAX_DIGITS];
    int64_t d[MAX_DIGITS] = {0}, e[MAX_DIGITS] = {1};
    const uint64_t pinv = (uint64_t)0 - n0;
    int64_t delta = 1;
    int len = n;
    to_digits(p, n, modulus, limbs);
    to_digits(g, n, a, limbs);
    for (int i = 0; i < n; i++)
        f[i] = p[i];
    for (;;) {
        uint64_t rest = 0;
        for (int i = 0; i < len; i++)
            rest |= (uint64_t)g[i];
        if (rest == 0) break;
        matrix t;
        delta = divsteps_62(delta, (uint64_t)f[0], (uint64_t)g[0], &t);
        update_de(d, e, p, n, pinv, &t);
        update_fg(f, g, len, &t);
        /* drop the last digit when it is nothing but the sign of both */
        const int64_t ft = f[len - 1], gt = g[len - 1];
        if (len > 1 && ft == ft >> 63 && gt == gt >> 63) {
            len--;
            f[len - 1] |= (int64_t)((uint64_t)ft << 62);
            g[len - 1] |= (int64_t)((uint64_t)gt << 62);
        }
    }
    /* a d = f = +-1; d is in (-2p, p) */
    if (d[n - 1] < 0) add_digits(d, p, n);
    if (f[len - 1] < 0) negate_digits(d, n);
    if (d[n - 1] < 0) add_digits(d, p, n);
    from_digits(r, limbs, d, n);
}

void cuzk__modinv_1(uint64_t r[1], const uint64_t a[1], const uint64_t p[1], uint64_t n0) {
    modinv(r, a, p, n0, 1, 2);
}

void cuzk__modinv_4(uint64_t r[4], const uint64_t a[4], const uint64_t p[4], uint64_t n0) {
    modinv(r, a, p, n0, 4, 5);
}

void cuzk__modinv_6(uint64_t r[6], const uint64_t a[6], const uint64_t p[6], uint64_t n0) {
    modinv(r, a, p, n0, 6, 7);
}

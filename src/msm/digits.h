/* Signed digits of a scalar, without carries between digits.
 *
 * A scalar k < r is first made small: from (r + 1) / 2 up it is replaced by r - k with the
 * opposite sign, which saves a bit and makes -1, -2, … cheap. Scalars of at most b bits are cut
 * into W windows of b + 1 bits in all, some c bits wide and the others c - 1, so that no window is
 * much narrower than the others and any stretch of them has its share of both, which threads like.
 * The constant D = the sum of half of each window's range except the last's is added once; digit x
 * is then its field minus half the range, and the last one its field as it stands. So every digit
 * is a shift, a mask and a subtraction, in any order, and a window of w bits has digits in
 * [-2^(w-1), 2^(w-1)]. Since r - k is ~k + r + 1 modulo
 * 2^256, sign and constant together are one addition of D or D + r + 1.
 */
#ifndef CUZK_MSM_DIGITS_H
#define CUZK_MSM_DIGITS_H

#include "field/limb.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    CUZK__WIDTH_MIN = 3, /* of c; c - 1 = 2 is the least that cuzk__digits_touches allows */
    CUZK__WIDTH_MAX = 22,
    CUZK__WINDOWS_MAX = 128, /* of 256 bits by 2 */
};

typedef struct cuzk__digits {
    uint64_t order[4];
    uint64_t half[4];      /* (r + 1) / 2 */
    uint64_t offset[2][4]; /* D, D + r + 1 */
    unsigned windows;
    unsigned c;                         /* of the widest window */
    uint16_t at[CUZK__WINDOWS_MAX + 1]; /* the lowest bit of each, and of the end */
} cuzk__digits;

/* A scalar ready for cuzk__digit, with a zero limb for the last field to run into. */
typedef struct cuzk__recoded {
    uint64_t l[5];
} cuzk__recoded;

/* The most bits that |k| has for this order. */
unsigned cuzk__digits_bits(const cuzk_u256 *order);

/* For scalars whose |k| has at most `bits` bits, at least 1, in windows of at most c bits. */
void cuzk__digits_init(cuzk__digits *d, const cuzk_u256 *order, unsigned bits, unsigned c);

static inline unsigned cuzk__digits_width(const cuzk__digits *d, unsigned x) {
    return (unsigned)d->at[x + 1] - d->at[x];
}

/* The lowest bit of window x; of the end for x = windows. */
static inline unsigned cuzk__digits_at(const cuzk__digits *d, unsigned x) {
    return d->at[x];
}

/* Buckets, 2^(w-1) each, of the windows [first, last). */
static inline size_t cuzk__digits_buckets(const cuzk__digits *d, unsigned first, unsigned last) {
    size_t n = 0;
    for (unsigned x = first; x < last; x++)
        n += (size_t)1 << (cuzk__digits_width(d, x) - 1);
    return n;
}

/* The windows [first, last); of the first one only the buckets from `skip` on, of the last one only
 * those below `stop`. */
typedef struct cuzk__span {
    unsigned first, last;
    uint32_t skip, stop;
} cuzk__span;

/* The buckets of window x that belong to the span: [from, to), and all of them in order. */
static inline uint32_t cuzk__span_from(const cuzk__span *s, unsigned x) {
    return x == s->first ? s->skip : 0;
}
static inline uint32_t cuzk__span_to(const cuzk__span *s, const cuzk__digits *d, unsigned x) {
    return x + 1 == s->last ? s->stop : (uint32_t)1 << (cuzk__digits_width(d, x) - 1);
}
static inline uint32_t cuzk__span_buckets(const cuzk__span *s, const cuzk__digits *d, unsigned x) {
    return cuzk__span_to(s, d, x) - cuzk__span_from(s, x);
}

/* False when a scalar with |k| of that bit length has zeros in window x and above for certain:
 * below 2^(at - 2) the lower windows hold it without a carry. */
static inline bool cuzk__digits_touches(const cuzk__digits *d, unsigned bits, unsigned x) {
    return bits + 2 > cuzk__digits_at(d, x);
}

/* The least bit length that cuzk__digits_touches allows for window x. */
static inline unsigned cuzk__digits_reach(const cuzk__digits *d, unsigned x) {
    const unsigned at = cuzk__digits_at(d, x);
    return at > 1 ? at - 1 : 0;
}

/* True when the 32 bytes at `scalar` are below r, as all other functions here require. */
static inline bool cuzk__scalar_is_canonical(const cuzk__digits *d, const void *scalar) {
    uint64_t k[4], t, borrow = 0;
    memcpy(k, scalar, sizeof k);
    if (__builtin_expect(k[3] != d->order[3], 1)) return k[3] < d->order[3];
    for (int i = 0; i < 4; i++)
        borrow = cuzk_subb(&t, k[i], d->order[i], borrow);
    return borrow != 0;
}

/* True when k is (r + 1) / 2 or more. */
static inline bool cuzk__scalar_is_negative(const cuzk__digits *d, const uint64_t k[4]) {
    if (__builtin_expect(k[3] != d->half[3], 1)) return k[3] > d->half[3];
    uint64_t t, borrow = 0;
    for (int i = 0; i < 4; i++)
        borrow = cuzk_subb(&t, k[i], d->half[i], borrow);
    return borrow == 0;
}

/* Recodes the 32 bytes at `scalar` (any alignment); true when the sign is negative. */
static inline bool cuzk__recode(cuzk__recoded *out, const cuzk__digits *d, const void *scalar) {
    uint64_t k[4], carry = 0;
    memcpy(k, scalar, sizeof k);
    const bool neg = cuzk__scalar_is_negative(d, k);
    const uint64_t flip = (uint64_t)0 - neg, *offset = d->offset[neg];
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&out->l[i], k[i] ^ flip, offset[i], carry);
    out->l[4] = 0;
    return neg;
}

/* The bit length of |k| for the 32 bytes at `scalar`. The sign is any, so that a branch on it would
 * be guessed wrong half the time; the top limb tells all but a few lengths. */
static inline unsigned cuzk__scalar_bits(const cuzk__digits *d, const void *scalar) {
    uint64_t k[4], borrow = 0;
    memcpy(k, scalar, sizeof k);
    const bool negative = cuzk__scalar_is_negative(d, k);
    const uint64_t flip = (uint64_t)0 - negative;
    const uint64_t top = (d->order[3] & flip) + (k[3] ^ flip) + negative;
    /* r - k may borrow 1 from it, which shortens powers of two only */
    if (__builtin_expect((top & (top - 1)) != 0, 1)) return 256 - (unsigned)__builtin_clzll(top);
    if (negative) {
        for (int i = 0; i < 4; i++)
            borrow = cuzk_subb(&k[i], d->order[i], k[i], borrow);
    }
    for (unsigned i = 4; i-- > 0;)
        if (k[i]) return 64 * i + 64 - (unsigned)__builtin_clzll(k[i]);
    return 0;
}

/* Digit x of a recoded scalar of positive sign. */
static inline int32_t cuzk__digit(const cuzk__digits *d, const cuzk__recoded *k, unsigned x) {
    unsigned at = cuzk__digits_at(d, x), width = cuzk__digits_width(d, x), q = at / 64;
    uint64_t v = (uint64_t)(((cuzk_u128)k->l[q + 1] << 64 | k->l[q]) >> at % 64);
    v &= ((uint64_t)1 << width) - 1;
    return (int32_t)v - (x + 1 < d->windows ? (int32_t)1 << (width - 1) : 0);
}

#endif

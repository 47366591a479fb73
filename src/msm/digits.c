#include "msm/digits.h"

/* The largest |k| of at most `bits` bits: 2^bits - 1, or r / 2 where that is less. */
static void largest(uint64_t most[4], const cuzk_u256 *order, unsigned bits) {
    uint64_t half[4];
    bool below = false; /* 2^bits - 1 < r / 2, decided by the highest limb that differs */
    for (unsigned i = 0; i < 4; i++) {
        half[i] = order->l[i] >> 1 | (i < 3 ? order->l[i + 1] << 63 : 0);
        most[i] = bits >= 64 * (i + 1) ? UINT64_MAX
                  : bits <= 64 * i     ? 0
                                       : ((uint64_t)1 << (bits - 64 * i)) - 1;
        if (most[i] != half[i]) below = most[i] < half[i];
    }
    if (!below) memcpy(most, half, sizeof half);
}

/* k >> bit, or 2^63 - 1 when that is less. */
static uint64_t field(const uint64_t k[4], unsigned bit) {
    unsigned q = bit / 64, s = bit % 64;
    if (q > 3) return 0;
    uint64_t high = q < 3 && s ? k[q + 1] << (64 - s) : 0;
    bool more = q < 3 && (k[q + 1] >> s) != 0;
    for (unsigned i = q + 2; i < 4; i++)
        more |= k[i] != 0;
    const uint64_t v = k[q] >> s | high, cap = UINT64_MAX >> 1;
    return more || v > cap ? cap : v;
}

unsigned cuzk__digits_windows(const cuzk_u256 *order, unsigned bits, unsigned c) {
    uint64_t most[4];
    largest(most, order, bits);
    unsigned w = 1;
    /* the top digit takes a carry from below, so that one place must be free for it */
    while (field(most, c * (w - 1)) + (w > 1) > (uint64_t)1 << (c - 1))
        w++;
    return w;
}

void cuzk__digits_init(cuzk__digits *d, const cuzk_u256 *order, unsigned bits, unsigned c) {
    uint64_t most[4], carry = 1; /* r is odd, so (r + 1) / 2 = (r >> 1) + 1 */
    memset(d, 0, sizeof *d);
    memcpy(d->order, order, sizeof d->order);
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&d->half[i], order->l[i] >> 1 | (i < 3 ? order->l[i + 1] << 63 : 0), 0,
                          carry);
    d->c = c;
    d->windows = cuzk__digits_windows(order, bits, c);
    largest(most, order, bits);
    d->top = (uint32_t)field(most, c * (d->windows - 1)) + (d->windows > 1);
    for (unsigned x = 0; x + 1 < d->windows; x++) {
        unsigned bit = c * x + c - 1;
        d->offset[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
}

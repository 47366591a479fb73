#include "msm/digits.h"

unsigned cuzk__digits_bits(const cuzk_u256 *order) {
    unsigned i = 3;
    while (i > 0 && order->l[i] == 0)
        i--;
    return 64 * i + 63 - (unsigned)__builtin_clzll(order->l[i]);
}

void cuzk__digits_init(cuzk__digits *d, const cuzk_u256 *order, unsigned bits, unsigned c) {
    uint64_t carry = 1; /* r is odd, so (r + 1) / 2 = (r >> 1) + 1 */
    memset(d, 0, sizeof *d);
    memcpy(d->order, order, sizeof d->order);
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&d->half[i], order->l[i] >> 1 | (i < 3 ? order->l[i + 1] << 63 : 0), 0,
                          carry);
    /* One bit more than |k| has: a window of w bits then ends below 2^(w-1) at the top, and has
     * room for the carry. */
    unsigned total = bits + 1;
    d->windows = (total + c - 1) / c;
    d->c = (total + d->windows - 1) / d->windows;
    if (d->c < CUZK__WIDTH_MIN) { /* a few bits in one window */
        d->c = CUZK__WIDTH_MIN;
        total = d->windows * d->c;
    }
    for (unsigned x = 0; x <= d->windows; x++)
        d->at[x] = (uint16_t)(x * total / d->windows);
    for (unsigned x = 0; x + 1 < d->windows; x++) {
        unsigned bit = cuzk__digits_at(d, x + 1) - 1;
        d->offset[0][bit / 64] |= (uint64_t)1 << (bit % 64);
    }
    carry = 1;
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&d->offset[1][i], d->offset[0][i], order->l[i], carry);
}

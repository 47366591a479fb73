/* Scalars as digits (msm_digits.cuh), on the host: with their windows' weights the digits add up to
 * the scalar or to its negative, modulo the scalar field's order, and none is beyond its window. */
#include "backend/cuda/msm_digits.cuh"
#include "host_check.h"

#include <gmp.h>
#include <initializer_list>
#include <string.h>

using namespace cuzk_gpu;

/* `windows` of at most `window` bits in so many sets, the first `narrow` of which have a bit less;
 * false if they do not hold `bits`. */
static bool shape_of(int bits, int window, int windows, int sets, int narrow, cuzk__msm_shape *s) {
    *s = {};
    s->n = s->stride = 1000;
    s->window = window;
    s->windows = windows;
    s->sets = sets;
    s->narrow = narrow;
    s->period = cuzk__msm_first_bit(s, sets);
    s->factor = (windows + sets - 1) / sets;
    const window_of top = window_at(s, windows - 1);
    return top.bit + top.width >= bits && top.bit < bits && top.bit + top.width <= 280;
}

static cuzk_u256 u256_of(const mpz_t v) {
    cuzk_u256 out = {{0, 0, 0, 0}};
    mpz_export(out.l, NULL, -1, 8, 0, 0, v);
    return out;
}

/* Scalar number i against its digits. *digits: how many are not 0. */
static void check(const cuzk__msm_shape *s, const scalar_source &a, const mpz_t r, const mpz_t k,
                  uint32_t i, int *digits) {
    const cuzk_u256 plain = u256_of(k);
    uint32_t words[8], v[DIGIT_WORDS + 1];
    memcpy(words, plain.l, sizeof words);
    bool flip;
    split_scalar(v, a, words, i, &flip);
    mpz_t sum, term;
    mpz_inits(sum, term, NULL);
    *digits = 0;
    int seen = 0;
    for (int set = 0; set < s->sets; set++) {
        const window_of first = window_at(s, set);
        const window_of last = window_at(s, set + (windows_of(s, set) - 1) * s->sets);
        uint32_t bit = first.bit;
        each_window(v, bit, last.bit + last.width, (uint32_t)s->period, [&](uint32_t bits) {
            bool negative;
            const uint32_t b = bucket_of(bits, first.width, &negative);
            seen++;
            if (b != NOTHING) {
                ++*digits;
                expect(b < 1u << (first.width - 1), "a digit's size");
                mpz_set_ui(term, b + 1);
                mpz_mul_2exp(term, term, bit);
                (negative != flip ? mpz_sub : mpz_add)(sum, sum, term);
            }
            bit += (uint32_t)s->period;
        });
    }
    expect(seen == s->windows, "windows");
    mpz_sub(sum, sum, k);
    expect(mpz_divisible_p(sum, r) != 0, "digits add up to the scalar");
    mpz_clears(sum, term, NULL);
}

static void shape(const cuzk__msm_shape *s, const cuzk_u256 *modulus) {
    mpz_t r, k;
    mpz_inits(r, k, NULL);
    mpz_import(r, 4, -1, 8, 0, 0, modulus->l);
    const scalar_source a = source_of(s, modulus, NULL);
    int digits;
    for (uint32_t i = 0; i < 40; i++) {
        if (i < 6) {
            mpz_set_ui(k, i / 2);
            if (i % 2) mpz_sub(k, r, k);
            mpz_mod(k, k, r);
        } else if (i < 12) { /* about r/2 */
            mpz_tdiv_q_2exp(k, r, 1);
            mpz_add_ui(k, k, i - 6);
            mpz_sub_ui(k, k, 3);
        } else if (i < 16) { /* about where signs are reversed */
            mpz_tdiv_q_2exp(k, r, 225);
            mpz_add_ui(k, k, i & 1);
            mpz_mul_2exp(k, k, 224);
            if (i & 2) mpz_sub_ui(k, k, 1);
        } else {
            cuzk_u256 random;
            for (uint64_t &l : random.l)
                l = next_random();
            mpz_import(k, 4, -1, 8, 0, 0, random.l);
            mpz_tdiv_q_2exp(k, k, i < 20 ? i * 12 : 0);
            mpz_mod(k, k, r);
        }
        check(s, a, r, k, i, &digits);
        if (mpz_sgn(k) == 0) expect(digits == 0, "0 has no digits");
        mpz_sub_ui(k, k, 1);
        if (mpz_sgn(k) == 0) expect(digits == 1, "1 has one digit");
    }
    mpz_clears(r, k, NULL);
}

int main() {
    const cuzk_fr_ops *fields[] = {&cuzk_bn254_fr_ops, &cuzk_bls12_381_fr_ops};
    int shapes = 0;
    for (const cuzk_fr_ops *fr : fields)
        for (int window = 4; window <= 24; window++)
            for (int windows = 10; windows <= 64; windows++)
                for (int sets = 1; sets <= windows; sets += 1 + sets / 3)
                    for (int narrow : {0, sets / 2, sets - 1}) {
                        cuzk__msm_shape s;
                        if (!shape_of((int)fr->bits, window, windows, sets, narrow, &s)) continue;
                        shape(&s, &fr->modulus);
                        shapes++;
                    }
    printf("digits of %d shapes\n", shapes);
    return failures != 0 || shapes < 100;
}

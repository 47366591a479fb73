/* The multipliers' own rate: what a share of the port bound is a share of. Compiled for AVX-512
 * IFMA (CMakeLists.txt): nothing here may run where cuzk_cpu_has_avx512_ifma() is false. */
#include "bench_msm.h"

#include "base/clock.h"

#if defined(__AVX512IFMA__)
#include <immintrin.h>
#endif

enum { ROUNDS = 20000, CHAINS = 16, TRIES = 5 };

double cuzk_bench_madd_ns(void) {
    double best = 0;
#if defined(__AVX512IFMA__)
    for (int k = 0; k < TRIES; k++) {
        __m512i t[CHAINS], a = _mm512_set1_epi64(3), b = _mm512_set1_epi64(5);
        for (int i = 0; i < CHAINS; i++)
            t[i] = _mm512_set1_epi64(i);
        const int64_t begin = cuzk_now_ns();
        for (int r = 0; r < ROUNDS; r++) {
            /* no value is known, so that no product can be taken out of the loop */
            __asm__ volatile("" : "+v"(a), "+v"(b));
            for (int i = 0; i < CHAINS; i++)
                t[i] = _mm512_madd52lo_epu64(t[i], a, b);
        }
        for (int i = 0; i < CHAINS; i++)
            __asm__ volatile("" : "+v"(t[i]));
        const double ns = (double)(cuzk_now_ns() - begin) / ((double)ROUNDS * CHAINS);
        if (best == 0 || ns < best) best = ns;
    }
#endif
    return best;
}

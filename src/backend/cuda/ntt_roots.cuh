/* How a plan's roots of order 8 stand to the DFTs' own, for every kind of plan. */
#ifndef CUZK_BACKEND_CUDA_NTT_ROOTS_CUH
#define CUZK_BACKEND_CUDA_NTT_ROOTS_CUH

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/dft_factors.cuh"

#include <string.h>

namespace cuzk_gpu {

/* The turn (dft_factors.cuh) of transforms with the root of order 8 of that family, or with its
 * inverse. Host. */
template <class F> static int dft_turn(const cuzk_fr_ops *fr, unsigned family, bool inverse) {
    const residue<F> z = dft_root<F>();
    cuzk_u256 w, power, square;
    cuzk_fr_root(fr, &w, family, 3);
    if (inverse) fr->inv(&w, &w);
    memcpy(&power, z.l, sizeof power);
    fr->mul(&square, &power, &power);
    int turn = 1;
    for (; turn < 7 && memcmp(&power, &w, sizeof w) != 0; turn += 2)
        fr->mul(&power, &power, &square);
    return turn;
}

} // namespace cuzk_gpu

#endif

/* The factors of DFTs in registers, for every kind of plan. */
#ifndef CUZK_BACKEND_CUDA_NTT_ROOTS_CUH
#define CUZK_BACKEND_CUDA_NTT_ROOTS_CUH

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/ntt_kernels.cuh"

#include <string.h>

namespace cuzk_gpu {

/* plan->dft of a direction, in the order of the enumeration in ntt_kernels.cuh. */
template <class F>
static void make_dft_roots(cuzk_cuda_ntt *plan, cuzk_ntt_dir dir, const cuzk_fr_ops *fr) {
    cuzk_u256 half, w, w3, all[NTT_DFT_ROOTS];
    fr->add(&half, &fr->one, &fr->one);
    fr->inv(&half, &half);
    cuzk_fr_root(fr, &w, plan->family, 3);
    if (dir == CUZK_NTT_INVERSE) fr->inv(&w, &w);
    fr->mul(&all[NTT_W4], &w, &w);
    fr->mul(&w3, &all[NTT_W4], &w);
    fr->add(&all[NTT_W8_SUM], &w, &w3);
    fr->sub(&all[NTT_W8_DIFFERENCE], &w, &w3);
    fr->mul(&all[NTT_W8_SUM], &all[NTT_W8_SUM], &half);
    fr->mul(&all[NTT_W8_DIFFERENCE], &all[NTT_W8_DIFFERENCE], &half);
    for (int k = 0; k < NTT_DFT_ROOTS; k++) {
        shoup_pair p;
        shoup_make<F>(&p, (const uint32_t *)all[k].l);
        memcpy(plan->dft[dir][k], &p, sizeof p);
    }
}

} // namespace cuzk_gpu

#endif

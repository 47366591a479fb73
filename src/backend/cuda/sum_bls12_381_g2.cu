/* Sums of listed points of BLS12-381's G2. */
#include "backend/cuda/sum_group.cuh"

namespace {
CUZK_GPU_SUM_GROUP(bls12_381_g2, cuzk_gpu::coord_fp2<cuzk_gpu::bls12_381_fp>)
} // namespace

const cuzk__sum_ops cuzk__sum_bls12_381_g2 = cuzk_gpu::sum_group<bls12_381_g2_sums>::ops();

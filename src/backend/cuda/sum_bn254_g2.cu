/* Sums of listed points of BN254's G2. */
#include "backend/cuda/sum_group.cuh"

namespace {
CUZK_GPU_SUM_GROUP(bn254_g2, cuzk_gpu::coord_fp2<cuzk_gpu::bn254_fp>)
} // namespace

const cuzk__sum_ops cuzk__sum_bn254_g2 = cuzk_gpu::sum_group<bn254_g2_sums>::ops();

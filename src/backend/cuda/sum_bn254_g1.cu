/* Sums of listed points of BN254's G1. */
#include "backend/cuda/sum_group.cuh"

namespace {
CUZK_GPU_SUM_GROUP(bn254_g1, cuzk_gpu::coord_fp<cuzk_gpu::bn254_fp>)
} // namespace

const cuzk__sum_ops cuzk__sum_bn254_g1 = cuzk_gpu::sum_group<bn254_g1_sums>::ops();

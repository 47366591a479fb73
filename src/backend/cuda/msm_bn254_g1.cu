/* Points of BN254's G1. */
#include "backend/cuda/msm_group.cuh"

namespace {
CUZK_GPU_GROUP(bn254_g1, cuzk_gpu::coord_fp<cuzk_gpu::bn254_fp>)
} // namespace

const cuzk__cuda_group_ops cuzk__cuda_bn254_g1 =
    cuzk_gpu::msm_group<bn254_g1_group, bn254_g1_group::E, 256, 3>::ops();

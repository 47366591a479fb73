/* Points of BLS12-381's G1. */
#include "backend/cuda/msm_group.cuh"

namespace {
CUZK_GPU_GROUP(bls12_381_g1, cuzk_gpu::coord_fp<cuzk_gpu::bls12_381_fp>)
} // namespace

const cuzk__cuda_group_ops cuzk__cuda_bls12_381_g1 =
    cuzk_gpu::msm_group<bls12_381_g1_group, bls12_381_g1_group::E, 256, 2>::ops();

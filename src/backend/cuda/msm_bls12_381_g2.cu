/* Points of BLS12-381's G2. */
#include "backend/cuda/msm_group.cuh"

namespace {
CUZK_GPU_GROUP(bls12_381_g2, cuzk_gpu::coord_fp2<cuzk_gpu::bls12_381_fp>)
} // namespace

const cuzk__cuda_group_ops cuzk__cuda_bls12_381_g2 =
    cuzk_gpu::msm_group<bls12_381_g2_group, cuzk_gpu::coord_fp2_lanes<cuzk_gpu::bls12_381_fp>, 256,
                        2>::ops();

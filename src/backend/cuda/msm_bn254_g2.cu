/* Points of BN254's G2. */
#include "backend/cuda/msm_group.cuh"

namespace {
CUZK_GPU_GROUP(bn254_g2, cuzk_gpu::coord_fp2<cuzk_gpu::bn254_fp>)
} // namespace

const cuzk__cuda_group_ops cuzk__cuda_bn254_g2 =
    cuzk_gpu::msm_group<bn254_g2_group, cuzk_gpu::coord_fp2_lanes<cuzk_gpu::bn254_fp>, 256,
                        2>::ops();

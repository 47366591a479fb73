/* Transforms over BN254's scalar field. */
#include "backend/cuda/ntt_field.cuh"

using engine = cuzk_gpu::ntt_field<cuzk_gpu::bn254_fr, &cuzk_bn254_fr_ops>;

const cuzk__cuda_ntt_ops cuzk__cuda_ntt_bn254 = {
    &cuzk_bn254_fr_ops, engine::prepare, engine::make_tables, engine::make_scale, engine::run};

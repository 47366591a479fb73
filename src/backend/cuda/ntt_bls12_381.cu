/* Transforms over BLS12-381's scalar field. */
#include "backend/cuda/ntt_field.cuh"

using engine = cuzk_gpu::ntt_field<cuzk_gpu::bls12_381_fr, &cuzk_bls12_381_fr_ops>;

const cuzk__cuda_ntt_ops cuzk__cuda_ntt_bls12_381 = {
    &cuzk_bls12_381_fr_ops, engine::prepare, engine::make_tables, engine::make_scale, engine::run};

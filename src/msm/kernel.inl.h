/* Fills one cuzk__msm_kernel: include-template.
 *
 * Parameters (undefined again at the end):
 *   MSM            prefix to generate and, behind cuzk__msm_, the table's name
 *   MSM_EC         prefix of the group, e.g. cuzk_bn254_g1
 *   MSM_F          prefix of its field, e.g. cuzk_bn254_fp
 *   MSM_FV         prefix of batches of that field; see field/vec_scalar.inl.h
 *   MSM_IFMA       (optional) those batches are of field/vec_fp*_ifma.inl.h
 *   MSM_GENERATOR  brace list of the group's generator
 *
 * Names with M_ are generated, EC_ are the group's, F_ the field's, FV_ the batches'. */

#define MSM_CAT2(a, b) a##_##b
#define MSM_CAT(a, b) MSM_CAT2(a, b)
#define M_(name) MSM_CAT(MSM, name)
#define EC_(name) MSM_CAT(MSM_EC, name)
#define F_(name) MSM_CAT(MSM_F, name)
#define FV_(name) MSM_CAT(MSM_FV, name)

#include "msm/few.inl.h"

#ifdef MSM_IFMA
#include "msm/batch_ifma.inl.h"
#else
#include "msm/batch.inl.h"
#endif

#ifdef MSM_IFMA
#define MSM_BASE_SIZE sizeof(EC_(affine_t))
#define MSM_CONVERT NULL
#define MSM_PUT put_chunk
#define MSM_BATCH 1024
#define MSM_GROUP_BYTES ((size_t)3 << 20)
#else
#define MSM_BASE_SIZE sizeof(M_(slot_t))
#define MSM_PUT NULL
#define MSM_CONVERT (FV_(IS_FILE) ? NULL : M_(convert))
#define MSM_BATCH (uint32_t)((96 << 10) / sizeof(M_(slot_t)))
#define MSM_GROUP_BYTES ((size_t)3 << 19)
#endif

#define MSM_TABLE2(name) cuzk__msm_##name
#define MSM_TABLE(name) MSM_TABLE2(name)

const cuzk__msm_kernel MSM_TABLE(MSM) = {
    .point_size = sizeof(EC_(affine_t)),
    .base_size = MSM_BASE_SIZE,
    .slot_size = sizeof(M_(slot_t)),
    .scratch_size = sizeof(M_(scratch_t)),
    .pads = 2 * M_(LANES),
    .adder = {.run = M_(run), .copy = M_(copy)},
    .init_pads = M_(init_pads),
    .put = MSM_PUT,
    .convert = MSM_CONVERT,
    .batch_most = MSM_BATCH,
    .group_bytes = MSM_GROUP_BYTES,
    .slots_sum = M_(slots_sum),
    .slots_weighted = M_(slots_weighted),
    .acc_zero = M_(acc_zero),
    .acc_add = M_(acc_add),
    .acc_dbl = M_(acc_dbl),
    .acc_to_affine = M_(acc_to_affine),
    .few = M_(few),
};

#undef MSM_BASE_SIZE
#undef MSM_CONVERT
#undef MSM_PUT
#undef MSM_BATCH
#undef MSM_GROUP_BYTES
#undef MSM_TABLE
#undef MSM_TABLE2
#undef M_
#undef EC_
#undef F_
#undef FV_
#undef MSM_CAT
#undef MSM_CAT2
#undef MSM
#undef MSM_EC
#undef MSM_F
#undef MSM_FV
#undef MSM_GENERATOR

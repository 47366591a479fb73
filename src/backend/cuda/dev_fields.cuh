/* The field and curve include-templates on the device: field/fields.h and curve/groups.h with
 * their products replaced by mont32.cuh. In host code of the same file the templates keep their
 * portable product, so host and device disagree only if one of them is wrong; a test compares. */
#ifndef CUZK_BACKEND_CUDA_DEV_FIELDS_CUH
#define CUZK_BACKEND_CUDA_DEV_FIELDS_CUH

#include "backend/cuda/mont32.cuh"
#include "field/limb.h"

namespace cuzk_gpu {

/* 64-bit limbs to words and back: the same bytes. */
template <int N> CUZK_GPU_HD void split_limbs(uint32_t *w, const uint64_t *l) {
    CUZK_UNROLL for (int i = 0; i < N / 2; i++) {
        w[2 * i] = (uint32_t)l[i];
        w[2 * i + 1] = (uint32_t)(l[i] >> 32);
    }
}
template <int N> CUZK_GPU_HD void join_words(uint64_t *l, const uint32_t *w) {
    CUZK_UNROLL for (int i = 0; i < N / 2; i++) l[i] = w[2 * i] | (uint64_t)w[2 * i + 1] << 32;
}

/* Canonical product and square for the templates' hooks: values in registers, and calls when the
 * includer asks for it, since curve formulas hold a dozen products and would overflow the
 * instruction cache. */
#ifdef CUZK_GPU_CALL_PRODUCTS
#define CUZK__HOOK static __host__ __device__ __noinline__
#else
#define CUZK__HOOK static __host__ __device__ __forceinline__
#endif
template <class F, class T> CUZK__HOOK T hook_mul(T a, T b) {
    uint32_t x[F::N], y[F::N];
    split_limbs<F::N>(x, a.l);
    split_limbs<F::N>(y, b.l);
    mont_mul<F>(x, x, y);
    reduce_exact<F, 1>(x);
    join_words<F::N>(a.l, x);
    return a;
}
template <class F, class T> CUZK__HOOK T hook_sqr(T a) {
    uint32_t x[F::N];
    split_limbs<F::N>(x, a.l);
    mont_sqr<F>(x, x);
    reduce_exact<F, 1>(x);
    join_words<F::N>(a.l, x);
    return a;
}

} // namespace cuzk_gpu

#define CUZK__DEVICE_HOOKS(fe, type, F)                                                            \
    static CUZK_HD void fe##_mul_asm(type *r, const type *a, const type *b) {                      \
        *r = cuzk_gpu::hook_mul<cuzk_gpu::F, type>(*a, *b);                                        \
    }                                                                                              \
    static CUZK_HD void fe##_sqr_asm(type *r, const type *a) {                                     \
        *r = cuzk_gpu::hook_sqr<cuzk_gpu::F, type>(*a);                                            \
    }
CUZK__DEVICE_HOOKS(cuzk_bn254_fp, cuzk_u256, bn254_fp)
CUZK__DEVICE_HOOKS(cuzk_bn254_fr, cuzk_u256, bn254_fr)
CUZK__DEVICE_HOOKS(cuzk_bls12_381_fp, cuzk_u384, bls12_381_fp)
CUZK__DEVICE_HOOKS(cuzk_bls12_381_fr, cuzk_u256, bls12_381_fr)

#ifdef __CUDA_ARCH__
#define CUZK__FIELD_EXTERNAL_HOOKS 1
#endif
#include "curve/groups.h"

#endif

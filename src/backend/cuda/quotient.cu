/* Vectors of scalars around the transforms: one element a thread. */
#include "backend/cuda/mont32.cuh"
#include "backend/cuda/prover.cuh"

using namespace cuzk_gpu;

namespace {

__device__ __forceinline__ void load(uint32_t *r, const uint4 *v, size_t i) {
    const uint4 a = v[2 * i], b = v[2 * i + 1];
    r[0] = a.x, r[1] = a.y, r[2] = a.z, r[3] = a.w;
    r[4] = b.x, r[5] = b.y, r[6] = b.z, r[7] = b.w;
}

__device__ __forceinline__ void store(uint4 *v, size_t i, const uint32_t *r) {
    v[2 * i] = make_uint4(r[0], r[1], r[2], r[3]);
    v[2 * i + 1] = make_uint4(r[4], r[5], r[6], r[7]);
}

/* Canonical product of canonical elements. */
template <class F>
__device__ __forceinline__ void product(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    mont_mul<F>(r, a, b);
    reduce_exact<F, 1>(r);
}

template <class F> __global__ void vec_product(uint4 *c, const uint4 *a, const uint4 *b, size_t n) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[8], y[8];
    load(x, a, i);
    load(y, b, i);
    product<F>(x, x, y);
    store(c, i, x);
}

template <class F>
__global__ void vec_quotient(uint4 *h, const uint4 *a, const uint4 *b, const uint4 *c, size_t n) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[8], y[8], one[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    load(x, a, i);
    load(y, b, i);
    product<F>(x, x, y);
    load(y, c, i);
    sub_mod<F>(x, x, y);
    product<F>(x, x, one);
    store(h, i, x);
}

/* half: plain 1/2, so that its Montgomery product with x R is the plain x / 2. */
template <class F>
__global__ void vec_half_difference(uint4 *h, const uint4 *c, const uint4 *d, size_t n,
                                    cuzk_u256 half) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[8] = {0, 0, 0, 0, 0, 0, 0, 0}, y[8];
    if (c) load(x, c, i);
    load(y, d, i);
    sub_mod<F>(x, x, y);
    CUZK_UNROLL for (int k = 0; k < 4; k++) {
        y[2 * k] = (uint32_t)half.l[k];
        y[2 * k + 1] = (uint32_t)(half.l[k] >> 32);
    }
    product<F>(x, x, y);
    store(h, i, x);
}

template <class F> __global__ void vec_from_mont(uint4 *out, const uint4 *in, size_t n) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[8], one[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    load(x, in, i);
    product<F>(x, x, one);
    store(out, i, x);
}

template <class F> __global__ void vec_to_mont(uint4 *out, const uint4 *in, size_t n) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[8], r2[8];
    load(x, in, i);
    CUZK_UNROLL for (int k = 0; k < 8; k++) r2[k] = F::r2(k);
    product<F>(x, x, r2);
    store(out, i, x);
}

__global__ void bit_reverse(uint4 *items, unsigned log2n, int words) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (log2n == 0 || i >> log2n) return;
    const uint32_t j = __brev(i) >> (32 - log2n);
    if (j <= i) return;
    for (int k = 0; k < words; k++) {
        const uint4 t = items[(size_t)i * words + k];
        items[(size_t)i * words + k] = items[(size_t)j * words + k];
        items[(size_t)j * words + k] = t;
    }
}

unsigned blocks_for(size_t n) {
    return (unsigned)((n + 255) / 256);
}

} // namespace

#define PER_CURVE(kernel) (curve == CUZK_BN254 ? kernel<bn254_fr> : kernel<bls12_381_fr>)

cuzk_status cuzk__vec_product(const cuzk_cuda *dev, cuzk_curve_id curve, void *c, const void *a,
                              const void *b, size_t n, cuzk_err *err) {
    PER_CURVE(vec_product)<<<blocks_for(n), 256, 0, dev->stream>>>((uint4 *)c, (const uint4 *)a,
                                                                   (const uint4 *)b, n);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__vec_quotient(const cuzk_cuda *dev, cuzk_curve_id curve, void *h, const void *a,
                               const void *b, const void *c, size_t n, cuzk_err *err) {
    PER_CURVE(vec_quotient)<<<blocks_for(n), 256, 0, dev->stream>>>(
        (uint4 *)h, (const uint4 *)a, (const uint4 *)b, (const uint4 *)c, n);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__vec_half_difference(const cuzk_cuda *dev, cuzk_curve_id curve, void *h,
                                      const void *c, const void *d, size_t n, cuzk_err *err) {
    const cuzk_fr_ops *fr = cuzk_curve_get(curve)->fr;
    cuzk_u256 half = fr->modulus; /* (r + 1) / 2 */
    half.l[0] += 1;               /* r = 1 mod 4: no carry */
    for (int k = 0; k < 4; k++)
        half.l[k] = half.l[k] >> 1 | (k < 3 ? half.l[k + 1] << 63 : 0);
    PER_CURVE(vec_half_difference)<<<blocks_for(n), 256, 0, dev->stream>>>(
        (uint4 *)h, (const uint4 *)c, (const uint4 *)d, n, half);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__vec_from_mont(const cuzk_cuda *dev, cuzk_curve_id curve, void *out,
                                const void *in, size_t n, cuzk_err *err) {
    if (n == 0) return CUZK_OK;
    PER_CURVE(vec_from_mont)<<<blocks_for(n), 256, 0, dev->stream>>>((uint4 *)out,
                                                                     (const uint4 *)in, n);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__vec_to_mont(const cuzk_cuda *dev, cuzk_curve_id curve, void *out, const void *in,
                              size_t n, cuzk_err *err) {
    if (n == 0) return CUZK_OK;
    PER_CURVE(vec_to_mont)<<<blocks_for(n), 256, 0, dev->stream>>>((uint4 *)out, (const uint4 *)in,
                                                                   n);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__bit_reverse(const cuzk_cuda *dev, void *items, unsigned log2n, int words,
                              cuzk_err *err) {
    bit_reverse<<<blocks_for((size_t)1 << log2n), 256, 0, dev->stream>>>((uint4 *)items, log2n,
                                                                         words);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

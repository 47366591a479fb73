/* Kernels over points: plain sums, multiples of bases, and the addition of one point to many. G is
 * a group (CUZK_GPU_GROUP), whose XYZZ formulas are those of curve/ec.inl.h. */
#ifndef CUZK_BACKEND_CUDA_MSM_POINTS_CUH
#define CUZK_BACKEND_CUDA_MSM_POINTS_CUH

#define CUZK_GPU_CALL_PRODUCTS 1
#include "backend/cuda/accumulate_chosen.cuh"
#include "backend/cuda/dev_fields.cuh"
#include "backend/cuda/running_sum.cuh"

extern "C" {
#include "backend/cuda/msm_combine.h"
}

namespace cuzk_gpu {

/* Binds the names of one group. The functions are calls: each is thousands of instructions. */
#define CUZK_GPU_GROUP(name, E_)                                                                   \
    struct name##_group {                                                                          \
        typedef E_ E;                                                                              \
        typedef cuzk_##name##_affine_t affine;                                                     \
        typedef cuzk_##name##_xyzz_t xyzz;                                                         \
        static __device__ __noinline__ void add(xyzz *r, const xyzz *b) {                          \
            cuzk_##name##_xyzz_add(r, r, b);                                                       \
        }                                                                                          \
        static __device__ __noinline__ void add_affine(xyzz *r, const affine *b) {                 \
            cuzk_##name##_xyzz_add_affine(r, r, b);                                                \
        }                                                                                          \
        static __device__ __noinline__ void twice(xyzz *r) { cuzk_##name##_xyzz_dbl(r, r); }       \
        static __device__ __forceinline__ void clear(xyzz *r) {                                    \
            cuzk_##name##_xyzz_set_infinity(r);                                                    \
        }                                                                                          \
        static __device__ __forceinline__ void from_affine(xyzz *r, const affine *a) {             \
            cuzk_##name##_xyzz_from_affine(r, a);                                                  \
        }                                                                                          \
        static constexpr auto combine = cuzk__cuda_combine_##name;                                 \
    };

enum { SUM_THREADS = 64, SUM_SERIAL = 4 };

template <class P> static __device__ __forceinline__ void put_point(P *out, const P *p) {
    uint64_t *w = (uint64_t *)out;
    const uint64_t *m = (const uint64_t *)p;
    CUZK_UNROLL for (int i = 0; i < (int)(sizeof(P) / 8); i++) w[i] = m[i];
}

/* The sums of a block of SUM_THREADS. */
template <class G> struct block_summer {
    typedef running_sum<G, SUM_THREADS> running;
    static constexpr uint32_t COUNT = running::COUNT;
    static constexpr int SHARED = (int)COUNT * (int)sizeof(typename G::xyzz);
    /* *out = the sum of all. */
    static __device__ __forceinline__ void finish(uint64_t *shared, const running &mine,
                                                  typename G::xyzz *out) {
        block_sums<G, SUM_THREADS>(shared, mine, 1);
        if (threadIdx.x) return;
        typename G::xyzz x;
        get_shared_point<COUNT>(&x, shared, 0);
        put_point(out, &x);
    }
};

/* Block i: the sum of in[i*count .. (i+1)*count). */
template <class G>
__global__ __launch_bounds__(SUM_THREADS) void sum_partials(const typename G::xyzz *in,
                                                            uint32_t count, typename G::xyzz *out) {
    extern __shared__ uint64_t words[];
    typedef block_summer<G> block;
    typename block::running x;
    in += (size_t)blockIdx.x * count;
    for (uint32_t first = 0; first < count; first += block::COUNT) {
        const uint32_t i = first + (uint32_t)x.number();
        x.add(&in[i < count ? i : 0], i < count);
    }
    block::finish(words, x, &out[blockIdx.x]);
}

/* Block b: the sum of its share of the first *count points. */
template <class G>
__global__ __launch_bounds__(SUM_THREADS) void sum_affine(const typename G::affine *in,
                                                          const uint32_t *count,
                                                          typename G::xyzz *out) {
    extern __shared__ uint64_t words[];
    typedef block_summer<G> block;
    typename block::running x;
    const uint32_t n = *count;
    for (uint32_t first = blockIdx.x * block::COUNT; first < n; first += gridDim.x * block::COUNT) {
        const uint32_t i = first + (uint32_t)x.number();
        x.add_affine(&in[i < n ? i : 0], i < n);
    }
    block::finish(words, x, &out[blockIdx.x]);
}

enum { POINT_THREADS = 128 };

/* out[i] = 2^doublings * in[i], affine: doublings in XYZZ, one shared inversion for a block. */
template <class G>
__global__ __launch_bounds__(POINT_THREADS) void shift_points(const typename G::affine *in,
                                                              typename G::affine *out, size_t n,
                                                              int doublings) {
    typedef typename G::E E;
    constexpr int N = E::N;
    extern __shared__ uint4 dynamic[];
    const size_t i = blockIdx.x * (size_t)POINT_THREADS + threadIdx.x;
    typename G::xyzz p;
    typename G::affine a;
    G::clear(&p);
    if (i < n) {
        a = in[i];
        G::from_affine(&p, &a);
        for (int k = 0; k < doublings; k++)
            G::twice(&p);
    }
    uint32_t z[N], t[N];
    split_limbs<N>(z, (const uint64_t *)&p.zzz);
    const bool infinite = words_zero<N>(z);
    if (infinite) E::one(z);
    block_invert<E, POINT_THREADS>(z, (uint32_t)__cvta_generic_to_shared(dynamic), 0);
    if (i >= n) return;
    /* 1/zz = (zz/zzz)^2 as zz^3 = zzz^2 */
    uint32_t x[N], y[N];
    split_limbs<N>(t, (const uint64_t *)&p.zz);
    E::settle(z);
    E::canon(z);
    E::mul(t, t, z);
    E::canon(t);
    E::sqr(t, t);
    E::canon(t);
    split_limbs<N>(x, (const uint64_t *)&p.x);
    split_limbs<N>(y, (const uint64_t *)&p.y);
    E::mul(x, x, t);
    E::mul(y, y, z);
    E::canon(x);
    E::canon(y);
    if (infinite) {
        CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = y[k] = 0;
    }
    join_words<N>((uint64_t *)&a.x, x);
    join_words<N>((uint64_t *)&a.y, y);
    out[i] = a;
}

/* out[i] = in[i] + q for i < n, none infinite, equal or opposite to q. */
template <class G>
__global__ __launch_bounds__(POINT_THREADS) void add_constant(const typename G::affine *in,
                                                              typename G::affine *out, size_t n,
                                                              typename G::affine q) {
    typedef typename G::E E;
    constexpr int N = E::N;
    extern __shared__ uint4 dynamic[];
    const size_t i = blockIdx.x * (size_t)POINT_THREADS + threadIdx.x;
    uint32_t d[N], ax[N], ay[N], qx[N], qy[N];
    split_limbs<N>(qx, (const uint64_t *)&q.x);
    split_limbs<N>(qy, (const uint64_t *)&q.y);
    E::one(d);
    typename G::affine a;
    if (i < n) {
        a = in[i];
        split_limbs<N>(ax, (const uint64_t *)&a.x);
        split_limbs<N>(ay, (const uint64_t *)&a.y);
        E::diff(d, qx, ax);
    }
    block_invert<E, POINT_THREADS>(d, (uint32_t)__cvta_generic_to_shared(dynamic), 0);
    if (i >= n) return;
    uint32_t s[N], x[N], y[N];
    E::settle(d);
    E::diff(s, qy, ay);
    E::mul(d, s, d);
    E::sqr(x, d);
    E::x3(x, ax, qx);
    E::fall(y, ax, x);
    E::mul(y, d, y);
    E::y3(y, ay);
    E::canon(x);
    E::canon(y);
    join_words<N>((uint64_t *)&a.x, x);
    join_words<N>((uint64_t *)&a.y, y);
    out[i] = a;
}

} // namespace cuzk_gpu

#endif

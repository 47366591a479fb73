/* Sums of listed points in XYZZ, and the making of combs, for one group. Each sum_<group>.cu
 * instantiates it once. */
#ifndef CUZK_BACKEND_CUDA_SUM_GROUP_CUH
#define CUZK_BACKEND_CUDA_SUM_GROUP_CUH

#include "backend/cuda/digits.cuh"
#include "backend/cuda/msm_points.cuh"
#include "backend/cuda/sum_ops.cuh"

extern "C" {
#include "backend/cuda/sum_combine.h"
}

namespace cuzk_gpu {

/* Block b: partial[b] = the sum of its share of the list. More blocks take part where each of the
 * sums that run side by side would be of more than SUM_SERIAL entries. */
template <class G>
__global__ __launch_bounds__(SUM_THREADS) void sum_list(const typename G::affine *points,
                                                        const uint32_t *list, const uint32_t *count,
                                                        typename G::xyzz *partial) {
    extern __shared__ uint64_t words[];
    typedef block_summer<G> block;
    const uint32_t n = *count;
    uint32_t blocks = (n + block::COUNT * SUM_SERIAL - 1) / (block::COUNT * SUM_SERIAL);
    if (blocks > gridDim.x) blocks = gridDim.x;
    typename block::running x;
    for (uint32_t first = blockIdx.x * block::COUNT; blockIdx.x < blocks && first < n;
         first += blocks * block::COUNT) {
        const uint32_t i = first + (uint32_t)x.number();
        const uint32_t e = i < n ? list[i] : 0;
        x.add_signed(&points[e & 0x7fffffffu], i < n, e >> 31);
    }
    if (blockIdx.x < blocks) {
        block::finish(words, x, &partial[blockIdx.x]);
    } else if (threadIdx.x == 0) {
        typename G::xyzz none;
        G::clear(&none);
        partial[blockIdx.x] = none;
    }
}

/* out[i] = a[i] + b[i], a[i] a small multiple of b[i] above 1: never equal or opposite in a group
 * of large prime order. A base outside that group gives wrong points, not wrong accesses. */
template <class G>
__global__ __launch_bounds__(POINT_THREADS) void add_multiples(const typename G::affine *as,
                                                               const typename G::affine *bs,
                                                               typename G::affine *out, size_t n) {
    typedef typename G::E E;
    constexpr int N = E::N;
    extern __shared__ uint4 dynamic[];
    const size_t i = blockIdx.x * (size_t)POINT_THREADS + threadIdx.x;
    uint32_t d[N], ax[N], ay[N], qx[N], qy[N];
    typename G::affine a;
    bool usual = false;
    E::one(d);
    if (i < n) {
        a = as[i];
        const typename G::affine q = bs[i];
        split_limbs<N>(ax, (const uint64_t *)&a.x);
        split_limbs<N>(ay, (const uint64_t *)&a.y);
        split_limbs<N>(qx, (const uint64_t *)&q.x);
        split_limbs<N>(qy, (const uint64_t *)&q.y);
        bool same = true;
        CUZK_UNROLL for (int k = 0; k < N; k++) same &= ax[k] == qx[k];
        usual = !same && !(words_zero<N>(qx) && words_zero<N>(qy));
        if (usual) E::diff(d, qx, ax);
    }
    block_invert<E, POINT_THREADS>(d, (uint32_t)__cvta_generic_to_shared(dynamic), 0);
    if (i >= n) return;
    uint32_t x[N], y[N];
    CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = y[k] = 0;
    if (usual) {
        uint32_t s[N];
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
    }
    join_words<N>((uint64_t *)&a.x, x);
    join_words<N>((uint64_t *)&a.y, y);
    out[i] = a;
}

/* out[i] = scalars[i] G by G's comb: entry (d-1) * windows + w is d 2^(window w) G. One inversion a
 * block. */
template <class G>
__global__ __launch_bounds__(POINT_THREADS) void fixed_base(const typename G::affine *table,
                                                            int window, int windows,
                                                            const uint4 *scalars,
                                                            typename G::affine *out, size_t n) {
    typedef typename G::E E;
    constexpr int N = E::N;
    extern __shared__ uint4 dynamic[];
    const size_t i = blockIdx.x * (size_t)POINT_THREADS + threadIdx.x;
    typename G::xyzz p;
    typename G::affine a;
    G::clear(&p);
    if (i < n) {
        value v = load_value(scalars, (uint32_t)i);
        int carry = 0;
        for (int w = 0; w < windows; w++) {
            const int d = take_digit(v, window, carry);
            if (d == 0) continue;
            a = table[(size_t)((d < 0 ? -d : d) - 1) * (size_t)windows + (size_t)w];
            if (d < 0) G::negate(&a);
            G::add_affine(&p, &a);
        }
    }
    uint32_t z[N], t[N], x[N], y[N];
    split_limbs<N>(z, (const uint64_t *)&p.zzz);
    const bool infinite = words_zero<N>(z);
    if (infinite) E::one(z);
    block_invert<E, POINT_THREADS>(z, (uint32_t)__cvta_generic_to_shared(dynamic), 0);
    if (i >= n) return;
    /* 1/zz = (zz/zzz)^2 as zz^3 = zzz^2 */
    E::settle(z);
    E::canon(z);
    split_limbs<N>(t, (const uint64_t *)&p.zz);
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

template <class G> struct sum_group {
    typedef typename G::affine affine;
    typedef typename G::xyzz xyzz;
    static constexpr int SUM_SHARED = block_summer<G>::SHARED;

    static constexpr size_t COORDINATE = stage<typename G::E, POINT_THREADS>::SIZE;

    static cuzk_status prepare(const cuzk_cuda *dev, cuzk_err *err) {
        const cudaFuncAttribute attr = cudaFuncAttributeMaxDynamicSharedMemorySize;
        CUZK_TRY(cuzk__cuda_check_stage(dev, COORDINATE, err));
        const int bytes = (int)cuzk__cuda_stage(dev, COORDINATE);
        CUZK_CUDA(cudaFuncSetAttribute(add_multiples<G>, attr, bytes));
        CUZK_CUDA(cudaFuncSetAttribute(fixed_base<G>, attr, bytes));
        return CUZK_OK;
    }

    static cuzk_status sum(const cuzk_cuda *dev, const void *points, const uint32_t *list,
                           const uint32_t *count, void *partial, void *last, cuzk_err *err) {
        const unsigned grid = (unsigned)(dev->info.sms * CUZK__SUM_BLOCKS);
        sum_list<G><<<grid, SUM_THREADS, SUM_SHARED, dev->stream>>>((const affine *)points, list,
                                                                    count, (xyzz *)partial);
        CUZK_CUDA_LAUNCHED();
        sum_partials<G><<<CUZK__SUM_LAST, SUM_THREADS, SUM_SHARED, dev->stream>>>(
            (const xyzz *)partial, grid / CUZK__SUM_LAST, (xyzz *)last);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status add(const cuzk_cuda *dev, const void *a, const void *b, void *out, size_t n,
                           cuzk_err *err) {
        const unsigned grid = (unsigned)((n + POINT_THREADS - 1) / POINT_THREADS);
        add_multiples<G><<<grid, POINT_THREADS, cuzk__cuda_stage(dev, COORDINATE), dev->stream>>>(
            (const affine *)a, (const affine *)b, (affine *)out, n);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status multiply(const cuzk_cuda *dev, const void *table, unsigned window,
                                unsigned windows, const void *scalars, void *out, size_t n,
                                cuzk_err *err) {
        const unsigned grid = (unsigned)((n + POINT_THREADS - 1) / POINT_THREADS);
        fixed_base<G><<<grid, POINT_THREADS, cuzk__cuda_stage(dev, COORDINATE), dev->stream>>>(
            (const affine *)table, (int)window, (int)windows, (const uint4 *)scalars, (affine *)out,
            n);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static constexpr cuzk__sum_ops ops() {
        return {sizeof(affine), sizeof(xyzz), prepare, sum, add, multiply, G::add_up};
    }
};

/* A group of msm_points.cuh with what these kernels need beside. */
#define CUZK_GPU_SUM_GROUP(name, E_)                                                               \
    CUZK_GPU_GROUP(name, E_)                                                                       \
    struct name##_sums : name##_group {                                                            \
        static __device__ __forceinline__ void negate(affine *a) {                                 \
            cuzk_##name##_affine_neg(a, a);                                                        \
        }                                                                                          \
        static constexpr auto add_up = cuzk__cuda_add_up_##name;                                   \
    };

} // namespace cuzk_gpu

#endif

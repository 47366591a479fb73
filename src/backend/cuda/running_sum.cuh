/* Running sums of points in XYZZ: one a thread, or in G2, where a thread would want more registers
 * than there are, one for each two lanes, with a component of every coordinate each. What a kernel
 * adds up it counts by number() and COUNT; all threads of a warp add together, those without a
 * point with none. */
#ifndef CUZK_BACKEND_CUDA_RUNNING_SUM_CUH
#define CUZK_BACKEND_CUDA_RUNNING_SUM_CUH

#include "backend/cuda/point_tree.cuh"

namespace cuzk_gpu {

/* NT: threads of the block. */
template <class G, int NT, class E = typename spread_coord<typename G::E>::type, int L = E::LANES>
struct running_sum {
    static constexpr int COUNT = NT;
    typename G::xyzz x;
    static __device__ __forceinline__ int number() { return (int)threadIdx.x; }
    __device__ __forceinline__ running_sum() { G::clear(&x); }
    __device__ __forceinline__ void add_affine(const typename G::affine *p, bool any) {
        if (any) G::add_affine(&x, p);
    }
    __device__ __forceinline__ void add_signed(const typename G::affine *p, bool any, bool negate) {
        if (!any) return;
        typename G::affine a = *p;
        if (negate) G::negate(&a);
        G::add_affine(&x, &a);
    }
    __device__ __forceinline__ void add(const typename G::xyzz *p, bool any) {
        if (any) G::add(&x, p);
    }
    __device__ __forceinline__ void put_shared(uint64_t *shared) const {
        put_shared_point<COUNT>(shared, &x, number());
    }
};

template <class G, int NT, class E> struct running_sum<G, NT, E, 2> : spread_point<E> {
    typedef spread_point<E> base;
    typedef typename base::part part;
    using base::mul, base::take, base::zero;
    using base::x, base::y, base::zz, base::zzz;
    static constexpr int COUNT = NT / 2, N = E::N;

    static __device__ __forceinline__ int number() { return (int)threadIdx.x / 2; }
    __device__ __forceinline__ running_sum() {
        CUZK_UNROLL for (int i = 0; i < N; i++) x.w[i] = y.w[i] = zz.w[i] = zzz.w[i] = 0;
    }
    /* The lane's part of coordinate k of a point. */
    static __device__ __forceinline__ part load(const void *point, int k) {
        part r;
        get_planes<N>(r.w, (const uint4 *)point + (2 * k + ((int)threadIdx.x & 1)) * (N / 4), 1);
        return r;
    }
    /* The end of both additions where they are the `usual` ones, given P, R, U and S of
     * point_tree.cuh and the products of both points' zz and zzz. */
    __device__ __forceinline__ void finish(const part &p, const part &r, const part &u,
                                           const part &s, const part &zz2, const part &zzz2,
                                           bool usual) {
        const part pp = mul(p, p), ppp = mul(p, pp), q = mul(u, pp), t = mul(s, ppp);
        const part x3 = minus(minus(minus(mul(r, r), ppp), q), q);
        take(usual, &y, minus(mul(r, minus(q, x3)), t));
        take(usual, &x, x3);
        take(usual, &zz, mul(zz2, pp));
        take(usual, &zzz, mul(zzz2, ppp));
    }
    /* What equal or opposite points do: P is zero, R too, or not. */
    __device__ __forceinline__ void finish_same(bool same, const part &r) {
        if (!__any_sync(WARP_ALL, same)) return;
        const bool equal = E::all(zero(r));
        base::twice(same && equal);
        const part none = {};
        const bool gone = same && !equal;
        take(gone, &x, none), take(gone, &y, none), take(gone, &zz, none), take(gone, &zzz, none);
    }

    __device__ __forceinline__ void add_parts(part bx, part by, bool any) {
        any = any && !E::all(zero(bx) && zero(by));
        const bool first = E::all(zero(zz));
        const part p = minus(mul(bx, zz), x), r = minus(mul(by, zzz), y);
        const bool same = any && !first && E::all(zero(p));
        finish(p, r, x, y, zz, zzz, any && !first && !same);
        finish_same(same, r);
        part one;
        E::one(one.w);
        const bool copy = any && first;
        take(copy, &x, bx), take(copy, &y, by), take(copy, &zz, one), take(copy, &zzz, one);
    }
    __device__ __forceinline__ void add_affine(const typename G::affine *p, bool any) {
        add_parts(load(p, 0), load(p, 1), any);
    }
    __device__ __forceinline__ void add_signed(const typename G::affine *p, bool any, bool negate) {
        part by = load(p, 1);
        if (negate && !zero(by)) E::neg(by.w, by.w);
        add_parts(load(p, 0), by, any);
    }
    __device__ __forceinline__ void add(const typename G::xyzz *point, bool any) {
        const part bzz = load(point, 2), bzzz = load(point, 3);
        any = any && !E::all(zero(bzz));
        const bool first = E::all(zero(zz));
        const part bx = load(point, 0), by = load(point, 1);
        const part u = mul(x, bzz), p = minus(mul(bx, zz), u);
        const part s = mul(y, bzzz), r = minus(mul(by, zzz), s);
        const bool same = any && !first && E::all(zero(p));
        finish(p, r, u, s, mul(zz, bzz), mul(zzz, bzzz), any && !first && !same);
        finish_same(same, r);
        const bool copy = any && first;
        take(copy, &x, bx), take(copy, &y, by), take(copy, &zz, bzz), take(copy, &zzz, bzzz);
    }
    __device__ __forceinline__ void put_shared(uint64_t *shared) const {
        typedef point_tree<G, COUNT, NT> tree;
        tree::put(shared, number(), 0, x), tree::put(shared, number(), 1, y);
        tree::put(shared, number(), 2, zz), tree::put(shared, number(), 3, zzz);
    }
};

/* Those of a block's sums whose numbers are the same modulo `sums`, a power of two, are added up;
 * the results stand in shared memory. */
template <class G, int NT>
static __device__ __forceinline__ void block_sums(uint64_t *shared, const running_sum<G, NT> &mine,
                                                  int sums) {
    mine.put_shared(shared);
    point_tree<G, running_sum<G, NT>::COUNT, NT>::sum(shared, sums);
}

} // namespace cuzk_gpu

#endif

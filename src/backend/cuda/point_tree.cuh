/* Sums of the points of a block, in shared memory: a tree. DESIGN
 *
 * An addition in XYZZ is 14 products, one thread's work for 10 microseconds in G1 and 25 in G2; a
 * tree has few additions at a time, so that all of it is waiting. Here four workers share each of
 * them, which leaves four products one after another:
 *
 *   worker   1            2           3              4
 *   0        U = X ZZ'    P^2         P^3            S P^3
 *   1        U' = X' ZZ   ZZ ZZ'      ZZ ZZ' P^2     -
 *   2        S = Y ZZZ'   R^2         Q = U P^2      R (Q - X3)
 *   3        S' = Y' ZZZ  ZZZ ZZZ'    -              ZZZ ZZZ' P^3
 *
 * with P = U' - U, R = S' - S, X3 = R^2 - P^3 - 2 Q, Y3 = R (Q - X3) - S P^3. A worker is a lane,
 * in G2 two, with a component each (coords.cuh). Formulas: add-2008-s of the Explicit-Formulas
 * Database. Everything is canonical. */
#ifndef CUZK_BACKEND_CUDA_POINT_TREE_CUH
#define CUZK_BACKEND_CUDA_POINT_TREE_CUH

#include "backend/cuda/coords.cuh"

namespace cuzk_gpu {

/* A point in the shared memory of a block of NT threads: 64-bit words NT apart. Word by word also
 * because nvcc 13.0 spoils the first word of a 128-byte structure that is assigned to shared memory
 * here. */
template <int NT, class P>
static __device__ __forceinline__ void put_shared_point(uint64_t *shared, const P *p, int at) {
    const uint64_t *w = (const uint64_t *)p;
    CUZK_UNROLL for (int i = 0; i < (int)(sizeof(P) / 8); i++) shared[i * NT + at] = w[i];
}
template <int NT, class P>
static __device__ __forceinline__ void get_shared_point(P *p, const uint64_t *shared, int at) {
    uint64_t *w = (uint64_t *)p;
    CUZK_UNROLL for (int i = 0; i < (int)(sizeof(P) / 8); i++) w[i] = shared[i * NT + at];
}

/* How a coordinate is spread over lanes where several work on a point. */
template <class E> struct spread_coord { typedef E type; };
template <class F> struct spread_coord<coord_fp2<F>> { typedef coord_fp2_lanes<F> type; };

template <class F>
static __device__ __forceinline__ words_of<F> minus(const words_of<F> &a, const words_of<F> &b) {
    words_of<F> r;
    sub_mod<F>(r.w, a.w, b.w);
    return r;
}

/* A canonical product, by a whole warp. */
template <class E>
static __device__ __noinline__ words_of<typename E::F>
canonical_product(words_of<typename E::F> a, words_of<typename E::F> b) {
    words_of<typename E::F> r;
    E::mul(r.w, a.w, b.w);
    E::canon(r.w);
    return r;
}

/* A point whose coordinates' parts two lanes hold, canonical. Its members are called by whole
 * warps. */
template <class E> struct spread_point {
    typedef typename E::F F;
    typedef words_of<F> part;
    static constexpr int N = E::N;
    part x, y, zz, zzz;

    static __device__ __forceinline__ part mul(const part &a, const part &b) {
        return canonical_product<E>(a, b);
    }
    static __device__ __forceinline__ bool zero(const part &a) { return words_zero<N>(a.w); }
    static __device__ __forceinline__ void take(bool is, part *to, const part &a) {
        CUZK_UNROLL for (int i = 0; i < N; i++) to->w[i] = is ? a.w[i] : to->w[i];
    }

    /* Where `is`: it becomes twice itself; dbl-2008-s-1. */
    __device__ __forceinline__ void twice(bool is) {
        part u, m;
        add_mod<F>(u.w, y.w, y.w);
        const part v = mul(u, u), w = mul(u, v), s = mul(x, v), yw = mul(w, y), t = mul(x, x);
        add_mod<F>(m.w, t.w, t.w);
        add_mod<F>(m.w, m.w, t.w);
        const part x3 = minus(minus(mul(m, m), s), s);
        take(is, &y, minus(mul(m, minus(s, x3)), yw));
        take(is, &x, x3);
        take(is, &zz, mul(v, zz));
        take(is, &zzz, mul(w, zzz));
    }
};

/* Of NT points, by a block of THREADS. */
template <class G, int NT, int THREADS> struct point_tree {
    typedef typename spread_coord<typename G::E>::type E;
    typedef typename E::F F;
    typedef words_of<F> part; /* of a coordinate: a lane's */
    static constexpr int N = E::N, GROUP = 4 * E::LANES;
    enum { X, Y, ZZ, ZZZ };

    static __device__ __forceinline__ int lane() { return (int)threadIdx.x & 31; }
    static __device__ __forceinline__ int worker() { return lane() % GROUP / E::LANES; }
    /* The lane that has the same part for worker w of the group. */
    static __device__ __forceinline__ int lane_of(int w) {
        return lane() - lane() % GROUP + w * E::LANES + lane() % E::LANES;
    }
    static __device__ __forceinline__ part of_worker(const part &a, int w) {
        part r;
        const int from = lane_of(w);
        CUZK_UNROLL for (int i = 0; i < N; i++) r.w[i] = __shfl_sync(WARP_ALL, a.w[i], from);
        return r;
    }
    static __device__ __forceinline__ bool flag_of(bool is, int w) {
        return __shfl_sync(WARP_ALL, (int)is, lane_of(w));
    }
    static __device__ __forceinline__ uint64_t *place(uint64_t *shared, int point, int k) {
        return shared + (k * E::LANES + lane() % E::LANES) * (N / 2) * NT + point;
    }
    static __device__ __forceinline__ part get(uint64_t *shared, int point, int k) {
        part r;
        const uint64_t *from = place(shared, point, k);
        CUZK_UNROLL for (int i = 0; i < N / 2; i++) {
            const uint64_t v = from[i * NT];
            r.w[2 * i] = (uint32_t)v, r.w[2 * i + 1] = (uint32_t)(v >> 32);
        }
        return r;
    }
    static __device__ __forceinline__ void put(uint64_t *shared, int point, int k, const part &a) {
        uint64_t *to = place(shared, point, k);
        CUZK_UNROLL for (int i = 0; i < N / 2; i++) to[i * NT] =
            a.w[2 * i] | (uint64_t)a.w[2 * i + 1] << 32;
    }
    static __device__ __forceinline__ part pick(bool first, const part &a, const part &b) {
        part r;
        CUZK_UNROLL for (int i = 0; i < N; i++) r.w[i] = first ? a.w[i] : b.w[i];
        return r;
    }

    /* Where `is`, point `to` becomes twice itself, or infinity if not equal. By a whole warp: each
     * group's first worker. */
    static __device__ __forceinline__ void add_same(uint64_t *shared, int to, bool is, bool equal) {
        if constexpr (E::LANES == 1) {
            typename G::xyzz p;
            if (!is || worker()) return;
            G::clear(&p);
            if (equal) {
                get_shared_point<NT>(&p, shared, to);
                G::twice(&p);
            }
            put_shared_point<NT>(shared, &p, to);
        } else {
            spread_point<E> p = {get(shared, to, X), get(shared, to, Y), get(shared, to, ZZ),
                                 get(shared, to, ZZZ)};
            p.twice(true);
            if (!is || worker()) return;
            const part none = {};
            put(shared, to, X, equal ? p.x : none), put(shared, to, Y, equal ? p.y : none);
            put(shared, to, ZZ, equal ? p.zz : none), put(shared, to, ZZZ, equal ? p.zzz : none);
        }
    }

    /* Adds point `from` to point `to`, where active; by all groups of a warp at once. */
    static __device__ __noinline__ void add(uint64_t *shared, int to, int from, bool active) {
        const int w = worker(), k = w >> 1;
        const bool odd = w & 1;
        part a = get(shared, odd ? from : to, X + k), b = get(shared, odd ? to : from, ZZ + k);
        const bool zero = E::all(words_zero<N>(b.w));
        const bool from_zero = flag_of(zero, 0), to_zero = flag_of(zero, 1);
        part m = canonical_product<E>(a, b);
        part other = of_worker(m, w ^ 1);
        const part first = pick(odd, other, m); /* U or S */
        const part d = minus(pick(odd, m, other), first);
        const bool same = E::all(words_zero<N>(d.w));
        const bool same_x = flag_of(same, 0), same_y = flag_of(same, 2);
        a = odd ? get(shared, to, ZZ + k) : d;
        b = odd ? get(shared, from, ZZ + k) : d;
        m = canonical_product<E>(a, b);
        const part pp = of_worker(m, 0);
        other = of_worker(first, 0);
        part n = canonical_product<E>(pick(w == 0, d, pick(w == 2, other, m)), pp);
        const part ppp = of_worker(n, 0);
        const part x3 = minus(minus(minus(m, ppp), n), n);
        other = of_worker(first, 2);
        a = pick(w == 2, d, pick(w == 3, m, other));
        b = pick(w == 2, minus(n, x3), ppp);
        m = canonical_product<E>(a, b);
        const part y3 = minus(m, of_worker(m, 0));
        __syncwarp();
        const bool any = active && !from_zero, special = any && !to_zero && same_x;
        if (__any_sync(WARP_ALL, special)) add_same(shared, to, special, same_y);
        if (!any || special) return;
        if (to_zero)
            put(shared, to, w, get(shared, from, w));
        else if (w == 2)
            put(shared, to, X, x3), put(shared, to, Y, y3);
        else if (odd)
            put(shared, to, ZZ + k, pick(w == 1, n, m));
    }

    /* Points below `sums`, a power of two, become the sums of all whose number is theirs modulo
     * `sums`. The whole block; a barrier before and behind. */
    static __device__ __forceinline__ void sum(uint64_t *shared, int sums) {
        constexpr int WARP = 32 / GROUP; /* groups of a warp */
        const int group = lane() / GROUP, warp = (int)threadIdx.x / 32;
        for (int h = NT / 2; h >= sums; h >>= 1) {
            __syncthreads();
            for (int at = warp * WARP; at < h; at += THREADS / GROUP) {
                const bool active = at + group < h;
                const int to = active ? at + group : 0;
                add(shared, to, to + h, active);
            }
        }
        __syncthreads();
    }
};

} // namespace cuzk_gpu

#endif

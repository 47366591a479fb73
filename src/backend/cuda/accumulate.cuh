/* Batch-affine accumulation: rounds that add one point to each of many sums. DESIGN
 *
 * An affine addition costs 2M + 1S and an inversion; Montgomery's trick shares one inversion among
 * thousands, at 3M each: 5M + 1S against 8M + 2S for XYZZ. Each thread owns m accumulators, one
 * list each; a block of NT threads adds, in one round, one point to each of its m*NT accumulators:
 *   forward   d_i = x_P - x_A, running product of the d_i, prefixes to memory      (1M)
 *   inverse   of the block's product: a tree over the threads, then one value inverted by one warp
 *   backward  inverses of the d_i in turn, the addition itself                  (4M + 1S)
 * accumulate_lists.cuh and accumulate_chosen.cuh have the kernels.
 *
 * Operands travel through shared memory by cp.async, one piece re-issued for the next pair as soon
 * as it has been consumed: registers stay at 128, which allows two blocks of 256 on a
 * multiprocessor, whose inversions then overlap with additions.
 *
 * Accumulators and prefixes are stored as planes of 16 bytes, [i][plane][thread], so that accesses
 * are full lines. Exceptional pairs (equal, opposite, infinity, list ended) are noticed by cheap
 * necessary conditions and resolved exactly off the main path; they cost only when they occur. */
#ifndef CUZK_BACKEND_CUDA_ACCUMULATE_CUH
#define CUZK_BACKEND_CUDA_ACCUMULATE_CUH

#include "backend/cuda/coords.cuh"
#include "backend/cuda/limits.cuh"

namespace cuzk_gpu {

#ifdef __CUDACC__
enum { INFINITY_MARK = -1 };               /* top word of an accumulator's x */
constexpr uint32_t NO_POINT = 0xffffffffu; /* index word: the list has ended */
enum add_kind { ADD_NORMAL, ADD_KEEP, ADD_COPY, ADD_DOUBLE, ADD_INFINITY };

/* Before sm_80 a copy is done when it is issued, which is the earliest that it may be. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
CUZK_GPU_D void async_copy(uint32_t dst, const uint4 *src) {
    const uint4 v = *src;
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(dst), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}
CUZK_GPU_D void async_commit() {}
CUZK_GPU_D void async_wait() {
    __syncwarp();
}
#else
CUZK_GPU_D void async_copy(uint32_t dst, const uint4 *src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
}
CUZK_GPU_D void async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
CUZK_GPU_D void async_wait() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncwarp();
}
#endif

/* A coordinate of N words in N/4 planes: from global (stride in 16-byte units), to and from
 * shared memory (planes NT*16 bytes apart). */
template <int N> CUZK_GPU_D void get_planes(uint32_t *r, const uint4 *p, size_t stride) {
    CUZK_UNROLL for (int q = 0; q < N / 4; q++) {
        const uint4 v = p[q * stride];
        r[4 * q] = v.x, r[4 * q + 1] = v.y, r[4 * q + 2] = v.z, r[4 * q + 3] = v.w;
    }
}
template <int N> CUZK_GPU_D void put_planes(uint4 *p, size_t stride, const uint32_t *r) {
    CUZK_UNROLL for (int q = 0; q < N / 4; q++) p[q * stride] =
        make_uint4(r[4 * q], r[4 * q + 1], r[4 * q + 2], r[4 * q + 3]);
}
template <int N, int NT> CUZK_GPU_D void fetch(uint32_t dst, const uint4 *src, size_t stride) {
    CUZK_UNROLL for (int q = 0; q < N / 4; q++) async_copy(dst + q * NT * 16, src + q * stride);
}
/* A coordinate whose halves two lanes hold, from p: each copies every second plane, to its own
 * place or the other's. */
template <int N, int NT> CUZK_GPU_D void fetch_half(uint32_t dst, const uint4 *p) {
    constexpr int Q = N / 4;
    const bool odd = dst & 16;
    __syncwarp(); /* the other has read what it is overwritten with */
    CUZK_UNROLL for (int q = 0; q < Q; q++) {
        const uint32_t even_to = 2 * q / Q * 16 + 2 * q % Q * NT * 16;
        const uint32_t odd_to = (2 * q + 1) / Q * 16 + (2 * q + 1) % Q * NT * 16;
        async_copy((dst & ~16u) + (odd ? odd_to : even_to), p + 2 * q + odd);
    }
}
/* A coordinate of a point, planes FIRST and on of it, to dst, the thread's place in shared memory,
 * for every lane of a warp at once. Two lanes fetch two planes for one of them, then for the other:
 * the 32 bytes that memory moves at a time are asked for once, not twice. base: 32 bytes aligned.
 * After async_wait() other lanes' copies are there, too. */
template <class E, int NT, int FIRST, class C>
CUZK_GPU_D void fetch_point(uint32_t dst, const C &lists, uint32_t id) {
    constexpr int N = E::N;
    if constexpr (E::LANES == 2) {
        fetch_half<N, NT>(dst, lists.point(id) + FIRST);
    } else {
        __syncwarp(); /* the other has read what it is overwritten with */
        const uint32_t other = __shfl_xor_sync(0xffffffffu, id, 1);
        const bool odd = dst & 16;
        const uint4 *even_point = lists.point(odd ? other : id) + FIRST;
        const uint4 *odd_point = lists.point(odd ? id : other) + FIRST;
        CUZK_UNROLL for (int q = 0; q < N / 4; q++) {
            if ((FIRST + q) % 2 == 0 && q + 1 < N / 4) {
                const uint32_t to = (dst & ~16u) + q * NT * 16 + (odd ? NT * 16 : 0);
                async_copy(to, even_point + q + odd);
                async_copy(to + 16, odd_point + q + odd);
                q++;
            } else {
                async_copy(dst + q * NT * 16, (odd ? odd_point : even_point) + q);
            }
        }
    }
}
template <int N, int NT> CUZK_GPU_D void get_shared(uint32_t *r, uint32_t a) {
    CUZK_UNROLL for (int q = 0; q < N / 4; q++) asm volatile(
        "ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r[4 * q]), "=r"(r[4 * q + 1]),
        "=r"(r[4 * q + 2]), "=r"(r[4 * q + 3]) : "r"(a + q * NT * 16) : "memory");
}
template <int N, int NT> CUZK_GPU_D void put_shared(uint32_t a, const uint32_t *r) {
    CUZK_UNROLL for (int q = 0; q < N / 4; q++) asm volatile(
        "st.shared.v4.u32 [%4], {%0,%1,%2,%3};" ::"r"(r[4 * q]), "r"(r[4 * q + 1]),
        "r"(r[4 * q + 2]), "r"(r[4 * q + 3]), "r"(a + q * NT * 16) : "memory");
}

/* Where a thread finds its operands: base of the cursors, which say what element `round` of its
 * list i is. Args has points, acc and prefix. */
template <class E, int NT, class Args> struct thread_home {
    const Args &a;
    uint32_t home; /* of the block's accumulators, in units of NT */
    /* Of NO_POINT: some point, since what is fetched for it does not matter. */
    __device__ __forceinline__ const uint4 *point(uint32_t id) const {
        return a.points + (size_t)(id == NO_POINT ? 0 : id & 0x7fffffffu) * (E::LANES * E::N / 2);
    }
    /* Where the thread keeps accumulator i and prefix i: offsets of 32 bits from the kernel's
     * parameters, so that no 64-bit pointer stays in registers. */
    __device__ __forceinline__ uint4 *acc(int i) const {
        return a.acc + ((home + (uint32_t)i) * (E::N / 2 * NT) + threadIdx.x);
    }
    __device__ __forceinline__ uint4 *prefix(int i) const {
        return a.prefix + ((home + (uint32_t)i) * (E::N / 4 * NT) + threadIdx.x);
    }
};

/* The thread's part of a point: itself, unless its coordinates are spread over lanes. */
template <class E, class P> CUZK_GPU_D P *own_part(P *point) {
    return E::LANES == 1 ? point : point + threadIdx.x % E::LANES * (E::N / 4);
}

/* What the batch inversion shall invert for a pair, and what becomes of the pair. Returned in
 * registers: an array of the caller would be local memory. */
template <class E> struct resolved {
    uint32_t d[E::N];
    int kind;
};

/* Decides an exceptional pair exactly; ADD_NORMAL leaves d as it was. */
template <class E>
static __device__ __forceinline__ int resolve_into(uint32_t *d, const uint4 *acc, size_t stride,
                                                   const uint4 *point, bool active, bool negate) {
    constexpr int N = E::N;
    uint32_t ax[N], ay[N], px[N], py[N];
    if (!active) {
        E::one(d);
        return ADD_KEEP;
    }
    get_planes<N>(px, point, 1);
    get_planes<N>(py, point + E::LANES * N / 4, 1);
    if (E::all(words_zero<N>(px) && words_zero<N>(py))) {
        E::one(d);
        return ADD_KEEP;
    }
    get_planes<N>(ax, acc, stride);
    if (ax[N - 1] == (uint32_t)INFINITY_MARK) {
        E::one(d);
        return ADD_COPY;
    }
    get_planes<N>(ay, acc + (N / 4) * stride, stride);
    E::canon(ax);
    E::canon(ay);
    bool same_x = true, same_y = true;
    CUZK_UNROLL for (int i = 0; i < N; i++) same_x &= ax[i] == px[i];
    if (!E::all(same_x)) return ADD_NORMAL;
    if (negate && !words_zero<N>(py)) E::neg(py, py);
    CUZK_UNROLL for (int i = 0; i < N; i++) same_y &= ay[i] == py[i];
    if (E::all(same_y) && !E::all(words_zero<N>(ay))) {
        E::twice(d, ay);
        return ADD_DOUBLE;
    }
    E::one(d);
    return ADD_INFINITY;
}

template <class E>
static __device__ __noinline__ resolved<E>
resolve_pair(const uint4 *acc, size_t stride, const uint4 *point, bool active, bool negate) {
    resolved<E> r;
    CUZK_UNROLL for (int k = 0; k < E::N; k++) r.d[k] = 0;
    r.kind = resolve_into<E>(r.d, acc, stride, point, active, negate);
    return r;
}

/* Numerator of the tangent, 3x^2, as a difference-like value. */
template <class E>
static __device__ __noinline__ resolved<E> tangent_numerator(const uint4 *acc, size_t stride) {
    constexpr int N = E::N;
    resolved<E> r;
    uint32_t x[N];
    get_planes<N>(x, acc, stride);
    E::canon(x);
    E::mul_apart(x, x, x);
    E::canon(x);
    E::thrice(r.d, x);
    r.kind = ADD_DOUBLE;
    return r;
}

/* The thread's number, read each time: kept in a register, it would push others out of them. */
CUZK_GPU_D uint32_t own_number() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

/* Blocks that share a multiprocessor have rounds alike: beginning together, they would come to
 * their inversions together, and nothing would go on beside them. */
CUZK_GPU_D void begin_later(uint32_t ns) {
    if (own_number() == 0) {
        uint64_t from, now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
        do {
            __nanosleep(500);
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        } while (now - from < ns);
    }
    __syncthreads();
}

/* Layout of a thread's shared memory: five coordinates, and the running inverse of backward(),
 * which would not stay in registers through five products (but see stage_bytes). */
template <class E, int NT> struct stage {
    static constexpr uint32_t SIZE = E::N / 4 * NT * 16;
    uint32_t base;
    static constexpr int BYTES = STAGE_COORDINATES * (int)SIZE;
    __device__ __forceinline__ uint32_t ax() const { return base; }
    __device__ __forceinline__ uint32_t px() const { return base + SIZE; }
    __device__ __forceinline__ uint32_t pre() const { return base + 2 * SIZE; }
    __device__ __forceinline__ uint32_t ay() const { return base + 3 * SIZE; }
    __device__ __forceinline__ uint32_t py() const { return base + 4 * SIZE; }
    __device__ __forceinline__ uint32_t inv() const { return base + 5 * SIZE; }
};

/* Blocks that share a multiprocessor, at most MINB. */
template <class E, int NT> constexpr int stage_blocks(int most) {
    return blocks_held(THIS_CHIP, NT, stage_bytes(stage<E, NT>::SIZE, THIS_CHIP.shared), most);
}

/* Where backward() keeps the running inverse. */
template <class E, int NT> struct inverse_home {
    const stage<E, NT> &s;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    uint32_t w[E::N];
    __device__ __forceinline__ void put(const uint32_t *x) {
        copy_words<E::N>(w, x);
    }
    __device__ __forceinline__ void get(uint32_t *x) const {
        copy_words<E::N>(x, w);
    }
#else
    __device__ __forceinline__ void put(const uint32_t *x) {
        put_shared<E::N, NT>(s.inv(), x);
    }
    __device__ __forceinline__ void get(uint32_t *x) const {
        get_shared<E::N, NT>(x, s.inv());
    }
#endif
};

/* d for the pair in shared memory; true when the pair needs resolve_pair. */
template <class E, int NT>
CUZK_GPU_D bool pair_diff(uint32_t *d, const stage<E, NT> &s, uint32_t id) {
    constexpr int N = E::N;
    uint32_t ax[N], px[N];
    get_shared<N, NT>(ax, s.ax());
    get_shared<N, NT>(px, s.px());
    E::diff(d, px, ax);
    const bool zero = E::any_for_all((px[0] | px[N - 1]) == 0, E::maybe_zero(d));
    return id == NO_POINT || ax[N - 1] == (uint32_t)INFINITY_MARK || zero;
}

/* Off the main path, the index word is read again: it would take a register there. */
template <class E, class C> CUZK_GPU_D int settle_pair(uint32_t *d, const C &lists, int i, int nt) {
    const uint32_t id = lists.element(i);
    const resolved<E> r = resolve_pair<E>(lists.acc(i), nt, own_part<E>(lists.point(id)),
                                          id != NO_POINT, C::SIGNED && id >> 31);
    if (r.kind != ADD_NORMAL) copy_words<E::N>(d, r.d);
    return r.kind;
}

template <class E, int NT, class C>
CUZK_GPU_D void forward(uint32_t *prod, const C &lists, int m, const stage<E, NT> &s) {
    constexpr int N = E::N;
    uint32_t id = lists.element(0), id_next = NO_POINT;
    if (m > 1) id_next = lists.element(1);
    fetch<N, NT>(s.ax(), lists.acc(0), NT);
    fetch_point<E, NT, 0>(s.px(), lists, id);
    async_commit();
#pragma unroll 1
    for (int i = 0; i < m; i++) {
        uint32_t d[N];
        async_wait();
        if (pair_diff<E, NT>(d, s, id)) (void)settle_pair<E>(d, lists, i, NT);
        id = id_next;
        if (i + 1 < m) {
            fetch<N, NT>(s.ax(), lists.acc(i + 1), NT);
            fetch_point<E, NT, 0>(s.px(), lists, id);
        }
        async_commit();
        if (i + 2 < m) id_next = lists.element(i + 2);
        if (i == 0) {
            copy_words<N>(prod, d);
        } else {
            put_planes<N>(lists.prefix(i), NT, prod);
            E::mul(prod, prod, d);
        }
    }
}

/* Stores the sum of a pair that was copied (ADD_COPY) or vanished. */
template <class E, int NT, class C>
CUZK_GPU_D void store_exceptional(int kind, const C &lists, int i) {
    constexpr int N = E::N;
    uint32_t x[N], y[N];
    if (kind == ADD_COPY) {
        const uint32_t id = lists.element(i);
        const uint4 *point = own_part<E>(lists.point(id));
        get_planes<N>(x, point, 1);
        get_planes<N>(y, point + E::LANES * N / 4, 1);
        if (C::SIGNED && id >> 31) E::neg(y, y);
    } else {
        CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = y[k] = (uint32_t)INFINITY_MARK;
    }
    put_planes<N>(lists.acc(i), NT, x);
    put_planes<N>(lists.acc(i) + (N / 4) * NT, NT, y);
}

/* inv: the inverse of forward()'s product. */
template <class E, int NT, class C>
CUZK_GPU_D void backward(const uint32_t *inv, const C &lists, int m, const stage<E, NT> &s) {
    constexpr int N = E::N, Q = N / 4;
    uint32_t id = lists.element(m - 1), id_next = NO_POINT;
    if (m > 1) id_next = lists.element(m - 2);
    inverse_home<E, NT> running = {s};
    running.put(inv);
    {
        const uint4 *acc = lists.acc(m - 1);
        fetch<N, NT>(s.ax(), acc, NT);
        fetch_point<E, NT, 0>(s.px(), lists, id);
        if (m > 1) fetch<N, NT>(s.pre(), lists.prefix(m - 1), NT);
        fetch<N, NT>(s.ay(), acc + Q * NT, NT);
        fetch_point<E, NT, E::LANES * Q>(s.py(), lists, id);
        async_commit();
    }
#pragma unroll 1
    for (int i = m - 1; i >= 0; i--) {
        uint32_t d[N], w[N];
        int kind = ADD_NORMAL;
        async_wait();
        const bool negate = C::SIGNED && id >> 31;
        if (pair_diff<E, NT>(d, s, id)) kind = settle_pair<E>(d, lists, i, NT);
        id = id_next;
        running.get(w);
        if (i > 0) {
            uint32_t pre[N];
            E::mul(d, d, w);
            if constexpr (E::LANES == 2) running.get(w); /* instead of a place across a call */
            running.put(d);
            get_shared<N, NT>(pre, s.pre());
            if (i > 1) fetch<N, NT>(s.pre(), lists.prefix(i - 1), NT);
            E::mul(w, w, pre);
        }
        E::settle(w);
        {
            uint32_t ay[N], py[N];
            get_shared<N, NT>(py, s.py());
            get_shared<N, NT>(ay, s.ay());
            if (i > 0) fetch_point<E, NT, E::LANES * Q>(s.py(), lists, id);
            if (negate) E::neg(py, py);
            E::diff(d, py, ay);
        }
        if (kind == ADD_DOUBLE) {
            const resolved<E> r = tangent_numerator<E>(lists.acc(i), NT);
            copy_words<N>(d, r.d);
        }
        E::mul(d, d, w); /* the slope */
        uint32_t x3[N], y3[N], ay[N];
        E::sqr(x3, d);
        {
            uint32_t ax[N], px[N];
            get_shared<N, NT>(ax, s.ax());
            get_shared<N, NT>(px, s.px());
            E::x3(x3, ax, px);
            E::fall(y3, ax, x3);
        }
        /* a doubling's tangent has gone the same way */
        if (kind == ADD_NORMAL || kind == ADD_DOUBLE) put_planes<N>(lists.acc(i), NT, x3);
        get_shared<N, NT>(ay, s.ay());
        if (i > 0) {
            fetch<N, NT>(s.ax(), lists.acc(i - 1), NT);
            fetch_point<E, NT, 0>(s.px(), lists, id);
            fetch<N, NT>(s.ay(), lists.acc(i - 1) + Q * NT, NT);
        }
        async_commit();
        if (i > 1) id_next = lists.element(i - 2);
        E::mul(y3, d, y3);
        E::y3(y3, ay);
        if (kind == ADD_NORMAL || kind == ADD_DOUBLE)
            put_planes<N>(lists.acc(i) + Q * NT, NT, y3);
        else if (kind != ADD_KEEP)
            store_exceptional<E, NT>(kind, lists, i);
    }
}

/* x of each thread becomes its inverse. Products of pairs up to 128 values in all, four a lane,
 * then a butterfly over the warp that leaves every lane with the whole product and with the
 * product of the other lanes. `warp` is the one that works: it differs between blocks. */
template <class E, int NT> CUZK_GPU_D void block_invert(uint32_t *x, uint32_t base, int warp) {
    constexpr int N = E::N;
    constexpr uint32_t AREA = stage<E, NT>::SIZE;
    const int t = (int)threadIdx.x, lane = t & 31;
    E::settle(x);
    put_shared<N, NT>(base + t * 16, x);
    __syncthreads();
    uint32_t area = base;
#pragma unroll 1
    for (int half = NT / 2; half >= 128; half >>= 1) {
        if (t < half) {
            uint32_t y[N];
            get_shared<N, NT>(x, area + t * 16);
            get_shared<N, NT>(y, area + (t + half) * 16);
            E::mul(x, x, y);
            put_shared<N, NT>(area + AREA + t * 16, x);
        }
        area += AREA;
        __syncthreads();
    }
    if (t >> 5 == warp) {
        uint32_t y[N], others[N];
        const uint32_t partial = base + 4 * AREA;
        get_shared<N, NT>(x, area + lane * 16);
#pragma unroll 1
        for (int k = 1; k < 4; k++) {
            put_shared<N, NT>(partial + (lane + 32 * k) * 16, x);
            get_shared<N, NT>(y, area + (lane + 32 * k) * 16);
            E::mul(x, x, y);
        }
        E::one(others);
#pragma unroll 1
        for (int j = E::LANES; j < 32; j <<= 1) {
            CUZK_UNROLL for (int k = 0; k < N; k++) y[k] = __shfl_xor_sync(WARP_ALL, x[k], j);
            E::mul(others, others, y);
            E::mul(x, x, y);
        }
        E::invert(x, base + 3 * AREA);
        E::mul(x, x, others);
#pragma unroll 1
        for (int k = 3; k > 0; k--) {
            uint32_t z[N];
            get_shared<N, NT>(y, area + (lane + 32 * k) * 16);
            get_shared<N, NT>(z, partial + (lane + 32 * k) * 16);
            E::mul(z, z, x);
            put_shared<N, NT>(area + (lane + 32 * k) * 16, z);
            E::mul(x, x, y);
        }
        put_shared<N, NT>(area + lane * 16, x);
    }
    __syncthreads();
#pragma unroll 1
    for (int half = 128; half < NT; half <<= 1) {
        const uint32_t up = area - AREA;
        uint32_t y[N];
        if (t < 2 * half) {
            get_shared<N, NT>(x, area + (t & (half - 1)) * 16);
            get_shared<N, NT>(y, up + (t ^ half) * 16);
            E::mul(x, x, y);
        }
        __syncthreads();
        if (t < 2 * half) put_shared<N, NT>(up + t * 16, x);
        area = up;
        __syncthreads();
    }
    if (NT == 128) {
        get_shared<N, NT>(x, base + t * 16);
        __syncthreads();
    }
}

/* A barrier for the warps that do not invert. racecheck follows barriers of a whole block only:
 * built for it, with CUZK_RACECHECK, the warp that inverts comes to this one too. */
template <int WORKERS> CUZK_GPU_D void workers_barrier() {
#ifdef CUZK_RACECHECK
    __syncthreads();
#else
    asm volatile("bar.sync 1, %0;" ::"n"(WORKERS * 32) : "memory");
#endif
}

/* x of each thread becomes its inverse: block_invert() with fewer products on its path. Products
 * are halved down to 32 values, which `warp` multiplies and inverts; meanwhile the other warps go
 * down again, from each product's complement, the product of all that it leaves out, to the
 * complements of its two halves. The inverse of all times the complement of x is the inverse of x:
 * after the inversion one product is left to do. What is derived from the thread's number is
 * derived each time: hoisted out of the loop around it, it would take registers from the loops
 * beside it. */
template <class E, int NT> CUZK_GPU_D void block_inverse(uint32_t *x, uint32_t area, int warp) {
    constexpr int N = E::N, WORKERS = NT / 32 - 1;
    constexpr uint32_t AREA = stage<E, NT>::SIZE;
    __shared__ uint32_t inverse[E::LANES][N];
    const int t = (int)own_number(), lane = t & 31;
    uint32_t y[N], base;
    asm volatile("mov.u32 %0, %1;" : "=r"(base) : "r"(area));
    E::settle(x);
    put_shared<N, NT>(base + t * 16, x);
    __syncthreads();
    uint32_t level = base, next = base + AREA; /* products of 2 * half values, of half of them */
#pragma unroll 1
    for (int half = NT / 2; half >= 32; half >>= 1) {
        if (t < half) {
            get_shared<N, NT>(x, level + t * 16);
            get_shared<N, NT>(y, level + (t + half) * 16);
            E::mul(x, x, y);
            put_shared<N, NT>(next + t * 16, x);
        }
        level = next;
        next += half * 16;
        __syncthreads();
    }
    const int worker = (t >> 5) - ((t >> 5) > warp);
    if (t >> 5 == warp || worker == 0) {
        uint32_t others[N];
        get_shared<N, NT>(x, level + lane * 16);
#pragma unroll 1
        for (int j = E::LANES; j < 32; j <<= 1) {
            CUZK_UNROLL for (int k = 0; k < N; k++) y[k] = __shfl_xor_sync(WARP_ALL, x[k], j);
            if (t >> 5 != warp) {
                if (j == E::LANES)
                    copy_words<N>(others, y);
                else
                    E::mul(others, others, y);
            }
            E::mul(x, x, y);
        }
        if (t >> 5 != warp) put_shared<N, NT>(base + 2 * AREA + lane * 16, others);
    }
    if (t >> 5 == warp) {
        E::invert(x, base + 3 * AREA);
        if (lane < E::LANES) {
            CUZK_UNROLL for (int k = 0; k < N; k++) inverse[lane % E::LANES][k] = x[k];
        }
#ifdef CUZK_RACECHECK
        for (int half = 32; half < NT; half <<= 1)
            __syncthreads();
#endif
    } else {
        uint32_t parent = base + 2 * AREA;
#pragma unroll 1
        for (int half = 32; half < NT; half <<= 1) {
            const bool last = 2 * half == NT;
            const uint32_t above = last ? base : level - 2 * half * 16;
            const uint32_t child = last ? base + 4 * AREA : parent + half * 16;
            workers_barrier<WORKERS>();
            for (int v = worker; v < half / 16; v += WORKERS) {
                const int k = v * 32 + lane;
                get_shared<N, NT>(x, parent + (k & (half - 1)) * 16);
                get_shared<N, NT>(y, above + (k ^ half) * 16);
                E::mul(x, x, y);
                put_shared<N, NT>(child + k * 16, x);
            }
            level = above;
            parent = child;
        }
    }
    __syncthreads();
    CUZK_UNROLL for (int k = 0; k < N; k++) y[k] = inverse[t % E::LANES][k];
    get_shared<N, NT>(x, base + 4 * AREA + t * 16);
    E::mul(x, x, y);
}

/* The first element of a list, or infinity; any: false when there is none. */
template <class E, int NT, class C>
CUZK_GPU_D void start_list(const C &lists, int i, bool any = true) {
    constexpr int N = E::N, Q = N / 4;
    uint32_t x[N], y[N];
    const uint32_t id = any ? lists.element(i) : NO_POINT;
    if (id != NO_POINT) {
        const uint4 *p = own_part<E>(lists.point(id));
        get_planes<N>(x, p, 1);
        get_planes<N>(y, p + E::LANES * Q, 1);
        if (C::SIGNED && id >> 31 && !words_zero<N>(y)) E::neg(y, y);
    }
    if (id == NO_POINT || E::all(words_zero<N>(x) && words_zero<N>(y))) {
        CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = y[k] = (uint32_t)INFINITY_MARK;
    }
    put_planes<N>(lists.acc(i), NT, x);
    put_planes<N>(lists.acc(i) + Q * NT, NT, y);
}

/* An accumulator's canonical affine form to the thread's part of out. */
template <class E, int NT> CUZK_GPU_D void finish_list(uint4 *out, const uint4 *acc) {
    constexpr int N = E::N, Q = N / 4;
    uint32_t x[N], y[N];
    out = own_part<E>(out);
    get_planes<N>(x, acc, NT);
    get_planes<N>(y, acc + Q * NT, NT);
    if (x[N - 1] == (uint32_t)INFINITY_MARK) {
        CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = y[k] = 0;
    } else {
        E::canon(x);
        E::canon(y);
    }
    put_planes<N>(out, 1, x);
    put_planes<N>(out + E::LANES * Q, 1, y);
}
#endif

} // namespace cuzk_gpu

#endif

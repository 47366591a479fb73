/* Sums of chosen points: accumulate.cuh's rounds without lists. DESIGN
 *
 * The chosen elements stand in one array, whose length only the device knows. A block keeps m*NT
 * accumulators to the end and adds chunks of m*NT elements to them, one to each, in the order of
 * the array: neighbouring threads read neighbouring points. It takes chunks from a counter until
 * none is left, then writes its accumulators out, which the next level sums in the same way with
 * fewer accumulators a thread, until one a thread is left; sum_points() adds those. The last level
 * of a short array copies it. */
#ifndef CUZK_BACKEND_CUDA_ACCUMULATE_CHOSEN_CUH
#define CUZK_BACKEND_CUDA_ACCUMULATE_CHOSEN_CUH

#include "backend/cuda/accumulate.cuh"

namespace cuzk_gpu {

enum {
    CHOOSE_ROUNDS = 8, /* that a block should have, before it takes more accumulators */
    CHOOSE_LONG = 16   /* accumulators a thread of long rounds */
};

struct choose_args {
    const uint4 *points;
    const uint32_t *index; /* element e is point index[e]; NULL: e */
    const uint32_t *count; /* elements */
    uint4 *out;            /* affine, canonical: a sum for each accumulator that got an element */
    uint32_t *out_count;
    uint4 *acc, *prefix; /* scratch: grid * most * NT coordinates pairs, and coordinates */
    unsigned *counter;   /* zero at launch */
    int most;            /* accumulators a thread */
    int sms;             /* multiprocessors: blocks b and b + sms share one */
    uint32_t stagger;    /* nanoseconds after which the next of these begins, if rounds are long */
};

#ifdef __CUDACC__
template <class E, int NT> struct choose_cursor : thread_home<E, NT, choose_args> {
    enum { SIGNED = 0 };
    uint32_t first;
    __device__ __forceinline__ uint32_t element(int i) const {
        const uint32_t e = first + (uint32_t)i * (NT / E::LANES);
        if (e >= __ldg(this->a.count)) return NO_POINT; /* cached; a register would be spilled */
        return this->a.index ? __ldg(this->a.index + e) : e;
    }
};

template <class E, int NT, int MINB>
__global__
__launch_bounds__(NT,
                  stage_blocks<E, NT>(MINB)) void choose(const __grid_constant__ choose_args a) {
    constexpr uint32_t ROW = NT / E::LANES; /* accumulators side by side */
    extern __shared__ __align__(32) uint4 dynamic[];
    __shared__ uint32_t shared_chunk;
    __shared__ int shared_m;
    const int t = (int)threadIdx.x;
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(dynamic);
    const stage<E, NT> s = {base + t * 16};
    if (t == 0) {
        const uint32_t count = *a.count;
        const int m = (int)(count / (gridDim.x * ROW * CHOOSE_ROUNDS));
        shared_m = m < 1 ? 1 : m > a.most ? a.most : m;
        const uint32_t all = gridDim.x * (uint32_t)shared_m * ROW;
        if (blockIdx.x == 0) *a.out_count = count < all ? count : all;
    }
    __syncthreads();
    const volatile int *m = &shared_m; /* read again where it is used: registers are short */
    if (a.stagger && *m >= CHOOSE_LONG && blockIdx.x >= (uint32_t)a.sms)
        begin_later(blockIdx.x / a.sms * a.stagger);
    choose_cursor<E, NT> lists = {{a, blockIdx.x * (uint32_t)*m}, 0};
    lists.first = lists.home * ROW + t / E::LANES;
    for (int i = 0; i < *m; i++)
        start_list<E, NT>(lists, i);
    while (true) {
        if (t == 0) shared_chunk = atomicAdd(a.counter, 1) + gridDim.x;
        __syncthreads();
        const uint64_t first = (uint64_t)shared_chunk * (uint32_t)*m * ROW;
        if (first >= *a.count) break;
        lists.first = (uint32_t)first + t / E::LANES;
        uint32_t inv[E::N];
        forward<E, NT>(inv, lists, *m, s);
        /* its barriers also protect shared_chunk */
        block_inverse<E, NT>(inv, base, (int)(blockIdx.x / a.sms % (NT / 32)));
        backward<E, NT>(inv, lists, *m, s);
    }
    for (int i = 0; i < *m; i++)
        if (const uint32_t e = (lists.home + i) * ROW + t / E::LANES; e < *a.count)
            finish_list<E, NT>(a.out + (size_t)e * (E::LANES * E::N / 2), lists.acc(i));
}
#endif

} // namespace cuzk_gpu

#endif

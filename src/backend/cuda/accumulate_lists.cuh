/* Sums of lists of equal work: accumulate.cuh's rounds over chunks of sorted lists. DESIGN
 *
 * Lists come sorted by length, longest first. A chunk is some of them for a block, and takes as
 * many rounds as its longest list has elements; chunks are cut (msm_lists.cu) so that their number
 * of lists times that length is the same for all: a block with long lists has few of them. Blocks
 * take chunks from a counter.
 *
 * A round costs an inversion, whatever it adds; so each list is added up as 2^lg_parts parts side
 * by side, each with every 2^lg_parts-th element, whose sums are then added in pairs: for twice the
 * accumulators, half the rounds and one more. The layout of the elements is the same; the last
 * round has fewer parts when the elements run out. A block's accumulators are the first parts of
 * its lists, the second parts, and so on; its threads take them in turns, each warp its fill. */
#ifndef CUZK_BACKEND_CUDA_ACCUMULATE_LISTS_CUH
#define CUZK_BACKEND_CUDA_ACCUMULATE_LISTS_CUH

#include "backend/cuda/accumulate.cuh"

namespace cuzk_gpu {

struct list_args {
    const uint4 *points; /* affine, canonical, 2N words each; infinity is zeros */
    /* List elements: point numbers, whose top bit negates. Lists are laid out for the threads that
     * sum them, element after element (msm_lists.cuh): of a chunk of w lists, element `round` of
     * list k is word round*w + k behind the chunk's first word, or NO_POINT when the list has
     * ended. Thread t adds up lists t, t + NT, ...; threads that share an element's coordinates
     * count as one, here and in ranks: NT/LANES, t/LANES. */
    const uint32_t *index;
    /* First word, length of the longest list, rank of the first list, w; w = 0 behind the last. w
     * is a multiple of a warp's lists and not less than the block's. chunks[count].x is the number
     * of lists. */
    const uint4 *chunks;
    const uint32_t *slot; /* where the sum of the list of that rank goes in out */
    uint4 *out;           /* affine, canonical, as points */
    uint4 *acc, *prefix;  /* scratch: grid * most * NT coordinates pairs, and coordinates */
    uint4 *halves;        /* scratch: half as many affine points as acc */
    unsigned *counter;    /* zero at launch */
    uint32_t count, most; /* chunks; accumulators of a thread at most */
    int lg_parts;
    int sms;          /* multiprocessors: blocks b and b + sms share one */
    uint32_t stagger; /* nanoseconds after which the next of these begins */
};

#ifdef __CUDACC__
/* The lists of one thread; see thread_home. */
template <class E, int NT> struct lists_cursor {
    enum { SIGNED = 1, ROW = NT / E::LANES };
    const list_args &a;
    uint32_t home; /* of the block's accumulators, in units of NT */
    uint32_t t;    /* the thread's number */
    uint32_t at;   /* of the round's elements */
    __device__ __forceinline__ uint32_t element(int i) const {
        return __ldg(a.index + (at + (uint32_t)i * ROW));
    }
    __device__ __forceinline__ const uint4 *point(uint32_t id) const {
        return a.points + (size_t)(id == NO_POINT ? 0 : id & 0x7fffffffu) * (E::LANES * E::N / 2);
    }
    __device__ __forceinline__ uint4 *acc(int i) const {
        return a.acc + ((home + (uint32_t)i) * (E::N / 2 * NT) + t);
    }
    __device__ __forceinline__ uint4 *prefix(int i) const {
        return a.prefix + ((home + (uint32_t)i) * (E::N / 4 * NT) + t);
    }
};

/* Half of a block's accumulators, as points to be added to the other half. */
template <class E, int NT> struct halves_cursor : lists_cursor<E, NT> {
    enum { SIGNED = 0 };
    __device__ __forceinline__ uint32_t element(int i) const {
        return (this->home / 2 + (uint32_t)i) * (NT / E::LANES) + this->t / E::LANES;
    }
    __device__ __forceinline__ const uint4 *point(uint32_t id) const {
        return this->a.halves + (size_t)id * (E::LANES * E::N / 2);
    }
};

/* Adds a point to each of the thread's m accumulators. cursor(): made anew where it is used, as its
 * parts would not stay in registers. */
template <class E, int NT, class Cursor>
CUZK_GPU_D void add_round(const Cursor &cursor, int m, uint32_t base, int sms) {
    uint32_t inv[E::N];
    {
        const auto lists = cursor();
        const stage<E, NT> s = {base + lists.t * 16};
        forward<E, NT>(inv, lists, m, s);
    }
    block_inverse<E, NT>(inv, base, (int)(blockIdx.x / sms % (NT / 32)));
    const auto lists = cursor();
    const stage<E, NT> s = {base + lists.t * 16};
    backward<E, NT>(inv, lists, m, s);
}

template <class E, int NT, int MINB>
__global__ __launch_bounds__(NT, stage_blocks<E, NT>(MINB)) void accumulate_lists(
    const __grid_constant__ list_args a) {
    extern __shared__ __align__(32) uint4 dynamic[];
    __shared__ uint4 shared_chunk;
    const volatile uint4 *chunk = &shared_chunk; /* read where used, for the same reason */
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(dynamic);
    auto cursor = [&](uint32_t round) {
        const uint32_t t = own_number();
        return lists_cursor<E, NT>{a, blockIdx.x * a.most, t,
                                   chunk->x + (round * chunk->w << a.lg_parts) + t / E::LANES};
    };
    /* The thread's share of `all` accumulators, the same for its warp; ptxas has to see that, or
     * the loops over them spill. */
    auto share = [&](uint32_t all) {
        const uint32_t behind = all + (NT / E::LANES - 1) - own_number() / E::LANES;
        return __shfl_sync(WARP_ALL, (int)(behind / (NT / E::LANES)), 0);
    };
    auto width = [&](uint32_t round) {
        return share(chunk->w * min(1u << a.lg_parts, chunk->y - (round << a.lg_parts)));
    };
    if (a.stagger && blockIdx.x >= (uint32_t)a.sms) begin_later(blockIdx.x / a.sms * a.stagger);
    while (true) {
        if (own_number() == 0) shared_chunk = a.chunks[min(atomicAdd(a.counter, 1), a.count)];
        __syncthreads();
        if (chunk->w == 0) return;
        {
            const lists_cursor<E, NT> lists = cursor(0);
            const int all = share(chunk->w << a.lg_parts);
            for (int i = 0; i < all; i++)
                start_list<E, NT>(lists, i, i < width(0));
        }
#pragma unroll 1
        for (uint32_t round = 1; round << a.lg_parts < chunk->y; round++)
            add_round<E, NT>([&]() { return cursor(round); }, width(round), base, a.sms);
#pragma unroll 1
        for (int lg = a.lg_parts - 1; lg >= 0; lg--) {
            auto halves = [&]() { return halves_cursor<E, NT>{cursor(0)}; };
            __syncthreads(); /* other threads have added what stands there */
            {
                const halves_cursor<E, NT> lists = halves();
                const uint32_t half = chunk->w << lg;
                for (int i = share(half); i < share(2 * half); i++)
                    finish_list<E, NT>((uint4 *)lists.point(lists.element(i) - half), lists.acc(i));
            }
            __syncthreads();
            add_round<E, NT>(halves, share(chunk->w << lg), base, a.sms);
        }
        const lists_cursor<E, NT> lists = cursor(0);
        for (int i = 0; i < share(chunk->w); i++)
            if (const uint32_t rank = chunk->z + i * (NT / E::LANES) + lists.t / E::LANES;
                rank < a.chunks[a.count].x)
                finish_list<E, NT>(a.out + (size_t)a.slot[rank] * (E::LANES * E::N / 2),
                                   lists.acc(i));
        __syncthreads();
    }
}
#endif

} // namespace cuzk_gpu

#endif

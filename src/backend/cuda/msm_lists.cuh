/* From sorted digits to the lists that accumulate_lists() adds up: cutting and ordering. Nothing
 * here depends on a group; msm_lists.cu holds the kernels, with CUB's sort and scan. */
#ifndef CUZK_BACKEND_CUDA_MSM_LISTS_CUH
#define CUZK_BACKEND_CUDA_MSM_LISTS_CUH

#include "backend/cuda/cuda_internal.h"

/* Device arrays for lists; all sizes for `max_lists` lists. */
struct cuzk__msm_lists {
    uint32_t *offset;           /* per bucket (+1): number of its first list */
    uint32_t *key[2], *slot[2]; /* lists by number, then by length: sort buffers */
    uint2 *unordered;           /* ranges by number of the list */
    uint2 *ranges;              /* by rank */
    size_t max_lists;
    void *temp; /* CUB */
    size_t temp_bytes;
};

enum { CUZK__MSM_WARPS = 8 }; /* of a block that sums lists */

/* How lists are cut into chunks: at most `count` of at most `most` lists for each of `unit`
 * threads, each a multiple of `grain` lists. count * most * unit lists at most. Each is added up as
 * 2^lg_parts. */
struct cuzk__msm_cut {
    uint32_t unit, grain, count, most;
    int lg_parts;
};

/* Bytes CUB needs. */
cuzk_status cuzk__msm_temp_bytes(size_t lists, size_t buckets, size_t *bytes,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Of the device's counters: not 0 once a bucket has been cut; chunks that fold buckets; buckets
 * without elements. */
enum { CUZK__LISTS_CUT = 1, CUZK__FOLDED = 2, CUZK__BUCKETS_EMPTY = 3 };

/* Cuts the elements of each bucket into lists of at most `cap` and orders the lists by length,
 * longest first. The elements of bucket b are those from first[b] on, first[b+1] not among them.
 * There are at most `bound` lists, and so many places are filled, those behind the last with empty
 * lists; offset[buckets] is their number. The counter CUZK__LISTS_CUT is set when a bucket has more
 * than one, and CUZK__BUCKETS_EMPTY counts those that have none. */
cuzk_status cuzk__msm_make_lists(const cuzk_cuda *dev, const uint32_t *first, uint32_t buckets,
                                 uint32_t cap, size_t bound, const cuzk__msm_lists *l,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Lists as accumulate_lists() reads them: chunks of equal work in the order of ranks, in which
 * element `round` of list r is word round * (the chunk's lists) + r, so that threads side by side
 * read words side by side, CUZK__NO_ELEMENT where the list has ended. chunks: cut->count + 1 as
 * described in accumulate_lists.cuh. index: the elements that ranges name. lists: their number, on
 * the device, at most bound. words has room for all elements and unit * most times the longest list
 * more. */
#define CUZK__NO_ELEMENT 0xffffffffu
cuzk_status cuzk__msm_turn_lists(const cuzk_cuda *dev, const uint32_t *index,
                                 const cuzk__msm_lists *l, const uint32_t *lists, size_t bound,
                                 const cuzk__msm_cut *cut, uint32_t *words, uint4 *chunks,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Bucket sets, each a square of 2^lg_high rows of 2^lg_low buckets, b = (high << lg_low) + low; the
 * first `narrow` sets have half of the rows. Folded, 2^lg_fold buckets of a row stand for one of
 * its points, and as many of a column for one of its: set after set, first the points of the rows,
 * (row, place), then those of the columns, (place, column). */
struct cuzk__msm_square {
    uint32_t sets, narrow;
    int lg_high, lg_low, lg_fold;
    __host__ __device__ uint32_t rows(uint32_t set) const {
        return (1u << lg_high) >> (set < narrow);
    }
    /* Points of the sets before one; of all sets. */
    __host__ __device__ uint32_t before(uint32_t set) const {
        return (2 * set - (set < narrow ? set : narrow)) << (lg_high + lg_low - lg_fold);
    }
    __host__ __device__ uint32_t points() const { return before(sets); }
    /* Buckets without a point, at most, with which folding does not cost more than it saves. */
    __host__ __device__ uint32_t empty_most() const {
        const uint32_t used = (2 * sets - narrow) << (lg_high + lg_low - 1);
        return (sets << (lg_high + lg_low)) - used + used / 16;
    }
};

/* Lists for accumulate_lists() whose sums are the square's folded points: chunks of `width` lists
 * each, a multiple of a warp's, none where too many buckets are empty; slot: a word for each point,
 * chunks: one for each and one more, words: 2^lg_fold for each list of a chunk. offset: of the
 * buckets, as above. */
cuzk_status cuzk__msm_fold_lists(const cuzk_cuda *dev, const uint32_t *offset,
                                 const cuzk__msm_square *square, uint32_t width, uint32_t *words,
                                 uint32_t *slot, uint4 *chunks, cuzk_err *err) CUZK_MUST_CHECK;

#endif

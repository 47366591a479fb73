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

/* Which of the device's counters is not 0 once a bucket has been cut. */
enum { CUZK__LISTS_CUT = 1 };

/* Cuts the elements of each bucket into lists of at most `cap` and orders the lists by length,
 * longest first. The elements of bucket b are those from first[b] on, first[b+1] not among them.
 * There are at most `bound` lists, and so many places are filled, those behind the last with empty
 * lists; offset[buckets] is their number. The counter CUZK__LISTS_CUT is set when a bucket has more
 * than one. */
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

#endif

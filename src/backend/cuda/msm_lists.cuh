/* From scalars to the lists accumulate() adds up: digits, sorting, cutting, ordering. Nothing here
 * depends on a group; msm_lists.cu holds the kernels and CUB's sort and scan. */
#ifndef CUZK_BACKEND_CUDA_MSM_LISTS_CUH
#define CUZK_BACKEND_CUDA_MSM_LISTS_CUH

#include "backend/cuda/cuda_internal.h"

/* How the windows of a scalar map to bucket sets. Window w belongs to set w % sets and uses the
 * base multiples number w / sets, 2^(window * sets * (w / sets)) times the bases. */
struct cuzk__msm_shape {
    size_t n;            /* scalars */
    size_t stride;       /* points of one multiple in the table */
    const uint32_t *map; /* the base of each scalar (device); NULL: its own number */
    int window;          /* bits */
    int windows, sets;
    int factor;       /* ceil(windows / sets): multiples of each base in the table */
    uint32_t buckets; /* of one set: 2^(window-1), for digits 1 .. 2^(window-1) */
};

/* Device arrays for the lists of one level; all sizes for `max_lists` lists. */
struct cuzk__msm_lists {
    uint32_t *offset;           /* per bucket (+1): number of its first list */
    uint32_t *key[2], *slot[2]; /* lists by number, then by length: sort buffers */
    uint2 *unordered;           /* ranges by number of the list */
    uint2 *ranges;              /* by rank */
    size_t max_lists;
};

struct cuzk__msm_sorter {
    uint64_t *bias;             /* scalars as digits without carries: 5 words of 64 bits by plane */
    uint32_t *flips;            /* one bit a scalar: its digits' signs are reversed */
    uint32_t *keys[2], *values; /* the digits of one batch of sets */
    void *temp;                 /* CUB */
    size_t temp_bytes;
};

/* Bytes CUB needs for the largest of the sorts and scans. */
cuzk_status cuzk__msm_temp_bytes(size_t pairs, int key_bits, size_t lists, size_t buckets,
                                 size_t *bytes, cuzk_err *err) CUZK_MUST_CHECK;

/* Rewrites the scalars so that digits can be read without carries: into sorter->bias, flips.
 * modulus: the scalar field's, for replacing s > r/2 by r - s. */
cuzk_status cuzk__msm_prepare_scalars(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                      const cuzk_u256 *modulus, const void *scalars,
                                      const cuzk__msm_sorter *sorter,
                                      cuzk_err *err) CUZK_MUST_CHECK;

/* Number of digits of sets first_set .. first_set + count - 1. */
size_t cuzk__msm_digits_of(const cuzk__msm_shape *shape, int first_set, int count);

/* Digits of a batch of sets, sorted by bucket (numbered through the batch): index words (base
 * number, top bit: negate) go to index[origin..], the beginnings of the batch's buckets to
 * first[0..count * buckets]. */
cuzk_status cuzk__msm_sort_sets(const cuzk_cuda *dev, const cuzk__msm_shape *shape, int first_set,
                                int count, const cuzk__msm_sorter *sorter, uint32_t *index,
                                uint32_t origin, uint32_t *first, cuzk_err *err) CUZK_MUST_CHECK;

/* Cuts the elements of each bucket into lists of at most `cap` and orders the lists by length,
 * longest first. `first` has an entry for each bucket and one more after every per_batch of them.
 * Buckets of fewer than `least` elements get no list. Waits for the counts: *lists, and *most, the
 * lists of the most divided bucket (0 or 1: none is divided). */
cuzk_status cuzk__msm_make_lists(const cuzk_cuda *dev, const uint32_t *first, uint32_t per_batch,
                                 uint32_t buckets, uint32_t cap, uint32_t least,
                                 const cuzk__msm_lists *l, const cuzk__msm_sorter *sorter,
                                 uint32_t *lists, uint32_t *most, cuzk_err *err) CUZK_MUST_CHECK;

/* Lists as accumulate() reads them: chunks of `per_chunk` lists by rank, in which element `round`
 * of list r is word round * per_chunk + r, so that threads side by side read words side by side,
 * CUZK__NO_ELEMENT where the list has ended. chunks[c]: the first word of chunk c, and the length
 * of its first, longest, list. index: the elements that ranges name; NULL: element e is e itself.
 * words has room for all elements and per_chunk times the longest list more. */
#define CUZK__NO_ELEMENT 0xffffffffu
cuzk_status cuzk__msm_turn_lists(const cuzk_cuda *dev, const uint32_t *index, const uint2 *ranges,
                                 uint32_t lists, uint32_t per_chunk, uint32_t *words, uint2 *chunks,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Lists for folding the buckets by 2^fold_bits (msm.cu): index words, ranges and slots for
 * 2 * buckets / 2^fold_bits lists of 2^fold_bits elements, rows then columns. A bucket without
 * digits is element `nothing`. */
cuzk_status cuzk__msm_fold_lists(const cuzk_cuda *dev, const uint32_t *offset, uint32_t buckets,
                                 int lg_per_set, int fold_bits, uint32_t nothing, uint32_t *index,
                                 const cuzk__msm_lists *l, cuzk_err *err) CUZK_MUST_CHECK;

/* Copies the sums of buckets that are down to one list in `from` (numbered by from_offset) to the
 * bucket's place in `to`: its first list's number in to_offset. */
cuzk_status cuzk__msm_settle(const cuzk_cuda *dev, void *to, const uint32_t *to_offset,
                             const void *from, const uint32_t *from_offset, uint32_t buckets,
                             size_t point_bytes, cuzk_err *err) CUZK_MUST_CHECK;

#endif

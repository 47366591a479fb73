/* From scalars to the lists accumulate() adds up: digits, sorting, cutting, ordering. Nothing here
 * depends on a group; msm_lists.cu holds the kernels and CUB's sort and scan. */
#ifndef CUZK_BACKEND_CUDA_MSM_LISTS_CUH
#define CUZK_BACKEND_CUDA_MSM_LISTS_CUH

#include "backend/cuda/cuda_internal.h"

/* How the windows of a scalar map to bucket sets. Window w belongs to set w % sets and uses the
 * base multiples number w / sets, 2^(window * sets * (w / sets)) times the bases. */
struct cuzk__msm_shape {
    size_t n;
    int window;        /* bits */
    int windows, sets;
    int factor;        /* ceil(windows / sets): multiples of each base in the table */
    uint32_t buckets;  /* of one set: 2^(window-1), for digits 1 .. 2^(window-1) */
};

/* Device arrays for the lists of one level; all sizes for `max_lists` lists. */
struct cuzk__msm_lists {
    uint32_t *first;    /* per bucket (+1): where its elements begin */
    uint32_t *offset;   /* per bucket (+1): number of its first list */
    uint32_t *key[2], *slot[2]; /* lists by number, then by length: sort buffers */
    uint2 *ranges;      /* by rank */
    size_t max_lists;
};

struct cuzk__msm_sorter {
    uint32_t *keys[2], *values; /* one set's digits */
    void *temp;                 /* CUB */
    size_t temp_bytes;
};

/* Bytes CUB needs for the largest of the sorts and scans. */
cuzk_status cuzk__msm_temp_bytes(size_t pairs, int key_bits, size_t lists, size_t buckets,
                                 size_t *bytes, cuzk_err *err) CUZK_MUST_CHECK;

/* Digits of one set of all scalars, sorted by bucket: index words (base number, top bit: negate)
 * go to `index`, the beginnings of the buckets (counted from `origin`) to first[0..buckets].
 * modulus: the scalar field's, for replacing s > r/2 by r - s. Returns the digits' count. */
cuzk_status cuzk__msm_sort_set(const cuzk_cuda *dev, const cuzk__msm_shape *shape, int set,
                               const cuzk_u256 *modulus, const void *scalars,
                               const cuzk__msm_sorter *sorter, uint32_t *index, uint32_t origin,
                               uint32_t *first, cuzk_err *err) CUZK_MUST_CHECK;

/* Cuts the elements of each bucket into lists of at most `cap` and orders the lists by length,
 * longest first. stride: buckets of a set have stride = buckets + 1 entries in `first`, or 0 when
 * `first` is contiguous. Waits for the counts. *longest: lists of the most divided bucket. */
cuzk_status cuzk__msm_make_lists(const cuzk_cuda *dev, const uint32_t *first, uint32_t per_set,
                                 uint32_t buckets, uint32_t cap, const cuzk__msm_lists *l,
                                 const cuzk__msm_sorter *sorter, uint32_t *lists,
                                 uint32_t *most, cuzk_err *err) CUZK_MUST_CHECK;

#endif

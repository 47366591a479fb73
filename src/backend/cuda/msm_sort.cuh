/* From scalars to digits sorted by bucket. DESIGN
 *
 * The buckets of a set are cut into 2^lg_bins bins of consecutive numbers. Where a bin begins is
 * known before anything is moved: digits are counted by bins first. Then, for a batch of sets at a
 * time,
 *   partition  every digit that is not 0 goes to its bin: its low bits and its point, 6 bytes
 *   place      points to their buckets, by a block for each bin, in its shared memory; where bins
 *              are too large for that, by a cluster of blocks, each of which moves shares of them
 * and for bins that are much larger than the average
 *   count      the digits of each bucket, bin by bin
 *   scatter    points to their buckets
 * A block moves a tile: it counts what goes where, takes that much room behind what others took,
 * and writes runs. Points of a bucket come in any order, so nothing waits for the tile before, and
 * two passes do, where a radix sort by bytes needs three and writes keys in each. Tiles are of
 * equal size whatever the digits are.
 *
 * Where a set has one window or two, scalars are rewritten when they are counted, so that a
 * window's digits are read as whole lines, and a tile is of one window. Where it has more, as with
 * a table, a tile is of all windows of a set and makes their digits from the scalars again. */
#ifndef CUZK_BACKEND_CUDA_MSM_SORT_CUH
#define CUZK_BACKEND_CUDA_MSM_SORT_CUH

#include "backend/cuda/cuda_internal.h"

/* How the windows of a scalar map to bucket sets. Window w belongs to set w % sets and uses the
 * base multiples number w / sets, 2^(period * (w / sets)) times the bases. The first `narrow` sets
 * have digits of one bit less than the others, so that the windows just cover a scalar: a top
 * window of few bits would have few buckets, each with very many points. */
struct cuzk__msm_shape {
    size_t n;            /* scalars */
    size_t stride;       /* points of one multiple in the table */
    const uint32_t *map; /* the base of each scalar (device); NULL: its own number */
    int window;          /* bits of a digit, the widest */
    int windows, sets, narrow;
    int period;       /* bits of a scalar that a multiple stands for: of all sets together */
    int factor;       /* ceil(windows / sets): multiples of each base in the table */
    uint32_t buckets; /* numbers of one set: 2^(window-1), for digits 1 .. 2^(window-1) */
};

/* The bits of a set's digits, and where in its period they begin. */
static inline int cuzk__msm_width(const struct cuzk__msm_shape *s, int set) {
    return s->window - (set < s->narrow);
}
static inline int cuzk__msm_first_bit(const struct cuzk__msm_shape *s, int set) {
    return set * s->window - (set < s->narrow ? set : s->narrow);
}

struct cuzk__msm_sorter {
    bool again;       /* digits are made from the scalars for each batch, without planes */
    uint32_t *planes; /* scalars as digits without carries: 9 words of 32 bits by plane */
    uint32_t *flips;  /* one bit a scalar: its digits' signs are reversed */
    uint32_t *start;  /* bins of all sets, and one: where each begins; behind it, bins too large */
    uint32_t *cursor; /* bins of all sets: counts, then where the next digit goes */
    uint32_t *next;   /* buckets of a batch: the same */
    uint32_t *values; /* the digits of a batch by bins: index words ... */
    uint16_t *low;    /* ... and the low bits of their buckets */
    int lg_bins;      /* of a set */
    uint32_t whole;   /* digits of a bin that a block places at once, at most */
    uint32_t most;    /* digits of a bin that a cluster of blocks places, at most */
    uint32_t share;   /* digits that each of them places at once, at most */
    uint32_t cluster; /* its blocks */
    int threads;      /* of a block that moves a tile */
    uint32_t tile;    /* scalars on their way to bins */
};

/* Whether a block with so many bytes of shared memory can count the digits of all sets by bins:
 * windows of 24 bits are too wide for sm_75. */
bool cuzk__msm_bins_fit(const cuzk__msm_shape *shape, size_t block_shared);

/* Chooses bins and tiles for sums of this shape, whose bins fit. */
cuzk_status cuzk__msm_plan_sort(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                cuzk__msm_sorter *sorter, cuzk_err *err) CUZK_MUST_CHECK;

/* Finds where bins begin, and writes sorter->planes and flips unless digits are made again.
 * modulus: the scalar field's. */
cuzk_status cuzk__msm_prepare_scalars(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                      const cuzk_u256 *modulus, const void *scalars,
                                      const cuzk__msm_sorter *sorter,
                                      cuzk_err *err) CUZK_MUST_CHECK;

/* Number of digits of sets first_set .. first_set + count - 1, zeros included. */
size_t cuzk__msm_digits_of(const cuzk__msm_shape *shape, int first_set, int count);

/* Digits of a batch of sets: index words (base number, top bit: negate) sorted by bucket, zeros
 * left out. scalars: as before, read only where digits are made again. first[b]: where in index
 * those of bucket b begin, b counted through all sets; the entry behind the batch's last bucket is
 * written too. */
cuzk_status cuzk__msm_sort_sets(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                const cuzk_u256 *modulus, const void *scalars, int first_set,
                                int count, const cuzk__msm_sorter *sorter, uint32_t *index,
                                uint32_t *first, cuzk_err *err) CUZK_MUST_CHECK;

#endif

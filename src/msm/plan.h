/* How a sum is cut: the windows' width, and which thread adds what. docs/msm.md explains.
 *
 * The work is a list of segments: first the points whose scalar is 1 or -1, then the bases chosen
 * by bits, then the windows of the other scalars from the lowest. Each thread gets one stretch of
 * this list; only the segments at its ends are shared, and then by points. */
#ifndef CUZK_MSM_PLAN_H
#define CUZK_MSM_PLAN_H

#include "msm/scan.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CUZK__PLAN_THREADS = 256,
    CUZK__SEG_ONES = 0,
    CUZK__SEG_BITS = 1,
    CUZK__SEG_WINDOWS = 2, /* plus the window's number */
};

/* What the model knows about a kernel: a bucket's bytes, those of a group of windows, and whether
 * its additions are so fast that they wait for buckets beyond the second-level cache. */
typedef struct cuzk__costs {
    size_t slot_size, group_bytes;
    bool vectors;
} cuzk__costs;

typedef struct cuzk__plan {
    unsigned segments;
    unsigned group;         /* windows whose buckets are one set */
    uint32_t group_buckets; /* the most that any group has */
    uint32_t lane_buckets;  /* for points of weight 1; a power of two */
    unsigned threads;
    struct {
        unsigned seg;
        size_t pos;
    } cut[CUZK__PLAN_THREADS + 1]; /* thread t works from cut[t] to cut[t + 1] */
} cuzk__plan;

/* Bases chosen by bits, as counted: block j covers [j * step, (j + 1) * step). */
typedef struct cuzk__bit_scan {
    size_t n, step, blocks, total;
    uint32_t count[CUZK__SCAN_BLOCKS];
} cuzk__bit_scan;

/* Counts the set bits of n, least significant first. */
void cuzk__bit_scan_run(cuzk__bit_scan *b, const uint64_t *bits, size_t n);

/* Chooses *d and *p. width: 0, or the widest window to use. */
void cuzk__plan_make(cuzk__plan *p, cuzk__digits *d, const cuzk__scan *s, const cuzk__bit_scan *b,
                     const cuzk_u256 *order, const cuzk__costs *costs, unsigned width,
                     unsigned threads);

/* A plan whose group_buckets, lane_buckets and threads are at least those of any n points; for
 * bounds on memory. */
cuzk__plan cuzk__plan_bounds(size_t n, const cuzk__costs *costs, unsigned width, unsigned threads);

#endif

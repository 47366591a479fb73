/* Which thread does which whole windows, settled while they work.
 *
 * The plan gives every thread about as much, but processors are not equally fast: one that a
 * neighbour of a virtual machine shares takes a fifth longer, for minutes or for milliseconds. So
 * a thread takes its windows a portion at a time, and before the last it looks how far all are:
 * what it would finish later than the others stays, and whoever is done takes it.
 *
 * Amounts are in parts of a window, each a quarter of its buckets: to cut a window by buckets costs
 * one more look at its digits and nothing else. Thread-safe without locks; times are given by the
 * caller, so that a test can make them up. Results do not depend on any of it. */
#ifndef CUZK_MSM_SHARE_H
#define CUZK_MSM_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    CUZK__PARTS = 4,        /* of a window */
    CUZK__PART_DONE = 1024, /* what a part counts in cuzk__share_progress */
};

/* The parts [first, last), counted from window 0 on: window x has 4 x to 4 x + 3. */
typedef struct cuzk__portion {
    uint32_t first, last;
} cuzk__portion;

/* One thread's. Others read it, and take from the end of what is left. */
typedef struct cuzk__share {
    _Atomic uint64_t left; /* the parts that nobody has taken: last << 32 | first */
    _Atomic uint64_t taken, done;
    _Atomic int64_t started; /* nanoseconds; 0: not yet */
    uint8_t apart[96];       /* no two of them in one line of a cache */
} cuzk__share;

typedef struct cuzk__shares {
    cuzk__share *of;
    unsigned threads;
    uint32_t most; /* parts of a portion */
    bool whole;    /* windows are too narrow to be cut */
} cuzk__shares;

/* Before threads start: thread t has the parts [first, last), whole windows. */
void cuzk__share_init(cuzk__share *s, uint32_t first, uint32_t last);

/* The next portion of thread t's own; empty (first = last) when none is left. now: nanoseconds,
 * not 0. */
cuzk__portion cuzk__share_own(const cuzk__shares *s, unsigned t, int64_t now);

/* A portion of another thread's for thread t, which has nothing left of its own; empty when all
 * are taken. */
cuzk__portion cuzk__share_other(const cuzk__shares *s, unsigned t, int64_t now);

/* Thread t has done so much of all its portions, in CUZK__PART_DONE a part. */
void cuzk__share_progress(const cuzk__shares *s, unsigned t, uint64_t done);

#endif

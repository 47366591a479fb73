/* What happened when: events of partitions, kept in a ring while the engine runs, written as lines
 *
 *   TIMELINE,<ms since the engine's start>,<event>,<job>,<detail>
 *
 * read back from a log, summed up and drawn. Events and details are those of Curio's engine, so
 * that its logs can be read too; ours may end with `device=`. */
#ifndef CUZK_ENGINE_TRACE_TRACE_H
#define CUZK_ENGINE_TRACE_TRACE_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A partition passes through them in this order. */
#define CUZK_TRACE_EVENTS(X)                                                                       \
    X(SYNTH_START) /* its witness begins */                                                        \
    X(SYNTH_END)                                                                                   \
    X(GPU_QUEUE)  /* it waits for a device */                                                      \
    X(GPU_PICKUP) /* it has a slot: staging begins */                                              \
    X(GPU_START)  /* its kernels begin */                                                          \
    X(GPU_END)

typedef enum cuzk_trace_event {
#define CUZK__TRACE_EVENT(name) CUZK_TRACE_##name,
    CUZK_TRACE_EVENTS(CUZK__TRACE_EVENT)
#undef CUZK__TRACE_EVENT
        CUZK_TRACE_EVENT_COUNT
} cuzk_trace_event;

#define CUZK_TRACE_NONE UINT32_MAX

typedef struct cuzk_trace_item {
    int64_t ns;   /* since the engine's start */
    int64_t took; /* ns, of SYNTH_END and GPU_END; negative: not told */
    uint64_t job; /* a number, or with names an index of them */
    cuzk_trace_event event;
    uint32_t partition, worker, device; /* CUZK_TRACE_NONE: not told */
} cuzk_trace_item;

/* ---- lists ---- */

typedef struct cuzk_trace {
    cuzk_trace_item *items;
    size_t n, cap;
    char **names; /* of jobs read from text; NULL: jobs are numbers */
    size_t n_names, names_cap;
    uint32_t *index; /* hash table of names: number + 1 */
    size_t index_cap;
    size_t ignored; /* TIMELINE lines that could not be understood */
} cuzk_trace;

cuzk_status cuzk_trace_add(cuzk_trace *t, const cuzk_trace_item *item) CUZK_MUST_CHECK;
void cuzk_trace_free(cuzk_trace *t);

/* The number of a job's name in the list, which is added when it is new. */
cuzk_status cuzk_trace_name(cuzk_trace *t, const char *name, uint64_t *out) CUZK_MUST_CHECK;

/* By time. */
void cuzk_trace_sort(cuzk_trace *t);

/* Lines for all items, in the order of the list. */
void cuzk_trace_write(cuzk_buf *out, const cuzk_trace *t);

/* Adds the TIMELINE lines of a log and sorts the list by time; other lines are passed over. */
cuzk_status cuzk_trace_read(cuzk_trace *t, const char *text, size_t len) CUZK_MUST_CHECK;

/* The name of a job: as in the log, else "job-NUMBER" written to buf. */
const char *cuzk_trace_job(const cuzk_trace *t, uint64_t job, char buf[32]);

/* ---- the ring ---- */

/* The last events, in memory of a fixed size. Any number of threads may put events and take
 * snapshots; nobody waits. */
typedef struct cuzk_trace_ring cuzk_trace_ring;

/* Room for at least `capacity` events, rounded up to a power of two. */
cuzk_status cuzk_trace_ring_new(cuzk_trace_ring **out, size_t capacity) CUZK_MUST_CHECK;
void cuzk_trace_ring_free(cuzk_trace_ring *r);
void cuzk_trace_ring_put(cuzk_trace_ring *r, const cuzk_trace_item *item);
/* Adds the events that are there to a list, sorted by time. *lost (may be NULL): how many are gone
 * since the ring was made: overwritten, or dropped since a writer was in the way. */
cuzk_status cuzk_trace_ring_snapshot(cuzk_trace_ring *r, cuzk_trace *out,
                                     uint64_t *lost) CUZK_MUST_CHECK;

/* ---- what it says ---- */

/* What the partition that ran next was doing while its device had nothing to compute. */
typedef enum cuzk_trace_cause {
    CUZK_TRACE_NO_WORK, /* its witness had not begun */
    CUZK_TRACE_WITNESS,
    CUZK_TRACE_QUEUED, /* it was ready and had no slot */
    CUZK_TRACE_STAGING,
    CUZK_TRACE_CAUSES
} cuzk_trace_cause;

enum { CUZK_TRACE_MAX_DEVICES = 32 };

typedef struct cuzk_trace_device {
    uint32_t partitions;
    double span;       /* seconds from the first kernel's start to the last one's end */
    double busy;       /* of them with kernels running */
    double efficiency; /* busy by the whole trace's time, percent */
    double gaps[CUZK_TRACE_CAUSES];
} cuzk_trace_device;

typedef struct cuzk_trace_summary {
    double wall; /* seconds from the first event to the last */
    uint32_t jobs, partitions, unfinished;
    double witness_mean, kernels_mean, witnesses_at_a_time;
    uint32_t n_devices; /* the highest one seen, plus 1 */
    cuzk_trace_device devices[CUZK_TRACE_MAX_DEVICES];
    /* The chain of work that ended last: seconds in each. */
    double path_witness, path_queued, path_staging, path_kernels, path_before;
} cuzk_trace_summary;

/* BAD_INPUT when the list is empty. */
cuzk_status cuzk_trace_sum(cuzk_trace_summary *out, const cuzk_trace *t,
                           cuzk_err *err) CUZK_MUST_CHECK;

const char *cuzk_trace_cause_name(cuzk_trace_cause cause);

/* A picture: witnesses, then each device's kernels and slots; a colour a job. */
cuzk_status cuzk_trace_svg(cuzk_buf *out, const cuzk_trace *t) CUZK_MUST_CHECK;

/* JSON for chrome://tracing and Perfetto. The list is sorted. */
cuzk_status cuzk_trace_chrome(cuzk_buf *out, const cuzk_trace *t) CUZK_MUST_CHECK;

#endif

/* A whole proof on the device: what the backend's own files share. DESIGN
 *
 * A key holds bases without infinities, the rows of A and B sorted by row, and transform tables. A
 * slot holds what belongs to one proof: its witness and its results. Everything else is work
 * memory, one for all keys of a device, in which one proof is queued at a time (work.cu); a proof
 * may be queued while the kernels of the one before still run. Six streams work at once: the rows
 * and the transforms (`main`), and one for each sum (lanes); the sums of the wires need no rows, so
 * they fill what the transforms leave idle.
 *
 * Each sum goes one of two ways, chosen when the key is loaded:
 *   comb    few bases: a table of every multiple d 2^(cw) of every base, d up to 2^(c-1), so that
 *           a sum is the plain sum of at most one point for each digit that is not 0: no buckets,
 *           nothing to sort, no wait on the host.
 *   sorted  many bases: values 0 and 1, of which witnesses are made, are taken out first; the bases
 *           of the ones are summed as they are, what is left goes through the sorted sums of
 *           msm.cu, driven by one host thread for each sum.
 * In both a list of points is chosen by a kernel (choose.cu) and summed: in XYZZ (sum_group.cuh),
 * or where millions may be listed, batch-affine (msm_bits.cu). */
#ifndef CUZK_BACKEND_CUDA_PROVER_CUH
#define CUZK_BACKEND_CUDA_PROVER_CUH

#include "backend/cuda/open.h"
#include "backend/cuda/sum_ops.cuh"
#include "backend/cuda/two_steps.cuh"
#include "backend/cuda/witness.h"

extern "C" {
#include "base/thread.h"
}

#include <pthread.h>

/* ---- which points: choose.cu ---- */

/* Where base i's value is: a full value's number, the number of a bit, or the constant ONE. */
enum : uint32_t { CUZK__SLOT_BIT = 0x80000000u, CUZK__SLOT_ONE = 0xffffffffu };

struct cuzk__choice {
    const uint4 *full;     /* plain values */
    const uint32_t *bits;  /* words of 32 bits */
    const uint32_t *slots; /* NULL: base i has value i */
    uint32_t n_full, n;    /* bases with full values, which come first, and all */
    uint32_t *counts;      /* [0] entries of list, [1] of rest; zero before */
    uint32_t *list;
};

/* Comb: entries (d-1) * windows * n_full + w * n_full + i for each digit of a full value, with the
 * top bit for a negative one; bits and ONE: table + (i - n_full). */
cuzk_status cuzk__choose_digits(const cuzk_cuda *dev, const cuzk__choice *c, unsigned window,
                                unsigned windows, cuzk_err *err) CUZK_MUST_CHECK;
/* Sorted: i for values 1 into list; other values that are not 0 into rest, their i into map. */
cuzk_status cuzk__choose_ones(const cuzk_cuda *dev, const cuzk__choice *c, uint4 *rest,
                              uint32_t *map, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- scalar vectors: quotient.cu. Elements in Montgomery form unless plain is said. ---- */

/* c = a b */
cuzk_status cuzk__vec_product(const cuzk_cuda *dev, cuzk_curve_id curve, void *c, const void *a,
                              const void *b, size_t n, cuzk_err *err) CUZK_MUST_CHECK;
/* Plain h = a b - c. h may be one of the others. */
cuzk_status cuzk__vec_quotient(const cuzk_cuda *dev, cuzk_curve_id curve, void *h, const void *a,
                               const void *b, const void *c, size_t n,
                               cuzk_err *err) CUZK_MUST_CHECK;
/* Plain h = (c - d) / 2. c may be NULL: zero. */
cuzk_status cuzk__vec_half_difference(const cuzk_cuda *dev, cuzk_curve_id curve, void *h,
                                      const void *c, const void *d, size_t n,
                                      cuzk_err *err) CUZK_MUST_CHECK;
/* Plain out = in. */
cuzk_status cuzk__vec_from_mont(const cuzk_cuda *dev, cuzk_curve_id curve, void *out,
                                const void *in, size_t n, cuzk_err *err) CUZK_MUST_CHECK;
/* out = plain in. out may be in. */
cuzk_status cuzk__vec_to_mont(const cuzk_cuda *dev, cuzk_curve_id curve, void *out, const void *in,
                              size_t n, cuzk_err *err) CUZK_MUST_CHECK;
/* Moves items of 16 * words bytes from i to i with its bits reversed, in place. */
cuzk_status cuzk__bit_reverse(const cuzk_cuda *dev, void *items, unsigned log2n, int words,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* ---- rows of a flat system: rows.cu ---- */

struct cuzk__gpu_rows {
    uint32_t *first; /* terms of row t: first[t] .. first[t+1]; A's 2^log2n rows, then B's */
    uint32_t *wire;  /* of each term */
    void *value;     /* times R^2, as a key holds it */
    uint32_t *longs; /* rows with many terms, each the work of a block */
    uint32_t n_longs;
    uint32_t rows; /* 2 * 2^log2n */
    size_t bytes;
};

struct cuzk_gpu_backend;
struct cuzk_gpu_key;
cuzk_status cuzk__gpu_rows_load(cuzk__gpu_rows *rows, cuzk_gpu_backend *b,
                                const cuzk_proving_key *key, cuzk_err *err) CUZK_MUST_CHECK;
/* What they take at most (long rows are not counted out), from a key's figures. */
size_t cuzk__gpu_rows_plan(const cuzk_proving_key *key);
void cuzk__gpu_rows_free(cuzk__gpu_rows *rows, cuzk_gpu_backend *b);
/* a, then b behind it, from plain values. */
cuzk_status cuzk__gpu_rows_eval(const cuzk__gpu_rows *rows, const cuzk_cuda *dev,
                                cuzk_curve_id curve, const void *full, void *ab,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* ---- the backend, its keys and slots ---- */

enum { CUZK__RING_PARTS = 2, CUZK__RING_BYTES = 8 << 20 };

/* Pinned memory through which a key goes to the device. */
struct cuzk__ring {
    char *part[CUZK__RING_PARTS];
    cudaEvent_t done[CUZK__RING_PARTS];
    int at;
};

/* Of --vram, what the driver holds for the process (context, code, local memory: 590 MiB) beyond
 * the 512 MiB that are beside it. */
static const size_t CUZK__DRIVER_BEYOND = (size_t)128 << 20;
/* What a key's pieces of memory are rounded up to, 2 MiB each. */
static const size_t CUZK__ROUNDED = (size_t)32 << 20;

enum cuzk__query_id { CUZK__Q_A, CUZK__Q_B1, CUZK__Q_B2, CUZK__Q_L, CUZK__Q_H, CUZK__QUERIES };
enum { CUZK__DONE_RING = 256 };

/* A device's work memory and the streams that work in it. */
struct cuzk__gpu_work {
    pthread_mutex_t lock; /* held while a proof is queued; after cuzk_gpu_backend.loading */
    cuzk__arena arena;    /* as large as the keys that are attached want it */
    cuzk_cuda *main, *aux[2], *lane[CUZK__QUERIES]; /* aux: beside main, for small transforms */
    cuzk_cuda *end;                                 /* sums of ones; behind each proof's last sum */
    /* Of keys whose sums share the device: H's lists are made. A sum of ones has ended. */
    cudaEvent_t made, listed[CUZK__QUERIES];
    cudaEvent_t read[CUZK__QUERIES];   /* a sum has read what main wrote for it, and the witness */
    cudaEvent_t done[CUZK__DONE_RING]; /* a proof's end, by its number */
    uint64_t proofs;                   /* queued until now */
    cuzk_gpu_key *keys;                /* attached */
    const cuzk_gpu_key *last;          /* whose proof was queued last; NULL: nothing runs */
};

/* Whether a handle only measures. */
static inline bool cuzk__measures(const cuzk_cuda *dev) {
    return dev->arena && dev->arena->measuring;
}

struct cuzk_gpu_backend {
    cuzk_backend base;
    cuzk_cuda *dev; /* loading */
    cuzk_pool *pool;
    bool tables, sleeps, in_turn;
    size_t memory, leave;        /* free when it was opened; open.h */
    size_t vram;                 /* cuzk_cuda_options */
    size_t held;                 /* device bytes of loaded keys and of slots; atomic */
    const cuzk_gpu_key *filling; /* being loaded */
    uint32_t chunk;              /* cuzk_cuda_options */
    unsigned link_copies;        /* cuzk_cuda_options */
    double link;                 /* of plans: nanoseconds a byte; 0: an H200's */
    unsigned share;              /* cuzk_cuda_options; 1 to CUZK__LEAN_SHARE */
    pthread_mutex_t loading;     /* guards dev and ring */
    cuzk__ring ring;
    cuzk__gpu_work work;
};

/* Copies host bytes to the device by way of the ring; queued when it returns. */
cuzk_status cuzk__ring_upload(cuzk_gpu_backend *b, void *device, const void *host, size_t bytes,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* The next part of the ring, free to be written; ring_send queues its copy. */
cuzk_status cuzk__ring_take(cuzk_gpu_backend *b, char **part, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__ring_send(cuzk_gpu_backend *b, void *device, size_t bytes,
                            cuzk_err *err) CUZK_MUST_CHECK;

/* Host bytes into a part, by the pool's threads. */
void cuzk__ring_copy(cuzk_gpu_backend *b, char *part, const void *host, size_t bytes);

struct cuzk__gpu_query {
    cuzk_group group;
    const cuzk__sum_ops *ops;
    uint32_t n_full, n;       /* bases with full values first, then those of bits, then ONE's */
    void *points;             /* the bases; comb: the table, then the bases behind n_full */
    uint32_t *slots;          /* NULL: base i has full value i */
    unsigned window, windows; /* comb; 0: sorted */
    unsigned factor;          /* sorted: multiples in the table; 0: by the cost model */
    size_t table;             /* points of the comb's table */
    cuzk_cuda_msm *msm;       /* sorted: the table that slots share; NULL without full values */
};

/* What a key leaves room for beside its work memory: slots, and bytes for whatever else. */
enum { CUZK__SLOTS = 2, CUZK__MARGIN = 512 << 20 };

/* Lists of this many points are summed batch-affine. */
enum { CUZK__MANY_POINTS = 1 << 21 };

/* Whether a sum is made from a list: all but a sorted H. */
static inline bool cuzk__gpu_is_listed(int id, const cuzk__gpu_query *q) {
    return q->n > 0 && (q->window > 0 || id != CUZK__Q_H);
}
/* Whether that list is summed batch-affine. */
static inline bool cuzk__gpu_sums_many(const cuzk__gpu_query *q) {
    return !q->window && q->n >= CUZK__MANY_POINTS;
}

/* One sum in the work memory. */
struct cuzk__gpu_lane {
    cuzk_cuda *dev;
    uint32_t *counts, *list, *map; /* map: sorted only */
    void *rest, *partial, *last;
    cuzk_cuda_msm *msm;
    /* Sums the list where it may be long, on the work's stream `end`; NULL: partial and last. */
    cuzk_cuda_bits *many;
};

/* The work memory as one key divides it. */
struct cuzk__gpu_view {
    bool ready;
    char *plain; /* of compact systems, whose witness is in Montgomery form; else NULL */
    char *abc;   /* three vectors, two of a folded key */
    void *many;  /* scratch of all sums of long lists, which come one after another */
    cuzk__gpu_lane lane[CUZK__QUERIES];
};

/* Keys of logarithms: the generators' combs, and where a part of the ring goes before it is
 * multiplied out. */
struct cuzk__key_logs {
    cuzk__gpu_query comb[2]; /* G1, G2 */
    void *scalars;
};

struct cuzk__lean;

struct cuzk_gpu_key {
    cuzk_device_key base;
    cuzk__gpu_query query[CUZK__QUERIES];
    cuzk_cuda_ntt *ntt;
    cuzk_cuda_ntt_scale *to_coset, *from_coset;
    cuzk__gpu_rows rows;
    cuzk_cuda_r1cs *r1cs;
    cuzk_cuda_witness *witness; /* of keys with a plan */
    cuzk__key_logs *logs;       /* while a key of logarithms is loaded */
    cuzk__lean *lean;           /* lean.cuh; NULL: everything is on the device */
    cuzk_cuda_key_bytes bytes;
    bool in_turn; /* sums one after another, in the same memory */
    bool shares;  /* sums side by side, each with a share of the device */
    bool tables;  /* of multiples */
    size_t held;  /* counted in the backend's */
    size_t whole; /* device bytes that it wants beside its rows when all of it is there */
    cuzk__gpu_view view;
    cuzk_gpu_key *next; /* attached */
};

enum {
    CUZK__EV_STAGED0,
    CUZK__EV_STAGED,
    CUZK__EV_MAKE, /* the witness is made, behind that it is */
    CUZK__EV_MADE,
    CUZK__EV_START,
    CUZK__EV_WIRES,
    CUZK__EV_EVAL,
    CUZK__EV_H,
    CUZK__EV_NTT1,
    CUZK__EV_NTT2, /* lanes that share the transforms */
    CUZK__EV_LANE, /* three for each query: begin, list counted, end */
    CUZK__EVENTS = CUZK__EV_LANE + 3 * CUZK__QUERIES
};

/* One sum's results, on the host. */
struct cuzk__gpu_result {
    uint32_t *counts;
    void *last, *sorted; /* of the list and of msm */
    bool any;            /* sorted holds something */
};

struct cuzk_gpu_slot {
    cuzk_slot base;
    cuzk__arena arena;
    cudaStream_t copy;
    cudaEvent_t ev[CUZK__EVENTS];
    char *pinned; /* full values, bits (or free values, fault), then results */
    size_t pinned_bytes;
    uint64_t *bits;
    char *full, *frees; /* frees: of keys with a plan, as fault */
    cuzk_cuda_witness_fault *fault;
    cuzk__gpu_result result[CUZK__QUERIES];
    char *lean_results;           /* behind them, of a key that is streamed */
    bool lean_waits, lean_failed; /* for others to share its pass; with it */
    bool montgomery, staged, computed;
    uint64_t number; /* of the proof, in the device's order */
    uint64_t bytes_in, bytes_out;
};

/* Streams and events; nothing is laid out yet. close takes what a failed open left. */
cuzk_status cuzk__gpu_work_open(cuzk_gpu_backend *b, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__gpu_work_close(cuzk_gpu_backend *b);
/* Device bytes that a key wants for its work. */
cuzk_status cuzk__gpu_work_bytes(const cuzk_gpu_key *k, size_t *bytes,
                                 cuzk_err *err) CUZK_MUST_CHECK;
/* Makes room for a key's work, k->bytes.work, and divides it. Where the memory must grow, what runs
 * is waited for. Called with b->loading held. */
cuzk_status cuzk__gpu_work_attach(cuzk_gpu_key *k, cuzk_err *err) CUZK_MUST_CHECK;
/* Gives back what only this key wanted. NULL-safe as to what attach left undone. */
void cuzk__gpu_work_detach(cuzk_gpu_key *k);
/* Waits for everything that is queued. */
void cuzk__gpu_work_drain(const cuzk__gpu_work *w);
/* Queues the wait of `main` for whatever still uses the memory that a proof of this key will
 * write first. */
cuzk_status cuzk__gpu_work_begin(cuzk__gpu_work *w, const cuzk_gpu_key *k,
                                 cuzk_err *err) CUZK_MUST_CHECK;
/* Behind the proof's last kernels, whose ends are `ends`: gives it its number. */
cuzk_status cuzk__gpu_work_end(cuzk__gpu_work *w, const cuzk_gpu_key *k, const cudaEvent_t *ends,
                               int n, uint64_t *number, cuzk_err *err) CUZK_MUST_CHECK;

/* A key's tables that make witnesses, on the device; adds their bytes to k->bytes.rows. */
cuzk_status cuzk__gpu_load_witness(cuzk_gpu_key *k, cuzk_cuda *dev, cuzk_err *err) CUZK_MUST_CHECK;
/* The witness from the free values that are staged, where the key has a plan; queued on `main`. */
cuzk_status cuzk__gpu_make_witness(cuzk_gpu_slot *s, cuzk_err *err) CUZK_MUST_CHECK;
/* a and b from the rows, and the scalars of H in a's place, queued on the work's `main`. */
cuzk_status cuzk__gpu_rows_and_quotient(cuzk_gpu_slot *s, cuzk_err *err) CUZK_MUST_CHECK;

/* Loading and freeing a key, with b->loading held. A backend whose handle only measures
 * (cuzk__arena) loads figures: what there is would be taken, nothing is touched. */
cuzk_status cuzk__gpu_load(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__gpu_unload(cuzk_gpu_backend *b, cuzk_gpu_key *k);
/* Device bytes that a key takes for itself until now: without the memory that keys share. */
size_t cuzk__gpu_own_bytes(const cuzk_gpu_key *k);
/* Of a limit, what keys and slots may take. */
static inline size_t cuzk__gpu_usable(size_t vram) {
    return vram > CUZK__DRIVER_BEYOND ? vram - CUZK__DRIVER_BEYOND : 0;
}

cuzk_status cuzk__gpu_key_load(cuzk_backend *b, cuzk_device_key **out, const cuzk_proving_key *key,
                               cuzk_err *err);
void cuzk__gpu_key_free(cuzk_device_key *k);
cuzk_status cuzk__gpu_slot_new(cuzk_device_key *k, cuzk_slot **out, cuzk_err *err);
void cuzk__gpu_slot_free(cuzk_slot *s);
cuzk_status cuzk__gpu_stage(cuzk_slot *s, const cuzk_wires *wires, cuzk_err *err);
cuzk_status cuzk__gpu_stage_inputs(cuzk_slot *s, const cuzk_u256 *frees, size_t n, cuzk_err *err);
cuzk_status cuzk__gpu_compute(cuzk_slot *s, cuzk_err *err);
cuzk_status cuzk__gpu_finish(cuzk_slot *s, cuzk_groth16_sums *out, cuzk_sums_stats *stats,
                             cuzk_err *err);
/* Device bytes of a slot. */
size_t cuzk__gpu_slot_bytes(const cuzk_proving_key *key);
/* Pinned host bytes of a slot. */
size_t cuzk__gpu_slot_pinned(const cuzk_gpu_key *k);
/* Device bytes that a key wants beside its rows when all of it is there, without tables of
 * multiples and with its sums in turn, and its slots. From the counts of its queries. */
cuzk_status cuzk__gpu_resident_bytes(const cuzk_gpu_key *k, size_t *bytes,
                                     cuzk_err *err) CUZK_MUST_CHECK;
/* `dirs` (of cuzk_cuda_ntt_new) of a key's transforms: both, with small tables where they are asked
 * for or the device's blocks can do no others. */
unsigned cuzk__gpu_transform_dirs(const cuzk_cuda *dev, const cuzk_proving_key *key, bool small);
/* Its transforms, and the device bytes of their tables. */
cuzk_status cuzk__gpu_load_transforms(cuzk_gpu_backend *b, cuzk_gpu_key *k, unsigned dirs,
                                      cuzk_err *err) CUZK_MUST_CHECK;
size_t cuzk__gpu_transform_bytes(const cuzk_proving_key *key, unsigned dirs);
cuzk_status cuzk__gpu_plan(cuzk_backend *b, const cuzk_proving_key *key, cuzk_backend_plan *out,
                           cuzk_err *err);

/* The comb of a generator, whose only base it is: queued on b->dev, under b->loading. */
cuzk_status cuzk__gpu_generator_comb(cuzk_gpu_backend *b, cuzk__gpu_query *comb,
                                     const cuzk_curve *curve, cuzk_group group,
                                     cuzk_err *err) CUZK_MUST_CHECK;
/* Entries of cuzk_backend_ops: multiples.cu. */
cuzk_status cuzk__gpu_multiples_new(cuzk_backend *b, cuzk_multiples **out, const cuzk_curve *curve,
                                    cuzk_group group, size_t batch, uint64_t total, cuzk_err *err);
cuzk_u256 *cuzk__gpu_multiples_room(cuzk_multiples *m);
cuzk_status cuzk__gpu_multiples_queue(cuzk_multiples *m, size_t n, cuzk_err *err);
cuzk_status cuzk__gpu_multiples_take(cuzk_multiples *m, const void **points, cuzk_err *err);
void cuzk__gpu_multiples_free(cuzk_multiples *m);

#endif

/* A whole proof on the device: what the backend's own files share. DESIGN
 *
 * A key holds bases without infinities, the rows of A and B sorted by row, and transform tables. A
 * slot holds one proof's vectors, all in one allocation. Six streams work at once: the rows and the
 * transforms (`main`), and one for each sum (lanes); the sums of the wires need no rows, so they
 * fill what the transforms leave idle.
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

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/open.h"

extern "C" {
#include "base/thread.h"
}

#include <pthread.h>

/* ---- sums of listed points: sum_group.cuh ---- */

enum {
    CUZK__SUM_LAST = 16,   /* partial sums that are left for the host to add */
    CUZK__SUM_BLOCKS = 16, /* blocks on a multiprocessor, so partial sums: this times sms */
};

struct cuzk__sum_ops {
    size_t point_bytes, xyzz_bytes;
    cuzk_status (*prepare)(cuzk_err *err);
    /* Adds points[e & 2^31-1], negated where the top bit is set, for the *count entries e of list;
     * leaves CUZK__SUM_LAST sums in last. partial: room for CUZK__SUM_BLOCKS * sms sums. */
    cuzk_status (*sum)(const cuzk_cuda *dev, const void *points, const uint32_t *list,
                       const uint32_t *count, void *partial, void *last, cuzk_err *err);
    /* out[i] = a[i] + b[i] where a[i] = k b[i] for some small k > 1, affine. */
    cuzk_status (*add_multiples)(const cuzk_cuda *dev, const void *a, const void *b, void *out,
                                 size_t n, cuzk_err *err);
    /* out[i] = scalars[i] times the base whose comb `table` is (plain scalars, n_full 1). */
    cuzk_status (*fixed_base)(const cuzk_cuda *dev, const void *table, unsigned window,
                              unsigned windows, const void *scalars, void *out, size_t n,
                              cuzk_err *err);
    /* Host: the affine sum of n sums. */
    void (*add_up)(const void *sums, unsigned n, cuzk_point *out);
};
const cuzk__sum_ops *cuzk__sum_group(cuzk_curve_id curve, cuzk_group group);
extern const cuzk__sum_ops cuzk__sum_bn254_g1, cuzk__sum_bn254_g2, cuzk__sum_bls12_381_g1,
    cuzk__sum_bls12_381_g2;

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
/* Plain h = (c - d) / 2. */
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

struct cuzk_gpu_backend {
    cuzk_backend base;
    cuzk_cuda *dev; /* loading */
    cuzk_pool *pool;
    bool tables;
    pthread_mutex_t loading; /* guards dev and ring */
    cuzk__ring ring;
};

/* Copies host bytes to the device by way of the ring; queued when it returns. */
cuzk_status cuzk__ring_upload(cuzk_gpu_backend *b, void *device, const void *host, size_t bytes,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* The next part of the ring, free to be written; ring_send queues its copy. */
cuzk_status cuzk__ring_take(cuzk_gpu_backend *b, char **part, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__ring_send(cuzk_gpu_backend *b, void *device, size_t bytes,
                            cuzk_err *err) CUZK_MUST_CHECK;

enum cuzk__query_id { CUZK__Q_A, CUZK__Q_B1, CUZK__Q_B2, CUZK__Q_L, CUZK__Q_H, CUZK__QUERIES };

struct cuzk__gpu_query {
    cuzk_group group;
    const cuzk__sum_ops *ops;
    uint32_t n_full, n;       /* bases with full values first, then those of bits, then ONE's */
    void *points;             /* the bases; comb: the table, then the bases behind n_full */
    uint32_t *slots;          /* NULL: base i has full value i */
    unsigned window, windows; /* comb; 0: sorted */
    size_t table;             /* points of the comb's table */
    cuzk_cuda_msm *msm;       /* sorted: the table that slots share; NULL without full values */
};

struct cuzk_gpu_key {
    cuzk_device_key base;
    cuzk__gpu_query query[CUZK__QUERIES];
    cuzk_cuda_ntt *ntt;
    cuzk_cuda_ntt_scale *to_coset, *from_coset;
    cuzk__gpu_rows rows;
    cuzk_cuda_r1cs *r1cs;
    struct key_logs *logs; /* while a key of logarithms is loaded */
    cuzk_cuda_key_bytes bytes;
};

enum {
    CUZK__EV_STAGED0,
    CUZK__EV_STAGED,
    CUZK__EV_START,
    CUZK__EV_WIRES,
    CUZK__EV_EVAL,
    CUZK__EV_H,
    CUZK__EV_NTT1,
    CUZK__EV_NTT2, /* lanes that share the transforms */
    CUZK__EV_LANE, /* three for each query: begin, list counted, end */
    CUZK__EVENTS = CUZK__EV_LANE + 3 * CUZK__QUERIES
};

/* One sum of a slot. */
struct cuzk__gpu_lane {
    cuzk_cuda *dev;
    uint32_t *counts, *list, *map; /* map: sorted only */
    void *rest, *partial, *last;
    cuzk_cuda_msm *msm;
    cuzk_cuda_bits *many; /* sums the list where it may be long; NULL: partial and last */
    uint32_t *host_counts;
    void *host_last;
    cuzk_point sorted; /* what msm gave */
};

struct cuzk_gpu_slot {
    cuzk_slot base;
    cuzk__arena arena;
    cuzk_cuda *main, *aux[2]; /* aux: beside main, for small transforms */
    cudaStream_t copy;
    cudaEvent_t ev[CUZK__EVENTS];
    char *pinned; /* full values, bits, then counts and last sums of the lanes */
    size_t pinned_bytes;
    uint64_t *bits;
    char *full, *plain; /* compact systems want both forms: full is Montgomery; else the same */
    uint32_t *counts;   /* of all lanes */
    char *abc;          /* three vectors */
    cuzk__gpu_lane lane[CUZK__QUERIES];
    bool montgomery, staged, computed;
    uint64_t bytes_in, bytes_out;
};

cuzk_status cuzk__gpu_key_load(cuzk_backend *b, cuzk_device_key **out, const cuzk_proving_key *key,
                               cuzk_err *err);
void cuzk__gpu_key_free(cuzk_device_key *k);
cuzk_status cuzk__gpu_slot_new(cuzk_device_key *k, cuzk_slot **out, cuzk_err *err);
void cuzk__gpu_slot_free(cuzk_slot *s);
cuzk_status cuzk__gpu_stage(cuzk_slot *s, const cuzk_wires *wires, cuzk_err *err);
cuzk_status cuzk__gpu_compute(cuzk_slot *s, cuzk_err *err);
cuzk_status cuzk__gpu_finish(cuzk_slot *s, cuzk_groth16_sums *out, cuzk_sums_stats *stats,
                             cuzk_err *err);
/* Device bytes of a slot. */
cuzk_status cuzk__gpu_slot_bytes(const cuzk_gpu_key *k, size_t *bytes, cuzk_err *err);
/* Pinned host bytes of a slot. */
size_t cuzk__gpu_slot_pinned(const cuzk_gpu_key *k);
cuzk_status cuzk__gpu_plan(cuzk_backend *b, const cuzk_proving_key *key, cuzk_backend_plan *out,
                           cuzk_err *err);

#endif

/* The CUDA backend's operations: device memory, transforms and multi-scalar multiplications on
 * data that live on one device. docs/gpu.md says what is measured.
 *
 * Everything returns a status; a CUDA error is mapped, described in err and cleared. A sticky
 * error (an illegal address, say) makes every later call on the device fail as well: the process
 * that holds the device must end. Without a driver or a device, opening gives NO_DEVICE and
 * nothing else happens, so programs that link this run anywhere.
 *
 * A device handle owns one stream; calls with the same handle run in order. Handles must not be
 * used by two threads at the same time. Functions return once the work is queued unless they say
 * that they wait. Pointers called `device` are device memory, 16-byte aligned. */
#ifndef CUZK_BACKEND_CUDA_CUDA_H
#define CUZK_BACKEND_CUDA_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/status.h"
#include "curve/curve.h"
#include "r1cs/r1cs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_cuda cuzk_cuda;

/* Number of usable devices; 0 without a driver. Never fails. */
int cuzk_cuda_device_count(void);

/* Opens device `ordinal`. NO_DEVICE when there is none. */
cuzk_status cuzk_cuda_open(cuzk_cuda **out, int ordinal, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_close(cuzk_cuda *dev);
/* The ordinal of the device whose uuid begins so. NO_DEVICE: none, or several. */
cuzk_status cuzk_cuda_find(int *ordinal, const char *uuid, cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_cuda_info {
    char name[128];
    char uuid[48];                  /* "GPU-0d1e…", as the driver's tools write it */
    int sms;                        /* multiprocessors */
    int sm_threads;                 /* of one multiprocessor */
    size_t sm_shared, block_shared; /* bytes of shared memory: of one, and of a block at most */
    int cc_major, cc_minor;
    int driver, runtime; /* as 13000 for 13.0 */
    size_t bytes_total, bytes_free;
} cuzk_cuda_info;
cuzk_status cuzk_cuda_get_info(const cuzk_cuda *dev, cuzk_cuda_info *out,
                               cuzk_err *err) CUZK_MUST_CHECK;

/* Device memory. NO_MEMORY when it does not fit. free accepts NULL. */
cuzk_status cuzk_cuda_alloc(cuzk_cuda *dev, void **device, size_t bytes,
                            cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_free(cuzk_cuda *dev, void *device);
/* Copies that wait for their end. */
cuzk_status cuzk_cuda_upload(cuzk_cuda *dev, void *device, const void *host, size_t bytes,
                             cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_cuda_download(cuzk_cuda *dev, void *host, const void *device, size_t bytes,
                               cuzk_err *err) CUZK_MUST_CHECK;
/* Waits for everything queued. */
cuzk_status cuzk_cuda_sync(cuzk_cuda *dev, cuzk_err *err) CUZK_MUST_CHECK;

/* Milliseconds of device time between two marks, 0 <= slot < 4: mark(slot) queues an event. */
cuzk_status cuzk_cuda_mark(cuzk_cuda *dev, int slot, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_cuda_elapsed(cuzk_cuda *dev, int from, int to, float *ms,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* ---- transforms: the same maps as ntt/ntt.h ---- */

typedef struct cuzk_cuda_ntt cuzk_cuda_ntt;
typedef struct cuzk_cuda_ntt_scale cuzk_cuda_ntt_scale;

typedef enum cuzk_ntt_dir { CUZK_NTT_FORWARD = 0, CUZK_NTT_INVERSE = 1 } cuzk_ntt_dir;
typedef enum cuzk_ntt_order {
    CUZK_NTT_NR = 0, /* natural in, bit-reversed out */
    CUZK_NTT_RN = 1  /* bit-reversed in, natural out */
} cuzk_ntt_order;

/* Tables for 2^log2n points, 1 <= log2n <= min(28, adicity), roots of `family` as in ntt/ntt.h,
 * for the directions named in dirs (bit 0 forward, bit 1 inverse). Waits. Freed with _free. */
cuzk_status cuzk_cuda_ntt_new(cuzk_cuda_ntt **out, cuzk_cuda *dev, cuzk_curve_id curve,
                              unsigned log2n, unsigned family, unsigned dirs,
                              cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_ntt_free(cuzk_cuda_ntt *plan);
/* Device bytes that cuzk_cuda_ntt_new takes: exact up to allocation granularity. */
size_t cuzk_cuda_ntt_bytes(unsigned log2n, unsigned dirs);

/* Factors h^j for coefficient j (h in Montgomery form, not zero), for one direction of a plan:
 * forward RN multiplies its input by them, inverse NR its output. Waits. */
cuzk_status cuzk_cuda_ntt_scale_new(cuzk_cuda_ntt_scale **out, const cuzk_cuda_ntt *plan,
                                    cuzk_ntt_dir dir, const cuzk_u256 *h,
                                    cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_ntt_scale_free(cuzk_cuda_ntt_scale *scale);

/* Transforms 2^log2n elements in place (Montgomery form, canonical in and out). The inverse
 * includes 1/n. scale: NULL, or factors for exactly this direction with order RN (forward) or NR
 * (inverse): evaluations on a coset g<w> are forward RN with h = g, coefficients from them
 * inverse NR with h = 1/g. */
cuzk_status cuzk_cuda_ntt_run(const cuzk_cuda_ntt *plan, void *device, cuzk_ntt_dir dir,
                              cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* ---- multi-scalar multiplication: the sum of scalars[i] * bases[i] ---- */

typedef struct cuzk_cuda_msm cuzk_cuda_msm;

typedef struct cuzk_cuda_msm_config {
    cuzk_curve_id curve;
    cuzk_group group;
    size_t n;           /* 1 <= n, n * factor < 2^31 */
    unsigned window;    /* bits of a digit, 4..24; 0: chosen by the cost model */
    unsigned factor;    /* multiples of each base in the table: 1 borrows the bases as they are;
                           more trades memory and set-up time for speed; 0: as many as help and fit
                           in table_limit */
    size_t table_limit; /* bytes; 0: half of the free memory */
    bool table_only;    /* no scratch: for forks only */
} cuzk_cuda_msm_config;

/* Prepares MSMs over n fixed bases (device, affine as in curve/curve.h, infinities allowed, 16-byte
 * aligned). With factor 1 the bases must outlive the plan; with more they are copied. All device
 * memory of later runs is taken here. Waits. */
cuzk_status cuzk_cuda_msm_new(cuzk_cuda_msm **out, cuzk_cuda *dev,
                              const cuzk_cuda_msm_config *config, const void *bases,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* The same bases and table on another handle of the same device, with scratch of its own. `of` must
 * outlive it. */
cuzk_status cuzk_cuda_msm_fork(cuzk_cuda_msm **out, cuzk_cuda *dev, const cuzk_cuda_msm *of,
                               cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_msm_free(cuzk_cuda_msm *msm);

/* What was chosen, and the device bytes taken. */
typedef struct cuzk_cuda_msm_info {
    unsigned window, windows, sets, factor;
    size_t table_bytes, scratch_bytes;
} cuzk_cuda_msm_info;
void cuzk_cuda_msm_get_info(const cuzk_cuda_msm *msm, cuzk_cuda_msm_info *out);

/* *out: the sum over n plain scalars (device, 32 bytes each, below r). Every scalar and base is
 * handled, in time that depends on the scalars. Waits. */
cuzk_status cuzk_cuda_msm_run(cuzk_cuda_msm *msm, const void *scalars, cuzk_point *out,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* The sum of scalars[i] * bases[map[i]] over i < n (map: device, entries below the plan's n, or
 * NULL for i itself), n at most the plan's. Waits. */
cuzk_status cuzk_cuda_msm_run_some(cuzk_cuda_msm *msm, const void *scalars, const uint32_t *map,
                                   size_t n, cuzk_point *out, cuzk_err *err) CUZK_MUST_CHECK;

/* Milliseconds of the last run by stage: digits and sorting, sums of lists, bucket
 * reduction (device time), and the rest on the host. */
typedef struct cuzk_cuda_msm_times {
    float sort, accumulate, reduce, combine;
} cuzk_cuda_msm_times;
cuzk_status cuzk_cuda_msm_get_times(const cuzk_cuda_msm *msm, cuzk_cuda_msm_times *out,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* ---- sums of chosen bases: those whose bit is 1 ---- */

typedef struct cuzk_cuda_bits cuzk_cuda_bits;

typedef struct cuzk_cuda_bits_config {
    cuzk_curve_id curve;
    cuzk_group group;
    size_t n;              /* 1 <= n < 2^31 */
    const void *bases;     /* device: n affine points as in curve/curve.h, infinities allowed */
    const uint32_t *slots; /* device: base j is chosen by bit slots[j]; NULL: by bit j */
    void *scratch;         /* device, 256-byte aligned, cuzk_cuda_bits_scratch bytes; plans whose
                              sums run on one stream may share it. NULL: the plan takes its own */
    bool lists;            /* sums of lists only: scratch has no room to choose bases by bits */
} cuzk_cuda_bits_config;

/* Device bytes of scratch that such a sum works in; 0 when CUDA fails. */
size_t cuzk_cuda_bits_scratch(const cuzk_cuda *dev, const cuzk_cuda_bits_config *config);

/* Prepares sums over fixed bases. Bases, slots and scratch are borrowed. Device memory, and pinned
 * memory for the result, are taken here only. Waits. */
cuzk_status cuzk_cuda_bits_new(cuzk_cuda_bits **out, cuzk_cuda *dev,
                               const cuzk_cuda_bits_config *config, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_bits_free(cuzk_cuda_bits *plan);

/* Queues the sum chosen by a bit array (device; bit i is bit i % 64 of word i / 64), down to the
 * copy of a few bytes to the host. Does not wait. One sum of a plan at a time. */
cuzk_status cuzk_cuda_bits_queue(cuzk_cuda_bits *plan, const uint64_t *bits,
                                 cuzk_err *err) CUZK_MUST_CHECK;
/* The same for the bases whose numbers stand in a list, in any order, again where one is listed
 * again: *count <= n of them (device). */
cuzk_status cuzk_cuda_bits_queue_list(cuzk_cuda_bits *plan, const uint32_t *list,
                                      const uint32_t *count, cuzk_err *err) CUZK_MUST_CHECK;
/* Waits for the queued sum alone, and gives it. */
cuzk_status cuzk_cuda_bits_finish(cuzk_cuda_bits *plan, cuzk_point *out,
                                  cuzk_err *err) CUZK_MUST_CHECK;

/* ---- rows of a compact constraint system ---- */

typedef struct cuzk_cuda_r1cs cuzk_cuda_r1cs;

/* Uploads what evaluating A and B needs; r may be freed afterwards. Waits. */
cuzk_status cuzk_cuda_r1cs_new(cuzk_cuda_r1cs **out, cuzk_cuda *dev, const cuzk_r1cs *r,
                               cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_r1cs_free(cuzk_cuda_r1cs *r);
/* Device bytes taken. */
size_t cuzk_cuda_r1cs_bytes(const cuzk_cuda_r1cs *r);

/* a = A w, b = B w of every row, then of the input rows that Groth16 adds (A = input i, B = 0):
 * n_rows + n_inputs elements each (device, Montgomery form, canonical), from the bits (device, one
 * word more than needed) and the full values (device, Montgomery form). Queued on `dev`, any handle
 * of the device. */
cuzk_status cuzk_cuda_r1cs_eval(const cuzk_cuda_r1cs *r, const cuzk_cuda *dev, const uint64_t *bits,
                                const void *full, void *a, void *b, cuzk_err *err) CUZK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif

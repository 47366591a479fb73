/* One instance of the algorithms: a curve, a group, an implementation of its field.
 *
 * Everything that touches a coordinate is behind this table; kernel.inl.h fills it. The rest of
 * the module is written once and knows points by their size only. Thread-safe: nothing is shared.
 */
#ifndef CUZK_MSM_KERNEL_H
#define CUZK_MSM_KERNEL_H

#include "curve/curve.h"
#include "msm/digits.h"
#include "msm/msm.h"
#include "msm/schedule.h"

#include <stddef.h>

enum { CUZK__CHUNK_MAX = 256 }; /* points whose recoded scalars stay in the first cache */

/* Room for the XYZZ form of any point; an instance uses its front. */
typedef struct cuzk__msm_acc {
    _Alignas(16) uint8_t b[2 * CUZK_POINT_MAX];
} cuzk__msm_acc;

typedef struct cuzk__msm_kernel {
    size_t point_size;   /* of bases, in the files' form */
    size_t base_size;    /* of bases as the adder reads them: converted, or the files' form */
    size_t slot_size;    /* of buckets */
    size_t scratch_size; /* that points.scratch needs, aligned to 64 */
    uint32_t pads;       /* slots from points.pad on */

    cuzk__adder adder;
    /* Before the first run on these slots. */
    void (*init_pads)(cuzk__points *p);
    /* The most entries of a batch, and bytes of buckets whose additions share batches: what the
     * caches hold beside this kernel's scratch. */
    uint32_t batch_most;
    size_t group_bytes;
    /* Puts the digits of a span of n scalars, at most CUZK__CHUNK_MAX, in buckets from 0 on: those
     * of its windows one after the other. index[j] << 1 is the place of scalar j from `scalars` on
     * and of its base; index is readable up to a multiple of 8, with places that exist. NULL:
     * work.c does it one by one. */
    void (*put)(cuzk__sched *s, const cuzk__digits *d, const uint8_t *scalars,
                const uint32_t *index, uint32_t n, const cuzk__span *span);
    /* n bases to slots, base_size = slot_size; NULL when the adder reads the files' form. */
    void (*convert)(void *stored, const uint8_t *bases, size_t n);
    /* *acc += the slots [first, first + n) that are not empty. */
    void (*slots_sum)(cuzk__msm_acc *acc, const cuzk__points *p, uint32_t first, uint32_t n);
    /* *acc += the sum over q < n of q * slot[first + q]. */
    void (*slots_weighted)(cuzk__msm_acc *acc, const cuzk__points *p, uint32_t first, uint32_t n);

    /* acc = infinity; acc += a; acc *= 2^times; *out = acc as an affine point of the files. */
    void (*acc_zero)(cuzk__msm_acc *acc);
    void (*acc_add)(cuzk__msm_acc *acc, const cuzk__msm_acc *a);
    void (*acc_dbl)(cuzk__msm_acc *acc, unsigned times);
    void (*acc_to_affine)(void *out, const cuzk__msm_acc *acc);

    /* Few points: Pippenger with XYZZ buckets, one window after the other. *acc is the whole sum.
     * `buckets` has room for 2^(c-1) cuzk__msm_acc. */
    void (*few)(cuzk__msm_acc *acc, const cuzk__digits *d, const uint8_t *bases,
                const uint8_t *scalars, size_t n, cuzk__msm_acc *buckets);
} cuzk__msm_kernel;

/* cuzk_msm with a kernel of the caller's choice; it must be one of args->curve and args->group. */
cuzk_status cuzk__msm_run(const cuzk__msm_kernel *k, const cuzk_msm_args *args,
                          cuzk_point *out) CUZK_MUST_CHECK;

/* Which implementations this build has; the portable one always. */
#if defined(CUZK_FIELD_ASM)
#define CUZK__MSM_HAVE_ASM 1
#else
#define CUZK__MSM_HAVE_ASM 0
#endif
#if CUZK__MSM_HAVE_ASM && defined(__x86_64__)
#define CUZK__MSM_HAVE_ADX 1
#else
#define CUZK__MSM_HAVE_ADX 0
#endif
#define CUZK__MSM_HAVE_IFMA CUZK__MSM_HAVE_ADX

#define CUZK__MSM_KERNELS(impl)                                                                    \
    extern const cuzk__msm_kernel cuzk__msm_bn254_g1_##impl, cuzk__msm_bn254_g2_##impl,            \
        cuzk__msm_bls12_381_g1_##impl, cuzk__msm_bls12_381_g2_##impl
CUZK__MSM_KERNELS(portable);
#if CUZK__MSM_HAVE_ASM
CUZK__MSM_KERNELS(asm);
#endif
#if CUZK__MSM_HAVE_ADX
CUZK__MSM_KERNELS(adx);
#endif
#if CUZK__MSM_HAVE_IFMA
CUZK__MSM_KERNELS(ifma);
#endif

#endif

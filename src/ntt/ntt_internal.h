/* What ntt.c and the instances of the transform templates share. Internal to ntt. */
#ifndef CUZK_NTT_NTT_INTERNAL_H
#define CUZK_NTT_NTT_INTERNAL_H

#include "ntt/ntt.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    CUZK__NTT_MAX_LOG2 = 32,
    CUZK__NTT_PASS_LOG2 = 8, /* most levels of a column pass */
    CUZK__NTT_COLS = 8,      /* columns of a tile: 256 bytes of each row */
    CUZK__NTT_BASE_LOG2 = 8, /* blocks in which coset factors are applied */
    CUZK__NTT_MAX_PASSES = 4
};

/* How 2^log2n elements are walked: column passes over the top levels, first to last, then
 * contiguous leaves of 2^leaf elements. */
typedef struct cuzk__ntt_split {
    unsigned leaf;
    unsigned passes;
    unsigned levels[CUZK__NTT_MAX_PASSES];
} cuzk__ntt_split;

typedef enum cuzk__ntt_op {
    CUZK__NTT_NR,        /* natural to bit-reversed */
    CUZK__NTT_RN,        /* bit-reversed to natural */
    CUZK__NTT_TO_COSET,  /* inverse NR, coefficient j times g^j, forward RN */
    CUZK__NTT_OFF_COSET, /* inverse NR, coefficient j times g^j */
} cuzk__ntt_op;

/* One instance of the templates: a field and an arithmetic. */
typedef struct cuzk__ntt_kernels {
    size_t (*table_bytes)(unsigned log2n);
    /* Fills entries [begin, end) of the twiddle table; see ntt_block.inl.h. */
    void (*table_fill)(const cuzk_ntt_plan *plan, size_t begin, size_t end);
    /* inverse: use w^-1 and divide by n (NR and RN). g: NULL for NR and RN. */
    void (*run)(const cuzk_ntt_plan *plan, cuzk__ntt_op op, bool inverse, cuzk_u256 *x,
                const cuzk_u256 *g, cuzk_pool *pool);
} cuzk__ntt_kernels;

struct cuzk_ntt_plan {
    const cuzk_fr_ops *fr;
    const cuzk__ntt_kernels *kernels;
    unsigned log2n;
    cuzk_u256 n_inv;                         /* 1/n */
    cuzk_u256 roots[CUZK__NTT_MAX_LOG2 + 1]; /* [s]: primitive 2^s-th root, s <= log2n */
    void *table;
    size_t table_bytes;
};

/* Entry i of the table of inverse twiddles is minus entry mirror(i) of the forward one, for
 * i >= 1: inverting keeps the leading bit of i and flips the rest. */
static inline size_t cuzk__ntt_mirror(size_t i) {
    return i ^ (((size_t)1 << (63 - __builtin_clzll(i))) - 1);
}

#if defined(__x86_64__) && defined(CUZK_FIELD_ASM)
#define CUZK__NTT_ADX 1
#else
#define CUZK__NTT_ADX 0
#endif

#if defined(__x86_64__) && defined(CUZK_FIELD_ASM)
#define CUZK__NTT_IFMA 1
#else
#define CUZK__NTT_IFMA 0
#endif
enum { CUZK__NTT_IFMA_MIN_LOG2 = 7 };

/* The instances; _adx only where CUZK__NTT_ADX, and to be run only when cuzk_cpu_has_adx(). */
extern const cuzk__ntt_kernels cuzk__ntt_bn254_portable, cuzk__ntt_bls12_381_portable;
extern const cuzk__ntt_kernels cuzk__ntt_bn254_asm, cuzk__ntt_bls12_381_asm;
extern const cuzk__ntt_kernels cuzk__ntt_bn254_adx, cuzk__ntt_bls12_381_adx;
/* Only where CUZK__NTT_IFMA and cuzk_cpu_has_avx512_ifma(), from 2^IFMA_MIN_LOG2 elements on. */
extern const cuzk__ntt_kernels cuzk__ntt_bn254_ifma, cuzk__ntt_bls12_381_ifma;

/* cuzk_ntt_plan_new with a chosen instance, which must be of this curve. */
cuzk_status cuzk__ntt_plan_with(cuzk_ntt_plan **out, cuzk_curve_id curve, unsigned log2n,
                                unsigned family, const cuzk__ntt_kernels *kernels,
                                cuzk_pool *pool) CUZK_MUST_CHECK;

void cuzk__ntt_split_for(cuzk__ntt_split *out, unsigned log2n, unsigned max_leaf, unsigned threads);

#endif

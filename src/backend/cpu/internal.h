/* What the files of the CPU backend share. */
#ifndef CUZK_BACKEND_CPU_INTERNAL_H
#define CUZK_BACKEND_CPU_INTERNAL_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/rows.h"
#include "msm/msm.h"
#include "ntt/ntt.h"

typedef struct cuzk__cpu_backend {
    cuzk_backend base;
    cuzk_cpu_impl impl;
    cuzk_pool *pool;
} cuzk__cpu_backend;

typedef struct cuzk__cpu_key {
    cuzk_device_key base;
    const cuzk__cpu_backend *cpu;
    const cuzk_rows_ops *rows;
    cuzk_ntt_plan *plan;
    cuzk_u256 shift;  /* of the coset, Montgomery form */
    cuzk_u256 factor; /* plain: 1 / (shift^n - 1), of H in coefficients */
} cuzk__cpu_key;

typedef struct cuzk__cpu_slot {
    cuzk_slot base;
    const cuzk__cpu_key *key;
    cuzk_u256 *a, *b, *c;  /* the domain, in one piece; a ends as the scalars of H */
    bool used_bc;          /* since they were last given back */
    cuzk_u256 *converted;  /* the full values in the form that was not given; NULL: not needed */
    cuzk_u256 *scalars;    /* full values gathered for one query */
    uint64_t *packed_bits; /* bits gathered for one query */
    size_t n, max_full, bit_words;
    cuzk_msm_room *room;       /* while there are sums to be made */
    struct cuzk_witness *made; /* from free values */
    cuzk_wires wires;
    const uint8_t *plain;  /* n_full scalars */
    const cuzk_u256 *mont; /* the same; of compact systems only */
    cuzk_groth16_sums sums;
    cuzk_sums_stats stats;
} cuzk__cpu_slot;

/* Whether the parts of a proof with this key are computed at the same time. */
bool cuzk__cpu_at_once(const cuzk__cpu_backend *cpu, const cuzk_proving_key *key);

/* The sums of a slot that has been staged. */
cuzk_status cuzk__cpu_compute(cuzk__cpu_slot *s, cuzk_err *err) CUZK_MUST_CHECK;

/* multiples.c: entries of cuzk_backend_ops. */
cuzk_status cuzk__cpu_multiples_new(cuzk_backend *b, cuzk_multiples **out, const cuzk_curve *curve,
                                    cuzk_group group, size_t batch, uint64_t total, cuzk_err *err);
cuzk_u256 *cuzk__cpu_multiples_room(cuzk_multiples *m);
cuzk_status cuzk__cpu_multiples_queue(cuzk_multiples *m, size_t n, cuzk_err *err);
cuzk_status cuzk__cpu_multiples_take(cuzk_multiples *m, const void **points, cuzk_err *err);
void cuzk__cpu_multiples_free(cuzk_multiples *m);

#endif

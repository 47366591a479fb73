/* How long a proof takes whose key is on the device, from figures alone: for `cuzk plan`. Nothing
 * that runs on a device depends on it. */
#ifndef CUZK_BACKEND_CUDA_PREDICT_H
#define CUZK_BACKEND_CUDA_PREDICT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUZK__PREDICT_SUMS = 5 };

typedef struct cuzk__predict_sum {
    bool g2;
    bool many;      /* lists are summed batch-affine */
    double listed;  /* bases of bits */
    double digits;  /* of full values, none of which is taken to be 0 or 1 */
    double buckets; /* that they are sorted to; 0: they are listed too (a comb) */
} cuzk__predict_sum;

typedef struct cuzk__predict_key {
    unsigned log2_domain;
    unsigned transforms; /* of the quotient */
    bool bn254, small_tables;
    bool in_turn;       /* sums one after another */
    bool makes_witness; /* on the device, from free values */
    double sent;        /* bytes to the device */
    double witness;     /* bytes of it */
    cuzk__predict_sum sum[CUZK__PREDICT_SUMS];
} cuzk__predict_key;

/* Milliseconds with an H200. link: nanoseconds a byte from the host. Pure. */
double cuzk__predict_ms(const cuzk__predict_key *k, double link);

#ifdef __cplusplus
}
#endif

#endif

/* A batch of four elements of BN254's scalar field in plain C, for tests: another Montgomery radix,
 * another stored form and prepared factors that are no elements, as a vector unit would have, so
 * that the transforms are shown to ask for nothing that is true of one lane only. */
#ifndef CUZK_TESTS_NTT_LANES4_H
#define CUZK_TESTS_NTT_LANES4_H

#include "field/fields.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { lanes4_LANES = 4 };
typedef struct lanes4_t {
    cuzk_u256 v[4];
} lanes4_t;
/* Stored: limbs in reverse order; the radix is five times that of the files. */
typedef struct lanes4_st_t {
    uint64_t top_first[4];
} lanes4_st_t;
typedef struct lanes4_tw_t {
    cuzk_u256 half; /* half of the factor */
    uint64_t pad;
} lanes4_tw_t;

static inline cuzk_u256 lanes4_small(uint64_t k) {
    cuzk_u256 r;
    cuzk_bn254_fr_from_u64(&r, k);
    return r;
}
static inline void lanes4_load(lanes4_t *r, const lanes4_st_t *p) {
    for (int l = 0; l < 4; l++)
        for (int i = 0; i < 4; i++)
            r->v[l].l[i] = p[l].top_first[3 - i];
}
static inline void lanes4_gather(lanes4_t *r, const lanes4_st_t *const p[4]) {
    for (int l = 0; l < 4; l++)
        for (int i = 0; i < 4; i++)
            r->v[l].l[i] = p[l]->top_first[3 - i];
}
static inline void lanes4_from_mont(lanes4_st_t *r, const void *mont) {
    cuzk_u256 x;
    const cuzk_u256 five = lanes4_small(5);
    memcpy(&x, mont, sizeof x);
    cuzk_bn254_fr_mul(&x, &x, &five);
    for (int i = 0; i < 4; i++)
        r->top_first[3 - i] = x.l[i];
}
static inline void lanes4_load_lin(lanes4_t *r, const void *mem) {
    memcpy(r, mem, sizeof *r);
}
static inline void lanes4_store_lin(void *mem, const lanes4_t *a) {
    memcpy(mem, a, sizeof *a);
}
static inline void lanes4_store_raw(void *mem, const lanes4_t *a) {
    memcpy(mem, a, sizeof *a);
}
static inline void lanes4_mul(lanes4_t *r, const lanes4_t *a, const lanes4_t *b) {
    cuzk_u256 fifth = lanes4_small(5);
    cuzk_bn254_fr_inv(&fifth, &fifth);
    for (int l = 0; l < 4; l++) {
        cuzk_bn254_fr_mul(&r->v[l], &a->v[l], &b->v[l]);
        cuzk_bn254_fr_mul(&r->v[l], &r->v[l], &fifth);
    }
}
static inline void lanes4_neg(lanes4_t *r, const lanes4_t *a) {
    for (int l = 0; l < 4; l++)
        cuzk_bn254_fr_neg(&r->v[l], &a->v[l]);
}
static inline void lanes4_make_tw(lanes4_tw_t *w, const cuzk_u256 *mont) {
    cuzk_u256 half = lanes4_small(2);
    cuzk_bn254_fr_inv(&half, &half);
    cuzk_bn254_fr_mul(&w->half, mont, &half);
    w->pad = 0;
}
static inline void lanes4_scale_tw(lanes4_tw_t *r, const lanes4_tw_t *w, const cuzk_u256 *mont) {
    cuzk_bn254_fr_mul(&r->half, &w->half, mont);
    r->pad = 0;
}
static inline void lanes4_mul_tw(lanes4_t *r, const lanes4_t *a, const lanes4_tw_t *w) {
    for (int l = 0; l < 4; l++) {
        cuzk_bn254_fr_mul(&r->v[l], &a->v[l], &w->half);
        cuzk_bn254_fr_dbl(&r->v[l], &r->v[l]);
    }
}
static inline void lanes4_ct_one(lanes4_t *x, lanes4_t *y) {
    for (int l = 0; l < 4; l++) {
        const cuzk_u256 a = x->v[l];
        cuzk_bn254_fr_add(&x->v[l], &a, &y->v[l]);
        cuzk_bn254_fr_sub(&y->v[l], &a, &y->v[l]);
    }
}
static inline void lanes4_ct(lanes4_t *x, lanes4_t *y, const lanes4_tw_t *w) {
    lanes4_mul_tw(y, y, w);
    lanes4_ct_one(x, y);
}
static inline void lanes4_ct_minus(lanes4_t *x, lanes4_t *y, const lanes4_tw_t *w) {
    lanes4_mul_tw(y, y, w);
    lanes4_neg(y, y);
    lanes4_ct_one(x, y);
}
static inline void lanes4_ct_each(lanes4_t *x, lanes4_t *y, const lanes4_t *f) {
    lanes4_mul(y, y, f);
    lanes4_ct_one(x, y);
}
static inline void lanes4_ct_each_minus(lanes4_t *x, lanes4_t *y, const lanes4_t *f) {
    lanes4_mul(y, y, f);
    lanes4_neg(y, y);
    lanes4_ct_one(x, y);
}
static inline void lanes4_gs_one(lanes4_t *x, lanes4_t *y) {
    lanes4_ct_one(x, y);
}
static inline void lanes4_gs(lanes4_t *x, lanes4_t *y, const lanes4_tw_t *w) {
    lanes4_ct_one(x, y);
    lanes4_mul_tw(y, y, w);
}
static inline void lanes4_gs_minus(lanes4_t *x, lanes4_t *y, const lanes4_tw_t *w) {
    lanes4_gs(x, y, w);
    lanes4_neg(y, y);
}
static inline void lanes4_gs_each(lanes4_t *x, lanes4_t *y, const lanes4_t *f) {
    lanes4_ct_one(x, y);
    lanes4_mul(y, y, f);
}
static inline void lanes4_gs_each_minus(lanes4_t *x, lanes4_t *y, const lanes4_t *f) {
    lanes4_gs_each(x, y, f);
    lanes4_neg(y, y);
}
static inline void lanes4_transpose(lanes4_t v[4]) {
    for (int k = 0; k < 4; k++) {
        for (int l = 0; l < k; l++) {
            const cuzk_u256 t = v[k].v[l];
            v[k].v[l] = v[l].v[k];
            v[l].v[k] = t;
        }
    }
}

#endif

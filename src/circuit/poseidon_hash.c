/* The plain hash, by the compressed constants and sparse matrices: about a third of the products
 * that the paper's rounds take. */
#include "circuit/poseidon.h"

#include "field/fields.h"

#include <string.h>

enum { T_MAX = CUZK_POSEIDON_MAX_ARITY + 1 };

typedef cuzk_u256 fr;

/* x^5 + key. */
static inline void sbox(fr *x, const fr *key) {
    fr y;
    cuzk_bls12_381_fr_sqr(&y, x);
    cuzk_bls12_381_fr_sqr(&y, &y);
    cuzk_bls12_381_fr_mul(x, x, &y);
    if (key) cuzk_bls12_381_fr_add(x, x, key);
}

static inline void mul_add(fr *acc, const fr *a, const fr *b) {
    fr x;
    cuzk_bls12_381_fr_mul(&x, a, b);
    cuzk_bls12_381_fr_add(acc, acc, &x);
}

/* A full round: S-boxes, keys (or none), matrix. */
static void full_round(fr *s, const fr *keys, const fr *m, uint32_t t) {
    fr n[T_MAX];
    for (uint32_t i = 0; i < t; i++)
        sbox(&s[i], keys ? &keys[i] : NULL);
    for (uint32_t j = 0; j < t; j++) {
        cuzk_bls12_381_fr_mul(&n[j], &s[0], &m[j]);
        for (uint32_t i = 1; i < t; i++)
            mul_add(&n[j], &s[i], &m[i * t + j]);
    }
    memcpy(s, n, t * sizeof *s);
}

static void partial_round(fr *s, const fr *key, const fr *sparse, uint32_t t) {
    fr first;
    sbox(&s[0], key);
    cuzk_bls12_381_fr_mul(&first, &s[0], &sparse[0]);
    for (uint32_t i = 1; i < t; i++) {
        mul_add(&first, &s[i], &sparse[i]);
        mul_add(&s[i], &s[0], &sparse[t + i - 1]);
    }
    s[0] = first;
}

void cuzk_poseidon_hash(cuzk_u256 *out, const cuzk_poseidon *p, uint64_t tag, const cuzk_u256 *in) {
    const uint32_t t = p->t, half = CUZK_POSEIDON_FULL / 2;
    const fr *key = p->crc;
    fr s[T_MAX];
    cuzk_bls12_381_fr_from_u64(&s[0], tag);
    memcpy(s + 1, in, p->arity * sizeof *s);
    for (uint32_t i = 0; i < t; i++)
        cuzk_bls12_381_fr_add(&s[i], &s[i], key++);
    for (uint32_t r = 0; r < half; r++, key += t)
        full_round(s, key, r == half - 1 ? p->pre : p->mds, t);
    for (uint32_t r = 0; r < p->n_partial; r++)
        partial_round(s, key++, p->sparse + (size_t)r * (2 * t - 1), t);
    for (uint32_t r = 0; r + 1 < half; r++, key += t)
        full_round(s, key, p->mds, t);
    /* of the last round only one element counts */
    fr n;
    for (uint32_t i = 0; i < t; i++)
        sbox(&s[i], NULL);
    cuzk_bls12_381_fr_mul(&n, &s[0], &p->mds[1]);
    for (uint32_t i = 1; i < t; i++)
        mul_add(&n, &s[i], &p->mds[i * t + 1]);
    *out = n;
}

/* Limb-level types and helpers shared by every field, on host (C17) and device (CUDA C++17).
 *
 * Elements are arrays of 64-bit limbs, least significant first, on both sides: buffers are copied
 * between host and device unchanged. */
#ifndef CUZK_FIELD_LIMB_H
#define CUZK_FIELD_LIMB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUZK_HD: a few instructions, always inlined. CUZK_HD_FN: a product or more. On the host the
 * latter are real functions: towers and point formulas nest them several levels deep, and inlining
 * all of it makes functions of a million instructions that take minutes to compile. */
#if defined(__CUDACC__)
#define CUZK_HD __host__ __device__ __forceinline__
#define CUZK_HD_FN __host__ __device__ __forceinline__
#else
#define CUZK_HD inline __attribute__((always_inline))
#define CUZK_HD_FN __attribute__((noinline, unused))
#endif

/* 256 and 384 bits. Whether the limbs hold a plain integer or a Montgomery form is said where a
 * value is declared; names ending in _t of a field (cuzk_bn254_fr_t) are Montgomery forms. */
typedef struct cuzk_u256 {
    uint64_t l[4];
} cuzk_u256;

typedef struct cuzk_u384 {
    uint64_t l[6];
} cuzk_u384;

typedef unsigned __int128 cuzk_u128;

/* r = a + b + carry; returns the carry out. */
static CUZK_HD uint64_t cuzk_addc(uint64_t *r, uint64_t a, uint64_t b, uint64_t carry) {
    cuzk_u128 t = (cuzk_u128)a + b + carry;
    *r = (uint64_t)t;
    return (uint64_t)(t >> 64);
}

/* r = a - b - borrow; returns the borrow out (0 or 1). */
static CUZK_HD uint64_t cuzk_subb(uint64_t *r, uint64_t a, uint64_t b, uint64_t borrow) {
    cuzk_u128 t = (cuzk_u128)a - b - borrow;
    *r = (uint64_t)t;
    return (uint64_t)(t >> 64) & 1;
}

/* r = t + a * b + carry, low half; returns the high half. Never overflows 128 bits. */
static CUZK_HD uint64_t cuzk_muladd(uint64_t *r, uint64_t t, uint64_t a, uint64_t b,
                                    uint64_t carry) {
    cuzk_u128 x = (cuzk_u128)a * b + t + carry;
    *r = (uint64_t)x;
    return (uint64_t)(x >> 64);
}

#endif

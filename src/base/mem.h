/* Memory: checked allocation, large buffers, wiping. The only module that calls malloc. */
#ifndef CUZK_BASE_MEM_H
#define CUZK_BASE_MEM_H

#include "base/status.h"

#include <stddef.h>

/* n * size bytes, zeroed; *out = NULL and CUZK_STATUS_NO_MEMORY on overflow or exhaustion.
 * n == 0 gives a non-NULL pointer that may be freed. Free with cuzk_free. */
cuzk_status cuzk_alloc(void **out, size_t n, size_t size) CUZK_MUST_CHECK;

/* Grows *p (allocated here, or NULL) to n * size bytes, contents kept, new bytes undefined. On
 * failure *p is unchanged. Do not use it for secrets: the old copy is not wiped. */
cuzk_status cuzk_realloc(void **p, size_t n, size_t size) CUZK_MUST_CHECK;

void cuzk_free(void *p);

/* Copies a string; NULL gives NULL out. Free with cuzk_free. */
cuzk_status cuzk_strdup(char **out, const char *s) CUZK_MUST_CHECK;

/* A large zeroed buffer of its own mapping, for vectors that MSM and NTT walk; from 512 KiB on 2
 * MiB aligned, at least 2 MiB of address space, and advised to use huge pages. Free with
 * cuzk_big_free(p, same bytes); wiped by the caller when it held a secret. */
cuzk_status cuzk_big_alloc(void **out, size_t bytes) CUZK_MUST_CHECK;
void cuzk_big_free(void *p, size_t bytes);

/* Wipes a buffer of cuzk_big_alloc and gives its memory back until it is used again: it then reads
 * as zeros. */
void cuzk_big_discard(void *p, size_t bytes);

/* Overwrites memory in a way the compiler may not remove. p may be NULL when n is 0. */
void cuzk_wipe(void *p, size_t n);

/* Overwrites the part of the calling thread's stack below the caller (64 KiB), where finished
 * calls may have left copies of secrets. */
void cuzk_wipe_stack(void);

/* *out = a * b (a + b); false on overflow. */
static inline int cuzk_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline int cuzk_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

#endif

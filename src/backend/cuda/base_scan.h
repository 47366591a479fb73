/* An array of bases on the host without those at infinity, or with them: counted in blocks, each
 * the work of one thread, so that every block's place is known before anything is copied. */
#ifndef CUZK_BACKEND_CUDA_BASE_SCAN_H
#define CUZK_BACKEND_CUDA_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/status.h"
#include "base/thread.h"

enum { CUZK__SCAN_BLOCK = 4096 };

typedef struct cuzk__base_scan {
    const char *bases; /* borrowed; any alignment */
    size_t n, size;    /* size: bytes of a base, a multiple of 8; all zero is infinity */
    bool all;          /* infinities are kept */
    size_t blocks;
    uint32_t *before; /* bases kept before each block, then all */
} cuzk__base_scan;

/* Counts n < 2^32 bases. On NO_MEMORY there is nothing to free. */
cuzk_status cuzk__base_scan_init(cuzk__base_scan *s, const void *bases, size_t n, size_t size,
                                 bool all, cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;
/* Zeroed ones too. */
void cuzk__base_scan_fini(cuzk__base_scan *s);

/* Bases kept. */
static inline uint32_t cuzk__base_scan_kept(const cuzk__base_scan *s) {
    return s->before[s->blocks];
}
/* Behind a block's last base. */
static inline size_t cuzk__base_scan_end(const cuzk__base_scan *s, size_t block) {
    return s->n < (block + 1) * CUZK__SCAN_BLOCK ? s->n : (block + 1) * CUZK__SCAN_BLOCK;
}
/* Whether a base is at infinity, and whether base i is kept. */
bool cuzk__base_is_infinity(const void *base, size_t size);
static inline bool cuzk__base_scan_keeps(const cuzk__base_scan *s, size_t i) {
    return s->all || !cuzk__base_is_infinity(s->bases + i * s->size, s->size);
}

/* Behind the last of the blocks from `first` on that together keep at most `room` bases, but one
 * block at least. */
size_t cuzk__base_scan_span(const cuzk__base_scan *s, size_t first, uint32_t room);
/* Copies what blocks first .. end - 1 keep, in order, by the pool's threads. */
void cuzk__base_scan_copy(const cuzk__base_scan *s, size_t first, size_t end, char *to,
                          cuzk_pool *pool);

#ifdef __cplusplus
}
#endif

#endif

/* See base_scan.h. */
#include "backend/cuda/base_scan.h"

#include "base/mem.h"

#include <string.h>

bool cuzk__base_is_infinity(const void *base, size_t size) {
    const char *p = base;
    uint64_t any = 0, v;
    for (size_t at = 0; at < size; at += 8) {
        memcpy(&v, p + at, 8);
        any |= v;
    }
    return any == 0;
}

static void count_block(void *ctx, size_t block) {
    const cuzk__base_scan *s = ctx;
    const size_t end = cuzk__base_scan_end(s, block);
    uint32_t n = 0;
    for (size_t i = block * CUZK__SCAN_BLOCK; i < end; i++)
        n += cuzk__base_scan_keeps(s, i);
    s->before[block + 1] = n;
}

cuzk_status cuzk__base_scan_init(cuzk__base_scan *s, const void *bases, size_t n, size_t size,
                                 bool all, cuzk_pool *pool, cuzk_err *err) {
    void *mem;
    *s = (cuzk__base_scan){.bases = bases, .n = n, .size = size, .all = all};
    s->blocks = n / CUZK__SCAN_BLOCK + (n % CUZK__SCAN_BLOCK != 0);
    if (cuzk_alloc(&mem, s->blocks + 1, sizeof *s->before) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a key");
    s->before = mem;
    cuzk_pool_run(pool, s->blocks, count_block, s);
    for (size_t i = 0; i < s->blocks; i++)
        s->before[i + 1] += s->before[i];
    return CUZK_OK;
}

void cuzk__base_scan_fini(cuzk__base_scan *s) {
    cuzk_free(s->before);
    s->before = NULL;
}

size_t cuzk__base_scan_span(const cuzk__base_scan *s, size_t first, uint32_t room) {
    size_t end = first + 1;
    while (end < s->blocks && s->before[end + 1] - s->before[first] <= room)
        end++;
    return end;
}

typedef struct block_copy {
    const cuzk__base_scan *scan;
    size_t first;
    char *to;
} block_copy;

static void copy_block(void *ctx, size_t i) {
    const block_copy *c = ctx;
    const cuzk__base_scan *s = c->scan;
    const size_t block = c->first + i, end = cuzk__base_scan_end(s, block);
    char *to = c->to + (size_t)(s->before[block] - s->before[c->first]) * s->size;
    for (size_t at = block * CUZK__SCAN_BLOCK; at < end; at++) {
        if (!cuzk__base_scan_keeps(s, at)) continue;
        memcpy(to, s->bases + at * s->size, s->size);
        to += s->size;
    }
}

void cuzk__base_scan_copy(const cuzk__base_scan *s, size_t first, size_t end, char *to,
                          cuzk_pool *pool) {
    block_copy c = {s, first, to};
    cuzk_pool_run(pool, end - first, copy_block, &c);
}

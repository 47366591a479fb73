#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    HUGE_BYTES = 2 << 20,
    HUGE_FROM = 512 << 10, /* bytes for which one huge page costs less than many small ones */
};

cuzk_status cuzk_alloc(void **out, size_t n, size_t size) {
    size_t bytes;
    *out = NULL;
    /* calloc checks too, but a sanitizer's calloc ends the process instead of failing. */
    if (!cuzk_mul_size(n, size, &bytes)) return CUZK_STATUS_NO_MEMORY;
    *out = calloc(bytes ? bytes : 1, 1);
    return *out ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

cuzk_status cuzk_realloc(void **p, size_t n, size_t size) {
    size_t bytes;
    if (!cuzk_mul_size(n, size, &bytes)) return CUZK_STATUS_NO_MEMORY;
    void *q = realloc(*p, bytes ? bytes : 1);
    if (!q) return CUZK_STATUS_NO_MEMORY;
    *p = q;
    return CUZK_OK;
}

void cuzk_free(void *p) {
    free(p);
}

cuzk_status cuzk_strdup(char **out, const char *s) {
    *out = NULL;
    if (!s) return CUZK_OK;
    *out = strdup(s);
    return *out ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

/* What a large buffer takes of the address space: a huge page at least, unless it is small. */
static size_t mapped_bytes(size_t bytes) {
    if (bytes == 0) bytes = 1;
    if (bytes >= HUGE_FROM && bytes < HUGE_BYTES) bytes = HUGE_BYTES;
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Small requests fall back to ordinary pages: rounding 4 KiB up to 2 MiB would only waste. The
 * mapping is over-allocated by one huge page so that the returned address can be aligned; the
 * slack at both ends is unmapped again, which keeps cuzk_big_free a single call. */
cuzk_status cuzk_big_alloc(void **out, size_t bytes) {
    *out = NULL;
    size_t want;
    if (!cuzk_add_size(bytes, HUGE_BYTES + PAGE, &want)) return CUZK_STATUS_NO_MEMORY;
    const size_t len = mapped_bytes(bytes);
    want = len + HUGE_BYTES;
    int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (len < HUGE_BYTES) {
        void *p = mmap(NULL, len, prot, flags, -1, 0);
        if (p == MAP_FAILED) return CUZK_STATUS_NO_MEMORY;
        *out = p;
        return CUZK_OK;
    }
    char *base = mmap(NULL, want, prot, flags, -1, 0);
    if (base == MAP_FAILED) return CUZK_STATUS_NO_MEMORY;
    size_t head = (size_t)(-(uintptr_t)base & (HUGE_BYTES - 1));
    if (head) munmap(base, head);
    if (want > head + len) munmap(base + head + len, want - head - len);
    madvise(base + head, len, MADV_HUGEPAGE);
    *out = base + head;
    return CUZK_OK;
}

void cuzk_big_free(void *p, size_t bytes) {
    if (!p) return;
    munmap(p, mapped_bytes(bytes));
}

void cuzk_big_discard(void *p, size_t bytes) {
    if (!p || bytes == 0) return;
    cuzk_wipe(p, bytes);
    madvise(p, bytes, MADV_DONTNEED);
}

void cuzk_wipe(void *p, size_t n) {
    if (n) explicit_bzero(p, n);
}

__attribute__((noinline)) void cuzk_wipe_stack(void) {
    char area[64 << 10];
    explicit_bzero(area, sizeof area);
}

/* Scratch for CUB. What CUB asks for is known on a device only and changes with its versions; these
 * sizes are above it, so that what is planned without a device is what is taken on one. Every plan
 * that is made on a device compares. */
#ifndef CUZK_BACKEND_CUDA_CUB_ROOM_H
#define CUZK_BACKEND_CUDA_CUB_ROOM_H

#include <stddef.h>

enum { CUZK__CUB_LEAST = 128 << 10 };

/* Sorting pairs of two 32-bit words: a copy of both between passes, and counts for each tile. */
static inline size_t cuzk__cub_sort_room(size_t pairs) {
    return 9 * pairs + CUZK__CUB_LEAST;
}
/* Scans and selections of 32-bit words: some bytes for each tile. */
static inline size_t cuzk__cub_scan_room(size_t words) {
    return words / 8 + CUZK__CUB_LEAST;
}

#endif

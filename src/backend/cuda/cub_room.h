/* Scratch for CUB. What CUB asks for is known on a device only and changes with its versions. On a
 * device its own figures are taken; plans without one (CUZK__NO_DEVICE) take these, which are above
 * them: `cuzk bench msm` and `bits`, and so test_cuda_kernels, compare. */
#ifndef CUZK_BACKEND_CUDA_CUB_ROOM_H
#define CUZK_BACKEND_CUDA_CUB_ROOM_H

#include <stddef.h>

enum { CUZK__CUB_LEAST = 128 << 10, CUZK__NO_DEVICE = -1 /* a handle's ordinal */ };

/* Sorting pairs of two 32-bit words: a copy of both between passes, and counts for each tile. */
static inline size_t cuzk__cub_sort_room(size_t pairs) {
    return 9 * pairs + CUZK__CUB_LEAST;
}
/* Scans and selections of 32-bit words: some bytes for each tile. */
static inline size_t cuzk__cub_scan_room(size_t words) {
    return words / 8 + CUZK__CUB_LEAST;
}

#endif

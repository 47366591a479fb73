/* What a block may have on the chips from sm_75 to sm_120, and what kernels make of it. Kernels of
 * much shared memory are bound by it: of how many blocks a multiprocessor holds follow the
 * registers that a thread may have (launch bounds, by the architecture compiled for) and the
 * blocks that are worth starting (host, by the device's own figures). */
#ifndef CUZK_BACKEND_CUDA_LIMITS_CUH
#define CUZK_BACKEND_CUDA_LIMITS_CUH

#include <stddef.h>

namespace cuzk_gpu {

/* Bytes of a block beside its dynamic shared memory, at most: the kernels' own arrays, and 1 KiB
 * that the driver takes from sm_80 on. */
constexpr size_t BLOCK_ASIDE = 2048;

/* Of a multiprocessor. */
struct chip_limits {
    int threads;
    size_t shared;
};

/* arch: as __CUDA_ARCH__. */
constexpr chip_limits limits_of(int arch) {
    if (arch < 800) return {1024, 64 << 10};
    if (arch == 800) return {2048, 164 << 10};
    if (arch == 870) return {1536, 164 << 10};
    if (arch < 900 || arch >= 1200) return {1536, 100 << 10};
    return {arch / 10 == 110 ? 1536 : 2048, 228 << 10};
}

/* Blocks of so many threads and bytes that a multiprocessor holds: at most `most`, at least 1. */
constexpr int blocks_held(chip_limits chip, int threads, size_t shared, int most) {
    int n = chip.threads / threads;
    if ((size_t)n * (shared + BLOCK_ASIDE) > chip.shared)
        n = (int)(chip.shared / (shared + BLOCK_ASIDE));
    n = n > most ? most : n;
    return n < 1 ? 1 : n;
}

/* For launch bounds. Host code takes any: nothing there depends on it. */
#ifdef __CUDA_ARCH__
constexpr chip_limits THIS_CHIP = limits_of(__CUDA_ARCH__);
#else
constexpr chip_limits THIS_CHIP = limits_of(900);
#endif

/* Batch-affine additions keep their operands and the running inverse in shared memory, six
 * coordinates a thread (accumulate.cuh). A block of sm_75 has room for five: compiled for it, they
 * keep the inverse in registers. What a block is given, from the bytes of a coordinate of all its
 * threads; 0 when the device has too little. */
enum { STAGE_COORDINATES = 6, STAGE_LEAST = 5 };
constexpr size_t stage_bytes(size_t coordinate, size_t block_shared) {
    for (int n = STAGE_COORDINATES; n >= STAGE_LEAST; n--)
        if (n * coordinate + BLOCK_ASIDE <= block_shared) return n * coordinate;
    return 0;
}

} // namespace cuzk_gpu

#endif

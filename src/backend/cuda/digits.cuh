/* Plain scalars on the device, and their signed digits. */
#ifndef CUZK_BACKEND_CUDA_DIGITS_CUH
#define CUZK_BACKEND_CUDA_DIGITS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace cuzk_gpu {

struct value {
    uint32_t w[8];
};

static __device__ __forceinline__ value load_value(const uint4 *full, uint32_t i) {
    const uint4 a = full[2 * (size_t)i], b = full[2 * (size_t)i + 1];
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

/* The lowest signed digit of v in [-2^(window-1), 2^(window-1)], which is taken off v. */
static __device__ __forceinline__ int take_digit(value &v, int window, int &carry) {
    const uint32_t low = v.w[0] & ((1u << window) - 1);
    for (int k = 0; k < 7; k++)
        v.w[k] = __funnelshift_r(v.w[k], v.w[k + 1], window);
    v.w[7] >>= window;
    int d = (int)low + carry;
    carry = d > 1 << (window - 1);
    if (carry) d -= 1 << window;
    return d;
}

} // namespace cuzk_gpu

#endif

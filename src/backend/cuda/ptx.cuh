/* 32-bit carry chains: the PTX instructions multi-word arithmetic is made of.
 *
 * On the device each function is one instruction that reads or writes the condition-code carry,
 * hence `asm volatile`: the compiler must keep their order. On the host the carry is a
 * thread-local variable, so that every routine built from these can be tested without a GPU. */
#ifndef CUZK_BACKEND_CUDA_PTX_CUH
#define CUZK_BACKEND_CUDA_PTX_CUH

#include <stdint.h>

#define CUZK_GPU_HD static __host__ __device__ __forceinline__
#define CUZK_UNROLL _Pragma("unroll")

namespace cuzk_gpu {

#ifdef __CUDA_ARCH__
#define CUZK__PTX3(name, ins)                                                                      \
    CUZK_GPU_HD void name(uint32_t &x, uint32_t b) {                                               \
        asm volatile(ins " %0, %0, %1;" : "+r"(x) : "r"(b));                                       \
    }
#define CUZK__PTX4(name, ins)                                                                      \
    CUZK_GPU_HD void name(uint32_t &x, uint32_t a, uint32_t b, uint32_t c) {                       \
        asm volatile(ins " %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(c));                   \
    }
CUZK__PTX3(add_cc, "add.cc.u32")
CUZK__PTX3(addc_cc, "addc.cc.u32")
CUZK__PTX3(addc, "addc.u32")
CUZK__PTX3(sub_cc, "sub.cc.u32")
CUZK__PTX3(subc_cc, "subc.cc.u32")
CUZK__PTX3(subc, "subc.u32")
CUZK__PTX4(mad_lo_cc, "mad.lo.cc.u32")
CUZK__PTX4(madc_lo_cc, "madc.lo.cc.u32")
CUZK__PTX4(madc_hi_cc, "madc.hi.cc.u32")
CUZK__PTX4(madc_lo, "madc.lo.u32")
CUZK__PTX4(madc_hi, "madc.hi.u32")
#undef CUZK__PTX3
#undef CUZK__PTX4
CUZK_GPU_HD void mul_wide(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b) {
    asm volatile("mul.lo.u32 %0, %2, %3; mul.hi.u32 %1, %2, %3;"
                 : "=r"(lo), "=r"(hi)
                 : "r"(a), "r"(b));
}
#else
inline thread_local uint32_t host_carry; /* for subtraction it is the borrow */

CUZK_GPU_HD uint32_t host_sum(uint64_t v) {
    host_carry = (uint32_t)(v >> 32);
    return (uint32_t)v;
}
CUZK_GPU_HD uint32_t host_diff(uint64_t v) {
    host_carry = (uint32_t)(v >> 32) & 1;
    return (uint32_t)v;
}
CUZK_GPU_HD uint32_t lo32(uint32_t a, uint32_t b) {
    return a * b;
}
CUZK_GPU_HD uint32_t hi32(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)a * b >> 32);
}
CUZK_GPU_HD void add_cc(uint32_t &x, uint32_t b) {
    x = host_sum((uint64_t)x + b);
}
CUZK_GPU_HD void addc_cc(uint32_t &x, uint32_t b) {
    x = host_sum((uint64_t)x + b + host_carry);
}
CUZK_GPU_HD void addc(uint32_t &x, uint32_t b) {
    x = x + b + host_carry;
}
CUZK_GPU_HD void sub_cc(uint32_t &x, uint32_t b) {
    x = host_diff((uint64_t)x - b);
}
CUZK_GPU_HD void subc_cc(uint32_t &x, uint32_t b) {
    x = host_diff((uint64_t)x - b - host_carry);
}
CUZK_GPU_HD void subc(uint32_t &x, uint32_t b) {
    x = x - b - host_carry;
}
CUZK_GPU_HD void mad_lo_cc(uint32_t &x, uint32_t a, uint32_t b, uint32_t c) {
    x = host_sum((uint64_t)lo32(a, b) + c);
}
CUZK_GPU_HD void madc_lo_cc(uint32_t &x, uint32_t a, uint32_t b, uint32_t c) {
    x = host_sum((uint64_t)lo32(a, b) + c + host_carry);
}
CUZK_GPU_HD void madc_hi_cc(uint32_t &x, uint32_t a, uint32_t b, uint32_t c) {
    x = host_sum((uint64_t)hi32(a, b) + c + host_carry);
}
CUZK_GPU_HD void madc_lo(uint32_t &x, uint32_t a, uint32_t b, uint32_t c) {
    x = lo32(a, b) + c + host_carry;
}
CUZK_GPU_HD void madc_hi(uint32_t &x, uint32_t a, uint32_t b, uint32_t c) {
    x = hi32(a, b) + c + host_carry;
}
CUZK_GPU_HD void mul_wide(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b) {
    lo = lo32(a, b);
    hi = hi32(a, b);
}
#endif

} // namespace cuzk_gpu

#endif

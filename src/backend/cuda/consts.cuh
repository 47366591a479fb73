/* Constants of the four prime fields in 32-bit words, computed by the compiler from the generated
 * field/<curve>_params.h: nothing is written down twice.
 *
 * On the device they live in constant memory, whose words are free operands of the multiply-add
 * instructions; a field is a type with accessor functions, the parameter of every template here. */
#ifndef CUZK_BACKEND_CUDA_CONSTS_CUH
#define CUZK_BACKEND_CUDA_CONSTS_CUH

#include "backend/cuda/ptx.cuh"
#include "field/bls12_381_params.h"
#include "field/bn254_params.h"

namespace cuzk_gpu {

/* Words of 28 bits that hold N words of 32, for the inversion (coinv.cuh). */
constexpr int limbs28(int n) {
    return (32 * n + 27) / 28;
}

template <int N> struct field_consts {
    uint32_t kp[6][N];         /* k * p for k = 0..5, mod 2^(32N) */
    uint32_t neg_p[N];         /* 2^(32N) - p */
    uint32_t one[N];           /* R mod p, R = 2^(32N) */
    uint32_t r2[N];            /* R^2 mod p */
    uint32_t neg_inv[N];       /* -p^-1 mod 2^(32N) */
    int32_t p28[limbs28(N)];   /* p in 28-bit limbs */
    int32_t r2_28[limbs28(N)]; /* R^2 mod p in 28-bit limbs */
    uint32_t inv28;            /* p^-1 mod 2^28 */
};

struct limbs64 {
    uint64_t l[6];
};

template <int N> constexpr int32_t limb28_of(const uint32_t (&w)[N], int i) {
    const int bit = 28 * i, k = bit / 32, s = bit % 32;
    uint64_t v = k < N ? w[k] : 0;
    if (k + 1 < N) v |= (uint64_t)w[k + 1] << 32;
    return (int32_t)((v >> s) & 0xfffffff);
}

template <int N>
constexpr void mul_low(uint32_t (&r)[N], const uint32_t (&a)[N], const uint32_t (&b)[N]) {
    uint32_t t[N] = {};
    for (int i = 0; i < N; i++) {
        uint64_t c = 0;
        for (int j = 0; i + j < N; j++) {
            c += (uint64_t)a[i] * b[j] + t[i + j];
            t[i + j] = (uint32_t)c;
            c >>= 32;
        }
    }
    for (int i = 0; i < N; i++)
        r[i] = t[i];
}

template <int N>
constexpr field_consts<N> make_field_consts(const limbs64 &p, const limbs64 &one,
                                            const limbs64 &r2) {
    field_consts<N> c = {};
    for (int i = 0; i < N; i++) {
        c.kp[1][i] = (uint32_t)(p.l[i / 2] >> (32 * (i % 2)));
        c.one[i] = (uint32_t)(one.l[i / 2] >> (32 * (i % 2)));
        c.r2[i] = (uint32_t)(r2.l[i / 2] >> (32 * (i % 2)));
    }
    for (int k = 2; k < 6; k++) {
        uint64_t t = 0;
        for (int i = 0; i < N; i++) {
            t += (uint64_t)c.kp[k - 1][i] + c.kp[1][i];
            c.kp[k][i] = (uint32_t)t;
            t >>= 32;
        }
    }
    uint64_t t = 1;
    for (int i = 0; i < N; i++) {
        t += (uint32_t)~c.kp[1][i];
        c.neg_p[i] = (uint32_t)t;
        t >>= 32;
    }
    /* Newton: x <- x (2 + n x) for x = -1/p with n = p, doubling the valid bits each time */
    uint32_t x[N] = {}, y[N] = {};
    x[0] = 0xffffffffu; /* p odd: -1 mod 2 */
    for (int i = 1; i < N; i++)
        x[i] = 0xffffffffu;
    for (int it = 0; it < 10; it++) {
        mul_low<N>(y, x, c.kp[1]);
        uint64_t s = 2;
        for (int i = 0; i < N; i++) {
            s += y[i];
            y[i] = (uint32_t)s;
            s >>= 32;
        }
        mul_low<N>(x, x, y);
    }
    for (int i = 0; i < N; i++)
        c.neg_inv[i] = x[i];
    for (int i = 0; i < limbs28(N); i++) {
        c.p28[i] = limb28_of<N>(c.kp[1], i);
        c.r2_28[i] = limb28_of<N>(c.r2, i);
    }
    c.inv28 = (0u - x[0]) & 0xfffffff;
    return c;
}

#ifdef __CUDA_ARCH__
#define CUZK__CONST(name, member) name##_dev.member
#else
#define CUZK__CONST(name, member) name##_host.member
#endif

/* Defines struct `name` for a field of N words from the macros MACRO_MODULUS, _ONE, _R2, _N0. */
#define CUZK_GPU_FIELD(name, n_words, MACRO)                                                       \
    constexpr field_consts<n_words> name##_host = make_field_consts<n_words>(                      \
        limbs64{MACRO##_MODULUS}, limbs64{MACRO##_ONE}, limbs64{MACRO##_R2});                      \
    [[maybe_unused]] static __constant__ field_consts<n_words> name##_dev = name##_host;           \
    struct name {                                                                                  \
        static constexpr int N = n_words;                                                          \
        static constexpr uint32_t n0 = (uint32_t)(MACRO##_N0);                                     \
        static constexpr const field_consts<n_words> &host = name##_host;                          \
        static constexpr uint32_t top = name##_host.kp[1][n_words - 1];                            \
        CUZK_GPU_HD uint32_t kp(int k, int i) { return CUZK__CONST(name, kp[k][i]); }              \
        CUZK_GPU_HD uint32_t neg_p(int i) { return CUZK__CONST(name, neg_p[i]); }                  \
        CUZK_GPU_HD uint32_t one(int i) { return CUZK__CONST(name, one[i]); }                      \
        CUZK_GPU_HD uint32_t r2(int i) { return CUZK__CONST(name, r2[i]); }                        \
        CUZK_GPU_HD uint32_t neg_inv(int i) { return CUZK__CONST(name, neg_inv[i]); }              \
        CUZK_GPU_HD int32_t p28(int i) { return CUZK__CONST(name, p28[i]); }                       \
        CUZK_GPU_HD int32_t r2_28(int i) { return CUZK__CONST(name, r2_28[i]); }                   \
        static constexpr uint32_t inv28 = name##_host.inv28;                                       \
    };

CUZK_GPU_FIELD(bn254_fp, 8, CUZK_BN254_FP)
CUZK_GPU_FIELD(bn254_fr, 8, CUZK_BN254_FR)
CUZK_GPU_FIELD(bls12_381_fp, 12, CUZK_BLS12_381_FP)
CUZK_GPU_FIELD(bls12_381_fr, 8, CUZK_BLS12_381_FR)

} // namespace cuzk_gpu

#endif

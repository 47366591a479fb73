/* Factors of the DFTs of 4 and 8 elements in registers, computed by the compiler: as immediate
 * operands they cost neither registers nor loads, which from constant memory they would.
 *
 * They belong to one root z of order 8 for each field, while plans have w = z^turn, turn odd, by
 * direction and family. A DFT with w of x_j is the DFT with z of x_(turn j mod 8), turn being its
 * own inverse: kernels permute what they load or store on the natural side (turned). */
#ifndef CUZK_BACKEND_CUDA_DFT_FACTORS_CUH
#define CUZK_BACKEND_CUDA_DFT_FACTORS_CUH

#include "backend/cuda/split.cuh"

namespace cuzk_gpu {

/* z^2, (z + z^3) / 2, (z - z^3) / 2. */
enum dft_factor_id { NTT_W4, NTT_W8_SUM, NTT_W8_DIFFERENCE };

/* A root of unity of order 2^log, Montgomery form. */
template <class F> struct dft_origin;
template <> struct dft_origin<bn254_fr> {
    static constexpr limbs64 root = {CUZK_BN254_FR_ROOT_5};
    static constexpr int log = CUZK_BN254_FR_ADICITY;
};
template <> struct dft_origin<bls12_381_fr> {
    static constexpr limbs64 root = {CUZK_BLS12_381_FR_ROOT_5};
    static constexpr int log = CUZK_BLS12_381_FR_ADICITY;
};

/* Canonical residues, for the compiler. */
template <class F> struct residue {
    uint32_t l[8];

    /* l - p where that or `over` says that l is not below p */
    constexpr void settle(bool over) {
        residue t = {};
        uint64_t c = 1;
        for (int i = 0; i < 8; i++) {
            c += (uint64_t)l[i] + (uint32_t)~F::host.kp[1][i];
            t.l[i] = (uint32_t)c;
            c >>= 32;
        }
        if (c || over) *this = t;
    }
    constexpr residue operator+(const residue &b) const {
        residue r = {};
        uint64_t c = 0;
        for (int i = 0; i < 8; i++) {
            c += (uint64_t)l[i] + b.l[i];
            r.l[i] = (uint32_t)c;
            c >>= 32;
        }
        r.settle(c);
        return r;
    }
    constexpr residue operator-() const {
        residue r = {};
        uint64_t c = 1;
        bool zero = true;
        for (int i = 0; i < 8; i++) {
            c += (uint64_t)F::host.kp[1][i] + (uint32_t)~l[i];
            r.l[i] = (uint32_t)c;
            c >>= 32;
            zero = zero && !l[i];
        }
        return zero ? residue{} : r;
    }
    /* Montgomery's product, a word at a time */
    constexpr residue operator*(const residue &b) const {
        uint32_t t[10] = {};
        for (int i = 0; i < 8; i++) {
            uint64_t c = 0;
            for (int j = 0; j < 8; j++) {
                c += (uint64_t)l[i] * b.l[j] + t[j];
                t[j] = (uint32_t)c;
                c >>= 32;
            }
            c += t[8];
            t[8] = (uint32_t)c;
            t[9] = (uint32_t)(c >> 32);
            const uint32_t m = t[0] * F::n0;
            c = ((uint64_t)m * F::host.kp[1][0] + t[0]) >> 32;
            for (int j = 1; j < 8; j++) {
                c += (uint64_t)m * F::host.kp[1][j] + t[j];
                t[j - 1] = (uint32_t)c;
                c >>= 32;
            }
            c += t[8];
            t[7] = (uint32_t)c;
            t[8] = t[9] + (uint32_t)(c >> 32);
        }
        residue r = {};
        for (int i = 0; i < 8; i++)
            r.l[i] = t[i];
        r.settle(t[8]);
        return r;
    }
};

/* z in Montgomery form. */
template <class F> constexpr residue<F> dft_root() {
    residue<F> w = {};
    for (int i = 0; i < 8; i++)
        w.l[i] = (uint32_t)(dft_origin<F>::root.l[i / 2] >> (32 * (i % 2)));
    for (int k = dft_origin<F>::log; k > 3; k--)
        w = w * w;
    return w;
}

template <class F> constexpr split_factor dft_factor(dft_factor_id id) {
    const residue<F> one = {{1}}, z = dft_root<F>(), i = z * z, z3 = i * z;
    residue<F> w = (id == NTT_W4 ? i : id == NTT_W8_SUM ? z + z3 : z + -z3) * one;
    if (id != NTT_W4) { /* half of it: (p + 1) / 2 times 2 is 1 */
        const uint32_t odd = w.l[0] & 1;
        uint64_t c = 0;
        for (int k = 0; k < 8; k++) {
            c += (uint64_t)w.l[k] + (odd ? F::host.kp[1][k] : 0);
            w.l[k] = (uint32_t)c;
            c >>= 32;
        }
        for (int k = 0; k < 8; k++)
            w.l[k] = w.l[k] >> 1 | (k < 7 ? w.l[k + 1] : (uint32_t)c) << 31;
    }
    split_factor f = {};
    for (int k = 0; k < 32 * 7 + 64; k++) {
        w = w + w;
        if (k >= 63 && (k - 63) % 32 == 0)
            for (int j = 0; j < 8; j++)
                f.w[(k - 63) / 32][j] = w.l[j];
    }
    return f;
}

/* The natural place of what a DFT of 2^lr elements with z has in place v, and back. */
CUZK_GPU_HD int turned(int v, int turn, int lr) {
    return v * turn & ((1 << lr) - 1);
}

} // namespace cuzk_gpu

#endif

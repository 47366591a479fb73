/* The kernels' arithmetic in its host form (ptx.cuh emulates the carry chains): lazy Montgomery
 * products, Shoup's products and the batch-affine formulas with the bounds they really meet,
 * against the include-templates. Needs no GPU. Seed: CUZK_TEST_SEED. */
#include "backend/cuda/coords.cuh"
#include "backend/cuda/dev_fields.cuh"
#include "backend/cuda/shoup.cuh"

#include "host_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace cuzk_gpu;

/* A value below p; every sixteenth is an edge. */
template <class F> static void random_value(uint32_t *x, unsigned i) {
    for (int k = 0; k < F::N; k++)
        x[k] = (uint32_t)next_random();
    x[F::N - 1] %= F::kp(1, F::N - 1);
    if (i % 16 == 1)
        for (int k = 0; k < F::N; k++)
            x[k] = 0;
    if (i % 16 == 2)
        for (int k = 0; k < F::N; k++)
            x[k] = F::kp(1, k) - (k == 0);
    if (i % 16 == 3)
        for (int k = 0; k < F::N; k++)
            x[k] = F::one(k);
}

template <class F> static bool same(const uint32_t *a, const uint64_t *limbs) {
    return memcmp(a, limbs, sizeof(uint32_t) * F::N) == 0;
}

/* Products of operands up to 4p and 2p where R allows, squares, and reductions. */
#define TEST_MONT(F, fe, T, LAZY)                                                                  \
    static void mont_##fe() {                                                                      \
        for (unsigned i = 0; i < 4000; i++) {                                                      \
            uint32_t x[F::N], y[F::N], r[F::N];                                                    \
            T a, b, want;                                                                          \
            random_value<F>(x, i);                                                                 \
            random_value<F>(y, i / 16);                                                            \
            memcpy(&a, x, sizeof a);                                                               \
            memcpy(&b, y, sizeof b);                                                               \
            fe##_mul(&want, &a, &b);                                                               \
            for (int k = 0; LAZY && k < (int)(i % 4); k++) {                                       \
                uint32_t p[F::N];                                                                  \
                for (int j = 0; j < F::N; j++)                                                     \
                    p[j] = F::kp(1, j);                                                            \
                add_words<F::N>(x, x, p);                                                          \
            }                                                                                      \
            mont_mul<F>(r, x, y);                                                                  \
            reduce_exact<F, 1>(r);                                                                 \
            expect(same<F>(r, want.l), #fe " mul");                                                \
            fe##_mul(&want, &a, &a);                                                               \
            mont_sqr<F>(r, x);                                                                     \
            if (LAZY)                                                                              \
                canon<F>(r);                                                                       \
            else                                                                                   \
                reduce_exact<F, 1>(r);                                                             \
            expect(same<F>(r, want.l), #fe " sqr");                                                \
        }                                                                                          \
    }
TEST_MONT(bn254_fp, cuzk_bn254_fp, cuzk_u256, 1);
TEST_MONT(bls12_381_fp, cuzk_bls12_381_fp, cuzk_u384, 1);
TEST_MONT(bn254_fr, cuzk_bn254_fr, cuzk_u256, 0);
TEST_MONT(bls12_381_fr, cuzk_bls12_381_fr, cuzk_u256, 0);

template <class F> static void quotients() {
    for (unsigned i = 0; i < 4000; i++) {
        const uint32_t a = i < 2 ? 0u - i : (uint32_t)next_random();
        expect(mont_quotient<F>(a) * F::kp(1, 0) + a == 0, "quotient");
    }
}

/* a w mod p for a < 2p by the pair of w; sums and differences mod 2p. */
#define TEST_SHOUP(F, fe)                                                                          \
    static void shoup_##fe() {                                                                     \
        for (unsigned i = 0; i < 4000; i++) {                                                      \
            uint32_t x[8], w[8], r[8], p1[8];                                                      \
            cuzk_u256 a, b, want;                                                                  \
            shoup_pair pair;                                                                       \
            random_value<F>(x, i);                                                                 \
            random_value<F>(w, i / 16);                                                            \
            memcpy(&a, x, sizeof a);                                                               \
            memcpy(&b, w, sizeof b);                                                               \
            fe##_mul(&want, &a, &b);                                                               \
            shoup_make<F>(&pair, w);                                                               \
            for (int j = 0; j < 8; j++)                                                            \
                p1[j] = F::kp(1, j);                                                               \
            if (i & 1) add_words<8>(x, x, p1);                                                     \
            shoup_mul<F>(r, x, pair.w, pair.wp);                                                   \
            add_mod2p<F>(w, r, x);                                                                 \
            sub_mod2p<F>(w, w, x);                                                                 \
            reduce_exact<F, 1>(r);                                                                 \
            reduce_exact<F, 1>(w);                                                                 \
            expect(same<F>(r, want.l), #fe " Shoup");                                              \
            expect(same<F>(w, want.l), #fe " sum and difference");                                 \
        }                                                                                          \
    }
TEST_SHOUP(bn254_fr, cuzk_bn254_fr);
TEST_SHOUP(bls12_381_fr, cuzk_bls12_381_fr);

template <class F> static bool at_most(const uint32_t *x, int k) {
    for (int i = F::N - 1; i >= 0; i--)
        if (x[i] != F::kp(k, i)) return x[i] < F::kp(k, i);
    return true;
}

/* What two lanes do with an element of Fp2, as one type of coordinates: c0, then c1. Each step is
 * held to lane_of_fp2's bounds. Calls: inlined, they would take the compiler minutes. */
template <class F> struct both_lanes {
    typedef lane_of_fp2<F> L;
    static constexpr int H = F::N, N = 2 * H;

    [[gnu::noinline]] static void bounded(const uint32_t *x, int k, const char *what) {
        expect(at_most<F>(x, k) && at_most<F>(x + H, k), what);
    }
    [[gnu::noinline]] static void mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        uint32_t t[N];
        bounded(a, L::OPERAND, "first operand");
        bounded(b, L::OPERAND, "second operand");
        uint32_t v[2][2 * H], m[2][3 * H / 2];
        for (int odd = 0; odd < 2; odd++)
            L::products(v[odd], m[odd], a + odd * H, a + (1 - odd) * H, b + odd * H,
                        b + (1 - odd) * H, odd);
        for (int odd = 0; odd < 2; odd++)
            L::join(t + odd * H, v[odd], m[odd], v[1 - odd], m[1 - odd], odd);
        bounded(t, L::OPERAND, "product");
        copy_words<N>(r, t);
    }
    [[gnu::noinline]] static void sqr(uint32_t *r, const uint32_t *a) {
        uint32_t t[N];
        bounded(a, L::OPERAND, "square's operand");
        for (int odd = 0; odd < 2; odd++)
            L::sqr(t + odd * H, a, a + H, odd);
        bounded(t, L::OPERAND, "square");
        copy_words<N>(r, t);
    }
    [[gnu::noinline]] static void diff(uint32_t *r, const uint32_t *p, const uint32_t *a) {
        for (int at = 0; at < N; at += H)
            L::diff(r + at, p + at, a + at);
        bounded(r, L::OPERAND, "difference");
    }
    [[gnu::noinline]] static void x3(uint32_t *x, const uint32_t *ax, const uint32_t *px) {
        for (int at = 0; at < N; at += H)
            L::x3(x + at, ax + at, px + at);
        bounded(x, L::ACC, "x");
    }
    [[gnu::noinline]] static void fall(uint32_t *r, const uint32_t *ax, const uint32_t *x3) {
        for (int at = 0; at < N; at += H)
            L::fall(r + at, ax + at, x3 + at);
        bounded(r, L::OPERAND, "fall");
    }
    [[gnu::noinline]] static void y3(uint32_t *y, const uint32_t *ay) {
        for (int at = 0; at < N; at += H)
            L::y3(y + at, ay + at);
        bounded(y, L::ACC, "y");
    }
    static void neg(uint32_t *r, const uint32_t *y) {
        L::neg(r, y);
        L::neg(r + H, y + H);
    }
    static void settle(uint32_t *) {}
    static void canon(uint32_t *a) {
        L::canon(a);
        L::canon(a + H);
    }
};

/* A value of at most k p, every eighth just that. */
template <class F> static void random_lazy(uint32_t *x, int k, unsigned i) {
    uint32_t p[F::N];
    for (int j = 0; j < F::N; j++)
        p[j] = F::kp(1, j);
    random_value<F>(x, i / 8);
    for (unsigned n = next_random() % (unsigned)k; n; n--)
        add_words<F::N>(x, x, p);
    for (int j = 0; i % 8 == 7 && j < F::N; j++)
        x[j] = F::kp(k, j);
}

/* Products, squares and the steps around them with operands as large as they may be. */
#define TEST_LANES(F, fe)                                                                          \
    static void lanes_##fe() {                                                                     \
        typedef both_lanes<F> E;                                                                   \
        typedef lane_of_fp2<F> L;                                                                  \
        constexpr int H = F::N, N = E::N;                                                          \
        for (unsigned i = 0; i < 4096; i++) {                                                      \
            uint32_t a[N], b[N], ax[N], p[N], r[N], t[N];                                          \
            fe##2_t x, y, want;                                                                    \
            for (int at = 0; at < N; at += H) {                                                    \
                random_lazy<F>(a + at, L::OPERAND, i >> (at ? 3 : 0));                             \
                random_lazy<F>(b + at, L::OPERAND, i >> (at ? 9 : 6));                             \
                random_lazy<F>(ax + at, L::ACC, i >> (at ? 2 : 4));                                \
                random_value<F>(p + at, i >> (at ? 1 : 5));                                        \
            }                                                                                      \
            copy_words<N>(t, a);                                                                   \
            E::canon(t);                                                                           \
            memcpy(&x, t, sizeof x);                                                               \
            copy_words<N>(t, b);                                                                   \
            E::canon(t);                                                                           \
            memcpy(&y, t, sizeof y);                                                               \
            E::mul(r, a, b);                                                                       \
            E::canon(r);                                                                           \
            fe##2_mul(&want, &x, &y);                                                              \
            expect(!memcmp(r, &want, sizeof r), #fe " product in two lanes");                      \
            E::sqr(r, a);                                                                          \
            copy_words<N>(t, r);                                                                   \
            E::canon(r);                                                                           \
            fe##2_sqr(&want, &x);                                                                  \
            expect(!memcmp(r, &want, sizeof r), #fe " square in two lanes");                       \
            E::x3(t, ax, p);                                                                       \
            E::fall(b, ax, t);                                                                     \
            E::canon(t);                                                                           \
            E::canon(b);                                                                           \
            E::diff(r, p, ax);                                                                     \
            E::mul(r, r, a);                                                                       \
            E::y3(r, ax);                                                                          \
            E::canon(r);                                                                           \
            E::canon(ax);                                                                          \
            memcpy(&y, ax, sizeof y);                                                              \
            fe##2_sub(&want, &want, &y);                                                           \
            fe##2_t q, u;                                                                          \
            memcpy(&q, p, sizeof q);                                                               \
            fe##2_sub(&want, &want, &q);                                                           \
            expect(!memcmp(t, &want, sizeof t), #fe " x in two lanes");                            \
            fe##2_sub(&u, &y, &want);                                                              \
            expect(!memcmp(b, &u, sizeof b), #fe " fall in two lanes");                            \
            fe##2_sub(&u, &q, &y);                                                                 \
            fe##2_mul(&u, &u, &x);                                                                 \
            fe##2_sub(&u, &u, &y);                                                                 \
            expect(!memcmp(r, &u, sizeof r), #fe " y in two lanes");                               \
        }                                                                                          \
    }
TEST_LANES(bn254_fp, cuzk_bn254_fp);
TEST_LANES(bls12_381_fp, cuzk_bls12_381_fp);

/* Eight accumulators, 200 rounds, random signs: the sequence of accumulate.cuh with the inversion
 * by the template. */
#define TEST_ROUNDS(E_, fe, g, T, GEN)                                                             \
    static void rounds_##g() {                                                                     \
        typedef E_ E;                                                                              \
        constexpr int N = E::N, M = 8, POOL = 64;                                                  \
        static g##_affine_t pool[POOL], want[M];                                                   \
        g##_xyzz_t t;                                                                              \
        uint32_t ax[M][N], ay[M][N];                                                               \
        const g##_affine_t gen = GEN;                                                              \
        g##_xyzz_from_affine(&t, &gen);                                                            \
        for (int i = 0; i < POOL; i++) {                                                           \
            g##_xyzz_to_affine(&pool[i], &t);                                                      \
            g##_xyzz_add_affine(&t, &t, &gen);                                                     \
        }                                                                                          \
        for (int i = 0; i < M; i++) {                                                              \
            want[i] = pool[3 * i + 1];                                                             \
            memcpy(ax[i], &want[i].x, sizeof ax[i]);                                               \
            memcpy(ay[i], &want[i].y, sizeof ay[i]);                                               \
        }                                                                                          \
        for (int r = 0; r < 200; r++) {                                                            \
            uint32_t d[M][N], prefix[M][N], prod[N], inv[N], c[N];                                 \
            g##_affine_t add[M];                                                                   \
            for (int i = 0; i < M; i++) {                                                          \
                uint32_t px[N];                                                                    \
                do {                                                                               \
                    add[i] = pool[next_random() % POOL];                                           \
                    memcpy(px, &add[i].x, sizeof px);                                              \
                    E::diff(d[i], px, ax[i]);                                                      \
                    copy_words<N>(c, d[i]);                                                        \
                    E::canon(c);                                                                   \
                } while (words_zero<N>(c));                                                        \
                if (i == 0) {                                                                      \
                    copy_words<N>(prod, d[i]);                                                     \
                } else {                                                                           \
                    copy_words<N>(prefix[i], prod);                                                \
                    E::mul(prod, prod, d[i]);                                                      \
                }                                                                                  \
            }                                                                                      \
            T u;                                                                                   \
            E::settle(prod);                                                                       \
            E::canon(prod);                                                                        \
            memcpy(&u, prod, sizeof u);                                                            \
            fe##_inv(&u, &u);                                                                      \
            memcpy(inv, &u, sizeof inv);                                                           \
            for (int i = M - 1; i >= 0; i--) {                                                     \
                uint32_t w[N], px[N], py[N], x3[N], y3[N], slope[N];                               \
                if (i) {                                                                           \
                    E::mul(w, inv, prefix[i]);                                                     \
                    E::mul(inv, inv, d[i]);                                                        \
                } else {                                                                           \
                    copy_words<N>(w, inv);                                                         \
                }                                                                                  \
                E::settle(w);                                                                      \
                memcpy(px, &add[i].x, sizeof px);                                                  \
                memcpy(py, &add[i].y, sizeof py);                                                  \
                if (next_random() & 1) {                                                           \
                    E::neg(py, py);                                                                \
                    g##_affine_neg(&add[i], &add[i]);                                              \
                }                                                                                  \
                E::diff(slope, py, ay[i]);                                                         \
                E::mul(slope, slope, w);                                                           \
                E::sqr(x3, slope);                                                                 \
                E::x3(x3, ax[i], px);                                                              \
                E::fall(y3, ax[i], x3);                                                            \
                E::mul(y3, slope, y3);                                                             \
                E::y3(y3, ay[i]);                                                                  \
                copy_words<N>(ax[i], x3);                                                          \
                copy_words<N>(ay[i], y3);                                                          \
                g##_xyzz_from_affine(&t, &want[i]);                                                \
                g##_xyzz_add_affine(&t, &t, &add[i]);                                              \
                g##_xyzz_to_affine(&want[i], &t);                                                  \
                E::canon(x3);                                                                      \
                E::canon(y3);                                                                      \
                expect(!memcmp(x3, &want[i].x, sizeof x3) && !memcmp(y3, &want[i].y, sizeof y3),   \
                       #g " addition");                                                            \
            }                                                                                      \
        }                                                                                          \
    }
TEST_ROUNDS(coord_fp<bn254_fp>, cuzk_bn254_fp, cuzk_bn254_g1, cuzk_u256, CUZK_BN254_G1_GEN);
TEST_ROUNDS(coord_fp<bls12_381_fp>, cuzk_bls12_381_fp, cuzk_bls12_381_g1, cuzk_u384,
            CUZK_BLS12_381_G1_GEN);
TEST_ROUNDS(both_lanes<bn254_fp>, cuzk_bn254_fp2, cuzk_bn254_g2, cuzk_bn254_fp2_t,
            CUZK_BN254_G2_GEN);
TEST_ROUNDS(both_lanes<bls12_381_fp>, cuzk_bls12_381_fp2, cuzk_bls12_381_g2, cuzk_bls12_381_fp2_t,
            CUZK_BLS12_381_G2_GEN);

int main() {
    const char *seed = getenv("CUZK_TEST_SEED");
    state = seed ? strtoull(seed, NULL, 0) : 20261129;
    printf("seed %llu\n", (unsigned long long)state);
    quotients<bn254_fp>();
    quotients<bn254_fr>();
    quotients<bls12_381_fp>();
    quotients<bls12_381_fr>();
    mont_cuzk_bn254_fp();
    mont_cuzk_bls12_381_fp();
    mont_cuzk_bn254_fr();
    mont_cuzk_bls12_381_fr();
    shoup_cuzk_bn254_fr();
    shoup_cuzk_bls12_381_fr();
    rounds_cuzk_bn254_g1();
    rounds_cuzk_bls12_381_g1();
    lanes_cuzk_bn254_fp();
    lanes_cuzk_bls12_381_fp();
    rounds_cuzk_bn254_g2();
    rounds_cuzk_bls12_381_g2();
    printf("%d wrong\n", failures);
    return failures != 0;
}

/* Field arithmetic: device against host on random and boundary values, and throughput. */
#include "bench.cuh"

#include "backend/cuda/dev_fields.cuh"
#include "backend/cuda/shoup.cuh"

#include <string.h>

using namespace cuzk_gpu;

enum { OPS = 8 };

#define FIELD_OPS(fe, T)                                                                           \
    struct fe##_case {                                                                             \
        typedef T type;                                                                            \
        static __host__ __device__ void run(T *r, const T *a, const T *b) {                        \
            fe##_mul(&r[0], a, b);                                                                 \
            fe##_sqr(&r[1], a);                                                                    \
            fe##_add(&r[2], a, b);                                                                 \
            fe##_sub(&r[3], a, b);                                                                 \
            fe##_neg(&r[4], a);                                                                    \
            fe##_dbl(&r[5], b);                                                                    \
            fe##_to_mont(&r[6], a);                                                                \
            fe##_from_mont(&r[7], b);                                                              \
        }                                                                                          \
        static bool canonical(const T *a) { return fe##_is_canonical(a); }                         \
    };
FIELD_OPS(cuzk_bn254_fp, cuzk_u256)
FIELD_OPS(cuzk_bn254_fr, cuzk_u256)
FIELD_OPS(cuzk_bls12_381_fp, cuzk_u384)
FIELD_OPS(cuzk_bls12_381_fr, cuzk_u256)

template <class C>
__global__ void field_run(typename C::type *r, const typename C::type *a, const typename C::type *b,
                          int n) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) C::run(r + (size_t)i * OPS, a + i, b + i);
}

/* a[i] by the constant b[i] (Montgomery): Shoup's product, canonical. */
template <class F>
__global__ void shoup_run(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b, int n) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    uint32_t x[8], w[8];
    split_limbs<8>(x, a[i].l);
    split_limbs<8>(w, b[i].l);
    shoup_pair p;
    shoup_make<F>(&p, w);
    add_words<8>(x, x, x); /* any value below 2p is allowed: use 2a, then compare with 2ab */
    shoup_mul<F>(x, x, p.w, p.wp);
    reduce_exact<F, 1>(x);
    join_words<8>(r[i].l, x);
}

/* Random, and every pair of 0, 1, p-1, p-2, R mod p, 2^k-1 patterns below p. */
template <class C>
static void make_values(std::vector<typename C::type> *a, std::vector<typename C::type> *b,
                        uint64_t seed) {
    typedef typename C::type T;
    std::vector<T> edge;
    T x;
    memset(&x, 0, sizeof x);
    edge.push_back(x);
    x.l[0] = 1;
    edge.push_back(x);
    T zero, one[OPS];
    memset(&zero, 0, sizeof zero);
    C::run(one, &zero, &x); /* [3]: 0 - 1 = p - 1; [6]: to_mont(0); */
    edge.push_back(one[3]);
    T m = one[3];
    m.l[0]--;
    edge.push_back(m);
    C::run(one, &x, &x);
    edge.push_back(one[6]);
    for (unsigned k = 31; k < 8 * sizeof(T); k += 31) {
        memset(&x, 0, sizeof x);
        for (unsigned i = 0; i < k; i++)
            x.l[i / 64] |= (uint64_t)1 << (i % 64);
        if (C::canonical(&x)) edge.push_back(x);
    }
    for (const T &u : edge)
        for (const T &v : edge)
            a->push_back(u), b->push_back(v);
    bench_rng rng = {seed};
    while (a->size() < 8192) {
        T u, v;
        do
            for (uint64_t &l : u.l)
                l = rng.next();
        while (u.l[sizeof(T) / 8 - 1] >>= 1, !C::canonical(&u));
        do
            for (uint64_t &l : v.l)
                l = rng.next();
        while (v.l[sizeof(T) / 8 - 1] >>= 1, !C::canonical(&v));
        a->push_back(u), b->push_back(v);
    }
}

template <class F> __global__ __launch_bounds__(128) void mul_rate(uint32_t *out, int n) {
    uint32_t x[F::N], y[F::N];
    CUZK_UNROLL for (int i = 0; i < F::N; i++) {
        x[i] = F::one(i) ^ (i < 2 ? threadIdx.x : 0);
        y[i] = F::r2(i);
    }
    for (int k = 0; k < n; k++)
        mont_mul<F>(x, x, y);
    for (int i = 1; i < F::N; i++)
        x[0] ^= x[i];
    out[blockIdx.x * 128 + threadIdx.x] = x[0];
}

template <class F> __global__ __launch_bounds__(128) void shoup_rate(uint32_t *out, int n) {
    uint32_t x[8];
    shoup_pair p;
    CUZK_UNROLL for (int i = 0; i < 8; i++) x[i] = F::r2(i);
    shoup_make<F>(&p, x);
    x[0] ^= threadIdx.x;
    for (int k = 0; k < n; k++)
        shoup_mul<F>(x, x, p.w, p.wp);
    for (int i = 1; i < 8; i++)
        x[0] ^= x[i];
    out[blockIdx.x * 128 + threadIdx.x] = x[0];
}

struct field_buffers {
    void *a = NULL, *b = NULL, *r = NULL;
};

template <class C, class F>
static cuzk_status field_case(cuzk_cuda *dev, const bench_options &o, bench_report *rep,
                              const char *curve, const char *group, cuzk_err *err) {
    typedef typename C::type T;
    std::vector<T> a, b;
    make_values<C>(&a, &b, 1);
    const int n = (int)a.size();
    std::vector<T> host((size_t)n * OPS), got((size_t)n * OPS);
    for (int i = 0; i < n; i++)
        C::run(&host[(size_t)i * OPS], &a[i], &b[i]);
    field_buffers d;
    CUZK_TRY(cuzk_cuda_alloc(dev, &d.a, n * sizeof(T), err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &d.b, n * sizeof(T), err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &d.r, n * sizeof(T) * OPS, err));
    CUZK_TRY(cuzk_cuda_upload(dev, d.a, a.data(), n * sizeof(T), err));
    CUZK_TRY(cuzk_cuda_upload(dev, d.b, b.data(), n * sizeof(T), err));
    field_run<C><<<(n + 127) / 128, 128, 0, dev->stream>>>((T *)d.r, (T *)d.a, (T *)d.b, n);
    CUZK_CUDA_LAUNCHED();
    CUZK_TRY(cuzk_cuda_download(dev, got.data(), d.r, n * sizeof(T) * OPS, err));
    bool ok = memcmp(got.data(), host.data(), host.size() * sizeof(T)) == 0;
    /* the same words through the host emulation of the carry chains */
    for (int i = 0; i < n && ok; i++) {
        uint32_t x[F::N], y[F::N], z[F::N];
        memcpy(x, &a[i], sizeof(T)), memcpy(y, &b[i], sizeof(T));
        mont_mul<F>(z, x, y);
        reduce_exact<F, 1>(z);
        mont_sqr<F>(x, x);
        reduce_exact<F, 1>(x);
        ok = memcmp(z, &host[(size_t)i * OPS], sizeof(T)) == 0 &&
             memcmp(x, &host[(size_t)i * OPS + 1], sizeof(T)) == 0;
    }
    std::vector<float> ms;
    const int iters = o.quick ? 100 : 4000, blocks = dev->info.sms * 4;
    void *out;
    CUZK_TRY(cuzk_cuda_alloc(dev, &out, (size_t)blocks * 128 * 4, err));
    CUZK_TRY(bench_time(dev, o.runs, &ms, err, [&]() -> cuzk_status {
        mul_rate<F><<<blocks, 128, 0, dev->stream>>>((uint32_t *)out, iters);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }));
    auto rate = [&]() {
        char text[64];
        float best = ms[0];
        for (float t : ms)
            best = t < best ? t : best;
        snprintf(text, sizeof text, "\"g_per_s\":%.2f", 1e-6 * blocks * 128.0 * iters / best);
        return std::string(text);
    };
    const double products = blocks * 128.0 * iters;
    rep->row("mont_mul", curve, group, 0, "montgomery", ok, ms,
             bench_wides_ms(dev, products * (F::N == 8 ? 136 : 300)), 0, rate());
    if constexpr (F::N == 8) {
        shoup_run<F><<<(n + 127) / 128, 128, 0, dev->stream>>>((cuzk_u256 *)d.r, (cuzk_u256 *)d.a,
                                                               (cuzk_u256 *)d.b, n);
        CUZK_CUDA_LAUNCHED();
        std::vector<T> prod(n);
        CUZK_TRY(cuzk_cuda_download(dev, prod.data(), d.r, n * sizeof(T), err));
        bool good = true;
        for (int i = 0; i < n; i++) {
            T twice[OPS];
            C::run(twice, &host[(size_t)i * OPS], &host[(size_t)i * OPS]);
            good = good && memcmp(&twice[2], &prod[i], sizeof(T)) == 0;
        }
        CUZK_TRY(bench_time(dev, o.runs, &ms, err, [&]() -> cuzk_status {
            shoup_rate<F><<<blocks, 128, 0, dev->stream>>>((uint32_t *)out, iters);
            CUZK_CUDA_LAUNCHED();
            return CUZK_OK;
        }));
        rep->row("shoup_mul", curve, group, 0, "shoup", good, ms,
                 bench_wides_ms(dev, products * bench_shoup_wides(strcmp(curve, "bn254") == 0)), 0,
                 rate());
    }
    cuzk_cuda_free(dev, out);
    cuzk_cuda_free(dev, d.a);
    cuzk_cuda_free(dev, d.b);
    cuzk_cuda_free(dev, d.r);
    return CUZK_OK;
}

cuzk_status bench_field(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err) {
    if (o.curve != CUZK_BN254) {
        CUZK_TRY((
            field_case<cuzk_bls12_381_fp_case, bls12_381_fp>(dev, o, rep, "bls12_381", "fp", err)));
        CUZK_TRY((
            field_case<cuzk_bls12_381_fr_case, bls12_381_fr>(dev, o, rep, "bls12_381", "fr", err)));
    }
    if (o.curve != CUZK_BLS12_381) {
        CUZK_TRY((field_case<cuzk_bn254_fp_case, bn254_fp>(dev, o, rep, "bn254", "fp", err)));
        CUZK_TRY((field_case<cuzk_bn254_fr_case, bn254_fr>(dev, o, rep, "bn254", "fr", err)));
    }
    return CUZK_OK;
}

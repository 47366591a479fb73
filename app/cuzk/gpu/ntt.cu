/* Transforms: every order and direction against a direct evaluation of the definition (host, all
 * outputs, small sizes; device, some outputs, large sizes) and against each other, then timed. */
#include "bench.cuh"

#include "backend/cuda/dev_fields.cuh"
#include "backend/cuda/ntt_small.h"

#include <string.h>

using namespace cuzk_gpu;

static size_t reverse_index(size_t i, unsigned bits) {
    size_t r = 0;
    for (unsigned k = 0; k < bits; k++)
        r |= (i >> k & 1) << (bits - 1 - k);
    return r;
}

/* out[t] = sum over 256 consecutive j of x[j] w^(j k), Horner, by the templates' arithmetic. */
#define EVAL_KERNEL(fr)                                                                            \
    __global__ void fr##_eval(cuzk_u256 *out, const cuzk_u256 *x, size_t n, cuzk_u256 wk) {        \
        const size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                            \
        if (t * 256 >= n) return;                                                                  \
        const size_t len = n < 256 ? n : 256;                                                      \
        cuzk_u256 acc;                                                                             \
        fr##_set_zero(&acc);                                                                       \
        for (size_t j = len; j-- > 0;) {                                                           \
            fr##_mul(&acc, &acc, &wk);                                                             \
            fr##_add(&acc, &acc, &x[t * 256 + j]);                                                 \
        }                                                                                          \
        out[t] = acc;                                                                              \
    }                                                                                              \
    __global__ void fr##_fill(cuzk_u256 *x, size_t n, uint64_t seed, int kind) {                   \
        const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                            \
        if (i >= n) return;                                                                        \
        bench_rng r = {seed + i * 4};                                                              \
        cuzk_u256 v;                                                                               \
        for (int k = 0; k < 4; k++)                                                                \
            v.l[k] = r_next(&r);                                                                   \
        if (kind == 1) v.l[0] &= 1, v.l[1] = v.l[2] = v.l[3] = 0;                                  \
        v.l[3] %= 0x30644e72e131a029u; /* below both moduli */                                     \
        x[i] = v;                                                                                  \
    }
static __device__ uint64_t r_next(bench_rng *r) {
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
EVAL_KERNEL(cuzk_bn254_fr)
EVAL_KERNEL(cuzk_bls12_381_fr)

__global__ void count_different(const uint4 *a, const uint4 *b, size_t n, unsigned *count) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint4 x = a[i], y = b[i];
    if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w) atomicAdd(count, 1u);
}

struct ntt_case {
    cuzk_cuda *dev;
    const cuzk_fr_ops *fr;
    bool bn;
    unsigned log2n, family;
    size_t n;
    cuzk_u256 *x, *x0, *part; /* device: work, input, partial sums */

    void fill(uint64_t seed, int kind) {
        const unsigned grid = (unsigned)((n + 255) / 256);
        (bn ? cuzk_bn254_fr_fill
            : cuzk_bls12_381_fr_fill)<<<grid, 256, 0, dev->stream>>>(x0, n, seed, kind);
    }
    cuzk_status restore(cuzk_err *err) {
        CUZK_CUDA(cudaMemcpyAsync(x, x0, n * 32, cudaMemcpyDeviceToDevice, dev->stream));
        return CUZK_OK;
    }
    /* sum_j x0[j] p^j */
    cuzk_status evaluate(const cuzk_u256 &p, cuzk_u256 *out, cuzk_err *err) {
        const size_t parts = (n + 255) / 256;
        (bn ? cuzk_bn254_fr_eval
            : cuzk_bls12_381_fr_eval)<<<(unsigned)((parts + 63) / 64), 64, 0, dev->stream>>>(
            part, x0, n, p);
        CUZK_CUDA_LAUNCHED();
        std::vector<cuzk_u256> h(parts);
        CUZK_TRY(cuzk_cuda_download(dev, h.data(), part, parts * 32, err));
        cuzk_u256 step = p;
        for (int i = 0; i < 8; i++)
            fr->mul(&step, &step, &step);
        memset(out, 0, sizeof *out);
        for (size_t i = parts; i-- > 0;) {
            fr->mul(out, out, &step);
            fr->add(out, out, &h[i]);
        }
        return CUZK_OK;
    }
    cuzk_status at(size_t i, cuzk_u256 *out, cuzk_err *err) {
        return cuzk_cuda_download(dev, out, x + i, 32, err);
    }
    /* Reorders x on the host by bit reversal (untimed, small sizes). */
    cuzk_status reverse(cuzk_err *err) {
        std::vector<cuzk_u256> h(n), g(n);
        CUZK_TRY(cuzk_cuda_download(dev, h.data(), x, n * 32, err));
        for (size_t i = 0; i < n; i++)
            g[reverse_index(i, log2n)] = h[i];
        return cuzk_cuda_upload(dev, x, g.data(), n * 32, err);
    }
    /* Clears *ok unless x equals x0. */
    cuzk_status same(bool *ok, cuzk_err *err) {
        unsigned different = 0, *count = (unsigned *)part;
        CUZK_CUDA(cudaMemsetAsync(count, 0, sizeof *count, dev->stream));
        count_different<<<(unsigned)((n * 2 + 255) / 256), 256, 0, dev->stream>>>(
            (const uint4 *)x, (const uint4 *)x0, n * 2, count);
        CUZK_CUDA_LAUNCHED();
        CUZK_TRY(cuzk_cuda_download(dev, &different, count, sizeof different, err));
        *ok = *ok && different == 0;
        return CUZK_OK;
    }
};

/* Forward NR of x0 against evaluation at w^k for some k (all k when the size is tiny). */
static cuzk_status check_forward(ntt_case *c, const cuzk_cuda_ntt *plan, cuzk_ntt_order order,
                                 const cuzk_u256 *coset, const cuzk_cuda_ntt_scale *scale, bool *ok,
                                 cuzk_err *err) {
    CUZK_TRY(c->restore(err));
    if (order == CUZK_NTT_RN) CUZK_TRY(c->reverse(err));
    CUZK_TRY(cuzk_cuda_ntt_run(plan, c->x, CUZK_NTT_FORWARD, order, scale, err));
    cuzk_u256 w;
    cuzk_fr_root(c->fr, &w, c->family, c->log2n);
    const size_t picks[6] = {0,        1 % c->n,     c->n / 2,
                             c->n - 1, 12345 % c->n, (size_t)(0x9e3779b97f4a7c15u >> 20) % c->n};
    for (size_t i = 0; i < (c->n <= 64 ? c->n : 6); i++) {
        const size_t k = c->n <= 64 ? i : picks[i];
        const uint64_t e = k;
        cuzk_u256 p, want, got;
        c->fr->pow(&p, &w, &e, 1);
        if (coset) c->fr->mul(&p, &p, coset);
        CUZK_TRY(c->evaluate(p, &want, err));
        CUZK_TRY(c->at(order == CUZK_NTT_NR ? reverse_index(k, c->log2n) : k, &got, err));
        if (memcmp(&want, &got, 32) != 0) {
            *ok = false;
            fprintf(stderr, "ntt 2^%u order %d coset %d: output %zu differs\n", c->log2n,
                    (int)order, coset != NULL, k);
        }
    }
    return CUZK_OK;
}

static cuzk_status check_case(ntt_case *c, const cuzk_cuda_ntt *plan, bool *ok, cuzk_err *err) {
    const bool small = c->log2n <= 22;
    cuzk_u256 g, g_inv;
    const cuzk_u256 five = {{5, 0, 0, 0}};
    c->fr->to_mont(&g, &five);
    c->fr->inv(&g_inv, &g);
    cuzk_cuda_ntt_scale *fwd, *inv;
    CUZK_TRY(cuzk_cuda_ntt_scale_new(&fwd, plan, CUZK_NTT_FORWARD, &g, err));
    CUZK_TRY(cuzk_cuda_ntt_scale_new(&inv, plan, CUZK_NTT_INVERSE, &g_inv, err));
    for (int kind = 0; kind < 2; kind++) {
        c->fill(77 + c->log2n, kind);
        CUZK_CUDA_LAUNCHED();
        CUZK_TRY(check_forward(c, plan, CUZK_NTT_NR, NULL, NULL, ok, err));
        /* forward NR then inverse RN is the identity */
        CUZK_TRY(cuzk_cuda_ntt_run(plan, c->x, CUZK_NTT_INVERSE, CUZK_NTT_RN, NULL, err));
        CUZK_TRY(c->same(ok, err));
        if (!*ok)
            fprintf(stderr, "ntt 2^%u: forward NR, inverse RN is not the identity\n", c->log2n);
        if (small) {
            CUZK_TRY(check_forward(c, plan, CUZK_NTT_RN, NULL, NULL, ok, err));
            CUZK_TRY(check_forward(c, plan, CUZK_NTT_RN, &g, fwd, ok, err));
        }
        /* inverse NR, forward RN is the identity; with h = 1/g and h = g as well, which ties the
         * inverse's factors to the checked forward ones */
        CUZK_TRY(c->restore(err));
        CUZK_TRY(cuzk_cuda_ntt_run(plan, c->x, CUZK_NTT_INVERSE, CUZK_NTT_NR, NULL, err));
        CUZK_TRY(cuzk_cuda_ntt_run(plan, c->x, CUZK_NTT_FORWARD, CUZK_NTT_RN, NULL, err));
        CUZK_TRY(c->same(ok, err));
        if (!*ok)
            fprintf(stderr, "ntt 2^%u: inverse NR, forward RN is not the identity\n", c->log2n);
        CUZK_TRY(c->restore(err));
        CUZK_TRY(cuzk_cuda_ntt_run(plan, c->x, CUZK_NTT_INVERSE, CUZK_NTT_NR, inv, err));
        CUZK_TRY(cuzk_cuda_ntt_run(plan, c->x, CUZK_NTT_FORWARD, CUZK_NTT_RN, fwd, err));
        CUZK_TRY(c->same(ok, err));
        if (!*ok) fprintf(stderr, "ntt 2^%u: coset round trip is not the identity\n", c->log2n);
    }
    cuzk_cuda_ntt_scale_free(fwd);
    cuzk_cuda_ntt_scale_free(inv);
    return CUZK_OK;
}

/* dirs: of cuzk_cuda_ntt_new. */
static cuzk_status one_size(cuzk_cuda *dev, const bench_options &o, cuzk_curve_id curve,
                            unsigned log2n, unsigned dirs, bench_report *rep, cuzk_err *err) {
    const bool bn = curve == CUZK_BN254;
    const char *name = bn ? "bn254" : "bls12_381";
    const size_t n = (size_t)1 << log2n;
    ntt_case c = {dev,          bn ? &cuzk_bn254_fr_ops : &cuzk_bls12_381_fr_ops,
                  bn,           log2n,
                  bn ? 5u : 7u, n,
                  NULL,         NULL,
                  NULL};
    void *x, *x0, *part;
    CUZK_TRY(cuzk_cuda_alloc(dev, &x, n * 32, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &x0, n * 32, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &part, (n + 255) / 256 * 32, err));
    c.x = (cuzk_u256 *)x, c.x0 = (cuzk_u256 *)x0, c.part = (cuzk_u256 *)part;
    cuzk_cuda_ntt *plan;
    CUZK_TRY(cuzk_cuda_ntt_new(&plan, dev, curve, log2n, c.family, dirs, err));
    bool ok = true;
    CUZK_TRY(check_case(&c, plan, &ok, err));
    struct {
        const char *variant;
        cuzk_ntt_dir dir;
        cuzk_ntt_order order;
    } runs[4] = {{"forward_nr", CUZK_NTT_FORWARD, CUZK_NTT_NR},
                 {"forward_rn", CUZK_NTT_FORWARD, CUZK_NTT_RN},
                 {"inverse_nr", CUZK_NTT_INVERSE, CUZK_NTT_NR},
                 {"inverse_nr_coset", CUZK_NTT_INVERSE, CUZK_NTT_NR}};
    cuzk_cuda_ntt_scale *scale;
    CUZK_TRY(cuzk_cuda_ntt_scale_new(&scale, plan, CUZK_NTT_INVERSE, &c.fr->root_5, err));
    for (int i = 0; i < (o.quick ? 1 : 4); i++) {
        std::vector<float> ms;
        c.fill(5, 0);
        CUZK_TRY(c.restore(err));
        CUZK_TRY(bench_time(dev, o.runs, &ms, err, [&]() {
            return cuzk_cuda_ntt_run(plan, x, runs[i].dir, runs[i].order, i == 3 ? scale : NULL,
                                     err);
        }));
        char extra[96];
        int len[CUZK__NTT_MAX_PASSES];
        const int passes = cuzk__cuda_ntt_split(log2n, len);
        const double products = (double)n * (log2n / 2.0 - 1); /* but for factors of one */
        snprintf(extra, sizeof extra, "\"table_bytes\":%zu,\"passes\":%d,\"small_tables\":%s",
                 cuzk_cuda_ntt_bytes(log2n, dirs), passes,
                 (dirs & CUZK_NTT_SMALL_TABLES) ? "true" : "false");
        rep->row("ntt", name, "fr", log2n, runs[i].variant, ok, ms,
                 bench_wides_ms(dev, products * bench_shoup_wides(bn)), 64.0 * passes * (double)n,
                 extra);
    }
    cuzk_cuda_ntt_scale_free(scale);
    cuzk_cuda_ntt_free(plan);
    cuzk_cuda_free(dev, x);
    cuzk_cuda_free(dev, x0);
    cuzk_cuda_free(dev, part);
    return CUZK_OK;
}

/* "8+7+7": the passes of the one size that is timed. */
static cuzk_status take_passes(const bench_options &o, cuzk_err *err) {
    int len[CUZK__NTT_MAX_PASSES] = {};
    const char *at = o.pattern;
    bool ok = true;
    for (int i = 0; ok && *at; i++) {
        ok = i < CUZK__NTT_MAX_PASSES && *at >= '6' && *at <= '9' && (at[1] == '+' || !at[1]);
        if (!ok) break;
        len[i] = *at - '0';
        at += at[1] ? 2 : 1;
    }
    if (ok && o.log2_lo == o.log2_hi && cuzk__cuda_ntt_try_split(o.log2_lo, len)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE,
                        "--pattern %s: passes of 6 to 9 bits, as in 8+7+7, that add up to the one "
                        "size timed",
                        o.pattern);
}

cuzk_status bench_ntt(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err) {
    if (o.pattern) CUZK_TRY(take_passes(o, err));
    for (int k = 0; k < 2; k++) {
        const cuzk_curve_id curve = k ? CUZK_BN254 : CUZK_BLS12_381;
        if (o.curve && o.curve != curve) continue;
        for (unsigned log2n = o.log2_lo; log2n <= o.log2_hi; log2n += o.step) {
            if (cuzk__cuda_ntt_dirs(log2n, 3, dev->info.block_shared) == 3)
                CUZK_TRY(one_size(dev, o, curve, log2n, 3, rep, err));
            CUZK_TRY(one_size(dev, o, curve, log2n, 3 | CUZK_NTT_SMALL_TABLES, rep, err));
        }
    }
    return CUZK_OK;
}

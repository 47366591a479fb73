/* Multi-scalar multiplication with an exact known answer: base i is (s + pi(i)) G or infinity and
 * scalar i a known function, so the sum is (sum k_i (s + pi(i))) G, one multiplication on the host.
 * The scalars' sum is taken on the device with the templates' field arithmetic. */
#include "bench.cuh"

#include "backend/cuda/cub_room.h"
#include "backend/cuda/dev_fields.cuh"

#include <string.h>

using namespace cuzk_gpu;

namespace {

/* Patterns of scalars and of bases. */
enum scalar_kind {
    S_UNIFORM,
    S_ZERO,
    S_ONE,
    S_MINUS_ONE,
    S_EQUAL,
    S_HALF_EQUAL,
    S_WITNESS,
    S_SIGNS,
    S_SORTED
};
enum base_kind { B_DISTINCT, B_FIVE, B_INFINITIES };

struct pattern {
    const char *name;
    scalar_kind scalars;
    base_kind bases;
};
const pattern patterns[] = {
    {"uniform", S_UNIFORM, B_DISTINCT},
    {"zeros", S_ZERO, B_DISTINCT},
    {"ones", S_ONE, B_DISTINCT},
    {"minus_ones", S_MINUS_ONE, B_DISTINCT},
    {"all_equal", S_EQUAL, B_DISTINCT},
    {"half_equal", S_HALF_EQUAL, B_DISTINCT},
    {"witness", S_WITNESS, B_DISTINCT},
    {"sorted", S_SORTED, B_DISTINCT},
    {"five_bases", S_UNIFORM, B_FIVE},
    {"five_bases_signs", S_SIGNS, B_FIVE},
    {"five_bases_equal", S_EQUAL, B_FIVE},
    {"infinities", S_UNIFORM, B_INFINITIES},
    {"infinities_ones", S_ONE, B_INFINITIES},
};

__host__ __device__ uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__device__ cuzk_u256 uniform_scalar(uint64_t seed, const cuzk_u256 &r) {
    cuzk_u256 v;
    for (int k = 0; k < 4; k++)
        v.l[k] = mix(seed * 4 + k + 0x1234567);
    v.l[3] %= r.l[3];
    return v;
}

__device__ cuzk_u256 scalar_at(size_t i, scalar_kind kind, const cuzk_u256 &r) {
    cuzk_u256 v = {{0, 0, 0, 0}}, minus_one = r;
    minus_one.l[0] -= 1; /* r is odd */
    const uint64_t h = mix(i + 99);
    switch (kind) {
    case S_UNIFORM:
        return uniform_scalar(i, r);
    case S_ZERO:
        return v;
    case S_ONE:
        v.l[0] = 1;
        return v;
    case S_MINUS_ONE:
        return minus_one;
    case S_EQUAL:
        return uniform_scalar(7, r);
    case S_HALF_EQUAL:
        return uniform_scalar(h & 1 ? i : 7, r);
    case S_WITNESS: /* mostly bits, some small, few full */
        if (h % 100 < 98)
            v.l[0] = h >> 40 & 1;
        else if (h % 100 == 98)
            v.l[0] = h >> 32;
        else
            return uniform_scalar(i, r);
        return v;
    case S_SORTED: /* ascending, in every digit's place */
        for (int k = 0; k < 4; k++)
            v.l[k] = (uint64_t)i << (k < 3 ? 24 : 20);
        return v;
    case S_SIGNS:
        v.l[0] = 1;
        return h & 1 ? v : minus_one;
    }
    return v;
}

/* pi(i), or no base (infinity). */
__device__ bool base_at(size_t i, base_kind kind, uint64_t *pi) {
    *pi = kind == B_FIVE ? i % 5 : i;
    return !(kind == B_INFINITIES && mix(i) % 3 == 0);
}

/* Writes the scalars, and each block's sum of k_i (s + pi(i)) in Montgomery form. */
#define SCALAR_KERNEL(fr)                                                                          \
    __global__ __launch_bounds__(256) void fr##_scalars(cuzk_u256 *out, cuzk_u256 *sums, size_t n, \
                                                        cuzk_u256 s, cuzk_u256 r, scalar_kind sk,  \
                                                        base_kind bk) {                            \
        __shared__ cuzk_u256 shared[256];                                                          \
        const size_t i = blockIdx.x * (size_t)256 + threadIdx.x;                                   \
        cuzk_u256 acc;                                                                             \
        fr##_set_zero(&acc);                                                                       \
        if (i < n) {                                                                               \
            const cuzk_u256 k = scalar_at(i, sk, r);                                               \
            uint64_t pi;                                                                           \
            out[i] = k;                                                                            \
            if (base_at(i, bk, &pi)) {                                                             \
                cuzk_u256 t, km;                                                                   \
                fr##_from_u64(&t, pi);                                                             \
                fr##_add(&t, &t, &s);                                                              \
                fr##_to_mont(&km, &k);                                                             \
                fr##_mul(&acc, &km, &t);                                                           \
            }                                                                                      \
        }                                                                                          \
        shared[threadIdx.x] = acc;                                                                 \
        for (int h = 128; h; h >>= 1) {                                                            \
            __syncthreads();                                                                       \
            if ((int)threadIdx.x < h)                                                              \
                fr##_add(&shared[threadIdx.x], &shared[threadIdx.x], &shared[threadIdx.x + h]);    \
        }                                                                                          \
        if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];                                        \
    }
SCALAR_KERNEL(cuzk_bn254_fr)
SCALAR_KERNEL(cuzk_bls12_381_fr)

/* Bases of a pattern from the table T[j] = (s + j) G; point_words of 16 bytes. */
__global__ void gather_bases(uint4 *out, const uint4 *table, size_t n, int point_words,
                             base_kind kind) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t pi;
    const bool present = base_at(i, kind, &pi);
    for (int k = 0; k < point_words; k++)
        out[i * point_words + k] = present ? table[pi * point_words + k] : make_uint4(0, 0, 0, 0);
}

struct msm_case {
    cuzk_cuda *dev;
    const cuzk_curve *curve;
    const cuzk_group_ops *ops;
    cuzk_group group;
    const cuzk__cuda_group_ops *g;
    size_t n;
    cuzk_u256 s; /* Montgomery */
    void *table, *bases, *scalars, *sums;
};

/* By doubling the table: T[j + m] = T[j] + m G. */
cuzk_status make_table(msm_case *c, cuzk_err *err) {
    const cuzk_fr_ops *fr = c->curve->fr;
    cuzk_point p;
    cuzk_u256 k;
    fr->from_mont(&k, &c->s);
    c->ops->mul(p.b, c->ops->generator, &k);
    CUZK_TRY(cuzk_cuda_upload(c->dev, c->table, p.b, c->ops->point_size, err));
    for (size_t m = 1; m < c->n; m *= 2) {
        const cuzk_u256 plain = {{m, 0, 0, 0}};
        c->ops->mul(p.b, c->ops->generator, &plain);
        const size_t count = c->n - m < m ? c->n - m : m;
        CUZK_TRY(c->g->add_constant(c->dev, c->table, (char *)c->table + m * c->ops->point_size,
                                    count, p.b, err));
    }
    return cuzk_cuda_sync(c->dev, err);
}

/* Some of the table's points against the host: *ok stays true when all are right. */
cuzk_status check_table(msm_case *c, bool *ok, cuzk_err *err) {
    const size_t picks[4] = {0, 1 % c->n, c->n / 2, c->n - 1};
    for (size_t j : picks) {
        const cuzk_u256 plain = {{j, 0, 0, 0}};
        cuzk_u256 k;
        cuzk_point want, got;
        c->curve->fr->to_mont(&k, &plain);
        c->curve->fr->add(&k, &k, &c->s);
        c->curve->fr->from_mont(&k, &k);
        c->ops->mul(want.b, c->ops->generator, &k);
        CUZK_TRY(cuzk_cuda_download(c->dev, got.b, (char *)c->table + j * c->ops->point_size,
                                    c->ops->point_size, err));
        if (memcmp(want.b, got.b, c->ops->point_size) != 0) {
            fprintf(stderr, "msm %s: base %zu is wrong\n", c->curve->name, j);
            *ok = false;
        }
    }
    return CUZK_OK;
}

cuzk_status make_pattern(msm_case *c, const pattern *p, cuzk_point *want, cuzk_err *err) {
    const cuzk_fr_ops *fr = c->curve->fr;
    const unsigned grid = (unsigned)((c->n + 255) / 256);
    const bool bn = c->curve->id == CUZK_BN254;
    gather_bases<<<grid, 256, 0, c->dev->stream>>>((uint4 *)c->bases, (const uint4 *)c->table, c->n,
                                                   (int)(c->ops->point_size / 16), p->bases);
    CUZK_CUDA_LAUNCHED();
    (bn ? cuzk_bn254_fr_scalars : cuzk_bls12_381_fr_scalars)<<<grid, 256, 0, c->dev->stream>>>(
        (cuzk_u256 *)c->scalars, (cuzk_u256 *)c->sums, c->n, c->s, fr->modulus, p->scalars,
        p->bases);
    CUZK_CUDA_LAUNCHED();
    std::vector<cuzk_u256> sums(grid);
    CUZK_TRY(cuzk_cuda_download(c->dev, sums.data(), c->sums, grid * sizeof(cuzk_u256), err));
    cuzk_u256 total = {{0, 0, 0, 0}};
    for (const cuzk_u256 &v : sums)
        fr->add(&total, &total, &v);
    fr->from_mont(&total, &total);
    memset(want, 0, sizeof *want);
    c->ops->mul(want->b, c->ops->generator, &total);
    return CUZK_OK;
}

/* What a plan without a device counts is not less than what one with it takes. */
cuzk_status counts_enough(const msm_case *c, cuzk_cuda_msm_config cfg, bool *ok, cuzk_err *err) {
    cuzk__arena arena = {};
    cuzk_cuda probe = *c->dev;
    cuzk_cuda_msm_info info[2];
    arena.measuring = true;
    probe.arena = &arena;
    if (!cfg.factor) cfg.factor = 1;
    for (int absent = 0; absent < 2; absent++) {
        cuzk_cuda_msm *msm;
        if (absent) probe.ordinal = CUZK__NO_DEVICE;
        CUZK_TRY(cuzk_cuda_msm_new(&msm, &probe, &cfg, NULL, err));
        cuzk_cuda_msm_get_info(msm, &info[absent]);
        cuzk_cuda_msm_free(msm);
    }
    *ok = info[1].scratch_bytes >= info[0].scratch_bytes;
    return CUZK_OK;
}

cuzk_status run_pattern(msm_case *c, const pattern *p, unsigned log2n, unsigned factor,
                        unsigned reps, unsigned window, bench_report *rep, cuzk_err *err) {
    cuzk_point want, got;
    CUZK_TRY(make_pattern(c, p, &want, err));
    const cuzk_cuda_msm_config cfg = {c->curve->id, c->group, c->n, window, factor, 0, false};
    cuzk_cuda_msm *msm;
    CUZK_TRY(cuzk_cuda_mark(c->dev, 2, err));
    CUZK_TRY(cuzk_cuda_msm_new(&msm, c->dev, &cfg, c->bases, err));
    CUZK_TRY(cuzk_cuda_mark(c->dev, 3, err));
    float setup;
    CUZK_TRY(cuzk_cuda_elapsed(c->dev, 2, 3, &setup, err));
    bool ok;
    CUZK_TRY(counts_enough(c, cfg, &ok, err));
    std::vector<float> ms;
    cuzk_cuda_msm_times best = {}, t;
    for (unsigned i = 0; i <= reps; i++) {
        const int64_t t0 = bench_now_ns();
        CUZK_TRY(cuzk_cuda_msm_run(msm, c->scalars, &got, err));
        const float wall = (float)(bench_now_ns() - t0) * 1e-6f;
        ok = ok && memcmp(got.b, want.b, c->ops->point_size) == 0;
        if (i == 0 && reps > 0) continue;
        CUZK_TRY(cuzk_cuda_msm_get_times(msm, &t, err));
        bool least = true;
        for (float v : ms)
            least = least && wall < v;
        if (least) best = t;
        ms.push_back(wall);
    }
    cuzk_cuda_msm_info info;
    cuzk_cuda_msm_get_info(msm, &info);
    char extra[512];
    snprintf(
        extra, sizeof extra,
        "\"n\":%zu,\"window\":%u,\"windows\":%u,\"sets\":%u,\"factor\":%u,\"table_bytes\":%zu,"
        "\"scratch_bytes\":%zu,\"setup_ms\":%.1f,\"stage_ms\":{\"sort\":%.3f,\"accumulate\":%.3f,"
        "\"reduce\":%.3f,\"combine\":%.3f}",
        c->n, info.window, info.windows, info.sets, info.factor, info.table_bytes,
        info.scratch_bytes, setup, best.sort, best.accumulate, best.reduce, best.combine);
    char variant[64];
    snprintf(variant, sizeof variant, "%s%s", p->name, info.factor > 1 ? "_pre" : "");
    /* an addition for each digit, two for each bucket */
    const bench_group_cost cost = bench_cost(c->curve->id, c->group);
    const double digits = (double)c->n * info.windows;
    const double buckets = (double)info.sets * (double)(1u << (info.window - 1));
    rep->row("msm", c->curve->name, c->group == CUZK_G1 ? "g1" : "g2", log2n, variant, ok, ms,
             bench_wides_ms(c->dev, digits * cost.affine + 2 * buckets * cost.xyzz),
             digits * (double)c->ops->point_size + 32.0 * (double)c->n, extra);
    cuzk_cuda_msm_free(msm);
    return CUZK_OK;
}

/* One curve and group at one size: uniform with and without a table, then, where patterns are
 * asked for, the adversarial ones. n is not a power of two when quick. */
cuzk_status one_size(cuzk_cuda *dev, const bench_options &o, cuzk_curve_id id, cuzk_group group,
                     unsigned log2n, bench_report *rep, cuzk_err *err) {
    msm_case c = {};
    c.dev = dev;
    c.curve = cuzk_curve_get(id);
    c.ops = cuzk_curve_group(c.curve, group);
    c.group = group;
    c.g = cuzk__cuda_group(id, group);
    c.n = ((size_t)1 << log2n) - (o.quick && log2n > 2 ? 3 : 0);
    const cuzk_u256 secret = {{0x123456789abcdef1u, 0xfedcba9876543210u, 0x0f1e2d3c4b5a6978u, 5}};
    c.curve->fr->to_mont(&c.s, &secret);
    CUZK_TRY(c.g->prepare(c.dev, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c.table, c.n * c.ops->point_size, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c.bases, c.n * c.ops->point_size, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c.scalars, c.n * 32, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c.sums, (c.n + 255) / 256 * 32, err));
    CUZK_TRY(make_table(&c, err));
    bool bases_ok = true;
    CUZK_TRY(check_table(&c, &bases_ok, err));
    if (!bases_ok) rep->failures++;
    const unsigned reps = o.quick ? 0 : o.runs;
    for (const pattern &p : patterns) {
        if (!o.patterns && strcmp(p.name, o.pattern ? o.pattern : patterns[0].name) != 0) continue;
        CUZK_TRY(run_pattern(&c, &p, log2n, 1, reps, o.window, rep, err));
        if (o.factor != 1 && (&p == patterns || o.quick || !o.patterns))
            CUZK_TRY(run_pattern(&c, &p, log2n, o.factor, reps, o.window, rep, err));
    }
    cuzk_cuda_free(dev, c.table);
    cuzk_cuda_free(dev, c.bases);
    cuzk_cuda_free(dev, c.scalars);
    cuzk_cuda_free(dev, c.sums);
    return CUZK_OK;
}

} // namespace

cuzk_status bench_table(cuzk_cuda *dev, cuzk_curve_id curve, cuzk_group group, size_t n,
                        const cuzk_u256 *s, void *out, bool *ok, cuzk_err *err) {
    msm_case c = {};
    c.dev = dev;
    c.curve = cuzk_curve_get(curve);
    c.ops = cuzk_curve_group(c.curve, group);
    c.g = cuzk__cuda_group(curve, group);
    c.n = n;
    c.s = *s;
    c.table = out;
    CUZK_TRY(c.g->prepare(c.dev, err));
    CUZK_TRY(make_table(&c, err));
    return check_table(&c, ok, err);
}

cuzk_status bench_msm(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err) {
    CUZK_TRY(bench_find_pattern(o.pattern, patterns, err));
    return bench_sizes(dev, o, rep, one_size, err);
}

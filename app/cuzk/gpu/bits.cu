/* Sums of chosen bases with an exact known answer: base i is +-(s + pi(i)) G or infinity, so the
 * sum is (c s + d) G for counts c, d that the host adds up. */
#include "bench.cuh"

#include "backend/cuda/cub_room.h"

#include <algorithm>
#include <string.h>

namespace {

enum bit_kind { K_RANDOM, K_NONE, K_ALL, K_LAST, K_EVERY_OTHER };
enum base_kind { B_DISTINCT, B_FIVE, B_SIGNS, B_INFINITIES };
struct pattern {
    const char *name;
    bit_kind bits;
    base_kind bases;
    bool slots;
};
const pattern patterns[] = {
    {"random", K_RANDOM, B_DISTINCT, false},
    {"random_slots", K_RANDOM, B_DISTINCT, true},
    {"none", K_NONE, B_DISTINCT, false},
    {"all", K_ALL, B_DISTINCT, false},
    {"last", K_LAST, B_DISTINCT, true},
    {"every_other", K_EVERY_OTHER, B_DISTINCT, true},
    {"five_bases", K_ALL, B_FIVE, false},
    {"five_bases_signs", K_ALL, B_SIGNS, false},
    {"five_signs_slots", K_RANDOM, B_SIGNS, true},
    {"infinities", K_ALL, B_INFINITIES, true},
};

/* Ones among the bits of a 32 GiB partition's witness. */
const double DENSITY = 0.47;

__host__ __device__ uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

bool bit_at(size_t i, size_t n, bit_kind kind) {
    switch (kind) {
    case K_RANDOM:
        return (double)(mix(i + 12345) >> 40) < DENSITY * (1 << 24);
    case K_NONE:
        return false;
    case K_ALL:
        return true;
    case K_LAST:
        return i + 1 == n;
    case K_EVERY_OTHER:
        return i & 1;
    }
    return false;
}

/* Base i: entry of the table (s + j) G, or of the eleven special points: +-(s + j) G for j < 5 and
 * infinity. */
__host__ __device__ size_t base_at(size_t i, base_kind kind, bool *special) {
    *special = kind != B_DISTINCT;
    const uint64_t h = mix(i + 77);
    if (kind == B_FIVE) return i % 5;
    if (kind == B_SIGNS) return h % 10;
    if (kind == B_INFINITIES) {
        *special = h % 3 == 0;
        return *special ? 10 : i;
    }
    return i;
}

__global__ void gather(uint4 *out, const uint4 *table, const uint4 *special, size_t n, int words,
                       base_kind kind) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool from_special;
    const size_t j = base_at(i, kind, &from_special);
    for (int k = 0; k < words; k++)
        out[i * words + k] = (from_special ? special : table)[j * words + k];
}

/* The bit that chooses base i of n: some other order, which stays near i. */
uint32_t slot_of(size_t i, size_t n) {
    const size_t j = i ^ (mix(i >> 6) & 63);
    return (uint32_t)(j < n ? n - 1 - j : n - 1 - i);
}

const cuzk_u256 zero = {{0, 0, 0, 0}};

struct bits_case {
    cuzk_cuda *dev;
    const cuzk_curve *curve;
    const cuzk_group_ops *ops;
    cuzk_group group;
    size_t n;
    cuzk_u256 s; /* Montgomery */
    void *table, *bases, *special, *bits, *slots;
};

cuzk_status make_special(bits_case *c, cuzk_err *err) {
    const size_t size = c->ops->point_size;
    std::vector<char> host(11 * size, 0);
    const cuzk_fr_ops *fr = c->curve->fr;
    for (uint64_t j = 0; j < 10; j++) {
        const cuzk_u256 plain = {{j % 5, 0, 0, 0}};
        cuzk_u256 k;
        fr->to_mont(&k, &plain);
        fr->add(&k, &k, &c->s);
        if (j >= 5) fr->sub(&k, &zero, &k);
        fr->from_mont(&k, &k);
        c->ops->mul(&host[j * size], c->ops->generator, &k);
    }
    return cuzk_cuda_upload(c->dev, c->special, host.data(), host.size(), err);
}

/* (c s + d) G */
void expected(const bits_case *c, int64_t count, int64_t rest, cuzk_point *want) {
    const cuzk_fr_ops *fr = c->curve->fr;
    auto signed_value = [&](cuzk_u256 *r, int64_t v) {
        const cuzk_u256 plain = {{(uint64_t)(v < 0 ? -v : v), 0, 0, 0}};
        fr->to_mont(r, &plain);
        if (v < 0) fr->sub(r, &zero, r);
    };
    cuzk_u256 k, d;
    signed_value(&k, count);
    signed_value(&d, rest);
    fr->mul(&k, &k, &c->s);
    fr->add(&k, &k, &d);
    fr->from_mont(&k, &k);
    memset(want, 0, sizeof *want);
    c->ops->mul(want->b, c->ops->generator, &k);
}

/* Fills device bits, slots and bases; the answer. */
cuzk_status make_pattern(bits_case *c, const pattern *p, size_t n, int64_t *ones, cuzk_point *want,
                         cuzk_err *err) {
    std::vector<uint64_t> bits(n / 64 + 2, 0);
    for (size_t i = 0; i < n; i++)
        bits[i / 64] |= (uint64_t)bit_at(i, n, p->bits) << (i % 64);
    std::vector<uint32_t> slots(p->slots ? n : 0);
    int64_t count = 0, rest = 0;
    *ones = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t at = p->slots ? slots[i] = slot_of(i, n) : i;
        if (!(bits[at / 64] >> (at % 64) & 1)) continue;
        ++*ones;
        bool special;
        const size_t j = base_at(i, p->bases, &special);
        if (special && j == 10) continue;
        const int64_t sign = special && j >= 5 ? -1 : 1;
        count += sign;
        rest += sign * (int64_t)(special ? j % 5 : j);
    }
    expected(c, count, rest, want);
    CUZK_TRY(cuzk_cuda_upload(c->dev, c->bits, bits.data(), bits.size() * 8, err));
    if (p->slots) CUZK_TRY(cuzk_cuda_upload(c->dev, c->slots, slots.data(), n * 4, err));
    gather<<<(unsigned)((n + 255) / 256), 256, 0, c->dev->stream>>>(
        (uint4 *)c->bases, (const uint4 *)c->table, (const uint4 *)c->special, n,
        (int)(c->ops->point_size / 16), p->bases);
    CUZK_CUDA_LAUNCHED();
    return cuzk_cuda_sync(c->dev, err);
}

const char *group_name(cuzk_group g) {
    return g == CUZK_G1 ? "g1" : "g2";
}

/* An addition for each base that is chosen. */
double floor_ms(const bits_case *c, int64_t ones) {
    return bench_wides_ms(c->dev, (double)ones * bench_cost(c->curve->id, c->group).affine);
}

double bytes_read(const bits_case *c, int64_t ones, size_t n) {
    return (double)ones * (double)c->ops->point_size + (double)n / 8;
}

cuzk_status run_pattern(bits_case *c, const pattern *p, unsigned log2n, unsigned reps,
                        bench_report *rep, cuzk_err *err) {
    cuzk_point want, got;
    int64_t ones;
    CUZK_TRY(make_pattern(c, p, c->n, &ones, &want, err));
    const cuzk_cuda_bits_config cfg = {
        c->curve->id, c->group, c->n, c->bases, p->slots ? (const uint32_t *)c->slots : NULL,
        NULL,         false};
    cuzk_cuda_bits *plan;
    CUZK_TRY(cuzk_cuda_bits_new(&plan, c->dev, &cfg, err));
    std::vector<float> ms;
    bool ok = true;
    CUZK_TRY(bench_time(c->dev, reps, &ms, err, [&]() -> cuzk_status {
        return cuzk_cuda_bits_queue(plan, (const uint64_t *)c->bits, err);
    }));
    CUZK_TRY(cuzk_cuda_bits_finish(plan, &got, err));
    cuzk_cuda absent = *c->dev; /* a plan without a device counts no less */
    absent.ordinal = CUZK__NO_DEVICE;
    ok = memcmp(got.b, want.b, c->ops->point_size) == 0 &&
         cuzk_cuda_bits_scratch(&absent, &cfg) >= cuzk_cuda_bits_scratch(c->dev, &cfg);
    const float best = *std::min_element(ms.begin(), ms.end());
    char extra[160];
    snprintf(extra, sizeof extra, "\"n\":%zu,\"ones\":%lld,\"scratch_bytes\":%zu,\"g_per_s\":%.3f",
             c->n, (long long)ones, cuzk_cuda_bits_scratch(c->dev, &cfg), 1e-6 * ones / best);
    rep->row("bits", c->curve->name, group_name(c->group), log2n, p->name, ok, ms,
             floor_ms(c, ones), bytes_read(c, ones, c->n), extra);
    cuzk_cuda_bits_free(plan);
    return CUZK_OK;
}

cuzk_status open_case(bits_case *c, cuzk_cuda *dev, cuzk_curve_id curve, cuzk_group group, size_t n,
                      bool copy, bench_report *rep, cuzk_err *err) {
    *c = {};
    c->dev = dev;
    c->curve = cuzk_curve_get(curve);
    c->ops = cuzk_curve_group(c->curve, group);
    c->group = group;
    c->n = n;
    const cuzk_u256 secret = {{0x123456789abcdef1u, 0xfedcba9876543210u, 0x0f1e2d3c4b5a6978u, 5}};
    c->curve->fr->to_mont(&c->s, &secret);
    const size_t size = c->ops->point_size;
    CUZK_TRY(cuzk_cuda_alloc(dev, &c->table, n * size, err));
    if (copy) CUZK_TRY(cuzk_cuda_alloc(dev, &c->bases, n * size, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c->special, 11 * size, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c->bits, (n / 64 + 2) * 8, err));
    CUZK_TRY(cuzk_cuda_alloc(dev, &c->slots, n * 4, err));
    bool ok = true;
    CUZK_TRY(bench_table(dev, curve, group, n, &c->s, c->table, &ok, err));
    if (!ok) rep->failures++;
    return make_special(c, err);
}

void close_case(bits_case *c) {
    void *all[] = {c->table, c->bases, c->special, c->bits, c->slots};
    for (void *p : all)
        cuzk_cuda_free(c->dev, p);
}

/* The ones of L, A and B1 of a 32 GiB partition: 128,470,791 wires are bits, all of them in L and A
 * but for a few, and a quarter in B. Three plans over the same bases, queued together, sharing
 * scratch; B1 through slots. */
cuzk_status partition(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err) {
    const size_t sizes[3] = {128470791, 128060000, 32600000};
    const char *names[3] = {"partition_l", "partition_a", "partition_b1"};
    bits_case c;
    CUZK_TRY(open_case(&c, dev, CUZK_BLS12_381, CUZK_G1, sizes[0], false, rep, err));
    c.bases = c.table;
    std::vector<uint64_t> bits(c.n / 64 + 2, 0);
    for (size_t i = 0; i < c.n; i++)
        bits[i / 64] |= (uint64_t)bit_at(i, c.n, K_RANDOM) << (i % 64);
    std::vector<uint32_t> slots(sizes[2]);
    for (size_t i = 0; i < sizes[2]; i++)
        slots[i] = (uint32_t)(i * 3 + mix(i) % 3);
    CUZK_TRY(cuzk_cuda_upload(dev, c.bits, bits.data(), bits.size() * 8, err));
    CUZK_TRY(cuzk_cuda_upload(dev, c.slots, slots.data(), slots.size() * 4, err));
    cuzk_cuda_bits *plan[3];
    cuzk_point want[3], got;
    int64_t ones[3];
    void *scratch = NULL;
    size_t scratch_bytes = 0;
    for (int k = 0; k < 3; k++) {
        cuzk_cuda_bits_config cfg = {
            CUZK_BLS12_381, CUZK_G1, sizes[k], c.bases, k == 2 ? (const uint32_t *)c.slots : NULL,
            NULL,           false};
        if (k == 0) {
            scratch_bytes = cuzk_cuda_bits_scratch(dev, &cfg);
            CUZK_TRY(cuzk_cuda_alloc(dev, &scratch, scratch_bytes, err));
        }
        cfg.scratch = scratch;
        CUZK_TRY(cuzk_cuda_bits_new(&plan[k], dev, &cfg, err));
        int64_t count = 0, rest = 0;
        for (size_t i = 0; i < sizes[k]; i++) {
            const size_t at = k == 2 ? slots[i] : i;
            if (bits[at / 64] >> (at % 64) & 1) count++, rest += (int64_t)i;
        }
        ones[k] = count;
        expected(&c, count, rest, &want[k]);
    }
    std::vector<float> ms;
    for (int k = 0; k <= 3; k++) {
        CUZK_TRY(bench_time(dev, o.runs, &ms, err, [&]() -> cuzk_status {
            for (int j = k < 3 ? k : 0; j <= (k < 3 ? k : 2); j++)
                CUZK_TRY(cuzk_cuda_bits_queue(plan[j], (const uint64_t *)c.bits, err));
            return CUZK_OK;
        }));
        bool ok = true;
        int64_t total = 0;
        for (int j = k < 3 ? k : 0; j <= (k < 3 ? k : 2); j++) {
            CUZK_TRY(cuzk_cuda_bits_finish(plan[j], &got, err));
            ok = ok && memcmp(got.b, want[j].b, c.ops->point_size) == 0;
            total += ones[j];
        }
        char extra[160];
        snprintf(extra, sizeof extra, "\"ones\":%lld,\"scratch_bytes\":%zu,\"g_per_s\":%.3f",
                 (long long)total, scratch_bytes,
                 1e-6 * total / *std::min_element(ms.begin(), ms.end()));
        rep->row("bits", "bls12_381", "g1", 27, k < 3 ? names[k] : "partition_all", ok, ms,
                 floor_ms(&c, total), bytes_read(&c, total, k < 3 ? sizes[k] : 3 * c.n), extra);
    }
    for (int k = 0; k < 3; k++)
        cuzk_cuda_bits_free(plan[k]);
    cuzk_cuda_free(dev, scratch);
    c.bases = NULL;
    close_case(&c);
    return CUZK_OK;
}

cuzk_status one_size(cuzk_cuda *dev, const bench_options &o, cuzk_curve_id curve, cuzk_group group,
                     unsigned log2n, bench_report *rep, cuzk_err *err) {
    const size_t n = ((size_t)1 << log2n) - (o.quick && log2n > 2 ? 3 : 0);
    bits_case c;
    CUZK_TRY(open_case(&c, dev, curve, group, n, true, rep, err));
    for (const pattern &p : patterns) {
        if (!o.patterns && strcmp(p.name, o.pattern ? o.pattern : patterns[0].name) != 0) continue;
        CUZK_TRY(run_pattern(&c, &p, log2n, o.runs, rep, err));
    }
    close_case(&c);
    return CUZK_OK;
}

} // namespace

cuzk_status bench_bits(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err) {
    CUZK_TRY(bench_find_pattern(o.pattern, patterns, err));
    if (o.circuit && strcmp(o.circuit, "porep-32g") != 0)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "bits: the ones of porep-32g only, not of %s",
                            o.circuit);
    if (o.circuit) return partition(dev, o, rep, err);
    return bench_sizes(dev, o, rep, one_size, err);
}

/* Rows of compact systems: every element of A w and B w against the CPU's, for random bits and full
 * values. */
#include "bench.cuh"

extern "C" {
#include "circuit/circuits.h"
#include "r1cs/eval.h"
}

#include <algorithm>
#include <string.h>
#include <unistd.h>

namespace {

struct rows_case {
    cuzk_cuda *dev;
    cuzk_r1cs *sys;
    std::vector<uint64_t> bits;
    std::vector<cuzk_u256> full;
    void *d_bits, *d_full, *a, *b;
};

cuzk_status make_witness(rows_case *c, uint64_t seed, cuzk_err *err) {
    bench_rng rng = {seed};
    c->bits.resize(c->sys->n_bits / 64 + 2);
    c->full.resize((size_t)c->sys->n_full + 1);
    for (uint64_t &w : c->bits)
        w = rng.next();
    for (cuzk_u256 &v : c->full) {
        for (uint64_t &l : v.l)
            l = rng.next();
        v.l[3] %= c->sys->fr->modulus.l[3]; /* canonical */
        if (v.l[0] % 16 == 0) memset(&v, 0, sizeof v);
    }
    const size_t elements = (size_t)c->sys->n_rows + c->sys->n_inputs;
    CUZK_TRY(cuzk_cuda_alloc(c->dev, &c->d_bits, c->bits.size() * 8, err));
    CUZK_TRY(cuzk_cuda_alloc(c->dev, &c->d_full, c->full.size() * 32, err));
    CUZK_TRY(cuzk_cuda_alloc(c->dev, &c->a, elements * 32, err));
    CUZK_TRY(cuzk_cuda_alloc(c->dev, &c->b, elements * 32, err));
    CUZK_CUDA(cudaMemsetAsync(c->a, 0xff, elements * 32, c->dev->stream));
    CUZK_CUDA(cudaMemsetAsync(c->b, 0xff, elements * 32, c->dev->stream));
    CUZK_TRY(cuzk_cuda_upload(c->dev, c->d_bits, c->bits.data(), c->bits.size() * 8, err));
    return cuzk_cuda_upload(c->dev, c->d_full, c->full.data(), c->full.size() * 32, err);
}

/* Compares [row0, row1); false and a message at the first difference. */
cuzk_status compare(rows_case *c, uint32_t row0, uint32_t row1, cuzk_pool *pool, bool *ok,
                    cuzk_err *err) {
    const size_t n = row1 - row0;
    std::vector<cuzk_u256> want[2], got(n);
    want[0].resize(n), want[1].resize(n);
    CUZK_TRY(cuzk_r1cs_eval(c->sys, c->bits.data(), c->full.data(), row0, row1, want[0].data(),
                            want[1].data(), NULL, pool));
    for (int k = 0; k < 2; k++) {
        CUZK_TRY(cuzk_cuda_download(c->dev, got.data(),
                                    (char *)(k ? c->b : c->a) + (size_t)row0 * 32, n * 32, err));
        for (size_t i = 0; i < n && *ok; i++)
            if (memcmp(&got[i], &want[k][i], 32) != 0) {
                fprintf(stderr, "rows: %c of row %zu is wrong\n", "AB"[k], row0 + i);
                *ok = false;
            }
    }
    return CUZK_OK;
}

cuzk_status compare_inputs(rows_case *c, bool *ok, cuzk_err *err) {
    const uint32_t n = c->sys->n_inputs;
    std::vector<cuzk_u256> a(n), b(n);
    const size_t at = (size_t)c->sys->n_rows * 32;
    const cuzk_u256 zero = {{0, 0, 0, 0}};
    CUZK_TRY(cuzk_cuda_download(c->dev, a.data(), (char *)c->a + at, n * 32, err));
    CUZK_TRY(cuzk_cuda_download(c->dev, b.data(), (char *)c->b + at, n * 32, err));
    for (uint32_t i = 0; i < n; i++) {
        cuzk_u256 want = c->sys->fr->one;
        uint32_t slot;
        if (i) {
            *ok = *ok && cuzk_r1cs_wire_slot(c->sys, i, &slot);
            const uint32_t bit = slot & ~CUZK_SLOT_BIT;
            if (!(slot & CUZK_SLOT_BIT))
                want = c->full[slot];
            else if (!(c->bits[bit / 64] >> (bit % 64) & 1))
                want = zero;
        }
        if (memcmp(&a[i], &want, 32) != 0 || memcmp(&b[i], &zero, 32) != 0) {
            fprintf(stderr, "rows: input row %u is wrong\n", i);
            *ok = false;
        }
    }
    return CUZK_OK;
}

cuzk_status one_circuit(cuzk_cuda *dev, const bench_options &o, const char *name, bench_report *rep,
                        cuzk_err *err) {
    rows_case c = {};
    c.dev = dev;
    const cuzk_circuit *circuit = cuzk_circuit_find(name);
    if (!circuit) return cuzk_err_set(err, CUZK_STATUS_USAGE, "no circuit is called %s", name);
    CUZK_TRY(cuzk_circuit_compact(&c.sys, circuit, err));
    CUZK_TRY(make_witness(&c, 1, err));
    cuzk_cuda_r1cs *rows;
    const int64_t t0 = bench_now_ns();
    CUZK_TRY(cuzk_cuda_r1cs_new(&rows, dev, c.sys, err));
    const double setup = 1e-6 * (double)(bench_now_ns() - t0);
    std::vector<float> ms;
    CUZK_TRY(bench_time(dev, o.runs, &ms, err, [&]() -> cuzk_status {
        return cuzk_cuda_r1cs_eval(rows, dev, (const uint64_t *)c.d_bits, c.d_full, c.a, c.b, err);
    }));
    bool ok = true;
    cuzk_pool *pool;
    CUZK_TRY(cuzk_pool_new(&pool, (unsigned)sysconf(_SC_NPROCESSORS_ONLN)));
    const uint32_t step = 1u << 22;
    for (uint32_t row = 0; row < c.sys->n_rows && ok; row += step)
        CUZK_TRY(compare(&c, row, std::min(c.sys->n_rows, row + step), pool, &ok, err));
    CUZK_TRY(compare_inputs(&c, &ok, err));
    cuzk_pool_free(pool);
    const double bytes = 64.0 * c.sys->n_rows + c.sys->n_bits / 8.0 + 32.0 * c.sys->n_full;
    char extra[200];
    snprintf(
        extra, sizeof extra,
        "\"rows\":%u,\"instances\":%u,\"device_bytes\":%zu,\"setup_ms\":%.1f,\"gb_per_s\":%.0f",
        c.sys->n_rows, c.sys->n_insts, cuzk_cuda_r1cs_bytes(rows), setup,
        1e-6 * bytes / *std::min_element(ms.begin(), ms.end()));
    unsigned log2n = 0;
    while ((uint64_t)1 << log2n < (uint64_t)c.sys->n_rows + c.sys->n_inputs)
        log2n++;
    rep->row("eval", "bls12_381", "fr", log2n, name, ok, ms, bench_bytes_ms(dev, bytes), bytes,
             extra);
    cuzk_cuda_r1cs_free(rows);
    void *all[] = {c.d_bits, c.d_full, c.a, c.b};
    for (void *p : all)
        cuzk_cuda_free(dev, p);
    cuzk_r1cs_free(c.sys);
    return CUZK_OK;
}

} // namespace

cuzk_status bench_eval(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err) {
    if (o.circuit) return one_circuit(dev, o, o.circuit, rep, err);
    const char *names[] = {"porep-2k", "winning-2k", "snap-2k", "wpost-2k"};
    for (const char *name : names)
        CUZK_TRY(one_circuit(dev, o, name, rep, err));
    return CUZK_OK;
}

/* Rows of a flat system: a sparse product with the witness. The records of a key are sorted by row
 * when it is loaded; a thread works out a row, a block one with many terms. */
#include "backend/cuda/mont32.cuh"
#include "backend/cuda/prover.cuh"

extern "C" {
#include "base/bytes.h"
#include "base/mem.h"
}

#include <string.h>

using namespace cuzk_gpu;

namespace {

enum { ROW_LONG = 48, ROW_THREADS = 128 };

__device__ __forceinline__ void load(uint32_t *r, const uint4 *v, size_t i) {
    const uint4 a = v[2 * i], b = v[2 * i + 1];
    r[0] = a.x, r[1] = a.y, r[2] = a.z, r[3] = a.w;
    r[4] = b.x, r[5] = b.y, r[6] = b.z, r[7] = b.w;
}

__device__ __forceinline__ void store(uint4 *v, size_t i, const uint32_t *r) {
    v[2 * i] = make_uint4(r[0], r[1], r[2], r[3]);
    v[2 * i + 1] = make_uint4(r[4], r[5], r[6], r[7]);
}

struct row_args {
    const uint32_t *first, *wire, *longs;
    const uint4 *value, *full;
    uint4 *out;
    uint32_t rows;
};

/* acc += value[k] * full[wire[k]]: coef R^2 times a plain value gives the Montgomery form. */
template <class F>
__device__ __forceinline__ void add_term(uint32_t *acc, const row_args &a, uint32_t k) {
    uint32_t w[8], v[8];
    load(w, a.full, a.wire[k]);
    if (words_zero<8>(w)) return;
    load(v, a.value, k);
    mont_mul<F>(v, v, w);
    reduce_exact<F, 1>(v);
    add_mod<F>(acc, acc, v);
}

template <class F>
__global__ __launch_bounds__(ROW_THREADS) void eval_rows(const __grid_constant__ row_args a) {
    const uint32_t t = blockIdx.x * ROW_THREADS + threadIdx.x;
    if (t >= a.rows) return;
    const uint32_t begin = a.first[t], end = a.first[t + 1];
    if (end - begin > ROW_LONG) return;
    uint32_t acc[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (uint32_t k = begin; k < end; k++)
        add_term<F>(acc, a, k);
    store(a.out, t, acc);
}

template <class F>
__global__ __launch_bounds__(ROW_THREADS) void eval_long_rows(const __grid_constant__ row_args a) {
    __shared__ uint32_t shared[ROW_THREADS * 8];
    const uint32_t t = a.longs[blockIdx.x], me = threadIdx.x;
    const uint32_t end = a.first[t + 1];
    uint32_t acc[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (uint32_t k = a.first[t] + me; k < end; k += ROW_THREADS)
        add_term<F>(acc, a, k);
    for (int i = 0; i < 8; i++)
        shared[i * ROW_THREADS + me] = acc[i];
    for (uint32_t h = ROW_THREADS / 2; h; h >>= 1) {
        __syncthreads();
        if (me >= h) continue;
        uint32_t other[8];
        for (int i = 0; i < 8; i++)
            other[i] = shared[i * ROW_THREADS + me + h];
        add_mod<F>(acc, acc, other);
        for (int i = 0; i < 8; i++)
            shared[i * ROW_THREADS + me] = acc[i];
    }
    if (me == 0) store(a.out, t, acc);
}

/* The rows sorted, on the host. */
struct sorted {
    uint32_t *first, *wire, *longs;
    uint8_t *value;
    size_t terms;
};

void free_sorted(sorted *s) {
    cuzk_free(s->first);
    cuzk_free(s->longs);
    cuzk_big_free(s->wire, s->terms * 4 + 4);
    cuzk_big_free(s->value, s->terms * 32 + 32);
}

cuzk_status check_record(const cuzk_proving_key *key, uint64_t i, uint32_t *row, cuzk_err *err) {
    const uint8_t *rec = key->coefs + i * CUZK_COEF_RECORD_SIZE;
    const uint32_t matrix = cuzk_ld_u32le(rec), r = cuzk_ld_u32le(rec + 4);
    if (matrix > 1 || r >> key->log2_domain || cuzk_ld_u32le(rec + 8) >= key->n_full)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: coefficient %llu: out of range",
                            key->name, (unsigned long long)i);
    *row = matrix << key->log2_domain | r;
    return CUZK_OK;
}

cuzk_status sort_rows(sorted *s, cuzk__gpu_rows *rows, const cuzk_proving_key *key, cuzk_err *err) {
    void *mem;
    uint32_t row = 0;
    s->terms = key->n_coefs;
    CUZK_TRY(cuzk_alloc(&mem, (size_t)rows->rows + 2, 4));
    s->first = (uint32_t *)mem;
    CUZK_TRY(cuzk_big_alloc(&mem, s->terms * 4 + 4));
    s->wire = (uint32_t *)mem;
    CUZK_TRY(cuzk_big_alloc(&mem, s->terms * 32 + 32));
    s->value = (uint8_t *)mem;
    /* first[t + 2] counts row t; then first[t + 1] is where it begins and, once its terms are
     * placed, ends */
    for (uint64_t i = 0; i < key->n_coefs; i++) {
        CUZK_TRY(check_record(key, i, &row, err));
        s->first[row + 2]++;
    }
    uint32_t n_longs = 0, sum = 0;
    for (uint32_t t = 0; t < rows->rows; t++)
        n_longs += s->first[t + 2] > ROW_LONG;
    CUZK_TRY(cuzk_alloc(&mem, (size_t)n_longs + 1, 4));
    s->longs = (uint32_t *)mem;
    for (uint32_t t = 0; t < rows->rows; t++) {
        const uint32_t count = s->first[t + 2];
        if (count > ROW_LONG) s->longs[rows->n_longs++] = t;
        s->first[t + 1] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < key->n_coefs; i++) {
        const uint8_t *rec = key->coefs + i * CUZK_COEF_RECORD_SIZE;
        CUZK_TRY(check_record(key, i, &row, err));
        const uint32_t at = s->first[row + 1]++;
        s->wire[at] = cuzk_ld_u32le(rec + 8);
        memcpy(s->value + 32 * (size_t)at, rec + 12, 32);
    }
    return CUZK_OK;
}

enum { UPLOAD_SPARE = 16 };

cuzk_status upload(cuzk_gpu_backend *b, void **device, const void *host, size_t bytes,
                   cuzk__gpu_rows *rows, cuzk_err *err) {
    CUZK_TRY(cuzk_cuda_alloc(b->dev, device, bytes + UPLOAD_SPARE, err));
    rows->bytes += bytes + UPLOAD_SPARE;
    return cuzk__ring_upload(b, *device, host, bytes, err);
}

} // namespace

cuzk_status cuzk__gpu_rows_load(cuzk__gpu_rows *rows, cuzk_gpu_backend *b,
                                const cuzk_proving_key *key, cuzk_err *err) {
    memset(rows, 0, sizeof *rows);
    if (key->log2_domain > 30 || key->n_coefs >= UINT32_MAX)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: 2^%u rows, %llu coefficients",
                            key->name, key->log2_domain, (unsigned long long)key->n_coefs);
    rows->rows = 2u << key->log2_domain;
    if (cuzk__measures(b->dev)) {
        void *all;
        rows->bytes = cuzk__gpu_rows_plan(key);
        return cuzk_cuda_alloc(b->dev, &all, rows->bytes, err);
    }
    sorted s = {};
    void *p[4] = {};
    cuzk_status st = sort_rows(&s, rows, key, err);
    if (st == CUZK_OK) st = upload(b, &p[0], s.first, ((size_t)rows->rows + 1) * 4, rows, err);
    if (st == CUZK_OK) st = upload(b, &p[1], s.wire, s.terms * 4, rows, err);
    if (st == CUZK_OK) st = upload(b, &p[2], s.value, s.terms * 32, rows, err);
    if (st == CUZK_OK) st = upload(b, &p[3], s.longs, (size_t)rows->n_longs * 4, rows, err);
    if (st == CUZK_STATUS_NO_MEMORY && s.longs == NULL)
        st = cuzk_err_set(err, st, "not enough memory to sort %zu coefficients", s.terms);
    rows->first = (uint32_t *)p[0];
    rows->wire = (uint32_t *)p[1];
    rows->value = p[2];
    rows->longs = (uint32_t *)p[3];
    free_sorted(&s);
    return st;
}

size_t cuzk__gpu_rows_plan(const cuzk_proving_key *key) {
    const size_t rows = (size_t)2 << key->log2_domain, terms = key->n_coefs;
    const size_t longs = terms / ROW_LONG < rows ? terms / ROW_LONG : rows;
    return (rows + 1) * 4 + terms * 4 + terms * 32 + longs * 4 + 4 * UPLOAD_SPARE;
}

void cuzk__gpu_rows_free(cuzk__gpu_rows *rows, cuzk_gpu_backend *b) {
    cuzk_cuda_free(b->dev, rows->first);
    cuzk_cuda_free(b->dev, rows->wire);
    cuzk_cuda_free(b->dev, rows->value);
    cuzk_cuda_free(b->dev, rows->longs);
}

cuzk_status cuzk__gpu_rows_eval(const cuzk__gpu_rows *rows, const cuzk_cuda *dev,
                                cuzk_curve_id curve, const void *full, void *ab, cuzk_err *err) {
    row_args a = {};
    a.first = rows->first;
    a.wire = rows->wire;
    a.longs = rows->longs;
    a.value = (const uint4 *)rows->value;
    a.full = (const uint4 *)full;
    a.out = (uint4 *)ab;
    a.rows = rows->rows;
    const bool bn = curve == CUZK_BN254;
    (bn ? eval_rows<bn254_fr> : eval_rows<bls12_381_fr>)<<<(a.rows + ROW_THREADS - 1) / ROW_THREADS,
                                                           ROW_THREADS, 0, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    if (rows->n_longs == 0) return CUZK_OK;
    (bn ? eval_long_rows<bn254_fr>
        : eval_long_rows<bls12_381_fr>)<<<rows->n_longs, ROW_THREADS, 0, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

/* A w and B w of a compact system. DESIGN
 *
 * Rows of instances of one shape are alike, so a block takes a piece of a shape for many instances
 * (r1cs_pack.h) and keeps what the rows say in registers, while only what differs is read: bits, of
 * which neighbouring rows share words, and the slots behind ports.
 *
 *   small rows    a thread a row: up to four bits, a small integer for A and one for B in one word,
 *                 then field elements from a table in shared memory. Two threads write a row's
 *                 halves, so that a store covers whole lines.
 *   general rows  a warp takes one row of 32 instances: the same terms and coefficients in every
 *                 lane, whatever their number. A run of bits is one product: the integer that they
 *                 make, times the coefficient. */
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/mont32.cuh"

extern "C" {
#include "backend/cuda/r1cs_pack.h"
#include "base/mem.h"
}

using namespace cuzk_gpu;

enum { SMALL_MOST = 8, SMALL_VALUES = 2 * SMALL_MOST + 1, SMALL_SKIP = 1 << 30 };

struct cuzk_cuda_r1cs {
    cuzk_cuda *dev;
    bool bn254;
    uint32_t n_rows, n_inputs, n_small_tiles, n_general_tiles;
    uint4 *small;
    cuzk__pack_row *general;
    cuzk__pack_term *terms;
    cuzk__pack_inst *insts;
    uint32_t *port_slots, *input_slots;
    cuzk__pack_tile *small_tiles, *general_tiles;
    uint4 *coefs;        /* Montgomery form, then all again times R, for runs */
    uint4 *small_values; /* -SMALL_MOST .. SMALL_MOST: first halves, then second halves */
    uint32_t n_coefs;
    size_t bytes;
};

namespace {

struct row_args {
    const cuzk__pack_tile *tiles;
    const cuzk__pack_inst *insts;
    const uint32_t *port_slots;
    const uint32_t *bits; /* words of 32 */
    const uint4 *full;
    uint4 *a, *b;
};

__device__ __forceinline__ uint32_t bit_of(const uint32_t *bits, uint32_t at) {
    return __ldg(bits + at / 32) >> (at % 32) & 1;
}

struct small_args {
    row_args r;
    const uint4 *small, *values;
};

/* What a packed term adds to the row's word: A's value in the low byte, B's in the next, both
 * signed; see small_rows. */
__device__ __forceinline__ int weight(uint32_t term) {
    const int c = term >> 30, v = (c & 2 ? 2 : 1) * (c & 1 ? -1 : 1);
    return term & CUZK__PACK_OF_B ? v * 256 : v;
}

__global__ __launch_bounds__(256) void small_rows(const __grid_constant__ small_args g) {
    __shared__ uint4 values[2 * SMALL_VALUES];
    const int t = (int)threadIdx.x, lane = t & 31;
    if (t < 2 * SMALL_VALUES) values[t] = g.values[t];
    __syncthreads();
    const cuzk__pack_tile tile = g.r.tiles[blockIdx.x];
    if ((uint32_t)(t & ~31) >= tile.rows) return;
    uint4 row = make_uint4(CUZK__PACK_GENERAL, 0, 0, 0);
    if ((uint32_t)t < tile.rows) row = __ldg(g.small + tile.row0 + t);
    const bool skip = row.x == CUZK__PACK_GENERAL;
    uint32_t term[4] = {skip ? 0 : row.x, row.y, row.z, row.w};
    int w[4], constant = skip ? SMALL_SKIP : 0;
    CUZK_UNROLL for (int k = 0; k < 4; k++) {
        const uint32_t what = term[k] >> 28 & 3;
        w[k] = weight(term[k]);
        if (what == CUZK__PACK_ONE) constant += w[k];
    }
    /* the row whose half this thread writes, in each half of the warp */
    const uint32_t to = (uint32_t)(t & ~31) + (lane >> 1), half = lane & 1;
    const uint4 *mine = values + half * SMALL_VALUES + SMALL_MOST;
#pragma unroll 2
    for (uint32_t i = tile.inst0; i < tile.inst0 + tile.insts; i++) {
        const cuzk__pack_inst inst = g.r.insts[i];
        int sum = constant;
        CUZK_UNROLL for (int k = 0; k < 4; k++) {
            const uint32_t what = term[k] >> 28 & 3, at = term[k] & CUZK__PACK_AT;
            uint32_t slot = inst.bit0 + at;
            if (what == CUZK__PACK_PORT) slot = __ldg(g.r.port_slots + inst.port0 + at);
            if (what == CUZK__PACK_OWN || what == CUZK__PACK_PORT)
                sum += bit_of(g.r.bits, slot) ? w[k] : 0;
        }
        const size_t row0 = (size_t)inst.row0 + tile.local + to;
        CUZK_UNROLL for (int k = 0; k < 2; k++) {
            const int v = __shfl_sync(0xffffffffu, sum, (lane >> 1) + 16 * k);
            const int va = (int8_t)v, vb = (v - va) >> 8;
            if (v < SMALL_SKIP / 2) {
                g.r.a[2 * (row0 + 16 * k) + half] = mine[va];
                g.r.b[2 * (row0 + 16 * k) + half] = mine[vb];
            }
        }
    }
}

struct general_args {
    row_args r;
    const cuzk__pack_row *rows;
    const cuzk__pack_term *terms;
    const uint4 *coefs, *run_coefs;
};

__device__ __forceinline__ void load_words(uint32_t *r, const uint4 *p) {
    const uint4 x = __ldg(p), y = __ldg(p + 1);
    r[0] = x.x, r[1] = x.y, r[2] = x.z, r[3] = x.w;
    r[4] = y.x, r[5] = y.y, r[6] = y.z, r[7] = y.w;
}

__device__ __forceinline__ void store_words(uint4 *p, const uint32_t *r) {
    p[0] = make_uint4(r[0], r[1], r[2], r[3]);
    p[1] = make_uint4(r[4], r[5], r[6], r[7]);
}

/* len <= 255 bits from bit `at` on as an integer. */
__device__ __forceinline__ void load_run(uint32_t *v, const uint32_t *bits, uint32_t at,
                                         uint32_t len) {
    const uint32_t shift = at % 32;
    uint32_t low = __ldg(bits + at / 32);
    CUZK_UNROLL for (int k = 0; k < 8; k++) {
        uint32_t word = 0;
        if (32 * (uint32_t)k < len) {
            const uint32_t high =
                32 * (uint32_t)k + 32 - shift < len ? __ldg(bits + at / 32 + k + 1) : 0;
            word = __funnelshift_r(low, high, shift);
            low = high;
            const uint32_t left = len - 32 * (uint32_t)k;
            if (left < 32) word &= (1u << left) - 1;
        }
        v[k] = word;
    }
}

template <class F>
__device__ __forceinline__ void combination(const general_args &g, uint4 *out, uint32_t from,
                                            uint32_t to, const cuzk__pack_inst &inst) {
    uint32_t acc[8];
    CUZK_UNROLL for (int k = 0; k < 8; k++) acc[k] = 0;
#pragma unroll 1
    for (uint32_t i = from; i < to; i++) {
        const cuzk__pack_term t = g.terms[i];
        const uint32_t what = t.what >> CUZK__TERM_SHIFT, coef = t.coef_len & 0xffff;
        uint32_t at = t.what & ((1u << CUZK__TERM_SHIFT) - 1), x[8], c[8];
        if (what >= CUZK__TERM_PORT_BIT)
            at = __ldg(g.r.port_slots + inst.port0 + at);
        else
            at += what == CUZK__TERM_OWN_BIT ? inst.bit0 : inst.full0;
        if (what == CUZK__TERM_OWN_FULL || what == CUZK__TERM_PORT_FULL) {
            load_words(x, g.r.full + 2 * (size_t)at);
            if (coef == CUZK_COEF_MINUS_ONE) {
                sub_mod<F>(acc, acc, x);
                continue;
            }
            if (coef != CUZK_COEF_ONE) {
                load_words(c, g.coefs + 2 * (size_t)coef);
                mont_mul<F>(x, x, c);
                reduce_exact<F, 1>(x);
            }
        } else if (what != CUZK__TERM_ONE && t.coef_len >> 16 > 1) {
            load_run(x, g.r.bits, at, t.coef_len >> 16);
            load_words(c, g.run_coefs + 2 * (size_t)coef);
            mont_mul<F>(x, x, c);
            reduce_exact<F, 1>(x);
        } else {
            if (what != CUZK__TERM_ONE && !bit_of(g.r.bits, at)) continue;
            load_words(x, g.coefs + 2 * (size_t)coef);
        }
        add_mod<F>(acc, acc, x);
    }
    store_words(out, acc);
}

template <class F>
__global__
__launch_bounds__(32 * CUZK__PACK_WARPS) void general_rows(const __grid_constant__ general_args g) {
    const cuzk__pack_tile tile = g.r.tiles[blockIdx.x];
    /* lanes are instances of a row, or rows of an instance */
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool lanes_are_rows = tile.rows > CUZK__PACK_WARPS;
    const uint32_t k = lanes_are_rows ? threadIdx.x : warp, i = lanes_are_rows ? 0 : lane;
    if (k >= tile.rows || i >= tile.insts) return;
    const cuzk__pack_inst inst = g.r.insts[tile.inst0 + i];
    const cuzk__pack_row row = g.rows[tile.row0 + k];
    const size_t at = 2 * ((size_t)inst.row0 + row.row);
    combination<F>(g, g.r.a + at, row.a, row.b, inst);
    combination<F>(g, g.r.b + at, row.b, row.c, inst);
}

/* A of row i is input i, B is 0. */
template <class F>
__global__ void input_rows(const uint32_t *slots, uint32_t n, const uint32_t *bits,
                           const uint4 *full, uint4 *a, uint4 *b) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t x[8];
    const uint32_t slot = slots[i];
    const bool is_bit = slot & CUZK_SLOT_BIT;
    const bool one = i == 0 || (is_bit && bit_of(bits, slot & ~CUZK_SLOT_BIT));
    CUZK_UNROLL for (int k = 0; k < 8; k++) x[k] = one ? F::one(k) : 0;
    if (i != 0 && !is_bit) load_words(x, full + 2 * (size_t)slot);
    store_words(a + 2 * (size_t)i, x);
    CUZK_UNROLL for (int k = 0; k < 8; k++) x[k] = 0;
    store_words(b + 2 * (size_t)i, x);
}

cuzk_status put(cuzk_cuda_r1cs *r, void *to, const void *from, size_t bytes, cuzk_err *err) {
    void *device;
    CUZK_TRY(cuzk_cuda_alloc(r->dev, &device, bytes, err));
    *(void **)to = device;
    r->bytes += bytes;
    if (r->dev->arena && r->dev->arena->measuring) return CUZK_OK;
    return bytes ? cuzk_cuda_upload(r->dev, device, from, bytes, err) : CUZK_OK;
}

/* The dictionary twice, and the small integers. */
cuzk_status put_values(cuzk_cuda_r1cs *r, const cuzk_r1cs *sys, cuzk_err *err) {
    cuzk_u256 *v;
    const size_t n = sys->n_coefs;
    CUZK_TRY(cuzk_alloc((void **)&v, 2 * n + 1, sizeof *v));
    for (size_t i = 0; i < n; i++) {
        v[i] = sys->coefs[i];
        sys->fr->to_mont(&v[n + i], &v[i]);
    }
    const cuzk_status st = put(r, &r->coefs, v, 2 * n * sizeof *v, err);
    cuzk_free(v);
    CUZK_TRY(st);
    cuzk_u256 small[SMALL_VALUES] = {};
    for (int k = 1; k <= SMALL_MOST; k++) {
        sys->fr->add(&small[SMALL_MOST + k], &small[SMALL_MOST + k - 1], &sys->fr->one);
        sys->fr->sub(&small[SMALL_MOST - k], &small[SMALL_MOST - k + 1], &sys->fr->one);
    }
    uint64_t halves[2][SMALL_VALUES][2];
    for (int k = 0; k < SMALL_VALUES; k++)
        for (int w = 0; w < 4; w++)
            halves[w / 2][k][w % 2] = small[k].l[w];
    return put(r, &r->small_values, halves, sizeof halves, err);
}

cuzk_status put_pack(cuzk_cuda_r1cs *r, const cuzk__pack *p, cuzk_err *err) {
    r->n_small_tiles = p->n_small_tiles;
    r->n_general_tiles = p->n_general_tiles;
    CUZK_TRY(put(r, &r->small, p->small, p->n_small * sizeof *p->small, err));
    CUZK_TRY(put(r, &r->general, p->general, p->n_general * sizeof *p->general, err));
    CUZK_TRY(put(r, &r->terms, p->terms, p->n_terms * sizeof *p->terms, err));
    CUZK_TRY(put(r, &r->insts, p->insts, p->n_insts * sizeof *p->insts, err));
    CUZK_TRY(put(r, &r->port_slots, p->port_slots, (size_t)p->n_port_slots * 4, err));
    CUZK_TRY(put(r, &r->input_slots, p->input_slots, (size_t)p->n_inputs * 4, err));
    CUZK_TRY(
        put(r, &r->small_tiles, p->small_tiles, p->n_small_tiles * sizeof *p->small_tiles, err));
    return put(r, &r->general_tiles, p->general_tiles,
               p->n_general_tiles * sizeof *p->general_tiles, err);
}

} // namespace

cuzk_status cuzk_cuda_r1cs_new(cuzk_cuda_r1cs **out, cuzk_cuda *dev, const cuzk_r1cs *sys,
                               cuzk_err *err) {
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_r1cs)));
    cuzk_cuda_r1cs *r = (cuzk_cuda_r1cs *)mem;
    cuzk__pack *p = NULL;
    cuzk_status st;
    r->dev = dev;
    r->bn254 = sys->fr == &cuzk_bn254_fr_ops;
    r->n_rows = sys->n_rows;
    r->n_inputs = sys->n_inputs;
    r->n_coefs = sys->n_coefs;
    CUZK_TRY_GOTO(cuzk__pack_new(&p, sys, err), out);
    CUZK_TRY_GOTO(put_pack(r, p, err), out);
    CUZK_TRY_GOTO(put_values(r, sys, err), out);
    *out = r;
    r = NULL;
out:
    cuzk__pack_free(p);
    cuzk_cuda_r1cs_free(r);
    return st;
}

void cuzk_cuda_r1cs_free(cuzk_cuda_r1cs *r) {
    if (!r) return;
    void *all[] = {r->small,       r->general,     r->terms,         r->insts, r->port_slots,
                   r->input_slots, r->small_tiles, r->general_tiles, r->coefs, r->small_values};
    for (void *p : all)
        cuzk_cuda_free(r->dev, p);
    cuzk_free(r);
}

size_t cuzk_cuda_r1cs_bytes(const cuzk_cuda_r1cs *r) {
    return r->bytes;
}

cuzk_status cuzk_cuda_r1cs_eval(const cuzk_cuda_r1cs *r, const cuzk_cuda *dev, const uint64_t *bits,
                                const void *full, void *a, void *b, cuzk_err *err) {
    const cudaStream_t stream = dev->stream;
    const uint32_t *words = (const uint32_t *)bits;
    row_args rows = {};
    rows.insts = r->insts;
    rows.port_slots = r->port_slots;
    rows.bits = words;
    rows.full = (const uint4 *)full;
    rows.a = (uint4 *)a;
    rows.b = (uint4 *)b;
    if (r->n_general_tiles) {
        general_args g = {rows, r->general, r->terms, r->coefs, r->coefs + 2 * (size_t)r->n_coefs};
        g.r.tiles = r->general_tiles;
        (r->bn254 ? general_rows<bn254_fr>
                  : general_rows<
                        bls12_381_fr>)<<<r->n_general_tiles, 32 * CUZK__PACK_WARPS, 0, stream>>>(g);
        CUZK_CUDA_LAUNCHED();
    }
    if (r->n_small_tiles) {
        small_args g = {rows, r->small, r->small_values};
        g.r.tiles = r->small_tiles;
        small_rows<<<r->n_small_tiles, CUZK__PACK_TILE_ROWS, 0, stream>>>(g);
        CUZK_CUDA_LAUNCHED();
    }
    (r->bn254 ? input_rows<bn254_fr>
              : input_rows<bls12_381_fr>)<<<(r->n_inputs + 255) / 256, 256, 0, stream>>>(
        r->input_slots, r->n_inputs, words, rows.full, rows.a + 2 * (size_t)r->n_rows,
        rows.b + 2 * (size_t)r->n_rows);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

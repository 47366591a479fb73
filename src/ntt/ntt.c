/* Plans and the public transforms. The arithmetic is in the instances (ntt_instance.c); how an
 * array is walked is in ntt_pass.inl.h, what a block computes in ntt_block.inl.h. */
#include "ntt/ntt.h"

#include "base/mem.h"
#include "ntt/ntt_internal.h"

#include <string.h>

static const cuzk__ntt_kernels *kernels_for(cuzk_curve_id curve, unsigned log2n,
                                            cuzk_cpu_impl impl) {
    const bool bn = curve == CUZK_BN254;
    if (impl == CUZK_CPU_PORTABLE)
        return bn ? &cuzk__ntt_bn254_portable : &cuzk__ntt_bls12_381_portable;
#if CUZK__NTT_IFMA
    if (impl != CUZK_CPU_ASM && log2n >= CUZK__NTT_IFMA_MIN_LOG2 && cuzk_cpu_has_avx512_ifma())
        return bn ? &cuzk__ntt_bn254_ifma : &cuzk__ntt_bls12_381_ifma;
#endif
    (void)log2n;
#if CUZK__NTT_ADX
    if (cuzk_cpu_has_adx()) return bn ? &cuzk__ntt_bn254_adx : &cuzk__ntt_bls12_381_adx;
#endif
    return bn ? &cuzk__ntt_bn254_asm : &cuzk__ntt_bls12_381_asm;
}

size_t cuzk_ntt_plan_bytes(cuzk_curve_id curve, unsigned log2n, cuzk_cpu_impl impl) {
    return sizeof(cuzk_ntt_plan) + kernels_for(curve, log2n, impl)->table_bytes(log2n);
}

/* Leaves as large as the cache takes, but with several threads at least four for each of them,
 * and never so small that a leaf is all overhead. Column passes share the rest evenly. */
void cuzk__ntt_split_for(cuzk__ntt_split *out, unsigned log2n, unsigned max_leaf,
                         unsigned threads) {
    enum { MIN_LEAF = 8 };
    unsigned leaf = log2n < max_leaf ? log2n : max_leaf;
    if (threads > 1) {
        unsigned want = 2;
        while ((1u << (want - 2)) < threads)
            want++;
        while (leaf > MIN_LEAF && log2n - leaf < want)
            leaf--;
    }
    const unsigned top = log2n - leaf;
    out->leaf = leaf;
    out->passes = (top + CUZK__NTT_PASS_LOG2 - 1) / CUZK__NTT_PASS_LOG2;
    for (unsigned p = 0; p < out->passes; p++)
        out->levels[p] = top / out->passes + (p < top % out->passes);
}

static void fill_range(void *arg, size_t begin, size_t end) {
    const cuzk_ntt_plan *plan = arg;
    plan->kernels->table_fill(plan, begin, end);
}

cuzk_status cuzk_ntt_plan_new(cuzk_ntt_plan **out, cuzk_curve_id curve, unsigned log2n,
                              unsigned family, cuzk_cpu_impl impl, cuzk_pool *pool) {
    return cuzk__ntt_plan_with(out, curve, log2n, family, kernels_for(curve, log2n, impl), pool);
}

cuzk_status cuzk__ntt_plan_with(cuzk_ntt_plan **out, cuzk_curve_id curve, unsigned log2n,
                                unsigned family, const cuzk__ntt_kernels *kernels,
                                cuzk_pool *pool) {
    enum { MIN_FILL = 1024 };
    *out = NULL;
    const cuzk_curve *c = cuzk_curve_get(curve);
    if (!c || (family != 5 && family != 7) || log2n > c->fr->adicity) return CUZK_STATUS_BAD_INPUT;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_ntt_plan)));
    cuzk_ntt_plan *plan = mem;
    plan->fr = c->fr;
    plan->kernels = kernels;
    plan->log2n = log2n;
    cuzk_fr_root(c->fr, &plan->roots[log2n], family, log2n);
    for (unsigned s = log2n; s-- > 0;)
        c->fr->mul(&plan->roots[s], &plan->roots[s + 1], &plan->roots[s + 1]);
    plan->n_inv = (cuzk_u256){{(uint64_t)1 << log2n, 0, 0, 0}};
    c->fr->to_mont(&plan->n_inv, &plan->n_inv);
    c->fr->inv(&plan->n_inv, &plan->n_inv);
    plan->table_bytes = plan->kernels->table_bytes(log2n);
    cuzk_status st = cuzk_big_alloc(&plan->table, plan->table_bytes);
    if (st != CUZK_OK) {
        cuzk_free(plan);
        return st;
    }
    const size_t entries = log2n < 2 ? 1 : (size_t)1 << (log2n - 1);
    cuzk_pool_run_ranges(pool, entries, MIN_FILL, 4, fill_range, plan);
    *out = plan;
    return CUZK_OK;
}

void cuzk_ntt_plan_free(cuzk_ntt_plan *plan) {
    if (!plan) return;
    cuzk_big_free(plan->table, plan->table_bytes);
    cuzk_free(plan);
}

/* Below 2^12 elements waking a worker costs more than it saves. */
static void run(const cuzk_ntt_plan *plan, cuzk__ntt_op op, bool inverse, cuzk_u256 *x,
                const cuzk_u256 *g, cuzk_pool *pool) {
    enum { MIN_PARALLEL_LOG2 = 12 };
    if (plan->log2n == 0) return;
    plan->kernels->run(plan, op, inverse, x, g, plan->log2n < MIN_PARALLEL_LOG2 ? NULL : pool);
}

void cuzk_ntt_forward_nr(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool) {
    run(plan, CUZK__NTT_NR, false, x, NULL, pool);
}

void cuzk_ntt_forward_rn(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool) {
    run(plan, CUZK__NTT_RN, false, x, NULL, pool);
}

void cuzk_ntt_inverse_nr(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool) {
    run(plan, CUZK__NTT_NR, true, x, NULL, pool);
}

void cuzk_ntt_inverse_rn(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool) {
    run(plan, CUZK__NTT_RN, true, x, NULL, pool);
}

void cuzk_ntt_to_coset(const cuzk_ntt_plan *plan, cuzk_u256 *x, const cuzk_u256 *g,
                       cuzk_pool *pool) {
    run(plan, CUZK__NTT_TO_COSET, false, x, g, pool);
}

/* Bit reversal in place, by square tiles so that every cache line is touched twice only: an index
 * is (hi, mid, lo) with TILE bits in hi and lo; tile mid becomes tile rev(mid), transposed with
 * both its indices reversed. */
enum { TILE_LOG2 = 4, TILE = 1 << TILE_LOG2 };

typedef struct permutation {
    cuzk_u256 *x;
    unsigned log2n;
} permutation;

static size_t reverse_bits(size_t v, unsigned bits) {
    size_t r = 0;
    for (unsigned b = 0; b < bits; b++)
        r |= (v >> b & 1) << (bits - 1 - b);
    return r;
}

static void load_tile(cuzk_u256 tile[TILE][TILE], const cuzk_u256 *x, unsigned row_log2) {
    for (size_t hi = 0; hi < TILE; hi++)
        memcpy(tile[hi], x + (hi << row_log2), sizeof tile[hi]);
}

static void store_tile(cuzk_u256 *x, cuzk_u256 tile[TILE][TILE], unsigned row_log2) {
    for (size_t hi = 0; hi < TILE; hi++)
        for (size_t lo = 0; lo < TILE; lo++)
            x[(hi << row_log2) + lo] =
                tile[reverse_bits(lo, TILE_LOG2)][reverse_bits(hi, TILE_LOG2)];
}

static void permute_range(void *arg, size_t begin, size_t end) {
    const permutation *p = arg;
    const unsigned mid_bits = p->log2n - 2 * TILE_LOG2, row_log2 = p->log2n - TILE_LOG2;
    cuzk_u256 a[TILE][TILE], b[TILE][TILE];
    for (size_t mid = begin; mid < end; mid++) {
        const size_t rev = reverse_bits(mid, mid_bits);
        if (mid > rev) continue;
        load_tile(a, p->x + mid * TILE, row_log2);
        load_tile(b, p->x + rev * TILE, row_log2);
        store_tile(p->x + rev * TILE, a, row_log2);
        if (mid != rev) store_tile(p->x + mid * TILE, b, row_log2);
    }
}

static void permute(cuzk_u256 *x, unsigned log2n, cuzk_pool *pool) {
    permutation p = {x, log2n};
    if (log2n >= 2 * TILE_LOG2) {
        cuzk_pool_run_ranges(pool, (size_t)1 << (log2n - 2 * TILE_LOG2), 4, 8, permute_range, &p);
        return;
    }
    for (size_t i = 0; i < (size_t)1 << log2n; i++) {
        const size_t r = reverse_bits(i, log2n);
        if (i >= r) continue;
        const cuzk_u256 t = x[i];
        x[i] = x[r];
        x[r] = t;
    }
}

cuzk_status cuzk_ntt_from_coset(const cuzk_ntt_plan *plan, cuzk_u256 *x, const cuzk_u256 *g,
                                cuzk_pool *pool) {
    cuzk_u256 g_inv;
    plan->fr->inv(&g_inv, g);
    run(plan, CUZK__NTT_OFF_COSET, true, x, &g_inv, pool);
    permute(x, plan->log2n, pool);
    return CUZK_OK;
}

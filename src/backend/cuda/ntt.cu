/* NTT plans: how a size is cut into passes, and who owns the tables. Kernels: ntt_kernels.cuh. */
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/ntt_kernels.cuh"
#include "backend/cuda/ntt_small.h"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

/* Of benchmarks: another way to cut the size that it adds up to. */
static int other_len[CUZK__NTT_MAX_PASSES];

static unsigned sum_of(const int len[CUZK__NTT_MAX_PASSES]) {
    unsigned sum = 0;
    for (int i = 0; i < CUZK__NTT_MAX_PASSES; i++)
        sum += (unsigned)len[i];
    return sum;
}

/* Fast passes are 9 to 6 bits; transforms of a single pass, up to 11 bits, are done by the
 * any-length kernel. A first pass that is the longest keeps the last boundary table small; which
 * split is the fastest was measured (cuzk bench ntt --pattern). */
int cuzk__cuda_ntt_split(unsigned log2n, int len[CUZK__NTT_MAX_PASSES]) {
    static const signed char table[CUZK__NTT_MAX_LOG + 1][CUZK__NTT_MAX_PASSES] = {
        {0},       {1},       {2},       {3},       {4},         {5},       {6},       {7},
        {8},       {9},       {10},      {11},      {6, 6},      {7, 6},    {7, 7},    {8, 7},
        {8, 8},    {9, 8},    {9, 9},    {7, 6, 6}, {7, 7, 6},   {7, 7, 7}, {7, 8, 7}, {8, 8, 7},
        {8, 8, 8}, {9, 8, 8}, {9, 9, 8}, {9, 9, 9}, {8, 8, 6, 6}};
    const bool other = log2n && sum_of(other_len) == log2n;
    int n = 0;
    for (int i = 0; i < CUZK__NTT_MAX_PASSES; i++) {
        len[i] = other ? other_len[i] : table[log2n][i];
        n += len[i] > 0;
    }
    return n;
}

bool cuzk__cuda_ntt_try_split(unsigned log2n, const int len[CUZK__NTT_MAX_PASSES]) {
    for (int i = 0; i < CUZK__NTT_MAX_PASSES; i++) {
        const bool needed = i < 2 || (i + 1 < CUZK__NTT_MAX_PASSES && len[i + 1]);
        if (len[i] ? len[i] < 6 || len[i] > 9 : needed) return false;
    }
    if (sum_of(len) != log2n || log2n > CUZK__NTT_MAX_LOG) return false;
    memcpy(other_len, len, sizeof other_len);
    return true;
}

/* What a block of the largest pass takes. */
static size_t shared_of(unsigned log2n) {
    int len[CUZK__NTT_MAX_PASSES];
    if (cuzk__cuda_ntt_split(log2n, len) == 1) return cuzk_gpu::NTT_ANY_SHARED;
    size_t most = 0;
    for (const int bits : len) {
        const size_t bytes = bits == 9   ? cuzk_gpu::ntt_shape_9::SHARED
                             : bits == 8 ? cuzk_gpu::ntt_shape_8::SHARED
                             : bits == 7 ? cuzk_gpu::ntt_shape_7::SHARED
                                         : cuzk_gpu::ntt_shape_6::SHARED;
        if (bytes > most) most = bytes;
    }
    return most;
}

unsigned cuzk__cuda_ntt_dirs(unsigned log2n, unsigned dirs, size_t block_shared) {
    const size_t aside = log2n > cuzk_gpu::NTT_ROOT_BITS ? cuzk_gpu::BLOCK_ASIDE : 0;
    return shared_of(log2n) + aside > block_shared ? dirs | CUZK_NTT_SMALL_TABLES : dirs;
}

/* Of a table's exponents, the bits of a row (cuzk_cuda_ntt_scale), or of the first small table. */
static unsigned row_bits(unsigned log2n, unsigned dirs) {
    int len[CUZK__NTT_MAX_PASSES];
    if (!(dirs & CUZK_NTT_SMALL_TABLES)) return (unsigned)len[cuzk__cuda_ntt_split(log2n, len) - 1];
    return log2n < CUZK__NTT_SMALL_BITS ? log2n : (unsigned)CUZK__NTT_SMALL_BITS;
}

size_t cuzk__cuda_ntt_scale_bytes(unsigned log2n, unsigned dirs) {
    const unsigned row = row_bits(log2n, dirs);
    return sizeof(cuzk_gpu::shoup_pair) * (((size_t)1 << row) + ((size_t)1 << (log2n - row)));
}

size_t cuzk_cuda_ntt_bytes(unsigned log2n, unsigned dirs) {
    using cuzk_gpu::shoup_pair;
    /* of the inverse also 1/n */
    if (dirs & CUZK_NTT_SMALL_TABLES)
        return cuzk__cuda_ntt_scale_bytes(log2n, dirs) * ((dirs & 1) + (dirs & 2));
    int len[CUZK__NTT_MAX_PASSES];
    const int passes = cuzk__cuda_ntt_split(log2n, len);
    size_t pairs = (size_t)1 << 11;
    unsigned rem = log2n;
    for (int i = 0; i + 1 < passes; i++) {
        pairs += (size_t)1 << rem;
        rem -= (unsigned)len[i];
    }
    return pairs * sizeof(shoup_pair) * ((dirs & 1) + (dirs >> 1 & 1));
}

cuzk_status cuzk_cuda_ntt_new(cuzk_cuda_ntt **out, cuzk_cuda *dev, cuzk_curve_id curve,
                              unsigned log2n, unsigned family, unsigned dirs, cuzk_err *err) {
    *out = NULL;
    const bool bn = curve == CUZK_BN254, small = dirs & CUZK_NTT_SMALL_TABLES;
    const cuzk__cuda_ntt_ops *ops = bn ? &cuzk__cuda_ntt_bn254 : &cuzk__cuda_ntt_bls12_381;
    if (small) ops = bn ? &cuzk__cuda_ntt_small_bn254 : &cuzk__cuda_ntt_small_bls12_381;
    if (log2n < 1 || log2n > CUZK__NTT_MAX_LOG || log2n > ops->fr->adicity)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "no transform of 2^%u points", log2n);
    if (cuzk__cuda_ntt_dirs(log2n, dirs, dev->info.block_shared) != dirs)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "transforms of 2^%u points need %zu bytes of shared memory in a block, "
                            "%s has %zu: small tables do",
                            log2n, shared_of(log2n), dev->info.name, dev->info.block_shared);
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_ntt)));
    cuzk_cuda_ntt *plan = (cuzk_cuda_ntt *)mem;
    plan->dev = dev;
    plan->ops = ops;
    plan->log2n = log2n;
    plan->family = family;
    plan->dirs = dirs;
    plan->passes = cuzk__cuda_ntt_split(log2n, plan->len);
    cuzk_status st;
    CUZK_TRY_GOTO(ops->prepare(dev, err), fail);
    for (int d = 0; d < 2; d++)
        if (dirs >> d & 1) CUZK_TRY_GOTO(ops->make_tables(plan, (cuzk_ntt_dir)d, err), fail);
    if ((plan->passes == 1 || small) && (dirs & 2)) {
        const cuzk_u256 one = ops->fr->one;
        CUZK_TRY_GOTO(cuzk_cuda_ntt_scale_new(&plan->one_pass, plan, CUZK_NTT_INVERSE, &one, err),
                      fail);
    }
    CUZK_TRY_GOTO(cuzk_cuda_sync(dev, err), fail);
    *out = plan;
    return CUZK_OK;
fail:
    cuzk_cuda_ntt_free(plan);
    return st;
}

void cuzk_cuda_ntt_free(cuzk_cuda_ntt *plan) {
    if (!plan) return;
    for (int d = 0; d < 2; d++) {
        cuzk_cuda_free(plan->dev, plan->roots[d]);
        for (int i = 0; i < CUZK__NTT_MAX_PASSES - 1; i++)
            cuzk_cuda_free(plan->dev, plan->boundary[d][i]);
    }
    cuzk_cuda_ntt_scale_free(plan->one_pass);
    cuzk_free(plan);
}

cuzk_status cuzk_cuda_ntt_scale_new(cuzk_cuda_ntt_scale **out, const cuzk_cuda_ntt *plan,
                                    cuzk_ntt_dir dir, const cuzk_u256 *h, cuzk_err *err) {
    using cuzk_gpu::shoup_pair;
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_ntt_scale)));
    cuzk_cuda_ntt_scale *scale = (cuzk_cuda_ntt_scale *)mem;
    scale->dev = plan->dev;
    scale->dir = dir;
    const unsigned last = row_bits(plan->log2n, plan->dirs);
    cuzk_status st;
    CUZK_TRY_GOTO(cuzk_cuda_alloc(plan->dev, &scale->row, sizeof(shoup_pair) << last, err), fail);
    CUZK_TRY_GOTO(
        cuzk_cuda_alloc(plan->dev, &scale->block, sizeof(shoup_pair) << (plan->log2n - last), err),
        fail);
    CUZK_TRY_GOTO(plan->ops->make_scale(plan, scale, h, err), fail);
    CUZK_TRY_GOTO(cuzk_cuda_sync(plan->dev, err), fail);
    *out = scale;
    return CUZK_OK;
fail:
    cuzk_cuda_ntt_scale_free(scale);
    return st;
}

void cuzk_cuda_ntt_scale_free(cuzk_cuda_ntt_scale *scale) {
    if (!scale) return;
    cuzk_cuda_free(scale->dev, scale->row);
    cuzk_cuda_free(scale->dev, scale->block);
    cuzk_free(scale);
}

cuzk_status cuzk_cuda_ntt_run(const cuzk_cuda_ntt *plan, void *device, cuzk_ntt_dir dir,
                              cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale,
                              cuzk_err *err) {
    if (!(plan->dirs >> dir & 1))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the plan has no tables for this direction");
    const bool scalable = (dir == CUZK_NTT_FORWARD) == (order == CUZK_NTT_RN);
    if (scale && (!scalable || scale->dir != dir))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "these factors are for another transform");
    return plan->ops->run(plan, device, dir, order, scale, err);
}

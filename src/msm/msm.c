#include "msm/msm.h"

#include "base/mem.h"
#include "msm/kernel.h"

enum { MAX_PARTS = 64, FEW_MIN_PART = 64 };

static const cuzk__msm_kernel *find_kernel(const cuzk_msm_args *a) {
    bool bn = a->curve == CUZK_BN254, g1 = a->group == CUZK_G1;
#ifdef CUZK_FIELD_ASM
    if (a->impl != CUZK_CPU_PORTABLE) {
        if (bn) return g1 ? &cuzk__msm_bn254_g1_asm : &cuzk__msm_bn254_g2_asm;
        return g1 ? &cuzk__msm_bls12_381_g1_asm : &cuzk__msm_bls12_381_g2_asm;
    }
#endif
    if (bn) return g1 ? &cuzk__msm_bn254_g1_portable : &cuzk__msm_bn254_g2_portable;
    return g1 ? &cuzk__msm_bls12_381_g1_portable : &cuzk__msm_bls12_381_g2_portable;
}

static unsigned few_window(size_t n) {
    unsigned lg = 0;
    while (n >> (lg + 1))
        lg++;
    unsigned c = lg > 12 ? lg - 3 : lg > 5 ? lg - 2 : 3;
    return c > 16 ? 16 : c;
}

typedef struct {
    const cuzk__msm_kernel *k;
    const cuzk_msm_args *a;
    cuzk__digits digits;
    size_t parts;
    cuzk__msm_acc sum[MAX_PARTS];
    cuzk_status status[MAX_PARTS];
} few_job;

static void few_part(void *ctx, size_t i) {
    few_job *job = ctx;
    size_t n = job->a->n, begin = n / job->parts * i, end = n / job->parts * (i + 1);
    if (i + 1 == job->parts) end = n;
    size_t bytes = sizeof(cuzk__msm_acc) << (job->digits.c - 1);
    void *buckets;
    job->status[i] = cuzk_alloc(&buckets, 1, bytes);
    if (job->status[i] != CUZK_OK) return;
    job->k->few(&job->sum[i], &job->digits,
                (const uint8_t *)job->a->bases + begin * job->k->point_size,
                (const uint8_t *)job->a->scalars + begin * 32, end - begin, buckets);
    cuzk_wipe(buckets, bytes);
    cuzk_free(buckets);
}

static cuzk_status few(const cuzk__msm_kernel *k, const cuzk_msm_args *args, cuzk_point *out) {
    const cuzk_fr_ops *fr = cuzk_curve_get(args->curve)->fr;
    few_job job = {.k = k, .a = args, .parts = cuzk_pool_threads(args->pool)};
    if (job.parts > MAX_PARTS) job.parts = MAX_PARTS;
    if (job.parts > args->n / FEW_MIN_PART + 1) job.parts = args->n / FEW_MIN_PART + 1;
    cuzk__digits_init(&job.digits, &fr->modulus, 256,
                      args->window ? args->window : few_window(args->n / job.parts));
    cuzk_pool_run(args->pool, job.parts, few_part, &job);
    cuzk__msm_acc sum;
    cuzk_status st = CUZK_OK;
    k->acc_zero(&sum);
    for (size_t i = 0; i < job.parts; i++) {
        if (job.status[i] != CUZK_OK)
            st = job.status[i];
        else
            k->acc_add(&sum, &job.sum[i]);
    }
    if (st == CUZK_OK) k->acc_to_affine(out, &sum);
    return st;
}

cuzk_status cuzk_msm(const cuzk_msm_args *args, cuzk_point *out) {
    memset(out, 0, sizeof *out);
    if (args->n == 0) return CUZK_OK;
    return few(find_kernel(args), args, out);
}

size_t cuzk_msm_scratch(const cuzk_msm_args *args) {
    size_t parts = cuzk_pool_threads(args->pool);
    return parts * (sizeof(cuzk__msm_acc) << (args->window ? args->window - 1 : 15));
}

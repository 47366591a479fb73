#include "msm/msm.h"

#include "base/mem.h"
#include "msm/kernel.h"
#include "msm/plan.h"
#include "msm/work.h"

#include <stdatomic.h>

enum {
    FEW = 32,           /* below, one window after the other with XYZZ buckets */
    FEW_WINDOW_MAX = 8, /* bits */
    PART_MAX = 1 << 26, /* points of one plan: bounds the byte kept for each */
    CUT_WIDTH = 9,      /* narrower windows are not shared by buckets */
};

#define KERNEL(a, impl)                                                                            \
    ((a)->curve == CUZK_BN254                                                                      \
         ? ((a)->group == CUZK_G1 ? &cuzk__msm_bn254_g1_##impl : &cuzk__msm_bn254_g2_##impl)       \
         : ((a)->group == CUZK_G1 ? &cuzk__msm_bls12_381_g1_##impl                                 \
                                  : &cuzk__msm_bls12_381_g2_##impl))

static const cuzk__msm_kernel *find_kernel(const cuzk_msm_args *a) {
#if CUZK__MSM_HAVE_IFMA
    const bool vectors = a->impl == CUZK_CPU_AUTO || a->impl == CUZK_CPU_IFMA;
    if (vectors && cuzk_cpu_has_avx512_ifma()) return KERNEL(a, ifma);
#endif
#if CUZK__MSM_HAVE_ADX
    if (a->impl != CUZK_CPU_PORTABLE && cuzk_cpu_has_adx()) return KERNEL(a, adx);
#endif
#if CUZK__MSM_HAVE_ASM
    if (a->impl != CUZK_CPU_PORTABLE) return KERNEL(a, asm);
#endif
    return KERNEL(a, portable);
}

/* ---- few points -------------------------------------------------------------------------- */

static unsigned few_window(size_t n) {
    unsigned lg = 0;
    while (n >> (lg + 1))
        lg++;
    unsigned c = lg > 5 ? lg - 1 : lg > 2 ? 4 : 3;
    return c > FEW_WINDOW_MAX ? FEW_WINDOW_MAX : c;
}

static cuzk_status few(const cuzk__msm_kernel *k, const cuzk_msm_args *a, cuzk__msm_acc *acc) {
    const cuzk_fr_ops *fr = cuzk_curve_get(a->curve)->fr;
    cuzk__digits d;
    void *buckets;
    cuzk__digits_init(&d, &fr->modulus, cuzk__digits_bits(&fr->modulus), few_window(a->n));
    for (size_t i = 0; i < a->n; i++)
        if (!cuzk__scalar_is_canonical(&d, (const uint8_t *)a->scalars + 32 * i))
            return CUZK_STATUS_BAD_INPUT;
    CUZK_TRY(cuzk_alloc(&buckets, (size_t)1 << (d.c - 1), sizeof(cuzk__msm_acc)));
    k->few(acc, &d, a->bases, a->scalars, a->n, buckets);
    cuzk_wipe(buckets, sizeof(cuzk__msm_acc) << (d.c - 1));
    cuzk_free(buckets);
    cuzk_wipe_stack(); /* scalars pass through it when they are recoded */
    return CUZK_OK;
}

/* ---- memory that is left to the next sum -------------------------------------------------- */

typedef struct {
    atomic_bool taken;
    size_t bytes;
    void *memory;
} block;

/* A block for each thread that works at a time. They grow: what a thread needs depends on the plan,
 * and is much the same for most sums. */
struct cuzk_msm_room {
    block block[CUZK__PLAN_THREADS];
};

cuzk_status cuzk_msm_room_new(cuzk_msm_room **out) {
    void *mem;
    *out = NULL;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_msm_room)));
    *out = mem;
    for (unsigned t = 0; t < CUZK__PLAN_THREADS; t++)
        atomic_init(&(*out)->block[t].taken, false);
    return CUZK_OK;
}

void cuzk_msm_room_free(cuzk_msm_room *room) {
    if (!room) return;
    for (unsigned t = 0; t < CUZK__PLAN_THREADS; t++)
        cuzk_big_free(room->block[t].memory, room->block[t].bytes);
    cuzk_free(room);
}

/* One of the room's, or *own when all are taken; NULL when there is no memory. */
static block *take_block(cuzk_msm_room *room, block *own, size_t bytes) {
    block *b = room->block;
    while (b < room->block + CUZK__PLAN_THREADS && atomic_exchange(&b->taken, true))
        b++;
    if (b == room->block + CUZK__PLAN_THREADS) b = own;
    if (b->bytes >= bytes) return b;
    cuzk_big_free(b->memory, b->bytes);
    b->bytes = cuzk_big_alloc(&b->memory, bytes) == CUZK_OK ? bytes : 0;
    if (b->memory) return b;
    atomic_store(&b->taken, false);
    return NULL;
}

static void put_back(block *b, const block *own) {
    if (b == own) cuzk_big_free(b->memory, b->bytes);
    atomic_store(&b->taken, false);
}

/* ---- many -------------------------------------------------------------------------------- */

typedef struct {
    cuzk__work w;
    cuzk__scan scan;
    cuzk__bit_scan bit_scan;
    cuzk_msm_room *room;
    cuzk__msm_acc *sums; /* threads times windows */
    cuzk__share share[CUZK__PLAN_THREADS];
    cuzk_status status[CUZK__PLAN_THREADS];
    uint64_t additions[CUZK__PLAN_THREADS];
} job;

static cuzk__costs costs_of(const cuzk__msm_kernel *k) {
    return (cuzk__costs){
        .slot_size = k->slot_size, .group_bytes = k->group_bytes, .vectors = k->put != NULL};
}

static void run_thread(void *ctx, size_t t) {
    job *j = ctx;
    block own = {.memory = NULL},
          *b = take_block(j->room, &own, cuzk__work_bytes(j->w.kernel, &j->w.plan));
    j->status[t] = b ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
    if (!b) return;
    cuzk__msm_acc *sums = j->sums + t * j->w.digits.windows;
    for (unsigned x = 0; x < j->w.digits.windows; x++)
        j->w.kernel->acc_zero(&sums[x]);
    j->additions[t] = cuzk__work_run(&j->w, (unsigned)t, sums, b->memory);
    put_back(b, &own);
    cuzk_wipe_stack();
}

static void share_windows(cuzk__work *w, cuzk__share *share) {
    w->shares = (cuzk__shares){.of = share,
                               .threads = w->plan.threads,
                               .most = w->plan.group * CUZK__PARTS,
                               .whole = w->digits.c < CUT_WIDTH};
    for (unsigned t = 0; t < w->plan.threads; t++) {
        const cuzk__portion p = cuzk__work_whole(&w->plan, t);
        cuzk__share_init(&share[t], p.first, w->scan->n ? p.last : p.first);
    }
}

static cuzk_status run_plan(job *j, cuzk_pool *pool, cuzk__msm_acc *acc) {
    const cuzk__msm_kernel *k = j->w.kernel;
    const unsigned windows = j->w.digits.windows, threads = j->w.plan.threads;
    void *sums;
    CUZK_TRY(cuzk_alloc(&sums, (size_t)threads * windows, sizeof(cuzk__msm_acc)));
    j->sums = sums;
    share_windows(&j->w, j->share);
    cuzk_pool_run(pool, threads, run_thread, j);
    cuzk_status st = CUZK_OK;
    for (unsigned t = 0; t < threads; t++)
        if (j->status[t] != CUZK_OK) st = j->status[t];
    k->acc_zero(acc);
    for (unsigned x = windows; x-- > 0 && st == CUZK_OK;) {
        k->acc_dbl(acc, cuzk__digits_width(&j->w.digits, x));
        for (unsigned t = 0; t < threads; t++)
            k->acc_add(acc, &j->sums[t * windows + x]);
    }
    cuzk_wipe(sums, (size_t)threads * windows * sizeof(cuzk__msm_acc));
    cuzk_free(sums);
    return st;
}

static cuzk_status scan_and_run(job *j, const cuzk_msm_args *a, cuzk__msm_acc *acc) {
    const cuzk_u256 *order = &cuzk_curve_get(a->curve)->fr->modulus;
    const cuzk__msm_kernel *k = j->w.kernel;
    cuzk__digits_init(&j->w.digits, order, cuzk__digits_bits(order), CUZK__WIDTH_MAX);
    cuzk__scan_shape(&j->scan, a->n);
    CUZK_TRY(cuzk__scan_run(&j->scan, &j->w.digits, a->bases, k->point_size, a->scalars, a->pool));
    cuzk__bit_scan_run(&j->bit_scan, a->bits, a->n_bits);
    cuzk__costs costs = costs_of(k);
    cuzk__plan_make(&j->w.plan, &j->w.digits, &j->scan, &j->bit_scan, order, &costs, a->window,
                    cuzk_pool_threads(a->pool));
    return run_plan(j, a->pool, acc);
}

/* The stored form of n bases: the bases themselves, or memory to free. */
static cuzk_status to_stored(const cuzk__msm_kernel *k, const void *bases, size_t n, void **mem,
                             const uint8_t **stored) {
    *mem = NULL;
    *stored = bases;
    if (!k->convert || n == 0) return CUZK_OK;
    CUZK_TRY(cuzk_big_alloc(mem, n * k->slot_size));
    k->convert(*mem, bases, n);
    *stored = *mem;
    return CUZK_OK;
}

static cuzk_status many_in(cuzk_msm_room *room, const cuzk__msm_kernel *k, const cuzk_msm_args *a,
                           cuzk__msm_acc *acc) {
    void *mem, *bits = NULL, *stored = NULL, *bit_stored = NULL;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(job)));
    job *j = mem;
    j->room = room;
    j->w = (cuzk__work){
        .kernel = k, .scan = &j->scan, .n_bits = a->n_bits, .scalars = a->scalars, .bits = a->bits};
    cuzk_status st = to_stored(k, a->bases, a->n, &stored, &j->w.bases);
    if (st == CUZK_OK) st = to_stored(k, a->bit_bases, a->n_bits, &bit_stored, &j->w.bit_bases);
    if (st == CUZK_OK) st = cuzk_alloc(&bits, a->n, 1);
    j->scan.bits = bits;
    if (st == CUZK_OK) st = scan_and_run(j, a, acc);
    for (unsigned t = 0; st == CUZK_OK && a->additions && t < j->w.plan.threads; t++)
        *a->additions += j->additions[t];
    if (bits) cuzk_wipe(bits, a->n);
    cuzk_free(bits);
    cuzk_big_free(stored, a->n * k->slot_size);
    cuzk_big_free(bit_stored, a->n_bits * k->slot_size);
    /* most of the job is counts of blocks that few sums have */
    cuzk__scan_wipe(&j->scan);
    cuzk_wipe(&j->bit_scan, sizeof j->bit_scan);
    cuzk_wipe(&j->w, sizeof j->w);
    cuzk_free(j);
    return st;
}

static cuzk_status many(const cuzk__msm_kernel *k, const cuzk_msm_args *a, cuzk__msm_acc *acc) {
    cuzk_msm_room *own = NULL;
    if (a->room) return many_in(a->room, k, a, acc);
    CUZK_TRY(cuzk_msm_room_new(&own));
    const cuzk_status st = many_in(own, k, a, acc);
    cuzk_msm_room_free(own);
    return st;
}

/* ---- the whole --------------------------------------------------------------------------- */

cuzk_status cuzk__msm_run(const cuzk__msm_kernel *k, const cuzk_msm_args *args, cuzk_point *out) {
    cuzk_msm_args part = *args;
    cuzk__msm_acc sum, acc;
    memset(out, 0, sizeof *out);
    if (args->additions) *args->additions = 0;
    k->acc_zero(&sum);
    for (size_t at = 0, bit = 0; at < args->n || bit < args->n_bits;) {
        part.n = args->n - at < PART_MAX ? args->n - at : PART_MAX;
        if (part.n) {
            part.bases = (const uint8_t *)args->bases + at * k->point_size;
            part.scalars = (const uint8_t *)args->scalars + at * 32;
        }
        part.n_bits = args->n_bits - bit < PART_MAX ? args->n_bits - bit : PART_MAX;
        if (args->bit_bases)
            part.bit_bases = (const uint8_t *)args->bit_bases + bit * k->point_size;
        part.bits = args->bits ? args->bits + bit / 64 : NULL;
        bool small = part.n_bits == 0 && part.n < FEW && !args->window;
        CUZK_TRY(small ? few(k, &part, &acc) : many(k, &part, &acc));
        k->acc_add(&sum, &acc);
        at += part.n;
        bit += part.n_bits;
    }
    k->acc_to_affine(out, &sum);
    return CUZK_OK;
}

cuzk_status cuzk_msm(const cuzk_msm_args *args, cuzk_point *out) {
    return cuzk__msm_run(find_kernel(args), args, out);
}

size_t cuzk_msm_scratch(const cuzk_msm_args *args) {
    const cuzk__msm_kernel *k = find_kernel(args);
    unsigned threads = cuzk_pool_threads(args->pool);
    size_t n = args->n < PART_MAX ? args->n : PART_MAX;
    size_t n_bits = args->n_bits < PART_MAX ? args->n_bits : PART_MAX;
    cuzk__costs costs = costs_of(k);
    cuzk__plan worst = cuzk__plan_bounds(n, &costs, args->window, threads);
    size_t bytes = sizeof(cuzk_msm_room) + sizeof(job) + n;
    bytes += worst.threads * (cuzk__work_bytes(k, &worst) + 256 * sizeof(cuzk__msm_acc));
    if (k->convert) bytes += (n + n_bits) * k->slot_size;
    return bytes;
}

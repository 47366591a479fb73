/* Multiples of one point by a window table: include-template over a group; see fixed_base.c.
 *
 * Parameters (undefined again at the end): FB (prefix to generate), FB_EC (prefix of the group),
 * FB_BA (prefix of the group's batch_affine.inl.h). */

#define FB_CAT2(a, b) a##_##b
#define FB_CAT(a, b) FB_CAT2(a, b)
#define FB_(name) FB_CAT(FB, name)
#define EC_(name) FB_CAT(FB_EC, name)
#define BA_(name) FB_CAT(FB_BA, name)

/* Making a table, or products with it. */
typedef struct FB_(job_t) {
    const windows *win;
    EC_(affine_t) * table; /* window w from w * half on: 1, 2, …, half times 2^(bits w) base */
    uint8_t *out;
    const uint8_t *scalars;
    atomic_bool failed;
} FB_(job_t);

/* Fills window w, whose first entry is there: the first m multiples give the next m. */
static void FB_(fill)(void *arg, size_t w) {
    FB_(job_t) *job = arg;
    EC_(affine_t) *t = job->table + w * job->win->half;
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(BA_(scratch_t))) != CUZK_OK) {
        atomic_store(&job->failed, true);
        return;
    }
    BA_(scratch_t) *s = mem;
    for (size_t m = 1; m < job->win->half; m *= 2) {
        for (size_t i = 0; i < m; i += CUZK__BATCH) {
            const size_t n = m - i < CUZK__BATCH ? m - i : CUZK__BATCH;
            for (size_t k = 0; k < n; k++)
                s->b[k] = t[m - 1];
            memcpy(t + m + i, t + i, n * sizeof *t);
            BA_(add)(t + m + i, s->b, n, s);
        }
    }
    cuzk_free(mem);
}

/* Inlined always: gcc takes a function that only prefetches for one without effect. */
static inline __attribute__((always_inline)) void FB_(prefetch)(const EC_(affine_t) * entry) {
    const char *p = (const char *)entry;
    for (size_t i = 0; i < sizeof *entry; i += 64)
        __builtin_prefetch(p + i, 0, 2);
    __builtin_prefetch(p + sizeof *entry - 1, 0, 2);
}

/* Window w of n products, into out. started[i]: out[i] has a value. Digits that are zero and the
 * first addition to a product cost nothing. Entries are on their way from the table while the rest
 * of their batch is listed. */
static void FB_(window)(const FB_(job_t) * job, unsigned w, EC_(affine_t) * out,
                        const uint8_t *scalars, bool *started, size_t n, BA_(scratch_t) * s) {
    const EC_(affine_t) *t = job->table + w * job->win->half;
    uint32_t at[CUZK__BATCH], from[CUZK__BATCH];
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        const int d = window_digit(job->win, scalars + 32 * i, w);
        if (d == 0) continue;
        const uint32_t entry = (uint32_t)(d < 0 ? -d : d) - 1;
        if (!started[i]) {
            started[i] = true;
            if (d < 0)
                EC_(affine_neg)(&out[i], &t[entry]);
            else
                out[i] = t[entry];
            continue;
        }
        FB_(prefetch)(&t[entry]);
        at[len] = (uint32_t)i;
        from[len++] = entry << 1 | (d < 0);
        if (len == CUZK__BATCH) {
            BA_(add_at)(out, at, t, from, len, s);
            len = 0;
        }
    }
    BA_(add_at)(out, at, t, from, len, s);
}

/* out[begin..end), some at a time that stay in cache, window by window. */
static void FB_(range)(void *arg, size_t begin, size_t end) {
    enum { SOME = (512 << 10) / sizeof(EC_(affine_t)) };
    FB_(job_t) *job = arg;
    const size_t size = sizeof(EC_(affine_t));
    typedef struct {
        BA_(scratch_t) s;
        EC_(affine_t) out[SOME];
        bool started[SOME];
    } room;
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(room)) != CUZK_OK) {
        atomic_store(&job->failed, true);
        return;
    }
    room *r = mem;
    for (size_t i = begin; i < end; i += SOME) {
        const size_t n = end - i < SOME ? end - i : SOME;
        memset(r->out, 0, n * size);
        memset(r->started, 0, n * sizeof *r->started);
        for (unsigned w = 0; w < job->win->count; w++)
            FB_(window)(job, w, r->out, job->scalars + 32 * i, r->started, n, &r->s);
        memcpy(job->out + i * size, r->out, n * size);
    }
    cuzk_free(mem);
}

/* table: win->half * win->count points. */
static cuzk_status FB_(make)(const windows *win, void *table, const void *base, cuzk_pool *pool) {
    FB_(job_t) job = {.win = win, .table = table};
    atomic_init(&job.failed, false);
    EC_(affine_t) p;
    EC_(xyzz_t) t;
    memcpy(&p, base, sizeof p);
    for (unsigned w = 0; w < win->count; w++) {
        job.table[w * win->half] = p;
        EC_(xyzz_from_affine)(&t, &p);
        for (unsigned i = 0; i < win->bits; i++)
            EC_(xyzz_dbl)(&t, &t);
        EC_(xyzz_to_affine)(&p, &t);
    }
    cuzk_pool_run(pool, win->count, FB_(fill), &job);
    return atomic_load(&job.failed) ? CUZK_STATUS_NO_MEMORY : CUZK_OK;
}

static cuzk_status FB_(run)(const windows *win, void *table, void *out, const void *scalars,
                            size_t n, cuzk_pool *pool) {
    FB_(job_t) job = {.win = win, .table = table, .out = out, .scalars = scalars};
    atomic_init(&job.failed, false);
    cuzk_pool_run_ranges(pool, n, CUZK__BATCH, 2, FB_(range), &job);
    return atomic_load(&job.failed) ? CUZK_STATUS_NO_MEMORY : CUZK_OK;
}

#undef FB_
#undef EC_
#undef BA_
#undef FB_CAT
#undef FB_CAT2
#undef FB
#undef FB_EC
#undef FB_BA

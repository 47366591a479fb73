/* DESIGN. As in setup.c: scalars first, then fixed-base multiplications section by section, written
 * from front to back. The columns A_s, B_s, C_s(tau) of the flat wires come from the compact
 * system's rows (columns.h). */
#include "groth16/setup.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/progress.h"
#include "curve/zcash.h"
#include "groth16/columns.h"
#include "groth16/lagrange.h"
#include "groth16/points.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum { G2_COST = 3 /* of a point, in those of G1, for progress */ };

typedef enum { SECTION_IC, SECTION_H, SECTION_L, SECTION_A, SECTION_B } section;

typedef struct {
    const cuzk_r1cs *r;
    const cuzk_r1cs_density *density;
    const cuzk_toxic *toxic;
    const char *name;
    const cuzk_curve *curve;
    const cuzk_fr_ops *fr;
    cuzk_pool *pool;
    cuzk_out *out;
    cuzk_hash *hash;
    cuzk_params_vk *vk;
    cuzk_progress progress;
    cuzk_params_counts n;
    unsigned log2n;
    size_t n_wires;
    cuzk_u256 *lagrange; /* of the rows at tau; freed after the columns */
    cuzk_u256 *col[3];   /* n_wires each, inputs first */
    cuzk_u256 inv_gamma, inv_delta, h_scale;
    bool folded; /* C's part of the quotient goes to L; half_scale: h_scale / 2 */
    cuzk_u256 half_scale;
    uint32_t *dense; /* wires of the section that is being made */
    uint8_t *points; /* one batch, as a file has them */
    cuzk__points source;
} setup;

/* ---- columns ---- */

static cuzk_status columns(setup *s, cuzk_err *err) {
    const cuzk_fr_ops *fr = s->fr;
    const cuzk_u256 *tau = &s->toxic->tau;
    cuzk_u256 w, scale;
    cuzk_fr_root(fr, &w, 7, s->log2n);
    cuzk__lagrange_scale(fr, tau, s->log2n, &scale);
    CUZK_TRY(cuzk__lagrange(fr, s->lagrange, (size_t)s->n.h + 1, tau, &fr->one, &w, &scale, s->pool,
                            err));
    const cuzk_status st = cuzk__columns(s->r, s->lagrange, s->col, s->pool);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: reading the rows", s->name);
    /* the rows that bind the inputs: input i * 0 = 0 */
    for (uint32_t i = 0; i < s->n.ic; i++)
        fr->add(&s->col[0][i], &s->col[0][i], &s->lagrange[s->r->n_rows + i]);
    return CUZK_OK;
}

static void constants(setup *s) {
    const cuzk_fr_ops *fr = s->fr;
    cuzk_u256 t = s->toxic->tau;
    fr->inv(&s->inv_gamma, &s->toxic->gamma);
    fr->inv(&s->inv_delta, &s->toxic->delta);
    for (unsigned i = 0; i < s->log2n; i++)
        fr->mul(&t, &t, &t);
    fr->sub(&t, &t, &fr->one);
    fr->mul(&s->h_scale, &t, &s->inv_delta);
    fr->add(&t, &fr->one, &fr->one);
    fr->inv(&t, &t);
    fr->mul(&s->half_scale, &s->h_scale, &t);
}

/* ---- scalars ---- */

typedef struct {
    setup *s;
    section which;
    cuzk_group g;
    atomic_bool zero;
    uint8_t *to;        /* where the points go; NULL: into the file */
    const void *points; /* being written */
} filler;

/* (beta A + alpha B + C) / divisor */
static void combine(const setup *s, cuzk_u256 *x, size_t wire, const cuzk_u256 *inv) {
    const cuzk_fr_ops *fr = s->fr;
    cuzk_u256 t;
    fr->mul(x, &s->col[0][wire], &s->toxic->beta);
    fr->mul(&t, &s->col[1][wire], &s->toxic->alpha);
    fr->add(x, x, &t);
    fr->add(x, x, &s->col[2][wire]);
    fr->mul(x, x, inv);
}

static void combine_folded(const setup *s, cuzk_u256 *x, size_t wire) {
    cuzk_u256 t;
    s->fr->mul(&t, &s->col[2][wire], &s->half_scale);
    *x = (cuzk_u256){{0, 0, 0, 0}};
    if (wire >= s->n.ic) combine(s, x, wire, &s->inv_delta);
    s->fr->add(x, x, &t);
}

static void fill_h(const setup *s, cuzk_u256 *out, size_t first, size_t n) {
    const cuzk_fr_ops *fr = s->fr;
    const uint64_t e = first;
    cuzk_u256 x;
    fr->pow(&x, &s->toxic->tau, &e, 1);
    fr->mul(&x, &x, &s->h_scale);
    for (size_t i = 0; i < n; i++) {
        fr->from_mont(&out[i], &x);
        fr->mul(&x, &x, &s->toxic->tau);
    }
}

static void fill(void *ctx, cuzk_u256 *out, size_t first, size_t n) {
    static const cuzk_u256 zero;
    filler *f = ctx;
    const setup *s = f->s;
    if (f->which == SECTION_H) {
        fill_h(s, out, first, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = first + i;
        cuzk_u256 x;
        if (f->which == SECTION_IC)
            combine(s, &x, at, &s->inv_gamma);
        else if (f->which == SECTION_L && s->folded)
            combine_folded(s, &x, at);
        else if (f->which == SECTION_L)
            combine(s, &x, s->n.ic + at, &s->inv_delta);
        else
            x = s->col[f->which == SECTION_B][s->dense[at]];
        /* what a folded key holds of inputs may be nothing */
        if (memcmp(&x, &zero, sizeof zero) == 0 && !(f->which == SECTION_L && s->folded))
            atomic_store(&f->zero, true);
        s->fr->from_mont(&out[i], &x);
    }
}

static cuzk_status no_zero(filler *f, cuzk_err *err) {
    if (!atomic_load(&f->zero)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE,
                        "%s: a wire is in no constraint, or vanishes for these secrets: choose "
                        "another seed",
                        f->s->name);
}

/* Which wires have points in A or in B. */
static void list_dense(setup *s, section which) {
    const cuzk_r1cs_density *d = s->density;
    const uint64_t *aux = which == SECTION_A ? d->a_aux : d->b_aux;
    size_t n = 0;
    for (uint32_t i = 0; i < s->n.ic; i++)
        if (which == SECTION_A || (d->b_input[i / 64] >> (i % 64) & 1)) s->dense[n++] = i;
    for (uint32_t i = 0; i < s->n.l; i++)
        if (aux[i / 64] >> (i % 64) & 1) s->dense[n++] = s->n.ic + i;
}

/* ---- points ---- */

typedef struct {
    setup *s;
    const void *data;
    size_t n;
    cuzk_err *err;
    cuzk_status st;
} piece;

static void hash_or_write(void *ctx, size_t i) {
    piece *p = ctx;
    if (i == 0)
        p->st = cuzk_out_write(p->s->out, p->data, p->n, p->err);
    else
        cuzk_hash_update(p->s->hash, p->data, p->n);
}

/* Neither can be split, but a thread may hash while another writes. */
static cuzk_status put(setup *s, const void *data, size_t n, cuzk_err *err) {
    enum { LARGE = 1 << 16 };
    piece p = {.s = s, .data = data, .n = n, .err = err};
    if (!s->out) return CUZK_OK; /* a key of logarithms has no file */
    cuzk_pool_run(n < LARGE ? NULL : s->pool, 2, hash_or_write, &p);
    return p.st;
}

static cuzk_status put_count(setup *s, uint32_t n, cuzk_err *err) {
    uint8_t b[4];
    cuzk_st_u32be(b, n);
    return put(s, b, sizeof b, err);
}

static void encode_range(void *ctx, size_t begin, size_t end) {
    const filler *f = ctx;
    const setup *s = f->s;
    const size_t in = cuzk_curve_group(s->curve, f->g)->point_size;
    cuzk_zcash_write(f->g, s->points + begin * cuzk_zcash_size(f->g),
                     (const uint8_t *)f->points + begin * in, end - begin);
}

static cuzk_status put_points(void *ctx, const void *points, size_t n, cuzk_err *err) {
    enum { MIN_LEN = 1024 };
    filler *f = ctx;
    setup *s = f->s;
    CUZK_TRY(no_zero(f, err));
    if (f->to) {
        const size_t bytes = n * cuzk_curve_group(s->curve, f->g)->point_size;
        memcpy(f->to, points, bytes);
        f->to += bytes;
        return CUZK_OK;
    }
    f->points = points;
    cuzk_pool_run_ranges(s->pool, n, MIN_LEN, 4, encode_range, f);
    CUZK_TRY(put(s, s->points, n * cuzk_zcash_size(f->g), err));
    cuzk_progress_add(&s->progress, f->g == CUZK_G1 ? n : G2_COST * n);
    return CUZK_OK;
}

/* The points of a section into `to`, or into the file. */
static cuzk_status make_section(setup *s, section which, cuzk_group g, size_t n, uint8_t *to,
                                cuzk_err *err) {
    filler f = {.s = s, .which = which, .g = g, .to = to};
    const cuzk__points_job job = {fill, put_points, &f};
    atomic_init(&f.zero, false);
    return cuzk__points_run(&s->source, g, n, &job, err);
}

static cuzk_status put_section(setup *s, section which, cuzk_group g, uint32_t n, cuzk_err *err) {
    CUZK_TRY(put_count(s, n, err));
    return make_section(s, which, g, n, NULL, err);
}

/* ---- the verifying key ---- */

static void multiple(const setup *s, cuzk_group group, const cuzk_u256 *mont, cuzk_point *out) {
    const cuzk_group_ops *g = cuzk_curve_group(s->curve, group);
    cuzk_u256 k;
    s->fr->from_mont(&k, mont);
    memset(out, 0, sizeof *out);
    g->mul(out, g->generator, &k);
    cuzk_wipe(&k, sizeof k);
}

static cuzk_status make_vk(setup *s, cuzk_err *err) {
    const cuzk_toxic *t = s->toxic;
    cuzk_vk *vk = &s->vk->vk;
    void *ic;
    vk->curve = s->curve;
    multiple(s, CUZK_G1, &t->alpha, &vk->alpha1);
    multiple(s, CUZK_G1, &t->beta, &s->vk->beta1);
    multiple(s, CUZK_G2, &t->beta, &vk->beta2);
    multiple(s, CUZK_G2, &t->gamma, &vk->gamma2);
    multiple(s, CUZK_G1, &t->delta, &s->vk->delta1);
    multiple(s, CUZK_G2, &t->delta, &vk->delta2);
    if (cuzk_alloc(&ic, s->n.ic, CUZK_ZCASH_G1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", s->name);
    vk->ic = ic;
    vk->n_public = s->n.ic - 1;
    CUZK_TRY(make_section(s, SECTION_IC, CUZK_G1, s->n.ic, vk->ic, err));
    cuzk_buf bytes = CUZK_BUF_INIT;
    cuzk_params_vk_to_bytes(s->vk, &bytes);
    cuzk_status st = cuzk_buf_status(&bytes);
    if (st == CUZK_OK) st = put(s, bytes.data, bytes.len, err);
    cuzk_buf_free(&bytes);
    return st;
}

/* ---- the whole ---- */

static cuzk_status make_all(setup *s, const cuzk_setup_opts *opts, cuzk_err *err) {
    const uint64_t n1 = (uint64_t)s->n.ic + s->n.h + s->n.l + s->n.a + s->n.b;
    CUZK_TRY(columns(s, err));
    constants(s);
    CUZK_TRY(cuzk__points_open(&s->source, s->curve, opts->backend, n1, s->n.b, s->pool, err));
    CUZK_TRY(make_vk(s, err));
    CUZK_TRY(put_section(s, SECTION_H, CUZK_G1, s->n.h, err));
    CUZK_TRY(put_section(s, SECTION_L, CUZK_G1, s->n.l, err));
    list_dense(s, SECTION_A);
    CUZK_TRY(put_section(s, SECTION_A, CUZK_G1, s->n.a, err));
    list_dense(s, SECTION_B);
    CUZK_TRY(put_section(s, SECTION_B, CUZK_G1, s->n.b, err));
    return put_section(s, SECTION_B, CUZK_G2, s->n.b, err);
}

typedef struct {
    void **to;
    size_t bytes;
    bool secret;
} block;

enum { BLOCKS = 6 };

static void wipe_range(void *ctx, size_t begin, size_t end) {
    cuzk_wipe((uint8_t *)ctx + begin, end - begin);
}

/* Gigabytes, with a large circuit. */
static void wipe(const setup *s, void *p, size_t bytes) {
    enum { MIN_LEN = 1 << 20 };
    cuzk_pool_run_ranges(s->pool, bytes, MIN_LEN, 4, wipe_range, p);
}

static void list_blocks(setup *s, block out[BLOCKS]) {
    const size_t wires = s->n_wires * sizeof(cuzk_u256);
    const block list[BLOCKS] = {
        {(void **)&s->lagrange, ((size_t)s->n.h + 1) * sizeof(cuzk_u256), true},
        {(void **)&s->col[0], wires, true},
        {(void **)&s->col[1], wires, true},
        {(void **)&s->col[2], wires, true},
        {(void **)&s->dense, s->n_wires * sizeof *s->dense, false},
        {(void **)&s->points, (size_t)CUZK__POINTS_BATCH * CUZK_ZCASH_G2, false},
    };
    memcpy(out, list, sizeof list);
}

static cuzk_status allocate(setup *s, cuzk_err *err) {
    block b[BLOCKS];
    list_blocks(s, b);
    for (int i = 0; i < BLOCKS; i++) {
        void *mem;
        if (cuzk_big_alloc(&mem, b[i].bytes) != CUZK_OK)
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                                "%s: not enough memory for a setup of 2^%u rows and %zu wires",
                                s->name, s->log2n, s->n_wires);
        *b[i].to = mem;
    }
    return CUZK_OK;
}

static void release(setup *s) {
    block b[BLOCKS];
    list_blocks(s, b);
    for (int i = 0; i < BLOCKS; i++) {
        if (*b[i].to && b[i].secret) wipe(s, *b[i].to, b[i].bytes);
        cuzk_big_free(*b[i].to, b[i].bytes);
    }
    cuzk__points_close(&s->source);
    cuzk_hash_free(s->hash);
    cuzk_wipe(s, sizeof *s);
}

/* ---- the key as logarithms ---- */

typedef struct {
    filler f;
    cuzk_u256 *logs;
} log_filler;

static void fill_logs(void *ctx, size_t begin, size_t end) {
    log_filler *l = ctx;
    fill(&l->f, l->logs + begin, begin, end - begin);
}

/* All scalars of a section; *logs is big memory of n + 1 of them. */
static cuzk_status section_logs(setup *s, section which, size_t n, cuzk_u256 **logs,
                                cuzk_err *err) {
    enum { MIN_LEN = 1024 };
    log_filler l = {.f = {.s = s, .which = which}};
    void *mem;
    atomic_init(&l.f.zero, false);
    if (cuzk_big_alloc(&mem, (n + 1) * sizeof **logs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory for %zu logarithms",
                            s->name, n);
    *logs = l.logs = mem;
    cuzk_pool_run_ranges(s->pool, n, MIN_LEN, 4, fill_logs, &l);
    return no_zero(&l.f, err);
}

/* The columns are given back as soon as the sections are there, before these are sorted. */
static void drop_columns(setup *s) {
    const size_t wires = s->n_wires * sizeof(cuzk_u256);
    cuzk_u256 **const columns[] = {&s->col[0], &s->col[1], &s->col[2]};
    for (int i = 0; i < 3; i++) {
        wipe(s, *columns[i], wires);
        cuzk_big_free(*columns[i], wires);
        *columns[i] = NULL;
    }
}

/* Columns, constants and the verifying key. */
static cuzk_status make_beginning(setup *s, cuzk_err *err) {
    CUZK_TRY(columns(s, err));
    constants(s);
    CUZK_TRY(cuzk__points_open(&s->source, s->curve, NULL, s->n.ic, 0, s->pool, err));
    return make_vk(s, err);
}

static cuzk_status make_logs(setup *s, cuzk_params_key **out, cuzk_err *err) {
    cuzk_u256 *logs[4] = {NULL, NULL, NULL, NULL};
    cuzk_params_counts count = s->n;
    if (s->folded) {
        count.h++;
        count.l += count.ic;
    }
    const size_t n[4] = {count.h, count.l, count.a, count.b};
    const section which[4] = {SECTION_H, SECTION_L, SECTION_A, SECTION_B};
    char *name = NULL;
    cuzk_status st = make_beginning(s, err);
    for (int i = 0; i < 4 && st == CUZK_OK; i++) {
        if (i >= 2) list_dense(s, which[i]);
        st = section_logs(s, which[i], n[i], &logs[i], err);
    }
    if (st == CUZK_OK) {
        drop_columns(s);
        st = cuzk_strdup(&name, s->name);
    }
    if (st == CUZK_OK) {
        const cuzk_params sections = {.name = name,
                                      .n = count,
                                      .h = (const uint8_t *)logs[0],
                                      .l = (const uint8_t *)logs[1],
                                      .a = (const uint8_t *)logs[2],
                                      .b1 = (const uint8_t *)logs[3],
                                      .b2 = (const uint8_t *)logs[3],
                                      .vk = *s->vk};
        st = cuzk_params_key_of_logs(out, &sections, s->folded, s->r, s->density, s->pool, err);
    }
    cuzk_free(name);
    for (int i = 0; i < 4; i++) {
        if (logs[i]) wipe(s, logs[i], (n[i] + 1) * sizeof **logs);
        cuzk_big_free(logs[i], (n[i] + 1) * sizeof **logs);
    }
    return st;
}

/* Of a key without a file. */
static void begin(setup *s, const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                  const cuzk_toxic *toxic, const char *name, cuzk_params_vk *vk, cuzk_pool *pool) {
    *s = (setup){.r = r1cs,
                 .density = density,
                 .toxic = toxic,
                 .name = name,
                 .curve = cuzk_curve_get(CUZK_BLS12_381),
                 .fr = r1cs->fr,
                 .pool = pool,
                 .vk = vk};
    memset(vk, 0, sizeof *vk);
    cuzk_params_counts_of(&s->n, r1cs, density);
    s->n_wires = (size_t)s->n.ic + s->n.l;
    while ((uint64_t)1 << s->log2n <= s->n.h)
        s->log2n++;
}

cuzk_status cuzk_groth16_setup_logs(cuzk_params_key **out, const cuzk_r1cs *r1cs,
                                    const cuzk_r1cs_density *density, const cuzk_toxic *toxic,
                                    const char *name, bool folded, cuzk_pool *pool, cuzk_err *err) {
    cuzk_params_vk vk;
    setup s;
    *out = NULL;
    begin(&s, r1cs, density, toxic, name, &vk, pool);
    s.folded = folded;
    cuzk_status st = allocate(&s, err);
    if (st == CUZK_OK) st = make_logs(&s, out, err);
    cuzk_params_vk_free(&vk);
    release(&s);
    return st;
}

cuzk_status cuzk_groth16_setup_vk(cuzk_params_vk *out, const cuzk_r1cs *r1cs,
                                  const cuzk_r1cs_density *density, const cuzk_toxic *toxic,
                                  const char *name, cuzk_pool *pool, cuzk_err *err) {
    setup s;
    begin(&s, r1cs, density, toxic, name, out, pool);
    cuzk_status st = allocate(&s, err);
    if (st == CUZK_OK) st = make_beginning(&s, err);
    if (st != CUZK_OK) cuzk_params_vk_free(out);
    release(&s);
    return st;
}

cuzk_status cuzk_groth16_setup_params(const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                                      const cuzk_toxic *toxic, const char *name, cuzk_out *out,
                                      cuzk_params_vk *vk, uint8_t hash[64],
                                      const cuzk_setup_opts *opts, cuzk_err *err) {
    setup s = {.r = r1cs,
               .density = density,
               .toxic = toxic,
               .name = name,
               .curve = cuzk_curve_get(CUZK_BLS12_381),
               .fr = r1cs->fr,
               .pool = opts->pool,
               .out = out,
               .vk = vk};
    memset(vk, 0, sizeof *vk);
    cuzk_params_counts_of(&s.n, r1cs, density);
    s.n_wires = (size_t)s.n.ic + s.n.l;
    while ((uint64_t)1 << s.log2n <= s.n.h)
        s.log2n++;
    cuzk_status st = cuzk_hash_new(&s.hash, CUZK_HASH_BLAKE2B_512);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "BLAKE2b-512: %s", cuzk_status_text(st));
    st = allocate(&s, err);
    if (st == CUZK_OK) {
        cuzk_progress_begin(&s.progress, opts->progress, "making the key",
                            (uint64_t)s.n.h + s.n.l + s.n.a + (1 + G2_COST) * (uint64_t)s.n.b);
        st = make_all(&s, opts, err);
        cuzk_progress_end(&s.progress);
        if (opts->stats)
            *opts->stats = (cuzk_setup_stats){
                .points = {(uint64_t)s.n.ic + s.n.h + s.n.l + s.n.a + s.n.b, s.n.b},
                .made = cuzk__points_stats(&s.source)};
    }
    if (st == CUZK_OK) {
        cuzk_hash *h = s.hash;
        s.hash = NULL;
        st = cuzk_hash_final(h, hash);
    }
    if (st != CUZK_OK) cuzk_params_vk_free(vk);
    release(&s);
    return st;
}

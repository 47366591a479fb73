/* DESIGN. With tau known, everything is a scalar first: L_i(tau) for each row by batch inversion,
 * then A_s, B_s, C_s(tau) for each wire by one walk over the constraints, then fixed-base
 * multiplications section by section, written as they are made. Sizes are known beforehand, so
 * the file is written once from front to back.
 */
#include "groth16/setup.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/progress.h"
#include "format/binfile.h"
#include "format/zkey.h"
#include "format/zkey_ceremony.h"
#include "groth16/lagrange.h"
#include "groth16/points.h"

#include <string.h>
#include <sys/stat.h>

typedef struct {
    const cuzk_circom_r1cs *r1cs;
    const cuzk_curve *curve;
    const cuzk_fr_ops *fr;
    const cuzk_toxic *toxic;
    cuzk_pool *pool;
    cuzk_out out;
    cuzk_binfile_writer writer;
    cuzk_progress progress;
    unsigned log2n;
    size_t n, n_wires, n_public;
    cuzk_u256 *lagrange; /* n: L_i(tau) */
    cuzk_u256 *col[3];   /* n_wires each: A_s, B_s, C_s (tau) */
    uint8_t *records;    /* of coefficients, before they are written */
    cuzk__points source;
} setup;

enum { RECORDS = 1 << 16 };

cuzk_status cuzk_toxic_from_seed(cuzk_toxic *out, const cuzk_curve *curve, const void *seed,
                                 size_t n, cuzk_err *err) {
    static const char *const names[5] = {"tau", "alpha", "beta", "gamma", "delta"};
    cuzk_u256 *to[5] = {&out->tau, &out->alpha, &out->beta, &out->gamma, &out->delta};
    for (int i = 0; i < 5; i++) {
        uint8_t wide[64];
        cuzk_hash *h;
        cuzk_status st = cuzk_hash_new(&h, CUZK_HASH_BLAKE2B_512);
        if (st == CUZK_OK) {
            cuzk_hash_update(h, names[i], strlen(names[i]));
            cuzk_hash_update(h, seed, n);
            st = cuzk_hash_final(h, wide);
        }
        if (st != CUZK_OK) return cuzk_err_set(err, st, "BLAKE2b-512: %s", cuzk_status_text(st));
        curve->fr->from_wide(to[i], wide);
        cuzk_wipe(wide, sizeof wide);
    }
    out->gamma = curve->fr->one;
    return CUZK_OK;
}

cuzk_status cuzk_toxic_from_hex(cuzk_toxic *out, const cuzk_curve *curve, const char *hex,
                                cuzk_err *err) {
    enum { MOST = 64 };
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    uint8_t seed[MOST];
    const size_t n = strlen(hex);
    if (n == 0 || n % 2 || n > 2 * (size_t)MOST || strspn(hex, digits) != n)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "an insecure seed wants an even number of hexadecimal digits, up to "
                            "%d",
                            2 * MOST);
    for (size_t i = 0; i < n; i++) {
        const unsigned digit = (unsigned)(strchr(digits, hex[i]) - digits) % 16;
        seed[i / 2] = (uint8_t)(i % 2 ? seed[i / 2] << 4 | digit : digit);
    }
    return cuzk_toxic_from_seed(out, curve, seed, n / 2, err);
}

static void add_row(const setup *s, const cuzk_circom_r1cs_row *row, const cuzk_u256 *l) {
    for (int k = 0; k < 3; k++) {
        const uint8_t *t = row->lc[k].terms;
        for (uint32_t i = 0; i < row->lc[k].n; i++, t += CUZK_R1CS_TERM_SIZE) {
            cuzk_u256 coef, *col = &s->col[k][cuzk_ld_u32le(t)];
            memcpy(&coef, t + 4, 32);
            s->fr->to_mont(&coef, &coef);
            s->fr->mul(&coef, &coef, l);
            s->fr->add(col, col, &coef);
        }
    }
}

static cuzk_status columns(setup *s, cuzk_err *err) {
    cuzk_u256 w, scale;
    cuzk_fr_root(s->fr, &w, 5, s->log2n);
    cuzk__lagrange_scale(s->fr, &s->toxic->tau, s->log2n, &scale);
    CUZK_TRY(cuzk__lagrange(s->fr, s->lagrange, s->n, &s->toxic->tau, &s->fr->one, &w, &scale,
                            s->pool, err));
    cuzk_circom_r1cs_iter it;
    cuzk_circom_r1cs_row row;
    cuzk_circom_r1cs_iter_init(&it, s->r1cs);
    for (size_t i = 0; cuzk_circom_r1cs_next(&it, &row); i++)
        add_row(s, &row, &s->lagrange[i]);
    /* The rows that bind the public wires to their values: s * 0 = 0 at row n_constraints + s. */
    for (size_t i = 0; i <= s->n_public; i++)
        s->fr->add(&s->col[0][i], &s->col[0][i], &s->lagrange[s->r1cs->n_constraints + i]);
    return CUZK_OK;
}

static cuzk_status put(setup *s, const void *data, size_t n, cuzk_err *err) {
    return cuzk_binfile_put(&s->writer, data, n, err);
}

static cuzk_status put_u32(setup *s, uint32_t v, cuzk_err *err) {
    return cuzk_binfile_put_u32(&s->writer, v, err);
}

static cuzk_status begin_section(setup *s, uint32_t type, uint64_t len, cuzk_err *err) {
    return cuzk_binfile_section_begin(&s->writer, type, len, err);
}

/* Points of one section: which scalars, in Montgomery form, from index `first`. */
typedef void montgomery_fn(const setup *s, cuzk_u256 *x, size_t first, size_t n);

typedef struct {
    setup *s;
    montgomery_fn *give;
    cuzk_group group;
} section;

static void fill_section(void *ctx, cuzk_u256 *out, size_t first, size_t n) {
    const section *x = ctx;
    x->give(x->s, out, first, n);
    for (size_t i = 0; i < n; i++)
        x->s->fr->from_mont(&out[i], &out[i]);
}

static cuzk_status write_section(void *ctx, const void *points, size_t n, cuzk_err *err) {
    const section *x = ctx;
    CUZK_TRY(put(x->s, points, n * cuzk_curve_group(x->s->curve, x->group)->point_size, err));
    cuzk_progress_add(&x->s->progress, x->group == CUZK_G1 ? n : 3 * n);
    return CUZK_OK;
}

static cuzk_status put_points(setup *s, cuzk_group group, size_t n, montgomery_fn *give,
                              cuzk_err *err) {
    section x = {s, give, group};
    const cuzk__points_job job = {fill_section, write_section, &x};
    return cuzk__points_run(&s->source, group, n, &job, err);
}

static void give_a(const setup *s, cuzk_u256 *x, size_t first, size_t n) {
    memcpy(x, s->col[0] + first, n * sizeof *x);
}

static void give_b(const setup *s, cuzk_u256 *x, size_t first, size_t n) {
    memcpy(x, s->col[1] + first, n * sizeof *x);
}

/* (beta A + alpha B + C) / divisor */
static void combine(const setup *s, cuzk_u256 *x, size_t first, size_t n, const cuzk_u256 *inv) {
    const cuzk_fr_ops *fr = s->fr;
    for (size_t i = 0; i < n; i++) {
        cuzk_u256 t;
        fr->mul(&x[i], &s->col[0][first + i], &s->toxic->beta);
        fr->mul(&t, &s->col[1][first + i], &s->toxic->alpha);
        fr->add(&x[i], &x[i], &t);
        fr->add(&x[i], &x[i], &s->col[2][first + i]);
        fr->mul(&x[i], &x[i], inv);
    }
}

static void give_ic(const setup *s, cuzk_u256 *x, size_t first, size_t n) {
    cuzk_u256 inv;
    s->fr->inv(&inv, &s->toxic->gamma);
    combine(s, x, first, n, &inv);
}

static void give_c(const setup *s, cuzk_u256 *x, size_t first, size_t n) {
    cuzk_u256 inv;
    s->fr->inv(&inv, &s->toxic->delta);
    combine(s, x, s->n_public + 1 + first, n, &inv);
}

/* s->lagrange holds the H scalars by then. */
static void give_h(const setup *s, cuzk_u256 *x, size_t first, size_t n) {
    memcpy(x, s->lagrange + first, n * sizeof *x);
}

/* L_{2i+1}(tau) / delta over the domain of twice the size. */
static cuzk_status h_scalars(setup *s, cuzk_err *err) {
    cuzk_u256 first, step, scale, inv;
    cuzk_fr_root(s->fr, &first, 5, s->log2n + 1);
    s->fr->mul(&step, &first, &first);
    cuzk__lagrange_scale(s->fr, &s->toxic->tau, s->log2n + 1, &scale);
    s->fr->inv(&inv, &s->toxic->delta);
    s->fr->mul(&scale, &scale, &inv);
    return cuzk__lagrange(s->fr, s->lagrange, s->n, &s->toxic->tau, &first, &step, &scale, s->pool,
                          err);
}

static cuzk_status put_multiple(setup *s, cuzk_group group, const cuzk_u256 *mont, cuzk_err *err) {
    const cuzk_group_ops *g = cuzk_curve_group(s->curve, group);
    cuzk_u256 k;
    cuzk_point p;
    s->fr->from_mont(&k, mont);
    g->mul(&p, g->generator, &k);
    return put(s, &p, g->point_size, err);
}

static cuzk_status put_header(setup *s, cuzk_err *err) {
    const cuzk_toxic *t = s->toxic;
    size_t n8q = s->curve->fp_limbs * 8u, p1 = s->curve->g1.point_size,
           p2 = s->curve->g2.point_size;
    CUZK_TRY(cuzk_binfile_begin(&s->writer, &s->out, "zkey", 1, 10, err));
    CUZK_TRY(begin_section(s, 1, 4, err));
    CUZK_TRY(put_u32(s, 1, err)); /* groth16 */
    CUZK_TRY(begin_section(s, 2, 4 + n8q + 4 + 32 + 12 + 3 * p1 + 3 * p2, err));
    CUZK_TRY(put_u32(s, (uint32_t)n8q, err));
    CUZK_TRY(put(s, s->curve->fp_modulus, n8q, err));
    CUZK_TRY(put_u32(s, 32, err));
    CUZK_TRY(put(s, &s->fr->modulus, 32, err));
    CUZK_TRY(put_u32(s, (uint32_t)s->n_wires, err));
    CUZK_TRY(put_u32(s, (uint32_t)s->n_public, err));
    CUZK_TRY(put_u32(s, (uint32_t)s->n, err));
    CUZK_TRY(put_multiple(s, CUZK_G1, &t->alpha, err));
    CUZK_TRY(put_multiple(s, CUZK_G1, &t->beta, err));
    CUZK_TRY(put_multiple(s, CUZK_G2, &t->beta, err));
    CUZK_TRY(put_multiple(s, CUZK_G2, &t->gamma, err));
    CUZK_TRY(put_multiple(s, CUZK_G1, &t->delta, err));
    return put_multiple(s, CUZK_G2, &t->delta, err);
}

static uint8_t *put_record(const setup *s, uint8_t *rec, uint32_t matrix, uint32_t row,
                           uint32_t wire, const cuzk_u256 *plain) {
    cuzk_u256 v;
    s->fr->to_mont(&v, plain); /* R, and once more: the file stores coef * R^2 */
    s->fr->to_mont(&v, &v);
    cuzk_st_u32le(rec, matrix);
    cuzk_st_u32le(rec + 4, row);
    cuzk_st_u32le(rec + 8, wire);
    memcpy(rec + 12, &v, 32);
    return rec + CUZK_ZKEY_COEF_SIZE;
}

static cuzk_status put_coefs(setup *s, cuzk_err *err) {
    const cuzk_circom_r1cs *r = s->r1cs;
    uint64_t count = r->n_terms[0] + r->n_terms[1] + s->n_public + 1;
    if (count > UINT32_MAX)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: %llu coefficients; a zkey counts them in 32 bits", r->name,
                            (unsigned long long)count);
    CUZK_TRY(begin_section(s, 4, 4 + count * CUZK_ZKEY_COEF_SIZE, err));
    CUZK_TRY(put_u32(s, (uint32_t)count, err));
    uint8_t *buf = s->records, *p = buf, *full = buf + RECORDS * 64u - CUZK_ZKEY_COEF_SIZE;
    cuzk_circom_r1cs_iter it;
    cuzk_circom_r1cs_row row;
    cuzk_circom_r1cs_iter_init(&it, r);
    for (uint32_t i = 0; cuzk_circom_r1cs_next(&it, &row); i++) {
        for (uint32_t k = 0; k < 2; k++) {
            const uint8_t *t = row.lc[k].terms;
            for (uint32_t j = 0; j < row.lc[k].n; j++, t += CUZK_R1CS_TERM_SIZE) {
                cuzk_u256 coef;
                memcpy(&coef, t + 4, 32);
                p = put_record(s, p, k, i, cuzk_ld_u32le(t), &coef);
                if (p < full) continue;
                CUZK_TRY(put(s, buf, (size_t)(p - buf), err));
                p = buf;
            }
        }
    }
    const cuzk_u256 one = {{1, 0, 0, 0}};
    for (uint32_t i = 0; i <= s->n_public; i++) {
        p = put_record(s, p, 0, r->n_constraints + i, i, &one);
        if (p < full && i < s->n_public) continue;
        CUZK_TRY(put(s, buf, (size_t)(p - buf), err));
        p = buf;
    }
    return CUZK_OK;
}

static cuzk_status put_sections(setup *s, cuzk_err *err) {
    uint64_t p1 = s->curve->g1.point_size, p2 = s->curve->g2.point_size;
    uint64_t n_c = s->n_wires - s->n_public - 1;
    CUZK_TRY(begin_section(s, 3, (s->n_public + 1) * p1, err));
    CUZK_TRY(put_points(s, CUZK_G1, s->n_public + 1, give_ic, err));
    CUZK_TRY(put_coefs(s, err));
    CUZK_TRY(begin_section(s, 5, s->n_wires * p1, err));
    CUZK_TRY(put_points(s, CUZK_G1, s->n_wires, give_a, err));
    CUZK_TRY(begin_section(s, 6, s->n_wires * p1, err));
    CUZK_TRY(put_points(s, CUZK_G1, s->n_wires, give_b, err));
    CUZK_TRY(begin_section(s, 7, s->n_wires * p2, err));
    CUZK_TRY(put_points(s, CUZK_G2, s->n_wires, give_b, err));
    CUZK_TRY(begin_section(s, 8, n_c * p1, err));
    CUZK_TRY(put_points(s, CUZK_G1, n_c, give_c, err));
    CUZK_TRY(begin_section(s, 9, s->n * p1, err));
    CUZK_TRY(h_scalars(s, err));
    CUZK_TRY(put_points(s, CUZK_G1, s->n, give_h, err));
    /* 10: no circuit hash (it proves nothing about a key whose secrets are known) and no
     * contributions. */
    static const uint8_t no_ceremony[68];
    CUZK_TRY(begin_section(s, 10, sizeof no_ceremony, err));
    return put(s, no_ceremony, sizeof no_ceremony, err);
}

static cuzk_status allocate(setup *s, cuzk_err *err) {
    enum { BLOCKS = 5 };
    void *mem[BLOCKS] = {NULL};
    size_t wires = s->n_wires * sizeof(cuzk_u256);
    const size_t bytes[BLOCKS] = {s->n * sizeof(cuzk_u256), wires, wires, wires,
                                  (size_t)RECORDS * 64};
    for (int i = 0; i < BLOCKS; i++) {
        if (cuzk_big_alloc(&mem[i], bytes[i]) == CUZK_OK) continue;
        while (i-- > 0)
            cuzk_big_free(mem[i], bytes[i]);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "%s: not enough memory for a setup of "
                            "2^%u rows and %zu wires",
                            s->r1cs->name, s->log2n, s->n_wires);
    }
    s->lagrange = mem[0];
    for (int k = 0; k < 3; k++)
        s->col[k] = mem[1 + k];
    s->records = mem[4];
    return CUZK_OK;
}

static void release(setup *s) {
    cuzk__points_close(&s->source);
    size_t wires = s->n_wires * sizeof(cuzk_u256);
    cuzk_wipe(s->lagrange, s->n * sizeof(cuzk_u256));
    cuzk_big_free(s->lagrange, s->n * sizeof(cuzk_u256));
    for (int k = 0; k < 3; k++) {
        cuzk_wipe(s->col[k], wires);
        cuzk_big_free(s->col[k], wires);
    }
    cuzk_big_free(s->records, (size_t)RECORDS * 64);
}

static void report(const setup *s, cuzk_setup_stats *stats) {
    if (!stats) return;
    *stats = (cuzk_setup_stats){.points = {s->n + 3 * s->n_wires, s->n_wires},
                                .made = cuzk__points_stats(&s->source)};
}

/* A key that `cuzk setup` made: no circuit hash and no contributions. */
static cuzk_status is_development(bool *yes, const char *path, cuzk_err *err) {
    static const uint8_t none[64];
    cuzk_zkey *zk;
    cuzk_zkey_ceremony c;
    CUZK_TRY(cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_SHAPE, NULL, err));
    const cuzk_status st = cuzk_zkey_ceremony_begin(&c, zk, err);
    *yes = st == CUZK_OK && c.present && c.n == 0 && memcmp(c.cs_hash, none, sizeof none) == 0;
    cuzk_zkey_free(zk);
    return st;
}

/* What a ceremony made cannot be made again. */
static cuzk_status may_replace(const cuzk_out *out, const char *path, cuzk_err *err) {
    struct stat file;
    bool yes = false;
    cuzk_err why = {0};
    if (out->in_place || stat(path, &file) != 0 || file.st_size == 0) return CUZK_OK;
    if (is_development(&yes, path, &why) == CUZK_STATUS_NO_MEMORY)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s", why.msg);
    if (yes) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE,
                        "%s: exists and is no development key: not overwritten; choose another "
                        "name",
                        path);
}

/* The whole key, in s->out. */
static cuzk_status write_key(setup *s, const cuzk_setup_opts *opts, cuzk_err *err) {
    CUZK_TRY(allocate(s, err));
    cuzk_progress_begin(&s->progress, opts->progress, "making the key", s->n + 6 * s->n_wires);
    cuzk_status st = columns(s, err);
    if (st == CUZK_OK)
        st = cuzk__points_open(&s->source, s->curve, opts->backend, s->n + 3 * s->n_wires,
                               s->n_wires, s->pool, err);
    if (st == CUZK_OK) {
        st = put_header(s, err);
        if (st == CUZK_OK) st = put_sections(s, err);
        if (st == CUZK_OK) st = cuzk_binfile_end(&s->writer, err);
        cuzk_binfile_writer_free(&s->writer);
    }
    cuzk_progress_end(&s->progress);
    report(s, opts->stats);
    release(s);
    return st;
}

cuzk_status cuzk_groth16_setup_zkey(const cuzk_circom_r1cs *r1cs, const cuzk_toxic *toxic,
                                    const char *path, const cuzk_setup_opts *opts, cuzk_err *err) {
    setup s = {.r1cs = r1cs,
               .curve = r1cs->curve,
               .fr = r1cs->curve->fr,
               .toxic = toxic,
               .pool = opts->pool};
    s.n_wires = r1cs->n_wires;
    s.n_public = (size_t)r1cs->n_pub_out + r1cs->n_pub_in;
    s.log2n = 1; /* keys over one row are none: neither snarkjs nor cuzk reads them */
    while (((uint64_t)1 << s.log2n) < (uint64_t)r1cs->n_constraints + s.n_public + 1)
        s.log2n++;
    /* H needs the roots of twice the domain. */
    if (s.log2n + 1 > s.fr->adicity || s.log2n > 31)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: 2^%u rows are more than a setup on %s can make", r1cs->name,
                            s.log2n, s.curve->circom);
    s.n = (size_t)1 << s.log2n;
    CUZK_TRY(cuzk_out_open(&s.out, path, err));
    cuzk_status st = may_replace(&s.out, path, err);
    if (st == CUZK_OK) st = write_key(&s, opts, err);
    /* once more: a file may have arrived meanwhile */
    if (st == CUZK_OK) st = may_replace(&s.out, path, err);
    if (st == CUZK_OK) return cuzk_out_commit(&s.out, err);
    cuzk_out_abort(&s.out);
    return st;
}

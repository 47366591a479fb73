/* A key of logarithms is the same key as the file that setup writes: every base of the file is its
 * logarithm times the generator, in the same place. */
#include "support.h"

#include "bellperson.h"

#include "backend/cpu/cpu.h"
#include "base/file.h"
#include "groth16/columns.h"
#include "groth16/setup.h"

#include <unistd.h>

static void same_bases(const cuzk_group_ops *g, const void *points, const void *logs, size_t n,
                       size_t *compared) {
    for (size_t i = 0; i < n; i++) {
        cuzk_point p;
        cuzk_u256 k;
        memcpy(&k, (const uint8_t *)logs + 32 * i, sizeof k);
        g->mul(&p, g->generator, &k);
        assert_memory_equal(&p, (const uint8_t *)points + i * g->point_size, g->point_size);
        ++*compared;
    }
}

static void same_query(const cuzk_group_ops *g, const cuzk_query *points, const cuzk_query *logs,
                       size_t *compared) {
    assert_int_equal(points->n_bits, logs->n_bits);
    assert_int_equal(points->n_full, logs->n_full);
    assert_int_equal(points->first_full, logs->first_full);
    assert_int_equal(points->one_base != NULL, logs->one_base != NULL);
    if (points->n_bits) assert_memory_equal(points->bit_slots, logs->bit_slots, 4 * points->n_bits);
    if (points->n_full)
        assert_memory_equal(points->full_slots, logs->full_slots, 4 * points->n_full);
    same_bases(g, points->bit_bases, logs->bit_bases, points->n_bits, compared);
    same_bases(g, points->full_bases, logs->full_bases, points->n_full, compared);
    if (points->one_base) same_bases(g, points->one_base, logs->one_base, 1, compared);
}

static cuzk_params_key *key_of_file(const sector *s, const cuzk_toxic *toxic, cuzk_pool *pool) {
    char path[] = "/tmp/cuzk_logs_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    cuzk_out out;
    cuzk_params_vk vk;
    cuzk_params *file;
    cuzk_params_key *key;
    uint8_t hash[64];
    cuzk_err err = {0};
    cuzk_status st = cuzk_out_open(&out, path, &err);
    if (st == CUZK_OK)
        st = cuzk_groth16_setup_params(s->r, &s->density, toxic, "file", &out, &vk, hash,
                                       &(cuzk_setup_opts){.pool = pool}, &err);
    if (st == CUZK_OK) st = cuzk_out_sync(&out, &err);
    if (st == CUZK_OK) st = cuzk_out_commit(&out, &err);
    if (st == CUZK_OK) st = cuzk_params_open(&file, path, &s->counts, "file", pool, &err);
    if (st == CUZK_OK) st = cuzk_params_key_new(&key, file, s->r, &s->density, pool, NULL, &err);
    if (st != CUZK_OK) fail_msg("%s", err.msg);
    cuzk_params_free(file);
    cuzk_params_vk_free(&vk);
    unlink(path);
    return key;
}

static void compare(void (*make)(sector *s), unsigned threads) {
    sector s;
    cuzk_pool *pool;
    cuzk_toxic toxic;
    cuzk_params_key *logs;
    cuzk_err err = {0};
    size_t compared = 0;
    assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
    make(&s);
    assert_int_equal(cuzk_toxic_from_seed(&toxic, cuzk_curve_get(CUZK_BLS12_381), "x", 1, &err),
                     CUZK_OK);
    cuzk_params_key *points = key_of_file(&s, &toxic, pool);
    if (cuzk_groth16_setup_logs(&logs, s.r, &s.density, &toxic, "logs", false, pool, &err))
        fail_msg("%s", err.msg);
    const cuzk_proving_key *p = &points->key, *l = &logs->key;
    assert_true(l->logs && !p->logs);
    assert_string_equal(l->name, "logs");
    assert_int_equal(p->log2_domain, l->log2_domain);
    same_query(&p->curve->g1, &p->a, &l->a, &compared);
    same_query(&p->curve->g1, &p->b1, &l->b1, &compared);
    same_query(&p->curve->g2, &p->b2, &l->b2, &compared);
    same_query(&p->curve->g1, &p->l, &l->l, &compared);
    same_bases(&p->curve->g1, p->h, l->h, ((size_t)1 << p->log2_domain) - 1, &compared);
    assert_true(compared > 15);
    assert_memory_equal(p->alpha1, l->alpha1, p->curve->g1.point_size);
    assert_memory_equal(p->beta1, l->beta1, p->curve->g1.point_size);
    assert_memory_equal(p->beta2, l->beta2, p->curve->g2.point_size);
    assert_memory_equal(p->gamma2, l->gamma2, p->curve->g2.point_size);
    assert_memory_equal(p->delta1, l->delta1, p->curve->g1.point_size);
    assert_memory_equal(p->delta2, l->delta2, p->curve->g2.point_size);
    assert_memory_equal(p->ic, l->ic, p->n_inputs * p->curve->g1.point_size);
    /* the verifying key alone */
    cuzk_params_vk vk;
    if (cuzk_groth16_setup_vk(&vk, s.r, &s.density, &toxic, "vk", pool, &err))
        fail_msg("%s", err.msg);
    cuzk_buf bytes[2] = {CUZK_BUF_INIT, CUZK_BUF_INIT};
    cuzk_params_vk_to_bytes(&vk, &bytes[0]);
    cuzk_params_vk_to_bytes(&points->vk, &bytes[1]);
    assert_true(bytes[0].len > 0 && bytes[0].len == bytes[1].len);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].len);
    cuzk_buf_free(&bytes[0]);
    cuzk_buf_free(&bytes[1]);
    cuzk_params_vk_free(&vk);
    cuzk_params_key_free(logs);
    cuzk_params_key_free(points);
    sector_free(&s);
    cuzk_pool_free(pool);
}

static void same_key(void **state) {
    (void)state;
    compare(cubic_sector, 1);
    compare(poseidon_sector, 2);
}

/* The digits stand for the bytes of a seed, in both cases of letters. */
static void hexadecimal(void **state) {
    static const char *const bad[] = {"", "0", "0g", "x0", " 00", "00 "};
    const cuzk_curve *curve = cuzk_curve_get(CUZK_BLS12_381);
    cuzk_toxic want, got;
    cuzk_err err = {0};
    char digits[131] = {0};
    (void)state;
    memset(&want, 0, sizeof want);
    memset(&got, 0, sizeof got);
    assert_int_equal(cuzk_toxic_from_seed(&want, curve, "\x01\xaf\xfe", 3, &err), CUZK_OK);
    assert_int_equal(cuzk_toxic_from_hex(&got, curve, "01aFfE", &err), CUZK_OK);
    assert_memory_equal(&want, &got, sizeof want);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cuzk_toxic_from_hex(&got, curve, bad[i], &err), CUZK_STATUS_USAGE);
    memset(digits, '7', 128);
    assert_int_equal(cuzk_toxic_from_hex(&got, curve, digits, &err), CUZK_OK);
    memset(digits, '7', 130);
    assert_int_equal(cuzk_toxic_from_hex(&got, curve, digits, &err), CUZK_STATUS_USAGE);
}

/* Secrets that make a wire vanish are refused, and nothing is left behind. */
static void vanishing_wire(void **state) {
    (void)state;
    sector s;
    cuzk_toxic toxic;
    cuzk_params_key *logs = (cuzk_params_key *)&toxic;
    cuzk_err err = {0};
    cubic_sector(&s);
    assert_int_equal(cuzk_toxic_from_seed(&toxic, cuzk_curve_get(CUZK_BLS12_381), "x", 1, &err),
                     CUZK_OK);
    memset(&toxic.alpha, 0, sizeof toxic.alpha);
    memset(&toxic.beta, 0, sizeof toxic.beta);
    const cuzk_status st =
        cuzk_groth16_setup_logs(&logs, s.r, &s.density, &toxic, "logs", false, NULL, &err);
    assert_int_equal(st, CUZK_STATUS_USAGE);
    assert_null(logs);
    sector_free(&s);
}

/* ---- folded keys ---- */

typedef struct {
    void *owned[16];
    int n_owned;
} kept;

static const void *multiply_out(kept *k, const cuzk_group_ops *g, const void *logs, size_t n) {
    uint8_t *points = calloc(n + 1, g->point_size);
    k->owned[k->n_owned++] = points;
    for (size_t i = 0; i < n; i++) {
        cuzk_u256 e;
        cuzk_point p = {{0}};
        memcpy(&e, (const uint8_t *)logs + 32 * i, sizeof e);
        if ((e.l[0] | e.l[1] | e.l[2] | e.l[3]) != 0) g->mul(&p, g->generator, &e);
        memcpy(points + i * g->point_size, &p, g->point_size);
    }
    return points;
}

static void query_points(kept *k, const cuzk_group_ops *g, cuzk_query *q) {
    q->bit_bases = multiply_out(k, g, q->bit_bases, q->n_bits);
    q->full_bases = multiply_out(k, g, q->full_bases, q->n_full);
    if (q->one_base) q->one_base = multiply_out(k, g, q->one_base, 1);
}

/* A proof on the CPU with the points of a key of logarithms. */
static void prove_with(const sector *s, const cuzk_params_key *logs, cuzk_proof *out) {
    kept k = {.n_owned = 0};
    cuzk_proving_key key = logs->key;
    const cuzk_group_ops *g1 = &key.curve->g1;
    const size_t n = (size_t)1 << key.log2_domain;
    key.h = multiply_out(&k, g1, key.h, key.h_form == CUZK_H_FOLDED ? n : n - 1);
    query_points(&k, g1, &key.a);
    query_points(&k, g1, &key.b1);
    query_points(&k, &key.curve->g2, &key.b2);
    query_points(&k, g1, &key.l);
    key.logs = false;

    const cuzk_u256 r = {{123, 0, 0, 7}}, t = {{456, 1, 0, 0}};
    const cuzk_prove_opts opts = {.r = &r, .s = &t};
    const cuzk_wires wires = wires_of(s);
    cuzk_backend *cpu;
    cuzk_device_key *dk;
    cuzk_slot *slot;
    cuzk_err err = {0};
    memset(out, 0, sizeof *out);
    assert_int_equal(cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, NULL, &err), CUZK_OK);
    assert_int_equal(cpu->ops->key_load(cpu, &dk, &key, &err), CUZK_OK);
    assert_int_equal(cpu->ops->slot_new(dk, &slot, &err), CUZK_OK);
    if (cuzk_groth16_prove_slot(slot, &wires, &logs->vk.vk, &opts, out, NULL, &err))
        fail_msg("%s", err.msg);
    cpu->ops->slot_free(slot);
    cpu->ops->key_free(dk);
    cpu->ops->close(cpu);
    while (k.n_owned > 0)
        free(k.owned[--k.n_owned]);
}

/* Another key for the same secrets gives the same proofs. */
static void same_proofs(void (*make)(sector *s)) {
    sector s;
    cuzk_toxic toxic;
    cuzk_err err = {0};
    cuzk_proof proof[2];
    make(&s);
    assert_int_equal(cuzk_toxic_from_seed(&toxic, cuzk_curve_get(CUZK_BLS12_381), "x", 1, &err),
                     CUZK_OK);
    for (int folded = 0; folded < 2; folded++) {
        cuzk_params_key *logs;
        if (cuzk_groth16_setup_logs(&logs, s.r, &s.density, &toxic, "logs", folded, NULL, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(logs->key.h_form, folded ? CUZK_H_FOLDED : CUZK_H_COEFFICIENTS);
        const cuzk_query *l = &logs->key.l;
        assert_int_equal(l->n_bits + l->n_full + (l->one_base != NULL),
                         s.r->n_aux + (folded ? s.r->n_inputs : 0));
        prove_with(&s, logs, &proof[folded]);
        cuzk_params_key_free(logs);
    }
    assert_memory_equal(&proof[0].a, &proof[1].a, sizeof proof[0].a);
    assert_memory_equal(&proof[0].b, &proof[1].b, sizeof proof[0].b);
    assert_memory_equal(&proof[0].c, &proof[1].c, sizeof proof[0].c);
    sector_free(&s);
}

static void folded_keys(void **state) {
    (void)state;
    same_proofs(cubic_sector);
    same_proofs(poseidon_sector);
}

/* ---- columns ---- */

typedef struct {
    const cuzk_r1cs *r;
    const cuzk_u256 *weight;
    cuzk_u256 *col[3];
    uint32_t row;
} plain_columns;

static cuzk_status add_row(void *ctx, const cuzk_flat_term *t, const uint32_t n[3],
                           const cuzk_u256 *coefs) {
    plain_columns *p = ctx;
    for (uint32_t m = 0; m < 3; t += n[m++]) {
        for (uint32_t i = 0; i < n[m]; i++) {
            const uint32_t w = t[i].wire;
            cuzk_u256 v,
                *to = &p->col[m][w & CUZK_WIRE_AUX ? p->r->n_inputs + (w & ~CUZK_WIRE_AUX) : w];
            p->r->fr->mul(&v, &coefs[t[i].coef], &p->weight[p->row]);
            p->r->fr->add(to, to, &v);
        }
    }
    p->row++;
    return CUZK_OK;
}

/* Walked in one piece or in many, columns are what a loop over the flat rows gives. */
static void columns_in_ranges(void **state) {
    (void)state;
    static const unsigned threads[] = {1, 2, 7};
    cuzk_r1cs *r;
    cuzk_err err = {0};
    test_rng_start();
    if (cuzk_circuit_compact(&r, cuzk_circuit_find("wpost-2k"), &err)) fail_msg("%s", err.msg);
    assert_true(r->n_insts > 20);
    const size_t wires = (size_t)r->n_inputs + r->n_aux;
    cuzk_u256 *weight = calloc(r->n_rows, sizeof *weight);
    plain_columns p = {.r = r, .weight = weight};
    const cuzk_row_sink sink = {add_row, &p};
    for (uint32_t i = 0; i < r->n_rows; i++) { /* below 2^254 */
        test_rng_bytes(&weight[i], sizeof *weight);
        weight[i].l[3] >>= 2;
    }
    for (int m = 0; m < 3; m++)
        p.col[m] = calloc(wires, sizeof *p.col[m]);
    assert_int_equal(cuzk_r1cs_expand(r, 0, r->n_rows, &sink), CUZK_OK);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        cuzk_pool *pool;
        cuzk_u256 *col[3];
        assert_int_equal(cuzk_pool_new(&pool, threads[i]), CUZK_OK);
        for (int m = 0; m < 3; m++)
            col[m] = calloc(wires, sizeof *col[m]);
        assert_int_equal(cuzk__columns(r, weight, col, pool), CUZK_OK);
        for (int m = 0; m < 3; m++) {
            assert_memory_equal(col[m], p.col[m], wires * sizeof *col[m]);
            free(col[m]);
        }
        cuzk_pool_free(pool);
    }
    for (int m = 0; m < 3; m++)
        free(p.col[m]);
    free(weight);
    cuzk_r1cs_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_key),          cmocka_unit_test(hexadecimal),
        cmocka_unit_test(vanishing_wire),    cmocka_unit_test(folded_keys),
        cmocka_unit_test(columns_in_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

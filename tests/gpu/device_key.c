#include "support.h"

#include "device_key.h"

#include "base/bytes.h"
#include "base/mem.h"

const char *test_pattern_name(test_pattern p) {
    static const char *const names[TEST_PATTERNS] = {"uniform",    "zeros", "ones",
                                                     "minus_ones", "equal", "witness"};
    return names[p];
}

static void *zeroed(size_t n, size_t size) {
    void *p;
    assert_int_equal(cuzk_alloc(&p, n + 1, size), CUZK_OK);
    return p;
}

static void *keep(test_key *k, size_t n, size_t size) {
    void *p = zeroed(n, size);
    assert_true(k->n_owned < (int)(sizeof k->owned / sizeof *k->owned));
    k->owned[k->n_owned++] = p;
    return p;
}

static void random_plain(const cuzk_fr_ops *fr, cuzk_u256 *out) {
    uint8_t wide[64];
    test_rng_bytes(wide, sizeof wide);
    fr->from_wide(out, wide);
    fr->from_mont(out, out);
}

/* n points, one in seven at infinity, and their logarithms. */
static void *make_points(test_key *k, cuzk_group group, size_t n, bool five, const void **logs) {
    const cuzk_curve *curve = k->key.curve;
    const cuzk_group_ops *g = cuzk_curve_group(curve, group);
    const size_t distinct = five ? 5 : n;
    uint8_t *out = keep(k, n, g->point_size);
    cuzk_u256 *log = keep(k, n, sizeof *log);
    const cuzk_u256 zero = {{0, 0, 0, 0}};
    *logs = log;
    cuzk_u256 *scalars = zeroed(distinct, sizeof *scalars);
    uint8_t *points = zeroed(distinct, g->point_size);
    for (size_t i = 0; i < distinct; i++)
        random_plain(curve->fr, &scalars[i]);
    assert_int_equal(
        cuzk_fixed_base_mul(curve, group, points, g->generator, scalars, distinct, NULL), CUZK_OK);
    for (size_t i = 0; i < n; i++) {
        if (test_rng() % 7 == 0) continue;
        const size_t from = five ? test_rng() % 5 : i;
        memcpy(out + i * g->point_size, points + from * g->point_size, g->point_size);
        log[i] = scalars[from];
        if (!five || test_rng() % 2) continue;
        g->neg(out + i * g->point_size, out + i * g->point_size);
        curve->fr->sub(&log[i], &zero, &log[i]);
    }
    cuzk_free(scalars);
    cuzk_free(points);
    return out;
}

/* Ascending numbers below n, about two in three of them; returns how many. */
static size_t make_slots(test_key *k, size_t n, uint32_t **out) {
    uint32_t *slots = keep(k, n, sizeof *slots);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (test_rng() % 3) slots[count++] = (uint32_t)i;
    *out = slots;
    return count;
}

static void make_query(test_key *k, cuzk_query *q, cuzk_query *q_logs, cuzk_group group,
                       size_t first, bool mapped, bool five) {
    static const cuzk_u256 one = {{1, 0, 0, 0}};
    const void *full_logs, *bit_logs;
    uint32_t *slots;
    memset(q, 0, sizeof *q);
    q->n_full = k->key.n_full - first;
    q->first_full = first;
    if (mapped) {
        q->first_full = 0;
        q->n_full = make_slots(k, k->key.n_full, &slots);
        q->full_slots = slots;
    }
    q->full_bases = make_points(k, group, q->n_full, five, &full_logs);
    *q_logs = *q;
    q_logs->full_bases = full_logs;
    if (k->key.n_bits == 0) return;
    q->n_bits = make_slots(k, k->key.n_bits, &slots);
    q->bit_slots = slots;
    q->bit_bases = make_points(k, group, q->n_bits, five, &bit_logs);
    q->one_base = cuzk_curve_group(k->key.curve, group)->generator;
    *q_logs = *q;
    q_logs->full_bases = full_logs;
    q_logs->bit_bases = bit_logs;
    q_logs->one_base = &one;
}

/* Rows of no to six terms in any order, and one long row. */
static void make_rows(test_key *k) {
    const size_t rows = (size_t)1 << k->key.log2_domain, n_long = 300;
    uint8_t *records = keep(k, rows * 6 + n_long, CUZK_COEF_RECORD_SIZE);
    size_t n = 0;
    for (size_t row = 0; row < rows; row++) {
        const size_t terms = row == rows / 2 ? n_long : test_rng() % 7;
        for (size_t t = 0; t < terms; t++, n++) {
            uint8_t *rec = records + n * CUZK_COEF_RECORD_SIZE;
            cuzk_u256 value;
            random_plain(k->key.curve->fr, &value);
            cuzk_st_u32le(rec, (uint32_t)(test_rng() % 2));
            cuzk_st_u32le(rec + 4, (uint32_t)row);
            cuzk_st_u32le(rec + 8, (uint32_t)(test_rng() % k->key.n_full));
            memcpy(rec + 12, &value, 32);
        }
    }
    k->key.coefs = records;
    k->key.n_coefs = n;
}

void test_key_make(test_key *k, const test_key_shape *shape) {
    memset(k, 0, sizeof *k);
    const size_t n = (size_t)1 << shape->log2_domain;
    const bool five = shape->five_bases;
    cuzk_proving_key *key = &k->key;
    key->curve = cuzk_curve_get(shape->curve);
    key->name = "made up";
    key->log2_domain = shape->log2_domain;
    key->n_inputs = 2;
    key->n_full = shape->n_full;
    key->n_bits = shape->n_bits;
    key->h_form = shape->h_form;
    make_rows(k);
    const void *h_logs;
    cuzk_query q[4];
    key->h = make_points(k, CUZK_G1, n, five, &h_logs);
    make_query(k, &key->a, &q[0], CUZK_G1, 0, false, five);
    make_query(k, &key->b1, &q[1], CUZK_G1, 0, true, five);
    make_query(k, &key->b2, &q[2], CUZK_G2, 0, true, five);
    make_query(k, &key->l, &q[3], CUZK_G1, key->n_full > 2 ? 2 : 0, false, five);
    k->log_key = *key;
    k->log_key.logs = true;
    k->log_key.h = h_logs;
    k->log_key.a = q[0];
    k->log_key.b1 = q[1];
    k->log_key.b2 = q[2];
    k->log_key.l = q[3];
}

void test_key_free(test_key *k) {
    for (int i = 0; i < k->n_owned; i++)
        cuzk_free(k->owned[i]);
}

static void pattern_value(const cuzk_fr_ops *fr, test_pattern p, const cuzk_u256 *equal,
                          cuzk_u256 *out) {
    const uint64_t h = test_rng();
    *out = (cuzk_u256){{0, 0, 0, 0}};
    switch (p) {
    case TEST_UNIFORM:
        random_plain(fr, out);
        break;
    case TEST_ONES:
        out->l[0] = 1;
        break;
    case TEST_MINUS_ONES:
        *out = fr->modulus;
        out->l[0] -= 1;
        break;
    case TEST_EQUAL:
        *out = *equal;
        break;
    case TEST_WITNESS:
        if (h % 64 == 0)
            random_plain(fr, out);
        else
            out->l[0] = h % 64 < 4 ? h >> 32 : h >> 63;
        break;
    default:
        break;
    }
}

void test_wires_make(test_wires *w, const cuzk_proving_key *key, test_pattern p, bool montgomery) {
    const cuzk_fr_ops *fr = key->curve->fr;
    const size_t words = key->n_bits / 64 + 2;
    cuzk_u256 *full = zeroed(key->n_full, sizeof *full), equal;
    uint64_t *bits = zeroed(words, sizeof *bits);
    random_plain(fr, &equal);
    for (size_t i = 0; i < key->n_full; i++) {
        pattern_value(fr, p, &equal, &full[i]);
        if (montgomery) fr->to_mont(&full[i], &full[i]);
    }
    for (size_t i = 0; i < key->n_bits; i++) {
        const uint64_t bit = p == TEST_ONES || (p != TEST_ZEROS && test_rng() % 2);
        bits[i / 64] |= bit << (i % 64);
    }
    *w = (test_wires){{bits, full, montgomery}, full, bits};
}

void test_wires_free(test_wires *w) {
    cuzk_free(w->full);
    cuzk_free(w->bits);
}

static void require(cuzk_status st, const cuzk_err *err) {
    if (st != CUZK_OK) fail_msg("%s", err->msg);
}

void test_device_load(test_device *d, const cuzk_proving_key *key) {
    cuzk_err err = {0};
    require(d->backend->ops->key_load(d->backend, &d->key, key, &err), &err);
    require(d->backend->ops->slot_new(d->key, &d->slot, &err), &err);
}

void test_device_unload(test_device *d) {
    d->backend->ops->slot_free(d->slot);
    d->backend->ops->key_free(d->key);
}

void test_device_run(test_device *d, const cuzk_wires *wires, cuzk_groth16_sums *sums,
                     cuzk_sums_stats *stats) {
    const cuzk_backend_ops *ops = d->backend->ops;
    cuzk_err err = {0};
    memset(sums, 0xff, sizeof *sums);
    require(ops->stage(d->slot, wires, &err), &err);
    require(ops->compute(d->slot, &err), &err);
    require(ops->finish(d->slot, sums, stats, &err), &err);
}

#include "bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "ntt/ntt.h"

#include <stdio.h>
#include <string.h>

typedef struct ntt_case {
    cuzk_bench *b;
    const cuzk_fr_ops *fr;
    cuzk_ntt_plan *plan;
    unsigned log2n;
    size_t n;
    cuzk_u256 w, w_inv, shift;        /* the root, its inverse, the coset's shift */
    cuzk_u256 *data, *input, *output; /* n each: worked on, what it starts from, the first result */
    int64_t ns[CUZK_BENCH_MAX_RUNS];
} ntt_case;

typedef void transform_fn(const cuzk_ntt_plan *, cuzk_u256 *, cuzk_pool *);

/* One transform: which way, and in which order it takes and gives. */
typedef struct variant {
    const char *name;
    transform_fn *fn; /* NULL: to_coset */
    bool inverse, in_reversed, out_reversed;
} variant;

static const variant variants[] = {
    {"forward_nr", cuzk_ntt_forward_nr, false, false, true},
    {"forward_rn", cuzk_ntt_forward_rn, false, true, false},
    {"inverse_nr", cuzk_ntt_inverse_nr, true, false, true},
    {"inverse_rn", cuzk_ntt_inverse_rn, true, true, false},
    {"to_coset", NULL, false, false, false},
};

static size_t reversed(size_t v, unsigned bits) {
    size_t r = 0;
    for (unsigned i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}

static size_t place(const ntt_case *c, size_t i, bool bit_reversed) {
    return bit_reversed ? reversed(i, c->log2n) : i;
}

/* sum_i v[i] at^i, v in either order. */
static cuzk_u256 evaluate(const ntt_case *c, const cuzk_u256 *v, bool bit_reversed,
                          const cuzk_u256 *at) {
    cuzk_u256 acc = {{0}};
    for (size_t i = c->n; i-- > 0;) {
        c->fr->mul(&acc, &acc, at);
        c->fr->add(&acc, &acc, &v[place(c, i, bit_reversed)]);
    }
    return acc;
}

static bool equal(const cuzk_u256 *a, const cuzk_u256 *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static cuzk_u256 power(const cuzk_fr_ops *fr, const cuzk_u256 *a, uint64_t e) {
    cuzk_u256 r;
    fr->pow(&r, a, &e, 1);
    return r;
}

/* Are `values` those of the polynomial `coefs` on {s w^i}? Two values are computed from all
 * coefficients, and two coefficients (times n s^j) from all values. */
static bool is_transform(const ntt_case *c, const cuzk_u256 *coefs, bool coefs_reversed,
                         const cuzk_u256 *values, bool values_reversed, const cuzk_u256 *s,
                         cuzk_bench_rng *rng) {
    bool ok = true;
    for (int k = 0; k < 2 && ok; k++) {
        const size_t i = cuzk_bench_random(rng) & (c->n - 1);
        cuzk_u256 at = power(c->fr, &c->w, i);
        c->fr->mul(&at, &at, s);
        const cuzk_u256 v = evaluate(c, coefs, coefs_reversed, &at);
        ok = equal(&v, &values[place(c, i, values_reversed)]);
    }
    for (int k = 0; k < 2 && ok; k++) {
        const size_t j = cuzk_bench_random(rng) & (c->n - 1);
        const cuzk_u256 at = power(c->fr, &c->w_inv, j), factor = power(c->fr, s, j);
        cuzk_u256 want = coefs[place(c, j, coefs_reversed)], count = {{c->n, 0, 0, 0}};
        c->fr->to_mont(&count, &count);
        c->fr->mul(&want, &want, &count);
        c->fr->mul(&want, &want, &factor);
        const cuzk_u256 v = evaluate(c, values, values_reversed, &at);
        ok = equal(&v, &want);
    }
    return ok;
}

static bool result_is_right(const ntt_case *c, const variant *v, const cuzk_u256 *polynomial,
                            cuzk_bench_rng *rng) {
    const cuzk_u256 *one = &c->fr->one;
    if (!v->fn) return is_transform(c, polynomial, true, c->output, false, &c->shift, rng);
    if (v->inverse)
        return is_transform(c, c->output, v->out_reversed, c->input, v->in_reversed, one, rng);
    return is_transform(c, c->input, v->in_reversed, c->output, v->out_reversed, one, rng);
}

/* polynomial: bit-reversed coefficients whose values to_coset starts from. */
static void one_variant(ntt_case *c, const variant *v, const cuzk_u256 *polynomial) {
    const size_t bytes = c->n * sizeof(cuzk_u256);
    cuzk_bench *b = c->b;
    cuzk_bench_rng rng = {c->log2n};
    memcpy(c->input, polynomial, bytes);
    if (!v->fn) cuzk_ntt_forward_rn(c->plan, c->input, b->pool);
    bool same = true;
    double mul_ns = 0; /* least time of a product by blst */
    for (unsigned r = 0; r < b->runs; r++) {
        memcpy(c->data, c->input, bytes);
        const int64_t t = cuzk_now_ns();
        if (v->fn)
            v->fn(c->plan, c->data, b->pool);
        else
            cuzk_ntt_to_coset(c->plan, c->data, &c->shift, b->pool);
        c->ns[r] = cuzk_now_ns() - t;
        cuzk_bench_disturb(&c->data[c->n - 1]);
        if (r == 0) memcpy(c->output, c->data, bytes);
        same = same && memcmp(c->output, c->data, bytes) == 0;
        const double mul = b->vs_blst ? cuzk_bench_fr_mul_once(c->fr) : 0;
        mul_ns = r == 0 || mul < mul_ns ? mul : mul_ns;
    }
    char note[80] = "", extra[80] = "";
    const double pairs = (double)(c->n / 2) * c->log2n * (v->fn ? 1 : 2);
    cuzk_bench_row row = {.op = "ntt",
                          .curve = b->curve->name,
                          .group = "fr",
                          .log2n = c->log2n,
                          .device = "cpu",
                          .threads = b->threads,
                          .variant = v->name,
                          .verified = same && result_is_right(c, v, polynomial, &rng),
                          .ns = c->ns,
                          .runs = b->runs,
                          .extra = extra,
                          .note = note};
    int64_t least = c->ns[0];
    for (unsigned r = 1; r < b->runs; r++)
        least = c->ns[r] < least ? c->ns[r] : least;
    if (b->vs_blst) {
        const double products = (double)least / pairs / mul_ns;
        snprintf(note, sizeof note, "%.3f fr_mul of blst a butterfly", products);
        snprintf(extra, sizeof extra, ",\"fr_mul_ns\":%.3f,\"fr_mul_a_butterfly\":%.4f", mul_ns,
                 products);
    } else {
        snprintf(note, sizeof note, "%.2f ns a butterfly", (double)least / pairs);
    }
    cuzk_bench_add(b, &row);
}

static cuzk_status one_size(ntt_case *c, cuzk_u256 *polynomial) {
    cuzk_bench *b = c->b;
    cuzk_bench_rng rng = {1};
    c->n = (size_t)1 << c->log2n;
    for (size_t i = 0; i < c->n; i++)
        cuzk_bench_element(&rng, c->fr, &polynomial[i]);
    cuzk_fr_root(c->fr, &c->w, 5, c->log2n);
    c->fr->inv(&c->w_inv, &c->w);
    cuzk_bench_element(&rng, c->fr, &c->shift);
    CUZK_TRY(cuzk_ntt_plan_new(&c->plan, b->curve->id, c->log2n, 5, b->impl, b->pool));
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
        one_variant(c, &variants[v], polynomial);
    cuzk_ntt_plan_free(c->plan);
    return CUZK_OK;
}

cuzk_status cuzk_bench_ntt(cuzk_bench *b, cuzk_err *err) {
    ntt_case c;
    void *mem[4] = {NULL};
    const size_t bytes = sizeof(cuzk_u256) << b->log2_hi;
    cuzk_status st = CUZK_OK;
    if (b->log2_hi > b->curve->fr->adicity)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "--log2 %u: %s has transforms up to 2^%u",
                            b->log2_hi, b->curve->name, b->curve->fr->adicity);
    c = (ntt_case){.b = b, .fr = b->curve->fr};
    for (int i = 0; i < 4 && st == CUZK_OK; i++)
        st = cuzk_big_alloc(&mem[i], bytes);
    c.data = mem[0];
    c.input = mem[1];
    c.output = mem[2];
    if (st == CUZK_OK && b->vs_blst) cuzk_bench_fr_mul(b);
    for (c.log2n = b->log2_lo; c.log2n <= b->log2_hi && st == CUZK_OK; c.log2n++)
        st = one_size(&c, mem[3]);
    for (int i = 0; i < 4; i++)
        cuzk_big_free(mem[i], bytes);
    if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for 2^%u elements", b->log2_hi);
    return st;
}

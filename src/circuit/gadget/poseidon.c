/* neptune's first Poseidon circuit, to which Filecoin's trusted setup is bound.
 *
 * DESIGN. A state element is either a wire or a linear combination that has not been allocated.
 * Both are rows of coefficients over the same few wires (`vars`): after a full round these are
 * the S-box outputs, and every partial round adds one. An S-box first allocates its input if it is
 * a combination (LC · ONE = n), then has three rows: n'·n' = l2, l2·l2 = l4, n'·l4 = l5 - q, with
 * n' = n + pre key and q the post key, so keys cost nothing. */
#include "circuit/gadgets.h"

#include "field/fields.h"

enum { T_MAX = CUZK_POSEIDON_MAX_ARITY + 1, VARS_MAX = 1 + T_MAX + 60 };

struct params {
    uint32_t arity;
    uint32_t zero; /* no padding bytes: params are compared as bytes */
    uint64_t tag;
};

struct state {
    cuzk_cs *cs;
    const cuzk_poseidon *p;
    cuzk_wire vars[VARS_MAX]; /* vars[0] is ONE */
    uint32_t n_vars;
    cuzk_u256 lc[T_MAX][VARS_MAX];
    cuzk_wire wire[T_MAX]; /* of an allocated element; CUZK_WIRE_ONE: not allocated */
};

static uint32_t coef_id(cuzk_cs *cs, const cuzk_u256 *v) {
    uint32_t id = 0;
    if (cuzk_coefs_id(&cs->coefs, v, &id) != CUZK_OK)
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "coefficient dictionary");
    return id;
}

/* Gives element j a wire if it has none: LC · ONE = n. */
static cuzk_wire ensure_allocated(struct state *s, uint32_t j) {
    cuzk_flat_term t[VARS_MAX];
    uint32_t n = 0;
    if (s->wire[j] != CUZK_WIRE_ONE) return s->wire[j];
    for (uint32_t v = 0; v < s->n_vars; v++)
        if (!cuzk_bls12_381_fr_is_zero(&s->lc[j][v]))
            t[n++] = (cuzk_flat_term){s->vars[v], coef_id(s->cs, &s->lc[j][v])};
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE};
    const cuzk_flat_term c = {s->wire[j] = cuzk_cs_alloc(s->cs, CUZK_CLASS_FULL), CUZK_COEF_ONE};
    cuzk_cs_row(s->cs, t, n, &one, 1, &c, 1);
    return s->wire[j];
}

/* The wire of (element + pre)^5 + post; keys may be NULL. */
static cuzk_wire sbox(struct state *s, uint32_t j, const cuzk_u256 *pre, const cuzk_u256 *post) {
    cuzk_cs *cs = s->cs;
    cuzk_flat_term in[2] = {{ensure_allocated(s, j), CUZK_COEF_ONE}}, out[2];
    uint32_t n_in = 1, n_out = 1;
    if (pre) in[n_in++] = (cuzk_flat_term){CUZK_WIRE_ONE, coef_id(cs, pre)};
    const cuzk_flat_term l2 = {cuzk_cs_alloc(cs, CUZK_CLASS_FULL), CUZK_COEF_ONE};
    cuzk_cs_row(cs, in, n_in, in, n_in, &l2, 1);
    const cuzk_flat_term l4 = {cuzk_cs_alloc(cs, CUZK_CLASS_FULL), CUZK_COEF_ONE};
    cuzk_cs_row(cs, &l2, 1, &l2, 1, &l4, 1);
    out[0] = (cuzk_flat_term){cuzk_cs_alloc(cs, CUZK_CLASS_FULL), CUZK_COEF_ONE};
    if (post) {
        cuzk_u256 q;
        cuzk_bls12_381_fr_neg(&q, post);
        out[n_out++] = (cuzk_flat_term){CUZK_WIRE_ONE, coef_id(cs, &q)};
    }
    cuzk_cs_row(cs, in, n_in, &l4, 1, out, n_out);
    return out[0].wire;
}

static void mul_add(cuzk_u256 *acc, const cuzk_u256 *a, const cuzk_u256 *b) {
    cuzk_u256 x;
    cuzk_bls12_381_fr_mul(&x, a, b);
    cuzk_bls12_381_fr_add(acc, acc, &x);
}

/* Every element becomes a combination: new[j] = sum_i state[i] M[i][j]. */
static void mix_dense(struct state *s, const cuzk_u256 *m) {
    const uint32_t t = s->p->t;
    for (uint32_t v = 0; v < s->n_vars; v++) {
        cuzk_u256 out[T_MAX];
        for (uint32_t j = 0; j < t; j++) {
            cuzk_bls12_381_fr_set_zero(&out[j]);
            for (uint32_t i = 0; i < t; i++)
                mul_add(&out[j], &s->lc[i][v], &m[i * t + j]);
        }
        for (uint32_t j = 0; j < t; j++)
            s->lc[j][v] = out[j];
    }
    for (uint32_t j = 0; j < t; j++)
        s->wire[j] = CUZK_WIRE_ONE;
}

/* new[0] = sum_i state[i] w_hat[i]; new[j] = state[j] + v_rest[j - 1] state[0]. */
static void mix_sparse(struct state *s, const cuzk_u256 *w_hat) {
    const uint32_t t = s->p->t;
    const cuzk_u256 *v_rest = w_hat + t;
    for (uint32_t v = 0; v < s->n_vars; v++) {
        const cuzk_u256 first = s->lc[0][v];
        cuzk_bls12_381_fr_mul(&s->lc[0][v], &first, &w_hat[0]);
        for (uint32_t j = 1; j < t; j++) {
            mul_add(&s->lc[0][v], &s->lc[j][v], &w_hat[j]);
            mul_add(&s->lc[j][v], &first, &v_rest[j - 1]);
        }
    }
    for (uint32_t j = 0; j < t; j++)
        s->wire[j] = CUZK_WIRE_ONE;
}

/* The elements are the given wires, and nothing else is left of the past. */
static void reset(struct state *s, const cuzk_wire *wires) {
    memset(s->lc, 0, sizeof s->lc);
    s->vars[0] = CUZK_WIRE_ONE;
    s->n_vars = 1;
    for (uint32_t j = 0; j < s->p->t; j++) {
        s->wire[j] = wires[j];
        s->vars[s->n_vars] = wires[j];
        cuzk_bls12_381_fr_set_one(&s->lc[j][s->n_vars++]);
    }
}

static void full_round(struct state *s, const cuzk_u256 *post, const cuzk_u256 *matrix) {
    cuzk_wire out[T_MAX];
    for (uint32_t j = 0; j < s->p->t; j++)
        out[j] = sbox(s, j, NULL, post ? &post[j] : NULL);
    reset(s, out);
    mix_dense(s, matrix);
}

/* Round 0: the tag is a constant, so its S-box is computed here: (tag + crc[0])^5 + crc[t]. */
static void first_round(struct state *s, uint64_t tag, const cuzk_wire *in) {
    const uint32_t t = s->p->t;
    const cuzk_u256 *crc = s->p->crc;
    cuzk_u256 x, y;
    cuzk_wire w[T_MAX] = {CUZK_WIRE_ONE};
    memcpy(w + 1, in, (t - 1) * sizeof *w);
    reset(s, w);
    for (uint32_t j = 1; j < t; j++)
        w[j] = sbox(s, j, &crc[j], &crc[t + j]);
    reset(s, w);
    cuzk_bls12_381_fr_from_u64(&x, tag);
    cuzk_bls12_381_fr_add(&x, &x, &crc[0]);
    cuzk_bls12_381_fr_sqr(&y, &x);
    cuzk_bls12_381_fr_sqr(&y, &y);
    cuzk_bls12_381_fr_mul(&x, &x, &y);
    cuzk_bls12_381_fr_add(&s->lc[0][0], &x, &crc[t]);
    cuzk_bls12_381_fr_set_zero(&s->lc[0][1]); /* reset made it a wire of its own */
    mix_dense(s, s->p->mds);
}

static void partial_round(struct state *s, const cuzk_u256 *post, const cuzk_u256 *sparse) {
    const cuzk_wire w = sbox(s, 0, NULL, post);
    memset(s->lc[0], 0, sizeof s->lc[0]);
    s->vars[s->n_vars] = w;
    cuzk_bls12_381_fr_set_one(&s->lc[0][s->n_vars++]);
    mix_sparse(s, sparse);
}

static void poseidon_body(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out) {
    const struct params *arg = params;
    const cuzk_poseidon_set *set = cs->shared;
    const uint32_t half = CUZK_POSEIDON_FULL / 2;
    struct state *s = NULL;
    out[0] = CUZK_WIRE_ONE;
    if (cuzk_alloc((void **)&s, 1, sizeof *s) != CUZK_OK) {
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "Poseidon gadget");
        return;
    }
    s->cs = cs;
    s->p = set->arity[arg->arity];
    const uint32_t t = s->p->t, n_partial = s->p->n_partial;
    const cuzk_u256 *crc = s->p->crc + 2 * t;
    first_round(s, arg->tag, in);
    for (uint32_t r = 1; r < half; r++, crc += t)
        full_round(s, crc, r == half - 1 ? s->p->pre : s->p->mds);
    for (uint32_t r = 0; r < n_partial; r++, crc++)
        partial_round(s, crc, s->p->sparse + (size_t)r * (2 * t - 1));
    for (uint32_t r = 1; r < half; r++, crc += t)
        full_round(s, crc, s->p->mds);
    full_round(s, NULL, s->p->mds);
    out[0] = ensure_allocated(s, 1);
    cuzk_free(s);
}

cuzk_wire cuzk_gadget_poseidon(cuzk_cs *cs, uint32_t arity, uint64_t tag, const cuzk_wire *in) {
    static const cuzk_gadget g = {"poseidon", poseidon_body};
    const struct params params = {arity, 0, tag};
    cuzk_wire out;
    cuzk_cs_call(cs, &g, &params, sizeof params, in, arity, &out, 1);
    return out;
}

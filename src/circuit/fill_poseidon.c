/* The wires of a Poseidon hash, of a tree level, and of a number's bits. */
#include "circuit/fillers.h"

#include "base/mem.h"
#include "circuit/gadgets.h"
#include "circuit/poseidon_lanes.h"
#include "field/fields.h"
#include "r1cs/eval.h"
#include "witness/program.h"

#include <string.h>

enum { T_MAX = CUZK_POSEIDON_MAX_ARITY + 1, ARITY_MAX = CUZK_POSEIDON_MAX_ARITY };

typedef cuzk_u256 fr;

/* ---- Poseidon ---- */

/* Writes the three wires of an S-box, after the input's own (n) when it is given one. */
static inline void fill_sbox(fr **out, fr *x, const fr *pre, const fr *post, bool allocate) {
    fr *o = *out, y = *x;
    if (allocate) *o++ = y;
    if (pre) cuzk_bls12_381_fr_add(&y, &y, pre);
    cuzk_bls12_381_fr_sqr(&o[0], &y);
    cuzk_bls12_381_fr_sqr(&o[1], &o[0]);
    cuzk_bls12_381_fr_mul(&o[2], &y, &o[1]);
    if (post) cuzk_bls12_381_fr_add(&o[2], &o[2], post);
    *x = o[2];
    *out = o + 3;
}

static inline void mul_add(fr *acc, const fr *a, const fr *b) {
    fr x;
    cuzk_bls12_381_fr_mul(&x, a, b);
    cuzk_bls12_381_fr_add(acc, acc, &x);
}

static void mix_dense(fr *s, const fr *m, uint32_t t) {
    fr n[T_MAX];
    for (uint32_t j = 0; j < t; j++) {
        cuzk_bls12_381_fr_mul(&n[j], &s[0], &m[j]);
        for (uint32_t i = 1; i < t; i++)
            mul_add(&n[j], &s[i], &m[i * t + j]);
    }
    memcpy(s, n, t * sizeof *s);
}

static void mix_sparse(fr *s, const fr *w_hat, uint32_t t) {
    fr first;
    cuzk_bls12_381_fr_mul(&first, &s[0], &w_hat[0]);
    for (uint32_t i = 1; i < t; i++) {
        mul_add(&first, &s[i], &w_hat[i]);
        mul_add(&s[i], &s[0], &w_hat[t + i - 1]);
    }
    s[0] = first;
}

/* All wires of one hash from `out` on; s holds the inputs at 1.. and is destroyed. */
static void fill_hash(fr *out, const cuzk_poseidon *p, uint64_t tag, fr *s) {
    const uint32_t t = p->t, half = CUZK_POSEIDON_FULL / 2;
    const fr *crc = p->crc;
    fr unused[3], *u = unused;
    cuzk_bls12_381_fr_from_u64(&s[0], tag);
    fill_sbox(&u, &s[0], &crc[0], &crc[t], false); /* a constant: no wires */
    for (uint32_t j = 1; j < t; j++)
        fill_sbox(&out, &s[j], &crc[j], &crc[t + j], false);
    mix_dense(s, p->mds, t);
    crc += 2 * t;
    for (uint32_t r = 1; r < half; r++, crc += t) {
        for (uint32_t j = 0; j < t; j++)
            fill_sbox(&out, &s[j], NULL, &crc[j], true);
        mix_dense(s, r == half - 1 ? p->pre : p->mds, t);
    }
    for (uint32_t r = 0; r < p->n_partial; r++, crc++) {
        fill_sbox(&out, &s[0], NULL, crc, true);
        mix_sparse(s, p->sparse + (size_t)r * (2 * t - 1), t);
    }
    for (uint32_t r = 0; r < half; r++, crc += t) {
        const bool last = r == half - 1;
        for (uint32_t j = 0; j < t; j++)
            fill_sbox(&out, &s[j], NULL, last ? NULL : &crc[j], true);
        mix_dense(s, p->mds, t);
    }
    *out = s[1];
}

/* Several hashes of one kind: where their wires go, and their inputs. */
struct many {
    fr *out[CUZK_FILL_MANY];
    const fr *in[ARITY_MAX][CUZK_FILL_MANY];
};

static void fill_many(const struct many *m, const cuzk_poseidon *p, uint64_t tag, uint32_t n) {
#if CUZK__POSEIDON_LANES
    if (p->lanes) {
        cuzk__poseidon_lanes_fill(p, tag, m->out, m->in[0], n);
        return;
    }
#endif
    for (uint32_t k = 0; k < n; k++) {
        fr s[T_MAX];
        for (uint32_t i = 0; i < p->arity; i++)
            s[1 + i] = *m->in[i][k];
        fill_hash(m->out[k], p, tag, s);
    }
}

static uint32_t hash_wires(const cuzk_poseidon *p) {
    return 3 * (CUZK_POSEIDON_FULL * p->t + p->n_partial - 1) +
           (CUZK_POSEIDON_FULL * p->t + p->n_partial - p->arity);
}

/* Whether columns are ports of full values. */
static bool full_ports(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, const uint32_t *cols,
                       uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (cols[i] == 0 || cols[i] >= cuzk_r1cs_first_aux_col(s) ||
            cuzk_r1cs_col_is_bit(r, s, cols[i]))
            return false;
    return true;
}

struct hash_state {
    const cuzk_poseidon *p;
    uint64_t tag;
    uint32_t arity;
    uint32_t in[ARITY_MAX]; /* columns */
};

static cuzk_status prepare_hash(void **out, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                                const void *shared) {
    const cuzk_poseidon_set *set = shared;
    const uint32_t *call = r->calls + s->call0; /* arity, 0, tag low, tag high; inputs */
    struct hash_state *h = NULL;
    if (s->n_params != 4 || s->n_args > ARITY_MAX || call[0] != s->n_args || !set->arity[call[0]])
        return CUZK_STATUS_BAD_INPUT;
    if (s->n_full != hash_wires(set->arity[call[0]]) || s->n_bits != 0 ||
        !full_ports(r, s, call + 4, call[0]))
        return CUZK_STATUS_BAD_INPUT;
    CUZK_TRY(cuzk_alloc((void **)&h, 1, sizeof *h));
    h->arity = call[0];
    h->tag = call[2] | (uint64_t)call[3] << 32;
    h->p = set->arity[h->arity];
    memcpy(h->in, call + 4, s->n_args * sizeof *call);
    *out = h;
    return CUZK_OK;
}

static void fill_poseidon(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *inst,
                          const uint32_t *slots) {
    const struct hash_state *h = state;
    fr s[T_MAX];
    for (uint32_t i = 0; i < h->arity; i++)
        s[1 + i] = w->full[slots[h->in[i]]];
    fill_hash(w->full + inst->full0, h->p, h->tag, s);
}

static void fill_poseidons(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *const *inst,
                           const uint32_t *const *slots, uint32_t n) {
    const struct hash_state *h = state;
    struct many m;
    for (uint32_t k = 0; k < n; k++) {
        m.out[k] = w->full + inst[k]->full0;
        for (uint32_t i = 0; i < h->arity; i++)
            m.in[i][k] = &w->full[slots[k][h->in[i]]];
    }
    fill_many(&m, h->p, h->tag, n);
}

static void release(void *state) {
    cuzk_free(state);
}

/* CUZK_SCALED_ROUNDS constants. */
static void scale_rounds(fr *out, const cuzk_poseidon *p) {
    const uint32_t t = p->t;
    const fr *w = p->sparse, *key = p->crc + (1 + CUZK_POSEIDON_FULL / 2) * t;
    fr c, d[6], x, added[T_MAX] = {{{0}}}; /* d: powers of 1/c */
    cuzk_bls12_381_fr_from_u64(&c, 1);
    d[1] = c;
    for (uint32_t k = 0; k < p->n_partial; k++, w += 2 * t - 1, out += CUZK_SCALED_ROUND(t)) {
        fr *const from_keys = &out[2 * t - 2];
        cuzk_bls12_381_fr_sqr(&d[2], &d[1]);
        cuzk_bls12_381_fr_sqr(&d[4], &d[2]);
        cuzk_bls12_381_fr_mul(&d[5], &d[4], &d[1]);
        cuzk_bls12_381_fr_sqr(&x, &c);
        cuzk_bls12_381_fr_sqr(&x, &x);
        cuzk_bls12_381_fr_mul(&c, &c, &x);
        cuzk_bls12_381_fr_inv(&x, &w[0]);
        cuzk_bls12_381_fr_mul(&c, &c, &x);
        cuzk_bls12_381_fr_mul(from_keys, &w[0], &key[k]);
        for (uint32_t b = 1; b < t; b++) {
            cuzk_bls12_381_fr_mul(&out[b - 1], &w[b], &c);
            cuzk_bls12_381_fr_mul(&out[t + b - 2], &w[t + b - 1], &d[5]);
            mul_add(from_keys, &added[b], &w[b]);
            mul_add(&added[b], &key[k], &w[t + b - 1]);
        }
        cuzk_bls12_381_fr_mul(from_keys, from_keys, &c);
        const fr rest[] = {d[1], d[2], d[4], d[5], key[k]};
        memcpy(&out[2 * t - 1], rest, sizeof rest);
        cuzk_bls12_381_fr_mul(&d[1], &d[5], &w[0]);
    }
    out[0] = d[1];
    memcpy(&out[1], &added[1], (t - 1) * sizeof *out);
}

/* What a device needs to know of a hash but its inputs. */
static cuzk_status describe_rounds(cuzk_work_builder *b, cuzk_work *work, const cuzk_poseidon *p,
                                   uint64_t tag) {
    const uint32_t t = p->t;
    const uint32_t n_scaled = CUZK_SCALED_ROUNDS(t, p->n_partial);
    void *scaled;
    CUZK_TRY(cuzk_alloc(&scaled, n_scaled, sizeof(fr)));
    const cuzk_u256 *const from[] = {p->crc, p->mds, p->pre, p->sparse, scaled};
    const uint32_t n[] = {CUZK_POSEIDON_FULL * t + p->n_partial, t * t, t * t,
                          p->n_partial * (2 * t - 1), n_scaled};
    fr unused[3], *u = unused, x;
    const fr *const first = &x;
    const uint32_t one = 1;
    work->t = t;
    work->n_partial = p->n_partial;
    scale_rounds(scaled, p);
    const cuzk_status st = cuzk_work_add_consts(b, &work->consts, from, n, 5);
    cuzk_free(scaled);
    CUZK_TRY(st);
    cuzk_bls12_381_fr_from_u64(&x, tag);
    fill_sbox(&u, &x, &p->crc[0], &p->crc[t], false);
    return cuzk_work_add_consts(b, &work->first, &first, &one, 1);
}

static cuzk_status describe_hash(const void *state, cuzk_work_builder *b, cuzk_work *work) {
    const struct hash_state *h = state;
    work->kind = CUZK_WORK_HASH;
    CUZK_TRY(cuzk_work_add_inputs(b, work, h->in, h->arity));
    return describe_rounds(b, work, h->p, h->tag);
}

const cuzk_filler cuzk__filler_poseidon = {"poseidon", prepare_hash,   fill_poseidon,
                                           release,    fill_poseidons, describe_hash};

/* ---- tree levels ---- */

/* What the insert gadget sees; `out` takes the picks. */
struct insert {
    const fr *sib[7];
    unsigned b0, b1, b2;
    const fr *cur;
    fr *out;
};

static const fr *pick(struct insert *x, unsigned cond, const fr *a, const fr *b) {
    *x->out = *(cond ? a : b);
    return x->out++;
}

static void insert2(struct insert *x, const fr *child[2]) {
    child[0] = pick(x, x->b0, x->sib[0], x->cur);
    child[1] = pick(x, x->b0, x->cur, x->sib[0]);
}

static void insert4(struct insert *x, const fr *child[4]) {
    const fr *a = x->cur, *b = x->sib[0], *c = x->sib[1], *d = x->sib[2];
    child[0] = pick(x, x->b1, b, pick(x, x->b0, b, a));
    child[1] = pick(x, x->b1, c, pick(x, x->b0, a, b));
    child[2] = pick(x, x->b1, pick(x, x->b0, d, a), c);
    child[3] = pick(x, x->b1, pick(x, x->b0, a, d), d);
}

static void insert8(struct insert *x, const fr *child[8]) {
    const fr *a = x->cur, *b = x->sib[0], *c = x->sib[1], *d = x->sib[2], *e = x->sib[3],
             *f = x->sib[4], *g = x->sib[5], *h = x->sib[6];
    const unsigned b0 = x->b0, b1 = x->b1, b2 = x->b2, nor = !b0 & !b1, and = b0 & b1;
    child[0] = pick(x, b2, b, pick(x, nor, a, b));
    child[1] = pick(x, b2, c, pick(x, b1, c, pick(x, b0, a, b)));
    child[2] = pick(x, b2, d, pick(x, b1, pick(x, b0, d, a), c));
    child[3] = pick(x, b2, e, pick(x, and, a, d));
    child[4] = pick(x, b2, pick(x, nor, a, f), e);
    child[5] = pick(x, b2, pick(x, b1, g, pick(x, b0, a, f)), f);
    child[6] = pick(x, b2, pick(x, b1, pick(x, b0, h, a), g), g);
    child[7] = pick(x, b2, pick(x, and, a, h), h);
}

struct level_state {
    const cuzk_poseidon *p;
    uint32_t arity, n_bits;
    uint32_t cur;       /* column */
    bool own;           /* bits and siblings are wires of the level */
    uint32_t in[3 + 7]; /* columns of bits and siblings otherwise */
};

/* Whether the shape has exactly the wires that fill_level writes, and reads what it should. */
static bool level_fits(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, const cuzk_poseidon *p,
                       bool own) {
    const uint32_t *call = r->calls + s->call0, arity = p->arity;
    const uint32_t n_bits = (uint32_t)__builtin_ctz(arity), more_bits = arity == 8 ? 2 : 0;
    const uint32_t picks = arity == 8 ? 20 : arity == 4 ? 8 : 2;
    if (s->n_full != (own ? arity - 1 : 0) + picks + hash_wires(p)) return false;
    if (s->n_bits != (own ? n_bits : 0) + more_bits || !full_ports(r, s, call + 1, 1)) return false;
    if (own) return true;
    for (uint32_t i = 0; i < n_bits; i++)
        if (call[2 + i] == 0 || call[2 + i] >= cuzk_r1cs_first_aux_col(s) ||
            !cuzk_r1cs_col_is_bit(r, s, call[2 + i]))
            return false;
    return full_ports(r, s, call + 2 + n_bits, arity - 1);
}

static cuzk_status prepare_any_level(void **out, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                                     const void *shared, bool own) {
    const cuzk_poseidon_set *set = shared;
    const uint32_t *call = r->calls + s->call0;
    struct level_state *l = NULL;
    if (s->n_params != 1 || (call[0] != 2 && call[0] != 4 && call[0] != 8))
        return CUZK_STATUS_BAD_INPUT;
    const uint32_t arity = call[0], n_bits = (uint32_t)__builtin_ctz(arity);
    if (s->n_args != (own ? 1 : n_bits + arity)) return CUZK_STATUS_BAD_INPUT;
    if (!level_fits(r, s, set->arity[arity], own)) return CUZK_STATUS_BAD_INPUT;
    CUZK_TRY(cuzk_alloc((void **)&l, 1, sizeof *l));
    l->arity = arity;
    l->n_bits = n_bits;
    l->p = set->arity[arity];
    l->own = own;
    l->cur = call[1];
    if (!own) memcpy(l->in, call + 2, (n_bits + arity - 1) * sizeof *call);
    *out = l;
    return CUZK_OK;
}

static cuzk_status prepare_level(void **out, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                                 const void *shared) {
    return prepare_any_level(out, r, s, shared, true);
}

static cuzk_status prepare_level_with(void **out, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                                      const void *shared) {
    return prepare_any_level(out, r, s, shared, false);
}

/* The wires of a level up to its hash, whose begin with what is returned. */
static fr *insert_level(const struct level_state *l, cuzk_witness *w, const cuzk_r1cs_inst *inst,
                        const uint32_t *slots, const fr *child[8]) {
    const uint32_t n_sib = l->arity - 1;
    struct insert x = {.cur = &w->full[slots[l->cur]], .out = w->full + inst->full0};
    unsigned bit[3] = {0, 0, 0};
    uint32_t own_bits = inst->bit0;
    for (uint32_t i = 0; i < l->n_bits; i++)
        bit[i] = cuzk__bit_get(w->bits, l->own ? own_bits++ : slots[l->in[i]] & ~CUZK_SLOT_BIT);
    for (uint32_t i = 0; i < n_sib; i++)
        x.sib[i] = l->own ? x.out++ : &w->full[slots[l->in[l->n_bits + i]]];
    x.b0 = bit[0];
    x.b1 = bit[1];
    x.b2 = bit[2];
    if (l->arity == 8) { /* nor and and are bits of their own; both in the first word */
        const uint64_t two = (uint64_t)(!x.b0 & !x.b1) | (uint64_t)(x.b0 & x.b1) << 1;
        w->bits[own_bits / 64] |= two << (own_bits % 64);
        insert8(&x, child);
    } else if (l->arity == 4) {
        insert4(&x, child);
    } else {
        insert2(&x, child);
    }
    return x.out;
}

static void fill_level(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *inst,
                       const uint32_t *slots) {
    const struct level_state *l = state;
    const fr *child[8];
    fr s[T_MAX];
    fr *out = insert_level(l, w, inst, slots, child);
    for (uint32_t i = 0; i < l->arity; i++)
        s[1 + i] = *child[i];
    fill_hash(out, l->p, cuzk_poseidon_tree_tag(l->arity), s);
}

static void fill_levels(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *const *inst,
                        const uint32_t *const *slots, uint32_t n) {
    const struct level_state *l = state;
    struct many m;
    for (uint32_t k = 0; k < n; k++) {
        const fr *child[8];
        m.out[k] = insert_level(l, w, inst[k], slots[k], child);
        for (uint32_t i = 0; i < l->arity; i++)
            m.in[i][k] = child[i];
    }
    fill_many(&m, l->p, cuzk_poseidon_tree_tag(l->arity), n);
}

static cuzk_status describe_level(const void *state, cuzk_work_builder *b, cuzk_work *work) {
    const struct level_state *l = state;
    work->kind = CUZK_WORK_LEVEL;
    CUZK_TRY(cuzk_work_add_inputs(b, work, &l->cur, 1));
    if (l->own) {
        CUZK_TRY(cuzk_work_add_own(b, work, true, l->n_bits));
        CUZK_TRY(cuzk_work_add_own(b, work, false, l->arity - 1));
    } else {
        CUZK_TRY(cuzk_work_add_inputs(b, work, l->in, l->n_bits + l->arity - 1));
    }
    return describe_rounds(b, work, l->p, cuzk_poseidon_tree_tag(l->arity));
}

const cuzk_filler cuzk__filler_level = {"tree level", prepare_level, fill_level,
                                        release,      fill_levels,   describe_level};
const cuzk_filler cuzk__filler_level_with = {"tree step", prepare_level_with, fill_level,
                                             release,     fill_levels,        describe_level};

/* ---- bits of a number ---- */

static void fill_bits(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *inst,
                      const uint32_t *slots) {
    fr v;
    (void)state;
    cuzk_bls12_381_fr_from_mont(&v, &w->full[slots[1]]); /* the only port */
    for (int i = 0; i < 4; i++)
        w->bits[inst->bit0 / 64 + (uint32_t)i] = v.l[i];
}

static cuzk_status prepare_bits(void **out, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                                const void *shared) {
    static const uint32_t port = 1;
    (void)shared;
    *out = NULL;
    return s->n_bits == 255 && s->n_port_inputs + s->n_port_aux == 1 && full_ports(r, s, &port, 1)
               ? CUZK_OK
               : CUZK_STATUS_BAD_INPUT;
}

static cuzk_status describe_bits(const void *state, cuzk_work_builder *b, cuzk_work *work) {
    static const uint32_t port = 1;
    (void)state;
    work->kind = CUZK_WORK_BITS;
    return cuzk_work_add_inputs(b, work, &port, 1);
}

const cuzk_filler cuzk__filler_bits = {"bits", prepare_bits, fill_bits, NULL, NULL, describe_bits};

/* ---- all of them ---- */

cuzk_status cuzk_circuit_plan(cuzk_witness_plan **out, const cuzk_r1cs *r,
                              const cuzk_poseidon_set *set) {
    const cuzk_filler *const all[] = {&cuzk__filler_sha256, &cuzk__filler_poseidon,
                                      &cuzk__filler_level, &cuzk__filler_level_with,
                                      &cuzk__filler_bits};
    return cuzk_witness_plan_new(out, r, all, sizeof all / sizeof all[0], set);
}

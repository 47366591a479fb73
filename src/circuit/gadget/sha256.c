/* SHA-256 as bellperson writes it: words of 32 Booleans, additions collected by a "multi-eq" that
 * packs several equations into one row of up to 254 bits.
 *
 * DESIGN. Words are least significant bit first. Every 32-bit addition allocates its result bits
 * first and hands `sum of operands = sum of result bits` to the multi-eq, which emits a row as
 * soon as the next equation no longer fits; so its rows lie between the others, and the last one
 * ends the compression. The working variables a and e of a round are kept as lists of operands
 * and only added in the next round. */
#include "circuit/gadgets.h"
#include "witness/sha256_constants.h"

enum { WORD = 32, MAX_OPS = 8, CAPACITY = 254 };

typedef struct {
    cuzk_bit b[WORD]; /* least significant first */
} word;

/* A sum of words that has not been added up yet. */
typedef struct {
    word op[MAX_OPS];
    uint32_t n;
} sum;

typedef struct {
    cuzk_vec lhs, rhs; /* of cuzk_flat_term */
    uint32_t used;     /* bits */
} multi_eq;

static const uint32_t sha_iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static word word_const(uint32_t v) {
    word w;
    for (int i = 0; i < WORD; i++)
        w.b[i] = cuzk_bit_const(v >> i & 1);
    return w;
}

static word rotr(const word *x, uint32_t by) {
    word w;
    for (uint32_t i = 0; i < WORD; i++)
        w.b[i] = x->b[(i + by) % WORD];
    return w;
}

static word shr(const word *x, uint32_t by) {
    word w;
    for (uint32_t i = 0; i < WORD; i++)
        w.b[i] = i + by < WORD ? x->b[i + by] : CUZK_BIT_FALSE;
    return w;
}

static word word_xor(cuzk_cs *cs, const word *x, const word *y) {
    word w;
    for (int i = 0; i < WORD; i++)
        w.b[i] = cuzk_gadget_xor(cs, x->b[i], y->b[i]);
    return w;
}

/* (x rotr r0) xor (x rotr r1) xor (x rotr r2, or shr when `shift`). */
static word sigma(cuzk_cs *cs, const word *x, uint32_t r0, uint32_t r1, uint32_t r2, bool shift) {
    const word p = rotr(x, r0), q = rotr(x, r1), r = shift ? shr(x, r2) : rotr(x, r2);
    const word pq = word_xor(cs, &p, &q);
    return word_xor(cs, &pq, &r);
}

static void flush_eq(cuzk_cs *cs, multi_eq *m) {
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE};
    if (m->used == 0) return;
    cuzk_cs_row(cs, m->lhs.data, (uint32_t)m->lhs.n, &one, 1, m->rhs.data, (uint32_t)m->rhs.n);
    m->lhs.n = m->rhs.n = 0;
    m->used = 0;
}

/* Appends 2^shift times word bits to an accumulator. */
static void accumulate(cuzk_cs *cs, cuzk_vec *acc, const cuzk_bit *bits, uint32_t n,
                       uint32_t shift) {
    cuzk_flat_term *t = cuzk_vec_grow(acc, 2 * (size_t)n);
    if (!t) {
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "SHA-256 addition");
        return;
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        k += cuzk_bit_terms(t + k, bits[i], CUZK_COEF_POW2(shift + i));
    acc->n -= 2 * (size_t)n - k;
}

static bool sum_is_const(const sum *s, uint32_t *value) {
    *value = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t v = 0;
        for (int i = 0; i < WORD; i++) {
            if (!cuzk_bit_is_const(s->op[k].b[i])) return false;
            v |= (uint32_t)(s->op[k].b[i] == CUZK_BIT_TRUE) << i;
        }
        *value += v;
    }
    return true;
}

static word add_up(cuzk_cs *cs, multi_eq *m, const sum *s) {
    uint32_t value;
    cuzk_bit res[WORD + 3];
    cuzk_flat_term terms[2 * MAX_OPS * WORD];
    word w;
    if (sum_is_const(s, &value)) return word_const(value);
    uint32_t n_bits = WORD;
    for (uint64_t top = s->n * (uint64_t)UINT32_MAX; top >> n_bits; n_bits++) {
    }
    uint32_t k = 0;
    for (uint32_t j = 0; j < s->n; j++)
        for (uint32_t i = 0; i < WORD; i++)
            k += cuzk_bit_terms(terms + k, s->op[j].b[i], CUZK_COEF_POW2(i));
    cuzk_cs_bits_of(cs, n_bits, terms, k);
    for (uint32_t i = 0; i < n_bits; i++)
        res[i] = cuzk_gadget_alloc_bit(cs, 0);
    if (CAPACITY <= m->used + n_bits) flush_eq(cs, m);
    for (uint32_t j = 0; j < s->n; j++)
        accumulate(cs, &m->lhs, s->op[j].b, WORD, m->used);
    accumulate(cs, &m->rhs, res, n_bits, m->used);
    m->used += n_bits;
    memcpy(w.b, res, sizeof w.b);
    return w;
}

static word add_words(cuzk_cs *cs, multi_eq *m, const word *const *ops, uint32_t n) {
    sum s;
    s.n = n;
    for (uint32_t i = 0; i < n; i++)
        s.op[i] = *ops[i];
    return add_up(cs, m, &s);
}

static void schedule(cuzk_cs *cs, multi_eq *m, word w[64]) {
    for (uint32_t i = 16; i < 64; i++) {
        cuzk_cs_push(cs, "schedule", i);
        const word s0 = sigma(cs, &w[i - 15], 7, 18, 3, true);
        const word s1 = sigma(cs, &w[i - 2], 17, 19, 10, true);
        const word *const ops[] = {&w[i - 16], &s0, &w[i - 7], &s1};
        w[i] = add_words(cs, m, ops, 4);
        cuzk_cs_pop(cs);
    }
}

/* One round on the working variables v[0..7] = a..h; a and e come and go as sums. */
static void do_round(cuzk_cs *cs, multi_eq *m, uint32_t i, word v[8], sum *a, sum *e,
                     const word *w) {
    word ch, maj;
    v[4] = e->n == 1 ? e->op[0] : add_up(cs, m, e);
    const word s1 = sigma(cs, &v[4], 6, 11, 25, false);
    for (int j = 0; j < WORD; j++)
        ch.b[j] = cuzk_gadget_ch(cs, v[4].b[j], v[5].b[j], v[6].b[j]);
    v[0] = a->n == 1 ? a->op[0] : add_up(cs, m, a);
    const word s0 = sigma(cs, &v[0], 2, 13, 22, false);
    for (int j = 0; j < WORD; j++)
        maj.b[j] = cuzk_gadget_maj(cs, v[0].b[j], v[1].b[j], v[2].b[j]);
    const sum t1 = {{v[7], s1, ch, word_const(sha_k[i]), *w}, 5};
    *e = t1;
    e->op[e->n++] = v[3];
    *a = t1;
    a->op[a->n++] = s0;
    a->op[a->n++] = maj;
    for (int j = 7; j > 0; j--)
        v[j] = v[j - 1]; /* v[0] and v[4] are set next round */
}

static void compress_body(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out) {
    word w[64], v[8];
    const word *state = (const word *)in;
    sum a = {{state[0]}, 1}, e = {{state[4]}, 1};
    multi_eq m = {.used = 0};
    (void)params;
    cuzk_vec_init(&m.lhs, sizeof(cuzk_flat_term));
    cuzk_vec_init(&m.rhs, sizeof(cuzk_flat_term));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < WORD; j++)
            w[i].b[j] = in[256 + i * WORD + WORD - 1 - j];
    schedule(cs, &m, w);
    memcpy(v, state, sizeof v);
    for (uint32_t i = 0; i < 64; i++) {
        cuzk_cs_push(cs, "round", i);
        do_round(cs, &m, i, v, &a, &e, &w[i]);
        cuzk_cs_pop(cs);
    }
    cuzk_cs_push(cs, "state", CUZK_R1CS_NONE);
    word *res = (word *)out;
    for (int j = 0; j < 8; j++) {
        sum s = {{v[j], state[j]}, 2};
        if (j == 0 || j == 4) {
            s = j == 0 ? a : e;
            s.op[s.n++] = state[j];
        }
        res[j] = add_up(cs, &m, &s);
    }
    flush_eq(cs, &m);
    cuzk_cs_pop(cs);
    cuzk_vec_free(&m.lhs);
    cuzk_vec_free(&m.rhs);
}

void cuzk_gadget_sha256(cuzk_cs *cs, const cuzk_bit *msg, uint32_t n, cuzk_bit out[256]) {
    static const cuzk_gadget g = {"sha256 compression", compress_body};
    uint32_t arg[256 + 512];
    word state[8];
    const uint32_t blocks = (n + 8 + 64 + 511) / 512;
    for (int i = 0; i < 8; i++)
        state[i] = word_const(sha_iv[i]);
    for (uint32_t b = 0; b < blocks; b++) {
        memcpy(arg, state, sizeof state);
        for (uint32_t i = 0; i < 512; i++) {
            const uint32_t at = 512 * b + i, from_end = 512 * blocks - 1 - at;
            arg[256 + i] = at < n           ? msg[at]
                           : at == n        ? CUZK_BIT_TRUE
                           : from_end >= 32 ? CUZK_BIT_FALSE
                                            : cuzk_bit_const(n >> from_end & 1);
        }
        cuzk_cs_push(cs, "sha256 block", b);
        cuzk_cs_call(cs, &g, NULL, 0, arg, 768, (uint32_t *)state, 256);
        cuzk_cs_pop(cs);
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < WORD; j++)
            out[WORD * i + j] = state[i].b[WORD - 1 - j];
}

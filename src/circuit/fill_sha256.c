/* The wires of a SHA-256 compression from 32-bit words.
 *
 * DESIGN. Most operations of the gadget allocate one wire for each of the 32 bits, in order, so
 * their wires are a word of the witness. Where an operand's bit is constant the gadget allocates
 * less, and where the result is a negated wire the wire holds the opposite. Both are known from
 * the shape: `prepare` walks the compression once with symbolic bits and notes for every
 * operation which bits have wires (mask) and which of those are inverted (neg); `fill` walks it
 * with values and writes the marked bits. */
#include "circuit/fillers.h"

#include "base/mem.h"
#include "r1cs/eval.h"
#include "witness/program.h"
#include "witness/sha256_constants.h"

#include <string.h>

enum { IN_BITS = 256 + 512, N_OPS = CUZK_SHA256_OPS };

/* What an operation allocates. Majority: `mask` marks bits with two wires (maj, bc), `single`
 * those with one. Additions: mask is 1 when the result has wires. */
struct op {
    uint32_t mask, single, neg;
};

struct program {
    uint32_t in[IN_BITS]; /* column, CUZK_CALL_NOT */
    struct op op[N_OPS];
};

/* ---- symbolic bits ---- */

typedef enum { F, T, IS, NOT } sym; /* x ^ 1 is the negation */

typedef struct {
    sym b[32];
} sword;

static bool is_const(sym x) {
    return x <= T;
}
static sym negate(sym x) {
    return (sym)(x ^ 1);
}

/* *alloc is set when the operation has a wire. */
static sym s_and(sym a, sym b, bool *alloc) {
    if (a == F || b == F) return F;
    if (a == T) return b;
    if (b == T) return a;
    *alloc = true;
    return IS;
}

static sym s_xor(sym a, sym b, bool *alloc) {
    if (is_const(a)) return a == F ? b : negate(b);
    if (is_const(b)) return b == F ? a : negate(a);
    *alloc = true;
    return a == b ? IS : NOT;
}

static sym s_ch(sym a, sym b, sym c, bool *alloc) {
    if (is_const(a) && is_const(b) && is_const(c)) return a == T ? b : c;
    if (a == F) return c;
    if (b == F) return s_and(negate(a), c, alloc);
    if (c == F) return s_and(a, b, alloc);
    if (c == T) return negate(s_and(a, negate(b), alloc));
    if (b == T) return negate(s_and(negate(a), negate(c), alloc));
    *alloc = true;
    return IS;
}

/* *pair is set instead when there are two wires. */
static sym s_maj(sym a, sym b, sym c, bool *alloc, bool *pair) {
    if (is_const(a) && is_const(b) && is_const(c))
        return (a == T) + (b == T) + (c == T) >= 2 ? T : F;
    if (a == F) return s_and(b, c, alloc);
    if (b == F) return s_and(a, c, alloc);
    if (c == F) return s_and(a, b, alloc);
    if (c == T) return negate(s_and(negate(a), negate(b), alloc));
    if (b == T) return negate(s_and(negate(a), negate(c), alloc));
    if (a == T) return negate(s_and(negate(b), negate(c), alloc));
    *pair = true;
    return IS;
}

static sword sw_const(uint32_t v) {
    sword w;
    for (int i = 0; i < 32; i++)
        w.b[i] = v >> i & 1 ? T : F;
    return w;
}

static sword sw_xor(struct op **op, const sword *x, uint32_t rx, const sword *y, uint32_t ry,
                    bool shift_y) {
    struct op *o = (*op)++;
    sword w;
    for (uint32_t i = 0; i < 32; i++) {
        bool alloc = false;
        const sym yb = shift_y && i + ry >= 32 ? F : y->b[(i + ry) % 32];
        w.b[i] = s_xor(x->b[(i + rx) % 32], yb, &alloc);
        o->mask |= (uint32_t)alloc << i;
        if (alloc && w.b[i] == NOT) o->neg |= 1u << i;
    }
    return w;
}

static sword sw_sigma(struct op **op, const sword *x, uint32_t r0, uint32_t r1, uint32_t r2,
                      bool shift) {
    const sword p = sw_xor(op, x, r0, x, r1, false);
    return sw_xor(op, &p, 0, x, r2, shift);
}

static sword sw_ch(struct op **op, const sword *a, const sword *b, const sword *c) {
    struct op *o = (*op)++;
    sword w;
    for (uint32_t i = 0; i < 32; i++) {
        bool alloc = false;
        w.b[i] = s_ch(a->b[i], b->b[i], c->b[i], &alloc);
        o->mask |= (uint32_t)alloc << i;
        if (alloc && w.b[i] == NOT) o->neg |= 1u << i;
    }
    return w;
}

static sword sw_maj(struct op **op, const sword *a, const sword *b, const sword *c) {
    struct op *o = (*op)++;
    sword w;
    for (uint32_t i = 0; i < 32; i++) {
        bool alloc = false, pair = false;
        w.b[i] = s_maj(a->b[i], b->b[i], c->b[i], &alloc, &pair);
        o->mask |= (uint32_t)pair << i;
        o->single |= (uint32_t)alloc << i;
        if (alloc && w.b[i] == NOT) o->neg |= 1u << i;
    }
    return w;
}

/* The sum of n words and, when `known` is not zero, of a constant. */
static sword sw_add(struct op **op, const sword *const *x, uint32_t n, uint32_t known) {
    struct op *o = (*op)++;
    uint32_t v = known;
    sword w;
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < 32; i++) {
            if (!is_const(x[k]->b[i])) o->mask = 1;
            v += (uint32_t)(x[k]->b[i] == T) << i;
        }
    }
    if (!o->mask) return sw_const(v);
    for (int i = 0; i < 32; i++)
        w.b[i] = IS;
    return w;
}

static void trace(struct op *op, const sword *state, const sword *msg) {
    sword w[64], v[8], s1, ch, s0, maj, h, d;
    memcpy(w, msg, 16 * sizeof *w);
    for (int i = 16; i < 64; i++) {
        const sword t0 = sw_sigma(&op, &w[i - 15], 7, 18, 3, true);
        const sword t1 = sw_sigma(&op, &w[i - 2], 17, 19, 10, true);
        const sword *const x[] = {&w[i - 16], &t0, &w[i - 7], &t1};
        w[i] = sw_add(&op, x, 4, 0);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        struct op *add_e = op++;
        if (i > 0) {
            const sword *const x[] = {&h, &s1, &ch, &w[i - 1], &d};
            v[4] = sw_add(&add_e, x, 5, sha_k[i - 1]);
        }
        const sword e_s1 = sw_sigma(&op, &v[4], 6, 11, 25, false);
        const sword e_ch = sw_ch(&op, &v[4], &v[5], &v[6]);
        struct op *add_a = op++;
        if (i > 0) {
            const sword *const x[] = {&h, &s1, &ch, &w[i - 1], &s0, &maj};
            v[0] = sw_add(&add_a, x, 6, sha_k[i - 1]);
        }
        s0 = sw_sigma(&op, &v[0], 2, 13, 22, false);
        maj = sw_maj(&op, &v[0], &v[1], &v[2]);
        s1 = e_s1;
        ch = e_ch;
        h = v[7];
        d = v[3];
        for (int j = 7; j > 0; j--)
            v[j] = v[j - 1];
    }
    for (int j = 0; j < 8; j++) {
        const sword *const sums[2][7] = {{&h, &s1, &ch, &w[63], &s0, &maj, &state[0]},
                                         {&h, &s1, &ch, &w[63], &d, &state[4]}};
        const sword *const two[] = {&v[j], &state[j]};
        if (j == 0 || j == 4)
            sw_add(&op, sums[j / 4], j == 0 ? 7 : 6, sha_k[63]);
        else
            sw_add(&op, two, 2, 0);
    }
}

static sym sym_of(uint32_t in) {
    const bool not = (in & CUZK_CALL_NOT) != 0;
    if ((in & ~CUZK_CALL_NOT) == 0) return not ? F : T;
    return not ? NOT : IS;
}

/* How many wires operation i has. */
static uint32_t wires_of(const struct op *o, uint32_t i) {
    uint32_t sum_bits;
    const cuzk_sha256_what what = cuzk_sha256_op_what(i, &sum_bits);
    if (what == CUZK_SHA256_SUM) return o->mask ? sum_bits : 0;
    return (uint32_t)__builtin_popcount(o->mask) * (what == CUZK_SHA256_MAJ ? 2 : 1) +
           (uint32_t)__builtin_popcount(o->single);
}

/* Whether the shape has exactly the wires that fill writes, and bits where it reads bits. */
static bool fits(const struct program *p, const cuzk_r1cs *r, const cuzk_r1cs_shape *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < IN_BITS; i++) {
        const uint32_t col = p->in[i] & ~CUZK_CALL_NOT;
        if (col >= cuzk_r1cs_first_aux_col(s) || (col && !cuzk_r1cs_col_is_bit(r, s, col)))
            return false;
    }
    for (uint32_t i = 0; i < N_OPS; i++)
        n += wires_of(&p->op[i], i);
    return n == s->n_bits && n == s->n_aux && s->n_full == 0 && s->n_inputs == 0;
}

static cuzk_status prepare(void **out, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                           const void *shared) {
    struct program *p = NULL;
    sword state[8], msg[16];
    (void)shared;
    if (s->n_args != IN_BITS) return CUZK_STATUS_BAD_INPUT;
    CUZK_TRY(cuzk_alloc((void **)&p, 1, sizeof *p));
    memcpy(p->in, r->calls + s->call0 + s->n_params, sizeof p->in);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 32; j++)
            state[i].b[j] = sym_of(p->in[32 * i + j]);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 32; j++)
            msg[i].b[j] = sym_of(p->in[256 + 32 * i + 31 - j]);
    trace(p->op, state, msg);
    if (!fits(p, r, s)) {
        cuzk_free(p);
        return CUZK_STATUS_BAD_INPUT;
    }
    *out = p;
    return CUZK_OK;
}

static void release(void *state) {
    cuzk_free(state);
}

/* ---- values ---- */

struct out {
    uint64_t *p;
    uint64_t acc;
    uint32_t n; /* bits in acc */
};

static inline void put(struct out *o, uint64_t v, uint32_t n) {
    o->acc |= v << o->n;
    o->n += n;
    if (o->n < 64) return;
    *o->p++ = o->acc;
    o->n -= 64;
    o->acc = o->n ? v >> (n - o->n) : 0;
}

/* The bits of v that mask marks, close together. */
static uint32_t squeeze(uint32_t v, uint32_t mask) {
    uint32_t x = 0;
    for (uint32_t n = 0; mask; mask &= mask - 1, n++)
        x |= (v >> __builtin_ctz(mask) & 1) << n;
    return x;
}

static inline void put_marked(struct out *o, uint32_t v, uint32_t mask) {
    if ((mask & (mask + 1)) == 0) /* all, none, or the low bits: the shifts of the schedule */
        put(o, v & mask, (uint32_t)__builtin_popcount(mask));
    else
        put(o, squeeze(v, mask), (uint32_t)__builtin_popcount(mask));
}

static inline uint32_t ror(uint32_t x, uint32_t n) {
    return x >> n | x << (32 - n);
}

static inline uint32_t fill_xor(struct out *o, const struct op **op, uint32_t x, uint32_t y) {
    const uint32_t v = x ^ y;
    put_marked(o, v ^ (*op)->neg, (*op)->mask);
    (*op)++;
    return v;
}

static inline uint32_t fill_sigma(struct out *o, const struct op **op, uint32_t x, uint32_t r0,
                                  uint32_t r1, uint32_t last) {
    return fill_xor(o, op, fill_xor(o, op, ror(x, r0), ror(x, r1)), last);
}

static inline uint32_t fill_add(struct out *o, const struct op **op, uint64_t sum, uint32_t bits) {
    if ((*op)->mask) put(o, sum, bits);
    (*op)++;
    return (uint32_t)sum;
}

/* Bit i of v to bit 2i. */
static inline uint64_t spread(uint64_t v) {
    v = (v | v << 16) & 0x0000ffff0000ffff;
    v = (v | v << 8) & 0x00ff00ff00ff00ff;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0f;
    v = (v | v << 2) & 0x3333333333333333;
    return (v | v << 1) & 0x5555555555555555;
}

static uint32_t fill_maj(struct out *o, const struct op **op, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t bc = b & c, v = (a & (b ^ c)) ^ bc;
    const struct op *m = (*op)++;
    if (m->mask == UINT32_MAX) {
        const uint64_t both = spread(v) | spread(bc) << 1;
        put(o, both & UINT32_MAX, 32);
        put(o, both >> 32, 32);
        return v;
    }
    for (uint32_t i = 0; i < 32; i++) {
        if (m->mask >> i & 1)
            put(o, (v >> i & 1) | (bc >> i & 1) << 1, 2);
        else if (m->single >> i & 1)
            put(o, (v ^ m->neg) >> i & 1, 1);
    }
    return v;
}

static void read_words(uint32_t words[24], const struct program *p, const uint64_t *bits,
                       const uint32_t *slots) {
    for (int i = 0; i < 24; i++) {
        uint32_t v = 0;
        for (int j = 0; j < 32; j++) {
            const uint32_t in = p->in[32 * i + j], col = in & ~CUZK_CALL_NOT;
            const uint32_t bit = col == 0 || cuzk__bit_get(bits, slots[col] & ~CUZK_SLOT_BIT);
            v |= (bit ^ (in != col)) << (i < 8 ? j : 31 - j);
        }
        words[i] = v;
    }
}

static void fill_schedule(struct out *o, const struct op **op, uint32_t w[64]) {
    for (int i = 16; i < 64; i++) {
        const uint32_t s0 = fill_sigma(o, op, w[i - 15], 7, 18, w[i - 15] >> 3);
        const uint32_t s1 = fill_sigma(o, op, w[i - 2], 17, 19, w[i - 2] >> 10);
        w[i] = fill_add(o, op, (uint64_t)w[i - 16] + s0 + w[i - 7] + s1, 34);
    }
}

static void fill(const void *ctx, cuzk_witness *wit, const cuzk_r1cs_inst *inst,
                 const uint32_t *slots) {
    const struct program *p = ctx;
    const struct op *op = p->op;
    struct out o = {wit->bits + inst->bit0 / 64, 0, 0};
    uint32_t in[24], w[64], v[8];
    uint64_t sum_e = 0, sum_a = 0;
    read_words(in, p, wit->bits, slots);
    memcpy(w, in + 8, 16 * sizeof *w);
    memcpy(v, in, sizeof v);
    fill_schedule(&o, &op, w);
    for (int i = 0; i < 64; i++) {
        if (i > 0)
            v[4] = fill_add(&o, &op, sum_e, 35);
        else
            op++;
        const uint32_t s1 = fill_sigma(&o, &op, v[4], 6, 11, ror(v[4], 25));
        const uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
        put_marked(&o, ch ^ op->neg, op->mask);
        op++;
        if (i > 0)
            v[0] = fill_add(&o, &op, sum_a, 35);
        else
            op++;
        const uint32_t s0 = fill_sigma(&o, &op, v[0], 2, 13, ror(v[0], 22));
        const uint32_t maj = fill_maj(&o, &op, v[0], v[1], v[2]);
        const uint64_t t1 = (uint64_t)v[7] + s1 + ch + sha_k[i] + w[i];
        sum_e = t1 + v[3];
        sum_a = t1 + s0 + maj;
        for (int j = 7; j > 0; j--)
            v[j] = v[j - 1];
    }
    for (int j = 0; j < 8; j++) {
        if (j == 0 || j == 4)
            fill_add(&o, &op, (j == 0 ? sum_a : sum_e) + in[j], 35);
        else
            fill_add(&o, &op, (uint64_t)v[j] + in[j], 33);
    }
    if (o.n) *o.p = o.acc;
}

static cuzk_status describe(const void *state, cuzk_work_builder *b, cuzk_work *work) {
    const struct program *p = state;
    uint32_t bit = 0;
    work->kind = CUZK_WORK_SHA256;
    CUZK_TRY(cuzk_work_add_inputs(b, work, p->in, IN_BITS));
    cuzk_sha256_op *to = cuzk_work_add_sha256(b, work);
    if (!to) return CUZK_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < N_OPS; i++) {
        const struct op *o = &p->op[i];
        to[i] = (cuzk_sha256_op){o->mask, o->single, o->neg, bit};
        bit += wires_of(o, i);
    }
    return CUZK_OK;
}

const cuzk_filler cuzk__filler_sha256 = {
    "sha256 compression", prepare, fill, release, NULL, describe};

/* Opening the backend, loading keys, slots; sums.c computes. */
#include "backend/cpu/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "msm/msm.h"
#include "witness/witness.h"

#include <string.h>

static void backend_close(cuzk_backend *b) {
    cuzk_free(b);
}

/* ---- keys ---- */

static void key_free(cuzk_device_key *k) {
    if (!k) return;
    cuzk_ntt_plan_free(((cuzk__cpu_key *)k)->plan);
    cuzk_free(k);
}

/* circom: the shift is the next root, w[k+1]; at the field's last power snarkjs takes nqr^2 = 25.
 */
static void values_coset(const cuzk_proving_key *key, cuzk_u256 *shift) {
    const cuzk_fr_ops *fr = key->curve->fr;
    if (key->log2_domain < fr->adicity) {
        cuzk_fr_root(fr, shift, 5, key->log2_domain + 1);
        return;
    }
    *shift = (cuzk_u256){{25, 0, 0, 0}};
    fr->to_mont(shift, shift);
}

/* Any coset serves, as coefficients do not depend on it: 7, bellman's, is no root of unity. Folded
 * keys are made for the odd one. */
static void coefficients_coset(const cuzk_proving_key *key, cuzk_u256 *shift, cuzk_u256 *factor) {
    const cuzk_fr_ops *fr = key->curve->fr;
    cuzk_u256 t;
    *shift = (cuzk_u256){{7, 0, 0, 0}};
    fr->to_mont(shift, shift);
    if (key->h_form == CUZK_H_FOLDED) cuzk_fr_root(fr, shift, 7, key->log2_domain + 1);
    t = *shift;
    for (unsigned i = 0; i < key->log2_domain; i++)
        fr->mul(&t, &t, &t);
    fr->sub(&t, &t, &fr->one);
    fr->inv(&t, &t);
    fr->from_mont(factor, &t);
}

static cuzk_status key_load(cuzk_backend *b, cuzk_device_key **out, const cuzk_proving_key *key,
                            cuzk_err *err) {
    cuzk__cpu_backend *cpu = (cuzk__cpu_backend *)b;
    const bool values = key->h_form == CUZK_H_COSET_VALUES;
    void *mem;
    *out = NULL;
    if (key->logs)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s: a key of logarithms is for a device",
                            key->name);
    if (cuzk_alloc(&mem, 1, sizeof(cuzk__cpu_key)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a key");
    cuzk__cpu_key *k = mem;
    k->base = (cuzk_device_key){b, key};
    k->cpu = cpu;
    k->rows = cuzk__rows_ops(key->curve->id, cpu->impl);
    if (values)
        values_coset(key, &k->shift);
    else
        coefficients_coset(key, &k->shift, &k->factor);
    cuzk_status st = cuzk_ntt_plan_new(&k->plan, key->curve->id, key->log2_domain, values ? 5 : 7,
                                       cpu->impl, cpu->pool);
    if (st != CUZK_OK) {
        key_free(&k->base);
        return cuzk_err_set(err, st, "cannot plan a transform of 2^%u", key->log2_domain);
    }
    *out = &k->base;
    return CUZK_OK;
}

/* ---- slots ---- */

static void drop(void *p, size_t bytes) {
    if (!p) return;
    cuzk_wipe(p, bytes);
    cuzk_big_free(p, bytes);
}

static void slot_free(cuzk_slot *slot) {
    if (!slot) return;
    cuzk__cpu_slot *s = (cuzk__cpu_slot *)slot;
    const size_t domain = s->n * sizeof(cuzk_u256);
    if (s->a) cuzk_wipe(s->a, s->used_bc ? 3 * domain : domain);
    cuzk_big_free(s->a, 3 * domain);
    drop(s->converted, slot->key->key->n_full * sizeof(cuzk_u256));
    drop(s->scalars, s->max_full * sizeof(cuzk_u256));
    drop(s->packed_bits, s->bit_words * sizeof(uint64_t));
    cuzk_witness_free(s->made);
    cuzk_wipe(s, sizeof *s);
    cuzk_free(s);
}

static cuzk_status big(void *to, size_t n, size_t size, cuzk_err *err) {
    void *mem = NULL;
    if (n && cuzk_big_alloc(&mem, n * size) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "not enough memory for a proof (%zu bytes more)", n * size);
    memcpy(to, &mem, sizeof mem);
    return CUZK_OK;
}

static void measure(cuzk__cpu_slot *s, const cuzk_query *q) {
    if (q->full_slots && q->n_full > s->max_full) s->max_full = q->n_full;
    if (q->n_bits && q->n_bits / 64 + 1 > s->bit_words) s->bit_words = q->n_bits / 64 + 1;
}

/* The most that any sum takes while it is made; at once, what it and those beside it take. */
static size_t sums_scratch(const cuzk__cpu_backend *cpu, const cuzk_proving_key *key) {
    const cuzk_query *q[] = {&key->a, &key->b1, &key->b2, &key->l};
    cuzk_msm_args args = {.curve = key->curve->id,
                          .group = CUZK_G1,
                          .n = (size_t)1 << key->log2_domain,
                          .impl = cpu->impl,
                          .pool = cpu->pool};
    size_t most = cuzk_msm_scratch(&args), beside = args.n + CUZK_MSM_BESIDE;
    for (int i = 0; i < 4; i++) {
        args.group = i == 2 ? CUZK_G2 : CUZK_G1;
        args.n = q[i]->n_full;
        args.n_bits = q[i]->n_bits;
        const size_t bytes = cuzk_msm_scratch(&args);
        if (bytes > most) most = bytes;
        beside += args.n + CUZK_MSM_BESIDE;
    }
    return cuzk__cpu_at_once(cpu, key) ? most + beside : most;
}

static cuzk_status plan(cuzk_backend *b, const cuzk_proving_key *key, cuzk_backend_plan *out,
                        cuzk_err *err) {
    const cuzk__cpu_backend *cpu = (const cuzk__cpu_backend *)b;
    const size_t vector = sizeof(cuzk_u256) << key->log2_domain;
    const size_t scratch = sums_scratch(cpu, key);
    const bool at_once = cuzk__cpu_at_once(cpu, key);
    cuzk__cpu_slot s = {.n = 0};
    (void)err;
    measure(&s, &key->a);
    measure(&s, &key->b1);
    measure(&s, &key->b2);
    measure(&s, &key->l);
    /* in turns, two of the vectors are given back before the sums begin */
    *out = (cuzk_backend_plan){
        .key = sizeof(cuzk__cpu_key) +
               cuzk_ntt_plan_bytes(key->curve->id, key->log2_domain, cpu->impl),
        .slot = sizeof s + vector +
                (at_once                ? scratch + 2 * vector
                 : scratch > 2 * vector ? scratch
                                        : 2 * vector) +
                s.max_full * sizeof(cuzk_u256) + s.bit_words * sizeof(uint64_t) +
                (key->r1cs ? key->n_full * sizeof(cuzk_u256) : 0) +
                (key->plan ? cuzk_witness_bits_bytes(key->r1cs) + cuzk_witness_full_bytes(key->r1cs)
                           : 0),
    };
    return CUZK_OK;
}

static cuzk_status slot_new(cuzk_device_key *dk, cuzk_slot **out, cuzk_err *err) {
    const cuzk_proving_key *key = dk->key;
    cuzk_status st;
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof(cuzk__cpu_slot)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a proof");
    cuzk__cpu_slot *s = mem;
    s->base.key = dk;
    s->key = (const cuzk__cpu_key *)dk;
    s->n = (size_t)1 << key->log2_domain;
    measure(s, &key->a);
    measure(s, &key->b1);
    measure(s, &key->b2);
    measure(s, &key->l);
    CUZK_TRY_GOTO(big(&s->a, s->n, 3 * sizeof(cuzk_u256), err), fail);
    s->b = s->a + s->n;
    s->c = s->b + s->n;
    CUZK_TRY_GOTO(big(&s->scalars, s->max_full, sizeof(cuzk_u256), err), fail);
    CUZK_TRY_GOTO(big(&s->packed_bits, s->bit_words, sizeof(uint64_t), err), fail);
    if (key->r1cs) CUZK_TRY_GOTO(big(&s->converted, key->n_full, sizeof(cuzk_u256), err), fail);
    *out = &s->base;
    return CUZK_OK;
fail:
    slot_free(&s->base);
    return st;
}

/* ---- a proof ---- */

typedef struct {
    void (*convert)(cuzk_u256 *r, const cuzk_u256 *a);
    cuzk_u256 *to;
    const uint8_t *from;
} conversion;

static void convert_range(void *ctx, size_t begin, size_t end) {
    const conversion *c = ctx;
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 t;
        memcpy(&t, c->from + 32 * i, sizeof t);
        c->convert(&c->to[i], &t);
    }
}

static cuzk_status stage(cuzk_slot *slot, const cuzk_wires *wires, cuzk_err *err) {
    enum { MIN_LEN = 4096 };
    cuzk__cpu_slot *s = (cuzk__cpu_slot *)slot;
    const cuzk_proving_key *key = slot->key->key;
    const cuzk_fr_ops *fr = key->curve->fr;
    const int64_t t = cuzk_now_ns();
    memset(&s->stats, 0, sizeof s->stats);
    s->wires = *wires;
    const bool convert = wires->montgomery || key->r1cs;
    if (key->r1cs && wires->montgomery && (uintptr_t)wires->full % _Alignof(cuzk_u256))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a witness that is not aligned to 8 bytes");
    if (convert && !s->converted) CUZK_TRY(big(&s->converted, key->n_full, sizeof(cuzk_u256), err));
    if (convert) {
        conversion c = {wires->montgomery ? fr->from_mont : fr->to_mont, s->converted, wires->full};
        cuzk_pool_run_ranges(s->key->cpu->pool, key->n_full, MIN_LEN, 4, convert_range, &c);
    }
    s->plain = wires->montgomery ? (const uint8_t *)s->converted : wires->full;
    s->mont = wires->montgomery ? wires->full : s->converted;
    s->stats.ns[CUZK_SUMS_UPLOAD] = cuzk_now_ns() - t;
    return CUZK_OK;
}

static cuzk_status stage_inputs(cuzk_slot *slot, const cuzk_u256 *frees, size_t n, cuzk_err *err) {
    cuzk__cpu_slot *s = (cuzk__cpu_slot *)slot;
    const cuzk_proving_key *key = slot->key->key;
    const int64_t t = cuzk_now_ns();
    if (!key->plan)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s: a key without a witness plan", key->name);
    cuzk_witness_free(s->made);
    s->made = NULL;
    const cuzk_status st = cuzk_witness_new(&s->made, key->r1cs);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for the witness");
    CUZK_TRY(cuzk_witness_solve(s->made, key->plan, frees, n, s->key->cpu->pool, err));
    const int64_t made = cuzk_now_ns() - t;
    const cuzk_wires wires = {.bits = s->made->bits, .full = s->made->full, .montgomery = true};
    CUZK_TRY(stage(slot, &wires, err));
    s->stats.ns[CUZK_SUMS_WITNESS] = made;
    return CUZK_OK;
}

static cuzk_status compute(cuzk_slot *slot, cuzk_err *err) {
    return cuzk__cpu_compute((cuzk__cpu_slot *)slot, err);
}

static cuzk_status finish(cuzk_slot *slot, cuzk_groth16_sums *out, cuzk_sums_stats *stats,
                          cuzk_err *err) {
    cuzk__cpu_slot *s = (cuzk__cpu_slot *)slot;
    (void)err;
    *out = s->sums;
    if (stats) *stats = s->stats;
    cuzk_wipe(&s->sums, sizeof s->sums);
    return CUZK_OK;
}

const cuzk_u256 *cuzk__cpu_slot_h(const cuzk_slot *slot) {
    return ((const cuzk__cpu_slot *)slot)->a;
}

cuzk_status cuzk_cpu_backend_open(cuzk_backend **out, cuzk_cpu_impl impl, cuzk_pool *pool,
                                  cuzk_err *err) {
    static const cuzk_backend_ops ops = {
        .name = "cpu",
        .close = backend_close,
        .key_load = key_load,
        .key_free = key_free,
        .slot_new = slot_new,
        .slot_free = slot_free,
        .stage = stage,
        .stage_inputs = stage_inputs,
        .compute = compute,
        .finish = finish,
        .plan = plan,
        .multiples_new = cuzk__cpu_multiples_new,
        .multiples_room = cuzk__cpu_multiples_room,
        .multiples_queue = cuzk__cpu_multiples_queue,
        .multiples_take = cuzk__cpu_multiples_take,
        .multiples_free = cuzk__cpu_multiples_free,
    };
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof(cuzk__cpu_backend)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    cuzk__cpu_backend *b = mem;
    *b = (cuzk__cpu_backend){{&ops}, impl, pool};
    *out = &b->base;
    return CUZK_OK;
}

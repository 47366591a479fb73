#include "groth16/groth16.h"

#include "base/mem.h"
#include "base/rand.h"
#include "msm/msm.h"

#include <inttypes.h>
#include <string.h>

/* IC[0] * first + sum publics[i] IC[i+1]; scalars: 1 + n_public of them, plain. */
static cuzk_status public_point(const cuzk_vk *vk, const cuzk_u256 *scalars, cuzk_pool *pool,
                                cuzk_point *out, cuzk_err *err) {
    const size_t n = (size_t)vk->n_public + 1;
    cuzk_msm_args args = {.curve = vk->curve->id,
                          .group = CUZK_G1,
                          .n = n,
                          .bases = vk->ic,
                          .scalars = scalars,
                          .pool = pool};
    cuzk_status st = cuzk_msm(&args, out);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "public input MSM over %zu points: %s", n,
                            cuzk_status_text(st));
    return CUZK_OK;
}

static cuzk_status check_inputs(const cuzk_vk *vk, const cuzk_u256 *publics,
                                const cuzk_proof *proof, cuzk_err *err) {
    if (proof->curve != vk->curve)
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "the proof is on %s, the key on %s",
                            proof->curve->circom, vk->curve->circom);
    for (size_t i = 0; i < vk->n_public; i++) {
        if (!vk->curve->fr->is_canonical(&publics[i]))
            return cuzk_err_set(err, CUZK_STATUS_FALSE, "public signal %zu is not below r", i);
    }
    return CUZK_OK;
}

static cuzk_status no_memory(cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory to verify");
}

cuzk_status cuzk_groth16_verify(const cuzk_vk *vk, const cuzk_u256 *publics, size_t n,
                                const cuzk_proof *proof, cuzk_err *err) {
    if (n != vk->n_public)
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "%zu public signals, the key has %u", n,
                            vk->n_public);
    CUZK_TRY(check_inputs(vk, publics, proof, err));
    void *mem;
    if (cuzk_alloc(&mem, n + 1, sizeof(cuzk_u256)) != CUZK_OK) return no_memory(err);
    cuzk_u256 *scalars = mem;
    scalars[0].l[0] = 1;
    if (n) memcpy(scalars + 1, publics, n * sizeof *scalars);
    cuzk_point ic, minus_a;
    const cuzk_status st = public_point(vk, scalars, NULL, &ic, err);
    cuzk_free(mem);
    if (st != CUZK_OK) return st;
    vk->curve->g1.neg(&minus_a, &proof->a);
    const void *g1[4] = {&minus_a, &vk->alpha1, &ic, &proof->c};
    const void *g2[4] = {&proof->b, &vk->beta2, &vk->gamma2, &vk->delta2};
    if (vk->curve->pairing_product_is_one(g1, g2, 4)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_FALSE, "the proof is not valid for these public signals");
}

/* ---- many proofs of one key ---- */

typedef struct {
    const cuzk_vk *vk;
    const cuzk_u256 *publics;
    const cuzk_proof *proofs;
    size_t n;
    cuzk_pool *pool;
    cuzk_u256 *z;       /* n: random, below 2^128, not 0 */
    cuzk_u256 *scalars; /* of ic */
    cuzk_point *za;     /* n: -z A */
    uint8_t *c;         /* n points C */
    const void **g1, **g2;
} batch;

static cuzk_status draw(const batch *b, cuzk_err *err) {
    for (size_t j = 0; j < b->n; j++) {
        b->z[j] = (cuzk_u256){{0, 0, 0, 0}};
        while (b->z[j].l[0] == 0 && b->z[j].l[1] == 0)
            CUZK_TRY(cuzk_random(b->z[j].l, 16, err));
    }
    return CUZK_OK;
}

/* sum z, and sum z x_i for every input i. */
static void add_inputs(const batch *b) {
    const cuzk_fr_ops *fr = b->vk->curve->fr;
    const size_t n = b->vk->n_public;
    memset(b->scalars, 0, (n + 1) * sizeof *b->scalars);
    for (size_t j = 0; j < b->n; j++) {
        cuzk_u256 z, t;
        fr->to_mont(&z, &b->z[j]);
        fr->add(&b->scalars[0], &b->scalars[0], &b->z[j]);
        for (size_t i = 0; i < n; i++) {
            fr->mul(&t, &b->publics[j * n + i], &z); /* plain */
            fr->add(&b->scalars[1 + i], &b->scalars[1 + i], &t);
        }
    }
}

static void multiply_a(void *ctx, size_t j) {
    const batch *b = ctx;
    const cuzk_group_ops *g1 = &b->vk->curve->g1;
    g1->mul(&b->za[j], &b->proofs[j].a, &b->z[j]);
    g1->neg(&b->za[j], &b->za[j]);
}

static cuzk_status product(const batch *b, cuzk_err *err) {
    const cuzk_vk *vk = b->vk;
    const size_t size = vk->curve->g1.point_size;
    cuzk_point ic, c, alpha;
    add_inputs(b);
    CUZK_TRY(public_point(vk, b->scalars, b->pool, &ic, err));
    vk->curve->g1.mul(&alpha, &vk->alpha1, &b->scalars[0]);
    for (size_t j = 0; j < b->n; j++)
        memcpy(b->c + j * size, &b->proofs[j].c, size);
    cuzk_msm_args args = {.curve = vk->curve->id,
                          .group = CUZK_G1,
                          .n = b->n,
                          .bases = b->c,
                          .scalars = b->z,
                          .pool = b->pool};
    cuzk_status st = cuzk_msm(&args, &c);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "adding %zu proofs", b->n);
    cuzk_pool_run(b->pool, b->n, multiply_a, (void *)(uintptr_t)b);
    for (size_t j = 0; j < b->n; j++) {
        b->g1[j] = &b->za[j];
        b->g2[j] = &b->proofs[j].b;
    }
    const void *g1[3] = {&alpha, &ic, &c}, *g2[3] = {&vk->beta2, &vk->gamma2, &vk->delta2};
    memcpy(b->g1 + b->n, g1, sizeof g1);
    memcpy(b->g2 + b->n, g2, sizeof g2);
    return vk->curve->pairing_product_is_one(b->g1, b->g2, b->n + 3) ? CUZK_OK : CUZK_STATUS_FALSE;
}

static cuzk_status each(const batch *b, cuzk_err *err) {
    for (size_t j = 0; j < b->n; j++) {
        cuzk_status st = cuzk_groth16_verify(b->vk, b->publics + j * b->vk->n_public,
                                             b->vk->n_public, &b->proofs[j], err);
        if (st != CUZK_OK) return cuzk_err_prefix(err, st, "proof %zu of %zu", j, b->n);
    }
    return cuzk_err_set(err, CUZK_STATUS_BUG,
                        "every proof is valid by itself but the batch is not: a fault of this "
                        "machine or of cuzk; please report it");
}

cuzk_status cuzk_groth16_verify_batch(const cuzk_vk *vk, const cuzk_u256 *publics, size_t each_n,
                                      const cuzk_proof *proofs, size_t n, cuzk_pool *pool,
                                      cuzk_err *err) {
    batch b = {.vk = vk, .publics = publics, .proofs = proofs, .n = n, .pool = pool};
    cuzk_status st = CUZK_OK;
    if (each_n != vk->n_public)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%zu public signals a proof, the key has %" PRIu32, each_n,
                            vk->n_public);
    for (size_t j = 0; j < n; j++) {
        st = check_inputs(vk, publics + j * vk->n_public, &proofs[j], err);
        if (st != CUZK_OK) return cuzk_err_prefix(err, st, "proof %zu of %zu", j, n);
    }
    if (cuzk_alloc((void **)&b.z, n, sizeof *b.z) != CUZK_OK ||
        cuzk_alloc((void **)&b.scalars, (size_t)vk->n_public + 1, sizeof *b.scalars) != CUZK_OK ||
        cuzk_alloc((void **)&b.za, n, sizeof *b.za) != CUZK_OK ||
        cuzk_alloc((void **)&b.c, n, vk->curve->g1.point_size) != CUZK_OK ||
        cuzk_alloc((void **)&b.g1, n + 3, sizeof *b.g1) != CUZK_OK ||
        cuzk_alloc((void **)&b.g2, n + 3, sizeof *b.g2) != CUZK_OK)
        st = no_memory(err);
    if (st == CUZK_OK) st = draw(&b, err);
    if (st == CUZK_OK) st = product(&b, err);
    if (st == CUZK_STATUS_FALSE) st = each(&b, err);
    cuzk_free(b.z);
    cuzk_free(b.scalars);
    cuzk_free(b.za);
    cuzk_free(b.c);
    cuzk_free(b.g1);
    cuzk_free(b.g2);
    return st;
}

#include "groth16/lagrange.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

enum { PIECE = 1024 }; /* values that share an inversion */

typedef struct {
    const cuzk_fr_ops *fr;
    cuzk_u256 *x;
    const cuzk_u256 *tau, *first, *step, *scale;
    atomic_bool hit;
} job;

/* x[0..n) from u on; u becomes the next piece's. */
static void piece(job *j, cuzk_u256 *x, size_t n, cuzk_u256 *u, cuzk_u256 *prefix) {
    static const cuzk_u256 zero;
    const cuzk_fr_ops *fr = j->fr;
    cuzk_u256 acc = fr->one, inv, t, v = *u;
    for (size_t i = 0; i < n; i++) {
        fr->sub(&x[i], j->tau, &v);
        if (memcmp(&x[i], &zero, sizeof zero) == 0) {
            atomic_store(&j->hit, true);
            return;
        }
        prefix[i] = acc;
        fr->mul(&acc, &acc, &x[i]);
        fr->mul(&v, &v, j->step);
    }
    fr->inv(&inv, &acc);
    for (size_t i = n; i-- > 0;) {
        fr->mul(&t, &inv, &prefix[i]);
        fr->mul(&inv, &inv, &x[i]);
        x[i] = t;
    }
    fr->mul(&t, u, j->scale);
    for (size_t i = 0; i < n; i++) {
        fr->mul(&x[i], &x[i], &t);
        fr->mul(&t, &t, j->step);
    }
    *u = v;
}

static void range(void *ctx, size_t begin, size_t end) {
    job *j = ctx;
    cuzk_u256 prefix[PIECE], u;
    const uint64_t e = begin;
    j->fr->pow(&u, j->step, &e, 1);
    j->fr->mul(&u, &u, j->first);
    for (size_t i = begin; i < end && !atomic_load(&j->hit); i += PIECE)
        piece(j, j->x + i, end - i < PIECE ? end - i : PIECE, &u, prefix);
    cuzk_wipe(prefix, sizeof prefix);
}

cuzk_status cuzk__lagrange(const cuzk_fr_ops *fr, cuzk_u256 *x, size_t n, const cuzk_u256 *tau,
                           const cuzk_u256 *first, const cuzk_u256 *step, const cuzk_u256 *scale,
                           cuzk_pool *pool, cuzk_err *err) {
    job j = {.fr = fr, .x = x, .tau = tau, .first = first, .step = step, .scale = scale};
    atomic_init(&j.hit, false);
    cuzk_pool_run_ranges(pool, n, PIECE, 4, range, &j);
    if (!atomic_load(&j.hit)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE,
                        "tau is a root of unity of the domain: choose another seed");
}

void cuzk__lagrange_scale(const cuzk_fr_ops *fr, const cuzk_u256 *tau, unsigned log2m,
                          cuzk_u256 *scale) {
    cuzk_u256 t = *tau, two, m = fr->one;
    fr->add(&two, &fr->one, &fr->one);
    for (unsigned i = 0; i < log2m; i++) {
        fr->mul(&t, &t, &t);
        fr->mul(&m, &m, &two);
    }
    fr->sub(&t, &t, &fr->one);
    fr->inv(&m, &m);
    fr->mul(scale, &t, &m);
}

#include "circuit/coefs.h"

#include "base/mem.h"
#include "field/fields.h"
#include "r1cs/r1cs.h"

#include <string.h>

static uint32_t slot_of(const cuzk_coefs *c, const cuzk_u256 *v) {
    uint64_t h = v->l[0] * 0x9e3779b97f4a7c15u ^ v->l[1] * 0xc2b2ae3d27d4eb4fu ^ v->l[3];
    h ^= h >> 29;
    uint32_t i = (uint32_t)h & (c->table_size - 1);
    while (c->table[i] && memcmp(&c->v[c->table[i] - 1], v, sizeof *v) != 0)
        i = (i + 1) & (c->table_size - 1);
    return i;
}

static cuzk_status grow_table(cuzk_coefs *c) {
    cuzk_free(c->table);
    c->table_size = c->table_size ? 2 * c->table_size : 4096;
    CUZK_TRY(cuzk_alloc((void **)&c->table, c->table_size, sizeof *c->table));
    for (uint32_t id = 0; id < c->n; id++) {
        const uint32_t i = slot_of(c, &c->v[id]);
        if (c->table[i] == 0)
            c->table[i] = id + 1; /* 2^255 mod r may repeat nothing, but be safe */
    }
    return CUZK_OK;
}

cuzk_status cuzk_coefs_init(cuzk_coefs *c) {
    *c = (cuzk_coefs){0};
    CUZK_TRY(cuzk_alloc((void **)&c->v, 2 * CUZK_COEF_FIXED, sizeof *c->v));
    c->cap = 2 * CUZK_COEF_FIXED;
    cuzk_u256 x;
    cuzk_bls12_381_fr_set_one(&x);
    for (; c->n < CUZK_COEF_FIXED; c->n += 2) {
        c->v[c->n] = x;
        cuzk_bls12_381_fr_neg(&c->v[c->n + 1], &x);
        cuzk_bls12_381_fr_dbl(&x, &x);
    }
    return grow_table(c);
}

void cuzk_coefs_fini(cuzk_coefs *c) {
    cuzk_free(c->v);
    cuzk_free(c->table);
    *c = (cuzk_coefs){0};
}

cuzk_status cuzk_coefs_id(cuzk_coefs *c, const cuzk_u256 *value, uint32_t *id) {
    uint32_t i = slot_of(c, value);
    if (c->table[i] == 0) {
        if (c->n == c->cap) {
            CUZK_TRY(cuzk_realloc((void **)&c->v, 2 * (size_t)c->cap, sizeof *c->v));
            c->cap *= 2;
        }
        c->v[c->n++] = *value;
        if (2 * c->n > c->table_size) {
            CUZK_TRY(grow_table(c));
            i = slot_of(c, value);
        }
        c->table[i] = c->n;
    }
    *id = c->table[i] - 1;
    return CUZK_OK;
}

cuzk_status cuzk_coefs_add(cuzk_coefs *c, uint32_t a, uint32_t b, uint32_t *id, bool *zero) {
    *zero = false;
    if (a < CUZK_COEF_FIXED && b < CUZK_COEF_FIXED) {
        *zero = a == (b ^ 1u);
        if (*zero) return CUZK_OK;
        if (a == b && a + 2 < CUZK_COEF_FIXED) {
            *id = a + 2;
            return CUZK_OK;
        }
    }
    cuzk_u256 s;
    cuzk_bls12_381_fr_add(&s, &c->v[a], &c->v[b]);
    *zero = cuzk_bls12_381_fr_is_zero(&s);
    return *zero ? CUZK_OK : cuzk_coefs_id(c, &s, id);
}

bool cuzk_coefs_double(const cuzk_coefs *c, uint32_t a, uint32_t *id) {
    cuzk_u256 d;
    if (a + 2 < CUZK_COEF_FIXED) {
        *id = a + 2;
        return true;
    }
    cuzk_bls12_381_fr_dbl(&d, &c->v[a]);
    *id = c->table[slot_of(c, &d)] - 1;
    return *id != UINT32_MAX;
}

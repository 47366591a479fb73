/* A growable array of fixed-size elements for the builders of this layer. Not thread-safe. */
#ifndef CUZK_R1CS_VEC_H
#define CUZK_R1CS_VEC_H

#include "base/mem.h"

#include <string.h>

typedef struct cuzk_vec {
    void *data;
    size_t n;
    size_t cap;
    size_t size; /* of one element */
} cuzk_vec;

static inline void cuzk_vec_init(cuzk_vec *v, size_t size) {
    *v = (cuzk_vec){NULL, 0, 0, size};
}

static inline void cuzk_vec_free(cuzk_vec *v) {
    cuzk_free(v->data);
    v->data = NULL;
    v->n = v->cap = 0;
}

/* k more elements, contents undefined; NULL when memory is exhausted (the array is unchanged). */
static inline void *cuzk_vec_grow(cuzk_vec *v, size_t k) {
    if (k > v->cap - v->n || !v->data) {
        const size_t need = v->n + k;
        size_t cap = v->cap + v->cap / 2 + 16;
        if (cap < need) cap = need;
        if (need < v->n || cuzk_realloc(&v->data, cap, v->size) != CUZK_OK) return NULL;
        v->cap = cap;
    }
    void *at = (char *)v->data + v->n * v->size;
    v->n += k;
    return at;
}

static inline int cuzk_vec_push(cuzk_vec *v, const void *elem) {
    void *at = cuzk_vec_grow(v, 1);
    if (at) memcpy(at, elem, v->size);
    return at != NULL;
}

#endif

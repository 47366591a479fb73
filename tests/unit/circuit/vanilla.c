#include "vanilla.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "filecoin/c1.h"
#include "filecoin/post.h"
#include "filecoin/update.h"

uint8_t *vanilla_read(const char *name, size_t *n) {
    char path[512];
    snprintf(path, sizeof path, "%s/porep/%s", CUZK_TEST_VECTORS, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *b = malloc(1 << 20);
    assert_non_null(b);
    *n = fread(b, 1, 1 << 20, f);
    assert_true(*n > 0 && *n < 1 << 20);
    fclose(f);
    return b;
}

static cuzk_u256 *frees_of(size_t n) {
    cuzk_u256 *out = calloc(n, sizeof *out);
    assert_non_null(out);
    return out;
}

cuzk_u256 *vanilla_porep(const cuzk_porep_circuit *c, const uint8_t *bytes, size_t len,
                         size_t n_frees) {
    cuzk_c1 *c1;
    cuzk_err err = {0};
    cuzk_u256 *out = frees_of(n_frees);
    if (cuzk_c1_from_memory(&c1, bytes, len, "C1", &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_ptr_equal(&c1->circuit->u.porep, c);
    if (cuzk_c1_free_values(c1, 0, out, n_frees, &err) != CUZK_OK) fail_msg("%s", err.msg);
    cuzk_c1_free(c1);
    return out;
}

/* A request with bytes cut into n vanilla proofs of equal length. */
static cuzk_request *request(uint64_t registered_proof, const uint8_t *bytes, size_t len,
                             size_t n) {
    cuzk_request *r;
    assert_int_equal(cuzk_alloc((void **)&r, 1, sizeof *r), CUZK_OK);
    assert_int_equal(cuzk_strdup(&r->name, "request"), CUZK_OK);
    assert_int_equal(cuzk_alloc((void **)&r->vanilla_proofs, n, sizeof *r->vanilla_proofs),
                     CUZK_OK);
    r->registered_proof = registered_proof;
    r->n_vanilla = n;
    for (size_t i = 0; i < n; i++) {
        cuzk_blob *b = &r->vanilla_proofs[i];
        b->len = len / n;
        assert_int_equal(cuzk_alloc((void **)&b->data, b->len, 1), CUZK_OK);
        memcpy(b->data, bytes + i * b->len, b->len);
    }
    r->seen = 1u << CUZK_REQ_REGISTERED_PROOF | 1u << CUZK_REQ_VANILLA_PROOFS;
    return r;
}

cuzk_u256 *vanilla_post(const cuzk_post_circuit *c, const uint8_t *bytes, size_t len,
                        size_t n_frees) {
    cuzk_post *p;
    cuzk_err err = {0};
    uint64_t type = 0;
    cuzk_u256 *out = frees_of(n_frees);
    while (&cuzk_circuit_find(cuzk_post_type_at(type)->circuit)->u.post != c)
        type++;
    cuzk_request *r = request(type, bytes, len, cuzk_post_type_at(type)->sectors);
    r->seen |= 1u << CUZK_REQ_RANDOMNESS;
    if (cuzk_post_from_request(&p, r, &err) != CUZK_OK ||
        cuzk_post_free_values(p, out, n_frees, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    cuzk_post_free(p);
    return out;
}

cuzk_u256 *vanilla_update(const cuzk_update_circuit *c, const uint8_t *bytes, size_t len,
                          size_t n_frees) {
    static const cuzk_request_field fields[] = {CUZK_REQ_COMM_R_OLD, CUZK_REQ_COMM_D_NEW,
                                                CUZK_REQ_COMM_R_NEW};
    cuzk_update *u;
    cuzk_err err = {0};
    uint64_t type = 0;
    cuzk_u256 *out = frees_of(n_frees);
    while (&cuzk_circuit_find(cuzk_update_type_at(type)->circuit)->u.update != c)
        type++;
    cuzk_request *r = request(type, bytes + 96, len - 96, 1);
    for (int i = 0; i < 3; i++) {
        r->seen |= 1u << fields[i];
        memcpy(r->value[fields[i]], bytes + 32 * i, 32);
    }
    if (cuzk_update_from_request(&u, r, &err) != CUZK_OK ||
        cuzk_update_free_values(u, 0, out, n_frees, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    cuzk_update_free(u);
    return out;
}

#include "filecoin/update.h"

#include "base/mem.h"

static cuzk_status read_challenge(cuzk__bin *b, const cuzk_update *u, cuzk_update_challenge *out) {
    const cuzk_tree_shape *t = &u->statement.circuit->u.update.tree;
    CUZK_TRY(cuzk__bin_proof(b, &out->r_old, t, "proof_r_old"));
    CUZK_TRY(cuzk__bin_proof(b, &out->d_new, &u->d, "proof_d_new"));
    return cuzk__bin_proof(b, &out->r_new, t, "proof_r_new");
}

static cuzk_status read_part(cuzk__bin *b, const cuzk_update *u, cuzk_update_part *out) {
    const cuzk_update_circuit *c = &u->statement.circuit->u.update;
    cuzk_update_challenge x;
    CUZK_TRY(cuzk__bin_hashes(b, &out->comm_c, 1, "comm_c"));
    CUZK_TRY(cuzk__bin_count(b, (uint64_t)1 << c->log2_apex, "apex_leaves"));
    CUZK_TRY(cuzk__bin_hashes(b, &out->apex, (uint64_t)1 << c->log2_apex, "apex leaves"));
    CUZK_TRY(cuzk__bin_count(b, c->challenges, "challenge_proofs"));
    out->challenges = b->c.p + b->c.off;
    for (uint32_t i = 0; i < c->challenges; i++) {
        cuzk__bin_enter(b, "challenge", i);
        CUZK_TRY(read_challenge(b, u, &x));
        cuzk__bin_leave(b);
    }
    return cuzk__bin_end(b);
}

static cuzk_status fill(cuzk_update *u, cuzk_err *err) {
    const cuzk_request *r = u->request;
    cuzk_update_statement *s = &u->statement;
    u->name = r->name;
    CUZK_TRY(cuzk_update_statement_of_request(s, r, err));
    const cuzk_update_circuit *c = &s->circuit->u.update;
    if (r->n_vanilla != s->type->partitions)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: vanilla_proofs: expected %u partitions of %s, actual %zu", u->name,
                            s->type->partitions, s->type->name, r->n_vanilla);
    if (cuzk_alloc((void **)&u->parts, r->n_vanilla, sizeof *u->parts) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", u->name);
    u->d = (cuzk_tree_shape){2, c->log2_nodes, 0, 0};
    u->challenge_bytes = 2 * cuzk__bin_proof_bytes(&c->tree) + cuzk__bin_proof_bytes(&u->d);
    for (size_t k = 0; k < r->n_vanilla; k++) {
        const cuzk_blob *v = &r->vanilla_proofs[k];
        cuzk__bin b = cuzk__bin_init(v->data, v->len, u->name, err);
        cuzk__bin_enter(&b, "vanilla_proofs", (int64_t)k);
        CUZK_TRY(read_part(&b, u, &u->parts[k]));
    }
    return CUZK_OK;
}

cuzk_status cuzk_update_from_request(cuzk_update **out, cuzk_request *r, cuzk_err *err) {
    *out = NULL;
    cuzk_update *u;
    if (cuzk_alloc((void **)&u, 1, sizeof *u) != CUZK_OK) {
        cuzk_request_free(r);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    }
    u->request = r;
    const cuzk_status st = fill(u, err);
    if (st == CUZK_OK)
        *out = u;
    else
        cuzk_update_free(u);
    return st;
}

void cuzk_update_free(cuzk_update *u) {
    if (!u) return;
    cuzk_free(u->parts);
    cuzk_request_free(u->request);
    cuzk_free(u);
}

void cuzk_update_challenge_at(const cuzk_update *u, uint32_t partition, uint32_t i,
                              cuzk_update_challenge *out) {
    cuzk__bin b = cuzk__bin_init(u->parts[partition].challenges + i * u->challenge_bytes,
                                 u->challenge_bytes, "", NULL);
    /* every length was checked when it was opened */
    (void)!read_challenge(&b, u, out);
}

cuzk_status cuzk_update_free_values(const cuzk_update *u, uint32_t partition, cuzk_u256 *out,
                                    size_t n, cuzk_err *err) {
    const cuzk_update_statement *s = &u->statement;
    const cuzk_update_circuit *c = &s->circuit->u.update;
    const cuzk_update_part *part = &u->parts[partition];
    cuzk_update_challenge_values *x;
    cuzk_update_challenge m = {0};
    if (cuzk_alloc((void **)&x, c->challenges, sizeof *x) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", u->name);
    for (uint32_t i = 0; i < c->challenges; i++) {
        cuzk_update_challenge_at(u, partition, i, &m);
        x[i] = (cuzk_update_challenge_values){m.r_old.leaf, m.d_new.leaf, m.r_old.path,
                                              m.r_new.path, m.d_new.path};
    }
    const cuzk_update_values v = {.k_and_h_select = cuzk_update_k_and_h_select(s, partition),
                                  .comm_r_old = s->comm_r_old,
                                  .comm_d_new = s->comm_d_new,
                                  .comm_r_new = s->comm_r_new,
                                  .comm_c = part->comm_c,
                                  .root_r_old = m.r_old.root,
                                  .root_r_new = m.r_new.root,
                                  .apex_leaves = part->apex,
                                  .challenges = x};
    const cuzk_status st = cuzk_update_frees(out, n, c, &v, err);
    cuzk_free(x);
    return st;
}

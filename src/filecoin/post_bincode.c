#include "filecoin/post.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static cuzk_status read_sector(cuzk__bin *b, const cuzk_post_statement *s, cuzk_post_sector *out) {
    cuzk_merkle_proof proof;
    CUZK_TRY(cuzk__bin_u64(b, &out->number, "a sector_id"));
    CUZK_TRY(cuzk__bin_hashes(b, &out->comm_r, 1, "comm_r"));
    CUZK_TRY(cuzk__bin_count(b, 1, "entry of vanilla_proof.sectors"));
    CUZK_TRY(cuzk__bin_count(b, s->type->challenges, "inclusion_proofs"));
    out->proofs = b->c.p + b->c.off;
    for (uint32_t i = 0; i < s->type->challenges; i++) {
        cuzk__bin_enter(b, "challenge", i);
        CUZK_TRY(cuzk__bin_proof(b, &proof, &s->circuit->u.post.tree, "inclusion_proof"));
        cuzk__bin_leave(b);
    }
    CUZK_TRY(cuzk__bin_hashes(b, &out->comm_c, 1, "comm_c"));
    CUZK_TRY(cuzk__bin_hashes(b, &out->comm_r_last, 1, "comm_r_last"));
    return cuzk__bin_end(b);
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = ((const cuzk_post_sector *)a)->number,
                   y = ((const cuzk_post_sector *)b)->number;
    return x < y ? -1 : x > y;
}

static cuzk_status fill(cuzk_post *p, cuzk_err *err) {
    const cuzk_request *r = p->request;
    cuzk_post_statement *s = &p->statement;
    p->name = r->name;
    CUZK_TRY(cuzk__post_statement_head(s, r, err));
    if (cuzk_alloc((void **)&s->sectors, r->n_vanilla, sizeof *s->sectors) != CUZK_OK ||
        cuzk_alloc((void **)&p->sectors, r->n_vanilla, sizeof *p->sectors) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", p->name);
    p->proof_bytes = cuzk__bin_proof_bytes(&s->circuit->u.post.tree);
    for (size_t i = 0; i < r->n_vanilla; i++) {
        const cuzk_blob *v = &r->vanilla_proofs[i];
        cuzk__bin b = cuzk__bin_init(v->data, v->len, p->name, err);
        cuzk__bin_enter(&b, "vanilla_proofs", (int64_t)i);
        CUZK_TRY(read_sector(&b, s, &p->sectors[i]));
        s->sectors[i].number = p->sectors[i].number;
        memcpy(s->sectors[i].comm_r, p->sectors[i].comm_r, 32);
    }
    s->n_sectors = r->n_vanilla;
    if (r->n_vanilla) qsort(p->sectors, r->n_vanilla, sizeof *p->sectors, by_number);
    CUZK_TRY(cuzk__post_statement_sectors(s, p->name, err));
    return cuzk__post_statement_agrees(s, r, err);
}

cuzk_status cuzk_post_from_request(cuzk_post **out, cuzk_request *r, cuzk_err *err) {
    *out = NULL;
    cuzk_post *p;
    if (cuzk_alloc((void **)&p, 1, sizeof *p) != CUZK_OK) {
        cuzk_request_free(r);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    }
    p->request = r;
    const cuzk_status st = fill(p, err);
    if (st == CUZK_OK)
        *out = p;
    else
        cuzk_post_free(p);
    return st;
}

void cuzk_post_free(cuzk_post *p) {
    if (!p) return;
    cuzk_post_statement_free(&p->statement);
    cuzk_free(p->sectors);
    cuzk_request_free(p->request);
    cuzk_free(p);
}

void cuzk_post_proof_at(const cuzk_post *p, size_t sector, uint32_t n, cuzk_merkle_proof *out) {
    cuzk__bin b =
        cuzk__bin_init(p->sectors[sector].proofs + n * p->proof_bytes, p->proof_bytes, "", NULL);
    /* every length was checked when it was opened */
    (void)!cuzk__bin_proof(&b, out, &p->statement.circuit->u.post.tree, "inclusion_proof");
}

cuzk_status cuzk_post_free_values(const cuzk_post *p, cuzk_u256 *out, size_t n, cuzk_err *err) {
    const cuzk_post_statement *s = &p->statement;
    const cuzk_post_circuit *c = &s->circuit->u.post;
    const size_t distinct = s->type->winning ? c->sectors : s->n_sectors;
    cuzk_post_sector_values *v = NULL;
    cuzk_post_challenge_values *x = NULL;
    cuzk_status st = cuzk_alloc((void **)&v, c->sectors, sizeof *v);
    if (st == CUZK_OK) st = cuzk_alloc((void **)&x, distinct * c->challenges, sizeof *x);
    if (st != CUZK_OK) cuzk_err_set(err, st, "%s: not enough memory", p->name);
    for (size_t i = 0; st == CUZK_OK && i < distinct * c->challenges; i++) {
        cuzk_merkle_proof m;
        /* Winning: the circuit's i-th sector has the only sector's i-th proof */
        const size_t sector = s->type->winning ? 0 : i / c->challenges;
        cuzk_post_proof_at(p, sector, (uint32_t)(s->type->winning ? i : i % c->challenges), &m);
        x[i].leaf = m.leaf;
        x[i].path = m.path;
    }
    for (size_t i = 0; st == CUZK_OK && i < c->sectors; i++) {
        const size_t at = i < distinct ? i : distinct - 1;
        const cuzk_post_sector *from = &p->sectors[s->type->winning ? 0 : at];
        v[i] = (cuzk_post_sector_values){from->comm_r_last, from->comm_c, from->comm_r,
                                         &x[at * c->challenges]};
    }
    if (st == CUZK_OK) st = cuzk_post_frees(out, n, c, v, err);
    cuzk_free(v);
    cuzk_free(x);
    return st;
}

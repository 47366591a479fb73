/* Requests for EmptySectorUpdate (SnapDeals). */
#include "base/mem.h"
#include "filecoin/fr.h"
#include "filecoin/request.h"
#include "filecoin/sector_internal.h"

#include <stdatomic.h>

struct update {
    const cuzk_update_circuit *c;
    uint32_t h; /* bits of a node's index that choose rho */
    uint8_t comm_c[32], comm_r_old[32], comm_r_new[32], comm_d_new[32];
    cuzk__tree old, d, new;
};

/* The network takes the fourth choice of h. */
static uint32_t chosen_h(const cuzk_update_circuit *c) {
    return c->h[3];
}

/* ---- encoding ---- */

struct encode_job {
    const struct update *u;
    const cuzk_u256 *rho;
    uint8_t *out;
    _Atomic int status;
};

/* Of values that stand for 2^shift nodes each, like trees old and d have. */
static void encode_range(void *ctx, size_t begin, size_t end) {
    struct encode_job *j = ctx;
    const cuzk__tree_level *old = &j->u->old.level[0], *d = &j->u->d.level[0];
    const uint32_t high = j->u->c->log2_nodes - j->u->h;
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 a, b;
        if (!cuzk__fr_read(&a, old->value + 32 * i) || !cuzk__fr_read(&b, d->value + 32 * i)) {
            atomic_store(&j->status, CUZK_STATUS_BUG);
            return;
        }
        cuzk_bls12_381_fr_mul(&b, &b, &j->rho[((uint64_t)i << old->shift) >> high]);
        cuzk_bls12_381_fr_add(&a, &a, &b);
        cuzk__fr_write(j->out + 32 * i, &a);
    }
}

static cuzk_status encode(struct update *u, const cuzk__tree_maker *m) {
    const cuzk_poseidon *p2 = m->poseidon->arity[2];
    const size_t n = u->old.level[0].n;
    cuzk_u256 phi, *rho = NULL;
    uint8_t *leaves = NULL;
    cuzk_status st;
    CUZK_TRY(cuzk_update_phi(&phi, p2, u->comm_d_new, u->comm_r_old));
    CUZK_TRY(cuzk_alloc((void **)&rho, (size_t)1 << u->h, sizeof *rho));
    CUZK_TRY_GOTO(cuzk_alloc((void **)&leaves, n, 32), out);
    for (uint64_t i = 0; i < (uint64_t)1 << u->h; i++)
        cuzk_update_rho(&rho[i], p2, &phi, i);
    struct encode_job j = {.u = u, .rho = rho, .out = leaves};
    cuzk_pool_run_ranges(m->pool, n, 64, 16, encode_range, &j);
    CUZK_TRY_GOTO((cuzk_status)atomic_load(&j.status), out);
    st = cuzk__tree_whole(&u->new, m, &u->c->tree, false, leaves, u->old.level[0].shift);
    leaves = NULL;
    if (st == CUZK_OK)
        st = cuzk__comm_r(u->comm_r_new, m->poseidon, u->comm_c, cuzk__tree_root(&u->new));
out:
    cuzk_free(leaves);
    cuzk_free(rho);
    return st;
}

/* ---- the old sector and the new data ---- */

static cuzk_status real_update(struct update *u, const cuzk_sector_spec *s,
                               const cuzk__tree_maker *m) {
    const cuzk_tree_shape d_shape = cuzk__tree_d_shape(u->c->log2_nodes);
    const cuzk_circuit *porep = cuzk_porep_circuit_of(u->c->log2_nodes);
    cuzk__sector sealed = {0};
    uint8_t *leaves = NULL;
    if (!porep) return CUZK_STATUS_BUG;
    const cuzk_status st =
        cuzk__sector_seal(&sealed, s, &porep->u.porep, s->seal, s->sector, false, m);
    if (st == CUZK_OK) {
        memcpy(u->comm_c, sealed.comm_c, 32);
        memcpy(u->comm_r_old, sealed.comm_r, 32);
        u->old = sealed.replica;
        memset(&sealed.replica, 0, sizeof sealed.replica);
    }
    cuzk__sector_free(&sealed);
    CUZK_TRY(st);
    CUZK_TRY(cuzk__data_nodes(&leaves, s, u->c->log2_nodes, s->sector, "update data", true));
    return cuzk__tree_whole(&u->d, m, &d_shape, true, leaves, 0);
}

/* A value for each run of nodes whose top h bits are equal. */
static cuzk_status runs(cuzk__tree *t, const struct update *u, const cuzk_sector_spec *s,
                        const cuzk__tree_maker *m, const cuzk_tree_shape *shape, bool sha,
                        const char *what) {
    uint8_t *leaves;
    CUZK_TRY(cuzk_alloc((void **)&leaves, (size_t)1 << u->h, 32));
    for (uint32_t i = 0; i < 1u << u->h; i++) {
        const cuzk_status st = cuzk__derive_31(leaves + 32 * (size_t)i, s, "%s %u", what, i);
        if (st != CUZK_OK) {
            cuzk_free(leaves);
            return st;
        }
    }
    return cuzk__tree_whole(t, m, shape, sha, leaves, u->c->log2_nodes - u->h);
}

static cuzk_status synthetic_update(struct update *u, const cuzk_sector_spec *s,
                                    const cuzk__tree_maker *m) {
    const cuzk_tree_shape d_shape = cuzk__tree_d_shape(u->c->log2_nodes);
    CUZK_TRY(cuzk__derive_31(u->comm_c, s, "update comm_c"));
    CUZK_TRY(runs(&u->old, u, s, m, &u->c->tree, false, "old replica"));
    CUZK_TRY(cuzk__comm_r(u->comm_r_old, m->poseidon, u->comm_c, cuzk__tree_root(&u->old)));
    return runs(&u->d, u, s, m, &d_shape, true, "new data");
}

/* ---- writing ---- */

/* PartitionProof. */
static cuzk_status put_partition(cuzk_buf *b, const struct update *u, const cuzk__tree_maker *m,
                                 uint32_t k, uint64_t *challenges) {
    const cuzk_update_circuit *c = u->c;
    const uint32_t apex_level = c->log2_nodes - c->log2_partitions - c->log2_apex;
    const uint64_t apex = (uint64_t)1 << c->log2_apex;
    CUZK_TRY(cuzk_update_challenges(challenges, c->challenges, m->poseidon->arity[2], u->comm_r_new,
                                    k, c->log2_nodes, c->log2_partitions));
    cuzk__put_hash(b, u->comm_c);
    cuzk__put_u64(b, apex);
    for (uint64_t i = 0; i < apex; i++)
        cuzk__put_hash(b, cuzk__tree_get(&u->d, apex_level, k * apex + i));
    cuzk__put_u64(b, c->challenges);
    for (uint32_t i = 0; i < c->challenges; i++) {
        cuzk__tree_open(&u->old, challenges[i], b);
        cuzk__tree_open(&u->d, challenges[i], b);
        cuzk__tree_open(&u->new, challenges[i], b);
    }
    return cuzk_buf_status(b);
}

static cuzk_status put_request(cuzk_buf *out, const cuzk_sector_spec *s, const struct update *u,
                               const cuzk__tree_maker *m) {
    uint64_t *challenges;
    cuzk_status st = CUZK_OK;
    CUZK_TRY(cuzk_alloc((void **)&challenges, u->c->challenges, sizeof *challenges));
    cuzk__request_begin(out, s, cuzk_proof_kind_name(CUZK_KIND_UPDATE), s->update->sector_size,
                        s->update->number);
    for (uint32_t k = 0; k < 1u << u->c->log2_partitions && st == CUZK_OK; k++) {
        cuzk_buf blob = CUZK_BUF_INIT;
        st = put_partition(&blob, u, m, k, challenges);
        cuzk__request_blob(out, &blob, k == 0);
        cuzk_buf_free(&blob);
    }
    cuzk_free(challenges);
    CUZK_TRY(st);
    cuzk__request_blobs_end(out);
    cuzk__request_number(out, "sector_number", s->sector);
    cuzk__request_number(out, "miner_id", s->miner);
    cuzk__request_value(out, "comm_r_old", u->comm_r_old);
    cuzk__request_value(out, "comm_r_new", u->comm_r_new);
    cuzk__request_value(out, "comm_d_new", u->comm_d_new);
    cuzk__request_end(out);
    return cuzk_buf_status(out);
}

cuzk_status cuzk__make_update(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                              cuzk_err *err) {
    struct update *u;
    cuzk_status st;
    (void)err;
    CUZK_TRY(cuzk_alloc((void **)&u, 1, sizeof *u));
    u->c = &s->circuit->u.update;
    u->h = chosen_h(u->c);
    CUZK_TRY_GOTO(s->synthetic ? synthetic_update(u, s, m) : real_update(u, s, m), out);
    memcpy(u->comm_d_new, cuzk__tree_root(&u->d), 32);
    CUZK_TRY_GOTO(encode(u, m), out);
    st = put_request(out, s, u, m);
out:
    cuzk__tree_free(&u->old);
    cuzk__tree_free(&u->d);
    cuzk__tree_free(&u->new);
    cuzk_free(u);
    return st;
}

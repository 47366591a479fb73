/* Requests for WindowPoSt and WinningPoSt. */
#include "base/mem.h"
#include "filecoin/request.h"
#include "filecoin/sector_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What a PoSt needs of a sector. */
struct sector {
    uint64_t number;
    uint8_t comm_c[32], comm_r[32];
    cuzk__tree replica;
};

static int by_value(const void *x, const void *y) {
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* A tree R that is empty but for the challenged leaves. */
static cuzk_status sparse_sector(struct sector *x, const cuzk_sector_spec *s,
                                 const cuzk__tree_maker *m, const uint64_t *challenges, size_t n) {
    const uint8_t zero[32] = {0};
    uint64_t *index = NULL;
    uint8_t *leaves = NULL;
    size_t k = 0;
    cuzk_status st;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&index, n, sizeof *index), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&leaves, n, 32), fail);
    memcpy(index, challenges, n * sizeof *index);
    qsort(index, n, sizeof *index, by_value);
    for (size_t i = 0; i < n; i++) {
        if (k > 0 && index[k - 1] == index[i]) continue;
        index[k] = index[i];
        CUZK_TRY_GOTO(cuzk__derive_31(leaves + 32 * k, s, "leaf %llu %llu",
                                      (unsigned long long)x->number, (unsigned long long)index[k]),
                      fail);
        k++;
    }
    CUZK_TRY(cuzk__tree_sparse(&x->replica, m, &s->circuit->u.post.tree, index, leaves, k, zero));
    CUZK_TRY(cuzk__derive_31(x->comm_c, s, "comm_c %llu", (unsigned long long)x->number));
    return cuzk__comm_r(x->comm_r, m->poseidon, x->comm_c, cuzk__tree_root(&x->replica));
fail:
    cuzk_free(index);
    cuzk_free(leaves);
    return st;
}

static cuzk_status real_sector(struct sector *x, const cuzk_sector_spec *s,
                               const cuzk__tree_maker *m) {
    cuzk__sector sealed = {0};
    const cuzk_circuit *porep = cuzk_porep_circuit_of(s->post->log2_nodes);
    if (!porep) return CUZK_STATUS_BUG;
    const cuzk_status st =
        cuzk__sector_seal(&sealed, s, &porep->u.porep, s->seal, x->number, false, m);
    if (st == CUZK_OK) {
        memcpy(x->comm_c, sealed.comm_c, 32);
        memcpy(x->comm_r, sealed.comm_r, 32);
        x->replica = sealed.replica;
        memset(&sealed.replica, 0, sizeof sealed.replica);
    }
    cuzk__sector_free(&sealed);
    return st;
}

/* FallbackPoStSectorProof. */
static void put_sector(cuzk_buf *b, const struct sector *x, const uint64_t *challenges, size_t n) {
    cuzk__put_u64(b, x->number);
    cuzk__put_hash(b, x->comm_r);
    cuzk__put_u64(b, 1);
    cuzk__put_u64(b, n);
    for (size_t i = 0; i < n; i++)
        cuzk__tree_open(&x->replica, challenges[i], b);
    cuzk__put_hash(b, x->comm_c);
    cuzk__put_hash(b, cuzk__tree_root(&x->replica));
}

static cuzk_status one_sector(cuzk_buf *blob, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                              uint32_t i, const uint8_t randomness[32]) {
    enum { MAX_CHALLENGES = 66 };
    const cuzk_post_type *t = s->post;
    uint64_t challenges[MAX_CHALLENGES];
    struct sector x = {.number = s->sector + i};
    /* the older rules count challenges on from sector to sector and from partition to partition */
    const uint64_t before = t->winning || t->version == CUZK_API_V1_2
                                ? 0
                                : ((uint64_t)s->partition * t->sectors + i) * t->challenges;
    for (uint32_t n = 0; n < t->challenges; n++)
        CUZK_TRY(
            cuzk_post_challenge(&challenges[n], randomness, x.number, before + n, t->log2_nodes));
    cuzk_status st =
        s->synthetic ? sparse_sector(&x, s, m, challenges, t->challenges) : real_sector(&x, s, m);
    if (st == CUZK_OK) {
        put_sector(blob, &x, challenges, t->challenges);
        st = cuzk_buf_status(blob);
    }
    cuzk__tree_free(&x.replica);
    return st;
}

struct job {
    const cuzk_sector_spec *s;
    cuzk__tree_maker m;
    const uint8_t *randomness;
    cuzk_buf *blobs;
    _Atomic int status;
};

static void make_sector(void *ctx, size_t i) {
    struct job *j = ctx;
    const cuzk_status st = one_sector(&j->blobs[i], j->s, &j->m, (uint32_t)i, j->randomness);
    if (st != CUZK_OK) atomic_store(&j->status, (int)st);
    if (j->s->synthetic && j->s->progress) cuzk_progress_add(j->s->progress, 1);
}

/* Synthetic sectors are many and small, real ones few and large. */
static cuzk_status make_sectors(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                                const uint8_t randomness[32]) {
    struct job j = {.s = s, .m = *m, .randomness = randomness};
    if (s->synthetic) j.m.pool = NULL;
    CUZK_TRY(cuzk_alloc((void **)&j.blobs, s->sectors, sizeof *j.blobs));
    cuzk_pool_run(s->synthetic ? m->pool : NULL, s->sectors, make_sector, &j);
    for (uint32_t i = 0; i < s->sectors; i++) {
        cuzk__request_blob(out, &j.blobs[i], i == 0);
        cuzk_buf_free(&j.blobs[i]);
    }
    cuzk_free(j.blobs);
    return (cuzk_status)atomic_load(&j.status);
}

cuzk_status cuzk__make_post(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                            cuzk_err *err) {
    uint8_t randomness[32];
    (void)err;
    if (s->randomness) {
        memcpy(randomness, s->randomness, 32);
    } else {
        CUZK_TRY(cuzk__derive(randomness, s, "post randomness"));
        randomness[31] &= 0x3f;
    }
    cuzk__request_begin(
        out, s, cuzk_proof_kind_name(s->post->winning ? CUZK_KIND_WINNING : CUZK_KIND_WINDOW),
        s->post->sector_size, s->post->number);
    CUZK_TRY(make_sectors(out, s, m, randomness));
    cuzk__request_blobs_end(out);
    cuzk__request_number(out, "miner_id", s->miner);
    cuzk__request_value(out, "randomness", randomness);
    cuzk__request_number(out, "partition_index", s->partition);
    cuzk__request_end(out);
    return cuzk_buf_status(out);
}

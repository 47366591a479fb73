/* DESIGN. The JSON of a C1 is translated into its bincode form while it is read. The sector size
 * (from registered_proof, or from the key of vanilla_proofs) fixes the length of every part, so
 * each value has its place before it is read, members may come in any order, and nothing is kept
 * but the result. */
#include "filecoin/c1.h"

#include "base/json_pull.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
    cuzk_pull *j;
    cuzk_c1 *c;
    cuzk__c1_layout l;
    uint8_t *out;
    uint32_t room; /* partitions that fit into out */
    uint8_t tail[5 * 32];
} reader;

/* A value being read: where it goes and what it must be like. */
typedef struct place {
    reader *r;
    uint8_t *dst;
    const cuzk_tree_shape *tree;
    uint32_t arity, levels;
} place;

/* ---- paths and Merkle proofs ---- */

static cuzk_status wrong_count(reader *r, uint64_t want, const char *what) {
    char text[64];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)want, what);
    return cuzk_pull_fail(r->j, text, "another number of them");
}

/* An array of n values of `bytes` bytes each at dst. */
static cuzk_status read_array(reader *r, uint8_t *dst, uint64_t n, size_t bytes, const char *what,
                              cuzk_status (*one)(place *p), place p) {
    bool more;
    CUZK_TRY(cuzk_pull_array(r->j));
    for (uint64_t i = 0;; i++) {
        CUZK_TRY(cuzk_pull_item(r->j, &more));
        if (more != (i < n)) return wrong_count(r, n, what);
        if (!more) return CUZK_OK;
        p.dst = dst + i * bytes;
        CUZK_TRY(one(&p));
    }
}

static cuzk_status read_hash(place *p) {
    return cuzk_pull_bytes32(p->r->j, p->dst);
}

static cuzk_status node_field(void *ctx, unsigned i) {
    place *p = ctx;
    uint64_t index;
    const uint32_t n = p->arity - 1;
    if (i == 0) {
        cuzk_st_u64le(p->dst, n);
        return read_array(p->r, p->dst + 8, n, 32, "hashes", read_hash, *p);
    }
    CUZK_TRY(cuzk_pull_u64(p->r->j, n, &index));
    cuzk_st_u64le(p->dst + 8 + 32 * (size_t)n, index);
    return CUZK_OK;
}

static cuzk_status read_node(place *p) {
    static const char *const names[] = {"hashes", "index"};
    return cuzk_pull_fields(p->r->j, names, 2, 0, false, node_field, p);
}

static cuzk_status path_field(void *ctx, unsigned i) {
    place *p = ctx;
    (void)i;
    cuzk_st_u64le(p->dst, p->levels);
    return read_array(p->r, p->dst + 8, p->levels, 8 + 32 * (size_t)(p->arity - 1) + 8,
                      "levels of the path", read_node, *p);
}

static cuzk_status read_path(reader *r, uint8_t *dst, uint32_t arity, uint32_t levels) {
    static const char *const names[] = {"path"};
    place p = {.r = r, .dst = dst, .arity = arity, .levels = levels};
    return cuzk_pull_fields(r->j, names, 1, 0, false, path_field, &p);
}

/* root and leaf stand in front of the path of a Single proof, behind the paths of the others. */
static cuzk_status kind_field(void *ctx, unsigned i) {
    const place *p = ctx;
    const cuzk_tree_shape *t = p->tree;
    uint8_t *const base = p->dst + 4;
    if (!t->sub) {
        if (i < 2) return cuzk_pull_bytes32(p->r->j, base + 32 * (size_t)i);
        return read_path(p->r, base + 64, t->base_arity, t->base);
    }
    uint8_t *const sub = base + cuzk__bin_path_bytes(t->base_arity, t->base);
    uint8_t *const top = sub + cuzk__bin_path_bytes(t->sub, 1);
    uint8_t *const roots = top + (t->top ? cuzk__bin_path_bytes(t->top, 1) : 0);
    if (i < 2) return cuzk_pull_bytes32(p->r->j, roots + 32 * (size_t)i);
    if (i == 2) return read_path(p->r, base, t->base_arity, t->base);
    return i == 3 ? read_path(p->r, sub, t->sub, 1) : read_path(p->r, top, t->top, 1);
}

static cuzk_status proof_kind(void *ctx, unsigned i) {
    static const char *const single[] = {"root", "leaf", "path"};
    static const char *const more[] = {"root", "leaf", "base_proof", "sub_proof", "top_proof"};
    place *p = ctx;
    (void)i;
    const uint32_t tag = cuzk__tree_tag(p->tree);
    cuzk_st_u32le(p->dst, tag);
    return cuzk_pull_fields(p->r->j, tag ? more : single, 3 + tag, 0, false, kind_field, p);
}

static cuzk_status proof_data(void *ctx, unsigned i) {
    static const char *const kinds[] = {"Single", "Sub", "Top"};
    place *p = ctx;
    (void)i;
    return cuzk_pull_fields(p->r->j, &kinds[cuzk__tree_tag(p->tree)], 1, 0, false, proof_kind, p);
}

static cuzk_status read_proof(reader *r, uint8_t *dst, const cuzk_tree_shape *t) {
    static const char *const names[] = {"data"};
    place p = {.r = r, .dst = dst, .tree = t};
    return cuzk_pull_fields(r->j, names, 1, 0, false, proof_data, &p);
}

/* ---- one challenge ---- */

static cuzk_status column_field(void *ctx, unsigned i) {
    place *p = ctx;
    const uint32_t layers = p->r->l.c->layers;
    uint64_t index;
    switch (i) {
    case 0:
        CUZK_TRY(cuzk_pull_u64(p->r->j, UINT32_MAX, &index));
        cuzk_st_u32le(p->dst, (uint32_t)index);
        return CUZK_OK;
    case 1:
        cuzk_st_u64le(p->dst + 4, layers);
        return read_array(p->r, p->dst + 12, layers, 32, "rows", read_hash, *p);
    default:
        return cuzk_pull_null(p->r->j);
    }
}

static cuzk_status column_proof_field(void *ctx, unsigned i) {
    static const char *const names[] = {"index", "rows", "_h"};
    place *p = ctx;
    const size_t proof = p->r->l.column - p->r->l.proof_t;
    if (i == 0) return cuzk_pull_fields(p->r->j, names, 3, 4, false, column_field, p);
    return read_proof(p->r, p->dst + proof, &p->r->l.c->tree);
}

static cuzk_status read_column(place *p) {
    static const char *const names[] = {"column", "inclusion_proof"};
    return cuzk_pull_fields(p->r->j, names, 2, 0, false, column_proof_field, p);
}

/* dst: of the whole challenge. */
static cuzk_status columns_field(void *ctx, unsigned i) {
    place *p = ctx;
    const cuzk__c1_layout *l = &p->r->l;
    place one = *p;
    if (i == 0) {
        one.dst = p->dst + l->own;
        return read_column(&one);
    }
    uint8_t *const at = p->dst + (i == 1 ? l->drg : l->exp);
    const uint32_t n = i == 1 ? CUZK_POREP_DRG_PARENTS : CUZK_POREP_EXP_PARENTS;
    cuzk_st_u64le(at, n);
    return read_array(p->r, at + 8, n, l->column, "parents", read_column, one);
}

static cuzk_status label_field(void *ctx, unsigned i) {
    place *p = ctx;
    uint64_t v;
    uint8_t *const after = p->dst + 8 + (size_t)32 * CUZK_C1_LABEL_PARENTS;
    if (i == 0) {
        cuzk_st_u64le(p->dst, CUZK_C1_LABEL_PARENTS);
        return read_array(p->r, p->dst + 8, CUZK_C1_LABEL_PARENTS, 32, "parents", read_hash, *p);
    }
    CUZK_TRY(cuzk_pull_u64(p->r->j, i == 1 ? UINT32_MAX : UINT64_MAX, &v));
    if (i == 1)
        cuzk_st_u32le(after, (uint32_t)v);
    else
        cuzk_st_u64le(after + 4, v);
    return CUZK_OK;
}

static cuzk_status read_label(place *p) {
    static const char *const names[] = {"parents", "layer_index", "node"};
    return cuzk_pull_fields(p->r->j, names, 3, 0, false, label_field, p);
}

static cuzk_status challenge_field(void *ctx, unsigned i) {
    static const char *const columns[] = {"c_x", "drg_parents", "exp_parents"};
    place *p = ctx;
    reader *r = p->r;
    place one = *p;
    switch (i) {
    case 0:
        return read_proof(r, p->dst, &r->l.d);
    case 1:
        return read_proof(r, p->dst + r->l.replica, &r->l.c->tree);
    case 2:
        return cuzk_pull_fields(r->j, columns, 3, 0, false, columns_field, p);
    case 3:
        cuzk_st_u64le(p->dst + r->l.labels, r->l.c->layers);
        return read_array(r, p->dst + r->l.labels + 8, r->l.c->layers, r->l.label, "layers",
                          read_label, one);
    default:
        one.dst = p->dst + r->l.encoding;
        return read_label(&one);
    }
}

static cuzk_status read_challenge(place *p) {
    static const char *const names[] = {"comm_d_proofs", "comm_r_last_proof",
                                        "replica_column_proofs", "labeling_proofs",
                                        "encoding_proof"};
    return cuzk_pull_fields(p->r->j, names, 5, 0, false, challenge_field, p);
}

/* ---- the document ---- */

static cuzk_status make_room(reader *r, uint32_t partitions) {
    const cuzk_status st = cuzk_realloc((void **)&r->out, cuzk__c1_bytes(&r->l, partitions), 1);
    if (st != CUZK_OK)
        return cuzk_err_set(r->j->err, st, "%s: not enough memory for %u partitions", r->c->name,
                            partitions);
    r->room = partitions;
    return CUZK_OK;
}

static cuzk_status read_partitions(reader *r, const cuzk_seal_type *first) {
    bool more;
    const size_t bytes = 8 + r->l.c->challenges * r->l.proof;
    const uint32_t most = cuzk_seal_type_at(first->number + 15)->partitions; /* non-interactive */
    CUZK_TRY(make_room(r, r->c->type ? r->c->type->partitions : first->partitions));
    CUZK_TRY(cuzk_pull_array(r->j));
    for (uint32_t p = 0;; p++) {
        CUZK_TRY(cuzk_pull_item(r->j, &more));
        if (!more) {
            r->c->partitions = p;
            return p == r->room ? CUZK_OK : wrong_count(r, r->room, "partitions");
        }
        if (p == r->room) {
            if (r->c->type || p == most) return wrong_count(r, r->room, "partitions");
            CUZK_TRY(make_room(r, most));
        }
        uint8_t *const at = r->out + 8 + p * bytes;
        const place one = {.r = r};
        cuzk_st_u64le(at, r->l.c->challenges);
        CUZK_TRY(read_array(r, at + 8, r->l.c->challenges, r->l.proof, "challenges", read_challenge,
                            one));
    }
}

static cuzk_status read_vanilla(reader *r) {
    const char *key;
    const cuzk_seal_type *type;
    CUZK_TRY(cuzk_pull_object(r->j));
    CUZK_TRY(cuzk_pull_key(r->j, &key));
    type = key ? cuzk_seal_type_by_tag(key, strlen(key)) : NULL;
    if (!type || (r->c->type && strcmp(r->c->type->tag, type->tag) != 0))
        return cuzk_pull_fail(
            r->j, r->c->type ? r->c->type->tag : "a sector size, such as StackedDrg32GiBV1",
            key ? "another name" : "nothing");
    r->c->circuit = cuzk_circuit_find(type->circuit);
    if (!r->c->circuit) return cuzk_pull_fail(r->j, "a sector size with a circuit", "another");
    cuzk__c1_layout_of(&r->l, &r->c->circuit->u.porep);
    CUZK_TRY(read_partitions(r, type));
    CUZK_TRY(cuzk_pull_key(r->j, &key));
    return key ? cuzk_pull_fail(r->j, "one sector size", "a second") : CUZK_OK;
}

static cuzk_status read_type(reader *r) {
    char name[64];
    CUZK_TRY(cuzk_pull_string(r->j, name, sizeof name));
    r->c->type = cuzk_seal_type_find(name, strlen(name));
    if (!r->c->type)
        return cuzk_pull_fail(r->j, "a registered proof that is known, such as StackedDrg32GiBV1_1",
                              name);
    if (!r->c->circuit) return CUZK_OK;
    if (strcmp(r->c->type->circuit, r->c->circuit->name) != 0)
        return cuzk_pull_fail(r->j, "the sector size of vanilla_proofs", name);
    if (r->c->type->partitions != r->c->partitions)
        return cuzk_pull_fail(r->j, "a type with as many partitions as vanilla_proofs", name);
    return CUZK_OK;
}

static const char *const c1_names[] = {"registered_proof", "vanilla_proofs", "comm_r", "comm_d",
                                       "replica_id",       "seed",           "ticket"};

static cuzk_status c1_field(void *ctx, unsigned i) {
    reader *r = ctx;
    if (i == 0) return read_type(r);
    if (i == 1) return read_vanilla(r);
    return cuzk_pull_bytes32(r->j, r->tail + 32 * (size_t)(i - 2));
}

static cuzk_status read_c1(cuzk_c1 *c, cuzk_pull *j) {
    reader r = {.j = j, .c = c};
    cuzk_status st = cuzk_pull_fields(j, c1_names, 7, 0, false, c1_field, &r);
    if (st == CUZK_OK) st = cuzk_pull_end(j);
    if (st != CUZK_OK) {
        cuzk_free(r.out);
        return st;
    }
    c->owned = r.out;
    c->data = r.out;
    c->len = cuzk__c1_bytes(&r.l, c->partitions);
    c->proof_bytes = r.l.proof;
    cuzk_st_u64le(r.out, c->partitions);
    memcpy(r.out + c->len - sizeof r.tail, r.tail, sizeof r.tail);
    return CUZK_OK;
}

/* ---- the wrapper ---- */

typedef struct wrapper {
    cuzk_pull *j;
    cuzk_c1 *c;
    uint64_t size; /* 0: not given */
} wrapper;

static const char *const wrapper_names[] = {"SectorNum", "SectorSize", "Phase1Out"};

static cuzk_status wrapper_field(void *ctx, unsigned i) {
    wrapper *w = ctx;
    cuzk_pull inner;
    const uint8_t *text;
    size_t n;
    uint64_t off;
    if (i == 0) {
        w->c->has_sector = true;
        return cuzk_pull_u64(w->j, UINT64_MAX, &w->c->sector);
    }
    if (i == 1) {
        CUZK_TRY(cuzk_pull_u64(w->j, UINT64_MAX, &w->size));
        return w->size ? CUZK_OK : cuzk_pull_fail(w->j, "the size of Phase1Out", "0");
    }
    CUZK_TRY(cuzk_pull_raw_string(w->j, &text, &n, &off));
    cuzk_status st = cuzk_pull_init_base64(&inner, text, n, off, w->c->name, w->j->err);
    if (st == CUZK_OK) st = read_c1(w->c, &inner);
    cuzk_pull_fini(&inner);
    return st;
}

static cuzk_status read_wrapper(cuzk_c1 *c, cuzk_pull *j) {
    wrapper w = {j, c, 0};
    CUZK_TRY(cuzk_pull_fields(j, wrapper_names, 3, 2, true, wrapper_field, &w));
    CUZK_TRY(cuzk_pull_end(j));
    const uint64_t size = (uint64_t)32 << c->circuit->u.porep.log2_nodes;
    if (w.size && w.size != size)
        return cuzk_err_set(j->err, CUZK_STATUS_BAD_INPUT,
                            "%s: SectorSize: expected %llu, the size of Phase1Out, actual %llu",
                            c->name, (unsigned long long)size, (unsigned long long)w.size);
    return CUZK_OK;
}

static bool among(const char *key, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(key, names[i]) == 0) return true;
    return false;
}

/* Whether there is no wrapper: the first member that is known tells. */
static cuzk_status is_bare(bool *out, cuzk_pull *j) {
    const char *key = NULL;
    CUZK_TRY(cuzk_pull_object(j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(j, &key));
        if (!key)
            return cuzk_pull_fail(
                j,
                "the fields of a C1 (`vanilla_proofs` and others), of its wrapper "
                "(`Phase1Out`) or of a request (SubmitProofRequest)",
                "an object without any");
        *out = among(key, c1_names, 7);
        if (*out || among(key, wrapper_names, 3)) return CUZK_OK;
        CUZK_TRY(cuzk_pull_skip(j));
    }
}

cuzk_status cuzk__c1_from_json(cuzk_c1 *c, const uint8_t *data, size_t len, cuzk_err *err) {
    cuzk_pull j;
    bool bare;
    cuzk_pull_init(&j, data, len, c->name, err);
    CUZK_TRY(is_bare(&bare, &j));
    cuzk_pull_init(&j, data, len, c->name, err);
    CUZK_TRY(bare ? read_c1(c, &j) : read_wrapper(c, &j));
    return cuzk__c1_commitments(c, err);
}

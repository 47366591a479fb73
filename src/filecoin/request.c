#include "filecoin/request.h"

#include "base/file.h"
#include "base/json_pull.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The largest vanilla proof, a 32 GiB C1 in its wrapper, is 51 MB. */
enum { MAX_BLOB = 256 << 20, MAX_SECTORS = 1 << 16 };

static const char *const field_names[CUZK_REQ_FIELDS] = {
    [CUZK_REQ_REQUEST_ID] = "request_id",
    [CUZK_REQ_PROOF_KIND] = "proof_kind",
    [CUZK_REQ_SECTOR_SIZE] = "sector_size",
    [CUZK_REQ_REGISTERED_PROOF] = "registered_proof",
    [CUZK_REQ_PRIORITY] = "priority",
    [CUZK_REQ_VANILLA_PROOF] = "vanilla_proof",
    [CUZK_REQ_VANILLA_PROOFS] = "vanilla_proofs",
    [CUZK_REQ_SECTOR_NUMBER] = "sector_number",
    [CUZK_REQ_MINER_ID] = "miner_id",
    [CUZK_REQ_RANDOMNESS] = "randomness",
    [CUZK_REQ_PARTITION_INDEX] = "partition_index",
    [CUZK_REQ_COMM_R_OLD] = "comm_r_old",
    [CUZK_REQ_COMM_R_NEW] = "comm_r_new",
    [CUZK_REQ_COMM_D_NEW] = "comm_d_new",
    [CUZK_REQ_COMM_R] = "comm_r",
    [CUZK_REQ_COMM_D] = "comm_d",
    [CUZK_REQ_REPLICA_ID] = "replica_id",
    [CUZK_REQ_SEED] = "seed",
    [CUZK_REQ_TICKET] = "ticket",
    [CUZK_REQ_POREP_ID] = "porep_id",
    [CUZK_REQ_SECTORS] = "sectors",
};

enum {
    IN_POREP = 1 << CUZK_KIND_POREP,
    IN_UPDATE = 1 << CUZK_KIND_UPDATE,
    IN_WINDOW = 1 << CUZK_KIND_WINDOW,
    IN_POST = IN_WINDOW | 1 << CUZK_KIND_WINNING,
    IN_ALL = IN_POREP | IN_UPDATE | IN_POST
};

/* Which kinds have a field. */
static const uint8_t field_kinds[CUZK_REQ_FIELDS] = {
    [CUZK_REQ_REQUEST_ID] = IN_ALL,
    [CUZK_REQ_PROOF_KIND] = IN_ALL,
    [CUZK_REQ_SECTOR_SIZE] = IN_ALL,
    [CUZK_REQ_REGISTERED_PROOF] = IN_ALL,
    [CUZK_REQ_PRIORITY] = IN_ALL,
    [CUZK_REQ_VANILLA_PROOF] = IN_POREP,
    [CUZK_REQ_VANILLA_PROOFS] = IN_POST | IN_UPDATE,
    [CUZK_REQ_SECTOR_NUMBER] = IN_ALL,
    [CUZK_REQ_MINER_ID] = IN_ALL,
    [CUZK_REQ_RANDOMNESS] = IN_POST,
    [CUZK_REQ_PARTITION_INDEX] = IN_WINDOW,
    [CUZK_REQ_COMM_R_OLD] = IN_UPDATE,
    [CUZK_REQ_COMM_R_NEW] = IN_UPDATE,
    [CUZK_REQ_COMM_D_NEW] = IN_UPDATE,
    [CUZK_REQ_COMM_R] = IN_POREP,
    [CUZK_REQ_COMM_D] = IN_POREP,
    [CUZK_REQ_REPLICA_ID] = IN_POREP,
    [CUZK_REQ_SEED] = IN_POREP,
    [CUZK_REQ_TICKET] = IN_POREP,
    [CUZK_REQ_POREP_ID] = IN_POREP,
    [CUZK_REQ_SECTORS] = IN_POST,
};

static const char *const kind_names[] = {"UNSPECIFIED", "POREP_SEAL_COMMIT", "SNAP_DEALS_UPDATE",
                                         "WINDOW_POST_PARTITION", "WINNING_POST"};
enum { KINDS = 5 };

const char *cuzk_proof_kind_name(cuzk_proof_kind k) {
    return kind_names[k];
}

typedef struct reader {
    cuzk_pull *j;
    cuzk_request *r;
    uint32_t keys; /* fields read, those that say nothing included */
} reader;

/* A number, or its decimal digits as a string (what protobuf makes of 64 bits). */
static cuzk_status read_u64(cuzk_pull *j, uint64_t max, uint64_t *out) {
    char text[24];
    if (cuzk_pull_peek(j) != '"') return cuzk_pull_u64(j, max, out);
    CUZK_TRY(cuzk_pull_string(j, text, sizeof text));
    uint64_t v = 0;
    bool good = text[0] != '\0';
    for (const char *p = text; *p && good; p++)
        good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(v, 10, &v) &&
               !__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    *out = v;
    return good && v <= max ? CUZK_OK : cuzk_pull_fail(j, "a whole number in range", text);
}

static bool hex32(const char *text, uint8_t out[32]) {
    for (int i = 0; i < 64; i++) {
        const char c = text[i];
        const int v = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
        if (v < 0) return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | v : v << 4);
    }
    return true;
}

/* 32 bytes as base64 (44 characters) or hexadecimal (64). */
static cuzk_status read_32(cuzk_pull *j, uint8_t out[32]) {
    const uint8_t *text;
    uint8_t *bytes;
    size_t n, len;
    uint64_t off;
    cuzk_pull back = *j;
    CUZK_TRY(cuzk_pull_raw_string(j, &text, &len, &off));
    if (len == 64)
        return hex32((const char *)text, out)
                   ? CUZK_OK
                   : cuzk_pull_fail(j, "64 hexadecimal digits", "others");
    *j = back;
    CUZK_TRY(cuzk_pull_base64(j, 32, &bytes, &n));
    if (n == 32) memcpy(out, bytes, 32);
    cuzk_free(bytes);
    return n == 32 ? CUZK_OK : cuzk_pull_fail(j, "32 bytes", "fewer");
}

static cuzk_status read_kind(reader *x) {
    static const char prefix[] = "PROOF_KIND_";
    char text[48];
    uint64_t n = 0;
    if (cuzk_pull_peek(x->j) != '"') {
        CUZK_TRY(cuzk_pull_u64(x->j, KINDS - 1, &n));
        x->r->kind = (cuzk_proof_kind)n;
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_pull_string(x->j, text, sizeof text));
    const char *name = text;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
    while (n < KINDS && strcmp(kind_names[n], name) != 0)
        n++;
    if (n == KINDS)
        return cuzk_pull_fail(x->j,
                              "POREP_SEAL_COMMIT, SNAP_DEALS_UPDATE, WINDOW_POST_PARTITION or "
                              "WINNING_POST",
                              text);
    x->r->kind = (cuzk_proof_kind)n;
    return CUZK_OK;
}

static cuzk_status read_registered(reader *x) {
    cuzk_pull *j = x->j;
    if (cuzk_pull_peek(j) != '"') return cuzk_pull_u64(j, UINT64_MAX, &x->r->registered_proof);
    CUZK_TRY(cuzk_pull_string(j, x->r->registered_name, sizeof x->r->registered_name));
    if (!x->r->registered_name[0])
        return cuzk_pull_fail(j, "the number or name of a registered proof", "none that is known");
    if (x->r->registered_name[0] < '0' || x->r->registered_name[0] > '9') return CUZK_OK;
    uint64_t v = 0; /* a number in quotes */
    for (const char *p = x->r->registered_name; *p; p++) {
        if (*p < '0' || *p > '9' || v > 1000)
            return cuzk_pull_fail(j, "the number or name of a registered proof",
                                  x->r->registered_name);
        v = v * 10 + (uint64_t)(*p - '0');
    }
    x->r->registered_name[0] = '\0';
    x->r->registered_proof = v;
    return CUZK_OK;
}

static cuzk_status no_memory(reader *x) {
    return cuzk_err_set(x->j->err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory to read it",
                        x->r->name);
}

static cuzk_status read_vanilla(reader *x) {
    bool more;
    size_t room = 0;
    cuzk_request *r = x->r;
    CUZK_TRY(cuzk_pull_array(x->j));
    for (;;) {
        CUZK_TRY(cuzk_pull_item(x->j, &more));
        if (!more) return CUZK_OK;
        if (r->n_vanilla == MAX_SECTORS) return cuzk_pull_fail(x->j, "fewer proofs", "more");
        if (r->n_vanilla == room) {
            room = room ? 2 * room : 16;
            if (cuzk_realloc((void **)&r->vanilla_proofs, room, sizeof *r->vanilla_proofs) !=
                CUZK_OK)
                return no_memory(x);
        }
        cuzk_blob *b = &r->vanilla_proofs[r->n_vanilla];
        CUZK_TRY(cuzk_pull_base64(x->j, MAX_BLOB, &b->data, &b->len));
        r->n_vanilla++;
    }
}

static cuzk_status sector_field(void *ctx, unsigned i) {
    reader *x = ctx;
    cuzk_request_sector *s = &x->r->sectors[x->r->n_sectors];
    return i == 0 ? read_u64(x->j, UINT64_MAX, &s->number) : read_32(x->j, s->comm_r);
}

static cuzk_status read_sectors(reader *x) {
    static const char *const names[] = {"sector_number", "comm_r"};
    bool more;
    size_t room = 0;
    cuzk_request *r = x->r;
    CUZK_TRY(cuzk_pull_array(x->j));
    for (;;) {
        CUZK_TRY(cuzk_pull_item(x->j, &more));
        if (!more) return CUZK_OK;
        if (r->n_sectors == MAX_SECTORS) return cuzk_pull_fail(x->j, "fewer sectors", "more");
        if (r->n_sectors == room) {
            room = room ? 2 * room : 16;
            if (cuzk_realloc((void **)&r->sectors, room, sizeof *r->sectors) != CUZK_OK)
                return no_memory(x);
        }
        CUZK_TRY(cuzk_pull_fields(x->j, names, 2, 0, false, sector_field, x));
        r->n_sectors++;
    }
}

/* Whether a field that was read has protobuf's default, which for these is one that is not set. */
static bool says_nothing(const cuzk_request *r, unsigned i) {
    switch ((cuzk_request_field)i) {
    case CUZK_REQ_SECTOR_SIZE:
        return r->sector_size == 0;
    case CUZK_REQ_VANILLA_PROOF:
        return r->vanilla_proof.len == 0;
    case CUZK_REQ_VANILLA_PROOFS:
        return r->n_vanilla == 0;
    case CUZK_REQ_PROOF_KIND:
        return r->kind == CUZK_KIND_UNSPECIFIED;
    default:
        return false;
    }
}

static cuzk_status read_field(reader *x, unsigned i) {
    cuzk_request *r = x->r;
    switch ((cuzk_request_field)i) {
    case CUZK_REQ_REQUEST_ID:
        return cuzk_pull_string(x->j, r->request_id, sizeof r->request_id);
    case CUZK_REQ_PROOF_KIND:
        return read_kind(x);
    case CUZK_REQ_SECTOR_SIZE:
        return read_u64(x->j, UINT64_MAX, &r->sector_size);
    case CUZK_REQ_REGISTERED_PROOF:
        return read_registered(x);
    case CUZK_REQ_PRIORITY: /* the daemon's matter */
        return cuzk_pull_skip(x->j);
    case CUZK_REQ_VANILLA_PROOF:
        return cuzk_pull_base64(x->j, MAX_BLOB, &r->vanilla_proof.data, &r->vanilla_proof.len);
    case CUZK_REQ_VANILLA_PROOFS:
        return read_vanilla(x);
    case CUZK_REQ_SECTOR_NUMBER:
        return read_u64(x->j, UINT64_MAX, &r->sector_number);
    case CUZK_REQ_MINER_ID:
        return read_u64(x->j, UINT64_MAX, &r->miner_id);
    case CUZK_REQ_PARTITION_INDEX:
        return read_u64(x->j, UINT32_MAX, &r->partition_index);
    case CUZK_REQ_SECTORS:
        return read_sectors(x);
    default:
        if (cuzk_pull_peek(x->j) == '"' && x->j->end - x->j->p > 1 && x->j->p[1] == '"') {
            r->seen &= ~((uint32_t)1 << i); /* an empty one is one that is not set */
            return cuzk_pull_skip(x->j);
        }
        return read_32(x->j, r->value[i]);
    }
}

/* "sectorSize" to "sector_size". */
static void snake(const char *key, char out[CUZK_PULL_KEY]) {
    size_t n = 0;
    for (; *key && n + 2 < CUZK_PULL_KEY; key++) {
        if (*key >= 'A' && *key <= 'Z') {
            out[n++] = '_';
            out[n++] = (char)(*key - 'A' + 'a');
        } else {
            out[n++] = *key;
        }
    }
    out[n] = '\0';
}

cuzk_request_field cuzk_request_field_of(const char *key) {
    unsigned i = 0;
    char name[CUZK_PULL_KEY];
    snake(key, name);
    while (i < CUZK_REQ_FIELDS && strcmp(field_names[i], name) != 0)
        i++;
    return (cuzk_request_field)i;
}

static cuzk_status read_request(reader *x) {
    const char *key;
    CUZK_TRY(cuzk_pull_object(x->j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(x->j, &key));
        if (!key) break;
        const unsigned i = cuzk_request_field_of(key);
        if (i == CUZK_REQ_FIELDS)
            return cuzk_pull_fail(x->j, "a field of SubmitProofRequest", "an unknown one");
        if (x->keys >> i & 1) return cuzk_pull_fail(x->j, "each field once", "a second one");
        x->keys |= (uint32_t)1 << i;
        x->r->seen |= (uint32_t)1 << i;
        CUZK_TRY(read_field(x, i));
        if (says_nothing(x->r, i)) x->r->seen &= ~((uint32_t)1 << i);
    }
    return cuzk_pull_end(x->j);
}

cuzk_status cuzk_request_from_memory(cuzk_request **out, const uint8_t *data, size_t n,
                                     const char *name, cuzk_err *err) {
    cuzk_pull j;
    *out = NULL;
    cuzk_request *r;
    if (cuzk_alloc((void **)&r, 1, sizeof *r) != CUZK_OK ||
        cuzk_strdup(&r->name, name) != CUZK_OK) {
        cuzk_request_free(r);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory to read it", name);
    }
    cuzk_pull_init(&j, data, n, r->name, err);
    reader x = {&j, r, 0};
    const cuzk_status st = read_request(&x);
    if (st == CUZK_OK)
        *out = r;
    else
        cuzk_request_free(r);
    return st;
}

cuzk_status cuzk_request_open(cuzk_request **out, const char *path, cuzk_err *err) {
    cuzk_map map;
    *out = NULL;
    CUZK_TRY(cuzk_map_file(&map, path, err));
    const cuzk_status st = cuzk_request_from_memory(out, map.data, map.len, path, err);
    cuzk_map_close(&map);
    return st;
}

cuzk_status cuzk_request_attach(cuzk_request *r, cuzk_proof_kind kind, const cuzk_blob *proofs,
                                size_t n, cuzk_err *err) {
    const bool one = kind == CUZK_KIND_POREP;
    const cuzk_request_field field = one ? CUZK_REQ_VANILLA_PROOF : CUZK_REQ_VANILLA_PROOFS;
    if (cuzk_request_has(r, CUZK_REQ_VANILLA_PROOF) || cuzk_request_has(r, CUZK_REQ_VANILLA_PROOFS))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: %s: expected the proofs apart from the other fields, actual among "
                            "them",
                            r->name, field_names[field]);
    if (n == 0 || n > (one ? 1 : MAX_SECTORS))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %s: expected %s, actual %zu", r->name,
                            field_names[field], one ? "one vanilla proof" : "1 to 65536 of them",
                            n);
    cuzk_free(r->vanilla_proof.data); /* an empty one says nothing, but is there */
    r->vanilla_proof = (cuzk_blob){NULL, 0};
    r->attached = true;
    r->seen |= (uint32_t)1 << field;
    if (one) {
        r->vanilla_proof = proofs[0];
        return CUZK_OK;
    }
    if (cuzk_realloc((void **)&r->vanilla_proofs, n, sizeof *r->vanilla_proofs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", r->name);
    memcpy(r->vanilla_proofs, proofs, n * sizeof *proofs);
    r->n_vanilla = n;
    return CUZK_OK;
}

void cuzk_request_free(cuzk_request *r) {
    if (!r) return;
    for (size_t i = 0; i < r->n_vanilla && !r->attached; i++)
        cuzk_free(r->vanilla_proofs[i].data);
    cuzk_free(r->vanilla_proofs);
    if (!r->attached) cuzk_free(r->vanilla_proof.data);
    cuzk_free(r->sectors);
    cuzk_free(r->name);
    cuzk_free(r);
}

cuzk_status cuzk_request_need(const cuzk_request *r, cuzk_request_field f, const uint8_t **out,
                              cuzk_err *err) {
    *out = r->value[f];
    if (cuzk_request_has(r, f)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: expected a field `%s` (32 bytes, base64), actual a request without it",
                        r->name, field_names[f]);
}

cuzk_status cuzk_request_fits(const cuzk_request *r, cuzk_proof_kind kind, cuzk_err *err) {
    if (r->kind != CUZK_KIND_UNSPECIFIED && r->kind != kind)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: proof_kind: expected %s, actual %s",
                            r->name, kind_names[kind], kind_names[r->kind]);
    for (unsigned i = 0; i < CUZK_REQ_FIELDS; i++) {
        if (!cuzk_request_has(r, (cuzk_request_field)i) || field_kinds[i] >> kind & 1) continue;
        if (i == CUZK_REQ_PARTITION_INDEX && r->partition_index == 0) continue;
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: %s: expected fields of %s only, actual one of another kind of "
                            "proof",
                            r->name, field_names[i], kind_names[kind]);
    }
    return CUZK_OK;
}

void cuzk__hex32(char out[65], const uint8_t bytes[32]) {
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

cuzk_status cuzk_request_agrees(const cuzk_request *r, cuzk_request_field f, const uint8_t have[32],
                                cuzk_err *err) {
    char want[65], got[65];
    if (!cuzk_request_has(r, f) || memcmp(r->value[f], have, 32) == 0) return CUZK_OK;
    cuzk__hex32(want, have);
    cuzk__hex32(got, r->value[f]);
    return cuzk_err_set(err, CUZK_STATUS_FALSE,
                        "%s: %s: expected %s of the vanilla proof, actual %s", r->name,
                        field_names[f], want, got);
}

cuzk_status cuzk_request_sized(const cuzk_request *r, uint64_t bytes, const char *what,
                               cuzk_err *err) {
    if (!cuzk_request_has(r, CUZK_REQ_SECTOR_SIZE) || r->sector_size == bytes) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: sector_size: expected %" PRIu64 " of %s, actual %" PRIu64, r->name,
                        bytes, what, r->sector_size);
}

#include "filecoin/c1.h"

#include "base/json_pull.h"
#include "base/mem.h"
#include "filecoin/fr.h"

#include <inttypes.h>
#include <string.h>

static bool is_json(const uint8_t *p, size_t n) {
    size_t i = 0;
    while (i < n && (p[i] == ' ' || p[i] == '\n' || p[i] == '\r' || p[i] == '\t'))
        i++;
    return i < n && p[i] == '{';
}

/* What cannot be the first number of a bincode file, a small count in 8 bytes. */
static bool is_text(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n && i < 8; i++)
        if ((p[i] < ' ' || p[i] > '~') && p[i] != '\n' && p[i] != '\r' && p[i] != '\t')
            return false;
    return n > 0;
}

static cuzk_status fill(cuzk_c1 *c, const uint8_t *data, size_t n, cuzk_err *err) {
    if (cuzk_pull_is_bom(data, n))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: offset 0: expected JSON without a byte order mark, or bincode, "
                            "actual a byte order mark (ef bb bf)",
                            c->name);
    if (is_json(data, n)) return cuzk__c1_from_json(c, data, n, err);
    if (is_text(data, n))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: offset 0: expected a JSON object or bincode, actual other text "
                            "(JSON has no comments)",
                            c->name);
    return cuzk__c1_from_bincode(c, data, n, err);
}

static cuzk_status new_c1(cuzk_c1 **out, const char *name, cuzk_err *err) {
    *out = NULL;
    cuzk_c1 *c;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK ||
        cuzk_strdup(&c->own_name, name) != CUZK_OK) {
        cuzk_c1_free(c);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory to read it", name);
    }
    c->name = c->own_name;
    *out = c;
    return CUZK_OK;
}

cuzk_status cuzk_c1_from_memory(cuzk_c1 **out, const uint8_t *data, size_t n, const char *name,
                                cuzk_err *err) {
    CUZK_TRY(new_c1(out, name, err));
    const cuzk_status st = fill(*out, data, n, err);
    if (st == CUZK_OK) return CUZK_OK;
    cuzk_c1_free(*out);
    *out = NULL;
    return st;
}

cuzk_status cuzk_c1_open(cuzk_c1 **out, const char *path, cuzk_err *err) {
    CUZK_TRY(new_c1(out, path, err));
    cuzk_c1 *c = *out;
    cuzk_status st = cuzk_map_file(&c->map, path, err);
    if (st == CUZK_OK) st = fill(c, c->map.data, c->map.len, err);
    if (st != CUZK_OK) {
        cuzk_c1_free(c);
        *out = NULL;
    } else if (c->owned) {
        cuzk_map_close(&c->map);
    }
    return st;
}

void cuzk_c1_free(cuzk_c1 *c) {
    if (!c) return;
    if (c->map.data) cuzk_map_close(&c->map);
    cuzk_free(c->owned);
    cuzk_free(c->own_name);
    cuzk_free(c);
}

cuzk_status cuzk__c1_commitments(cuzk_c1 *c, cuzk_err *err) {
    static const char *const names[] = {"comm_r", "comm_d", "replica_id"};
    const uint8_t *tail = c->data + c->len - 5 * 32;
    cuzk_u256 x;
    c->comm_r = tail;
    c->comm_d = tail + 32;
    c->replica_id = tail + 64;
    c->seed = tail + 96;
    c->ticket = tail + 128;
    for (int i = 0; i < 3; i++)
        if (!cuzk__fr_read(&x, tail + 32 * i))
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s: %s: expected a field element (32 bytes, little-endian, below "
                                "r), actual a greater number: the file is damaged or no C1",
                                c->name, names[i]);
    return CUZK_OK;
}

cuzk_status cuzk_c1_fits(const cuzk_c1 *c, const cuzk_seal_type *type, cuzk_err *err) {
    if (c->type && c->type != type)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: registered_proof: expected %s as asked for, actual %s", c->name,
                            type->name, c->type->name);
    if (strcmp(type->circuit, c->circuit->name) != 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: expected a sector of %s, actual proofs for the circuit %s",
                            c->name, type->name, c->circuit->name);
    if (type->partitions != c->partitions)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: expected %" PRIu32 " partitions of %s, actual %" PRIu32, c->name,
                            type->partitions, type->name, c->partitions);
    return CUZK_OK;
}

cuzk_status cuzk_c1_free_values(const cuzk_c1 *c, uint32_t partition, cuzk_u256 *out, size_t n,
                                cuzk_err *err) {
    enum { PARENTS = CUZK_POREP_DRG_PARENTS + CUZK_POREP_EXP_PARENTS };
    const cuzk_porep_circuit *k = &c->circuit->u.porep;
    cuzk_porep_challenge_values *x;
    cuzk_c1_challenge m = {0};
    if (cuzk_alloc((void **)&x, k->challenges, sizeof *x) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", c->name);
    for (uint32_t i = 0; i < k->challenges; i++) {
        cuzk_c1_challenge_at(c, partition, i, &m);
        x[i].data_leaf = m.data.leaf;
        x[i].data = m.data.path;
        for (int p = 0; p < PARENTS; p++) {
            x[i].column[p] = m.parents[p].rows;
            x[i].parent[p] = m.parents[p].inclusion.path;
        }
        x[i].challenge = m.labels[0].node;
        x[i].replica = m.replica.path;
        x[i].own_column = m.own.inclusion.path;
    }
    const cuzk_porep_values v = {c->replica_id,        c->comm_d, c->comm_r, m.replica.root,
                                 m.own.inclusion.root, x};
    const cuzk_status st = cuzk_porep_frees(out, n, k, &v, err);
    cuzk_free(x);
    return st;
}

#include "r1cs/file.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static const char magic[8] = {'c', 'u', 'z', 'k', 'R', '1', 'C', 'S'};

enum {
    N_TOTALS = 6,
    N_TABLES = 15,
    FLAT_AT = 16,
    SUM_AT = 48,
    TOTALS_AT = 80,
    TABLES_AT = TOTALS_AT + 4 * N_TOTALS,
    HEADER = TABLES_AT + 8 * N_TABLES,
};

struct table {
    void **data;
    uint32_t *n;
    uint32_t size; /* of an entry */
};

/* Every table, in the order of the file. coefs and coef_next share their count. */
static void tables_of(cuzk_r1cs *r, struct table t[N_TABLES]) {
#define TABLE(field, count) ((struct table){(void **)&r->field, &r->count, sizeof *r->field})
    const struct table all[N_TABLES] = {
        TABLE(coefs, n_coefs),     TABLE(coef_next, n_coefs), TABLE(terms, n_terms),
        TABLE(rows, n_shape_rows), TABLE(ops, n_ops),         TABLE(scopes, n_scopes),
        TABLE(paths, n_paths),     TABLE(shapes, n_shapes),   TABLE(ports, n_ports),
        TABLE(slots, n_slots),     TABLE(frees, n_frees),     TABLE(calls, n_calls),
        TABLE(insts, n_insts),     TABLE(args, n_args),       TABLE(names, n_names_bytes),
    };
#undef TABLE
    memcpy(t, all, sizeof all);
}

static uint64_t round_up(uint64_t v) {
    return (v + 63) & ~(uint64_t)63;
}

static uint32_t field_id(const cuzk_fr_ops *fr) {
    return fr == &cuzk_bn254_fr_ops ? 1 : 2;
}

static cuzk_status write_tables(cuzk_out *o, cuzk_hash *h, const uint8_t *header,
                                const struct table *t, cuzk_err *err) {
    static const uint8_t zeros[64] = {0};
    uint64_t at = HEADER;
    cuzk_hash_update(h, header + TOTALS_AT, HEADER - TOTALS_AT);
    CUZK_TRY(cuzk_out_write(o, header, HEADER, err));
    for (int i = 0; i < N_TABLES; i++) {
        const size_t pad = (size_t)(round_up(at) - at), n = (size_t)*t[i].n * t[i].size;
        cuzk_hash_update(h, zeros, pad);
        CUZK_TRY(cuzk_out_write(o, zeros, pad, err));
        cuzk_hash_update(h, *t[i].data, n);
        CUZK_TRY(cuzk_out_write(o, *t[i].data, n, err));
        at = round_up(at) + n;
    }
    return CUZK_OK;
}

cuzk_status cuzk_r1cs_save(const cuzk_r1cs *r, const uint8_t flat_digest[32], const char *path,
                           cuzk_err *err) {
    cuzk_status st;
    cuzk_r1cs copy = *r;
    struct table t[N_TABLES];
    uint8_t header[HEADER] = {0};
    const uint32_t totals[N_TOTALS] = {r->n_rows, r->n_inputs, r->n_aux,
                                       r->n_bits, r->n_full,   r->n_free};
    cuzk_out o = {.fd = -1};
    cuzk_hash *h = NULL;
    tables_of(&copy, t);
    memcpy(header, magic, sizeof magic);
    cuzk_st_u32le(header + 8, CUZK_R1CS_FILE_VERSION);
    cuzk_st_u32le(header + 12, field_id(r->fr));
    memcpy(header + FLAT_AT, flat_digest, 32);
    for (int i = 0; i < N_TOTALS; i++)
        cuzk_st_u32le(header + TOTALS_AT + 4 * i, totals[i]);
    for (int i = 0; i < N_TABLES; i++) {
        cuzk_st_u32le(header + TABLES_AT + 8 * i, *t[i].n);
        cuzk_st_u32le(header + TABLES_AT + 8 * i + 4, t[i].size);
    }
    CUZK_TRY_GOTO(cuzk_out_open(&o, path, err), out);
    CUZK_TRY_GOTO(cuzk_hash_new(&h, CUZK_HASH_BLAKE2S_256), out);
    CUZK_TRY_GOTO(write_tables(&o, h, header, t, err), out);
    st = cuzk_hash_final(h, header + SUM_AT);
    h = NULL;
    if (st != CUZK_OK) goto out;
    CUZK_TRY_GOTO(cuzk_out_pwrite(&o, SUM_AT, header + SUM_AT, 32, err), out);
    CUZK_TRY_GOTO(cuzk_out_commit(&o, err), out);
out:
    cuzk_hash_free(h);
    cuzk_out_abort(&o);
    return st;
}

/* Copies the tables, whose sizes must fit the bytes exactly. */
static cuzk_status read_tables(cuzk_r1cs *r, const uint8_t *data, size_t n, const char *name,
                               cuzk_err *err) {
    struct table t[N_TABLES];
    uint64_t at = HEADER;
    tables_of(r, t);
    for (int i = 0; i < N_TABLES; i++) {
        const uint32_t count = cuzk_ld_u32le(data + TABLES_AT + 8 * i);
        const uint64_t bytes = (uint64_t)count * t[i].size;
        at = round_up(at);
        if (cuzk_ld_u32le(data + TABLES_AT + 8 * i + 4) != t[i].size || bytes > n || at > n - bytes)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: table %d does not fit the file",
                                name, i);
        if (i == 1 && count != r->n_coefs)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: table 1 has the wrong length",
                                name);
        *t[i].n = count;
        if (cuzk_alloc(t[i].data, count, t[i].size) != CUZK_OK)
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", name);
        memcpy(*t[i].data, data + at, (size_t)bytes);
        at += bytes;
    }
    if (at != n)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %zu bytes, its tables end at %llu",
                            name, n, (unsigned long long)at);
    return CUZK_OK;
}

/* Where each name begins; the file holds only the strings. */
static cuzk_status index_names(cuzk_r1cs *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_names_bytes; i++)
        n += r->names[i] == '\0';
    CUZK_TRY(cuzk_alloc((void **)&r->name_offs, n, sizeof *r->name_offs));
    r->n_names = n;
    for (uint32_t i = 0, k = 0, start = 0; i < r->n_names_bytes; i++) {
        if (r->names[i] != '\0') continue;
        r->name_offs[k++] = start;
        start = i + 1;
    }
    return CUZK_OK;
}

static cuzk_status check_header(const uint8_t *data, size_t n, const char *name,
                                const uint8_t want_digest[32], cuzk_err *err) {
    uint8_t sum[32];
    if (n < HEADER || memcmp(data, magic, sizeof magic) != 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s is no compact constraint system", name);
    const uint32_t version = cuzk_ld_u32le(data + 8), field = cuzk_ld_u32le(data + 12);
    if (version != CUZK_R1CS_FILE_VERSION)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s has version %u, not %u: make it again",
                            name, version, CUZK_R1CS_FILE_VERSION);
    if (field != 1 && field != 2)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: unknown field %u", name, field);
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_BLAKE2S_256, data + TOTALS_AT, n - TOTALS_AT, sum));
    if (memcmp(sum, data + SUM_AT, 32) != 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s is damaged: its checksum differs",
                            name);
    if (want_digest && memcmp(want_digest, data + FLAT_AT, 32) != 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s is of another circuit", name);
    return CUZK_OK;
}

cuzk_status cuzk_r1cs_load(cuzk_r1cs **out, const uint8_t *data, size_t n, const char *name,
                           const uint8_t want_digest[32], cuzk_err *err) {
    cuzk_status st;
    cuzk_r1cs *r = NULL;
    *out = NULL;
    CUZK_TRY(check_header(data, n, name, want_digest, err));
    CUZK_TRY(cuzk_alloc((void **)&r, 1, sizeof *r));
    r->fr = cuzk_ld_u32le(data + 12) == 1 ? &cuzk_bn254_fr_ops : &cuzk_bls12_381_fr_ops;
    uint32_t *const totals[N_TOTALS] = {&r->n_rows, &r->n_inputs, &r->n_aux,
                                        &r->n_bits, &r->n_full,   &r->n_free};
    for (int i = 0; i < N_TOTALS; i++)
        *totals[i] = cuzk_ld_u32le(data + TOTALS_AT + 4 * i);
    CUZK_TRY_GOTO(read_tables(r, data, n, name, err), fail);
    CUZK_TRY_GOTO(index_names(r), fail);
    st = cuzk_r1cs_validate(r, err);
    if (st != CUZK_OK) {
        cuzk_err_prefix(err, st, "%s", name);
        goto fail;
    }
    *out = r;
    return CUZK_OK;
fail:
    cuzk_r1cs_free(r);
    return st;
}

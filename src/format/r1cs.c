#include "format/r1cs.h"

#include "base/mem.h"
#include "format/binfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEADER = 1, CONSTRAINTS = 2, LABELS = 3, GATES = 4, GATE_USES = 5, SCALAR = 32 };

static cuzk_status read_header(const cuzk_binfile *f, cuzk_circom_r1cs *r, cuzk_err *err) {
    const cuzk_binfile_section *s;
    CUZK_TRY(cuzk_binfile_need(f, HEADER, &s, err));
    cuzk_cursor c = cuzk_binfile_cursor(f, s);
    CUZK_TRY(cuzk_binfile_scalar_prime(f, s, &c, &r->curve, err));
    CUZK_TRY(cuzk_binfile_expect_len(f, s, 4 + SCALAR + 16 + 8 + 4, "prime and counts", err));
    uint64_t at = c.off;
    if (!cuzk_rd_u32le(&c, &r->n_wires) || !cuzk_rd_u32le(&c, &r->n_pub_out) ||
        !cuzk_rd_u32le(&c, &r->n_pub_in) || !cuzk_rd_u32le(&c, &r->n_prv_in) ||
        !cuzk_rd_u64le(&c, &r->n_labels) || !cuzk_rd_u32le(&c, &r->n_constraints))
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: header measured wrongly", f->name);
    /* The private inputs do not count: simplification may have removed their wires. */
    uint64_t least = 1 + (uint64_t)r->n_pub_out + r->n_pub_in;
    if (r->n_wires < least)
        return cuzk_binfile_bad(f, s, at, err,
                                "expected at least %" PRIu64 " wires (the constant, %" PRIu32
                                " outputs, %" PRIu32 " public inputs), actual %" PRIu32,
                                least, r->n_pub_out, r->n_pub_in, r->n_wires);
    return CUZK_OK;
}

/* One linear combination of constraint i. */
static cuzk_status check_lc(const cuzk_binfile *f, const cuzk_binfile_section *s, cuzk_cursor *c,
                            const cuzk_circom_r1cs *r, uint32_t i, int k, uint64_t *terms,
                            cuzk_err *err) {
    const char matrix = "ABC"[k];
    uint64_t at = c->off;
    uint32_t n;
    const uint8_t *p;
    if (!cuzk_rd_u32le(c, &n))
        return cuzk_binfile_bad(f, s, at, err,
                                "constraint %" PRIu32 " of %" PRIu32
                                ", %c: expected 4 bytes with the number of its terms, actual %zu "
                                "up to the end of the section",
                                i, r->n_constraints, matrix, cuzk_cursor_left(c));
    if (!cuzk_rd_bytes(c, (size_t)n * CUZK_R1CS_TERM_SIZE, &p))
        return cuzk_binfile_bad(
            f, s, at, err,
            "constraint %" PRIu32 " of %" PRIu32 ", %c: expected %" PRIu64 " bytes with %" PRIu32
            " terms, actual %zu up to the end of the section",
            i, r->n_constraints, matrix, (uint64_t)n * CUZK_R1CS_TERM_SIZE, n, cuzk_cursor_left(c));
    for (uint32_t j = 0; j < n; j++, p += CUZK_R1CS_TERM_SIZE) {
        uint64_t rel = at + 4 + (uint64_t)j * CUZK_R1CS_TERM_SIZE;
        if (cuzk_ld_u32le(p) >= r->n_wires)
            return cuzk_binfile_bad(f, s, rel, err,
                                    "constraint %" PRIu32 ", %c, term %" PRIu32
                                    ": expected a wire below %" PRIu32 ", actual %" PRIu32,
                                    i, matrix, j, r->n_wires, cuzk_ld_u32le(p));
        if (!cuzk_scalar_is_canonical(r->curve->fr, p + 4))
            return cuzk_binfile_bad(f, s, rel + 4, err,
                                    "constraint %" PRIu32 ", %c, term %" PRIu32
                                    ": expected a coefficient below r, actual one with the top "
                                    "limb %016" PRIx64,
                                    i, matrix, j, cuzk_ld_u64le(p + 28));
    }
    *terms += n;
    return CUZK_OK;
}

static cuzk_status read_constraints(const cuzk_binfile *f, cuzk_circom_r1cs *r, cuzk_err *err) {
    const cuzk_binfile_section *s;
    CUZK_TRY(cuzk_binfile_need(f, CONSTRAINTS, &s, err));
    cuzk_cursor c = cuzk_binfile_cursor(f, s);
    for (uint32_t i = 0; i < r->n_constraints; i++) {
        for (int k = 0; k < 3; k++)
            CUZK_TRY(check_lc(f, s, &c, r, i, k, &r->n_terms[k], err));
    }
    if (cuzk_cursor_left(&c))
        return cuzk_binfile_bad(f, s, c.off, err,
                                "expected the end of the section after %" PRIu32
                                " constraints, actual %zu bytes more",
                                r->n_constraints, cuzk_cursor_left(&c));
    r->constraints = f->data + s->off;
    r->constraints_len = (size_t)s->len;
    return CUZK_OK;
}

static cuzk_status refuse_gates(const cuzk_binfile *f, uint32_t type, cuzk_err *err) {
    const cuzk_binfile_section *s = cuzk_binfile_find(f, type);
    if (!s || s->len < 4 || cuzk_ld_u32le(f->data + s->off) == 0) return CUZK_OK;
    return cuzk_binfile_bad(
        f, s, 0, err, "expected no custom gates, which Groth16 does not have, actual %" PRIu32,
        cuzk_ld_u32le(f->data + s->off));
}

static cuzk_status read_all(cuzk_circom_r1cs *r, const void *data, uint64_t len, cuzk_err *err) {
    cuzk_binfile f;
    CUZK_TRY(cuzk_binfile_parse(&f, &cuzk_binfile_r1cs, data, len, r->name, err));
    CUZK_TRY(read_header(&f, r, err));
    CUZK_TRY(refuse_gates(&f, GATES, err));
    CUZK_TRY(refuse_gates(&f, GATE_USES, err));
    CUZK_TRY(read_constraints(&f, r, err));
    const cuzk_binfile_section *s = cuzk_binfile_find(&f, LABELS);
    if (!s) return CUZK_OK;
    CUZK_TRY(cuzk_binfile_expect_len(&f, s, (uint64_t)r->n_wires * 8, "one label a wire", err));
    r->labels = f.data + s->off;
    return CUZK_OK;
}

static cuzk_status new_r1cs(cuzk_circom_r1cs **out, const char *name, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    cuzk_circom_r1cs *r = mem;
    if (cuzk_strdup(&r->name, cuzk_name_tail(name)) != CUZK_OK) {
        cuzk_free(r);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    }
    *out = r;
    return CUZK_OK;
}

static cuzk_status finish(cuzk_status st, cuzk_circom_r1cs *r, cuzk_circom_r1cs **out) {
    if (st == CUZK_OK)
        *out = r;
    else
        cuzk_circom_r1cs_free(r);
    return st;
}

cuzk_status cuzk_circom_r1cs_open(cuzk_circom_r1cs **out, const char *path, cuzk_err *err) {
    cuzk_circom_r1cs *r;
    *out = NULL;
    CUZK_TRY(new_r1cs(&r, path, err));
    cuzk_status st = cuzk_map_file(&r->map, path, err);
    if (st == CUZK_OK) st = read_all(r, r->map.data, r->map.len, err);
    return finish(st, r, out);
}

cuzk_status cuzk_circom_r1cs_from_memory(cuzk_circom_r1cs **out, const void *data, size_t len,
                                         const char *name, cuzk_err *err) {
    cuzk_circom_r1cs *r;
    *out = NULL;
    CUZK_TRY(new_r1cs(&r, name, err));
    return finish(read_all(r, data, len, err), r, out);
}

void cuzk_circom_r1cs_free(cuzk_circom_r1cs *r) {
    if (!r) return;
    cuzk_map_close(&r->map);
    cuzk_free(r->name);
    cuzk_free(r);
}

void cuzk_circom_r1cs_iter_init(cuzk_circom_r1cs_iter *it, const cuzk_circom_r1cs *r) {
    *it = (cuzk_circom_r1cs_iter){.r1cs = r};
}

bool cuzk_circom_r1cs_next(cuzk_circom_r1cs_iter *it, cuzk_circom_r1cs_row *row) {
    if (it->index == it->r1cs->n_constraints) return false;
    for (int k = 0; k < 3; k++) {
        const uint8_t *p = it->r1cs->constraints + it->off;
        row->lc[k].n = cuzk_ld_u32le(p);
        row->lc[k].terms = p + 4;
        it->off += 4 + (size_t)row->lc[k].n * CUZK_R1CS_TERM_SIZE;
    }
    it->index++;
    return true;
}

#include "inspect.h"

#include "format/binfile.h"
#include "format/ptau.h"
#include "format/r1cs.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "format/zkey_ceremony.h"

#include <stdatomic.h>
#include <string.h>

/* The table of contents; of a broken file, the sections before the break. */
static cuzk_status sections(cuzk_inspect *in, const cuzk_binfile_format *format, cuzk_err *err) {
    cuzk_binfile f;
    cuzk_report *r = &in->report;
    cuzk_report_str(r, "kind", format->magic);
    cuzk_status st = cuzk_binfile_parse(&f, format, in->map.data, in->map.len, in->path, err);
    cuzk_report_u64(r, "version", f.version);
    cuzk_report_open(r, "sections", true);
    for (uint32_t i = 0; i < f.n; i++) {
        cuzk_report_open(r, NULL, false);
        cuzk_report_u64(r, "section", f.section[i].type);
        cuzk_report_str(r, "name", cuzk_binfile_section_name(format, f.section[i].type));
        cuzk_report_u64(r, "offset", f.section[i].off);
        cuzk_report_u64(r, "bytes", f.section[i].len);
        cuzk_report_close(r);
    }
    cuzk_report_close(r);
    if (st == CUZK_OK && f.end < f.len)
        cuzk_report_u64(r, "bytes_after_the_last_section", f.len - f.end);
    return st;
}

typedef struct counting {
    const uint8_t *points;
    size_t size;
    _Atomic uint64_t infinite;
} counting;

static void count_range(void *ctx, size_t begin, size_t end) {
    static const uint8_t zeros[CUZK_POINT_MAX];
    counting *c = ctx;
    uint64_t n = 0;
    for (size_t i = begin; i < end; i++)
        n += memcmp(c->points + i * c->size, zeros, c->size) == 0;
    atomic_fetch_add(&c->infinite, n);
}

static void query(cuzk_inspect *in, const char *name, const uint8_t *points, uint64_t n,
                  size_t size) {
    counting c = {.points = points, .size = size};
    atomic_init(&c.infinite, 0);
    cuzk_pool_run_ranges(in->pool, n, 4096, 4, count_range, &c);
    cuzk_report_open(&in->report, NULL, false);
    cuzk_report_str(&in->report, "query", name);
    cuzk_report_u64(&in->report, "points", n);
    cuzk_report_share(&in->report, "infinity", atomic_load(&c.infinite), n);
    cuzk_report_close(&in->report);
}

static void queries(cuzk_inspect *in, const cuzk_zkey *zk) {
    size_t g1 = zk->curve->g1.point_size, g2 = zk->curve->g2.point_size;
    cuzk_report_open(&in->report, "queries", true);
    query(in, "IC", zk->ic, (uint64_t)zk->n_public + 1, g1);
    query(in, "A", zk->a, zk->n_vars, g1);
    query(in, "B1", zk->b1, zk->n_vars, g1);
    query(in, "B2", zk->b2, zk->n_vars, g2);
    query(in, "C", zk->c, (uint64_t)zk->n_vars - zk->n_public - 1, g1);
    query(in, "H", zk->h, (uint64_t)1 << zk->log2_domain, g1);
    cuzk_report_close(&in->report);
}

static cuzk_status contributions(cuzk_inspect *in, const cuzk_zkey *zk, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_zkey_ceremony c;
    CUZK_TRY(cuzk_zkey_ceremony_begin(&c, zk, err));
    if (!c.present) {
        cuzk_report_str(r, "contributions", "no section 10");
        return CUZK_OK;
    }
    cuzk_report_hex(r, "circuit_hash", c.cs_hash, 64);
    cuzk_status st = CUZK_OK;
    cuzk_report_open(r, "contributions", true);
    for (uint32_t i = 0; i < c.n && st == CUZK_OK; i++) {
        cuzk_zkey_contribution k;
        st = cuzk_zkey_ceremony_next(&c, zk, &k, err);
        if (st != CUZK_OK) break;
        cuzk_report_open(r, NULL, false);
        cuzk_report_str(r, "type",
                        k.type == 0   ? "contribution"
                        : k.type == 1 ? "beacon"
                                      : "unknown");
        if (k.contributor) cuzk_report_text(r, "name", k.contributor, k.contributor_len);
        if (k.has_iterations) cuzk_report_u64(r, "iterations_log2", k.iterations_log2);
        if (k.beacon) cuzk_report_hex(r, "beacon", k.beacon, k.beacon_len);
        cuzk_report_hex(r, "transcript", k.transcript, 64);
        cuzk_report_close(r);
    }
    cuzk_report_close(r);
    return st;
}

static void coefficients(cuzk_inspect *in, const cuzk_zkey *zk) {
    uint64_t of_a = 0;
    for (uint64_t i = 0; i < zk->n_coefs; i++)
        of_a += cuzk_ld_u32le(zk->coefs + i * CUZK_ZKEY_COEF_SIZE) == 0;
    cuzk_report_open(&in->report, "coefficients", false);
    cuzk_report_u64(&in->report, "A", of_a);
    cuzk_report_u64(&in->report, "B", zk->n_coefs - of_a);
    cuzk_report_close(&in->report);
}

cuzk_status cuzk_inspect_zkey(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_zkey *zk;
    CUZK_TRY(sections(in, &cuzk_binfile_zkey, err));
    CUZK_TRY(cuzk_zkey_from_memory(&zk, in->map.data, in->map.len, in->path, CUZK_ZKEY_CHECK_SHAPE,
                                   in->pool, err));
    const cuzk_group_ops *g2 = &zk->curve->g2;
    cuzk_report_str(r, "protocol", "groth16");
    cuzk_report_str(r, "curve", zk->curve->circom);
    cuzk_report_u64(r, "wires", zk->n_vars);
    cuzk_report_u64(r, "public_signals", zk->n_public);
    cuzk_report_u64(r, "domain", (uint64_t)1 << zk->log2_domain);
    coefficients(in, zk);
    queries(in, zk);
    cuzk_report_bool(r, "gamma_is_1", g2->eq(zk->gamma2, g2->generator));
    /* Before the first contribution delta is 1, and anybody can forge proofs. */
    cuzk_report_bool(r, "delta_is_1", g2->eq(zk->delta2, g2->generator));
    cuzk_status st = contributions(in, zk, err);
    if (st == CUZK_OK) {
        st = cuzk_zkey_check_points(zk, in->full, in->pool, err);
        cuzk_report_str(r, "points",
                        st != CUZK_OK ? "bad"
                        : in->full    ? "all on their curves and in their subgroups"
                                      : "all on their curves (subgroups: --full)");
    }
    cuzk_zkey_free(zk);
    return st;
}

cuzk_status cuzk_inspect_wtns(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_wtns *w;
    CUZK_TRY(sections(in, &cuzk_binfile_wtns, err));
    CUZK_TRY(cuzk_wtns_from_memory(&w, in->map.data, in->map.len, in->path, err));
    uint64_t zeros = 0, ones = 0, small = 0;
    const uint8_t *p = w->values;
    for (uint32_t i = 0; i < w->n; i++, p += 32) {
        uint64_t low = cuzk_ld_u64le(p);
        if (cuzk_ld_u64le(p + 8) | cuzk_ld_u64le(p + 16) | cuzk_ld_u64le(p + 24)) continue;
        small++;
        zeros += low == 0;
        ones += low == 1;
    }
    cuzk_report_str(r, "curve", w->curve->circom);
    cuzk_report_u64(r, "wires", w->n);
    cuzk_report_share(r, "zeros", zeros, w->n);
    cuzk_report_share(r, "ones", ones, w->n);
    cuzk_report_share(r, "below_2^64", small, w->n);
    cuzk_wtns_free(w);
    return CUZK_OK;
}

cuzk_status cuzk_inspect_r1cs(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_circom_r1cs *c;
    CUZK_TRY(sections(in, &cuzk_binfile_r1cs, err));
    CUZK_TRY(cuzk_circom_r1cs_from_memory(&c, in->map.data, in->map.len, in->path, err));
    uint64_t rows = (uint64_t)c->n_constraints + c->n_pub_out + c->n_pub_in + 1, domain = 2;
    while (domain < rows)
        domain *= 2;
    cuzk_report_str(r, "curve", c->curve->circom);
    cuzk_report_u64(r, "constraints", c->n_constraints);
    cuzk_report_u64(r, "wires", c->n_wires);
    cuzk_report_u64(r, "public_outputs", c->n_pub_out);
    cuzk_report_u64(r, "public_inputs", c->n_pub_in);
    cuzk_report_u64(r, "private_inputs", c->n_prv_in);
    cuzk_report_u64(r, "labels", c->n_labels);
    cuzk_report_open(r, "terms", false);
    cuzk_report_u64(r, "A", c->n_terms[0]);
    cuzk_report_u64(r, "B", c->n_terms[1]);
    cuzk_report_u64(r, "C", c->n_terms[2]);
    cuzk_report_close(r);
    cuzk_report_u64(r, "domain", domain);
    cuzk_circom_r1cs_free(c);
    return CUZK_OK;
}

cuzk_status cuzk_inspect_ptau(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_ptau_header h;
    CUZK_TRY(sections(in, &cuzk_binfile_ptau, err));
    CUZK_TRY(cuzk_ptau_read(&h, in->map.data, in->map.len, in->path, err));
    cuzk_report_str(r, "curve", h.curve->circom);
    cuzk_report_u64(r, "power", h.power);
    cuzk_report_u64(r, "ceremony_power", h.ceremony_power);
    cuzk_report_bool(r, "prepared_for_phase_2", h.prepared);
    cuzk_report_str(r, "points", "not checked");
    return CUZK_OK;
}

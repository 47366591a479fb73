/* Filecoin's keys and proofs: .params, .vk, .meta, .insecure, proofs of 192 bytes a partition. */
#include "inspect.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "filecoin/public.h"
#include "format/params.h"
#include "format/proof_bytes.h"
#include "keys/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A digest of a larger file is computed with --full only: it takes a second and a half a gigabyte.
 */
#define DIGEST_MAX ((uint64_t)1 << 30)

static bool ends_with(const char *s, const char *tail) {
    const size_t n = strlen(s), k = strlen(tail);
    return n > k && strcmp(s + n - k, tail) == 0;
}

/* Where the parts of a key begin, as far as the file goes. Returns where the last of them ends. */
static uint64_t sections(cuzk_inspect *in, bool proving) {
    static const struct {
        const char *name;
        unsigned size; /* of the points of an array */
    } part[] = {{"alpha_g1", 0}, {"beta_g1", 0},  {"beta_g2", 0}, {"gamma_g2", 0},
                {"delta_g1", 0}, {"delta_g2", 0}, {"ic", 96},     {"h", 96},
                {"l", 96},       {"a", 96},       {"b_g1", 96},   {"b_g2", 192}};
    const size_t n = proving ? 12 : 7;
    cuzk_report *r = &in->report;
    uint64_t at = 0;
    cuzk_report_open(r, "sections", true);
    for (size_t i = 0; i < n && at < in->map.len; i++) {
        const bool array = part[i].size != 0;
        const uint64_t point = ends_with(part[i].name, "_g2") ? 192 : 96;
        uint64_t points = 1, bytes = point;
        if (array) {
            if (in->map.len - at < 4) break;
            points = cuzk_ld_u32be(in->map.data + at);
            bytes = 4 + points * part[i].size;
        }
        cuzk_report_open(r, NULL, false);
        cuzk_report_str(r, "section", part[i].name);
        cuzk_report_u64(r, "offset", at);
        cuzk_report_u64(r, "bytes", bytes);
        if (array) cuzk_report_u64(r, "points", points);
        if (bytes > in->map.len - at) cuzk_report_str(r, "note", "goes beyond the end of the file");
        cuzk_report_close(r);
        at += bytes;
    }
    cuzk_report_close(r);
    return at;
}

/* Circuit by the file's name, digest, and who vouches for it. */
static cuzk_status origin(cuzk_inspect *in, const cuzk_circuit **circuit, bool proving,
                          cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_params_name name;
    char digest[CUZK_PARAMS_DIGEST_HEX + 1] = "";
    *circuit = cuzk_keys_circuit_of(in->path, &name);
    cuzk_report_str(r, "circuit",
                    *circuit ? (*circuit)->name : "unknown: the file's name is no key's");
    if (*circuit) cuzk_report_u64(r, "sector_size", name.sector_size);
    if (in->map.len > DIGEST_MAX && !in->full) {
        cuzk_report_str(r, "digest", "not computed (--full)");
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_keys_digest(digest, &in->map, in->path, stderr, err));
    cuzk_report_str(r, "digest", digest);
    if (!*circuit) return CUZK_OK;
    const char *published = proving ? name.params_digest : name.vk_digest;
    cuzk_report_str(r, "published_digest", published ? published : "none");
    cuzk_report_str(r, "origin",
                    published && strcmp(published, digest) == 0 ? "official"
                    : cuzk_keys_sidecar_beside(in->path)
                        ? "development: a file .insecure stands beside it"
                        : "unknown: not the published file, and no .insecure beside it");
    return CUZK_OK;
}

static void verifying_key(cuzk_inspect *in, const cuzk_vk *vk) {
    const cuzk_group_ops *g2 = &vk->curve->g2;
    cuzk_report_u64(&in->report, "public_inputs", vk->n_public);
    cuzk_report_bool(&in->report, "gamma_is_1", g2->eq(vk->gamma2.b, g2->generator));
    cuzk_report_bool(&in->report, "delta_is_1", g2->eq(vk->delta2.b, g2->generator));
}

static cuzk_status params(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    const cuzk_circuit *c;
    cuzk_params_counts want;
    cuzk_params *p;
    cuzk_report_str(r, "kind", "Filecoin proving key (.params)");
    cuzk_report_str(r, "curve", "bls12381");
    (void)sections(in, true);
    CUZK_TRY(origin(in, &c, true, err));
    if (c) CUZK_TRY(cuzk_keys_counts(&want, c, err));
    CUZK_TRY(cuzk_params_from_memory(&p, in->map.data, in->map.len, in->path, c ? &want : NULL,
                                     c ? c->name : NULL, in->pool, err));
    verifying_key(in, &p->vk.vk);
    cuzk_report_u64(r, "domain", (uint64_t)p->n.h + 1);
    cuzk_report_u64(r, "private_wires", p->n.l);
    cuzk_status st = CUZK_OK;
    if (in->full) {
        cuzk_progress bar;
        cuzk_progress_begin(&bar, stderr, "checking the key's points",
                            (uint64_t)p->n.h + p->n.l + p->n.a + 2 * (uint64_t)p->n.b + 1);
        st = cuzk_params_check_points(p, in->pool, &bar, err);
        cuzk_progress_end(&bar);
    }
    cuzk_report_str(r, "points",
                    st != CUZK_OK ? "bad"
                    : in->full    ? "all on their curves and in their subgroups"
                                  : "those of the verifying key are good (all: --full)");
    cuzk_params_free(p);
    return st;
}

static cuzk_status vk(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    const cuzk_circuit *c;
    cuzk_params_vk k;
    cuzk_report_str(r, "kind", "Filecoin verifying key (.vk)");
    cuzk_report_str(r, "curve", "bls12381");
    (void)sections(in, false);
    CUZK_TRY(origin(in, &c, false, err));
    CUZK_TRY(cuzk_params_vk_from_bytes(&k, in->map.data, in->map.len, in->path,
                                       c ? (uint32_t)cuzk_circuit_public(c) + 1 : 0,
                                       c ? c->name : NULL, err));
    verifying_key(in, &k.vk);
    cuzk_report_str(r, "points", "all on their curves and in their subgroups");
    cuzk_params_vk_free(&k);
    return CUZK_OK;
}

/* {"sector_size":N} and nothing else; the offset of what is not expected, or map.len. */
static bool read_meta(const cuzk_map *m, uint64_t *size, size_t *at) {
    static const char head[] = "{\"sector_size\":";
    size_t i = 0, k = 0;
    bool digits = false, end = false;
    *size = 0;
    for (; i < m->len; i++) {
        const char c = (char)m->data[i];
        *at = i;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
        if (k < sizeof head - 1) {
            if (c != head[k++]) return false;
        } else if (c >= '0' && c <= '9' && !end && *size < UINT64_MAX / 10 - 9) {
            *size = 10 * *size + (uint64_t)(c - '0');
            digits = true;
        } else if (c == '}' && digits && !end) {
            end = true;
        } else {
            return false;
        }
    }
    *at = m->len;
    return end;
}

static cuzk_status meta(cuzk_inspect *in, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_params_name name;
    uint64_t size;
    size_t at;
    const cuzk_circuit *c = cuzk_keys_circuit_of(in->path, &name);
    cuzk_report_str(r, "kind", "Filecoin key's .meta");
    cuzk_report_str(r, "circuit", c ? c->name : "unknown: the file's name is no key's");
    if (!read_meta(&in->map, &size, &at))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: offset %zu: expected {\"sector_size\":N}, actual something else",
                            in->path, at);
    cuzk_report_u64(r, "sector_size", size);
    if (c && size != name.sector_size)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: offset 0: expected sector_size %" PRIu64
                            ", as %s has, actual %" PRIu64,
                            in->path, name.sector_size, c->name, size);
    return CUZK_OK;
}

static cuzk_status sidecar(cuzk_inspect *in, cuzk_err *err) {
    (void)err;
    const cuzk_circuit *c = cuzk_keys_circuit_of(in->path, NULL);
    cuzk_report_str(&in->report, "kind", "sidecar of a development key (.insecure)");
    cuzk_report_str(&in->report, "circuit", c ? c->name : "unknown: the file's name is no key's");
    cuzk_report_str(&in->report, "meaning",
                    "whoever knows how the keys of this name were made can forge proofs; programs "
                    "take them with --allow-insecure-keys only");
    return CUZK_OK;
}

static cuzk_status proofs(cuzk_inspect *in, cuzk_err *err) {
    static const struct {
        const char *name;
        size_t at, len;
    } part[] = {{"A", 0, 48}, {"B", 48, 96}, {"C", 144, 48}};
    cuzk_report *r = &in->report;
    cuzk_proof *p = NULL;
    size_t n = in->map.len / CUZK_PROOF_BYTES;
    cuzk_report_str(r, "kind", "Filecoin proof");
    cuzk_report_str(r, "curve", "bls12381");
    cuzk_report_u64(r, "partitions", n);
    cuzk_report_open(r, "proofs", true);
    for (size_t i = 0; i < n && i < 16; i++) {
        cuzk_report_open(r, NULL, false);
        cuzk_report_u64(r, "partition", i);
        cuzk_report_u64(r, "offset", i * CUZK_PROOF_BYTES);
        for (size_t k = 0; k < 3; k++)
            cuzk_report_hex(r, part[k].name, in->map.data + i * CUZK_PROOF_BYTES + part[k].at, 8);
        cuzk_report_close(r);
    }
    cuzk_report_close(r);
    CUZK_TRY(cuzk_proofs_from_bytes(&p, &n, in->map.data, in->map.len, in->path, err));
    cuzk_free(p);
    cuzk_report_str(r, "points", "all on their curves and in their subgroups, none infinity");
    return CUZK_OK;
}

/* A key by its contents: the count of ic leads to the file's end, or to that of h. */
static bool looks_like_key(const cuzk_map *m, bool *proving) {
    if (m->len < 868 + 96) return false;
    const uint64_t ic = cuzk_ld_u32be(m->data + 864), end = 868 + 96 * ic;
    *proving = end < m->len;
    if (ic == 0 || end > m->len) return false;
    if (end == m->len) return true;
    if (m->len - end < 4) return false;
    const uint64_t h = cuzk_ld_u32be(m->data + end);
    return h != 0 && (h & (h + 1)) == 0;
}

bool cuzk_inspect_filecoin(cuzk_inspect *in, cuzk_status *st, cuzk_err *err) {
    bool proving;
    const cuzk_map *m = &in->map;
    if (ends_with(in->path, ".params"))
        *st = params(in, err);
    else if (ends_with(in->path, ".vk"))
        *st = vk(in, err);
    else if (ends_with(in->path, ".meta"))
        *st = meta(in, err);
    else if (ends_with(in->path, ".insecure"))
        *st = sidecar(in, err);
    else if (m->len && m->len % CUZK_PROOF_BYTES == 0 && (m->data[0] & 0x80))
        *st = proofs(in, err);
    else if (looks_like_key(m, &proving))
        *st = proving ? params(in, err) : vk(in, err);
    else
        return cuzk_inspect_vanilla(in, st, err);
    return true;
}

#include "format/binfile.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_SIZE = 12, SECTION_HEADER_SIZE = 12, WRITE_BUFFER = 1 << 16 };

const char *cuzk_binfile_section_name(const cuzk_binfile_format *format, uint32_t type) {
    if (type >= format->n_names || !format->names[type]) return "unknown";
    return format->names[type];
}

const cuzk_binfile_section *cuzk_binfile_find(const cuzk_binfile *f, uint32_t type) {
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->section[i].type == type) return &f->section[i];
    }
    return NULL;
}

cuzk_status cuzk_binfile_need(const cuzk_binfile *f, uint32_t type,
                              const cuzk_binfile_section **out, cuzk_err *err) {
    *out = cuzk_binfile_find(f, type);
    if (*out) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: section %" PRIu32 " (%s) at offset %" PRIu64
                        ": expected somewhere in the file, actual: none among its %" PRIu32
                        " sections",
                        f->name, type, cuzk_binfile_section_name(f->format, type), f->end, f->n);
}

cuzk_status cuzk_binfile_bad(const cuzk_binfile *f, const cuzk_binfile_section *s, uint64_t rel,
                             cuzk_err *err, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: section %" PRIu32 " (%s) at offset %" PRIu64 ": %s", f->name, s->type,
                        cuzk_binfile_section_name(f->format, s->type), s->off + rel, text);
}

cuzk_status cuzk_binfile_expect_len(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                    uint64_t expected, const char *why, cuzk_err *err) {
    if (s->len == expected) return CUZK_OK;
    return cuzk_binfile_bad(f, s, 0, err,
                            "expected %" PRIu64 " bytes (%s), actual %" PRIu64 " bytes", expected,
                            why, s->len);
}

/* Reads the header of section number `i` (in file order) at f->end. */
static cuzk_status read_section(cuzk_binfile *f, uint32_t i, uint32_t total, cuzk_err *err) {
    uint64_t at = f->end, left = f->len - at;
    const uint8_t *p = f->data + at;
    if (left < SECTION_HEADER_SIZE) {
        char which[64] = "section header";
        if (left >= 4) {
            uint32_t type = cuzk_ld_u32le(p);
            snprintf(which, sizeof which, "section %" PRIu32 " (%s), its header", type,
                     cuzk_binfile_section_name(f->format, type));
        }
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: %s (%" PRIu32 " of %" PRIu32 ") at offset %" PRIu64
                            ": expected %d bytes, actual %" PRIu64 ": the file is truncated",
                            f->name, which, i + 1, total, at, SECTION_HEADER_SIZE, left);
    }
    cuzk_binfile_section s = {cuzk_ld_u32le(p), at + SECTION_HEADER_SIZE, cuzk_ld_u64le(p + 4)};
    left -= SECTION_HEADER_SIZE;
    if (s.len > left)
        return cuzk_binfile_bad(f, &s, 0, err,
                                "expected %" PRIu64 " bytes, actual %" PRIu64
                                " up to the end of the file: the file is truncated or this "
                                "length is wrong",
                                s.len, left);
    const cuzk_binfile_section *first = cuzk_binfile_find(f, s.type);
    if (first)
        return cuzk_binfile_bad(f, &s, 0, err,
                                "expected this section once, actual: it is also at offset %" PRIu64,
                                first->off);
    if (f->n == CUZK_BINFILE_MAX_SECTIONS)
        return cuzk_binfile_bad(f, &s, 0, err, "expected at most %d sections, actual %" PRIu32,
                                CUZK_BINFILE_MAX_SECTIONS, total);
    f->section[f->n++] = s;
    f->end = s.off + s.len;
    return CUZK_OK;
}

cuzk_status cuzk_binfile_parse(cuzk_binfile *f, const cuzk_binfile_format *format, const void *data,
                               uint64_t len, const char *name, cuzk_err *err) {
    name = cuzk_name_tail(name);
    *f = (cuzk_binfile){.name = name, .format = format, .data = data, .len = len};
    if (len < HEADER_SIZE)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: file header at offset 0: expected %d bytes, actual %" PRIu64
                            ": no %s file or a truncated one",
                            name, HEADER_SIZE, len, format->magic);
    const uint8_t *p = data;
    if (memcmp(p, format->magic, 4) != 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: file header at offset 0: expected \"%s\", actual bytes "
                            "%02x %02x %02x %02x: no %s file",
                            name, format->magic, p[0], p[1], p[2], p[3], format->magic);
    f->version = cuzk_ld_u32le(p + 4);
    if (f->version < format->min_version || f->version > format->max_version)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: file header at offset 4: expected a version from %" PRIu32
                            " to %" PRIu32 ", actual %" PRIu32,
                            name, format->min_version, format->max_version, f->version);
    uint32_t total = cuzk_ld_u32le(p + 8);
    f->end = HEADER_SIZE;
    for (uint32_t i = 0; i < total; i++)
        CUZK_TRY(read_section(f, i, total, err));
    return CUZK_OK;
}

/* A prime as 0x… with the most significant byte first; out holds 2 * n + 3 bytes. */
static void prime_hex(char *out, const uint8_t *le, size_t n) {
    static const char digit[] = "0123456789abcdef";
    *out++ = '0';
    *out++ = 'x';
    for (size_t i = n; i-- > 0;) {
        *out++ = digit[le[i] >> 4];
        *out++ = digit[le[i] & 15];
    }
    *out = '\0';
}

/* The two kinds differ in the moduli they compare with and in the length allowed. */
static cuzk_status read_prime(const cuzk_binfile *f, const cuzk_binfile_section *s, cuzk_cursor *c,
                              bool scalar, const cuzk_curve **curve, cuzk_err *err) {
    static const cuzk_curve_id ids[] = {CUZK_BN254, CUZK_BLS12_381};
    const char *letter = scalar ? "r" : "q";
    uint64_t at = c->off;
    uint32_t n8;
    const uint8_t *prime;
    if (!cuzk_rd_u32le(c, &n8))
        return cuzk_binfile_bad(f, s, at, err,
                                "expected 4 bytes with the length of the prime %s, actual %zu",
                                letter, cuzk_cursor_left(c));
    if (!(n8 == 32 || (n8 == 48 && !scalar)))
        return cuzk_binfile_bad(f, s, at, err,
                                "expected a prime %s of %s bytes, actual %" PRIu32 " bytes", letter,
                                scalar ? "32" : "32 or 48", n8);
    if (!cuzk_rd_bytes(c, n8, &prime))
        return cuzk_binfile_bad(f, s, at + 4, err,
                                "expected %" PRIu32 " bytes with the prime %s, actual %zu", n8,
                                letter, cuzk_cursor_left(c));
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const cuzk_curve *k = cuzk_curve_get(ids[i]);
        const void *ours = scalar ? (const void *)k->fr->modulus.l : (const void *)k->fp_modulus;
        size_t len = scalar ? sizeof k->fr->modulus : 8 * (size_t)k->fp_limbs;
        if (len == n8 && memcmp(ours, prime, len) == 0) {
            *curve = k;
            return CUZK_OK;
        }
    }
    char hex[2 * 48 + 3];
    prime_hex(hex, prime, n8);
    return cuzk_binfile_bad(f, s, at + 4, err,
                            "expected the prime %s of bn128 or bls12381, actual %s: another curve",
                            letter, hex);
}

cuzk_status cuzk_binfile_scalar_prime(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                      cuzk_cursor *c, const cuzk_curve **curve, cuzk_err *err) {
    return read_prime(f, s, c, true, curve, err);
}

cuzk_status cuzk_binfile_base_prime(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                    cuzk_cursor *c, const cuzk_curve **curve, cuzk_err *err) {
    return read_prime(f, s, c, false, curve, err);
}

static cuzk_status flush(cuzk_binfile_writer *w, cuzk_err *err) {
    cuzk_status st = cuzk_out_write(w->out, w->buf, w->used, err);
    w->used = 0;
    return st;
}

static cuzk_status put_raw(cuzk_binfile_writer *w, const void *data, size_t n, cuzk_err *err) {
    if (w->used + n > WRITE_BUFFER) CUZK_TRY(flush(w, err));
    if (n >= WRITE_BUFFER) return cuzk_out_write(w->out, data, n, err);
    if (n) memcpy(w->buf + w->used, data, n);
    w->used += n;
    return CUZK_OK;
}

cuzk_status cuzk_binfile_begin(cuzk_binfile_writer *w, cuzk_out *out, const char magic[4],
                               uint32_t version, uint32_t sections, cuzk_err *err) {
    *w = (cuzk_binfile_writer){.out = out, .left_sections = sections};
    void *buf;
    if (cuzk_alloc(&buf, WRITE_BUFFER, 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", out->path);
    w->buf = buf;
    uint8_t head[HEADER_SIZE];
    memcpy(head, magic, 4);
    cuzk_st_u32le(head + 4, version);
    cuzk_st_u32le(head + 8, sections);
    return put_raw(w, head, sizeof head, err);
}

cuzk_status cuzk_binfile_section_begin(cuzk_binfile_writer *w, uint32_t type, uint64_t len,
                                       cuzk_err *err) {
    if (w->left || w->left_sections == 0)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: section %" PRIu32 " begun out of turn",
                            w->out->path, type);
    uint8_t head[SECTION_HEADER_SIZE];
    cuzk_st_u32le(head, type);
    cuzk_st_u64le(head + 4, len);
    w->left = len;
    w->left_sections--;
    return put_raw(w, head, sizeof head, err);
}

cuzk_status cuzk_binfile_put(cuzk_binfile_writer *w, const void *data, size_t n, cuzk_err *err) {
    if (n > w->left)
        return cuzk_err_set(err, CUZK_STATUS_BUG,
                            "%s: %zu bytes put where %" PRIu64 " were announced", w->out->path, n,
                            w->left);
    w->left -= n;
    return put_raw(w, data, n, err);
}

cuzk_status cuzk_binfile_put_u32(cuzk_binfile_writer *w, uint32_t v, cuzk_err *err) {
    uint8_t b[4];
    cuzk_st_u32le(b, v);
    return cuzk_binfile_put(w, b, sizeof b, err);
}

cuzk_status cuzk_binfile_end(cuzk_binfile_writer *w, cuzk_err *err) {
    if (w->left || w->left_sections)
        return cuzk_err_set(err, CUZK_STATUS_BUG,
                            "%s: %" PRIu64 " announced bytes and %" PRIu32 " sections missing",
                            w->out->path, w->left, w->left_sections);
    return flush(w, err);
}

void cuzk_binfile_writer_free(cuzk_binfile_writer *w) {
    cuzk_free(w->buf);
    w->buf = NULL;
}

/* The container of circom and snarkjs: .zkey, .wtns, .r1cs, .ptau.
 *
 *     magic[4]; u32 version; u32 sections; then per section { u32 type; u64 length; payload }
 *
 * all little-endian, nothing aligned. Sections come in any order and unknown types are skipped;
 * a type that comes twice is an error. Bytes after the last section are ignored, as every other
 * reader does. docs/formats.md describes the formats inside.
 */
#ifndef CUZK_FORMAT_BINFILE_H
#define CUZK_FORMAT_BINFILE_H

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "curve/curve.h"

#include <stddef.h>
#include <stdint.h>

/* The end of a path that is too long for a message, where the rest of the sentence must still fit.
 */
static inline const char *cuzk_name_tail(const char *name) {
    enum { LONGEST = 240 };
    size_t n = strlen(name);
    return n > LONGEST ? name + n - LONGEST : name;
}

/* Real files have at most 16; more distinct types than this are refused. */
enum { CUZK_BINFILE_MAX_SECTIONS = 64 };

typedef struct cuzk_binfile_section {
    uint32_t type;
    uint64_t off; /* of the payload in the file */
    uint64_t len; /* of the payload */
} cuzk_binfile_section;

/* What tells one format from another. names[t] is section t's name, NULL where there is none. */
typedef struct cuzk_binfile_format {
    char magic[5];
    uint32_t min_version, max_version;
    const char *const *names;
    size_t n_names;
} cuzk_binfile_format;

/* The formats this module knows, and the one a file's first four bytes name (NULL: none). */
extern const cuzk_binfile_format cuzk_binfile_zkey, cuzk_binfile_wtns, cuzk_binfile_r1cs,
    cuzk_binfile_ptau;
const cuzk_binfile_format *cuzk_binfile_format_of(const void *data, uint64_t len);

/* A table of contents over bytes that belong to someone else. */
typedef struct cuzk_binfile {
    const char *name; /* for messages; borrowed */
    const cuzk_binfile_format *format;
    const uint8_t *data;
    uint64_t len;
    uint64_t end; /* offset after the last section */
    uint32_t version;
    uint32_t n;
    cuzk_binfile_section section[CUZK_BINFILE_MAX_SECTIONS]; /* in file order */
} cuzk_binfile;

/* Reads the headers of all sections and nothing else, so a file of any size costs the same.
 * BAD_INPUT when the magic or version differs, or a section is cut off or repeated. name must
 * outlive f. */
cuzk_status cuzk_binfile_parse(cuzk_binfile *f, const cuzk_binfile_format *format, const void *data,
                               uint64_t len, const char *name, cuzk_err *err) CUZK_MUST_CHECK;

/* The section of a type, or NULL. */
const cuzk_binfile_section *cuzk_binfile_find(const cuzk_binfile *f, uint32_t type);

/* The same; BAD_INPUT when the file has none. */
cuzk_status cuzk_binfile_need(const cuzk_binfile *f, uint32_t type,
                              const cuzk_binfile_section **out, cuzk_err *err) CUZK_MUST_CHECK;

/* "A" for section 5 of a zkey; "unknown" where the format names none. */
const char *cuzk_binfile_section_name(const cuzk_binfile_format *format, uint32_t type);

/* A cursor over a section's payload. */
static inline cuzk_cursor cuzk_binfile_cursor(const cuzk_binfile *f,
                                              const cuzk_binfile_section *s) {
    return cuzk_cursor_init(f->data + s->off, (size_t)s->len);
}

/* BAD_INPUT with "FILE: section N (name) at offset OFF: message"; rel counts from the start of the
 * section's payload. */
cuzk_status cuzk_binfile_bad(const cuzk_binfile *f, const cuzk_binfile_section *s, uint64_t rel,
                             cuzk_err *err, const char *fmt, ...) CUZK_PRINTF(5, 6);

/* BAD_INPUT unless the section is exactly `expected` bytes long; `why` names what gives that
 * length ("2 wires"). */
cuzk_status cuzk_binfile_expect_len(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                    uint64_t expected, const char *why,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* Reads `u32 n8; modulus[n8]` of a scalar field and finds its curve. BAD_INPUT with both sides
 * when it is none of ours. */
cuzk_status cuzk_binfile_scalar_prime(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                      cuzk_cursor *c, const cuzk_curve **curve,
                                      cuzk_err *err) CUZK_MUST_CHECK;

/* The same for a base field. */
cuzk_status cuzk_binfile_base_prime(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                    cuzk_cursor *c, const cuzk_curve **curve,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* True when the 32 bytes are below r, at any alignment. */
static inline bool cuzk_scalar_is_canonical(const cuzk_fr_ops *fr, const void *plain) {
    const uint8_t *p = plain;
    uint64_t top = cuzk_ld_u64le(p + 24);
    if (top != fr->modulus.l[3]) return top < fr->modulus.l[3];
    for (int i = 2; i >= 0; i--) {
        uint64_t v = cuzk_ld_u64le(p + 8 * i);
        if (v != fr->modulus.l[i]) return v < fr->modulus.l[i];
    }
    return false;
}

/* Writes a container through a buffer. Every section's length is said before its payload, so the
 * output may be a pipe.
 *
 *     begin; for each section: section_begin, put…; end
 *
 * The caller owns `out` and commits or aborts it. Not thread-safe. */
typedef struct cuzk_binfile_writer {
    cuzk_out *out;
    uint8_t *buf;
    size_t used;
    uint64_t left; /* of the open section */
    uint32_t left_sections;
} cuzk_binfile_writer;

cuzk_status cuzk_binfile_begin(cuzk_binfile_writer *w, cuzk_out *out, const char magic[4],
                               uint32_t version, uint32_t sections, cuzk_err *err) CUZK_MUST_CHECK;
/* BUG when the section before is not complete, or all sections have been written. */
cuzk_status cuzk_binfile_section_begin(cuzk_binfile_writer *w, uint32_t type, uint64_t len,
                                       cuzk_err *err) CUZK_MUST_CHECK;
/* BUG when more is put than section_begin said. */
cuzk_status cuzk_binfile_put(cuzk_binfile_writer *w, const void *data, size_t n,
                             cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_binfile_put_u32(cuzk_binfile_writer *w, uint32_t v, cuzk_err *err) CUZK_MUST_CHECK;
/* Flushes. BUG when bytes of the last section or whole sections are missing. */
cuzk_status cuzk_binfile_end(cuzk_binfile_writer *w, cuzk_err *err) CUZK_MUST_CHECK;
/* Frees the buffer; call it always, after end or after a failure. */
void cuzk_binfile_writer_free(cuzk_binfile_writer *w);

#endif

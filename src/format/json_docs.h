/* snarkjs's JSON documents: proof, public signals, verification key. Byte-exact writers, strict
 * readers (jansson). docs/formats.md shows each. */
#ifndef CUZK_FORMAT_JSON_DOCS_H
#define CUZK_FORMAT_JSON_DOCS_H

#include "base/buf.h"
#include "base/status.h"
#include "format/groth16_data.h"

#include <stddef.h>

/* SNARKJS: JSON.stringify(x, null, 1), no newline at the end. COMPACT: rapidsnark's one line with
 * sorted keys, plus "curve". */
typedef enum cuzk_json_style { CUZK_JSON_SNARKJS, CUZK_JSON_COMPACT } cuzk_json_style;

/* Appends; check cuzk_buf_status afterwards. */
void cuzk_proof_to_json(const cuzk_proof *proof, cuzk_json_style style, cuzk_buf *out);
/* n plain 32-byte scalars, any alignment. */
void cuzk_public_to_json(const void *values, size_t n, cuzk_json_style style, cuzk_buf *out);
void cuzk_vk_to_json(const cuzk_vk *vk, cuzk_buf *out);

/* Readers. `name` is for messages. BAD_INPUT when the document is malformed; FALSE when it is well
 * formed but a coordinate is >= p, a point is off its curve or outside the subgroup, or a public
 * signal is >= r (exit code 1 by the table of exit codes). curve: the expected one; for a proof
 * NULL takes the one the document names, bn128 when it names none. */
cuzk_status cuzk_proof_from_json(cuzk_proof *out, const cuzk_curve *curve, const char *text,
                                 size_t len, const char *name, cuzk_err *err) CUZK_MUST_CHECK;
/* *values: n plain scalars, free with cuzk_free. */
cuzk_status cuzk_public_from_json(cuzk_u256 **values, size_t *n, const cuzk_curve *curve,
                                  const char *text, size_t len, const char *name,
                                  cuzk_err *err) CUZK_MUST_CHECK;
/* The key's points are fully checked; a bad one is BAD_INPUT here. */
cuzk_status cuzk_vk_from_json(cuzk_vk *out, const char *text, size_t len, const char *name,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* What a document looks like, by its members; nothing is checked. UNKNOWN for other JSON and for
 * no JSON at all. */
typedef enum cuzk_json_kind {
    CUZK_JSON_UNKNOWN,
    CUZK_JSON_PROOF,
    CUZK_JSON_PUBLIC,
    CUZK_JSON_VK
} cuzk_json_kind;
cuzk_json_kind cuzk_json_kind_of(const char *text, size_t len);

#endif

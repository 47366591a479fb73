/* A loaded proving key that owns its bytes, and what a proof with it takes: shared by the handles
 * of include/cuzk and by the rapidsnark interface (compat). */
#ifndef CUZK_API_KEY_H
#define CUZK_API_KEY_H

#include "api/resident.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/thread.h"
#include "format/json_docs.h"
#include "format/wtns.h"
#include "format/zkey.h"

#include <stddef.h>

/* Immutable after loading; any number of threads may use one. */
typedef struct cuzk_key {
    cuzk_zkey *zkey;
    void *copy; /* of the caller's bytes; NULL for a mapped file */
    size_t copy_len;
    cuzk_resident *resident; /* NULL: proofs are computed on the CPU */
} cuzk_key;

/* Maps a file. */
cuzk_status cuzk__key_open(cuzk_key **out, const char *path, cuzk_zkey_check check, cuzk_pool *pool,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* Copies n bytes. `name` stands for the file in messages. */
cuzk_status cuzk__key_copy(cuzk_key **out, const void *data, size_t n, const char *name,
                           cuzk_zkey_check check, cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;

/* From now on proofs with the key are computed on a device, where it stays; nothing changes for the
 * CPU. Errors leave the key as it was. threads, tables: cuzk__resident_open. */
cuzk_status cuzk__key_to_device(cuzk_key *key, const cuzk_device *where, unsigned threads,
                                bool tables, cuzk_err *err) CUZK_MUST_CHECK;
/* NULL: the CPU. */
const cuzk_device *cuzk__key_device(const cuzk_key *key);

/* NULL is ignored. */
void cuzk__key_free(cuzk_key *key);

/* BAD_INPUT unless the witness is for the key's curve and has as many values as it has wires. */
cuzk_status cuzk__key_fits(const cuzk_zkey *zkey, const cuzk_wtns *wtns,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* A proof's points, with a witness that fits: cuzk_groth16_prove on the key's device. Leaves no
 * secret in freed or stack memory. */
cuzk_status cuzk__key_prove_points(const cuzk_key *key, const cuzk_wtns *wtns,
                                   const cuzk_prove_opts *opts, cuzk_proof *out,
                                   cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* Fixed blinding, for tests; both or neither. */
typedef struct cuzk__blinding {
    const cuzk_u256 *r, *s;
} cuzk__blinding;

/* The same, and appends documents: the proof, the public signals, and where and how long each stage
 * ran (cuzk_prove_options.report in cuzk/prover.h); signals and report may be NULL. blinding may be
 * NULL: fresh. */
cuzk_status cuzk__key_prove(const cuzk_key *key, const cuzk_wtns *wtns,
                            const cuzk__blinding *blinding, cuzk_pool *pool, cuzk_json_style style,
                            cuzk_buf *proof, cuzk_buf *signals, cuzk_buf *report,
                            cuzk_err *err) CUZK_MUST_CHECK;

#endif

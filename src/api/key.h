/* A loaded proving key that owns its bytes, and what a proof with it takes: shared by the handles
 * of include/cuzk and by the rapidsnark interface (compat). */
#ifndef CUZK_API_KEY_H
#define CUZK_API_KEY_H

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
} cuzk_key;

/* Maps a file. */
cuzk_status cuzk__key_open(cuzk_key **out, const char *path, cuzk_zkey_check check, cuzk_pool *pool,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* Copies n bytes. `name` stands for the file in messages. */
cuzk_status cuzk__key_copy(cuzk_key **out, const void *data, size_t n, const char *name,
                           cuzk_zkey_check check, cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;

/* NULL is ignored. */
void cuzk__key_free(cuzk_key *key);

/* BAD_INPUT unless the witness is for the key's curve and has as many values as it has wires. */
cuzk_status cuzk__key_fits(const cuzk_zkey *zkey, const cuzk_wtns *wtns,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* Fixed blinding, for tests; both or neither. */
typedef struct cuzk__blinding {
    const cuzk_u256 *r, *s;
} cuzk__blinding;

/* Proves with a witness that fits, and appends both documents; signals may be NULL. Leaves no
 * secret in freed or stack memory. blinding may be NULL: fresh. */
cuzk_status cuzk__key_prove(const cuzk_zkey *zkey, const cuzk_wtns *wtns,
                            const cuzk__blinding *blinding, cuzk_pool *pool, cuzk_json_style style,
                            cuzk_buf *proof, cuzk_buf *signals, cuzk_err *err) CUZK_MUST_CHECK;

#endif

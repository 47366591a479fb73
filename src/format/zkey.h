/* circom's proving key, .zkey (groth16), version 1, as snarkjs 0.7 writes it: a mapped view.
 * Version 2 is read too, as snarkjs does.
 *
 * Section by section: docs/formats.md. Nothing is copied; every pointer points into the file, at
 * any alignment. Points have the layout of curve/curve.h.
 */
#ifndef CUZK_FORMAT_ZKEY_H
#define CUZK_FORMAT_ZKEY_H

#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"
#include "curve/curve.h"
#include "format/groth16_data.h"

#include <stdbool.h>
#include <stdint.h>

enum { CUZK_ZKEY_COEF_SIZE = 44 };

typedef struct cuzk_zkey {
    char *name;          /* for messages; owned */
    cuzk_map map;        /* empty when the bytes belong to the caller */
    const uint8_t *data; /* the whole file; offsets in messages count from here */
    uint64_t len;
    const cuzk_curve *curve;
    uint32_t n_vars;   /* wires, the constant wire 0 counted */
    uint32_t n_public; /* without wire 0 */
    unsigned log2_domain;
    uint64_t n_coefs;
    const uint8_t *alpha1, *beta1, *beta2, *gamma2, *delta1, *delta2;
    const uint8_t *ic;     /* n_public + 1 points of G1 */
    const uint8_t *coefs;  /* n_coefs records of 44 bytes: u32 matrix (0 A, 1 B), u32 row, u32 wire,
                              value * R^2 mod r */
    const uint8_t *a, *b1; /* n_vars points of G1 */
    const uint8_t *b2;     /* n_vars points of G2 */
    const uint8_t *c;      /* n_vars - n_public - 1 points of G1 */
    const uint8_t *h;      /* 2^log2_domain points of G1 */
} cuzk_zkey;

typedef enum cuzk_zkey_check {
    /* Sections, sizes and the header's numbers: enough for figures, not for a proof. */
    CUZK_ZKEY_CHECK_SIZES,
    /* Sections, sizes, header, every coefficient's indices and value below r; of the points those
     * that verifying needs, alpha1 to delta2 and IC: in their subgroups, IC alone may be infinity.
     * Enough for a proof that is verified before it is given out: when it does not verify,
     * cuzk_zkey_check_points tells whether a point of the key is the cause. */
    CUZK_ZKEY_CHECK_SHAPE,
    /* And every point canonical and on its curve. */
    CUZK_ZKEY_CHECK_CURVE,
    /* And in its subgroup. `cuzk inspect --full`, and the key cache of the library. */
    CUZK_ZKEY_CHECK_FULL,
} cuzk_zkey_check;

/* Maps and checks path. BAD_INPUT with file, section, offset, expected and actual; IO. */
cuzk_status cuzk_zkey_open(cuzk_zkey **out, const char *path, cuzk_zkey_check check,
                           cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;

/* The same from memory, which must stay valid and unchanged; name is for messages. */
cuzk_status cuzk_zkey_from_memory(cuzk_zkey **out, const void *data, size_t len, const char *name,
                                  cuzk_zkey_check check, cuzk_pool *pool,
                                  cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_zkey_free(cuzk_zkey *zk);

/* Checks every point of an open key: canonical and on its curve, with `full` in its subgroup as
 * well. BAD_INPUT names the first bad one by section, offset and index. Reads the whole file: on
 * one core about 0.1 us a point without full, and with it some us a point of BN254's G2, tens of us
 * on BLS12-381. pool may be NULL. Thread-safe. */
cuzk_status cuzk_zkey_check_points(const cuzk_zkey *zk, bool full, cuzk_pool *pool,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* The verifying key inside (a copy). Its points have been checked as far as the zkey's were. */
cuzk_status cuzk_zkey_vk(const cuzk_zkey *zk, cuzk_vk *out, cuzk_err *err) CUZK_MUST_CHECK;

#endif

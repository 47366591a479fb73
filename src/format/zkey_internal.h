/* What the files of the zkey reader share. */
#ifndef CUZK_FORMAT_ZKEY_INTERNAL_H
#define CUZK_FORMAT_ZKEY_INTERNAL_H

#include "format/binfile.h"
#include "format/zkey.h"

enum {
    CUZK__ZKEY_PROTOCOL = 1,
    CUZK__ZKEY_HEADER = 2,
    CUZK__ZKEY_IC = 3,
    CUZK__ZKEY_COEFS = 4,
    CUZK__ZKEY_A = 5,
    CUZK__ZKEY_B1 = 6,
    CUZK__ZKEY_B2 = 7,
    CUZK__ZKEY_C = 8,
    CUZK__ZKEY_H = 9,
    CUZK__ZKEY_CONTRIBUTIONS = 10,
};

/* BAD_INPUT with "FILE: section N (name) at offset OFF: message"; at points into the file. */
cuzk_status cuzk__zkey_bad(const cuzk_zkey *zk, uint32_t section, const void *at, cuzk_err *err,
                           const char *fmt, ...) CUZK_PRINTF(5, 6);

/* Every record of section 4: matrix, row, wire, value. */
cuzk_status cuzk__zkey_check_coefs(const cuzk_zkey *zk, cuzk_pool *pool,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* The points that SHAPE covers: the header's and IC. */
cuzk_status cuzk__zkey_check_vk(const cuzk_zkey *zk, cuzk_pool *pool,
                                cuzk_err *err) CUZK_MUST_CHECK;

#endif

/* DESIGN. The contract checks e(A, B) e(-alpha, beta) e(X, -gamma) e(C, -delta) = 1 with
 * X = IC[0] + sum signal[i] IC[i + 1]: the constants are negated here, once, so that the contract
 * negates nothing and needs no p. It leaves every check of points and coordinates to the
 * precompiles, which fail on bad ones, and checks the one thing they do not: signals below r.
 *
 * The points IC are one hexadecimal string, walked by a loop, which is half the size of a statement
 * for each. */
#include "format/solidity.h"

#include <inttypes.h>
#include <string.h>

enum { WORD = 32 };

/* A coordinate as EVM words: big-endian, one of 32 bytes for BN254, for BLS12-381 64 bytes with 16
 * of padding. */
typedef struct {
    uint8_t b[2 * WORD];
    size_t len;
} coordinate;

static coordinate to_words(const cuzk_curve *c, const uint8_t *mont) {
    uint64_t plain[6] = {0};
    coordinate out = {.len = c->fp_limbs == 4 ? WORD : 2 * WORD};
    c->fp_from_mont(plain, mont);
    for (size_t i = 0; i < c->fp_limbs * sizeof(uint64_t); i++)
        out.b[out.len - 1 - i] = (uint8_t)(plain[i / 8] >> (8 * (i % 8)));
    return out;
}

static void put_hex(cuzk_buf *out, const uint8_t *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        cuzk_buf_printf(out, "%02x", b[i]);
}

/* The points of one proof or key: coordinate i of a point, i < 2 in G1 and < 4 in G2, in the order
 * of the file: x, y; x.c0, x.c1, y.c0, y.c1. */
static coordinate at(const cuzk_curve *c, const void *point, unsigned i) {
    return to_words(c, (const uint8_t *)point + i * c->fp_limbs * sizeof(uint64_t));
}

/* The precompiles of BN254 take c1 before c0, those of BLS12-381 c0 first. */
static unsigned g2_index(const cuzk_curve *c, unsigned i) {
    return c->id == CUZK_BN254 ? i ^ 1 : i;
}

/* Statements that store a point's words to m[first], m[first + 1], … */
static void put_point(cuzk_buf *out, const cuzk_curve *c, cuzk_group g, const void *point,
                      unsigned first) {
    unsigned n = g == CUZK_G1 ? 2 : 4;
    for (unsigned i = 0; i < n; i++) {
        coordinate v = at(c, point, g == CUZK_G1 ? i : g2_index(c, i));
        for (size_t w = 0; w < v.len; w += WORD) {
            cuzk_buf_printf(out, "        m[%u] = 0x", first++);
            put_hex(out, v.b + w, WORD);
            cuzk_buf_puts(out, ";\n");
        }
    }
}

static void put_ic(cuzk_buf *out, const cuzk_vk *vk) {
    const cuzk_curve *c = vk->curve;
    cuzk_buf_puts(out, "    bytes private constant IC =");
    for (size_t i = 0; i <= vk->n_public; i++) {
        for (unsigned k = 0; k < 2; k++) {
            coordinate v = at(c, vk->ic + i * c->g1.point_size, k);
            cuzk_buf_puts(out, "\n        hex\"");
            put_hex(out, v.b, v.len);
            cuzk_buf_puts(out, "\"");
        }
    }
    cuzk_buf_puts(out, ";\n");
}

static void put_head(cuzk_buf *out, const cuzk_vk *vk, const char *precompiles) {
    const cuzk_fr_ops *fr = vk->curve->fr;
    cuzk_buf_printf(out,
                    "// SPDX-License-Identifier: Apache-2.0\n"
                    "// Groth16 verifier of one circuit on %s, with the precompiles of %s.\n"
                    "// Made by `cuzk export-verifier` from the circuit's verification key.\n"
                    "pragma solidity >=0.8.13 <0.9.0;\n"
                    "\n"
                    "contract Groth16Verifier {\n"
                    "    // The number of points, and of values that a signal may have.\n"
                    "    uint256 private constant R = 0x%016" PRIx64 "%016" PRIx64 "%016" PRIx64
                    "%016" PRIx64 ";\n"
                    "    // One point for the constant 1, then one for each public signal.\n",
                    vk->curve->circom, precompiles, fr->modulus.l[3], fr->modulus.l[2],
                    fr->modulus.l[1], fr->modulus.l[0]);
    put_ic(out, vk);
}

/* The function's doc and head. per_coordinate: words of one. */
static void put_signature(cuzk_buf *out, const cuzk_vk *vk, unsigned per_coordinate) {
    cuzk_buf_printf(out,
                    "\n"
                    "    /// True when (a, b, c) proves the statement for these public signals. "
                    "False for\n"
                    "    /// anything else: a signal that is not below R, a point off its curve, "
                    "and so on.\n"
                    "    function verifyProof(\n"
                    "        uint256[%u] calldata a,\n"
                    "        uint256[%s] calldata b,\n"
                    "        uint256[%u] calldata c",
                    2 * per_coordinate, per_coordinate == 1 ? "2][2" : "8", 2 * per_coordinate);
    if (vk->n_public) cuzk_buf_printf(out, ",\n        uint256[%u] calldata signals", vk->n_public);
    cuzk_buf_puts(out, "\n    ) public view returns (bool) {\n");
}

/* Pair 1 (-alpha, beta), the gamma of pair 2 and the delta of pair 3; `pair` is the number of words
 * of one. */
static void put_key_points(cuzk_buf *out, const cuzk_vk *vk, unsigned pair) {
    const cuzk_curve *c = vk->curve;
    unsigned g1_words = pair / 3;
    cuzk_point t;
    c->g1.neg(&t, &vk->alpha1);
    cuzk_buf_puts(out, "        // -alpha, beta\n");
    put_point(out, c, CUZK_G1, &t, pair);
    put_point(out, c, CUZK_G2, &vk->beta2, pair + g1_words);
    c->g2.neg(&t, &vk->gamma2);
    cuzk_buf_puts(out, "        // -gamma\n");
    put_point(out, c, CUZK_G2, &t, 2 * pair + g1_words);
    c->g2.neg(&t, &vk->delta2);
    cuzk_buf_puts(out, "        // -delta\n");
    put_point(out, c, CUZK_G2, &t, 3 * pair + g1_words);
}

static const char bn254_sum_head[] =
    "        // Four pairs (G1, G2) for the pairing check. The first words first hold\n"
    "        // the sum X = IC[0] + signals[0] * IC[1] + ..., and one product.\n"
    "        uint256[24] memory m;\n"
    "        bytes memory ic = IC;\n"
    "        bool ok;\n"
    "        assembly (\"memory-safe\") {\n"
    "            mstore(m, mload(add(ic, 32)))\n"
    "            mstore(add(m, 32), mload(add(ic, 64)))\n"
    "        }\n";

static const char bn254_sum_loop[] =
    "        for (uint256 i = 0; i < signals.length; ++i) {\n"
    "            uint256 s = signals[i];\n"
    "            if (s >= R) return false;\n"
    "            assembly (\"memory-safe\") {\n"
    "                let p := add(ic, mul(64, add(i, 1)))\n"
    "                let q := add(m, 64)\n"
    "                mstore(q, mload(add(p, 32)))\n"
    "                mstore(add(q, 32), mload(add(p, 64)))\n"
    "                mstore(add(q, 64), s)\n"
    "                ok := staticcall(gas(), 7, q, 96, q, 64)\n"
    "                if ok {\n"
    "                    ok := staticcall(gas(), 6, m, 128, m, 64)\n"
    "                }\n"
    "            }\n"
    "            if (!ok) return false;\n"
    "        }\n";

static const char bn254_tail[] = "        // X and C\n"
                                 "        m[12] = m[0];\n"
                                 "        m[13] = m[1];\n"
                                 "        m[18] = c[0];\n"
                                 "        m[19] = c[1];\n"
                                 "        // A, B\n"
                                 "        m[0] = a[0];\n"
                                 "        m[1] = a[1];\n"
                                 "        m[2] = b[0][0];\n"
                                 "        m[3] = b[0][1];\n"
                                 "        m[4] = b[1][0];\n"
                                 "        m[5] = b[1][1];\n"
                                 "        assembly (\"memory-safe\") {\n"
                                 "            ok := staticcall(gas(), 8, m, 768, m, 32)\n"
                                 "        }\n"
                                 "        return ok && m[0] == 1;\n"
                                 "    }\n"
                                 "}\n";

static void put_bn254(cuzk_buf *out, const cuzk_vk *vk) {
    put_head(out, vk, "EIP-196 and EIP-197");
    put_signature(out, vk, 1);
    cuzk_buf_puts(out, bn254_sum_head);
    if (vk->n_public) cuzk_buf_puts(out, bn254_sum_loop);
    put_key_points(out, vk, 6);
    cuzk_buf_puts(out, bn254_tail);
}

/* EIP-2537: addition of G1 has no place here, the sum is one multi-scalar multiplication. */
static const char bls_sum_head[] =
    "        // X = IC[0] + signals[0] * IC[1] + ..., as points and scalars for G1MSM.\n"
    "        bytes memory ic = IC;\n"
    "        uint256[%u] memory t;\n"
    "        bool ok;\n"
    "        for (uint256 i = 0; i < %u; ++i) {\n"
    "            uint256 s = 1;\n";

static const char bls_sum_signal[] = "            if (i > 0) s = signals[i - 1];\n"
                                     "            if (s >= R) return false;\n";

static const char bls_sum_tail[] =
    "            assembly (\"memory-safe\") {\n"
    "                let p := add(add(ic, 32), mul(128, i))\n"
    "                let q := add(t, mul(160, i))\n"
    "                mstore(q, mload(p))\n"
    "                mstore(add(q, 32), mload(add(p, 32)))\n"
    "                mstore(add(q, 64), mload(add(p, 64)))\n"
    "                mstore(add(q, 96), mload(add(p, 96)))\n"
    "                mstore(add(q, 128), s)\n"
    "            }\n"
    "        }\n"
    "        // Four pairs (G1, G2) for the pairing check; X goes to the third.\n"
    "        uint256[48] memory m;\n"
    "        assembly (\"memory-safe\") {\n"
    "            ok := staticcall(gas(), 12, t, %u, add(m, 768), 128)\n"
    "        }\n"
    "        if (!ok) return false;\n";

static const char bls_tail[] = "        // A, B, C\n"
                               "        for (uint256 i = 0; i < 4; ++i) {\n"
                               "            m[i] = a[i];\n"
                               "            m[36 + i] = c[i];\n"
                               "        }\n"
                               "        for (uint256 i = 0; i < 8; ++i) m[4 + i] = b[i];\n"
                               "        assembly (\"memory-safe\") {\n"
                               "            ok := staticcall(gas(), 15, m, 1536, m, 32)\n"
                               "        }\n"
                               "        return ok && m[0] == 1;\n"
                               "    }\n"
                               "}\n";

static void put_bls12_381(cuzk_buf *out, const cuzk_vk *vk) {
    unsigned points = vk->n_public + 1;
    put_head(out, vk, "EIP-2537");
    put_signature(out, vk, 2);
    cuzk_buf_printf(out, bls_sum_head, 5 * points, points);
    if (vk->n_public) cuzk_buf_puts(out, bls_sum_signal);
    cuzk_buf_printf(out, bls_sum_tail, 160 * points);
    put_key_points(out, vk, 12);
    cuzk_buf_puts(out, bls_tail);
}

size_t cuzk_solidity_max_signals(const cuzk_curve *curve) {
    return curve->id == CUZK_BN254 ? 360 : 175;
}

void cuzk_solidity_verifier(const cuzk_vk *vk, cuzk_buf *out) {
    if (vk->curve->id == CUZK_BN254)
        put_bn254(out, vk);
    else
        put_bls12_381(out, vk);
}

static void put_quoted(cuzk_buf *out, const uint8_t *word) {
    cuzk_buf_puts(out, "\"0x");
    put_hex(out, word, WORD);
    cuzk_buf_puts(out, "\"");
}

/* `n` coordinates in brackets. */
static void put_list(cuzk_buf *out, const cuzk_curve *c, const void *point, const unsigned *index,
                     unsigned n) {
    cuzk_buf_puts(out, "[");
    for (unsigned i = 0; i < n; i++) {
        coordinate v = at(c, point, index[i]);
        for (size_t w = 0; w < v.len; w += WORD) {
            if (i || w) cuzk_buf_puts(out, ", ");
            put_quoted(out, v.b + w);
        }
    }
    cuzk_buf_puts(out, "]");
}

void cuzk_solidity_calldata(const cuzk_proof *proof, const cuzk_u256 *signals, size_t n,
                            cuzk_buf *out) {
    static const unsigned order[] = {0, 1, 2, 3}, x_swapped[] = {1, 0}, y_swapped[] = {3, 2};
    const cuzk_curve *c = proof->curve;
    put_list(out, c, &proof->a, order, 2);
    cuzk_buf_puts(out, ",");
    if (c->id == CUZK_BN254) {
        cuzk_buf_puts(out, "[");
        put_list(out, c, &proof->b, x_swapped, 2);
        cuzk_buf_puts(out, ",");
        put_list(out, c, &proof->b, y_swapped, 2);
        cuzk_buf_puts(out, "]");
    } else {
        put_list(out, c, &proof->b, order, 4);
    }
    cuzk_buf_puts(out, ",");
    put_list(out, c, &proof->c, order, 2);
    cuzk_buf_puts(out, ",[");
    for (size_t i = 0; i < n; i++) {
        uint8_t word[WORD];
        for (size_t k = 0; k < WORD; k++)
            word[WORD - 1 - k] = (uint8_t)(signals[i].l[k / 8] >> (8 * (k % 8)));
        if (i) cuzk_buf_puts(out, ",");
        put_quoted(out, word);
    }
    cuzk_buf_puts(out, "]");
}

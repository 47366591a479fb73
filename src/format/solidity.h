/* Solidity and calldata for a Groth16 verifier on Ethereum's precompiles: BN254 (EIP-196, EIP-197)
 * and BLS12-381 (EIP-2537). docs/solidity.md shows the interface of the contracts. */
#ifndef CUZK_FORMAT_SOLIDITY_H
#define CUZK_FORMAT_SOLIDITY_H

#include "base/buf.h"
#include "format/groth16_data.h"

#include <stddef.h>

/* With more public signals than this a contract is larger than the 24,576 bytes that Ethereum's
 * main network accepts (EIP-170). */
size_t cuzk_solidity_max_signals(const cuzk_curve *curve);

/* Appends a contract `Groth16Verifier` with one function, which callers of snarkjs's contract call
 * alike on BN254:
 *
 *     verifyProof(uint256[2] a, uint256[2][2] b, uint256[2] c, uint256[n] signals) returns (bool)
 *
 * On BLS12-381 a coordinate takes two words, high first: uint256[4] a, uint256[8] b, uint256[4] c.
 * Where n is 0 the last argument does not exist. It answers false, and does not revert, when a
 * signal is not below r, a coordinate not below p, or a point off its curve or outside its
 * subgroup. Check cuzk_buf_status(out) afterwards. */
void cuzk_solidity_verifier(const cuzk_vk *vk, cuzk_buf *out);

/* Appends the arguments of verifyProof as text: what `snarkjs zkey export soliditycalldata` prints
 * for BN254 (G2 coordinates as the precompile takes them, c1 before c0; EIP-2537 takes c0 first).
 * signals: n plain scalars. */
void cuzk_solidity_calldata(const cuzk_proof *proof, const cuzk_u256 *signals, size_t n,
                            cuzk_buf *out);

#endif

#include "filecoin/challenges.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "filecoin/blake2b.h"
#include "filecoin/chacha.h"
#include "filecoin/fr.h"

static const char synth_generate[] = "filecoin.io|PoRep|1|Synthetic|1|Generation";
static const char synth_select[] = "filecoin.io|PoRep|1|Synthetic|1|Selection";
static const char non_interactive[] = "filecoin.io|PoRep|1|NonInteractive|1";
enum { SYNTH_LOG2_MAX = 18 };

void cuzk_prover_id(uint8_t out[32], uint64_t miner) {
    memset(out, 0, 32);
    for (int i = 0; i == 0 || miner; i++) {
        out[i] = (uint8_t)((miner & 0x7f) | (miner > 0x7f ? 0x80 : 0));
        miner >>= 7;
    }
}

cuzk_status cuzk_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector,
                            const uint8_t ticket[32], const uint8_t comm_d[32],
                            const uint8_t porep_id[32]) {
    uint8_t in[32 + 8 + 96];
    memcpy(in, prover_id, 32);
    cuzk_st_u64be(in + 32, sector);
    memcpy(in + 40, ticket, 32);
    memcpy(in + 72, comm_d, 32);
    memcpy(in + 104, porep_id, 32);
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, in, sizeof in, out));
    out[31] &= 0x3f;
    return CUZK_OK;
}

/* A 256-bit little-endian integer mod (nodes - 1), plus 1. */
static uint64_t reduce(const uint8_t h[32], uint32_t log2_nodes) {
    const uint64_t m = ((uint64_t)1 << log2_nodes) - 1;
    uint64_t r = 0;
    for (int i = 7; i >= 0; i--)
        r = (r << 32 | cuzk_ld_u32le(h + 4 * i)) % m;
    return r + 1;
}

/* SHA-256(domain, replica_id, mixed, index), reduced. */
static cuzk_status hashed(uint64_t *out, const char *domain, const uint8_t replica_id[32],
                          const uint8_t mixed[32], uint32_t index, uint32_t log2_nodes) {
    uint8_t in[sizeof non_interactive + 68], h[32];
    const size_t n = strlen(domain);
    memcpy(in, domain, n);
    memcpy(in + n, replica_id, 32);
    memcpy(in + n + 32, mixed, 32);
    cuzk_st_u32le(in + n + 64, index);
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, in, n + 68, h));
    *out = reduce(h, log2_nodes);
    return CUZK_OK;
}

static void synth_key(uint8_t key[32], const char *domain, const uint8_t a[32],
                      const uint8_t b[32]) {
    uint8_t in[64];
    memcpy(in, a, 32);
    memcpy(in + 32, b, 32);
    cuzk_blake2b(key, 32, domain, strlen(domain), in, sizeof in);
}

/* n bytes of the key stream from byte `at`, which is a multiple of n; n divides 64. */
static void synth_stream(uint8_t *out, size_t n, const uint8_t key[32], uint64_t at) {
    static const uint8_t nonce[12] = {'s', 'y', 'n', 't', 'h', '-', 'p', 'o', 'r', 'e', 'p', 0};
    uint32_t block[16], tail[4] = {(uint32_t)(at / 64)};
    memcpy(tail + 1, nonce, sizeof nonce);
    cuzk_chacha_block(block, key, tail, 20);
    memcpy(out, (const uint8_t *)block + at % 64, n);
}

cuzk_status cuzk_porep_challenges(uint64_t *out, uint32_t first, size_t n, cuzk_porep_rule rule,
                                  uint32_t log2_nodes, const uint8_t replica_id[32],
                                  const uint8_t comm_r[32], const uint8_t seed[32]) {
    uint8_t generate[32], select[32], h[32];
    const unsigned log2_set = log2_nodes < SYNTH_LOG2_MAX ? log2_nodes : SYNTH_LOG2_MAX;
    if (rule == CUZK_POREP_SYNTHETIC) {
        synth_key(generate, synth_generate, replica_id, comm_r);
        synth_key(select, synth_select, replica_id, seed);
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t j = first + (uint32_t)i;
        switch (rule) {
        case CUZK_POREP_INTERACTIVE:
            CUZK_TRY(hashed(&out[i], "", replica_id, seed, j, log2_nodes));
            break;
        case CUZK_POREP_SYNTHETIC:
            synth_stream(h, 4, select, 4 * (uint64_t)j);
            synth_stream(h, 32, generate,
                         32 * (uint64_t)(cuzk_ld_u32le(h) & (((uint32_t)1 << log2_set) - 1)));
            out[i] = reduce(h, log2_nodes);
            break;
        case CUZK_POREP_NON_INTERACTIVE:
            CUZK_TRY(hashed(&out[i], non_interactive, replica_id, comm_r, j, log2_nodes));
            break;
        }
    }
    return CUZK_OK;
}

cuzk_status cuzk_post_challenge(uint64_t *out, const uint8_t randomness[32], uint64_t sector,
                                uint64_t index, uint32_t log2_nodes) {
    uint8_t in[48], h[32];
    memcpy(in, randomness, 32);
    cuzk_st_u64le(in + 32, sector);
    cuzk_st_u64le(in + 40, index);
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, in, sizeof in, h));
    *out = cuzk_ld_u64le(h) & (((uint64_t)1 << log2_nodes) - 1);
    return CUZK_OK;
}

/* ---- update ---- */

static void tagged_hash(cuzk_u256 *out, const cuzk_poseidon *p2, const cuzk_u256 *a,
                        const cuzk_u256 *b) {
    const cuzk_u256 in[2] = {*a, *b};
    cuzk_poseidon_hash(out, p2, CUZK_POSEIDON_TAG_CUSTOM_1, in);
}

cuzk_status cuzk_update_challenges(uint64_t *out, size_t n, const cuzk_poseidon *p2,
                                   const uint8_t comm_r_new[32], uint32_t partition,
                                   uint32_t log2_nodes, uint32_t log2_partitions) {
    const uint32_t bits = log2_nodes - log2_partitions, per_digest = 254 / bits;
    const uint64_t n_digests = (n + per_digest - 1) / per_digest;
    cuzk_u256 root, index, digest = {{0}};
    if (!cuzk__fr_read(&root, comm_r_new)) return CUZK_STATUS_BAD_INPUT;
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = (uint32_t)(i % per_digest) * bits, limb = at / 64, shift = at % 64;
        if (at == 0) {
            cuzk_bls12_381_fr_from_u64(&index, n_digests * partition + i / per_digest);
            tagged_hash(&digest, p2, &root, &index);
            cuzk_bls12_381_fr_from_mont(&digest, &digest);
        }
        uint64_t c = digest.l[limb] >> shift;
        if (shift && limb < 3) c |= digest.l[limb + 1] << (64 - shift);
        out[i] = (c & (((uint64_t)1 << bits) - 1)) | (uint64_t)partition << bits;
    }
    return CUZK_OK;
}

cuzk_status cuzk_update_phi(cuzk_u256 *phi, const cuzk_poseidon *p2, const uint8_t comm_d_new[32],
                            const uint8_t comm_r_old[32]) {
    cuzk_u256 d, r;
    if (!cuzk__fr_read(&d, comm_d_new) || !cuzk__fr_read(&r, comm_r_old))
        return CUZK_STATUS_BAD_INPUT;
    tagged_hash(phi, p2, &d, &r);
    return CUZK_OK;
}

void cuzk_update_rho(cuzk_u256 *rho, const cuzk_poseidon *p2, const cuzk_u256 *phi, uint64_t high) {
    cuzk_u256 x;
    cuzk_bls12_381_fr_from_u64(&x, high);
    tagged_hash(rho, p2, phi, &x);
}

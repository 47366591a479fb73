#include "filecoin/graph.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "filecoin/blake2b.h"
#include "filecoin/chacha.h"

enum { SAMPLED = CUZK_GRAPH_DRG - 1 };

static cuzk_status domain_seed(uint8_t out[32], const char *domain, const uint8_t porep_id[32]) {
    cuzk_hash *h;
    CUZK_TRY(cuzk_hash_new(&h, CUZK_HASH_SHA256));
    cuzk_hash_update(h, domain, strlen(domain));
    cuzk_hash_update(h, porep_id, 32);
    return cuzk_hash_final(h, out);
}

cuzk_status cuzk_graph_init(cuzk_graph *g, uint32_t log2_nodes, const uint8_t porep_id[32],
                            cuzk_api_version version) {
    uint8_t seed[32];
    memset(g, 0, sizeof *g);
    g->log2_nodes = log2_nodes;
    g->version = version;
    CUZK_TRY(domain_seed(seed, "Filecoin_DRSample", porep_id));
    memcpy(g->drg_seed, seed, sizeof g->drg_seed);
    CUZK_TRY(domain_seed(seed, "Filecoin_Feistel", porep_id));
    for (int i = 0; i < 3; i++)
        g->feistel_key[i] = cuzk_ld_u64le(seed + 8 * i);
    g->half_bits = (log2_nodes + 3 + 1) / 2; /* 4^half_bits >= 8 nodes */
    return CUZK_OK;
}

static unsigned ceil_log2(uint64_t x) {
    return x < 2 ? 0 : 64 - (unsigned)__builtin_clzll(x - 1);
}

void cuzk_graph_drg_parents(const cuzk_graph *g, uint32_t node, uint32_t out[CUZK_GRAPH_DRG]) {
    memset(out, 0, CUZK_GRAPH_DRG * sizeof *out);
    if (node < 2) return;
    const bool previous_first = g->version != CUZK_API_V1_0;
    uint8_t key[32];
    uint32_t words[32];
    memcpy(key, g->drg_seed, sizeof g->drg_seed);
    cuzk_st_u32le(key + 28, node);
    cuzk_chacha_block(words, key, (const uint32_t[4]){0, 0, 0, 0}, 8);
    cuzk_chacha_block(words + 16, key, (const uint32_t[4]){1, 0, 0, 0}, 8);
    const uint64_t meta = (uint64_t)node * SAMPLED;
    const unsigned buckets = ceil_log2(meta);
    for (int i = 0; i < SAMPLED; i++) {
        const uint64_t pick = words[4 * i] | (uint64_t)words[4 * i + 1] << 32;
        const uint64_t dist = words[4 * i + 2] | (uint64_t)words[4 * i + 3] << 32;
        const unsigned bucket = (unsigned)(pick % buckets) + 1;
        const uint64_t largest = meta < (uint64_t)1 << bucket ? meta : (uint64_t)1 << bucket;
        const uint64_t smallest = largest / 2 > 2 ? largest / 2 : 2;
        const uint64_t d = smallest + dist % (largest - smallest + 1);
        const uint32_t parent = (uint32_t)((meta - d) / SAMPLED);
        out[i + previous_first] = parent == node ? node - 1 : parent;
    }
    out[previous_first ? 0 : SAMPLED] = node - 1;
}

static uint64_t feistel(const cuzk_graph *g, uint64_t x) {
    const uint64_t mask = ((uint64_t)1 << g->half_bits) - 1;
    uint64_t left = x >> g->half_bits, right = x & mask;
    for (int i = 0; i < 3; i++) {
        const uint64_t next = left ^ (cuzk_blake2b_pair(right, g->feistel_key[i]) & mask);
        left = right;
        right = next;
    }
    return left << g->half_bits | right;
}

void cuzk_graph_exp_parents(const cuzk_graph *g, uint32_t node, uint32_t out[CUZK_GRAPH_EXP]) {
    const uint64_t edges = (uint64_t)CUZK_GRAPH_EXP << g->log2_nodes;
    for (uint32_t i = 0; i < CUZK_GRAPH_EXP; i++) {
        uint64_t x = (uint64_t)node * CUZK_GRAPH_EXP + i;
        do {
            x = feistel(g, x);
        } while (x >= edges);
        if (g->version == CUZK_API_V1_0) x = (uint32_t)x;
        out[i] = (uint32_t)(x / CUZK_GRAPH_EXP);
    }
}

void cuzk_graph_parents(const cuzk_graph *g, uint32_t node, uint32_t out[CUZK_GRAPH_PARENTS]) {
    cuzk_graph_drg_parents(g, node, out);
    cuzk_graph_exp_parents(g, node, out + CUZK_GRAPH_DRG);
}

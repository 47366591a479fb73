#include "filecoin/params.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The files of parameters.json, version 28. */
static const struct {
    const char *circuit, *params, *vk;
} published[] = {
    {"porep-2k", "434fb1338ecfaf0f59256f30dde4968f", "dc1ade9929ade1708238f155343044ac"},
    {"porep-8m", "09e612e4eeb7a0eb95679a88404f960c", "b687beb9adbd9dabe265a7e3620813e4"},
    {"porep-512m", "6c77597eb91ab936c1cef4cf19eba1b3", "065179da19fbe515507267677f02823e"},
    {"porep-32g", "6a388072a518cf46ebd661f5cc46900a", "0c7b4aac1c40fdb7eb82bc355b41addf"},
    {"porep-64g", "1801f8a6e1b00bceb00cc27314bb5ce3", "a89884252c04c298d0b3c81bfd884164"},
    {"wpost-2k", "7610b9f82bfc88405b7a832b651ce2f6", "0e0958009936b9d5e515ec97b8cb792d"},
    {"wpost-8m", "c49499bb76a0762884896f9683403f55", "34d4feeacd9abf788d69ef1bb4d8fd00"},
    {"wpost-512m", "1a7d4a9c8a502a497ed92a54366af33f", "4dae975de4f011f101f5a2f86d1daaba"},
    {"wpost-32g", "2cf49eb26f1fee94c85781a390ddb4c8", "0f8ec542485568fa3468c066e9fed82b"},
    {"wpost-64g", "3810b7780ac0e299b22ae70f1f94c9bc", "59d2bf1857adc59a4f08fcf2afaa916b"},
    {"winning-2k", "82c88066be968bb550a05e30ff6c2413", "ffd79788d614d27919ae5bd2d94eacb6"},
    {"winning-8m", "700171ecf7334e3199437c930676af82", "79ebb55f56fda427743e35053edad8fc"},
    {"winning-512m", "827359440349fe8f5a016e7598993b79", "bd2cd62f65c1ab84f19ca27e97b7c731"},
    {"winning-32g", "d84f79a16fe40e9e25a36e2107bb1ba0", "fc02943678dd119e69e7fab8420e8819"},
    {"winning-64g", "2170a91ad5bae22ea61f2ea766630322", "6d3789148fb6466d07ee1e24d6292fd6"},
    {"snap-2k", "311f92a3e75036ced01b1c0025f1fa0c", "eadad9784969890d30f2749708c79771"},
    {"snap-8m", "5aedd2cf3e5c0a15623d56a1b43110ad", "abd80269054d391a734febdac0d2e687"},
    {"snap-512m", "c3ad7bb549470b82ad52ed070aebb4f4", "994c5b7d450ca9da348c910689f2dc7f"},
    {"snap-32g", "1b3cfd761a961543f9eb273e435a06a2", "3a6941983754737fde880d29c7094905"},
    {"snap-64g", "1a392e7b759fb18e036c7559b5ece816", "80e366df2f1011953c2d01c7b7c9ee8e"},
    {"snap-poseidon-32g", "b69983b5d7a97a20f43b3d5ff2a4ed04", "1ac05784f304129f74c5184190c1ec78"},
    {"snap-poseidon-64g", "a6d4f96e2b641a6d7a1a8e6dc1155c8a", "8e8fb9e2c56eb5d740d0de135305a7b8"},
};

enum { IDENTIFIER_MAX = 512, NODE = 32 /* bytes */ };

static uint64_t at_least_one(uint64_t n) {
    return n ? n : 1;
}

static uint64_t leaves_of(const cuzk_tree_shape *t) {
    uint64_t n = at_least_one(t->sub) * at_least_one(t->top);
    for (uint32_t i = 0; i < t->base; i++)
        n *= t->base_arity;
    return n;
}

/* Text that is hashed, and what stands between "v28-" and the hash. */
static void describe(const cuzk_circuit *c, char *id, size_t id_room, char *prefix,
                     size_t prefix_room, uint64_t *sector_size) {
    char tree[40];
    const cuzk_tree_shape *t = c->kind == CUZK_CIRCUIT_POREP  ? &c->u.porep.tree
                               : c->kind == CUZK_CIRCUIT_POST ? &c->u.post.tree
                                                              : &c->u.update.tree;
    snprintf(tree, sizeof tree, "%" PRIu32 "-%" PRIu32 "-%" PRIu32, t->base_arity, t->sub, t->top);
    const uint64_t nodes = leaves_of(t);
    *sector_size = nodes * NODE;
    switch (c->kind) {
    case CUZK_CIRCUIT_POREP:
        snprintf(id, id_room,
                 "layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{"
                 "expansion_degree: %d base_graph: drgraph::BucketGraph{size: %" PRIu64
                 "; degree: %d; hasher: poseidon_hasher} }, challenges: LayerChallenges { layers: "
                 "%" PRIu32 ", max_count: %" PRIu32 " }, tree: merkletree-poseidon_hasher-%s }",
                 CUZK_POREP_EXP_PARENTS, nodes, CUZK_POREP_DRG_PARENTS, c->u.porep.layers,
                 c->u.porep.challenges, tree);
        snprintf(prefix, prefix_room,
                 "stacked-proof-of-replication-merkletree-poseidon_hasher-%s-sha256_hasher", tree);
        break;
    case CUZK_CIRCUIT_POST:
        snprintf(id, id_room,
                 "FallbackPoSt::PublicParams{sector_size: %" PRIu64 ", challenge_count: %" PRIu32
                 ", sector_count: %" PRIu32 "}",
                 *sector_size, c->u.post.challenges, c->u.post.sectors);
        snprintf(prefix, prefix_room, "proof-of-spacetime-fallback-merkletree-poseidon_hasher-%s",
                 tree);
        break;
    case CUZK_CIRCUIT_UPDATE:
        snprintf(id, id_room, "empty_sector_update::PublicParams{ sector_nodes: %" PRIu64 " }",
                 nodes);
        snprintf(prefix, prefix_room, "empty-sector-update-%smerkletree-poseidon_hasher-%s",
                 c->u.update.poseidon ? "poseidon-" : "", tree);
        break;
    }
}

cuzk_status cuzk_filecoin_params_name(cuzk_params_name *out, const cuzk_circuit *c) {
    char id[IDENTIFIER_MAX], prefix[CUZK_PARAMS_NAME_MAX];
    uint8_t hash[32];
    memset(out, 0, sizeof *out);
    describe(c, id, sizeof id, prefix, sizeof prefix, &out->sector_size);
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, id, strlen(id), hash));
    int n = snprintf(out->stem, sizeof out->stem, "v28-%s-", prefix);
    for (size_t i = 0; i < sizeof hash; i++)
        snprintf(out->stem + n + 2 * i, 3, "%02x", hash[i]);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        if (strcmp(published[i].circuit, c->name) != 0) continue;
        out->params_digest = published[i].params;
        out->vk_digest = published[i].vk;
    }
    return CUZK_OK;
}

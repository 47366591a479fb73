#include "filecoin/ids.h"

#include "base/bytes.h"

#include <string.h>

#define SEAL(n, size, suffix, circuit, nodes, v, rule, parts, challenges)                          \
    {                                                                                              \
        n, "StackedDrg" size suffix, "StackedDrg" size "V1", circuit, 32ull << (nodes), nodes, v,  \
            rule, parts, challenges                                                                \
    }
#define SEALS(n, suffix, v, rule, parts_small, parts)                                              \
    SEAL(n + 0, "2KiB", suffix, "porep-2k", 6, v, rule, parts_small, 2),                           \
        SEAL(n + 1, "8MiB", suffix, "porep-8m", 18, v, rule, parts_small, 2),                      \
        SEAL(n + 2, "512MiB", suffix, "porep-512m", 24, v, rule, parts_small, 2),                  \
        SEAL(n + 3, "32GiB", suffix, "porep-32g", 30, v, rule, parts, 18),                         \
        SEAL(n + 4, "64GiB", suffix, "porep-64g", 31, v, rule, parts, 18)

static const cuzk_seal_type seals[CUZK_SEAL_TYPES] = {
    SEALS(0, "V1", CUZK_API_V1_0, CUZK_POREP_INTERACTIVE, 1, 10),
    SEALS(5, "V1_1", CUZK_API_V1_1, CUZK_POREP_INTERACTIVE, 1, 10),
    SEALS(10, "V1_1_Feat_SyntheticPoRep", CUZK_API_V1_2, CUZK_POREP_SYNTHETIC, 1, 10),
    SEALS(15, "V1_2_Feat_NonInteractivePoRep", CUZK_API_V1_2, CUZK_POREP_NON_INTERACTIVE, 13, 126),
};

#define POST(n, kind, size, suffix, circuit, win, nodes, v, sectors, challenges)                   \
    {                                                                                              \
        n, "StackedDrg" kind size suffix, circuit, win, 32ull << (nodes), nodes, v, sectors,       \
            challenges                                                                             \
    }
#define WINNINGS(n, v)                                                                             \
    POST(n + 0, "Winning", "2KiB", "V1", "winning-2k", true, 6, v, 1, 66),                         \
        POST(n + 1, "Winning", "8MiB", "V1", "winning-8m", true, 18, v, 1, 66),                    \
        POST(n + 2, "Winning", "512MiB", "V1", "winning-512m", true, 24, v, 1, 66),                \
        POST(n + 3, "Winning", "32GiB", "V1", "winning-32g", true, 30, v, 1, 66),                  \
        POST(n + 4, "Winning", "64GiB", "V1", "winning-64g", true, 31, v, 1, 66)
#define WINDOWS(n, suffix, v)                                                                      \
    POST(n + 0, "Window", "2KiB", suffix, "wpost-2k", false, 6, v, 2, 10),                         \
        POST(n + 1, "Window", "8MiB", suffix, "wpost-8m", false, 18, v, 2, 10),                    \
        POST(n + 2, "Window", "512MiB", suffix, "wpost-512m", false, 24, v, 2, 10),                \
        POST(n + 3, "Window", "32GiB", suffix, "wpost-32g", false, 30, v, 2349, 10),               \
        POST(n + 4, "Window", "64GiB", suffix, "wpost-64g", false, 31, v, 2300, 10)

static const cuzk_post_type posts[CUZK_POST_TYPES] = {
    WINNINGS(0, CUZK_API_V1_0),
    WINDOWS(5, "V1", CUZK_API_V1_0),
    WINDOWS(10, "V1_2", CUZK_API_V1_2),
};

static const cuzk_update_type updates[CUZK_UPDATE_TYPES] = {
    {0, "StackedDrg2KiBV1", "snap-2k", 2048, 6, 1, 10},
    {1, "StackedDrg8MiBV1", "snap-8m", 8 << 20, 18, 4, 10},
    {2, "StackedDrg512MiBV1", "snap-512m", 512 << 20, 24, 16, 86},
    {3, "StackedDrg32GiBV1", "snap-32g", 32ull << 30, 30, 16, 86},
    {4, "StackedDrg64GiBV1", "snap-64g", 64ull << 30, 31, 16, 86},
};

static bool same(const char *name, const char *text, size_t len) {
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

const cuzk_seal_type *cuzk_seal_type_at(uint64_t number) {
    return number < CUZK_SEAL_TYPES ? &seals[number] : NULL;
}

const cuzk_seal_type *cuzk_seal_type_find(const char *name, size_t len) {
    for (int i = 0; i < CUZK_SEAL_TYPES; i++)
        if (same(seals[i].name, name, len)) return &seals[i];
    return NULL;
}

const cuzk_seal_type *cuzk_seal_type_by_tag(const char *tag, size_t len) {
    for (int i = 0; i < CUZK_SEAL_TYPES; i++)
        if (same(seals[i].tag, tag, len)) return &seals[i];
    return NULL;
}

void cuzk_seal_type_porep_id(uint64_t number, uint8_t out[32]) {
    memset(out, 0, 32);
    cuzk_st_u64le(out, number);
}

const cuzk_post_type *cuzk_post_type_at(uint64_t number) {
    return number < CUZK_POST_TYPES ? &posts[number] : NULL;
}

const cuzk_post_type *cuzk_post_type_find(const char *name, size_t len) {
    for (int i = 0; i < CUZK_POST_TYPES; i++)
        if (same(posts[i].name, name, len)) return &posts[i];
    return NULL;
}

const cuzk_post_type *cuzk_post_type_of_chain(const char *name, size_t len) {
    for (int i = 0; i < CUZK_POST_TYPES; i++) {
        const char *own = posts[i].name;
        const size_t n = strlen(own);
        if (posts[i].version == CUZK_API_V1_2 && n == len && memcmp(own, name, n - 1) == 0 &&
            name[n - 1] == '1')
            return &posts[i];
    }
    return NULL;
}

const cuzk_update_type *cuzk_update_type_at(uint64_t number) {
    return number < CUZK_UPDATE_TYPES ? &updates[number] : NULL;
}

const cuzk_update_type *cuzk_update_type_find(const char *name, size_t len) {
    for (int i = 0; i < CUZK_UPDATE_TYPES; i++)
        if (same(updates[i].name, name, len)) return &updates[i];
    return NULL;
}

const cuzk_circuit *cuzk_porep_circuit_of(uint32_t log2_nodes) {
    const cuzk_circuit *c;
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++)
        if (c->kind == CUZK_CIRCUIT_POREP && c->u.porep.log2_nodes == log2_nodes &&
            strncmp(c->name, "test-", 5) != 0)
            return c;
    return NULL;
}

#include "circuit/circuits.h"

#include "circuit/record.h"

#include <string.h>

#define TREE(base, sub, top)                                                                       \
    { 8, base, sub, top }

#define POREP(size, nodes, base, sub, top, layers, challenges)                                     \
    {                                                                                              \
        .name = "porep-" size, .what = "StackedDRG proof of replication, one partition",           \
        .kind = CUZK_CIRCUIT_POREP, .u.porep = {                                                   \
            nodes,                                                                                 \
            TREE(base, sub, top),                                                                  \
            layers,                                                                                \
            challenges                                                                             \
        }                                                                                          \
    }
#define WPOST(size, base, sub, top, sectors)                                                       \
    {                                                                                              \
        .name = "wpost-" size, .what = "WindowPoSt, one partition", .kind = CUZK_CIRCUIT_POST,     \
        .u.post = {                                                                                \
            TREE(base, sub, top),                                                                  \
            sectors,                                                                               \
            10                                                                                     \
        }                                                                                          \
    }
#define WINNING(size, base, sub, top)                                                              \
    {                                                                                              \
        .name = "winning-" size, .what = "WinningPoSt", .kind = CUZK_CIRCUIT_POST, .u.post = {     \
            TREE(base, sub, top),                                                                  \
            66,                                                                                    \
            1                                                                                      \
        }                                                                                          \
    }
#define H_SMALL                                                                                    \
    { 1, 1, 1, 1, 1, 1 }
#define H_LARGE                                                                                    \
    { 7, 8, 9, 10, 11, 12 }
#define SNAP(size, nodes, base, sub, top, k, n, apex, h_choices)                                   \
    {                                                                                              \
        .name = "snap-" size, .what = "EmptySectorUpdate (SnapDeals), one partition",              \
        .kind = CUZK_CIRCUIT_UPDATE, .u.update = {                                                 \
            .log2_nodes = nodes,                                                                   \
            .tree = TREE(base, sub, top),                                                          \
            .log2_partitions = k,                                                                  \
            .challenges = n,                                                                       \
            .log2_apex = apex,                                                                     \
            .h = h_choices                                                                         \
        }                                                                                          \
    }
#define SNAP_POSEIDON(size, nodes, base, sub, top, n, h_choices)                                   \
    {                                                                                              \
        .name = "snap-poseidon-" size, .what = "EmptySectorUpdate with a Poseidon tree D",         \
        .kind = CUZK_CIRCUIT_UPDATE, .u.update = {                                                 \
            .log2_nodes = nodes,                                                                   \
            .tree = TREE(base, sub, top),                                                          \
            .challenges = n,                                                                       \
            .h = h_choices,                                                                        \
            .poseidon = true                                                                       \
        }                                                                                          \
    }
#define TEST_POREP(shape, nodes, arity, base, sub, top)                                            \
    {                                                                                              \
        .name = "test-porep-" shape, .what = "the reference implementation's test circuit",        \
        .kind = CUZK_CIRCUIT_POREP, .u.porep = {                                                   \
            nodes,                                                                                 \
            {arity, base, sub, top},                                                               \
            2,                                                                                     \
            1                                                                                      \
        }                                                                                          \
    }

static const cuzk_circuit circuits[] = {
    POREP("2k", 6, 2, 0, 0, 2, 2),
    POREP("4k", 7, 2, 2, 0, 2, 2),
    POREP("16k", 9, 2, 8, 0, 2, 2),
    POREP("32k", 10, 2, 8, 2, 2, 2),
    POREP("8m", 18, 6, 0, 0, 2, 2),
    POREP("16m", 19, 6, 2, 0, 2, 2),
    POREP("512m", 24, 8, 0, 0, 2, 2),
    POREP("1g", 25, 8, 2, 0, 2, 2),
    POREP("32g", 30, 9, 8, 0, 11, 18),
    POREP("64g", 31, 9, 8, 2, 11, 18),
    WPOST("2k", 2, 0, 0, 2),
    WPOST("8m", 6, 0, 0, 2),
    WPOST("512m", 8, 0, 0, 2),
    WPOST("32g", 9, 8, 0, 2349),
    WPOST("64g", 9, 8, 2, 2300),
    WINNING("2k", 2, 0, 0),
    WINNING("8m", 6, 0, 0),
    WINNING("512m", 8, 0, 0),
    WINNING("32g", 9, 8, 0),
    WINNING("64g", 9, 8, 2),
    SNAP("1k", 5, 1, 4, 0, 0, 10, 3, H_SMALL),
    SNAP("2k", 6, 2, 0, 0, 0, 10, 3, H_SMALL),
    SNAP("4k", 7, 2, 2, 0, 0, 10, 3, H_SMALL),
    SNAP("8k", 8, 2, 4, 0, 0, 10, 3, H_SMALL),
    SNAP("16k", 9, 2, 8, 0, 1, 10, 7, H_SMALL),
    SNAP("32k", 10, 2, 8, 2, 1, 10, 7, H_SMALL),
    SNAP("8m", 18, 6, 0, 0, 2, 10, 7, H_LARGE),
    SNAP("16m", 19, 6, 2, 0, 2, 10, 7, H_LARGE),
    SNAP("512m", 24, 8, 0, 0, 4, 86, 7, H_LARGE),
    SNAP("32g", 30, 9, 8, 0, 4, 86, 7, H_LARGE),
    SNAP("64g", 31, 9, 8, 2, 4, 86, 7, H_LARGE),
    SNAP_POSEIDON("1k", 5, 1, 4, 0, 10, H_SMALL),
    SNAP_POSEIDON("2k", 6, 2, 0, 0, 10, H_SMALL),
    SNAP_POSEIDON("4k", 7, 2, 2, 0, 10, H_SMALL),
    SNAP_POSEIDON("8k", 8, 2, 4, 0, 10, H_SMALL),
    SNAP_POSEIDON("16k", 9, 2, 8, 0, 20, H_SMALL),
    SNAP_POSEIDON("32k", 10, 2, 8, 2, 20, H_SMALL),
    SNAP_POSEIDON("8m", 18, 6, 0, 0, 40, H_LARGE),
    SNAP_POSEIDON("16m", 19, 6, 2, 0, 40, H_LARGE),
    SNAP_POSEIDON("512m", 24, 8, 0, 0, 1376, H_LARGE),
    SNAP_POSEIDON("32g", 30, 9, 8, 0, 1376, H_LARGE),
    SNAP_POSEIDON("64g", 31, 9, 8, 2, 1376, H_LARGE),
    TEST_POREP("2-0-0", 3, 2, 3, 0, 0),
    TEST_POREP("8-0-0", 3, 8, 1, 0, 0),
    TEST_POREP("8-4-0", 5, 8, 1, 4, 0),
    TEST_POREP("8-4-2", 6, 8, 1, 4, 2),
};

const cuzk_circuit *cuzk_circuit_at(size_t i) {
    return i < sizeof circuits / sizeof circuits[0] ? &circuits[i] : NULL;
}

const cuzk_circuit *cuzk_circuit_find(const char *name) {
    const cuzk_circuit *c;
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

void cuzk_circuit_build(cuzk_cs *cs, const cuzk_circuit *c) {
    switch (c->kind) {
    case CUZK_CIRCUIT_POREP:
        cuzk_porep_build(cs, &c->u.porep);
        break;
    case CUZK_CIRCUIT_POST:
        cuzk_post_build(cs, &c->u.post);
        break;
    case CUZK_CIRCUIT_UPDATE:
        cuzk_update_build(cs, &c->u.update);
        break;
    }
}

cuzk_status cuzk_circuit_compact(cuzk_r1cs **out, const cuzk_circuit *c, cuzk_err *err) {
    cuzk_status st;
    cuzk_poseidon_set set = {{0}};
    cuzk_recorder *rec = NULL;
    *out = NULL;
    CUZK_TRY_GOTO(cuzk_poseidon_set_init(&set), out);
    CUZK_TRY_GOTO(cuzk_recorder_new(&rec, &set), out);
    cuzk_circuit_build(cuzk_recorder_cs(rec), c);
    st = cuzk_recorder_finish(rec, out, err);
out:
    if (st != CUZK_OK && err && err->status == CUZK_OK)
        cuzk_err_set(err, st, "circuit %s: %s", c->name, cuzk_status_text(st));
    cuzk_recorder_free(rec);
    cuzk_poseidon_set_fini(&set);
    return st;
}

/* What the targets of both forms of a C1 output check. */
#ifndef CUZK_TESTS_FUZZ_C1_H
#define CUZK_TESTS_FUZZ_C1_H

#include "fuzz.h"

#include "filecoin/c1.h"

/* What was let through holds everything that the circuit asks for. */
static inline int fuzz_c1(const uint8_t *data, size_t size) {
    cuzk_c1 *c;
    cuzk_c1_challenge x;
    cuzk_err err = {0};
    if (fuzz_refused(cuzk_c1_from_memory(&c, data, size, "input", &err), &err)) {
        FUZZ_CHECK(!c);
        return 0;
    }
    const cuzk_porep_circuit *k = &c->circuit->u.porep;
    unsigned sum = fuzz_touch(c->data, c->len) + fuzz_touch(c->comm_r, (size_t)5 * 32);
    FUZZ_CHECK(c->partitions > 0 && c->ticket + 32 == c->data + c->len);
    FUZZ_CHECK(!c->type || c->type->partitions == c->partitions);
    for (uint32_t p = 0; p < c->partitions; p++) {
        for (uint32_t i = 0; i < k->challenges; i++) {
            cuzk_c1_challenge_at(c, p, i, &x);
            sum += fuzz_touch(x.encoding.parents, (size_t)32 * CUZK_C1_LABEL_PARENTS);
            FUZZ_CHECK(x.data.path.levels == k->log2_nodes);
            FUZZ_CHECK(x.own.inclusion.path.levels == cuzk_tree_levels(&k->tree));
        }
    }
    cuzk_c1_free(c);
    (void)sum;
    return 0;
}

#endif

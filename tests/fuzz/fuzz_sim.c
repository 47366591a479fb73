/* Scenario files: refused with a line's number, or run, when small, to an end. */
#include "fuzz.h"

#include "engine/sim/sim.h"

static int refused(cuzk_status st, const cuzk_err *err) {
    FUZZ_CHECK(st == CUZK_OK || (st == CUZK_STATUS_BAD_INPUT && err->msg[0]));
    return st != CUZK_OK;
}

static bool small(const cuzk_sim_scenario *s) {
    uint64_t parts = 0;
    for (uint32_t i = 0; i < s->n_kinds; i++)
        parts += (uint64_t)s->kinds[i].count * s->kinds[i].partitions;
    return parts <= 60;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_sim_set set;
    cuzk_err err = {0};
    if (refused(cuzk_sim_read(&set, (const char *)data, size, &err), &err)) {
        cuzk_sim_free(&set);
        return 0;
    }
    FUZZ_CHECK(set.n > 0);
    for (size_t i = 0; i < set.n && i < 4; i++) {
        cuzk_sim_result r;
        err = (cuzk_err){0};
        if (!small(&set.items[i])) continue;
        if (refused(cuzk_sim_run(&r, &set.items[i], NULL, &err), &err)) continue;
        FUZZ_CHECK(r.wall >= 0 && r.efficiency >= 0 && r.gate_busy <= 100.001);
        FUZZ_CHECK(r.peak_memory <= set.items[i].memory + set.items[i].base_memory + 0.001);
    }
    cuzk_sim_free(&set);
    return 0;
}

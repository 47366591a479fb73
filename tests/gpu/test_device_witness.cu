/* A witness as the device makes it, with its kernels' code run on the host: every bit and every
 * full value of the circuits that are small enough against cuzk_witness_solve, from free values at
 * random and at edges (nothing but the bits among them has to fit together). Free values and wires
 * that do not fit must be noticed. Needs no GPU. Seed: CUZK_TEST_SEED. */
#include "backend/cuda/witness_sha256.cuh"

#include "host_check.h"

extern "C" {
#include "witness_solve.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

using namespace cuzk_gpu;

static void expect(bool ok, const char *circuit, const char *what) {
    if (ok) return;
    if (failures++ < 10) fprintf(stderr, "%s: wrong: %s\n", circuit, what);
}

/* A value below r, often 0, 1 or r - 1. */
static void random_value(uint64_t *x) {
    const unsigned edge = next_random() % 8;
    for (int k = 0; k < 4; k++)
        x[k] = edge < 2 ? 0 : next_random();
    x[3] %= 0x73eda753299d7d48u;
    if (edge == 1) x[0] = 1;
    if (edge == 2) {
        for (int k = 0; k < 8; k++)
            ((uint32_t *)x)[k] = fr_t::kp(1, k) - (k == 0);
    }
}

/* The witness of one system, as tables and values. */
struct made {
    uint32_t *bits, *full;
    uint32_t bad_free, bad_row;
};

/* From the last item to the first: the device promises no order, and instances were numbered in one
 * that would hide a missing step between two that need each other. */
template <class H> static void run_step(const witness_view &v, const cuzk_work_step &step) {
    static H hashes[2]; /* as the two of a warp lie */
    static sha_shared sha;
    for (uint32_t i = step.item0 + step.n_items; i-- > step.item0;) {
        const cuzk_work_item item = v.items[i];
        switch (step.kind) {
        case CUZK_WORK_ROWS:
            do_rows(v, item, v.works[item.work]);
            break;
        case CUZK_WORK_BITS:
            do_bits(v, item, v.works[item.work]);
            break;
        case CUZK_WORK_HASH:
            hash_item(v, item, &hashes[i % 2]);
            break;
        case CUZK_WORK_LEVEL:
            level_item(v, item, &hashes[i % 2]);
            break;
        case CUZK_WORK_SHA256:
            sha_item(v, item, &sha);
            break;
        default:
            expect(false, "program", "kind");
        }
    }
}

/* The first step of a lane from i on. */
static uint32_t next_of(const cuzk_witness_program *p, uint32_t lane, uint32_t i) {
    while (i < p->n_steps && p->steps[i].lane != lane)
        i++;
    return i;
}

/* One lane as far as what it waits for allows, then the other, and so on: what streams may do. */
template <class H>
static void run_lanes(const witness_view &v, const cuzk_witness_program *p, uint32_t lane) {
    uint32_t next[CUZK_WORK_LANES] = {next_of(p, 0, 0), next_of(p, 1, 0)};
    for (uint32_t done = 0, idle = 0; done < p->n_steps; lane ^= 1) {
        const uint32_t other = next[lane ^ 1], before = done;
        while (next[lane] < p->n_steps) {
            const cuzk_work_step &step = p->steps[next[lane]];
            expect(step.after == CUZK_WORK_NO_STEP ||
                       (p->steps[step.after].lane != lane && p->steps[step.after].awaited),
                   "program", "a step of the other lane is waited for");
            if (step.after != CUZK_WORK_NO_STEP && step.after >= other) break;
            run_step<H>(v, step);
            done++;
            next[lane] = next_of(p, lane, next[lane] + 1);
        }
        idle = done == before ? idle + 1 : 0;
        if (idle == 2) {
            expect(false, "program", "lanes that do not wait for each other's future");
            return;
        }
    }
}

/* lane: that which begins; 0: narrow hashes, 1: wide ones. */
static void make(made *m, const cuzk_witness_program *p, const test_solved *s,
                 const uint32_t *frees, uint32_t lane) {
    m->bits = (uint32_t *)calloc(p->bits_bytes, 1);
    m->full = (uint32_t *)calloc(s->full_bytes, 1);
    for (size_t i = 0; i < s->full_bytes / 4 - 8; i++) /* as another witness left it */
        m->full[i] = (uint32_t)next_random() >> 2;
    m->bad_free = m->bad_row = UINT32_MAX;
    witness_view v = {p->works,
                      p->inputs,
                      (const uint32_t *)p->consts,
                      (const uint32_t *)p->coefs,
                      p->ops,
                      p->rows,
                      p->terms,
                      p->items,
                      p->args,
                      p->free_slots,
                      m->bits,
                      m->full,
                      &m->bad_free,
                      &m->bad_row};
    for (uint32_t i = 0; i < p->n_free; i++)
        put_free(v, frees, i);
    (lane ? run_lanes<wide_hash> : run_lanes<narrow_hash>)(v, p, lane);
}

static void unmake(made *m) {
    free(m->bits);
    free(m->full);
}

static void compare(const char *circuit) {
    test_solved s;
    cuzk_witness_program *p;
    if (!test_solved_open(&s, &p, circuit)) {
        expect(false, circuit, "no such circuit, or no program");
        return;
    }
    uint64_t *frees = (uint64_t *)calloc((size_t)p->n_free + 1, 32);
    for (uint32_t i = 0; i < p->n_free; i++) {
        if (p->free_slots[i] & CUZK_SLOT_BIT)
            frees[4 * i] = next_random() & 1;
        else
            random_value(frees + 4 * i);
    }
    made m;
    expect(test_solved_solve(&s, frees), circuit, "the CPU takes these values");
    for (uint32_t lane = 0; lane < CUZK_WORK_LANES; lane++) {
        make(&m, p, &s, (const uint32_t *)frees, lane);
        expect(m.bad_free == UINT32_MAX && m.bad_row == UINT32_MAX, circuit, "nothing is at fault");
        expect(memcmp(m.bits, s.bits, s.bits_bytes) == 0, circuit, "bits");
        expect(memcmp(m.full, s.full, s.full_bytes) == 0, circuit, "full values");
        unmake(&m);
    }

    /* a bit that is 2, and before it (or behind it) the modulus itself */
    uint32_t bit = UINT32_MAX, full = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_free; i++) {
        if (p->free_slots[i] & CUZK_SLOT_BIT)
            bit = i;
        else
            full = i;
    }
    for (int k = 0; k < 8; k++)
        ((uint32_t *)(frees + 4 * (size_t)full))[k] = fr_t::kp(1, k);
    if (bit != UINT32_MAX) frees[4 * (size_t)bit] = 2;
    make(&m, p, &s, (const uint32_t *)frees, 0);
    expect(m.bad_free == (bit < full ? bit : full), circuit, "the first free value at fault");
    unmake(&m);
    free(frees);
    cuzk_witness_program_free(p);
    test_solved_close(&s);
    printf("%s: %u items in %u steps\n", circuit, s.items, s.steps);
}

/* A row whose wire must be a bit and is none. */
static void bit_rows() {
    test_solved s;
    cuzk_witness_program *p;
    made m;
    uint64_t two[4] = {2, 0, 0, 0};
    if (!test_solved_open_bit_row(&s, &p)) {
        expect(false, "bit row", "no program");
        return;
    }
    expect(!test_solved_solve(&s, two), "bit row", "the CPU refuses 2");
    make(&m, p, &s, (const uint32_t *)two, 0);
    expect(m.bad_row == s.row, "bit row", "the row at fault");
    unmake(&m);
    two[0] = 1;
    expect(test_solved_solve(&s, two), "bit row", "the CPU takes 1");
    make(&m, p, &s, (const uint32_t *)two, 0);
    expect(m.bad_row == UINT32_MAX && memcmp(m.bits, s.bits, s.bits_bytes) == 0, "bit row",
           "a bit");
    unmake(&m);
    cuzk_witness_program_free(p);
    test_solved_close(&s);
}

int main() {
    static const char *const circuits[] = {"winning-2k",       "wpost-2k", "snap-1k",
                                           "snap-poseidon-2k", "snap-16k", "test-porep-2-0-0",
                                           "test-porep-8-4-2", "porep-2k", "snap-poseidon-32k"};
    const char *seed = getenv("CUZK_TEST_SEED");
    state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    printf("CUZK_TEST_SEED=%llu\n", (unsigned long long)state);
    for (const char *c : circuits)
        compare(c);
    bit_rows();
    expect(misaligned == 0, "device", "aligned accesses");
    return failures != 0;
}

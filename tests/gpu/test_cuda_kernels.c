/* Every kernel against a known answer: one table of operation, curve, group, sizes and patterns
 * (cuzk/gpu/kernels.h says what each compares with), and several operations at once on streams of
 * their own. An argument chooses the part: an operation's name, or "parallel". */
#include "gpu/kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *operation;
    cuzk_kernels_options o;
} test_case;

/* quick: sizes are three less than a power of two, where the operation takes any. */
static const test_case table[] = {
    {"field", {.quick = true}},
    {"ntt", {.log2_lo = 1, .log2_hi = 20, .quick = true}},
    {"msm", {.log2_lo = 1, .log2_hi = 3, .quick = true, .patterns = true, .factor = 1}},
    {"msm", {.log2_lo = 5, .log2_hi = 14, .step = 3, .quick = true, .patterns = true, .factor = 2}},
    {"msm",
     {.log2_lo = 10, .log2_hi = 10, .quick = true, .patterns = true, .factor = 3, .window = 7}},
    {"msm",
     {.curve = CUZK_BN254,
      .group = CUZK_G1,
      .log2_lo = 17,
      .log2_hi = 17,
      .quick = true,
      .patterns = true,
      .factor = 1}},
    {"msm",
     {.curve = CUZK_BLS12_381,
      .group = CUZK_G1,
      .log2_lo = 17,
      .log2_hi = 17,
      .quick = true,
      .patterns = true,
      .factor = 1}},
    /* bins too large for a block */
    {"msm",
     {.curve = CUZK_BN254,
      .group = CUZK_G1,
      .log2_lo = 20,
      .log2_hi = 20,
      .quick = true,
      .patterns = true,
      .factor = 8,
      .window = 13}},
    {"msm",
     {.curve = CUZK_BN254,
      .group = CUZK_G1,
      .log2_lo = 20,
      .log2_hi = 20,
      .quick = true,
      .patterns = true,
      .factor = 1,
      .window = 6}},
    {"bits", {.log2_lo = 1, .log2_hi = 3, .quick = true, .patterns = true}},
    {"bits", {.log2_lo = 5, .log2_hi = 17, .step = 3, .quick = true, .patterns = true}},
    {"eval", {.quick = true}},
};
enum { CASES = sizeof table / sizeof *table };

typedef struct {
    const test_case *c;
    unsigned rows, wrong;
    cuzk_status st;
    cuzk_err err;
    pthread_t thread;
} run;

static void see_row(void *ctx, const cuzk_kernels_row *row) {
    run *r = ctx;
    r->rows++;
    if (!row->verified)
        printf("WRONG: %s %s %s 2^%u %s%s\n", row->op, row->curve, row->group, row->log2n,
               row->variant, row->extra);
}

static void *run_case(void *ctx) {
    run *r = ctx;
    const cuzk_kernels_sink sink = {see_row, r};
    cuzk_cuda *dev;
    r->st = cuzk_cuda_open(&dev, 0, &r->err);
    if (r->st != CUZK_OK) return NULL;
    r->st = cuzk_kernels_run(dev, r->c->operation, &r->c->o, &sink, &r->wrong, &r->err);
    cuzk_cuda_close(dev);
    return NULL;
}

static int judge(const run *r, const char *how) {
    const bool good = r->st == CUZK_OK && r->wrong == 0 && r->rows > 0;
    printf("%s %s 2^%u..2^%u%s: %u results, %u wrong%s%s\n", good ? "ok" : "FAILED",
           r->c->operation, r->c->o.log2_lo, r->c->o.log2_hi, how, r->rows, r->wrong,
           r->st != CUZK_OK ? ": " : "", r->st != CUZK_OK ? r->err.msg : "");
    return good ? 0 : 1;
}

static int one_by_one(const char *only) {
    int failed = 0, matched = 0;
    for (int i = 0; i < CASES; i++) {
        run r = {.c = &table[i]};
        if (only && strcmp(only, table[i].operation) != 0) continue;
        matched++;
        (void)run_case(&r);
        failed += judge(&r, "");
    }
    return matched ? failed : -1;
}

/* Each on a handle, so a stream, and memory of its own; twice, so that they overlap otherwise. */
static int in_parallel(void) {
    static const test_case cases[] = {
        {"ntt", {.log2_lo = 8, .log2_hi = 16, .quick = true}},
        {"msm",
         {.group = CUZK_G1,
          .log2_lo = 8,
          .log2_hi = 14,
          .step = 3,
          .quick = true,
          .patterns = true,
          .factor = 2}},
        {"msm",
         {.group = CUZK_G2,
          .log2_lo = 7,
          .log2_hi = 11,
          .step = 2,
          .quick = true,
          .patterns = true,
          .factor = 1}},
        {"bits", {.log2_lo = 8, .log2_hi = 14, .step = 3, .quick = true, .patterns = true}},
    };
    enum { COUNT = sizeof cases / sizeof *cases, ROUNDS = 2 };
    int failed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        run r[COUNT];
        for (int i = 0; i < COUNT; i++) {
            r[i] = (run){.c = &cases[(i + round) % COUNT]};
            if (pthread_create(&r[i].thread, NULL, run_case, &r[i]) != 0) return 1;
        }
        for (int i = 0; i < COUNT; i++) {
            pthread_join(r[i].thread, NULL);
            failed += judge(&r[i], " in parallel");
        }
    }
    return failed;
}

int main(int argc, char **argv) {
    const char *only = argc > 1 ? argv[1] : NULL;
    const bool parallel = only && strcmp(only, "parallel") == 0;
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_kernels: no CUDA device: skipped\n", stderr);
        return 77;
    }
    int failed = parallel ? 0 : one_by_one(only);
    if (failed < 0) {
        fprintf(stderr, "test_cuda_kernels: nothing is called %s\n", only);
        return 2;
    }
    if (!only || parallel) failed += in_parallel();
    return failed ? 1 : 0;
}

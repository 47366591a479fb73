/* Sectors of every kind and size are true: accepted by the checks that a prover makes before it
 * proves, and by every row of the circuit, with the public inputs that a verifier derives. Sizes
 * that take more than seconds in the circuit have their rows checked with CUZK_TEST_LARGE=1. */
#include "support.h"

#include "base/file.h"
#include "circuit/fillers.h"
#include "filecoin/sector.h"
#include "filecoin/vanilla.h"

#include <unistd.h>

static cuzk_poseidon_set set;
static cuzk_pool *pool;

enum rows { NONE, ROWS, LARGE /* rows with CUZK_TEST_LARGE */, LARGE_ONLY /* nothing without */ };

struct item {
    const char *circuit;
    int type; /* registered proof; -1: none */
    uint32_t sectors;
    bool synthetic;
    enum rows rows;
};

static const struct item items[] = {
    {"porep-2k", 0, 0, false, NONE},    {"porep-2k", 5, 0, false, NONE},
    {"porep-2k", 10, 0, false, NONE},   {"porep-2k", 15, 0, false, NONE},
    {"porep-2k", 5, 0, true, ROWS},     {"porep-4k", -1, 0, false, NONE},
    {"porep-32k", -1, 0, false, NONE},  {"porep-32k", -1, 0, true, ROWS},
    {"porep-8m", 1, 0, true, NONE},     {"porep-512m", 7, 0, true, LARGE},
    {"porep-1g", -1, 0, true, NONE},    {"porep-64g", 9, 0, true, NONE},
    {"wpost-2k", 5, 2, false, ROWS},    {"wpost-2k", 10, 2, true, ROWS},
    {"wpost-8m", 11, 2, true, NONE},    {"wpost-512m", 7, 2, true, LARGE},
    {"wpost-64g", 14, 3, true, NONE},   {"wpost-64g", 9, 3, true, NONE},
    {"winning-2k", 0, 1, false, ROWS},  {"winning-512m", 2, 1, true, NONE},
    {"winning-64g", 4, 1, true, LARGE}, {"snap-2k", 0, 0, false, ROWS},
    {"snap-2k", 0, 0, true, ROWS},      {"snap-8m", 1, 0, true, LARGE},
    {"snap-512m", 2, 0, true, NONE},    {"snap-64g", 4, 0, true, LARGE_ONLY},
};

static void spec_of(cuzk_sector_spec *s, const struct item *t) {
    static uint8_t seed[8];
    test_rng_bytes(seed, sizeof seed);
    *s = (cuzk_sector_spec){
        .circuit = cuzk_circuit_find(t->circuit),
        .seed = seed,
        .seed_len = sizeof seed,
        .miner = test_rng() >> 20,
        .sector = test_rng() >> 20,
        .sectors = t->sectors,
        .synthetic = t->synthetic,
        .partition = t->sectors > 1 ? 3 : 0,
        .pool = pool,
    };
    assert_non_null(s->circuit);
    if (s->circuit->kind == CUZK_CIRCUIT_POREP) {
        s->seal = t->type < 0 ? NULL : cuzk_seal_type_at((uint64_t)t->type);
    } else if (s->circuit->kind == CUZK_CIRCUIT_POST) {
        s->post = cuzk_post_type_at((uint64_t)t->type);
        s->seal = cuzk_seal_type_at(5 + (uint64_t)t->type % 5);
    } else {
        s->update = cuzk_update_type_at((uint64_t)t->type);
        s->seal = cuzk_seal_type_at(5 + (uint64_t)t->type);
    }
}

/* Makes it, and opens what was written as a prover would. */
static cuzk_vanilla *open_made(const cuzk_sector_spec *s, const struct item *t) {
    char path[] = "/tmp/cuzk_test_sector_XXXXXX";
    cuzk_err err = {0};
    cuzk_buf out = CUZK_BUF_INIT, again = CUZK_BUF_INIT;
    const cuzk_c1_format format = t->type < 0 ? CUZK_C1_BINCODE : CUZK_C1_JSON;
    if (cuzk_sector_make(&out, s, format, &err) != CUZK_OK) fail_msg("%s", err.msg);
    if (out.len < 1 << 18) { /* the same bytes once more */
        if (cuzk_sector_make(&again, s, format, &err) != CUZK_OK) fail_msg("%s", err.msg);
        assert_int_equal(out.len, again.len);
        assert_memory_equal(out.data, again.data, out.len);
    }
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, out.data, out.len), out.len);
    close(fd);
    cuzk_vanilla *v = NULL;
    const cuzk_porep_facts facts = {.type = t->type < 0 ? NULL : s->seal,
                                    .has_miner = true,
                                    .has_sector = true,
                                    .miner = s->miner,
                                    .sector = s->sector};
    const cuzk_status st = cuzk_vanilla_open(&v, path, &facts, &err);
    unlink(path);
    if (st != CUZK_OK) fail_msg("%s: %s", t->circuit, err.msg);
    cuzk_buf_free(&out);
    cuzk_buf_free(&again);
    return v;
}

/* Every row of the last partition's circuit holds, with the verifier's public inputs. */
static void check_rows(const cuzk_vanilla *v) {
    const uint32_t partition = v->partitions - 1;
    cuzk_r1cs *r;
    cuzk_witness_plan *plan;
    cuzk_witness *w;
    cuzk_statement *statement;
    cuzk_err err = {0};
    assert_int_equal(cuzk_circuit_compact(&r, v->circuit, &err), CUZK_OK);
    cuzk_u256 *frees = calloc(r->n_free, sizeof *frees);
    cuzk_u256 *publics = calloc(r->n_inputs, sizeof *publics);
    assert_true(frees && publics);
    if (cuzk_vanilla_free_values(v, partition, frees, r->n_free, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(cuzk_circuit_plan(&plan, r, &set), CUZK_OK);
    assert_int_equal(cuzk_witness_new(&w, r), CUZK_OK);
    if (cuzk_witness_solve(w, plan, frees, r->n_free, pool, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    if (cuzk_witness_check(w, NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_statement_of_vanilla(&statement, v, &err), CUZK_OK);
    if (cuzk_statement_public(publics, r->n_inputs - 1, statement, partition, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    for (uint32_t i = 1; i < r->n_inputs; i++) {
        cuzk_u256 x;
        assert_int_equal(cuzk_witness_get(&x, w, i), CUZK_OK);
        assert_memory_equal(&x, &publics[i - 1], sizeof x);
    }
    cuzk_statement_free(statement);
    cuzk_witness_free(w);
    cuzk_witness_plan_free(plan);
    cuzk_r1cs_free(r);
    free(frees);
    free(publics);
}

static void all_kinds(void **state) {
    (void)state;
    const bool large = getenv("CUZK_TEST_LARGE") != NULL;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const struct item *t = &items[i];
        cuzk_sector_spec s;
        cuzk_err err = {0};
        spec_of(&s, t);
        if (t->rows == LARGE_ONLY && !large) continue;
        cuzk_vanilla *v = open_made(&s, t);
        assert_ptr_equal(v->circuit, s.circuit);
        if (cuzk_vanilla_check(v, 0, v->partitions, &set, pool, NULL, &err) != CUZK_OK)
            fail_msg("%s: %s", t->circuit, err.msg);
        if (t->rows == ROWS || (t->rows == LARGE && large)) check_rows(v);
        cuzk_vanilla_free(v);
    }
}

/* What cannot be made says why. */
static void refused(void **state) {
    (void)state;
    const struct item t = {"porep-2k", 10, 0, true, NONE};
    cuzk_sector_spec s;
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_err err = {0};
    uint8_t bytes[2033] = {0}, ones[32];
    spec_of(&s, &t);
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_JSON, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "depend on comm_r"));
    s.synthetic = false;
    s.data = bytes;
    s.data_len = sizeof bytes;
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_JSON, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "room for 2032"));
    s.data = NULL;
    s.seal = NULL;
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_JSON, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "bincode"));
    s.circuit = cuzk_circuit_find("porep-32g");
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_BINCODE, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "too large"));
    s.circuit = cuzk_circuit_find("test-porep-2-0-0");
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_BINCODE, &err), CUZK_STATUS_USAGE);
    s.circuit = cuzk_circuit_find("snap-4k");
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_JSON, &err), CUZK_STATUS_USAGE);

    const struct item post = {"wpost-2k", 10, 3, true, NONE};
    spec_of(&s, &post);
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_JSON, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "1 to 2 sectors"));
    s.sectors = 1;
    memset(ones, 0xff, sizeof ones);
    s.randomness = ones;
    assert_int_equal(cuzk_sector_make(&out, &s, CUZK_C1_JSON, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "no field element"));
    assert_int_equal(out.len, 0);
    cuzk_buf_free(&out);
}

static int begin(void **state) {
    (void)state;
    test_rng_start();
    return cuzk_poseidon_set_init(&set) == CUZK_OK && cuzk_pool_new(&pool, 2) == CUZK_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    cuzk_poseidon_set_fini(&set);
    cuzk_pool_free(pool);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

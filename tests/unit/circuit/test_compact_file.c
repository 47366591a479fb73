/* The compact form as a file: round trip, and every kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "circuit/circuits.h"
#include "circuit/fillers.h"
#include "r1cs/figures.h"
#include "r1cs/file.h"

static char path[] = "/tmp/cuzk_test_compact_XXXXXX";
static uint8_t *bytes; /* of snap-poseidon-1k */
static size_t n_bytes;
static uint8_t digest[32];

static cuzk_status load(uint8_t *data, size_t n, const uint8_t *want, cuzk_r1cs **r,
                        cuzk_err *err) {
    *err = (cuzk_err){0};
    return cuzk_r1cs_load(r, data, n, "x", want, err);
}

/* Makes the checksum right again, so that only the content is wrong. */
static void fix_sum(uint8_t *data, size_t n) {
    assert_int_equal(cuzk_hash_once(CUZK_HASH_BLAKE2S_256, data + 80, n - 80, data + 48), CUZK_OK);
}

static void round_trip(void **state) {
    cuzk_r1cs *r;
    cuzk_err err;
    uint8_t d[32];
    (void)state;
    assert_int_equal(load(bytes, n_bytes, digest, &r, &err), CUZK_OK);
    assert_int_equal(cuzk_r1cs_digest(d, r, NULL), CUZK_OK);
    assert_memory_equal(d, digest, 32);
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_r1cs_row_path(r, r->n_rows - 1, &b);
    assert_string_equal(b.data, "challenge 9/tree D");
    cuzk_buf_free(&b);
    cuzk_r1cs_free(r);
}

static void wrong_headers(void **state) {
    static const struct {
        size_t at;
        const char *says;
    } cases[] = {{0, "no compact"}, {8, "version"},    {12, "field"},
                 {48, "checksum"},  {100, "checksum"}, {5000, "checksum"}};
    cuzk_r1cs *r;
    cuzk_err err;
    uint8_t other[32] = {1};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes[cases[i].at] ^= 0x40;
        assert_int_equal(load(bytes, n_bytes, digest, &r, &err), CUZK_STATUS_BAD_INPUT);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_null(r);
        bytes[cases[i].at] ^= 0x40;
    }
    assert_int_equal(load(bytes, n_bytes, other, &r, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "another circuit"));
    for (size_t n = 0; n < n_bytes; n += n < 300 ? 1 : 4999)
        assert_int_equal(load(bytes, n, digest, &r, &err), CUZK_STATUS_BAD_INPUT);
}

/* Any word changed under a right checksum: refused, or harmless to everything that reads it. */
static void changed_words(void **state) {
    uint64_t rng = 12345;
    unsigned refused = 0, taken = 0;
    cuzk_poseidon_set set;
    (void)state;
    assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
    uint8_t *copy = malloc(n_bytes);
    assert_non_null(copy);
    for (int k = 0; k < 400; k++) {
        cuzk_r1cs *r;
        cuzk_err err;
        memcpy(copy, bytes, n_bytes);
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        const size_t at = 80 + (size_t)(rng >> 33) % (n_bytes - 84);
        const uint32_t v = k % 3 == 0 ? UINT32_MAX : (uint32_t)(rng >> 20) >> (rng % 32);
        memcpy(copy + (k % 2 ? at : at & ~(size_t)3), &v, 4);
        fix_sum(copy, n_bytes);
        const cuzk_status st = load(copy, n_bytes, NULL, &r, &err);
        if (st != CUZK_OK) {
            assert_true(st == CUZK_STATUS_BAD_INPUT || st == CUZK_STATUS_NO_MEMORY);
            refused++;
            continue;
        }
        taken++;
        cuzk_r1cs_figures f;
        uint8_t d[32];
        cuzk_witness_plan *plan = NULL;
        cuzk_witness *w = NULL;
        assert_int_equal(cuzk_r1cs_count(&f, r), CUZK_OK);
        assert_int_equal(cuzk_r1cs_digest(d, r, NULL), CUZK_OK);
        cuzk_u256 *frees = calloc(r->n_free + 1, sizeof *frees);
        assert_non_null(frees);
        if (cuzk_circuit_plan(&plan, r, &set) == CUZK_OK && cuzk_witness_new(&w, r) == CUZK_OK &&
            cuzk_witness_solve(w, plan, frees, r->n_free, NULL, &err) == CUZK_OK)
            assert_true(cuzk_witness_check(w, NULL, &err) != CUZK_STATUS_BUG);
        cuzk_witness_free(w);
        cuzk_witness_plan_free(plan);
        free(frees);
        cuzk_r1cs_free(r);
    }
    free(copy);
    cuzk_poseidon_set_fini(&set);
    print_message("%u refused, %u taken\n", refused, taken);
    assert_true(refused > 20);
}

static int setup(void **state) {
    cuzk_r1cs *r;
    cuzk_err err = {0};
    cuzk_map map;
    (void)state;
    const int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    if (cuzk_circuit_compact(&r, cuzk_circuit_find("snap-poseidon-1k"), &err) != CUZK_OK) return 1;
    if (cuzk_r1cs_digest(digest, r, NULL) != CUZK_OK) return 1;
    if (cuzk_r1cs_save(r, digest, path, &err) != CUZK_OK) return 1;
    cuzk_r1cs_free(r);
    if (cuzk_map_file(&map, path, &err) != CUZK_OK) return 1;
    n_bytes = map.len;
    bytes = malloc(n_bytes);
    if (!bytes) return 1;
    memcpy(bytes, map.data, n_bytes);
    cuzk_map_close(&map);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(bytes);
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip),
                                       cmocka_unit_test(wrong_headers),
                                       cmocka_unit_test(changed_words)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

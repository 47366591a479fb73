/* Sectors made here are the reference implementation's, byte for byte: SHA-256 of its C1 outputs
 * and requests. The seeds are the texts that those vectors' values were hashed from. */
#include "support.h"

#include "base/clock.h"
#include "base/hash.h"
#include "filecoin/request.h"
#include "filecoin/sector.h"
#include "filecoin/trees.h"

enum { MAX_SECTORS = 3 };

struct want {
    const char *circuit, *seed;
    uint64_t sector;
    int type; /* registered proof; -1: none */
    cuzk_c1_format format;
    uint32_t sectors;
    bool synthetic, large;
    const char *sha256; /* of a C1; of a request: of its vanilla proofs and values */
};

static bool test_large(void) {
    return getenv("CUZK_TEST_LARGE") != NULL;
}

static void check_hex(const uint8_t got[32], const char *want, const char *what) {
    char hex[65];
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", got[i]);
    if (strcmp(hex, want) != 0) fail_msg("%s: %s, not %s", what, hex, want);
}

static void spec_of(cuzk_sector_spec *s, const struct want *w) {
    *s = (cuzk_sector_spec){
        .circuit = cuzk_circuit_find(w->circuit),
        .seed = (const uint8_t *)w->seed,
        .seed_len = strlen(w->seed),
        .miner = 1000,
        .sector = w->sector,
        .sectors = w->sectors,
        .synthetic = w->synthetic,
    };
    assert_non_null(s->circuit);
    if (s->circuit->kind == CUZK_CIRCUIT_POREP) {
        s->seal = w->type < 0 ? NULL : cuzk_seal_type_at((uint64_t)w->type);
    } else if (s->circuit->kind == CUZK_CIRCUIT_POST) {
        s->post = cuzk_post_type_at((uint64_t)w->type);
        assert_non_null(s->post);
        s->seal = cuzk_seal_type_at(5 + (uint64_t)w->type % 5);
    } else {
        s->update = cuzk_update_type_at((uint64_t)w->type);
        s->seal = cuzk_seal_type_at(5 + (uint64_t)w->type);
    }
}

static void make(cuzk_buf *out, const cuzk_sector_spec *s, cuzk_c1_format format) {
    cuzk_err err = {0};
    const int64_t start = cuzk_now_ns();
    if (cuzk_sector_make(out, s, format, &err) != CUZK_OK) fail_msg("%s", err.msg);
    fprintf(stderr, "%s: %zu bytes, %.2f s\n", s->circuit->name, out->len,
            (double)(cuzk_now_ns() - start) / 1e9);
}

/* Of a request: vanilla proofs one after another, then randomness, comm_r_old, comm_r_new,
 * comm_d_new as far as they are there. */
static void request_digest(uint8_t out[32], const cuzk_buf *b) {
    static const cuzk_request_field fields[] = {CUZK_REQ_RANDOMNESS, CUZK_REQ_COMM_R_OLD,
                                                CUZK_REQ_COMM_R_NEW, CUZK_REQ_COMM_D_NEW};
    cuzk_request *r;
    cuzk_hash *h;
    cuzk_err err = {0};
    if (cuzk_request_from_memory(&r, (const uint8_t *)b->data, b->len, "made here", &err) !=
        CUZK_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(cuzk_hash_new(&h, CUZK_HASH_SHA256), CUZK_OK);
    for (size_t i = 0; i < r->n_vanilla; i++)
        cuzk_hash_update(h, r->vanilla_proofs[i].data, r->vanilla_proofs[i].len);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (cuzk_request_has(r, fields[i])) cuzk_hash_update(h, r->value[fields[i]], 32);
    assert_int_equal(cuzk_hash_final(h, out), CUZK_OK);
    assert_int_equal(r->miner_id, 1000);
    cuzk_request_free(r);
}

static void check(const struct want *w) {
    cuzk_sector_spec s;
    cuzk_buf out = CUZK_BUF_INIT;
    uint8_t digest[32];
    if (w->large && !test_large()) return;
    spec_of(&s, w);
    assert_int_equal(cuzk_pool_new(&s.pool, 0), CUZK_OK);
    make(&out, &s, w->format);
    cuzk_pool_free(s.pool);
    if (s.circuit->kind == CUZK_CIRCUIT_POREP)
        assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, out.data, out.len, digest), CUZK_OK);
    else
        request_digest(digest, &out);
    check_hex(digest, w->sha256, w->circuit);
    cuzk_buf_free(&out);
}

static const struct want real[] = {
    {"porep-2k", "cuzk test", 7, 5, CUZK_C1_BINCODE, 0, false, false,
     "4a46f980c599f2939bc5fabf9e8da024512ae89e7e67eb8b86b0bea4029295e4"},
    {"porep-2k", "cuzk test", 7, 5, CUZK_C1_LOTUS, 0, false, false,
     "ca82fd74092e8e900b75fdaf2b3f13cb6efd8332ff9ce6625fce35cee9e6119c"},
    {"porep-2k", "cuzk test", 10, 10, CUZK_C1_LOTUS, 0, false, false,
     "a4648744bc1cc4b6e2c865d7350ef62cd07439088f13f44dd98cd11cf286935d"},
    {"porep-2k", "cuzk test", 11, 15, CUZK_C1_BINCODE, 0, false, false,
     "59d8b3109179e3107b9da622c7298544ac4ee7a022a0e25f19cbaf961b17af87"},
    {"porep-2k", "cuzk test", 11, 15, CUZK_C1_JSON, 0, false, false,
     "b1fb95d97b0eae64614def395180322eacd3ea00580feb174138e29abbc62ff6"},
    {"porep-16k", "cuzk test", 14, -1, CUZK_C1_BINCODE, 0, false, false,
     "9f7949a4cd8d69362014fcc76d0360cf823744fbccdf1cbd359663ef7ab8b582"},
    {"porep-8m", "cuzk test", 12, 6, CUZK_C1_LOTUS, 0, false, true,
     "28d8f15df5a0dcb094f97613e7a8b00d004cffa13c741c475fc7683a3eae7b9d"},
    {"wpost-2k", "cuzk test", 7, 10, 0, 2, false, false,
     "3acc59d742d3af355eb19758aa10e46b1a23ce1403db56211bac9af90772bd09"},
    {"wpost-2k", "cuzk test", 7, 5, 0, 1, false, false,
     "2e154183152f3f2be38e6bdc6ea9d5b03d392bf764dad832571738bd184bc1f3"},
    {"winning-2k", "cuzk test", 7, 0, 0, 1, false, false,
     "131ee4674e4538b27a06099355be9992d8d274e2fdf12c83992d7f4514afd360"},
    {"snap-2k", "cuzk test", 7, 0, 0, 0, false, false,
     "07a3b326a15c2845b18aaecbcd6130bad372d52d8abf64316a13ade001e18f2f"},
    {"snap-8m", "cuzk test", 12, 1, 0, 0, false, true,
     "31f0b025db1eea919b79f8727e0c629e8cb164c9add8707c3cfd0f00c984323b"},
};

static const struct want synthetic[] = {
    {"porep-512m", "cuzk sparse", 77, 7, CUZK_C1_BINCODE, 0, true, false,
     "65052c2d87c50ad38446f03d01be70e45fec7ff4a8091a51d05a7bb4a32a592e"},
    {"porep-32g", "cuzk sparse", 77, 8, CUZK_C1_BINCODE, 0, true, false,
     "5991515f60aa35c84cf16a52a4cf918dc5ab6626387fafbddfe57fd702be0992"},
    {"porep-32g", "cuzk sparse", 77, 8, CUZK_C1_JSON, 0, true, true,
     "e4f27f51f25e39f95b1cafd0a4fce40743380de281b44e41f989cd9e32fd9497"},
    {"winning-32g", "cuzk sparse", 77, 3, 0, 1, true, false,
     "0209fa1147773de5119c5a90b13ab39786dd839131fae71fb7596fdc37800abe"},
    {"wpost-32g", "cuzk sparse", 77, 13, 0, 3, true, false,
     "3fe5dd34fa9c89888cef9263cb3e8e316cced040dc017722b299bab56fa61667"},
    {"snap-32g", "cuzk sparse", 77, 3, 0, 0, true, false,
     "d1a11d2cd10d1abc638f76126966b896f99bd8de16d4d6ac4f0cba666e7914e4"},
};

static void test_real(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        check(&real[i]);
}

static void test_synthetic(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof synthetic / sizeof *synthetic; i++)
        check(&synthetic[i]);
}

/* The sector of zeros that lotus-bench seals: everything given, nothing derived. */
static void test_given(void **state) {
    (void)state;
    const struct want w = {"porep-2k", "", 1, 5, CUZK_C1_JSON, 0, false, false, NULL};
    const uint8_t zero[2032] = {0};
    uint8_t ones[32], digest[32], porep_id[32];
    cuzk_sector_spec s;
    cuzk_buf out = CUZK_BUF_INIT;
    memset(ones, 1, sizeof ones);
    spec_of(&s, &w);
    cuzk_seal_type_porep_id(5, porep_id);
    s.porep_id = porep_id;
    s.ticket = zero;
    s.challenge_seed = ones;
    s.data = zero;
    s.data_len = 10; /* what is not given is zero */
    make(&out, &s, CUZK_C1_JSON);
    assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, out.data, out.len, digest), CUZK_OK);
    check_hex(digest, "68c4b71e751a608effb349c6f6c5e0ab10365470efca4ff66bc63cdcf4faf387", "JSON");
    cuzk_buf_free(&out);
    s.data_len = sizeof zero;
    make(&out, &s, CUZK_C1_LOTUS);
    assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, out.data, out.len, digest), CUZK_OK);
    check_hex(digest, "8374eb08904fe24ae25a2f8aa870141eead893fe8071c94243539e136decff58", "lotus");
    cuzk_buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_synthetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

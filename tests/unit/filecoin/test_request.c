/* Requests: every spelling that a client may use, and what is refused. */
#include "support.h"

#include "filecoin/post.h"
#include "filecoin/public.h"
#include "filecoin/update.h"
#include "made.h"

static cuzk_request *taken(const char *text) {
    cuzk_request *r;
    cuzk_err err = {0};
    if (cuzk_request_from_memory(&r, (const uint8_t *)text, strlen(text), "r", &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    return r;
}

static void refused(const char *text, const char *part) {
    cuzk_request *r;
    cuzk_err err = {0};
    const cuzk_status st =
        cuzk_request_from_memory(&r, (const uint8_t *)text, strlen(text), "r", &err);
    assert_null(r);
    if (st != CUZK_STATUS_BAD_INPUT || !strstr(err.msg, part) || !strstr(err.msg, "expected") ||
        strncmp(err.msg, "r: offset ", 10) != 0)
        fail_msg("%d: %s (wanted %s)", st, err.msg, part);
}

static void spellings(void **state) {
    static const struct {
        const char *text;
        cuzk_proof_kind kind;
        uint64_t type, size;
    } cases[] = {
        {"{\"proof_kind\":\"WINNING_POST\",\"registered_proof\":3,\"sector_size\":2048}",
         CUZK_KIND_WINNING, 3, 2048},
        {"{\"proofKind\":\"PROOF_KIND_WINNING_POST\",\"registeredProof\":\"3\",\"sectorSize\":"
         "\"2048\"}",
         CUZK_KIND_WINNING, 3, 2048},
        {"{\"proof_kind\":4,\"registered_proof\":3,\"sector_size\":2048,\"priority\":\"HIGH\","
         "\"requestId\":\"abc\",\"randomness\":\"\",\"commROld\":\"\"}",
         CUZK_KIND_WINNING, 3, 2048},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_request *r = taken(cases[i].text);
        assert_int_equal(r->kind, cases[i].kind);
        assert_int_equal(r->registered_proof, cases[i].type);
        assert_int_equal(r->sector_size, cases[i].size);
        assert_false(cuzk_request_has(r, CUZK_REQ_RANDOMNESS));
        assert_false(cuzk_request_has(r, CUZK_REQ_COMM_R_OLD));
        cuzk_request_free(r);
    }
}

static void values(void **state) {
    (void)state;
    cuzk_request *r =
        taken("{\"commR\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\",\"comm_d\":"
              "\"0A0b0C0d0A0b0C0d0A0b0C0d0A0b0C0d0A0b0C0d0A0b0C0d0A0b0C0d0A0b0C0d\","
              "\"vanilla_proofs\":[\"AAEC\",\"\",\"/w==\"],\"miner_id\":\"18446744073709551615\"}");
    assert_int_equal(r->n_vanilla, 3);
    assert_int_equal(r->vanilla_proofs[0].len, 3);
    assert_memory_equal(r->vanilla_proofs[0].data, "\0\1\2", 3);
    assert_int_equal(r->vanilla_proofs[1].len, 0);
    assert_int_equal(r->vanilla_proofs[2].data[0], 0xff);
    assert_true(r->miner_id == UINT64_MAX);
    assert_int_equal(r->value[CUZK_REQ_COMM_R][31], 1);
    assert_int_equal(r->value[CUZK_REQ_COMM_D][0], 0x0a);
    assert_int_equal(r->value[CUZK_REQ_COMM_D][31], 0x0d);
    cuzk_request_free(r);
}

static void wrong(void **state) {
    (void)state;
    refused("{\"sector_sise\":1}", "a field of SubmitProofRequest");
    refused("{\"sector_size\":1,\"sectorSize\":1}", "each field once");
    refused("{\"proof_kind\":\"WINDOW\"}", "WINDOW_POST_PARTITION or WINNING_POST");
    refused("{\"proof_kind\":5}", "a number up to 4");
    refused("{\"partition_index\":4294967296}", "4294967295");
    refused("{\"sector_number\":\"12a\"}", "a whole number in range");
    refused("{\"sector_number\":-1}", "a whole number");
    refused("{\"randomness\":\"AQEB\"}", "32 bytes");
    refused("{\"randomness\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB\"}", "32 bytes");
    refused("{\"randomness\":\"zz0b0c0d0a0b0c0d0a0b0c0d0a0b0c0d0a0b0c0d0a0b0c0d0a0b0c0d0a0b0c0d\"}",
            "hexadecimal");
    refused("{\"randomness\":[1,2]}", "a string");
    refused("{\"vanilla_proofs\":\"AAEC\"}", "an array");
    refused("{\"vanilla_proofs\":[\"AA-C\"]}", "vanilla_proofs[0]: expected base64");
    refused("{\"sectors\":[{\"sector_number\":1}]}", "a field `comm_r`");
    refused("{\"registered_proof\":\"\"}", "registered_proof: expected the number or name of a "
                                           "registered proof, actual none that is known");
    refused("{\"randomness\":\"\",\"randomness\":\"\"}", "each field once");
    refused("{\"vanilla_proofs\":[],\"vanillaProofs\":[]}", "each field once");
    refused("{\"priority\":00-.e}", "a number as JSON writes it");
    refused("{\"priority\":\"\\x\"}", "an escape of JSON");
    refused("\xef\xbb\xbf{}", "a byte order mark");
    refused("{\"request_id\":\"x\"", "actual the end of the file");
    refused("[]", "an object");
}

/* ---- what the readers behind it want ---- */

static const made window = {"wpost-2k", "cuzk test", 7, 10, 0, 2, false, NULL},
                  winning = {"winning-2k", "cuzk test", 7, 0, 0, 1, false, NULL},
                  update = {"snap-2k", "cuzk test", 7, 0, 0, 0, false, NULL};

static cuzk_request *made_request(const made *m) {
    static const made *const known[] = {&window, &winning, &update};
    static cuzk_buf text[3]; /* made once each */
    int i = 0;
    while (known[i] != m)
        i++;
    if (!text[i].data) make(&text[i], m);
    return taken(text[i].data);
}

static void expect_refused(cuzk_request *r, const char *part) {
    cuzk_err err = {0};
    cuzk_status st;
    if (r->kind == CUZK_KIND_UPDATE) {
        cuzk_update *u;
        st = cuzk_update_from_request(&u, r, &err);
        assert_null(u);
    } else {
        cuzk_post *p;
        st = cuzk_post_from_request(&p, r, &err);
        assert_null(p);
    }
    if (st != CUZK_STATUS_BAD_INPUT || !strstr(err.msg, part) || !strstr(err.msg, "expected"))
        fail_msg("%d: %s (wanted %s)", st, err.msg, part);
}

static void wrong_post(void **state) {
    cuzk_request *r;
    (void)state;
    r = made_request(&window);
    r->registered_proof = 15;
    expect_refused(r, "0 to 14");
    r = made_request(&window);
    r->registered_proof = 11; /* 8 MiB */
    expect_refused(r, "sector_size: expected 8388608");
    r = made_request(&window);
    r->registered_proof = 0;
    expect_refused(r, "proof_kind: expected WINNING_POST");
    r = made_request(&window);
    r->registered_proof = 11;
    r->sector_size = 8 << 20;
    expect_refused(r, "vanilla_proofs 0, challenge 0, inclusion_proof: expected 6 levels");
    r = made_request(&window);
    r->value[CUZK_REQ_RANDOMNESS][31] = 0xff;
    expect_refused(r, "randomness: expected a field element");
    r = made_request(&window);
    r->seen &= ~(1u << CUZK_REQ_RANDOMNESS);
    expect_refused(r, "a field `randomness`");
    r = made_request(&window);
    memcpy(r->vanilla_proofs[1].data, r->vanilla_proofs[0].data, 8); /* the same sector_id */
    expect_refused(r, "sector 7 twice");
    r = made_request(&window);
    r->vanilla_proofs[1].data[8 + 31] = 0xff;
    expect_refused(r, "comm_r: expected a field element");
    r = made_request(&winning);
    r->vanilla_proofs[0].len--;
    expect_refused(r, "comm_r_last");
    r = made_request(&winning);
    r->vanilla_proofs[0].data[8 + 32] = 2;
    expect_refused(r, "expected 1 entry of vanilla_proof.sectors");
    r = made_request(&winning);
    r->vanilla_proofs[0].data[8 + 32 + 8] = 10; /* a window's */
    expect_refused(r, "expected 66 inclusion_proofs");
}

/* What stands beside the vanilla proofs is compared with them, or is no field of the kind. */
static void expect_false(cuzk_request *r, const char *part) {
    cuzk_post *p;
    cuzk_err err = {0};
    const cuzk_status st = cuzk_post_from_request(&p, r, &err);
    if (st != CUZK_STATUS_FALSE || !strstr(err.msg, part) || !strstr(err.msg, "actual"))
        fail_msg("%d: %s (wanted %s)", st, err.msg, part);
    assert_null(p);
}

/* A made request that lists its two sectors, the later one first. */
static cuzk_request *with_sectors(void) {
    static cuzk_buf b;
    static const char digits[] = "0123456789abcdef";
    cuzk_request *r = made_request(&window);
    cuzk_post *p;
    cuzk_err err = {0};
    char list[2][65] = {{0}};
    assert_int_equal(cuzk_post_from_request(&p, r, &err), CUZK_OK);
    for (int i = 0; i < 64; i++)
        for (int s = 0; s < 2; s++)
            list[s][i] = digits[p->sectors[s].comm_r[i / 2] >> (i % 2 ? 0 : 4) & 15];
    assert_int_equal(p->sectors[0].number, 7);
    assert_int_equal(p->sectors[1].number, 8);
    cuzk_post_free(p);
    cuzk_buf_free(&b);
    make(&b, &window);
    b.len -= 2; /* "}" and a line's end */
    cuzk_buf_printf(&b,
                    ",\"sector_number\":8,\"sectors\":[{\"sector_number\":8,\"comm_r\":\"%s\"},"
                    "{\"sector_number\":7,\"comm_r\":\"%s\"}]}",
                    list[1], list[0]);
    return taken(b.data);
}

static void stated_post(void **state) {
    cuzk_request *r;
    cuzk_post *p;
    cuzk_err err = {0};
    (void)state;
    r = with_sectors();
    if (cuzk_post_from_request(&p, r, &err) != CUZK_OK) fail_msg("%s", err.msg);
    cuzk_post_free(p);
    r = with_sectors();
    r->sectors[1].number = 999;
    expect_false(r, "sectors: expected sector_number 7 of the vanilla proofs, actual 8");
    r = with_sectors();
    r->sectors[0].number = 7; /* twice */
    memcpy(r->sectors[0].comm_r, r->sectors[1].comm_r, 32);
    expect_false(r, "sectors: expected sector_number 8 of the vanilla proofs, actual 7");
    r = with_sectors();
    r->sectors[0].comm_r[5] ^= 1;
    expect_false(r, "sectors: comm_r of sector 8: expected");
    r = with_sectors();
    r->n_sectors = 1;
    expect_false(r, "sectors: expected 2 as in vanilla_proofs, actual 1");
    r = with_sectors();
    r->sector_number = 999;
    expect_false(r, "sector_number: expected one of its sectors, the first is 7, actual 999");
    r = with_sectors();
    r->sector_number = 0; /* a default */
    assert_int_equal(cuzk_post_from_request(&p, r, &err), CUZK_OK);
    cuzk_post_free(p);
}

static void foreign_fields(void **state) {
    static const cuzk_request_field post[] = {
        CUZK_REQ_VANILLA_PROOF, CUZK_REQ_COMM_R,    CUZK_REQ_COMM_D,   CUZK_REQ_REPLICA_ID,
        CUZK_REQ_SEED,          CUZK_REQ_TICKET,    CUZK_REQ_POREP_ID, CUZK_REQ_COMM_R_OLD,
        CUZK_REQ_COMM_R_NEW,    CUZK_REQ_COMM_D_NEW};
    static const cuzk_request_field snap[] = {
        CUZK_REQ_VANILLA_PROOF, CUZK_REQ_COMM_R,     CUZK_REQ_COMM_D,
        CUZK_REQ_REPLICA_ID,    CUZK_REQ_SEED,       CUZK_REQ_TICKET,
        CUZK_REQ_POREP_ID,      CUZK_REQ_RANDOMNESS, CUZK_REQ_SECTORS};
    (void)state;
    for (size_t i = 0; i < sizeof post / sizeof *post; i++) {
        cuzk_request *r = made_request(i % 2 ? &window : &winning);
        r->seen |= 1u << post[i];
        expect_refused(r, i % 2 ? "of WINDOW_POST_PARTITION only" : "of WINNING_POST only");
    }
    for (size_t i = 0; i < sizeof snap / sizeof *snap; i++) {
        cuzk_request *r = made_request(&update);
        r->seen |= 1u << snap[i];
        expect_refused(r, "of SNAP_DEALS_UPDATE only");
    }
    cuzk_request *r = made_request(&winning);
    r->partition_index = 1;
    expect_refused(r, "partition_index: expected fields of WINNING_POST only");
    r = made_request(&update);
    r->partition_index = 1;
    r->seen |= 1u << CUZK_REQ_PARTITION_INDEX;
    expect_refused(r, "partition_index: expected fields of SNAP_DEALS_UPDATE only");
    r = made_request(&window);
    snprintf(r->registered_name, sizeof r->registered_name, "StackedDrgWindow2KiBV1_1");
    expect_refused(r, "is StackedDrgWindow2KiBV1_2 in the proof library");
}

static void wrong_update(void **state) {
    cuzk_request *r;
    (void)state;
    r = made_request(&update);
    r->registered_proof = 5;
    expect_refused(r, "0 to 4");
    r = made_request(&update);
    r->registered_proof = 1;
    r->sector_size = 8 << 20;
    expect_refused(r, "expected 4 partitions");
    r = made_request(&update);
    r->value[CUZK_REQ_COMM_D_NEW][31] = 0xff;
    expect_refused(r, "comm_d_new: expected a field element");
    r = made_request(&update);
    r->vanilla_proofs[0].data[32] = 9;
    expect_refused(r, "expected 8 apex_leaves");
    r = made_request(&update);
    r->vanilla_proofs[0].data[32 + 8 + 8 * 32] = 11;
    expect_refused(r, "expected 10 challenge_proofs");
    /* every length */
    cuzk_request *whole = made_request(&update);
    const size_t n = whole->vanilla_proofs[0].len;
    cuzk_request_free(whole);
    for (size_t i = 0; i < n; i += 1 + i / 16) {
        r = made_request(&update);
        r->vanilla_proofs[0].len = i;
        expect_refused(r, "vanilla_proofs 0");
    }
}

/* Sectors in any order make the same statement. */
static void sorted(void **state) {
    cuzk_request *r = made_request(&window);
    cuzk_post *a, *b;
    cuzk_err err = {0};
    cuzk_u256 x[22], y[22];
    (void)state;
    assert_int_equal(cuzk_post_from_request(&a, r, &err), CUZK_OK);
    r = made_request(&window);
    const cuzk_blob first = r->vanilla_proofs[0];
    r->vanilla_proofs[0] = r->vanilla_proofs[1];
    r->vanilla_proofs[1] = first;
    assert_int_equal(cuzk_post_from_request(&b, r, &err), CUZK_OK);
    assert_true(b->sectors[0].number < b->sectors[1].number);
    assert_int_equal(cuzk_post_public(x, 22, &a->statement, &err), CUZK_OK);
    assert_int_equal(cuzk_post_public(y, 22, &b->statement, &err), CUZK_OK);
    assert_memory_equal(x, y, sizeof x);
    cuzk_post_free(a);
    cuzk_post_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings),   cmocka_unit_test(values),
        cmocka_unit_test(wrong),       cmocka_unit_test(wrong_post),
        cmocka_unit_test(sorted),      cmocka_unit_test(wrong_update),
        cmocka_unit_test(stated_post), cmocka_unit_test(foreign_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Jobs as protobuf messages and HTTP bodies: what the engine is given of them, and what is refused
 * with which words. */
#include "support.h"

#include "rpc/internal.h"
#include "rpc/wire.h"

#include <cuzk/v1/engine.pb-c.h>
#include <cuzk/v1/proving.pb-c.h>

static uint8_t message[1 << 16];

static size_t pack(const void *msg) {
    const size_t n = protobuf_c_message_get_packed_size(msg);
    assert_true(n <= sizeof message);
    return protobuf_c_message_pack(msg, message);
}

/* Reads message[0 .. n) as the method does; the caller frees. */
static cuzk_status read_wire(cuzk__rpc_submission *s, size_t n, bool prove, cuzk_err *err) {
    cuzk__rpc_submission_init(s, "me");
    memset(err, 0, sizeof *err);
    return cuzk__rpc_read_submit(s, message, n, prove, err);
}

static void assert_meta(const cuzk__rpc_submission *s, const char *want) {
    assert_int_equal(s->request.payload.meta.len, strlen(want));
    assert_memory_equal(s->request.payload.meta.data, want, strlen(want));
}

static Cuzk__V1__SubmitProofRequest porep(void) {
    static uint8_t c1[] = "{\"SectorNum\":1}";
    Cuzk__V1__SubmitProofRequest m = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    m.request_id = (char *)(uintptr_t) "r-1";
    m.proof_kind = CUZK__V1__PROOF_KIND__POREP_SEAL_COMMIT;
    m.vanilla_proof.data = c1;
    m.vanilla_proof.len = sizeof c1 - 1;
    return m;
}

static void test_porep(void **state) {
    (void)state;
    cuzk_err err;
    cuzk__rpc_submission s;
    Cuzk__V1__SubmitProofRequest m = porep();
    m.sector_size = 34359738368;
    m.registered_proof = 8;
    m.priority = CUZK__V1__PRIORITY__HIGH;
    m.sector_number = 7;
    m.miner_id = 1000;
    m.deadline_unix_ms = 1700000000123;
    m.cancel_on_disconnect = true;
    assert_int_equal(read_wire(&s, pack(&m), false, &err), CUZK_OK);
    assert_int_equal(s.request.payload.kind, CUZK_ENGINE_POREP);
    assert_string_equal(s.request.request_id, "r-1");
    assert_string_equal(s.request.client, "me");
    assert_int_equal(s.request.priority, 3);
    assert_true(s.request.deadline_ns == 1700000000123000000);
    assert_true(s.cancel_on_disconnect);
    assert_int_equal(s.request.payload.n_parts, 1);
    assert_memory_equal(s.request.payload.parts[0].data, m.vanilla_proof.data, m.vanilla_proof.len);
    /* not copied */
    const uint8_t *at = s.request.payload.parts[0].data;
    assert_true(at > message && at < message + sizeof message);
    assert_meta(&s, "{\"proof_kind\":\"POREP_SEAL_COMMIT\",\"sector_size\":34359738368,"
                    "\"registered_proof\":8,\"sector_number\":7,\"miner_id\":1000}");
    cuzk__rpc_submission_free(&s);
}

/* Zeros of proto3 are "not set", but where a number of a PoSt begins at 0. */
static void test_zeros(void **state) {
    (void)state;
    cuzk_err err;
    cuzk__rpc_submission s;
    Cuzk__V1__SubmitProofRequest m = porep();
    assert_int_equal(read_wire(&s, pack(&m), false, &err), CUZK_OK);
    assert_meta(&s, "{\"proof_kind\":\"POREP_SEAL_COMMIT\"}");
    cuzk__rpc_submission_free(&s);

    uint8_t one[3] = {1, 2, 3}, two[2] = {4, 5}, randomness[32] = {0xab};
    ProtobufCBinaryData proofs[2] = {{sizeof one, one}, {sizeof two, two}};
    Cuzk__V1__SubmitProofRequest w = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    w.proof_kind = CUZK__V1__PROOF_KIND__WINDOW_POST_PARTITION;
    w.vanilla_proofs = proofs;
    w.n_vanilla_proofs = 2;
    w.randomness.data = randomness;
    w.randomness.len = 32;
    assert_int_equal(read_wire(&s, pack(&w), false, &err), CUZK_OK);
    assert_int_equal(s.request.payload.n_parts, 2);
    assert_int_equal(s.request.payload.parts[1].len, 2);
    assert_memory_equal(s.request.payload.parts[1].data, two, 2);
    assert_int_equal(s.request.priority, 0);
    assert_int_equal(s.request.deadline_ns, 0);
    assert_meta(&s, "{\"proof_kind\":\"WINDOW_POST_PARTITION\",\"registered_proof\":0,"
                    "\"randomness\":"
                    "\"ab00000000000000000000000000000000000000000000000000000000000000\","
                    "\"partition_index\":0}");
    cuzk__rpc_submission_free(&s);
}

static void test_prove(void **state) {
    (void)state;
    cuzk_err err;
    cuzk__rpc_submission s;
    Cuzk__V1__SubmitProofRequest m = porep(), more = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
    p.submit = &m;
    size_t n = pack(&p);
    assert_int_equal(read_wire(&s, n, true, &err), CUZK_OK);
    assert_int_equal(s.request.payload.n_parts, 1);
    cuzk__rpc_submission_free(&s);

    /* the field twice: proto3 joins them */
    Cuzk__V1__ProveRequest q = CUZK__V1__PROVE_REQUEST__INIT;
    more.miner_id = 5;
    q.submit = &more;
    n += protobuf_c_message_pack(&q.base, message + n);
    assert_int_equal(read_wire(&s, n, true, &err), CUZK_OK);
    assert_meta(&s, "{\"proof_kind\":\"POREP_SEAL_COMMIT\",\"miner_id\":5}");
    cuzk__rpc_submission_free(&s);

    assert_int_equal(read_wire(&s, 0, true, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "submit: expected the job"));
    cuzk__rpc_submission_free(&s);
}

static void refuse(const Cuzk__V1__SubmitProofRequest *m, const char *word) {
    cuzk_err err;
    cuzk__rpc_submission s;
    assert_int_equal(read_wire(&s, pack(m), false, &err), CUZK_STATUS_BAD_INPUT);
    if (!strstr(err.msg, word)) fail_msg("'%s' lacks '%s'", err.msg, word);
    cuzk__rpc_submission_free(&s);
}

static void test_refused(void **state) {
    (void)state;
    char longer[300];
    uint8_t short_bytes[31] = {0}, one[1] = {0};
    ProtobufCBinaryData proof = {1, one};
    Cuzk__V1__SubmitProofRequest m = porep();
    m.proof_kind = 0;
    refuse(&m, "vanilla_proof: expected vanilla_proofs of PROOF_KIND_UNSPECIFIED");
    m.vanilla_proof.len = 0;
    refuse(&m, "proof_kind: expected POREP_SEAL_COMMIT (1)");
    m = porep();
    m.proof_kind = 5;
    refuse(&m, "SubmitCircom");
    m = porep();
    m.priority = 9;
    refuse(&m, "priority: expected LOW (1) to CRITICAL (4) or 0, actual 9");
    m = porep();
    m.vanilla_proof.len = 0;
    refuse(&m, "vanilla_proof: expected the output of commit phase 1");
    m = porep();
    m.vanilla_proofs = &proof;
    m.n_vanilla_proofs = 1;
    refuse(&m, "vanilla_proofs: expected vanilla_proof of a PoRep");
    m = porep();
    m.proof_kind = CUZK__V1__PROOF_KIND__WINNING_POST;
    refuse(&m, "vanilla_proof: expected vanilla_proofs of WINNING_POST");
    m.vanilla_proof.len = 0;
    refuse(&m, "vanilla_proofs: expected one a challenged sector");
    m = porep();
    m.comm_r_new.data = short_bytes;
    m.comm_r_new.len = 31;
    refuse(&m, "comm_r_new: expected 32 bytes, actual 31");
    m = porep();
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    m.request_id = longer;
    refuse(&m, "request_id: expected at most 255 bytes, actual 299");
    m = porep();
    m.request_id = (char *)(uintptr_t) "\xff";
    refuse(&m, "request_id: expected UTF-8");
    m = porep();
    m.deadline_unix_ms = UINT64_MAX;
    refuse(&m, "deadline_unix_ms");
}

/* Every prefix of a message is read or refused, and never read beyond. */
/* Fields that nobody knows, and thousands of empty proofs: refused before they take memory. */
static void test_padded(void **state) {
    (void)state;
    static uint8_t big[1 << 18];
    cuzk_err err = {0};
    for (int what = 0; what < 3; what++) {
        cuzk__rpc_submission s;
        for (size_t i = 0; i < sizeof big; i += 2) {
            big[i] = what == 0 ? 0x5a : 0x78; /* vanilla_proofs; field 15 */
            big[i + 1] = 0;
        }
        cuzk__rpc_submission_init(&s, "me");
        assert_int_equal(what == 2 ? cuzk__rpc_read_circom(&s, big, sizeof big, &err)
                                   : cuzk__rpc_read_submit(&s, big, sizeof big, false, &err),
                         CUZK_STATUS_BAD_INPUT);
        assert_non_null(strstr(err.msg, "more than"));
        cuzk__rpc_submission_free(&s);
    }
}

static void test_truncated(void **state) {
    (void)state;
    cuzk_err err;
    cuzk__rpc_submission s;
    Cuzk__V1__SubmitProofRequest m = porep();
    m.sector_number = 12345678;
    m.deadline_unix_ms = 1700000000123;
    const size_t n = pack(&m);
    for (size_t len = 0; len < n; len++) {
        uint8_t *copy = malloc(len ? len : 1);
        memcpy(copy, message, len);
        memset(&err, 0, sizeof err);
        cuzk__rpc_submission_init(&s, NULL);
        const cuzk_status st = cuzk__rpc_read_submit(&s, copy, len, false, &err);
        assert_true(st == CUZK_OK || (st == CUZK_STATUS_BAD_INPUT && err.msg[0]));
        cuzk__rpc_submission_free(&s);
        free(copy);
    }
    static const uint8_t bad[][12] = {{0x0b}, {0x52, 0xff, 0xff, 0xff, 0xff, 0x0f}, {0x00}};
    for (size_t i = 0; i < 3; i++) {
        memcpy(message, bad[i], 12);
        assert_int_equal(read_wire(&s, i == 1 ? 6 : 1, false, &err), CUZK_STATUS_BAD_INPUT);
        assert_non_null(strstr(err.msg, "does not decode"));
        cuzk__rpc_submission_free(&s);
    }
}

static void test_circom(void **state) {
    (void)state;
    cuzk_err err = {0};
    cuzk__rpc_submission s;
    uint8_t wtns[5] = {'w', 't', 'n', 's', 2};
    Cuzk__V1__SubmitCircomRequest m = CUZK__V1__SUBMIT_CIRCOM_REQUEST__INIT;
    m.key = (char *)(uintptr_t) "mul \"3\"";
    m.wtns.data = wtns;
    m.wtns.len = sizeof wtns;
    m.deadline_unix_ms = 5;
    cuzk__rpc_submission_init(&s, NULL);
    assert_int_equal(cuzk__rpc_read_circom(&s, message, pack(&m), &err), CUZK_OK);
    assert_int_equal(s.request.payload.kind, CUZK_ENGINE_CIRCOM);
    assert_meta(&s, "{\"key\":\"mul \\\"3\\\"\"}");
    assert_int_equal(s.request.payload.n_parts, 1);
    assert_memory_equal(s.request.payload.parts[0].data, wtns, sizeof wtns);
    assert_true(s.request.deadline_ns == 5000000);
    cuzk__rpc_submission_free(&s);

    m.wtns.len = 0;
    cuzk__rpc_submission_init(&s, NULL);
    assert_int_equal(cuzk__rpc_read_circom(&s, message, pack(&m), &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "wtns: expected a witness"));
    cuzk__rpc_submission_free(&s);
    static char longest[CUZK_ENGINE_KEY_NAME + 1], not_utf8[] = "k\xff";
    memset(longest, 'k', CUZK_ENGINE_KEY_NAME);
    char empty[] = "";
    const struct {
        char *key;
        const char *said;
    } keys[] = {{empty, "actual one of 0"}, {longest, "actual one of 96"}, {not_utf8, "no UTF-8"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        m.key = keys[i].key;
        cuzk__rpc_submission_init(&s, NULL);
        assert_int_equal(cuzk__rpc_read_circom(&s, message, pack(&m), &err), CUZK_STATUS_BAD_INPUT);
        assert_non_null(strstr(err.msg, "key: expected the name"));
        assert_non_null(strstr(err.msg, keys[i].said));
        cuzk__rpc_submission_free(&s);
    }
}

/* ---- HTTP ---- */

static cuzk_status read_text(cuzk__rpc_submission *s, const char *type, const char *body,
                             cuzk_err *err) {
    cuzk__rpc_submission_init(s, NULL);
    memset(err, 0, sizeof *err);
    return cuzk__rpc_read_body(s, type, (const uint8_t *)body, strlen(body), NULL, NULL, err);
}

static void test_json(void **state) {
    (void)state;
    cuzk_err err;
    cuzk__rpc_submission s;
    assert_int_equal(
        read_text(
            &s, NULL,
            "{\"vanillaProofs\":[\"AQID\",\"BAU=\"],\"proof_kind\":\"PROOF_KIND_WINNING_POST\","
            "\"request_id\":\"w\\u0031\",\"priority\":\"CRITICAL\",\"miner_id\": \"1000\","
            "\"sectors\":[ {\"sector_number\":1} ],\"deadline_unix_ms\":12}",
            &err),
        CUZK_OK);
    assert_int_equal(s.request.payload.kind, CUZK_ENGINE_WINNING);
    assert_string_equal(s.request_id, "w1");
    assert_int_equal(s.request.priority, 4);
    assert_true(s.request.deadline_ns == 12000000);
    assert_int_equal(s.request.payload.n_parts, 2);
    assert_memory_equal(s.request.payload.parts[0].data, "\1\2\3", 3);
    assert_int_equal(s.request.payload.parts[1].len, 2);
    assert_meta(&s, "{\"proof_kind\":\"WINNING_POST\",\"miner_id\":\"1000\","
                    "\"sectors\":[ {\"sector_number\":1} ]}");
    cuzk__rpc_submission_free(&s);

    assert_int_equal(read_text(&s, "application/json; charset=utf-8",
                               "{\"proof_kind\":1,\"vanilla_proof\":\"AQ==\"}", &err),
                     CUZK_OK);
    assert_int_equal(s.request.payload.n_parts, 1);
    assert_meta(&s, "{\"proof_kind\":\"POREP_SEAL_COMMIT\"}");
    cuzk__rpc_submission_free(&s);

    assert_int_equal(
        read_text(&s, NULL, "{\"proof_kind\":\"CIRCOM\",\"key\":\"mul3\",\"wtns\":\"AQ==\"}", &err),
        CUZK_OK);
    assert_meta(&s, "{\"key\":\"mul3\"}");
    cuzk__rpc_submission_free(&s);
}

static void test_json_refused(void **state) {
    (void)state;
    static const struct {
        const char *body, *word;
    } cases[] = {
        {"", "body"},
        {"[]", "body"},
        {"{\"proof_kind\":\"SEAL\"}", "proof_kind: expected POREP_SEAL_COMMIT"},
        {"{\"proof_kind\":1,\"proof_kind\":1}", "proof_kind: expected it once, actual twice"},
        {"{\"proof_kind\":1,\"proofKind\":1}", "proof_kind: expected it once, actual twice"},
        {"{\"proof\":1}", "an unknown one"},
        {"{\"proof_kind\":1}", "vanilla_proof: expected the output of commit phase 1"},
        {"{\"vanilla_proof\":\"AQ==\"}", "proof_kind: expected"},
        {"{\"proof_kind\":1,\"vanilla_proof\":\"A\"}", "vanilla_proof"},
        {"{\"proof_kind\":1,\"vanilla_proof\":\"AQ==\",\"key\":\"x\"}", "key: expected fields of"},
        {"{\"proof_kind\":\"CIRCOM\",\"wtns\":\"AQ==\"}", "key: expected the name"},
        {"{\"proof_kind\":\"CIRCOM\",\"key\":\"a\",\"wtns\":\"AQ==\",\"seed\":\"\"}",
         "proof_kind: expected CIRCOM alone"},
        {"{\"proof_kind\":1,\"vanilla_proofs\":[\"AQ==\"]}",
         "vanilla_proofs: expected vanilla_proof"},
        {"{\"priority\":\"URGENT\"}", "priority: expected LOW"},
        {"{\"deadline_unix_ms\":\"soon\"}", "deadline_unix_ms: expected milliseconds"},
        {"{\"proof_kind\":1,\"vanilla_proof\":\"AQ==\"} x", "body"},
    };
    cuzk_err err;
    cuzk__rpc_submission s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_text(&s, NULL, cases[i].body, &err), CUZK_STATUS_BAD_INPUT);
        if (!strstr(err.msg, cases[i].word)) fail_msg("%s: '%s'", cases[i].body, err.msg);
        cuzk__rpc_submission_free(&s);
    }
    assert_int_equal(read_text(&s, "text/html", "{}", &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "Content-Type: expected application/json"));
    cuzk__rpc_submission_free(&s);
}

#define FORM "multipart/form-data; boundary=XyZ"
#define PART(name, data)                                                                           \
    "--XyZ\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" data "\r\n"

static void test_multipart(void **state) {
    (void)state;
    cuzk_err err;
    cuzk__rpc_submission s;
    const char *body = PART("request", "{\"proof_kind\":\"WINDOW_POST_PARTITION\"}")
        PART("partition_index", "3") PART("vanilla_proofs", "\r\n-- one\r\n")
            PART("vanilla_proofs", "two") PART("sectors", "[{}]") "--XyZ--\r\n";
    assert_int_equal(read_text(&s, FORM, body, &err), CUZK_OK);
    assert_int_equal(s.request.payload.n_parts, 2);
    assert_int_equal(s.request.payload.parts[0].len, 10);
    assert_memory_equal(s.request.payload.parts[1].data, "two", 3);
    assert_meta(&s, "{\"proof_kind\":\"WINDOW_POST_PARTITION\",\"partition_index\":\"3\","
                    "\"sectors\":[{}]}");
    cuzk__rpc_submission_free(&s);

    /* as curl -F sends files */
    body = "--XyZ\r\nContent-Disposition: form-data; name=\"wtns\"; filename=\"w\"\r\n"
           "Content-Type: application/octet-stream\r\n\r\nwtns\r\n" PART("proof_kind", "CIRCOM")
               PART("key", "mul3") "--XyZ--";
    assert_int_equal(read_text(&s, "multipart/form-data; boundary=\"XyZ\"", body, &err), CUZK_OK);
    assert_int_equal(s.request.payload.parts[0].len, 4);
    cuzk__rpc_submission_free(&s);

    static const char *const bad[] = {"",
                                      "--XyZ",
                                      "--XyZ\r\n\r\n",
                                      "--XyZ\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XyZ--",
                                      PART("key", "mul3"),
                                      PART("nobody", "x") "--XyZ--",
                                      PART("sectors", "[") "--XyZ--",
                                      "--Xyz--"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(read_text(&s, FORM, bad[i], &err), CUZK_STATUS_BAD_INPUT);
        assert_true(err.msg[0] != '\0');
        cuzk__rpc_submission_free(&s);
    }
    assert_int_equal(read_text(&s, "multipart/form-data", "", &err), CUZK_STATUS_BAD_INPUT);
    cuzk__rpc_submission_free(&s);
}

static const char *query(void *ctx, const char *name) {
    const char *const *pairs = ctx;
    for (; pairs[0]; pairs += 2) {
        if (strcmp(pairs[0], name) == 0) return pairs[1];
    }
    return NULL;
}

static void test_raw(void **state) {
    (void)state;
    const char *porep_query[] = {"proof_kind",
                                 "POREP_SEAL_COMMIT",
                                 "registered_proof",
                                 "StackedDrg2KiBV1_1",
                                 "request_id",
                                 "q",
                                 NULL};
    const char *circom_query[] = {"proof_kind", "circom", "key", "mul3", NULL};
    cuzk_err err = {0};
    cuzk__rpc_submission s;
    cuzk__rpc_submission_init(&s, NULL);
    assert_int_equal(cuzk__rpc_read_body(&s, "application/octet-stream", (const uint8_t *)"c1", 2,
                                         query, porep_query, &err),
                     CUZK_OK);
    assert_meta(&s, "{\"proof_kind\":\"POREP_SEAL_COMMIT\","
                    "\"registered_proof\":\"StackedDrg2KiBV1_1\"}");
    assert_string_equal(s.request_id, "q");
    cuzk__rpc_submission_free(&s);
    cuzk__rpc_submission_init(&s, NULL);
    assert_int_equal(cuzk__rpc_read_body(&s, "application/octet-stream", (const uint8_t *)"w", 1,
                                         query, circom_query, &err),
                     CUZK_OK);
    assert_int_equal(s.request.payload.kind, CUZK_ENGINE_CIRCOM);
    cuzk__rpc_submission_free(&s);
}

/* ---- errors ---- */

static void test_failures(void **state) {
    (void)state;
    static const struct {
        cuzk_status st;
        cuzk_sched_reason reason;
        bool submit;
        int grpc;
        unsigned http;
        bool retry;
    } cases[] = {
        {CUZK_STATUS_BAD_INPUT, 0, false, CUZK_GRPC_INVALID_ARGUMENT, 400, false},
        {CUZK_STATUS_FALSE, 0, true, CUZK_GRPC_INVALID_ARGUMENT, 400, false},
        {CUZK_STATUS_NOT_FOUND, 0, false, CUZK_GRPC_NOT_FOUND, 404, false},
        {CUZK_STATUS_NOT_FOUND, 0, true, CUZK_GRPC_FAILED_PRECONDITION, 409, false},
        {CUZK_STATUS_CONFLICT, 0, true, CUZK_GRPC_ALREADY_EXISTS, 409, false},
        {CUZK_STATUS_BUSY, CUZK_REASON_QUEUE_FULL, true, CUZK_GRPC_RESOURCE_EXHAUSTED, 429, true},
        {CUZK_STATUS_BUSY, CUZK_REASON_DRAINING, true, CUZK_GRPC_UNAVAILABLE, 503, true},
        {CUZK_STATUS_BUSY, CUZK_REASON_LATE, true, CUZK_GRPC_DEADLINE_EXCEEDED, 409, false},
        {CUZK_STATUS_NO_MEMORY, CUZK_REASON_HOST, true, CUZK_GRPC_FAILED_PRECONDITION, 409, false},
        {CUZK_STATUS_NO_MEMORY, 0, true, CUZK_GRPC_RESOURCE_EXHAUSTED, 503, false},
        {CUZK_STATUS_NO_DEVICE, CUZK_REASON_NO_DEVICE, true, CUZK_GRPC_UNAVAILABLE, 503, false},
        {CUZK_STATUS_IO, 0, true, CUZK_GRPC_UNAVAILABLE, 503, false},
        {CUZK_STATUS_BUG, 0, true, CUZK_GRPC_INTERNAL, 500, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuzk__rpc_failure f;
        const cuzk_err err = {cases[i].st, "what happened"};
        const cuzk_engine_refusal r = {cases[i].reason, 10, 5, 1500000000, 77};
        cuzk__rpc_failed(&f, cases[i].st, &err, cases[i].submit ? &r : NULL);
        assert_int_equal(f.grpc, cases[i].grpc);
        assert_int_equal(f.http, cases[i].http);
        assert_int_equal(f.retry_ns > 0, cases[i].retry);
        assert_true(strstr(f.message, "what happened") == f.message);
        if (cases[i].retry)
            assert_non_null(strstr(f.message, "queue depth 77, retry after 1500 ms"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_porep),        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_prove),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_padded),       cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_circom),       cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_refused), cmocka_unit_test(test_multipart),
        cmocka_unit_test(test_raw),          cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

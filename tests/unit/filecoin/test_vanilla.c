/* Vanilla proofs of every kind: true ones are accepted, lead to the reference implementation's
 * witnesses, and to public inputs that are the witness's own and the published ones; anything
 * changed in them is noticed. */
#include "support.h"

#include "base/mem.h"
#include "circuit/fillers.h"
#include "filecoin/vanilla.h"
#include "made.h"
#include "witness/witness.h"

#include <inttypes.h>
#include <unistd.h>

static cuzk_poseidon_set set;
static cuzk_pool *pool;

static const made sectors[] = {
    {"porep-2k", "cuzk test", 7, 5, CUZK_C1_LOTUS, 0, false,
     "09b79c325adcb74add01f4a471df1f44d2c50109612b8299418233df29301381"},
    {"porep-2k", "cuzk test", 7, 5, CUZK_C1_BINCODE, 0, false,
     "09b79c325adcb74add01f4a471df1f44d2c50109612b8299418233df29301381"},
    {"porep-2k", "cuzk test", 10, 10, CUZK_C1_JSON, 0, false,
     "5d97457c28e49557057eada7e747dc3dc02de2acd57fe450949fe4581ba97f79"},
    {"porep-2k", "cuzk test", 11, 15, CUZK_C1_JSON, 0, false,
     "d607c0c9b54ba08cb47f5eaef0aa20ef5fcdbe2d5cc0c25f5416f54ee7a8ed67"},
    {"porep-16k", "cuzk test", 14, -1, CUZK_C1_BINCODE, 0, false,
     "4bd21d257abe8659f5cce4f9233abb015b556e0520a8c496f76be8e9b003b637"},
    {"porep-512m", "cuzk sparse", 77, 7, CUZK_C1_BINCODE, 0, true,
     "21fb095047ee4029ddc39175caab7eb1ac47eba19b8e1b4ad847ac456195663e"},
    {"wpost-2k", "cuzk test", 7, 10, 0, 2, false,
     "2a71d14d3f2331992ae905206b0973d1276c0ec8e2b31a29adbe014e334a15f6"},
    {"wpost-2k", "cuzk test", 7, 5, 0, 1, false,
     "4e5e42befcd119f8ff871c32d7fbfa9b3e64c72e7a1d79cb82660fe7cbf55a08"},
    {"winning-2k", "cuzk test", 7, 0, 0, 1, false,
     "5028ac5b4994e90d681b57963e92f08070b7de0c6bcb5b0a3fd06496b354448b"},
    {"winning-32g", "cuzk sparse", 77, 3, 0, 1, true,
     "eb7120145599de5c312958eabb68f36b56d9fdec2e05f99aad2dc1eddf887d23"},
    {"snap-2k", "cuzk test", 7, 0, 0, 0, false,
     "1128805dcf9dea9a0671d049b3d0ffad0c09311af68ab0543722363a03cfc61b"},
};
/* With CUZK_TEST_LARGE. */
static const made large[] = {
    {"porep-8m", "cuzk test", 12, 6, CUZK_C1_LOTUS, 0, false,
     "842ea3db002316c125ffcdbe94ac761de8a0857d5d462be38e1493c8f81e4c13"},
    {"porep-32g", "cuzk sparse", 77, 8, CUZK_C1_LOTUS, 0, true,
     "834221e846b502e3cae3fddc130562500e0187a97b374139eaaa86e47e2a2a78"},
    {"snap-32g", "cuzk sparse", 77, 3, 0, 0, true,
     "eb733daa66637daca701a5ce9c47a41a88509c9c9b2fe853b0dd051a4563b173"},
    {"wpost-32g", "cuzk sparse", 77, 13, 0, 3, true,
     "12c0d4a36b3668d8b2a150b204c1277ea9b2cddfbf1cc6943e7b8d3911d80d6c"},
};

/* ---- opening from memory, as files are opened ---- */

static char file[] = "/tmp/cuzk_test_vanilla_XXXXXX";

static cuzk_status open_bytes(cuzk_vanilla **out, const void *data, size_t n,
                              const cuzk_porep_facts *facts, cuzk_err *err) {
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return cuzk_vanilla_open(out, file, facts, err);
}

static cuzk_vanilla *opened(const made *m, const cuzk_porep_facts *facts) {
    cuzk_vanilla *v;
    cuzk_buf b;
    cuzk_err err = {0};
    make(&b, m);
    if (open_bytes(&v, b.data, b.len, facts, &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_string_equal(v->circuit->name, m->circuit);
    cuzk_buf_free(&b);
    return v;
}

static cuzk_status check(const cuzk_vanilla *v, cuzk_err *err) {
    return cuzk_vanilla_check(v, 0, v->partitions, &set, pool, NULL, err);
}

/* ---- true ones ---- */

static void expect_witness(const cuzk_vanilla *v, uint32_t partition, const char *digest) {
    cuzk_r1cs *r;
    cuzk_witness *w;
    cuzk_witness_plan *plan;
    cuzk_statement *s;
    cuzk_err err = {0};
    uint8_t d[32];
    char hex[65];
    if (cuzk_circuit_compact(&r, v->circuit, &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_circuit_plan(&plan, r, &set), CUZK_OK);
    cuzk_u256 *frees = calloc(r->n_free, sizeof *frees);
    assert_non_null(frees);
    assert_int_equal(cuzk_witness_new(&w, r), CUZK_OK);
    if (cuzk_vanilla_free_values(v, partition, frees, r->n_free, &err) != CUZK_OK ||
        cuzk_witness_solve(w, plan, frees, r->n_free, pool, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    if (digest) {
        assert_int_equal(cuzk_witness_digest(d, w), CUZK_OK);
        for (int i = 0; i < 32; i++)
            snprintf(hex + 2 * i, 3, "%02x", d[i]);
        assert_string_equal(hex, digest);
    }
    /* the statement's public inputs are those of the witness */
    const size_t n = cuzk_circuit_public(v->circuit);
    assert_int_equal(n + 1, r->n_inputs);
    cuzk_u256 *publics = calloc(n, sizeof *publics), x;
    assert_non_null(publics);
    if (cuzk_statement_of_vanilla(&s, v, &err) != CUZK_OK ||
        cuzk_statement_public(publics, n, s, partition, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(cuzk_witness_get(&x, w, (cuzk_wire)(i + 1)), CUZK_OK);
        if (memcmp(&x, &publics[i], sizeof x) != 0) fail_msg("public input %zu", i);
    }
    assert_int_equal(cuzk_statement_public(publics, n - 1, s, partition, &err), CUZK_STATUS_BUG);
    cuzk_statement_free(s);
    free(publics);
    free(frees);
    cuzk_witness_free(w);
    cuzk_witness_plan_free(plan);
    cuzk_r1cs_free(r);
}

static void expect_true(const made *m) {
    const cuzk_porep_facts facts = {
        .has_miner = true, .miner = 1000, .has_sector = true, .sector = m->sector};
    cuzk_vanilla *v = opened(m, &facts);
    cuzk_err err = {0};
    if (check(v, &err) != CUZK_OK) fail_msg("%s", err.msg);
    if (v->c1) assert_true(v->porep.replica_id_checked);
    expect_witness(v, 0, m->witness);
    if (v->partitions > 1) expect_witness(v, v->partitions - 1, NULL);
    cuzk_vanilla_free(v);
}

static void accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sectors / sizeof *sectors; i++)
        expect_true(&sectors[i]);
}

static void accepted_large(void **state) {
    (void)state;
    if (!getenv("CUZK_TEST_LARGE")) {
        fprintf(stderr, "CUZK_TEST_LARGE is not set: sectors of 8 MiB and 32 GiB left out\n");
        return;
    }
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        expect_true(&large[i]);
}

/* ---- published public inputs ---- */

/* The strings of 64 hexadecimal digits after "KEY": [ in a document. */
static size_t published(cuzk_u256 *out, size_t room, const char *name, const char *key) {
    char path[512], quoted[64];
    static char text[1 << 16];
    snprintf(path, sizeof path, "%s/porep/proofs/%s.json", CUZK_TEST_VECTORS, name);
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *p = strstr(text, quoted);
    assert_non_null(p);
    p += strlen(quoted);
    const char *end = strchr(p, ']');
    size_t n = 0;
    while ((p = strchr(p, '"')) != NULL && p < end && n < room) {
        uint8_t b[32];
        for (int i = 0; i < 32; i++) {
            unsigned v;
            assert_int_equal(sscanf(p + 1 + 2 * i, "%2x", &v), 1);
            b[i] = (uint8_t)v;
        }
        memcpy(&out[n++], b, 32);
        p += 66;
    }
    return n;
}

static void expect_published(const char *json, const char *name) {
    cuzk_statement *s;
    cuzk_err err = {0};
    cuzk_u256 want[132], got[132];
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(json, 1, strlen(json), f), strlen(json));
    assert_int_equal(fclose(f), 0);
    if (cuzk_statement_open(&s, file, NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
    const size_t n = published(want, 132, name, "public_inputs_le");
    assert_int_equal(n, cuzk_circuit_public(s->circuit));
    if (cuzk_statement_public(got, n, s, 0, &err) != CUZK_OK) fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], 32) != 0) fail_msg("%s: public input %zu", name, i);
    cuzk_statement_free(s);
}

static void published_inputs(void **state) {
    cuzk_buf b;
    (void)state;
    make(&b, &sectors[6]);
    expect_published(b.data, "window_2kib_v1_2");
    cuzk_buf_free(&b);
    make(&b, &sectors[8]);
    expect_published(b.data, "winning_2kib_v1");
    cuzk_buf_free(&b);
    make(&b, &sectors[9]);
    expect_published(b.data, "winning_sparse_32gib");
    cuzk_buf_free(&b);
    make(&b, &sectors[10]);
    expect_published(b.data, "update_2kib");
    cuzk_buf_free(&b);
    /* the two proofs of the polka-storage project, from their public values alone */
    expect_published(
        "{\"registered_proof\":\"StackedDrg2KiBV1_1\",\"miner_id\":0,\"sector_number\":77,"
        "\"porep_id\":\"0000000000000000000000000000000000000000000000000000000000000000\","
        "\"ticket\":\"0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c\","
        "\"seed\":\"0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d\","
        "\"comm_r\":\"4afb35f82a95a10187a913bc14520d9a1d173328265b301b5dcf440ef2583950\","
        "\"comm_d\":\"129c7562bb0c189544f5dccd365feaec2141eab458097a5ca8429c109d154421\"}",
        "real_porep_2kib");
    expect_published(
        "{\"proofKind\":\"PROOF_KIND_WINDOW_POST_PARTITION\",\"registeredProof\":\"5\","
        "\"randomness\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\",\"partitionIndex\":0,"
        "\"sectors\":[{\"sector_number\":77,\"comm_r\":"
        "\"4afb35f82a95a10187a913bc14520d9a1d173328265b301b5dcf440ef2583950\"}]}",
        "real_windowpost_2kib");
}

/* ---- changed ones ---- */

static bool said(const cuzk_err *err) {
    return strstr(err->msg, "expected") && strstr(err->msg, "actual");
}

/* A byte changed in a bincode C1: refused when opened, or found false. */
static void flipped_bincode(void **state) {
    const cuzk_porep_facts facts = {
        .has_miner = true, .miner = 1000, .has_sector = true, .sector = 7};
    cuzk_buf b;
    size_t malformed = 0, untrue = 0;
    (void)state;
    test_rng_start();
    make(&b, &sectors[1]);
    for (size_t at = 0; at < b.len; at += 1 + test_rng() % 150) {
        cuzk_c1 *c;
        cuzk_porep_statement s;
        cuzk_err err = {0};
        const char before = b.data[at];
        b.data[at] ^= (char)(1 << test_rng() % 8);
        cuzk_status st = cuzk_c1_from_memory(&c, made_bytes(&b), b.len, "c1", &err);
        if (st == CUZK_OK) st = cuzk_porep_statement_of_c1(&s, c, &facts, &err);
        if (st == CUZK_OK) st = cuzk_porep_check(c, &s, 0, 1, &set, pool, NULL, &err);
        if (st == CUZK_OK || !said(&err)) fail_msg("offset %zu: %d, %s", at, st, err.msg);
        malformed += st == CUZK_STATUS_BAD_INPUT;
        untrue += st == CUZK_STATUS_FALSE;
        cuzk_c1_free(c);
        b.data[at] = before;
    }
    fprintf(stderr, "changed bytes: %zu malformed, %zu false\n", malformed, untrue);
    assert_true(malformed > 0 && untrue > malformed);
    cuzk_buf_free(&b);
}

/* A character changed in the JSON: refused, false, or the same C1 after all (white space). */
static void flipped_json(void **state) {
    const cuzk_porep_facts facts = {
        .has_miner = true, .miner = 1000, .has_sector = true, .sector = 7};
    made m = sectors[0];
    cuzk_buf b;
    (void)state;
    test_rng_start();
    for (int form = 0; form < 2; form++) {
        m.format = form ? CUZK_C1_LOTUS : CUZK_C1_JSON;
        make(&b, &m);
        cuzk_c1 *want, *c;
        cuzk_err err = {0};
        assert_int_equal(cuzk_c1_from_memory(&want, made_bytes(&b), b.len, "c1", &err), CUZK_OK);
        for (size_t at = 0; at < b.len; at += 1 + test_rng() % 900) {
            cuzk_porep_statement s;
            const char before = b.data[at];
            memset(&err, 0, sizeof err);
            b.data[at] ^= (char)(1 << test_rng() % 7);
            cuzk_status st = cuzk_c1_from_memory(&c, made_bytes(&b), b.len, "c1", &err);
            if (st == CUZK_OK) st = cuzk_porep_statement_of_c1(&s, c, &facts, &err);
            if (st == CUZK_OK) st = cuzk_porep_check(c, &s, 0, 1, &set, pool, NULL, &err);
            if (st == CUZK_OK)
                assert_true(c->len == want->len && memcmp(c->data, want->data, c->len) == 0);
            else if (!said(&err))
                fail_msg("offset %zu: %d, %s", at, st, err.msg);
            cuzk_c1_free(c);
            b.data[at] = before;
        }
        cuzk_c1_free(want);
        cuzk_buf_free(&b);
    }
}

/* A byte changed in a vanilla proof of a request. */
static void flipped_request(const made *m, unsigned step) {
    cuzk_buf b;
    cuzk_request *r;
    cuzk_err err = {0};
    make(&b, m);
    assert_int_equal(cuzk_request_from_memory(&r, made_bytes(&b), b.len, "r", &err), CUZK_OK);
    const size_t n = r->vanilla_proofs[0].len;
    cuzk_request_free(r);
    for (size_t at = 0; at < n; at += 1 + test_rng() % step) {
        cuzk_status st;
        memset(&err, 0, sizeof err);
        assert_int_equal(cuzk_request_from_memory(&r, made_bytes(&b), b.len, "r", &err), CUZK_OK);
        r->vanilla_proofs[0].data[at] ^= (uint8_t)(1 << test_rng() % 8);
        if (r->kind == CUZK_KIND_UPDATE) {
            cuzk_update *u;
            st = cuzk_update_from_request(&u, r, &err);
            if (st == CUZK_OK) st = cuzk_update_check(u, 0, 1, &set, pool, NULL, &err);
            cuzk_update_free(u);
        } else {
            cuzk_post *p;
            st = cuzk_post_from_request(&p, r, &err);
            if (st == CUZK_OK) st = cuzk_post_check(p, &set, pool, NULL, &err);
            cuzk_post_free(p);
        }
        if (st == CUZK_OK || !said(&err)) fail_msg("offset %zu: %d, %s", at, st, err.msg);
    }
    cuzk_buf_free(&b);
}

static void flipped_requests(void **state) {
    (void)state;
    test_rng_start();
    flipped_request(&sectors[6], 60);
    flipped_request(&sectors[8], 900);
    flipped_request(&sectors[10], 150);
}

/* What is wrong is said by name. */
static void expect_said(cuzk_buf *b, size_t at, const char *part, cuzk_status want) {
    cuzk_c1 *c;
    cuzk_porep_statement s;
    cuzk_err err = {0};
    const cuzk_porep_facts facts = {
        .has_miner = true, .miner = 1000, .has_sector = true, .sector = 7};
    b->data[at] ^= 1;
    cuzk_status st = cuzk_c1_from_memory(&c, made_bytes(b), b->len, "c1", &err);
    if (st == CUZK_OK) st = cuzk_porep_statement_of_c1(&s, c, &facts, &err);
    if (st == CUZK_OK) st = cuzk_porep_check(c, &s, 0, 1, &set, pool, NULL, &err);
    if (st != want || !strstr(err.msg, part)) fail_msg("%d: %s (wanted %s)", st, err.msg, part);
    cuzk_c1_free(c);
    b->data[at] ^= 1;
}

static void names_of_faults(void **state) {
    cuzk_buf b;
    cuzk__c1_layout l;
    (void)state;
    make(&b, &sectors[1]);
    cuzk__c1_layout_of(&l, &cuzk_circuit_find("porep-2k")->u.porep);
    const size_t second = 16 + l.proof, path = 4 + 64 + 8 + 8, tail = b.len - 160;
    const struct {
        size_t at;
        const char *part;
    } faults[] = {
        {second + path, "challenge 1 (node "},
        {second + path, "comm_d_proofs (tree D): wrong Merkle path"},
        {second + 4, "comm_d_proofs (tree D): expected root"},
        {second + path + 32, "expected the Merkle path of leaf"},
        {second + l.replica + path, "comm_r_last_proof (tree R): wrong Merkle path"},
        {second + l.replica + 4 + 32, "leaf of tree R (label + data)"},
        {second + l.own, "c_x: expected the column of node"},
        {second + l.own + 12, "c_x: label of layer 1"},
        {second + l.own + 12 + 32, "c_x: label of layer 2"},
        {second + l.drg + 8 + 3 * l.column, "drg_parents 3: expected the column of node"},
        {second + l.drg + 8 + 3 * l.column + 12, "drg_parents 3: leaf of tree C"},
        {second + l.exp + 8 + 7 * l.column + 12 + 64 + path, "exp_parents 7: tree C: wrong Merkle"},
        {second + l.labels + 8 + 8, "labeling_proofs 0: expected parent 0"},
        {second + l.labels + 8 + l.label + 8 + 32 * 36, "labeling_proofs 1: expected parent 36"},
        {second + l.labels + 8 + 8 + 32 * 37, "labeling_proofs 0: expected layer_index 1"},
        {second + l.labels + 8 + 8 + 32 * 37 + 4, "expected the proof of this node"},
        {second + l.encoding + 8, "encoding_proof: expected parent 0"},
        {second + l.encoding + 8 + 32 * 37 + 4, "encoding_proof: expected node"},
        {tail, "comm_r: expected the hash"},
        {tail + 32, "replica_id: expected that of miner 1000, sector 7"},
        {tail + 64, "replica_id: expected that of miner 1000, sector 7"},
        {tail + 96, "expected the proof of this node"},
        {tail + 128, "replica_id: expected that of miner 1000, sector 7"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        expect_said(&b, faults[i].at, faults[i].part, CUZK_STATUS_FALSE);
    cuzk_buf_free(&b);
}

/* Facts that contradict the file. */
static void wrong_facts(void **state) {
    static const uint8_t other[32] = {99};
    const struct {
        cuzk_porep_facts facts;
        cuzk_status want;
        const char *part;
    } cases[] = {
        {{.has_miner = true, .miner = 1001}, CUZK_STATUS_FALSE, "miner 1001, sector 7"},
        {{.has_miner = true, .miner = 1000, .has_sector = true, .sector = 8},
         CUZK_STATUS_BAD_INPUT,
         "SectorNum: expected 8"},
        {{.type = cuzk_seal_type_at(0)}, CUZK_STATUS_BAD_INPUT, "expected StackedDrg2KiBV1 "},
        {{.porep_id = other}, CUZK_STATUS_FALSE, "another registered proof or porep_id?"},
    };
    cuzk_buf b;
    (void)state;
    make(&b, &sectors[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_vanilla *v;
        cuzk_err err = {0};
        cuzk_status st = open_bytes(&v, b.data, b.len, &cases[i].facts, &err);
        if (st == CUZK_OK) st = check(v, &err);
        if (st != cases[i].want || !strstr(err.msg, cases[i].part))
            fail_msg("%d: %s (wanted %s)", st, err.msg, cases[i].part);
        cuzk_vanilla_free(v);
    }
    cuzk_buf_free(&b);
}

/* {"vanilla_proof": a C1, fields} */
static void with_c1(cuzk_buf *r, const cuzk_buf *c1, const char *fields) {
    static const char al[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_int_equal(c1->len % 3, 0);
    *r = (cuzk_buf)CUZK_BUF_INIT;
    cuzk_buf_puts(r, "{\"vanilla_proof\":\"");
    for (size_t i = 0; i < c1->len; i += 3) {
        const uint8_t *p = made_bytes(c1) + i;
        const uint32_t w = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        const char four[4] = {al[w >> 18], al[w >> 12 & 63], al[w >> 6 & 63], al[w & 63]};
        cuzk_buf_append(r, four, 4);
    }
    cuzk_buf_printf(r, "\",%s}", fields);
}

/* A request that carries a C1, with the facts beside it. */
static void porep_request(void **state) {
    cuzk_buf b, r;
    cuzk_vanilla *v;
    cuzk_err err = {0};
    (void)state;
    make(&b, &sectors[1]);
    with_c1(&r, &b,
            "\"proof_kind\":1,\"registered_proof\":5,\"sector_number\":7,\"miner_id\":\"1000\"");
    if (open_bytes(&v, r.data, r.len, NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_true(v->porep.replica_id_checked);
    assert_int_equal(check(v, &err), CUZK_OK);
    cuzk_vanilla_free(v);
    cuzk_buf_free(&b);
    cuzk_buf_free(&r);
}

static void expect_stated(const cuzk_buf *r, const cuzk_porep_facts *facts, cuzk_status want,
                          const char *part) {
    cuzk_vanilla *v;
    cuzk_statement *s;
    cuzk_err err = {0};
    for (int verify = 0; verify < 2; verify++) { /* as prove and as verify read it */
        memset(&err, 0, sizeof err);
        cuzk_status st = open_bytes(&v, r->data, r->len, facts, &err);
        cuzk_vanilla_free(v);
        if (verify) {
            memset(&err, 0, sizeof err);
            st = cuzk_statement_open(&s, file, facts, &err);
            cuzk_statement_free(s);
        }
        if (st != want || (part && (!strstr(err.msg, part) || !said(&err))))
            fail_msg("%d: %s (wanted %s)", st, err.msg, part ? part : "none");
    }
}

#define HEX32(x) x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x

/* What a request states beside its C1 is compared with it. */
static void stated_beside_c1(void **state) {
    static const uint8_t id[32] = {5}, other_id[32] = {6};
    static const struct {
        const char *fields;
        cuzk_porep_facts facts;
        cuzk_status want;
        const char *part;
    } cases[] = {
        /* protobuf's defaults, and what is true */
        {"\"proof_kind\":0,\"sector_size\":0,\"vanilla_proofs\":[],\"randomness\":\"\",\"comm_r\":"
         "\"\",\"commROld\":\"\",\"partition_index\":0",
         {0},
         CUZK_OK,
         NULL},
        {"\"sector_size\":2048,\"miner_id\":1000,\"sector_number\":7,\"registered_proof\":5,"
         "\"porep_id\":\"0500000000000000000000000000000000000000000000000000000000000000\"",
         {.has_miner = true, .miner = 1000, .has_sector = true, .sector = 7, .porep_id = id},
         CUZK_OK,
         NULL},
        /* values of the proof */
        {"\"comm_r\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_FALSE, "comm_r: expected "},
        {"\"comm_d\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_FALSE, "actual " HEX32("07")},
        {"\"replica_id\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_FALSE, "replica_id: expected "},
        {"\"seed\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_FALSE, "seed: expected "},
        {"\"ticket\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_FALSE, "ticket: expected "},
        {"\"miner_id\":1001,\"sector_number\":7", {0}, CUZK_STATUS_FALSE, "miner 1001, sector 7"},
        {"\"miner_id\":1000,\"sector_number\":8", {0}, CUZK_STATUS_FALSE, "miner 1000, sector 8"},
        {"\"miner_id\":1000,\"sector_number\":7,\"porep_id\":\"" HEX32("07") "\"",
         {0},
         CUZK_STATUS_FALSE,
         "porep_id"},
        {"\"sector_size\":1", {0}, CUZK_STATUS_BAD_INPUT, "sector_size: expected 2048 "},
        {"\"registered_proof\":6", {0}, CUZK_STATUS_BAD_INPUT, "StackedDrg8MiBV1_1"},
        {"\"registered_proof\":\"\"", {0}, CUZK_STATUS_BAD_INPUT, "none that is known"},
        /* fields of others */
        {"\"proof_kind\":2", {0}, CUZK_STATUS_BAD_INPUT, "vanilla_proof: "},
        {"\"proof_kind\":\"WINNING_POST\"", {0}, CUZK_STATUS_BAD_INPUT, "of WINNING_POST only"},
        {"\"vanilla_proofs\":[\"AAAA\"]", {0}, CUZK_STATUS_BAD_INPUT, "vanilla_proofs: expected"},
        {"\"randomness\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_BAD_INPUT, "randomness: expected"},
        {"\"comm_r_old\":\"" HEX32("07") "\"", {0}, CUZK_STATUS_BAD_INPUT, "comm_r_old: expected"},
        {"\"sectors\":[]", {0}, CUZK_STATUS_BAD_INPUT, "sectors: expected"},
        {"\"partition_index\":3", {0}, CUZK_STATUS_BAD_INPUT, "partition_index: expected"},
        /* options */
        {"\"miner_id\":1000",
         {.has_miner = true, .miner = 1001},
         CUZK_STATUS_BAD_INPUT,
         "miner_id: expected 1001 as asked for, actual 1000"},
        {"\"sector_number\":7",
         {.has_sector = true, .sector = 8},
         CUZK_STATUS_BAD_INPUT,
         "sector_number: expected 8 as asked for, actual 7"},
        {"\"porep_id\":\"" HEX32("05") "\"",
         {.porep_id = other_id},
         CUZK_STATUS_BAD_INPUT,
         "porep_id: expected that of --porep-id"},
    };
    cuzk_buf b, r;
    (void)state;
    make(&b, &sectors[1]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        with_c1(&r, &b, cases[i].fields);
        expect_stated(&r, &cases[i].facts, cases[i].want, cases[i].part);
        cuzk_buf_free(&r);
    }
    const cuzk_porep_facts type = {.type = cuzk_seal_type_at(0)};
    with_c1(&r, &b, "\"registered_proof\":5");
    expect_stated(&r, &type, CUZK_STATUS_BAD_INPUT,
                  "registered_proof: expected StackedDrg2KiBV1 as asked for, actual "
                  "StackedDrg2KiBV1_1");
    cuzk_buf_free(&r);
    cuzk_buf_free(&b);
}

/* A PoRep's public values alone. */
static void stated_alone(void **state) {
    static const struct {
        const char *fields;
        cuzk_porep_facts facts;
        cuzk_status want;
        const char *part;
    } cases[] = {
        {"\"sector_size\":2048,\"partition_index\":0", {0}, CUZK_OK, NULL},
        {"\"sector_size\":1", {0}, CUZK_STATUS_BAD_INPUT, "sector_size: expected 2048 "},
        {"\"partition_index\":9", {0}, CUZK_STATUS_BAD_INPUT, "partition_index: expected"},
        {"\"sectors\":[],\"proof_kind\":1", {0}, CUZK_STATUS_BAD_INPUT, "sectors: expected"},
        {"\"proof_kind\":3", {0}, CUZK_STATUS_BAD_INPUT, "registered_proof: expected a PoSt"},
        {"\"miner_id\":1",
         {.has_miner = true, .miner = 2},
         CUZK_STATUS_BAD_INPUT,
         "miner_id: expected 2 as asked for, actual 1"},
        {"\"sector_number\":1",
         {.has_sector = true, .sector = 2},
         CUZK_STATUS_BAD_INPUT,
         "sector_number: expected 2 as asked for, actual 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_statement *s;
        cuzk_err err = {0};
        cuzk_buf b = CUZK_BUF_INIT;
        cuzk_buf_printf(
            &b,
            "{\"registered_proof\":\"StackedDrg2KiBV1_1\",\"comm_r\":\"" HEX32(
                "01") "\",\"comm_d\":\"" HEX32("02") "\",\"replica_id\":\"" HEX32("03") "\","
                                                                                        "\"seed\":"
                                                                                        "\"" HEX32(
                                                                                            "04") "\",%s}",
            cases[i].fields);
        FILE *f = fopen(file, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
        assert_int_equal(fclose(f), 0);
        const cuzk_status st = cuzk_statement_open(&s, file, &cases[i].facts, &err);
        if (st != cases[i].want || (cases[i].part && !strstr(err.msg, cases[i].part)))
            fail_msg("%zu: %d: %s", i, st, err.msg);
        cuzk_statement_free(s);
        cuzk_buf_free(&b);
    }
}

/* What a file is taken for when it is neither: never a request for a first key that none has. */
static void neither(void **state) {
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{\"note\":1,\"vanilla_proofs\":{}}", "note: expected a field of this object"},
        {"{\"note\":1,\"Phase1Out\":\"\"}", "the base64 text"},
        {"{\"note\":1,\"randomness\":\"\"}", "note: expected a field of SubmitProofRequest"},
        {"{\"note\":1}", "of a request (SubmitProofRequest)"},
        {"\xef\xbb\xbf{\"randomness\":\"\"}", "byte order mark"},
        {"// note\n{\"randomness\":\"\"}", "JSON has no comments"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_vanilla *v;
        cuzk_err err = {0};
        const cuzk_status st = open_bytes(&v, cases[i].text, strlen(cases[i].text), NULL, &err);
        assert_null(v);
        if (st != CUZK_STATUS_BAD_INPUT || !strstr(err.msg, cases[i].part))
            fail_msg("%zu: %d: %s", i, st, err.msg);
    }
}

static int setup(void **state) {
    (void)state;
    const int fd = mkstemp(file);
    if (fd < 0) return -1;
    close(fd);
    return cuzk_poseidon_set_init(&set) == CUZK_OK && cuzk_pool_new(&pool, 2) == CUZK_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    cuzk_pool_free(pool);
    cuzk_poseidon_set_fini(&set);
    return unlink(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),         cmocka_unit_test(published_inputs),
        cmocka_unit_test(flipped_bincode),  cmocka_unit_test(flipped_json),
        cmocka_unit_test(flipped_requests), cmocka_unit_test(names_of_faults),
        cmocka_unit_test(wrong_facts),      cmocka_unit_test(porep_request),
        cmocka_unit_test(stated_beside_c1), cmocka_unit_test(stated_alone),
        cmocka_unit_test(neither),          cmocka_unit_test(accepted_large),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

#include "fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "filecoin/sector.h"
#include "filecoin/vanilla.h"
#include "format/json_docs.h"
#include "format/proof_bytes.h"
#include "keys/keys.h"

#include <dirent.h>
#include <unistd.h>

char *fixture_dir;
cuzk_pool *fixture_pool;

static void link_zkey(const char *curve) {
    char from[512], to[512];
    snprintf(from, sizeof from, "%s/circom/%s/mul3/circuit_final.zkey", CUZK_TEST_VECTORS, curve);
    snprintf(to, sizeof to, "%s/mul3-%s.zkey", fixture_dir, curve);
    assert_int_equal(symlink(from, to), 0);
}

static void make_wpost(void) {
    cuzk_err err = {0};
    cuzk_r1cs *r;
    cuzk_toxic t;
    const cuzk_circuit *c = cuzk_circuit_find("wpost-2k");
    cuzk_u256 *const secrets[] = {&t.alpha, &t.beta, &t.gamma, &t.delta, &t.tau};
    for (int i = 0; i < 5; i++) {
        const cuzk_u256 plain = {{(uint64_t)i + 3, 7, 0, 0}};
        cuzk_bls12_381_fr_ops.to_mont(secrets[i], &plain);
    }
    if (cuzk_circuit_compact(&r, c, &err)) fail_msg("%s", err.msg);
    if (cuzk_keys_setup(c, r, &t, fixture_dir, &(cuzk_setup_opts){.pool = fixture_pool}, NULL,
                        &err))
        fail_msg("%s", err.msg);
    cuzk_r1cs_free(r);
}

int fixture_begin(void **state) {
    const char *tmp = getenv("TMPDIR");
    char path[512];
    (void)state;
    test_rng_start();
    snprintf(path, sizeof path, "%s/cuzk-jobs-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(path)) return -1;
    fixture_dir = strdup(path);
    /* what is remembered about files belongs to the test */
    setenv("XDG_CACHE_HOME", path, 1);
    assert_int_equal(cuzk_pool_new(&fixture_pool, 2), CUZK_OK);
    link_zkey("bn128");
    link_zkey("bls12381");
    make_wpost();
    return 0;
}

static void remove_tree(const char *path) {
    char name[1024];
    DIR *d = opendir(path);
    if (!d) {
        remove(path);
        return;
    }
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (e->d_type == DT_DIR)
            remove_tree(name);
        else
            remove(name);
    }
    closedir(d);
    rmdir(path);
}

int fixture_end(void **state) {
    (void)state;
    remove_tree(fixture_dir);
    free(fixture_dir);
    cuzk_pool_free(fixture_pool);
    return 0;
}

cuzk_jobs *fixture_jobs(void) {
    cuzk_err err = {0};
    cuzk_jobs *j;
    const cuzk_jobs_config config = {
        .keys = {.params_dir = fixture_dir, .zkey_dir = fixture_dir, .allow_insecure = true},
        .pool = fixture_pool,
        .device_threads = 2};
    if (cuzk_jobs_new(&j, &config, &err)) fail_msg("%s", err.msg);
    return j;
}

/* ---- payloads ---- */

static void *read_all(const char *path, size_t *n) {
    cuzk_map map;
    cuzk_err err = {0};
    if (cuzk_map_file(&map, path, &err)) fail_msg("%s", err.msg);
    uint8_t *p = malloc(map.len + 1);
    assert_non_null(p);
    memcpy(p, map.data, map.len);
    p[map.len] = 0;
    *n = map.len;
    cuzk_map_close(&map);
    return p;
}

static void finish_payload(payload *out, cuzk_engine_kind kind, size_t n_parts) {
    out->p.kind = kind;
    out->p.meta = (cuzk_engine_bytes){out->meta, strlen(out->meta)};
    out->p.parts = out->parts;
    out->p.n_parts = n_parts;
}

void payload_mul3(payload *out, const char *curve) {
    char path[512];
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/circom/%s/mul3/witness.wtns", CUZK_TEST_VECTORS, curve);
    out->owned = read_all(path, &out->parts[0].len);
    out->parts[0].data = out->owned;
    snprintf(out->meta, sizeof out->meta, "{\"key\":\"mul3-%s\"}", curve);
    finish_payload(out, CUZK_ENGINE_CIRCOM, 1);
}

void payload_wpost(payload *out, const char *extra) {
    cuzk_buf text = CUZK_BUF_INIT;
    cuzk_err err = {0};
    memset(out, 0, sizeof *out);
    const cuzk_sector_spec spec = {.circuit = cuzk_circuit_find("wpost-2k"),
                                   .seed = (const uint8_t *)"jobs",
                                   .seed_len = 4,
                                   .miner = 1000,
                                   .sector = 1,
                                   .sectors = 2,
                                   .post = cuzk_post_type_at(10),
                                   .seal = cuzk_seal_type_at(5)};
    if (cuzk_sector_make(&text, &spec, CUZK_C1_JSON, &err)) fail_msg("%s", err.msg);
    if (cuzk_request_from_memory(&out->request, (const uint8_t *)text.data, text.len, "made", &err))
        fail_msg("%s", err.msg);
    cuzk_buf_free(&text);
    const cuzk_request *r = out->request;
    assert_int_equal(r->n_vanilla, 2);
    for (size_t i = 0; i < 2; i++)
        out->parts[i] = (cuzk_engine_bytes){r->vanilla_proofs[i].data, r->vanilla_proofs[i].len};
    char hex[65];
    cuzk__hex32(hex, r->value[CUZK_REQ_RANDOMNESS]);
    snprintf(out->meta, sizeof out->meta,
             "{\"request_id\":\"w\",\"proof_kind\":3,\"registered_proof\":10,\"sector_size\":2048,"
             "\"randomness\":\"%s\",\"partition_index\":0%s}",
             hex, extra);
    finish_payload(out, CUZK_ENGINE_WINDOW, 2);
}

void payload_porep(payload *out, const char *file, const char *meta) {
    char path[512];
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/porep/%s", CUZK_TEST_VECTORS, file);
    out->owned = read_all(path, &out->parts[0].len);
    out->parts[0].data = out->owned;
    snprintf(out->meta, sizeof out->meta, "%s", meta);
    finish_payload(out, CUZK_ENGINE_POREP, 1);
}

void payload_free(payload *p) {
    cuzk_request_free(p->request);
    free(p->owned);
}

/* ---- proving ---- */

void prove_on(cuzk_jobs *jobs, const cuzk_device_ops *ops, void *self, const payload *p,
              cuzk_buf *answer) {
    cuzk_err err = {0};
    cuzk_engine_plan plan;
    cuzk_engine_witness w;
    cuzk_engine_moved moved;
    uint8_t result[CUZK_ENGINE_RESULT_MAX], proof[CUZK_ENGINE_PROOF_MAX];
    size_t result_len, proof_len;
    void *job;
    if (cuzk_jobs_work.job_open(jobs, &p->p, &job, &plan, &err)) fail_msg("%s", err.msg);
    assert_int_equal(plan.n_partitions, 1);
    if (cuzk_jobs_work.key_load(jobs, plan.key, &err)) fail_msg("%s", err.msg);
    atomic_bool cancel = false;
    if (cuzk_jobs_work.witness(jobs, job, 0, &cancel, &w, &err)) fail_msg("%s", err.msg);
    assert_int_equal(w.len, plan.witness_host);
    if (ops->stage(self, 0, 0, plan.key, &w, &err)) fail_msg("%s", err.msg);
    if (ops->compute(self, 0, 0, 3, &moved, &err)) fail_msg("%s", err.msg);
    if (ops->finish(self, 0, 3, result, &result_len, &err)) fail_msg("%s", err.msg);
    cuzk_jobs_work.witness_free(jobs, &w);
    assert_int_equal(w.fd, -1);
    if (cuzk_jobs_work.verify(jobs, job, 0, result, result_len, proof, &proof_len, &err))
        fail_msg("%s", err.msg);
    const cuzk_engine_bytes proofs[] = {{proof, proof_len}};
    if (cuzk_jobs_work.assemble(jobs, job, proofs, answer, &err)) fail_msg("%s", err.msg);

    /* a wrong bit anywhere is noticed */
    for (int i = 0; i < 4; i++) {
        const size_t at = test_rng() % (result_len * 8);
        uint8_t again[CUZK_ENGINE_PROOF_MAX];
        size_t again_len;
        result[at / 8] ^= (uint8_t)(1u << at % 8);
        const cuzk_status st =
            cuzk_jobs_work.verify(jobs, job, 0, result, result_len, again, &again_len, &err);
        if (st != CUZK_STATUS_FALSE) fail_msg("bit %zu: %d: %s", at, st, err.msg);
        result[at / 8] ^= (uint8_t)(1u << at % 8);
    }
    cuzk_jobs_work.key_free(jobs, plan.key);
    cuzk_jobs_work.job_free(jobs, job);
}

void expect_mul3(const char *curve, const cuzk_buf *answer) {
    static const char head[] = "{\"proof\":", middle[] = ",\"public\":";
    cuzk_err err = {0};
    char path[512];
    size_t n;
    cuzk_vk vk;
    cuzk_proof proof;
    cuzk_u256 *publics;
    size_t n_publics;
    assert_memory_equal(answer->data, head, strlen(head));
    const char *proof_text = answer->data + strlen(head), *cut = strstr(proof_text, middle);
    assert_non_null(cut);
    const char *public_text = cut + strlen(middle);
    snprintf(path, sizeof path, "%s/circom/%s/mul3/verification_key.json", CUZK_TEST_VECTORS,
             curve);
    char *vk_text = read_all(path, &n);
    if (cuzk_vk_from_json(&vk, vk_text, n, "vk", &err)) fail_msg("%s", err.msg);
    if (cuzk_proof_from_json(&proof, NULL, proof_text, (size_t)(cut - proof_text), "proof", &err))
        fail_msg("%s", err.msg);
    assert_string_equal(answer->data + answer->len - 1, "}");
    if (cuzk_public_from_json(&publics, &n_publics, vk.curve, public_text, strlen(public_text) - 1,
                              "public", &err))
        fail_msg("%s", err.msg);
    if (cuzk_groth16_verify(&vk, publics, n_publics, &proof, &err)) fail_msg("%s", err.msg);
    cuzk_free(publics);
    cuzk_vk_free(&vk);
    free(vk_text);
}

void expect_wpost(const payload *p, const cuzk_buf *answer) {
    cuzk_err err = {0};
    cuzk_vk vk;
    cuzk_proof proof;
    cuzk_vanilla *v;
    cuzk_statement *s;
    cuzk_u256 *publics;
    cuzk_request *r;
    const cuzk_circuit *c = cuzk_circuit_find("wpost-2k");
    const cuzk_keys_opts opts = {.dir = fixture_dir, .allow_insecure = true};
    const cuzk_blob proofs[2] = {p->request->vanilla_proofs[0], p->request->vanilla_proofs[1]};
    assert_int_equal(answer->len, CUZK_PROOF_BYTES);
    if (cuzk_proof_from_bytes(&proof, (const uint8_t *)answer->data, "answer", 0, &err))
        fail_msg("%s", err.msg);
    if (cuzk_request_from_memory(&r, (const uint8_t *)p->meta, strlen(p->meta), "meta", &err))
        fail_msg("%s", err.msg);
    if (cuzk_request_attach(r, CUZK_KIND_WINDOW, proofs, 2, &err)) fail_msg("%s", err.msg);
    if (cuzk_vanilla_from_request(&v, r, NULL, &err)) fail_msg("%s", err.msg);
    if (cuzk_statement_of_vanilla(&s, v, &err)) fail_msg("%s", err.msg);
    if (cuzk_statement_publics(&publics, s, 0, 1, &err)) fail_msg("%s", err.msg);
    if (cuzk_circuit_vk_open(&vk, NULL, c, &opts, &err)) fail_msg("%s", err.msg);
    if (cuzk_groth16_verify(&vk, publics, vk.n_public, &proof, &err)) fail_msg("%s", err.msg);
    cuzk_free(publics);
    cuzk_statement_free(s);
    cuzk_vanilla_free(v);
    cuzk_vk_free(&vk);
}

/* Jobs as the engine sees them, on devices of this process; and what is refused. */
#include "fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "circuit/circuits.h"
#include "jobs/local.h"
#include "keys/files.h"
#include "keys/keys.h"

#include <sys/stat.h>

static cuzk_jobs *jobs;
static cuzk_local *local;

static int begin(void **state) {
    cuzk_err err = {0};
    cuzk_engine_device_info info;
    if (fixture_begin(state)) return -1;
    jobs = fixture_jobs();
    const cuzk_local_config config = {
        .keys = {.params_dir = fixture_dir, .zkey_dir = fixture_dir, .allow_insecure = true},
        .devices = 1,
        .pool = fixture_pool,
        .open = cuzk_local_open_cpu,
        .ctx = fixture_pool};
    if (cuzk_local_new(&local, &config, &err)) fail_msg("%s", err.msg);
    if (cuzk_local_devices.open(local, 0, &info, &err)) fail_msg("%s", err.msg);
    assert_string_equal(info.name, "CPU, 2 threads");
    return 0;
}

static int end(void **state) {
    cuzk_local_free(local);
    cuzk_jobs_free(jobs);
    return fixture_end(state);
}

static void load_on_device(const char *key) {
    cuzk_err err = {0};
    if (cuzk_local_devices.key_load(local, 0, key, &err)) fail_msg("%s", err.msg);
}

/* ---- proofs ---- */

static void circom_jobs(void **state) {
    static const char *const curves[] = {"bn128", "bls12381"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char key[64];
        payload p;
        cuzk_buf answer = CUZK_BUF_INIT;
        snprintf(key, sizeof key, "mul3-%s", curves[i]);
        load_on_device(key);
        payload_mul3(&p, curves[i]);
        prove_on(jobs, &cuzk_local_devices, local, &p, &answer);
        expect_mul3(curves[i], &answer);
        cuzk_buf_free(&answer);
        payload_free(&p);
    }
}

static void window_job(void **state) {
    payload p;
    cuzk_buf answer = CUZK_BUF_INIT;
    (void)state;
    load_on_device("wpost-2k");
    payload_wpost(&p, ",\"miner_id\":0,\"sector_number\":0,\"vanilla_proof\":\"\"");
    prove_on(jobs, &cuzk_local_devices, local, &p, &answer);
    expect_wpost(&p, &answer);
    cuzk_buf_free(&answer);
    payload_free(&p);
}

/* ---- figures ---- */

static void figures_are_those_of_what_is_loaded(void **state) {
    cuzk_err err = {0};
    cuzk_engine_key_plan plan;
    cuzk_r1cs *r;
    cuzk_circuit_key *key;
    struct stat s;
    cuzk__files files;
    const cuzk_circuit *c = cuzk_circuit_find("wpost-2k");
    (void)state;
    if (cuzk_jobs_work.key_plan(jobs, "wpost-2k", &plan, &err)) fail_msg("%s", err.msg);
    if (cuzk__files_of(&files, c, fixture_dir, &err)) fail_msg("%s", err.msg);
    assert_int_equal(stat(files.path[CUZK__PARAMS], &s), 0);
    assert_int_equal(plan.size, s.st_size);
    cuzk__files_free(&files);
    /* the points of a .params are as large in memory as in the file; places and rows come to it */
    const cuzk_keys_opts opts = {
        .dir = fixture_dir, .allow_insecure = true, .pool = fixture_pool, .data_only = true};
    if (cuzk_circuit_compact(&r, c, &err)) fail_msg("%s", err.msg);
    if (cuzk_circuit_key_open(&key, c, r, &opts, &err)) fail_msg("%s", err.msg);
    const uint64_t rows = cuzk_r1cs_bytes(r);
    assert_in_range(plan.host, 1, 1 << 20); /* rows are the worker's */
    assert_in_range(plan.device, rows + plan.size, rows + plan.size + plan.size / 2);
    cuzk_circuit_key_free(key);
    cuzk_r1cs_free(r);
}

typedef struct listed {
    int circuits, zkeys, present;
} listed;

static void note(void *ctx, const char *name, const char *file, bool present) {
    listed *l = ctx;
    const bool zkey = strstr(file, ".zkey") != NULL;
    if (strcmp(name, "mul3-bn128") == 0) assert_true(zkey && present);
    if (strcmp(name, "wpost-2k") == 0) assert_true(!zkey && present);
    l->zkeys += zkey;
    l->circuits += !zkey;
    l->present += present;
}

static void keys_are_listed(void **state) {
    cuzk_err err = {0};
    listed l = {0};
    int circuits = 0;
    (void)state;
    while (cuzk_circuit_at((size_t)circuits))
        circuits++;
    if (cuzk_jobs_work.keys(jobs, note, &l, &err)) fail_msg("%s", err.msg);
    assert_int_equal(l.zkeys, 2);
    assert_int_equal(l.circuits, circuits);
    assert_int_equal(l.present, 3);
}

/* ---- what jobs say ---- */

static cuzk_status open_job(const payload *p, cuzk_engine_plan *plan, cuzk_err *err) {
    void *job;
    memset(err, 0, sizeof *err);
    const cuzk_status st = cuzk_jobs_work.job_open(jobs, &p->p, &job, plan, err);
    if (st == CUZK_OK) cuzk_jobs_work.job_free(jobs, job);
    return st;
}

static void names_of_keys(void **state) {
    cuzk_err err;
    cuzk_engine_plan plan;
    cuzk_map map;
    cuzk__facts facts;
    char path[512];
    payload p;
    (void)state;
    payload_mul3(&p, "bn128");
    snprintf(path, sizeof path, "%s/mul3-bn128.zkey", fixture_dir);
    assert_int_equal(cuzk_map_file(&map, path, NULL), CUZK_OK);
    assert_int_equal(cuzk__file_digest(&facts, &map, path, NULL, NULL), CUZK_OK);
    cuzk_map_close(&map);
    const char *names[] = {"mul3-bn128", "mul3-bn128.zkey", facts.digest};
    for (int i = 0; i < 3; i++) {
        snprintf(p.meta, sizeof p.meta, "{\"key\":\"%s\",\"request_id\":\"x\"}", names[i]);
        p.p.meta.len = strlen(p.meta);
        if (open_job(&p, &plan, &err)) fail_msg("%s", err.msg);
        assert_string_equal(plan.key, "mul3-bn128");
    }
    payload_free(&p);
}

static void expect_refused(payload *p, cuzk_status want, const char *words) {
    cuzk_err err;
    cuzk_engine_plan plan;
    p->p.meta.len = strlen(p->meta);
    const cuzk_status st = open_job(p, &plan, &err);
    if (st != want || !strstr(err.msg, words))
        fail_msg("%s: expected %d and \"%s\", actual %d: %s", p->meta, want, words, st, err.msg);
}

static void bad_circom_jobs(void **state) {
    static const struct {
        const char *meta;
        cuzk_status st;
        const char *words;
    } bad[] = {
        {"{}", CUZK_STATUS_BAD_INPUT, "`key`"},
        {"{\"key\":7}", CUZK_STATUS_BAD_INPUT, "key"},
        {"{\"key\":\"mul3-bn128\",\"colour\":1}", CUZK_STATUS_BAD_INPUT, "colour"},
        {"[]", CUZK_STATUS_BAD_INPUT, "request"},
        {"", CUZK_STATUS_BAD_INPUT, "request"},
        {"{\"key\":\"../mul3-bn128\"}", CUZK_STATUS_BAD_INPUT, "key"},
        {"{\"key\":\"wpost-2k\"}", CUZK_STATUS_BAD_INPUT, "Filecoin"},
        {"{\"key\":\"nothing\"}", CUZK_STATUS_NOT_FOUND, "nothing.zkey"},
        {"{\"key\":\"0123456789abcdef0123456789abcdef\"}", CUZK_STATUS_NOT_FOUND, "no file"},
        {"{\"key\":\"mul3-bls12381\"}", CUZK_STATUS_BAD_INPUT, "bn128"},
    };
    payload p;
    (void)state;
    payload_mul3(&p, "bn128");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(p.meta, sizeof p.meta, "%s", bad[i].meta);
        expect_refused(&p, bad[i].st, bad[i].words);
    }
    snprintf(p.meta, sizeof p.meta, "{\"key\":\"mul3-bn128\"}");
    p.p.n_parts = 0;
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "wtns");
    p.p.n_parts = 1;
    p.parts[0].len -= 32;
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "wtns");
    payload_free(&p);
}

static void bad_filecoin_jobs(void **state) {
    static const struct {
        const char *extra;
        cuzk_status st;
        const char *words;
    } bad[] = {
        {",\"partition_index\":1", CUZK_STATUS_BAD_INPUT, "partition_index"},
        {",\"sector_number\":77", CUZK_STATUS_FALSE, "sector"},
        {",\"comm_r\":\"AAAA\"", CUZK_STATUS_BAD_INPUT, "comm_r"},
        {",\"ticket\":\"0000000000000000000000000000000000000000000000000000000000000000\"",
         CUZK_STATUS_BAD_INPUT, "ticket"},
        {",\"vanilla_proofs\":[\"AAAA\"]", CUZK_STATUS_BAD_INPUT, "vanilla_proofs"},
        {",\"colour\":1", CUZK_STATUS_BAD_INPUT, "colour"},
    };
    payload p;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        payload_wpost(&p, bad[i].extra);
        expect_refused(&p, bad[i].st, bad[i].words);
        payload_free(&p);
    }
    payload_wpost(&p, "");
    p.p.kind = CUZK_ENGINE_WINNING;
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "proof_kind");
    p.p.kind = CUZK_ENGINE_UNSPECIFIED;
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "proof_kind");
    p.p.kind = CUZK_ENGINE_WINDOW;
    p.p.n_parts = 0;
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "vanilla_proofs");
    p.p.n_parts = 2;
    p.parts[1].len--;
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "vanilla_proofs 1");
    payload_free(&p);
    payload_porep(&p, "c1_2kib_lotusbench.json", "{}");
    p.p.n_parts = 2;
    p.parts[1] = p.parts[0];
    expect_refused(&p, CUZK_STATUS_BAD_INPUT, "vanilla_proof");
    payload_free(&p);
}

/* A false vanilla proof is the job's own fault, and found before anything is proved. */
static void a_false_proof_is_found_by_the_witness(void **state) {
    cuzk_err err = {0};
    cuzk_engine_plan plan;
    cuzk_engine_witness w;
    atomic_bool cancel = false;
    void *job;
    payload p;
    (void)state;
    payload_wpost(&p, "");
    p.request->vanilla_proofs[0].data[p.parts[0].len - 40] ^= 1; /* in comm_c */
    if (cuzk_jobs_work.job_open(jobs, &p.p, &job, &plan, &err)) fail_msg("%s", err.msg);
    if (cuzk_jobs_work.key_load(jobs, plan.key, &err)) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_jobs_work.witness(jobs, job, 0, &cancel, &w, &err), CUZK_STATUS_FALSE);
    assert_int_equal(w.fd, -1);
    assert_non_null(strstr(err.msg, "comm_"));
    cancel = true;
    assert_int_not_equal(cuzk_jobs_work.witness(jobs, job, 0, &cancel, &w, &err), CUZK_OK);
    assert_non_null(strstr(err.msg, "cancelled"));
    cuzk_jobs_work.key_free(jobs, plan.key);
    cuzk_jobs_work.job_free(jobs, job);
    payload_free(&p);
}

/* What proto3 cannot say is not taken for a value, and the message tells what went unchecked. */
static void porep_of_the_wire(void **state) {
    static const struct {
        const char *file, *meta;
        cuzk_status st;
        const char *words; /* of the message or of the error; NULL: no message */
    } jobs_of[] = {
        {"c1_2kib_lotusbench.json",
         "{\"proof_kind\":1,\"sector_size\":2048,\"registered_proof\":0,\"miner_id\":0,"
         "\"sector_number\":0,\"partition_index\":0}",
         CUZK_OK, "replica_id"},
        {"c1_2kib_lotusbench.json", "{\"miner_id\":1234,\"sector_number\":0}", CUZK_STATUS_FALSE,
         "replica_id"},
        {"c1_2kib_bincode.bin", "{}", CUZK_OK, "registered proof"},
        {"c1_2kib_bincode.bin", "{\"sector_size\":8388608}", CUZK_STATUS_BAD_INPUT, "sector_size"},
        {"c1_2kib_bincode.bin", "{\"registered_proof\":8}", CUZK_STATUS_BAD_INPUT, "StackedDrg32"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof jobs_of / sizeof *jobs_of; i++) {
        cuzk_err err;
        cuzk_engine_plan plan;
        payload p;
        payload_porep(&p, jobs_of[i].file, jobs_of[i].meta);
        const cuzk_status st = open_job(&p, &plan, &err);
        const char *text = st == CUZK_OK ? plan.message : err.msg;
        if (st != jobs_of[i].st || !strstr(text, jobs_of[i].words))
            fail_msg("%s: %d: %s", jobs_of[i].meta, st, text);
        if (st == CUZK_OK) {
            assert_string_equal(plan.key, "porep-2k");
            assert_true(plan.slot_device > 0 && plan.witness_host > 0 && plan.shared_host > 0);
        }
        payload_free(&p);
    }
}

static void missing_keys(void **state) {
    cuzk_err err = {0};
    cuzk_engine_key_plan plan;
    (void)state;
    assert_int_equal(cuzk_jobs_work.key_plan(jobs, "porep-32g", &plan, &err),
                     CUZK_STATUS_NOT_FOUND);
    assert_non_null(strstr(err.msg, "cuzk setup --circuit porep-32g"));
    assert_int_equal(cuzk_jobs_work.key_plan(jobs, "no-such", &plan, &err), CUZK_STATUS_NOT_FOUND);
    assert_int_not_equal(cuzk_jobs_work.key_load(jobs, "winning-2k", &err), CUZK_OK);
    assert_int_not_equal(cuzk_local_devices.key_load(local, 0, "winning-2k", &err), CUZK_OK);
    assert_int_equal(cuzk_local_devices.key_free(local, 0, "winning-2k", &err),
                     CUZK_STATUS_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circom_jobs),
        cmocka_unit_test(window_job),
        cmocka_unit_test(figures_are_those_of_what_is_loaded),
        cmocka_unit_test(keys_are_listed),
        cmocka_unit_test(names_of_keys),
        cmocka_unit_test(bad_circom_jobs),
        cmocka_unit_test(bad_filecoin_jobs),
        cmocka_unit_test(a_false_proof_is_found_by_the_witness),
        cmocka_unit_test(porep_of_the_wire),
        cmocka_unit_test(missing_keys),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

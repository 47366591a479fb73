/* Keys made from the vectors' secrets are those of the reference implementation, and so are the
 * proofs made with them; and which keys are taken. CUZK_TEST_LARGE=1 makes winning-2k, snap-2k and
 * porep-2k as well (2 GB in TMPDIR, minutes). */
#include "support.h"

#include "unit/groth16/bellperson.h"

#include "base/hash.h"
#include "format/proof_bytes.h"
#include "keys/files.h"
#include "keys/keys.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *circuit, *vanilla, *proof, *vk, *params_sha256, *vk_sha256;
} vector;

static const vector window = {
    "wpost-2k",
    "window_2kib.bin",
    "window_2kib_v1_2",
    "window-2KiB",
    "dd7fc4568fdd3f90b2266ef97531a86e60b7458820961f0757487a53a9b5b046",
    "2dd7bd2ecc5d3320fa7d5d0783f0a1c0489f412a49aa3e7b160e7765ce8d5001",
};
static const vector large[] = {
    {"winning-2k", "winning_2kib.bin", "winning_2kib_v1", "winning-2KiB",
     "71e498b688a89c6b5f4750ea1b031c476790ec141a2ca4261b424acb6512f3cf",
     "7eea315178b7b1bdc12d54fb80d8d3bd551f645caa8cd66f2395e340fe7243ed"},
    {"snap-2k", "update_2kib.bin", "update_2kib", "update-2KiB",
     "19dfac0a5f0e3d3a506c9dd5f00470df5977c70703f30e82bc99282956c0c6c8",
     "3f09f8269852cdd18119b5e168db57ed80bab9c93d5e1124180b861bed167036"},
    {"porep-2k", "c1_2kib_bincode.bin", "porep_2kib_lotusbench", "porep-2KiB",
     "e1538dd4b447d177c59545f054f78670ddc5f432746e88a48689b3c099523462",
     "8f7c1b4b4460e2cd52e64fca4d46240bfc9a15beadaeeada632d7608383cd4a0"},
};

static char *dir;
static cuzk_pool *pool;

/* ---- the vectors' secrets ---- */

static void secret(const char *name, cuzk_u256 *mont) {
    char text[64];
    uint8_t hash[32];
    cuzk_u256 v = {{0}};
    snprintf(text, sizeof text, "cuzk test %s", name);
    assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, text, strlen(text), hash), CUZK_OK);
    memcpy(&v, hash, 31);
    cuzk_bls12_381_fr_ops.to_mont(mont, &v);
}

static void secrets(cuzk_toxic *t) {
    secret("alpha", &t->alpha);
    secret("beta", &t->beta);
    secret("gamma", &t->gamma);
    secret("delta", &t->delta);
    secret("tau", &t->tau);
}

/* ---- files ---- */

static void expect_sha256(const char *path, const char *want) {
    cuzk_map m;
    cuzk_err err = {0};
    uint8_t hash[32];
    char text[65];
    if (cuzk_map_file(&m, path, &err)) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_hash_once(CUZK_HASH_SHA256, m.data, m.len, hash), CUZK_OK);
    cuzk_map_close(&m);
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(text, want);
}

static void read_whole(const char *path, uint8_t **p, size_t *n) {
    cuzk_map m;
    cuzk_err err = {0};
    if (cuzk_map_file(&m, path, &err)) fail_msg("%s", err.msg);
    *n = m.len;
    *p = malloc(m.len + 1);
    assert_non_null(*p);
    memcpy(*p, m.data, m.len);
    (*p)[m.len] = 0;
    cuzk_map_close(&m);
}

static void write_whole(const char *path, const void *p, size_t n) {
    cuzk_err err = {0};
    if (cuzk_write_file(path, p, n, &err)) fail_msg("%s", err.msg);
}

static void files_of(cuzk__files *f, const char *circuit) {
    cuzk_err err = {0};
    if (cuzk__files_of(f, cuzk_circuit_find(circuit), dir, &err)) fail_msg("%s", err.msg);
}

static cuzk_status make_keys(const char *circuit, const cuzk_r1cs *r, cuzk_err *err) {
    cuzk_toxic t;
    secrets(&t);
    return cuzk_keys_setup(cuzk_circuit_find(circuit), r, &t, dir, &(cuzk_setup_opts){.pool = pool},
                           NULL, err);
}

static cuzk_status open_key(cuzk_circuit_key **key, const char *circuit, const cuzk_r1cs *r,
                            bool allow, cuzk_err *err) {
    const cuzk_keys_opts opts = {.dir = dir, .allow_insecure = allow, .pool = pool};
    memset(err, 0, sizeof *err);
    return cuzk_circuit_key_open(key, cuzk_circuit_find(circuit), r, &opts, err);
}

static void expect_refused(cuzk_status st, const cuzk_err *err, const char *word) {
    assert_int_equal(st, CUZK_STATUS_BAD_INPUT);
    if (!strstr(err->msg, word)) fail_msg("no \"%s\" in: %s", word, err->msg);
}

/* ---- keys and proofs ---- */

static void expect_keys_and_proof(const vector *v) {
    sector s;
    cuzk__files f;
    cuzk_err err = {0};
    cuzk_circuit_key *key;
    char path[512];
    uint8_t *a, *b;
    size_t na, nb;
    vanilla_sector(&s, v->circuit, v->vanilla);
    files_of(&f, v->circuit);
    if (make_keys(v->circuit, s.r, &err)) fail_msg("%s", err.msg);
    expect_sha256(f.path[CUZK__PARAMS], v->params_sha256);
    expect_sha256(f.path[CUZK__VK], v->vk_sha256);
    snprintf(path, sizeof path, "%s/porep/keys/%s.vk", CUZK_TEST_VECTORS, v->vk);
    read_whole(path, &a, &na);
    read_whole(f.path[CUZK__VK], &b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
    read_whole(f.path[CUZK__META], &a, &na);
    assert_string_equal((char *)a, "{\"sector_size\":2048}");
    free(a);

    if (open_key(&key, v->circuit, s.r, true, &err)) fail_msg("%s", err.msg);
    assert_true(cuzk_circuit_key_is_insecure(key));
    /* what expect_vector wants of a key is its data and its verifying key */
    cuzk_params_key view = {.key = *cuzk_circuit_key_data(key),
                            .vk = {.vk = *cuzk_circuit_key_vk(key)}};
    expect_vector(&s, &view, v->proof, pool, CUZK_CPU_AUTO);
    cuzk_circuit_key_free(key);
    cuzk__files_free(&f);
    sector_free(&s);
}

static void keys_of_the_reference(void **state) {
    (void)state;
    expect_keys_and_proof(&window);
}

static void large_keys_of_the_reference(void **state) {
    const char *env = getenv("CUZK_TEST_LARGE");
    (void)state;
    if (!env || !*env || *env == '0') skip();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        cuzk__files f;
        expect_keys_and_proof(&large[i]);
        files_of(&f, large[i].circuit);
        for (int k = 0; k < CUZK__FILE_KINDS; k++)
            remove(f.path[k]);
        cuzk__files_free(&f);
    }
}

/* A key from the directory proves, and proves only what is true. */
static void proving(void **state) {
    sector s;
    cuzk_err err = {0};
    cuzk_circuit_key *key;
    cuzk_vk vk;
    bool insecure = false;
    (void)state;
#ifdef CUZK_TEST_SANITIZED
    skip(); /* 40 s; smaller circuits prove under sanitizers elsewhere */
#endif
    vanilla_sector(&s, "wpost-2k", "window_2kib.bin");
    if (open_key(&key, "wpost-2k", s.r, true, &err)) fail_msg("%s", err.msg);
    const size_t n = s.r->n_inputs - 1;
    cuzk_u256 *publics = calloc(2 * n, sizeof *publics);
    assert_non_null(publics);
    cuzk_proof proof[2];
    for (int i = 0; i < 2; i++) {
        if (cuzk_circuit_key_prove(key, s.w, NULL, &proof[i], NULL, &err)) fail_msg("%s", err.msg);
        assert_int_equal(cuzk_witness_publics(publics + (size_t)i * n, s.w), CUZK_OK);
    }
    assert_memory_not_equal(&proof[0].a, &proof[1].a, sizeof proof[0].a);

    const cuzk_keys_opts opts = {.dir = dir, .allow_insecure = true};
    if (cuzk_circuit_vk_open(&vk, &insecure, cuzk_circuit_find("wpost-2k"), &opts, &err))
        fail_msg("%s", err.msg);
    assert_true(insecure);
    assert_int_equal(cuzk_groth16_verify_batch(&vk, publics, vk.n_public, proof, 2, pool, &err),
                     CUZK_OK);
    publics[n].l[0] ^= 1;
    assert_int_equal(cuzk_groth16_verify_batch(&vk, publics, vk.n_public, proof, 2, pool, &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "proof 1 of 2"));
    cuzk_vk_free(&vk);
    free(publics);

    /* one wire changed: no proof */
    cuzk_u256 v;
    assert_int_equal(cuzk_witness_get(&v, s.w, CUZK_WIRE_AUX | 7), CUZK_OK);
    v.l[0] ^= 1;
    assert_int_equal(cuzk_witness_set(s.w, CUZK_WIRE_AUX | 7, &v), CUZK_OK);
    assert_int_equal(cuzk_circuit_key_prove(key, s.w, NULL, &proof[0], NULL, &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "the witness breaks wpost-2k: row "));
    static const cuzk_proof none;
    assert_memory_equal(&proof[0].a, &none.a, sizeof none.a);
    cuzk_circuit_key_free(key);
    sector_free(&s);
}

/* ---- which keys are taken ---- */

/* A key from a seed: what setup would write for it, without a file, and only where it is allowed.
 */
static void from_a_seed(void **state) {
    const cuzk_circuit *c = cuzk_circuit_find("wpost-2k");
    cuzk_keys_opts opts = {.dir = "/nowhere", .seed = "00", .pool = pool, .data_only = true};
    cuzk_circuit_key *key;
    cuzk_params_vk vk;
    cuzk_r1cs *r1cs;
    cuzk_err err = {0};
    bool insecure = false;
    (void)state;
    assert_int_equal(cuzk_circuit_compact(&r1cs, c, &err), CUZK_OK);
    assert_int_equal(cuzk_circuit_prover_vk_open(&vk, &insecure, c, &opts, &err),
                     CUZK_STATUS_USAGE);
    assert_int_equal(cuzk_circuit_key_open(&key, c, r1cs, &opts, &err), CUZK_STATUS_USAGE);
    opts.allow_insecure = true;
    if (cuzk_circuit_prover_vk_open(&vk, &insecure, c, &opts, &err)) fail_msg("%s", err.msg);
    assert_true(insecure);
    if (cuzk_circuit_key_open(&key, c, r1cs, &opts, &err)) fail_msg("%s", err.msg);
    const cuzk_proving_key *data = cuzk_circuit_key_data(key);
    assert_true(data->logs && cuzk_circuit_key_is_insecure(key));
    assert_int_equal(data->n_inputs, vk.vk.n_public + 1);
    assert_memory_equal(data->ic, vk.vk.ic, data->n_inputs * vk.vk.curve->g1.point_size);
    assert_memory_equal(data->delta2, &vk.vk.delta2, vk.vk.curve->g2.point_size);
    assert_memory_equal(data->beta1, &vk.beta1, vk.vk.curve->g1.point_size);
    cuzk_circuit_key_free(key);
    cuzk_params_vk_free(&vk);
    /* the CPU takes no logarithms, and seeds are hexadecimal */
    opts.data_only = false;
    assert_int_equal(cuzk_circuit_key_open(&key, c, r1cs, &opts, &err), CUZK_STATUS_USAGE);
    opts.seed = "0";
    assert_int_equal(cuzk_circuit_prover_vk_open(&vk, &insecure, c, &opts, &err),
                     CUZK_STATUS_USAGE);
    cuzk_r1cs_free(r1cs);
}

static void which_keys_are_taken(void **state) {
    sector s;
    cuzk__files f, other;
    cuzk_err err = {0};
    cuzk_circuit_key *key;
    uint8_t *params;
    size_t n;
    (void)state;
    vanilla_sector(&s, "wpost-2k", "window_2kib.bin");
    files_of(&f, "wpost-2k");
    expect_refused(open_key(&key, "wpost-2k", s.r, false, &err), &err, "--allow-insecure-keys");
    assert_non_null(strstr(err.msg, "7610b9f82bfc88405b7a832b651ce2f6")); /* the published one */
    assert_int_equal(rename(f.path[CUZK__SIDECAR], f.path[CUZK__META]), 0);
    expect_refused(open_key(&key, "wpost-2k", s.r, true, &err), &err, "not the official key");
    /* nor is it overwritten */
    assert_int_equal(make_keys("wpost-2k", s.r, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "not overwritten"));
    expect_sha256(f.path[CUZK__PARAMS], window.params_sha256);
    assert_int_equal(rename(f.path[CUZK__META], f.path[CUZK__SIDECAR]), 0);
    if (open_key(&key, "wpost-2k", s.r, true, &err)) fail_msg("%s", err.msg);
    cuzk_circuit_key_free(key);

    /* a point of another order, a coordinate too large, a file cut short */
    read_whole(f.path[CUZK__PARAMS], &params, &n);
    params[n - 100] ^= 1;
    write_whole(f.path[CUZK__PARAMS], params, n);
    expect_refused(open_key(&key, "wpost-2k", s.r, true, &err), &err, "section b_g2 at offset");
    params[n - 100] ^= 1;
    memset(params + n - 192, 0x1f, 48);
    write_whole(f.path[CUZK__PARAMS], params, n);
    expect_refused(open_key(&key, "wpost-2k", s.r, true, &err), &err, "a coordinate below p");
    write_whole(f.path[CUZK__PARAMS], params, n - 1);
    expect_refused(open_key(&key, "wpost-2k", s.r, true, &err), &err, "cut short");
    free(params);

    /* another circuit's key under the name */
    files_of(&other, "winning-2k");
    assert_int_equal(rename(f.path[CUZK__PARAMS], other.path[CUZK__PARAMS]), 0);
    cuzk_r1cs *r;
    if (cuzk_circuit_compact(&r, cuzk_circuit_find("winning-2k"), &err)) fail_msg("%s", err.msg);
    expect_refused(open_key(&key, "winning-2k", r, true, &err), &err,
                   "expected 133 points, as winning-2k has");
    cuzk_r1cs_free(r);
    remove(other.path[CUZK__PARAMS]);
    assert_int_equal(open_key(&key, "wpost-2k", s.r, true, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "cuzk setup --circuit wpost-2k"));
    cuzk__files_free(&other);
    cuzk__files_free(&f);
    sector_free(&s);
}

static size_t reports[4];
static void count_report(void *ctx, const cuzk_key_report *r) {
    (void)ctx;
    reports[r->state]++;
    assert_string_equal(r->circuit, "wpost-2k");
    assert_int_equal(strlen(r->digest), 32);
}

static void looking_at_a_directory(void **state) {
    cuzk__files f;
    cuzk_r1cs *r;
    cuzk_err err = {0};
    size_t n;
    (void)state;
    files_of(&f, "wpost-2k");
    if (cuzk_circuit_compact(&r, cuzk_circuit_find("wpost-2k"), &err)) fail_msg("%s", err.msg);
    if (make_keys("wpost-2k", r, &err)) fail_msg("%s", err.msg);
    cuzk_r1cs_free(r);
    if (cuzk_keys_check(dir, pool, NULL, count_report, NULL, &n, &err)) fail_msg("%s", err.msg);
    assert_int_equal(n, 2);
    assert_int_equal(reports[CUZK_KEY_DEVELOPMENT], 2);
    remove(f.path[CUZK__SIDECAR]);
    if (cuzk_keys_check(dir, pool, NULL, count_report, NULL, &n, &err)) fail_msg("%s", err.msg);
    assert_int_equal(reports[CUZK_KEY_DIFFERS], 2);
    write_whole(f.path[CUZK__VK], "x", 1);
    if (cuzk_keys_check(dir, pool, NULL, count_report, NULL, &n, &err)) fail_msg("%s", err.msg);
    assert_int_equal(reports[CUZK_KEY_BAD], 1);
    cuzk__files_free(&f);
}

/* ---- a place for the files ---- */

static int enter(void **state) {
    const char *tmp = getenv("TMPDIR");
    (void)state;
    if (asprintf(&dir, "%s/cuzk_keys_XXXXXX", tmp ? tmp : "/tmp") < 0 || !mkdtemp(dir)) return 1;
    return setenv("XDG_CACHE_HOME", dir, 1) || cuzk_pool_new(&pool, 2) != CUZK_OK;
}

static int leave(void **state) {
    static const char *const circuits[] = {"wpost-2k", "winning-2k", "snap-2k", "porep-2k"};
    char path[512];
    (void)state;
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++) {
        cuzk__files f;
        cuzk_err err = {0};
        if (cuzk__files_of(&f, cuzk_circuit_find(circuits[i]), dir, &err)) return 1;
        for (int k = 0; k < CUZK__FILE_KINDS; k++)
            remove(f.path[k]);
        cuzk__files_free(&f);
    }
    snprintf(path, sizeof path, "%s/cuzk/files", dir);
    remove(path);
    snprintf(path, sizeof path, "%s/cuzk", dir);
    remove(path);
    remove(dir);
    free(dir);
    cuzk_pool_free(pool);
    return 0;
}

int main(void) {
    /* in this order: each uses the files of the one before */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_the_reference),       cmocka_unit_test(proving),
        cmocka_unit_test(which_keys_are_taken),        cmocka_unit_test(looking_at_a_directory),
        cmocka_unit_test(large_keys_of_the_reference), cmocka_unit_test(from_a_seed),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

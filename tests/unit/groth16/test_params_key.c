/* Keys and proofs of the reference implementation, byte for byte. */
#include "support.h"

#include "bellperson.h"

#include "backend/cpu/cpu.h"
#include "circuit/fillers.h"
#include "format/wtns.h"
#include "groth16/assemble.h"

#define KEYS CUZK_TEST_VECTORS "/porep/keys/"

static void expect_proof(void (*make)(sector *s), const char *name, unsigned threads,
                         cuzk_cpu_impl impl) {
    sector s;
    cuzk_params *file;
    cuzk_params_key *key;
    cuzk_pool *pool;
    cuzk_err err = {0};
    char path[512];
    snprintf(path, sizeof path, KEYS "%s.params", name);
    assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
    make(&s);
    if (cuzk_params_open(&file, path, &s.counts, name, pool, &err)) fail_msg("%s", err.msg);
    if (cuzk_params_check_points(file, pool, NULL, &err)) fail_msg("%s", err.msg);
    if (cuzk_params_key_new(&key, file, s.r, &s.density, pool, NULL, &err)) fail_msg("%s", err.msg);
    cuzk_params_free(file);
    expect_vector(&s, key, name, pool, impl);
    cuzk_params_key_free(key);
    sector_free(&s);
    cuzk_pool_free(pool);
}

static void reference_proofs(void **state) {
    (void)state;
    expect_proof(cubic_sector, "cubic", 1, CUZK_CPU_AUTO);
    expect_proof(cubic_sector, "cubic", 2, CUZK_CPU_PORTABLE);
    expect_proof(poseidon_sector, "poseidon-preimage", 2, CUZK_CPU_AUTO);
    expect_proof(poseidon_sector, "poseidon-preimage", 3, CUZK_CPU_PORTABLE);
}

/* ---- wires in either form ---- */

static void expect_same_sums(const cuzk_proving_key *key, const cuzk_wires *given,
                             const cuzk_wires *other) {
    cuzk_backend *cpu;
    cuzk_device_key *dk;
    cuzk_slot *slot;
    cuzk_groth16_sums sums[3];
    cuzk_err err = {0};
    assert_int_equal(cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, NULL, &err), CUZK_OK);
    assert_int_equal(cpu->ops->key_load(cpu, &dk, key, &err), CUZK_OK);
    assert_int_equal(cpu->ops->slot_new(dk, &slot, &err), CUZK_OK);
    for (int i = 0; i < 3; i++) { /* the slot is used again */
        const cuzk_wires *w = i == 1 ? other : given;
        memset(&sums[i], 0, sizeof sums[i]);
        if (cpu->ops->stage(slot, w, &err)) fail_msg("%s", err.msg);
        if (cpu->ops->compute(slot, &err)) fail_msg("%s", err.msg);
        assert_int_equal(cpu->ops->finish(slot, &sums[i], NULL, &err), CUZK_OK);
    }
    assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    assert_memory_equal(&sums[0], &sums[2], sizeof sums[0]);
    assert_false(key->curve->g1.is_infinity(&sums[0].h));
    cpu->ops->slot_free(slot);
    cpu->ops->key_free(dk);
    cpu->ops->close(cpu);
}

/* A backend takes plain and Montgomery values, for compact and for flat systems. */
static void either_form(void **state) {
    sector s;
    cuzk_params *file;
    cuzk_params_key *key;
    cuzk_zkey *zk;
    cuzk_wtns *wtns;
    cuzk_proving_key flat;
    cuzk_err err = {0};
    (void)state;
    poseidon_sector(&s);
    if (cuzk_params_open(&file, KEYS "poseidon-preimage.params", NULL, NULL, NULL, &err))
        fail_msg("%s", err.msg);
    if (cuzk_params_key_new(&key, file, s.r, &s.density, NULL, NULL, &err)) fail_msg("%s", err.msg);
    const cuzk_fr_ops *fr = s.r->fr;
    uint8_t *plain = malloc((size_t)32 * s.r->n_full + 1); /* and not aligned */
    assert_non_null(plain);
    for (size_t i = 0; i < s.r->n_full; i++) {
        cuzk_u256 v;
        fr->from_mont(&v, &s.w->full[i]);
        memcpy(plain + 1 + 32 * i, &v, 32);
    }
    const cuzk_wires given = wires_of(&s), other = {.bits = s.w->bits, .full = plain + 1};
    expect_same_sums(&key->key, &given, &other);
    free(plain);
    cuzk_params_key_free(key);
    cuzk_params_free(file);
    sector_free(&s);

    if (cuzk_zkey_open(&zk, CUZK_TEST_VECTORS "/circom/bls12381/poseidon2/circuit_final.zkey",
                       CUZK_ZKEY_CHECK_SHAPE, NULL, &err))
        fail_msg("%s", err.msg);
    if (cuzk_wtns_open(&wtns, CUZK_TEST_VECTORS "/circom/bls12381/poseidon2/witness.wtns", &err))
        fail_msg("%s", err.msg);
    cuzk_zkey_proving_key(zk, &flat);
    uint8_t *mont = malloc((size_t)32 * wtns->n + 1);
    assert_non_null(mont);
    for (size_t i = 0; i < wtns->n; i++) {
        cuzk_u256 v;
        memcpy(&v, wtns->values + 32 * i, 32);
        fr->to_mont(&v, &v);
        memcpy(mont + 1 + 32 * i, &v, 32);
    }
    const cuzk_wires file_form = {.full = wtns->values};
    const cuzk_wires other_form = {.full = mont + 1, .montgomery = true};
    expect_same_sums(&flat, &file_form, &other_form);
    free(mont);
    cuzk_wtns_free(wtns);
    cuzk_zkey_free(zk);
}

/* A key with a point that is in its group but wrong: no proof leaves, and no fault of the machine
 * is blamed. */
static void a_wrong_point(void **state) {
    sector s;
    cuzk_params *file;
    cuzk_params_key *key;
    cuzk_backend *cpu;
    cuzk_device_key *dk;
    cuzk_slot *slot;
    cuzk_proof proof;
    cuzk_err err = {0};
    (void)state;
    poseidon_sector(&s);
    if (cuzk_params_open(&file, KEYS "poseidon-preimage.params", NULL, NULL, NULL, &err))
        fail_msg("%s", err.msg);
    if (cuzk_params_key_new(&key, file, s.r, &s.density, NULL, NULL, &err)) fail_msg("%s", err.msg);
    memcpy((uint8_t *)(uintptr_t)key->key.h, (const uint8_t *)key->key.h + 96, 96);
    assert_int_equal(cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, NULL, &err), CUZK_OK);
    assert_int_equal(cpu->ops->key_load(cpu, &dk, &key->key, &err), CUZK_OK);
    assert_int_equal(cpu->ops->slot_new(dk, &slot, &err), CUZK_OK);
    const cuzk_wires wires = wires_of(&s);
    assert_int_equal(cuzk_groth16_prove_slot(slot, &wires, &key->vk.vk, NULL, &proof, NULL, &err),
                     CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "no valid proof exists"));
    cpu->ops->slot_free(slot);
    cpu->ops->key_free(dk);
    cpu->ops->close(cpu);
    cuzk_params_key_free(key);
    cuzk_params_free(file);
    sector_free(&s);
}

static void same_proof(const cuzk_proof *p, const cuzk_proof *q) {
    assert_memory_equal(&p->a, &q->a, sizeof p->a);
    assert_memory_equal(&p->b, &q->b, sizeof p->b);
    assert_memory_equal(&p->c, &q->c, sizeof p->c);
}

/* A slot of a key with a plan proves from free values what it proves from the witness. */
static void from_free_values(void **state) {
    sector s;
    cuzk_params *file;
    cuzk_params_key *key;
    cuzk_backend *cpu;
    cuzk_device_key *dk;
    cuzk_slot *slot;
    cuzk_poseidon_set set;
    cuzk_witness_plan *plan;
    cuzk_proof proof[3];
    cuzk_err err = {0};
    const cuzk_u256 one = {{1, 0, 0, 0}};
    const cuzk_prove_opts opts = {.r = &one, .s = &one};
    cuzk_u256 frees[2] = {{{1, 0, 0, 0}}, {{2, 0, 0, 0}}}, public;
    (void)state;
    poseidon_sector(&s);
    assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
    assert_int_equal(cuzk_circuit_plan(&plan, s.r, &set), CUZK_OK);
    assert_int_equal(cuzk_witness_get(&public, s.w, 1), CUZK_OK);
    if (cuzk_params_open(&file, KEYS "poseidon-preimage.params", NULL, NULL, NULL, &err))
        fail_msg("%s", err.msg);
    if (cuzk_params_key_new(&key, file, s.r, &s.density, NULL, NULL, &err)) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, NULL, &err), CUZK_OK);
    assert_int_equal(cpu->ops->key_load(cpu, &dk, &key->key, &err), CUZK_OK);
    assert_int_equal(cpu->ops->slot_new(dk, &slot, &err), CUZK_OK);
    const cuzk_wires wires = wires_of(&s);
    const cuzk_vk *vk = &key->vk.vk;
    if (cuzk_groth16_prove_slot(slot, &wires, vk, &opts, &proof[0], NULL, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(cpu->ops->stage_inputs(slot, frees, 2, &err), CUZK_STATUS_USAGE);
    key->key.plan = plan;
    for (int i = 1; i < 3; i++) { /* the slot is used again */
        if (cuzk_groth16_prove_inputs(slot, frees, 2, &public, vk, &opts, &proof[i], NULL, &err))
            fail_msg("%s", err.msg);
        same_proof(&proof[0], &proof[i]);
    }
    assert_int_equal(cpu->ops->stage_inputs(slot, frees, 1, &err), CUZK_STATUS_USAGE);
    assert_int_equal(
        cuzk_groth16_prove_inputs(slot, frees, 2, &one, vk, &opts, &proof[1], NULL, &err),
        CUZK_STATUS_FALSE);
    memset(&frees[1], 0xff, sizeof frees[1]);
    assert_int_equal(
        cuzk_groth16_prove_inputs(slot, frees, 2, &public, vk, &opts, &proof[1], NULL, &err),
        CUZK_STATUS_BAD_INPUT);
    cpu->ops->slot_free(slot);
    cpu->ops->key_free(dk);
    cpu->ops->close(cpu);
    cuzk_params_key_free(key);
    cuzk_params_free(file);
    cuzk_witness_plan_free(plan);
    cuzk_poseidon_set_fini(&set);
    sector_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_proofs), cmocka_unit_test(either_form),
        cmocka_unit_test(from_free_values), cmocka_unit_test(a_wrong_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

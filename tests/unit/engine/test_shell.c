/* The engine's threads on mock providers: one rule a test. */
#include "shell_world.h"

static void a_job_becomes_a_proof(void **state) {
    world_job j;
    (void)state;
    world_open();
    submit(&j, "{\"partitions\": 10}");
    const cuzk_engine_job v = await_done(&j);
    assert_int_equal(v.partitions_done, 10);
    assert_string_equal(v.key, "mock-a");
    assert_string_equal(v.client, "test");
    assert_true(v.times.witness >= 10 * 8 && v.times.compute >= 10 * 5);
    assert_int_equal(mock_stats().key_loads, 1);
    assert_int_equal(mock_stats().witness_calls, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_becomes_a_proof, world_setup, world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

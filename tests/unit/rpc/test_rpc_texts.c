/* What /metrics and /status say of a snapshot. */
#include "support.h"

#include "base/mem.h"
#include "fake_engine.h"
#include "rpc/rpc.h"

#include <jansson.h>
#include <unistd.h>

static cuzk_buf metrics(void) {
    static const cuzk_grpc_stats grpc = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_engine_status *s = fake_status();
    cuzk_rpc_metrics_text(&b, s, &grpc, "1.2 \"x\"");
    cuzk_free(s);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    return b;
}

/* Every name of Curio's engine is there, with the value of the snapshot. */
static void test_known_names(void **state) {
    (void)state;
    static const char *const lines[] = {
        "cuzk_proofs_completed_total 9\n",
        "cuzk_proofs_failed_total 1\n",
        "cuzk_uptime_seconds 60.000\n",
        "cuzk_queue_depth 4\n",
        "cuzk_proofs_completed{proof_kind=\"porep_c2\"} 7\n",
        "cuzk_proofs_completed{proof_kind=\"snap_update\"} 0\n",
        "cuzk_proofs_completed{proof_kind=\"window_post\"} 0\n",
        "cuzk_proofs_completed{proof_kind=\"winning_post\"} 2\n",
        "cuzk_proofs_failed{proof_kind=\"porep_c2\"} 0\n",
        "cuzk_proof_duration_seconds_count 7\n",
        "cuzk_proof_duration_seconds_sum 21.000\n",
        "cuzk_running_jobs 1\n",
        "cuzk_gpu_workers 4\n",
        "cuzk_transfer_bytes_total{device=\"0\",uuid=\"GPU-0001\",direction=\"to_device\","
        "memory=\"pinned\"} 11\n",
        "cuzk_transfer_bytes_total{device=\"0\",uuid=\"GPU-0001\",direction=\"to_host\","
        "memory=\"pageable\"} 14\n",
        "cuzk_transfer_in_gate_bytes_total{device=\"0\",uuid=\"GPU-0001\"} 15\n",
        "cuzk_device_busy_seconds_total{device=\"0\",uuid=\"GPU-0001\"} 123.457\n",
        "cuzk_device_up{device=\"1\",uuid=\"\"} 0\n",
        "cuzk_partitions_running{stage=\"witness\"} 3\n",
        "cuzk_memory_used_bytes{kind=\"pinned\"} 1048576\n",
        "cuzk_key_users{key=\"mul \\\"3\\\"\"} 0\n",
        "cuzk_grpc_calls_failed_total 6\n",
        "cuzk_build_info{version=\"1.2 \\\"x\\\"\"} 1\n",
    };
    cuzk_buf b = metrics();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *at = strstr(b.data, lines[i]);
        if (!at || (at != b.data && at[-1] != '\n')) fail_msg("no line %s", lines[i]);
    }
    cuzk_buf_free(&b);
}

/* Each family has HELP and TYPE before its samples, once; no line is twice there. */
static void test_format(void **state) {
    (void)state;
    cuzk_buf b = metrics();
    char family[96] = "";
    for (char *line = b.data; *line;) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        if (strncmp(line, "# HELP ", 7) == 0) {
            const size_t n = strcspn(line + 7, " ");
            assert_true(n < sizeof family);
            memcpy(family, line + 7, n);
            family[n] = '\0';
            char *again = strstr(end + 1, line);
            assert_null(again);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_int_equal(strncmp(line + 7, family, strlen(family)), 0);
        } else {
            assert_int_equal(strncmp(line, family, strlen(family)), 0);
            const char *blank = strrchr(line, ' ');
            char *rest;
            assert_non_null(blank);
            (void)strtod(blank + 1, &rest);
            assert_true(*rest == '\0' && blank[1]);
            for (char *other = end + 1; *other;) {
                char *other_end = strchr(other, '\n');
                assert_false(strncmp(line, other, (size_t)(blank - line + 1)) == 0);
                other = other_end + 1;
            }
        }
        line = end + 1;
    }
    cuzk_buf_free(&b);
}

/* Prometheus' own checker, where it is installed. */
static void test_promtool(void **state) {
    (void)state;
    if (system("promtool --version >/dev/null 2>&1") != 0) skip();
    cuzk_buf b = metrics();
    FILE *tool = popen("promtool check metrics 1>&2", "w");
    assert_non_null(tool);
    assert_int_equal(fwrite(b.data, 1, b.len, tool), b.len);
    assert_int_equal(pclose(tool), 0);
    cuzk_buf_free(&b);
}

static json_t *status(void) {
    json_error_t error;
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_engine_status *s = fake_status();
    cuzk_rpc_status_json(&b, s, "1.2");
    cuzk_free(s);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    assert_null(memchr(b.data, '\n', b.len)); /* one line, as events need it */
    json_t *j = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, &error);
    if (!j) fail_msg("%s at %d: %.80s", error.text, error.position, b.data + error.position - 40);
    cuzk_buf_free(&b);
    return j;
}

/* The value at a path such as "pipelines.0.job_id". */
static json_t *at(json_t *j, const char *path) {
    char name[64];
    for (const char *p = path; *p;) {
        const size_t n = strcspn(p, ".");
        memcpy(name, p, n);
        name[n] = '\0';
        j = json_is_array(j) ? json_array_get(j, strtoul(name, NULL, 10))
                             : json_object_get(j, name);
        if (!j) fail_msg("no %s", path);
        p += n + (p[n] == '.');
    }
    return j;
}

static void test_status(void **state) {
    (void)state;
    json_t *j = status();
    assert_true(json_real_value(at(j, "uptime_secs")) == 60.0);
    assert_true(json_integer_value(at(j, "memory.total_bytes")) == 8ll << 30);
    assert_true(json_integer_value(at(j, "memory.used_bytes")) == 3ll << 30);
    assert_true(json_integer_value(at(j, "memory.available_bytes")) == 5ll << 30);
    assert_int_equal(json_integer_value(at(j, "synthesis.max_concurrent")), 4);
    assert_int_equal(json_integer_value(at(j, "synthesis.active")), 3);
    assert_string_equal(json_string_value(at(j, "pipelines.0.job_id")), "job-1");
    assert_string_equal(json_string_value(at(j, "pipelines.0.proof_kind")), "porep_c2");
    assert_true(json_real_value(at(j, "pipelines.0.started_secs_ago")) == 60.0);
    assert_int_equal(json_integer_value(at(j, "pipelines.0.total_partitions")), 10);
    assert_int_equal(json_integer_value(at(j, "pipelines.0.partitions_done")), 0);
    assert_int_equal(json_array_size(at(j, "pipelines.0.partitions")), 10);
    static const char *const states[] = {"done", "gpu", "synthesizing", "synth_done", "pending"};
    for (size_t i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "pipelines.0.partitions.%zu.state", i);
        assert_string_equal(json_string_value(at(j, path)), states[i]);
    }
    assert_int_equal(json_integer_value(at(j, "pipelines.0.partitions.0.synth_ms")), 300);
    assert_int_equal(json_integer_value(at(j, "pipelines.0.partitions.0.gpu_ms")), 100);
    assert_string_equal(json_string_value(at(j, "pipelines.1.partitions.0.state")), "failed");
    assert_string_equal(json_string_value(at(j, "pipelines.1.message")),
                        "verify: the proof is wrong");
    assert_string_equal(json_string_value(at(j, "pipelines.1.request_id")),
                        "odd \"id\" \xc3\xa9 \xef\xbf\xbd\n");
    assert_string_equal(json_string_value(at(j, "gpu_workers.0.state")), "proving");
    assert_string_equal(json_string_value(at(j, "gpu_workers.0.current_job")), "job-1");
    assert_int_equal(json_integer_value(at(j, "gpu_workers.0.current_partition")), 1);
    assert_true(json_is_null(at(j, "gpu_workers.1.current_job")));
    assert_int_equal(json_integer_value(at(j, "gpu_workers.1.gpu_ordinal")), 1);
    assert_true(json_real_value(at(j, "gpu_workers.0.busy_secs")) > 123);
    assert_int_equal(json_array_size(at(j, "allocations.srs")), 1);
    assert_string_equal(json_string_value(at(j, "allocations.srs.0.circuit_id")), "porep-32g");
    assert_true(json_is_false(at(j, "allocations.srs.0.evictable")));
    assert_true(json_is_array(at(j, "allocations.pce")));
    assert_int_equal(json_integer_value(at(j, "counters.total_completed")), 9);
    assert_int_equal(json_integer_value(at(j, "counters.completed_by_kind.winning_post")), 2);
    assert_int_equal(json_integer_value(at(j, "counters.failed_by_kind.circom")), 1);
    assert_int_equal(json_integer_value(at(j, "counters.queue_depth")), 4);
    assert_int_equal(json_integer_value(at(j, "buffers.synth_in_flight")), 3);
    assert_int_equal(json_integer_value(at(j, "buffers.provers_in_flight")), 1);
    (void)at(j, "buffers.aux_in_flight");
    (void)at(j, "buffers.shells_in_flight");
    (void)at(j, "buffers.pending_handles");
    json_decref(j);
}

static void test_own_members(void **state) {
    (void)state;
    json_t *j = status();
    assert_string_equal(json_string_value(at(j, "devices.0.uuid")), "GPU-0001");
    assert_int_equal(json_array_size(at(j, "devices.0.proof_kinds")), 2);
    assert_int_equal(json_array_size(at(j, "devices.1.proof_kinds")), 5);
    assert_int_equal(json_integer_value(at(j, "devices.0.moved_bytes.in_gate")), 15);
    assert_true(json_is_true(at(j, "devices.1.quarantined")));
    assert_string_equal(json_string_value(at(j, "keys.0.state")), "loaded");
    assert_string_equal(json_string_value(at(j, "keys.1.state")), "on disk");
    assert_string_equal(json_string_value(at(j, "keys.2.state")), "missing");
    assert_true(json_real_value(at(j, "queues.0.mean_secs")) == 3.0);
    assert_string_equal(json_string_value(at(j, "pipelines.0.partitions.3.stage")), "ready");
    assert_string_equal(json_string_value(at(j, "version")), "1.2");
    json_decref(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_names), cmocka_unit_test(test_format),
        cmocka_unit_test(test_promtool),    cmocka_unit_test(test_status),
        cmocka_unit_test(test_own_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

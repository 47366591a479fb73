/* The wire format of cuzk.v1.ProvingEngine is fixed: names, numbers and types of what clients in
 * the field speak. Fields from 1000 are ours. */
#include "support.h"

#include <cuzk/v1/proving.pb-c.h>

/* "name type number", types as in .proto files; "*" before a type: repeated. */
static const struct {
    const ProtobufCMessageDescriptor *message;
    const char *name, *fields;
} messages[] = {
    {&cuzk__v1__submit_proof_request__descriptor, "SubmitProofRequest",
     "request_id string 1, proof_kind ProofKind 2, sector_size uint64 3, "
     "registered_proof uint64 4, priority Priority 5, vanilla_proof bytes 10, "
     "vanilla_proofs *bytes 11, sector_number uint64 20, miner_id uint64 21, randomness bytes 22, "
     "partition_index uint32 23, comm_r_old bytes 30, comm_r_new bytes 31, comm_d_new bytes 32"},
    {&cuzk__v1__submit_proof_response__descriptor, "SubmitProofResponse",
     "job_id string 1, queue_position uint32 2, assigned_gpu string 3"},
    {&cuzk__v1__await_proof_request__descriptor, "AwaitProofRequest",
     "job_id string 1, timeout_ms uint64 2"},
    {&cuzk__v1__await_proof_response__descriptor, "AwaitProofResponse",
     "job_id string 1, status Status 2, proof bytes 3, error_message string 4, "
     "queue_wait_ms uint64 10, srs_load_ms uint64 11, synthesis_ms uint64 12, "
     "gpu_compute_ms uint64 13, total_ms uint64 14"},
    {&cuzk__v1__prove_request__descriptor, "ProveRequest", "submit SubmitProofRequest 1"},
    {&cuzk__v1__prove_response__descriptor, "ProveResponse", "result AwaitProofResponse 1"},
    {&cuzk__v1__cancel_proof_request__descriptor, "CancelProofRequest", "job_id string 1"},
    {&cuzk__v1__cancel_proof_response__descriptor, "CancelProofResponse", "was_running bool 1"},
    {&cuzk__v1__get_status_request__descriptor, "GetStatusRequest", ""},
    {&cuzk__v1__get_status_response__descriptor, "GetStatusResponse",
     "gpus *GPUStatus 1, loaded_srs *SRSStatus 2, queues *QueueStatus 3, "
     "total_proofs_completed uint64 4, total_proofs_failed uint64 5, uptime_seconds uint64 6, "
     "pinned_memory_bytes uint64 7, pinned_memory_limit_bytes uint64 8"},
    {&cuzk__v1__gpustatus__descriptor, "GPUStatus",
     "ordinal uint32 1, name string 2, vram_total_bytes uint64 3, vram_free_bytes uint64 4, "
     "current_job_id string 5, current_proof_kind string 6"},
    {&cuzk__v1__srsstatus__descriptor, "SRSStatus",
     "circuit_id string 1, tier Tier 2, size_bytes uint64 3, ref_count uint32 4"},
    {&cuzk__v1__queue_status__descriptor, "QueueStatus",
     "proof_kind string 1, pending uint32 2, in_progress uint32 3"},
    {&cuzk__v1__preload_srs_request__descriptor, "PreloadSrsRequest", "circuit_id string 1"},
    {&cuzk__v1__preload_srs_response__descriptor, "PreloadSrsResponse",
     "already_loaded bool 1, load_time_ms uint64 2"},
    {&cuzk__v1__evict_srs_request__descriptor, "EvictSrsRequest", "circuit_id string 1"},
    {&cuzk__v1__evict_srs_response__descriptor, "EvictSrsResponse",
     "was_loaded bool 1, freed_bytes uint64 2"},
    {&cuzk__v1__get_metrics_request__descriptor, "GetMetricsRequest", ""},
    {&cuzk__v1__get_metrics_response__descriptor, "GetMetricsResponse", "prometheus_text string 1"},
};

static const struct {
    const ProtobufCEnumDescriptor *type;
    const char *values; /* from 0 */
} enums[] = {
    {&cuzk__v1__proof_kind__descriptor,
     "PROOF_KIND_UNSPECIFIED POREP_SEAL_COMMIT SNAP_DEALS_UPDATE WINDOW_POST_PARTITION "
     "WINNING_POST"},
    {&cuzk__v1__priority__descriptor, "PRIORITY_UNSPECIFIED LOW NORMAL HIGH CRITICAL"},
    {&cuzk__v1__await_proof_response__status__descriptor,
     "UNKNOWN COMPLETED FAILED CANCELLED TIMEOUT"},
    {&cuzk__v1__srsstatus__tier__descriptor, "HOT WARM COLD"},
};

static const char *type_name(const ProtobufCFieldDescriptor *f) {
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        return "string";
    case PROTOBUF_C_TYPE_BYTES:
        return "bytes";
    case PROTOBUF_C_TYPE_UINT32:
        return "uint32";
    case PROTOBUF_C_TYPE_UINT64:
        return "uint64";
    case PROTOBUF_C_TYPE_BOOL:
        return "bool";
    case PROTOBUF_C_TYPE_ENUM:
        return ((const ProtobufCEnumDescriptor *)f->descriptor)->short_name;
    case PROTOBUF_C_TYPE_MESSAGE:
        return ((const ProtobufCMessageDescriptor *)f->descriptor)->short_name;
    default:
        return "another type";
    }
}

static void test_messages(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const ProtobufCMessageDescriptor *d = messages[i].message;
        char have[1024] = "";
        size_t n = 0;
        assert_string_equal(d->package_name, "cuzk.v1");
        assert_string_equal(d->short_name, messages[i].name);
        for (unsigned k = 0; k < d->n_fields; k++) {
            const ProtobufCFieldDescriptor *f = &d->fields[k];
            if (f->id >= 1000) continue;
            n += (size_t)snprintf(have + n, sizeof have - n, "%s%s %s%s %u", n ? ", " : "", f->name,
                                  f->label == PROTOBUF_C_LABEL_REPEATED ? "*" : "", type_name(f),
                                  f->id);
            assert_true(n < sizeof have);
        }
        assert_string_equal(have, messages[i].fields);
    }
}

static void test_enums(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++) {
        char have[256] = "";
        size_t n = 0;
        for (unsigned k = 0; k < enums[i].type->n_values; k++) {
            assert_int_equal(enums[i].type->values[k].value, k);
            n += (size_t)snprintf(have + n, sizeof have - n, "%s%s", n ? " " : "",
                                  enums[i].type->values[k].name);
        }
        assert_string_equal(have, enums[i].values);
    }
}

static void test_service(void **state) {
    (void)state;
    static const char *const calls[][3] = {
        {"SubmitProof", "SubmitProofRequest", "SubmitProofResponse"},
        {"AwaitProof", "AwaitProofRequest", "AwaitProofResponse"},
        {"Prove", "ProveRequest", "ProveResponse"},
        {"CancelProof", "CancelProofRequest", "CancelProofResponse"},
        {"GetStatus", "GetStatusRequest", "GetStatusResponse"},
        {"GetMetrics", "GetMetricsRequest", "GetMetricsResponse"},
        {"PreloadSRS", "PreloadSrsRequest", "PreloadSrsResponse"},
        {"EvictSRS", "EvictSrsRequest", "EvictSrsResponse"},
    };
    const ProtobufCServiceDescriptor *s = &cuzk__v1__proving_engine__descriptor;
    assert_string_equal(s->name, "cuzk.v1.ProvingEngine");
    assert_int_equal(s->n_methods, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(s->methods[i].name, calls[i][0]);
        assert_string_equal(s->methods[i].input->short_name, calls[i][1]);
        assert_string_equal(s->methods[i].output->short_name, calls[i][2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_enums),
        cmocka_unit_test(test_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The engine's statuses as gRPC codes and HTTP statuses, with a sentence that says what to do. */
#include "rpc/internal.h"

#include <stdio.h>
#include <string.h>

typedef struct answer {
    int grpc;
    unsigned http;
    const char *code, *advice;
} answer;

static answer of_status(cuzk_status st) {
    switch (st) {
    case CUZK_STATUS_USAGE:
    case CUZK_STATUS_BAD_INPUT:
    case CUZK_STATUS_FALSE:
        return (answer){CUZK_GRPC_INVALID_ARGUMENT, 400, "invalid_argument", ""};
    case CUZK_STATUS_NOT_FOUND:
        return (answer){CUZK_GRPC_NOT_FOUND, 404, "not_found", ""};
    case CUZK_STATUS_CONFLICT:
        return (answer){CUZK_GRPC_ALREADY_EXISTS, 409, "already_exists", ""};
    case CUZK_STATUS_BUSY:
        return (answer){CUZK_GRPC_RESOURCE_EXHAUSTED, 429, "busy", ""};
    case CUZK_STATUS_NO_MEMORY:
        return (answer){CUZK_GRPC_RESOURCE_EXHAUSTED, 503, "no_memory", ""};
    case CUZK_STATUS_NO_DEVICE:
        return (answer){CUZK_GRPC_UNAVAILABLE, 503, "no_device",
                        ". GetStatus and the status page show the devices and their troubles"};
    case CUZK_STATUS_IO:
        return (answer){CUZK_GRPC_UNAVAILABLE, 503, "io",
                        ". Nothing was accepted; free or repair the disk and try again"};
    case CUZK_STATUS_FAILED:
        return (answer){CUZK_GRPC_FAILED_PRECONDITION, 409, "failed_precondition", ""};
    default:
        return (answer){CUZK_GRPC_INTERNAL, 500, "internal", ". Please report it"};
    }
}

static answer of_reason(cuzk_sched_reason reason, answer a) {
    switch (reason) {
    case CUZK_REASON_QUEUE_FULL:
        return (answer){CUZK_GRPC_RESOURCE_EXHAUSTED, 429, "queue_full", "; try again later"};
    case CUZK_REASON_DRAINING:
        return (answer){CUZK_GRPC_UNAVAILABLE, 503, "draining",
                        "; submit to another engine, or again after Resume or a restart"};
    case CUZK_REASON_LATE:
        return (answer){CUZK_GRPC_DEADLINE_EXCEEDED, 409, "late",
                        "; the deadline must lie in the future of the engine's clock"};
    case CUZK_REASON_HOST:
    case CUZK_REASON_PINNED:
        return (answer){CUZK_GRPC_FAILED_PRECONDITION, 409, "never_fits",
                        "; it never fits: raise the memory budget or submit to a larger machine"};
    case CUZK_REASON_DEVICE:
        return (answer){CUZK_GRPC_FAILED_PRECONDITION, 409, "never_fits",
                        "; it never fits: raise gpus.memory_max where that is set, or submit to a "
                        "machine with a larger device"};
    default:
        return a;
    }
}

void cuzk__rpc_failed(cuzk__rpc_failure *out, cuzk_status st, const cuzk_err *err,
                      const cuzk_engine_refusal *refusal) {
    answer a = of_status(st);
    const bool told = err && err->msg[0];
    memset(out, 0, sizeof *out);
    /* a key that a submission names and that has no file is the operator's matter */
    if (refusal && st == CUZK_STATUS_NOT_FOUND)
        a = (answer){CUZK_GRPC_FAILED_PRECONDITION, 409, "no_key",
                     ". Put the key's file where the configuration says, or submit to another "
                     "engine"};
    if (refusal && refusal->reason != CUZK_REASON_NONE) a = of_reason(refusal->reason, a);
    out->grpc = a.grpc;
    out->http = a.http;
    out->code = a.code;
    int n = snprintf(out->message, sizeof out->message, "%s%s",
                     told ? err->msg : cuzk_status_text(st), a.advice);
    if (!refusal || n < 0 || (size_t)n >= sizeof out->message) return;
    if (refusal->reason == CUZK_REASON_QUEUE_FULL || refusal->reason == CUZK_REASON_DRAINING) {
        out->retry_ns = refusal->retry_after_ns > 0 ? refusal->retry_after_ns : 1000000000;
        snprintf(out->message + n, sizeof out->message - (size_t)n,
                 " (queue depth %u, retry after %lld ms)", refusal->depth,
                 (long long)(out->retry_ns / 1000000));
    } else if (refusal->need) {
        snprintf(out->message + n, sizeof out->message - (size_t)n, " (needs %llu bytes, of %llu)",
                 (unsigned long long)refusal->need, (unsigned long long)refusal->limit);
    }
}

cuzk_status cuzk__rpc_fail(cuzk_grpc_call *call, cuzk_status st, const cuzk_err *err,
                           const cuzk_engine_refusal *refusal) {
    cuzk__rpc_failure f;
    cuzk__rpc_failed(&f, st, err, refusal);
    if (f.retry_ns > 0) return cuzk_grpc_fail_retry(call, f.grpc, f.retry_ns, "%s", f.message);
    return cuzk_grpc_fail(call, f.grpc, "%s", f.message);
}

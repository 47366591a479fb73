/* The engine's structures as protobuf messages. */
#ifndef CUZK_RPC_REPLIES_H
#define CUZK_RPC_REPLIES_H

#include "rpc/wire.h"

#include <cuzk/v1/engine.pb-c.h>
#include <cuzk/v1/proving.pb-c.h>

/* Strings of the messages point into job and proof, which must outlive them. */
void cuzk__rpc_job_message(Cuzk__V1__Job *out, cuzk_engine_job *job);
/* A job that ended, or (timed out) one that goes on. */
void cuzk__rpc_await_message(Cuzk__V1__AwaitProofResponse *out, cuzk_engine_job *job,
                             const cuzk_buf *proof);

/* A GetStatusResponse with its parts; strings point into the snapshot. */
typedef struct cuzk__rpc_status_message {
    Cuzk__V1__GetStatusResponse m;
    Cuzk__V1__GPUStatus *gpus, **gpu_list;
    Cuzk__V1__SRSStatus *keys, **key_list;
    Cuzk__V1__QueueStatus queues[CUZK_ENGINE_KIND_COUNT];
    Cuzk__V1__QueueStatus *queue_list[CUZK_ENGINE_KIND_COUNT];
    char version[64];
} cuzk__rpc_status_message;

cuzk_status cuzk__rpc_make_status(cuzk__rpc_status_message *out, cuzk_engine_status *s,
                                  const char *version) CUZK_MUST_CHECK;
void cuzk__rpc_free_status(cuzk__rpc_status_message *m);

#endif

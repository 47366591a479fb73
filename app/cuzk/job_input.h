/* What is to be proved, from files: for verbs that send it to a daemon. */
#ifndef CUZK_JOB_INPUT_H
#define CUZK_JOB_INPUT_H

#include "base/file.h"
#include "filecoin/public.h"
#include "filecoin/request.h"
#include "rpc/client.h"

/* KIND of `cuzk submit KIND`: porep, wpost, winning, snap, circom. */
bool cuzk_job_kind_parse(const char *word, cuzk_engine_kind *out);
/* low, normal, high, critical. */
bool cuzk_job_priority_parse(const char *word, int *out);

typedef struct cuzk_job_input {
    cuzk_rpc_job job; /* points at what follows */
    cuzk_map file;
    cuzk_request *request;
    cuzk_engine_bytes one, *parts;
    char request_id[CUZK_ENGINE_REQUEST_ID];
} cuzk_job_input;

/* Reads file: of circom a witness for `key`; of porep a C1 output or a request; of the others a
 * request (filecoin/request.h). facts fill what a C1 output does not say. The caller may set
 * job.request_id, priority and deadline afterwards. Close it also when this failed. */
cuzk_status cuzk_job_input_open(cuzk_job_input *in, cuzk_engine_kind kind, const char *key,
                                const char *file, const cuzk_porep_facts *facts,
                                cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_job_input_close(cuzk_job_input *in);

#endif

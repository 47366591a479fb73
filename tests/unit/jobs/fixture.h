/* A directory with keys (circom's mul3 on both curves, wpost-2k made here) and payloads for them.
 */
#ifndef CUZK_TESTS_JOBS_FIXTURE_H
#define CUZK_TESTS_JOBS_FIXTURE_H

#include "support.h"

#include "filecoin/request.h"
#include "jobs/jobs.h"

extern char *fixture_dir; /* .zkey and .params */
extern cuzk_pool *fixture_pool;

int fixture_begin(void **state);
int fixture_end(void **state);

cuzk_jobs *fixture_jobs(void);

/* A payload and what it borrows. */
typedef struct payload {
    cuzk_engine_payload p;
    cuzk_engine_bytes parts[4];
    cuzk_request *request;
    char meta[1024];
    void *owned;
} payload;
/* curve: "bn128" or "bls12381". */
void payload_mul3(payload *out, const char *curve);
/* extra: members appended to the meta. */
void payload_wpost(payload *out, const char *extra);
/* The C1 output of the vectors in the wrapper of lotus-bench, or as bincode. */
void payload_porep(payload *out, const char *file, const char *meta);
void payload_free(payload *p);

/* Proves one job on slot 0 of device 0, which is open and has the key. */
void prove_on(cuzk_jobs *jobs, const cuzk_device_ops *ops, void *self, const payload *p,
              cuzk_buf *answer);
/* Whether an answer verifies by the readers and verifiers of the command line. */
void expect_mul3(const char *curve, const cuzk_buf *answer);
void expect_wpost(const payload *p, const cuzk_buf *answer);

#endif

/* What the engine has done by others: it knows no curve, no circuit and no file format. A work
 * provider opens jobs and makes witnesses and answers of them; a device provider computes. The
 * real ones are src/jobs (Filecoin, circom) and its worker processes; engine/mock sleeps instead.
 *
 *   payload -> job_open -> plan              once a job; parts are mapped, shared, never copied
 *   witness -> stage -> compute -> finish -> verify      each partition
 *   assemble                                             once a job
 *
 * Functions block and are called from the engine's threads; different jobs and partitions at the
 * same time. Errors are values with a sentence. A status of BAD_INPUT or FALSE is the job's own
 * fault and is not tried again; every other is. */
#ifndef CUZK_ENGINE_SHELL_PROVIDER_H
#define CUZK_ENGINE_SHELL_PROVIDER_H

#include "base/buf.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUZK_ENGINE_KEY_NAME = 96,     /* bytes of a key's name, its NUL included */
    CUZK_ENGINE_RESULT_MAX = 2048, /* bytes of what a device gives for a partition */
    CUZK_ENGINE_PROOF_MAX = 1024,  /* bytes of a partition's proof */
};

/* Kinds of jobs. The first are those of the wire. */
#define CUZK_ENGINE_KINDS(X)                                                                       \
    X(UNSPECIFIED, "unspecified")                                                                  \
    X(POREP, "porep_c2")                                                                           \
    X(SNAP, "snap_update")                                                                         \
    X(WINDOW, "window_post")                                                                       \
    X(WINNING, "winning_post")                                                                     \
    X(CIRCOM, "circom")

typedef enum cuzk_engine_kind {
#define CUZK__KIND(name, text) CUZK_ENGINE_##name,
    CUZK_ENGINE_KINDS(CUZK__KIND)
#undef CUZK__KIND
        CUZK_ENGINE_KIND_COUNT
} cuzk_engine_kind;

typedef struct cuzk_engine_bytes {
    const void *data;
    size_t len;
} cuzk_engine_bytes;

/* What a client sent. meta: a JSON object with the fields of SubmitProofRequest except the proofs
 * (filecoin/request.h has the names); of CIRCOM {"key": NAME}. parts: vanilla_proof, or each of
 * vanilla_proofs; of CIRCOM the .wtns. Borrowed: parts stay mapped until job_free. */
typedef struct cuzk_engine_payload {
    cuzk_engine_kind kind;
    cuzk_engine_bytes meta;
    const cuzk_engine_bytes *parts;
    size_t n_parts;
} cuzk_engine_payload;

/* Exact figures, in bytes; sched.h says for how long each is held. */
typedef struct cuzk_engine_plan {
    char key[CUZK_ENGINE_KEY_NAME]; /* "porep-32g"; a circom key's name */
    uint32_t n_partitions;
    uint64_t shared_host, witness_host, witness_pinned, scratch_host;
    uint64_t slot_device;
    char message[256]; /* what the client should know of a job that is taken; may be empty */
} cuzk_engine_plan;

/* What a key takes. */
typedef struct cuzk_engine_key_plan {
    uint64_t host;     /* in the daemon: constraint system, witness plan, verifying key */
    uint64_t device;   /* on a device, and of a CPU device in its worker process */
    uint64_t size;     /* of its file: what a status page shows */
    uint64_t identity; /* of its file as it lies there now: another number, another content */
} cuzk_engine_key_plan;

/* A witness ready to be staged: in memory of a file without a name, so that a worker process maps
 * it too. */
typedef struct cuzk_engine_witness {
    int fd; /* memfd; -1: none (mock) */
    size_t len;
    void *data; /* the same, mapped */
} cuzk_engine_witness;

typedef struct cuzk_work_ops {
    /* All names of keys that can be asked for now: put(ctx, name, file, present) for each. */
    cuzk_status (*keys)(void *self,
                        void (*put)(void *ctx, const char *name, const char *file, bool present),
                        void *ctx, cuzk_err *err);
    cuzk_status (*key_plan)(void *self, const char *key, cuzk_engine_key_plan *out, cuzk_err *err);
    /* The daemon's own part of a key. *digest_hex (65 bytes) may stay empty. */
    cuzk_status (*key_load)(void *self, const char *key, cuzk_err *err);
    void (*key_free)(void *self, const char *key);

    /* Parses and checks what can be checked without a key. */
    cuzk_status (*job_open)(void *self, const cuzk_engine_payload *payload, void **job,
                            cuzk_engine_plan *plan, cuzk_err *err);
    void (*job_free)(void *self, void *job);
    /* Checks the vanilla proof of the partition and makes its witness; the key is loaded. Returns
     * soon after *cancel became true, with any status. */
    cuzk_status (*witness)(void *self, void *job, uint32_t partition, const atomic_bool *cancel,
                           cuzk_engine_witness *out, cuzk_err *err);
    void (*witness_free)(void *self, cuzk_engine_witness *w); /* wipes */
    /* From a device's result to a proof that verifies: proof has CUZK_ENGINE_PROOF_MAX bytes. FALSE
     * is a wrong result or witness: tried again. */
    cuzk_status (*verify)(void *self, void *job, uint32_t partition, const void *result,
                          size_t result_len, void *proof, size_t *proof_len, cuzk_err *err);
    /* The job's answer, checked once more as a whole. proofs: n_partitions of them. */
    cuzk_status (*assemble)(void *self, void *job, const cuzk_engine_bytes *proofs, cuzk_buf *out,
                            cuzk_err *err);
} cuzk_work_ops;

typedef struct cuzk_engine_device_info {
    char name[96], uuid[64];
    uint64_t memory_total, memory_free; /* bytes */
    int pid;                            /* of its worker process; 0: in this one */
} cuzk_engine_device_info;

/* Bytes moved between host and device for one partition, for the ledger. */
typedef struct cuzk_engine_moved {
    uint64_t in_pinned, in_pageable, out_pinned, out_pageable;
    uint64_t in_gate;  /* of these, while the gate was held */
    int64_t device_ns; /* that kernels ran; 0: not known */
} cuzk_engine_moved;

/* A device lives in a process of its own (or not: mock, tests). Everything but open may fail with
 * NO_DEVICE: the worker is gone; the engine then closes, waits and opens again. Slots of a device
 * are used by different threads at the same time, each slot by one. Calls for one key come from
 * one thread at a time. */
typedef struct cuzk_device_ops {
    uint32_t (*count)(void *self);
    cuzk_status (*open)(void *self, uint32_t device, cuzk_engine_device_info *out, cuzk_err *err);
    /* Ends the worker, also a hung one; calls under way return NO_DEVICE. */
    void (*close)(void *self, uint32_t device);
    /* Called when a worker died by itself, with how ("was ended by signal 9 (Killed)"); from any
     * thread, must not block. Set once, before open. */
    void (*on_lost)(void *self, void (*lost)(void *ctx, uint32_t device, const char *why),
                    void *ctx);
    cuzk_status (*key_load)(void *self, uint32_t device, const char *key, cuzk_err *err);
    cuzk_status (*key_free)(void *self, uint32_t device, const char *key, cuzk_err *err);
    cuzk_status (*stage)(void *self, uint32_t device, uint32_t slot, const char *key,
                         const cuzk_engine_witness *w, cuzk_err *err);
    /* Returns when the kernels have ended. The result is kept as number `result` (below the
     * engine's results_per_device) and the slot is free for the next. A number may come again
     * without a finish (the job was cancelled): what it held is dropped. */
    cuzk_status (*compute)(void *self, uint32_t device, uint32_t slot, uint32_t result,
                           cuzk_engine_moved *moved, cuzk_err *err);
    /* Host work on the result, outside the gate; out has CUZK_ENGINE_RESULT_MAX bytes. The number
     * is free again. */
    cuzk_status (*finish)(void *self, uint32_t device, uint32_t result, void *out, size_t *out_len,
                          cuzk_err *err);
} cuzk_device_ops;

typedef struct cuzk_engine_providers {
    const cuzk_work_ops *work;
    void *work_self;
    const cuzk_device_ops *devices;
    void *devices_self;
} cuzk_engine_providers;

#endif

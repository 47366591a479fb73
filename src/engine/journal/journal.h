/* The journal: what the daemon remembers when it is killed or the power goes.
 *
 * A state directory holds one SQLite database (write-ahead log, full sync) and the spool, files
 * named by the SHA-256 of what they hold. docs/engine.md, "The journal", describes both and what is
 * guaranteed. How the engine uses it:
 *
 *   open -> cuzk_journal_next over what is unfinished, submit each again with its partitions_done
 *   request comes:  cuzk_journal_put (payload; slow, on the client's thread)
 *                   cuzk_journal_accept, answer the client when `done` runs
 *   ... partition_done, fault, end     reports of the engine, any thread, never wait
 *   client asks:    cuzk_journal_find, cuzk_journal_result, cuzk_journal_fetched
 *   now and then:   cuzk_journal_retain
 *   close
 *
 * Writes. The calls that take a `cuzk_journal_done` put their request into a queue and return; one
 * thread of the journal writes all that waits in one transaction, one fsync for many, and then
 * calls each `done`: what it reports is durable. Requests take effect in the order of the calls, so
 * a partition may be reported before its job's acceptance has been confirmed; when that acceptance
 * fails (disk full), so do the reports that follow it. `done` runs once, on the journal's thread,
 * for every call that returned CUZK_OK, also during close; it must be quick and may call only
 * functions that do not wait (those with a `done` of their own). NULL: the caller does not want to
 * know. cuzk_journal_sync waits for everything asked before.
 *
 * Reads see what is durable and nothing else. They wait for a read of the database, never for a
 * write.
 *
 * Statuses. IO: the system refused (disk full, directory not writable, damage), with path and
 * remedy; what was not confirmed is not in the journal, which goes on working when the cause has
 * gone. One cause does not go: after a sync that failed, what was written may or may not be on the
 * medium, so every request fails until the journal is opened again. BUSY: the spool's limit or the
 * disk has no room for it now. CONFLICT: a request id that is taken. NOT_FOUND: no such job. FALSE:
 * it has ended. NO_MEMORY, BAD_INPUT (a text too long).
 *
 * Every function may be called from any thread at any time between open and close, unless it says
 * otherwise. Nothing secret is written: of a secret payload only a keyed digest. Times are
 * nanoseconds since 1970 (wall clock), for people to read; what depends on age is counted with a
 * clock that never jumps while the daemon runs. */
#ifndef CUZK_ENGINE_JOURNAL_JOURNAL_H
#define CUZK_ENGINE_JOURNAL_JOURNAL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUZK_JOURNAL_ID_BYTES = 48,       /* of a job id with its NUL */
    CUZK_JOURNAL_MAX_NAME = 255,      /* bytes of a request id, client, kind, stage, fact's name */
    CUZK_JOURNAL_MAX_BLOB = 16 << 20, /* bytes of meta, timings, a proof, a fact's value */
    CUZK_JOURNAL_MAX_PARTITIONS = 64, /* of a job, as the scheduler's */
};

typedef struct cuzk_journal cuzk_journal;

/* Bytes of the caller's; data may be NULL when len is 0. */
typedef struct cuzk_journal_part {
    const void *data;
    size_t len;
} cuzk_journal_part;

/* How a job ended. Values are stored. */
typedef enum cuzk_journal_outcome {
    CUZK_JOURNAL_UNFINISHED = 0,
    CUZK_JOURNAL_DONE = 1,
    CUZK_JOURNAL_FAILED = 2,
    CUZK_JOURNAL_CANCELLED = 3,
    CUZK_JOURNAL_DEADLINE = 4,
    CUZK_JOURNAL_OUTCOMES,
} cuzk_journal_outcome;

/* Runs when a request is durable (CUZK_OK), or did not happen (err says why; never NULL). */
typedef void cuzk_journal_done(void *ctx, cuzk_status status, const cuzk_err *err);

struct cuzk_journal_hooks; /* tests: hooks.h */

typedef struct cuzk_journal_options {
    size_t size;  /* of this struct, by cuzk_journal_options_init */
    bool recover; /* a damaged journal is set aside (moved to DIR/damaged-N, never deleted) and
                     an empty one begun; false: refused */
    uint64_t max_bytes; /* of payloads and results together; a payload above that is refused with
                           BUSY. 0: no limit but the disk's. Results are always taken */
    const struct cuzk_journal_hooks *hooks;
} cuzk_journal_options;

void cuzk_journal_options_init(cuzk_journal_options *o);

/* Opens the journal of a state directory, which is created (mode 0700) when it is not there; takes
 * the directory's lock, upgrades a journal of an older version, checks the whole database, and
 * removes spool files that no job refers to. Fails with IO when another process has the directory
 * (its pid is named), when it cannot be read or written or lies on a network file system, when the
 * journal is damaged (options->recover), or was made by a newer version; the message says what to
 * do. Nothing is lost by a refusal. options may be NULL. */
cuzk_status cuzk_journal_open(cuzk_journal **out, const char *dir,
                              const cuzk_journal_options *options, cuzk_err *err) CUZK_MUST_CHECK;

/* Writes what waits, runs every `done`, ends the thread and gives up the lock. Nobody may be inside
 * another call. NULL is ignored. */
void cuzk_journal_close(cuzk_journal *j);

/* Waits until everything that any thread asked for before this call is written or has failed; the
 * failures go to their own `done`. Not from a `done`. */
void cuzk_journal_sync(cuzk_journal *j);

/* Where a damaged journal was put by this open; "" when it was not damaged. Lives as long as j. */
const char *cuzk_journal_set_aside(const cuzk_journal *j);

/* ---- Payloads ---------------------------------------------------------------------------- */

/* A payload in the journal, kept there at least as long as this handle. Not thread-safe itself. */
typedef struct cuzk_payload cuzk_payload;

/* Stores a payload of n parts, which is durable and found by its digest when this returns; the same
 * bytes are stored once. Reads, hashes and writes on the caller's thread: 51 MB take some tenths of
 * a second. secret: nothing is written, only a digest is made, keyed with a random key of this
 * journal; a job accepted with it does not survive a restart (cuzk_journal_payload gives
 * NOT_FOUND). BUSY, IO. */
cuzk_status cuzk_journal_put(cuzk_journal *j, cuzk_payload **out, const cuzk_journal_part *parts,
                             size_t n, bool secret, cuzk_err *err) CUZK_MUST_CHECK;

/* The payload of an unfinished job, mapped. Its digest is checked; BAD_INPUT when the file is not
 * what was stored, NOT_FOUND when the job has none (none was given, it was secret, or the job
 * ended).
 */
cuzk_status cuzk_journal_payload(cuzk_journal *j, cuzk_payload **out, uint64_t job,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Part i, valid until cuzk_payload_free; of a fresh put of the same bytes too. For a secret payload
 * there are no parts. */
size_t cuzk_payload_parts(const cuzk_payload *p);
cuzk_journal_part cuzk_payload_part(const cuzk_payload *p, size_t i);
/* 32 bytes: SHA-256 of the stored form (docs/engine.md), which is also the spool file's name. */
const uint8_t *cuzk_payload_digest(const cuzk_payload *p);
/* Before cuzk_journal_close. NULL is ignored. */
void cuzk_payload_free(cuzk_payload *p);

/* ---- Jobs -------------------------------------------------------------------------------- */

typedef struct cuzk_journal_spec {
    const char *request_id; /* idempotency key; NULL or "": none */
    const char *client;     /* who asked, for people; may be NULL */
    const char *kind;       /* counters go by it: "porep_c2" */
    int priority;           /* opaque here */
    int64_t deadline_ns;    /* wall clock; 0: none */
    int64_t submitted_ns;   /* 0: now */
    uint32_t n_partitions;  /* 1 .. CUZK_JOURNAL_MAX_PARTITIONS */
    cuzk_journal_part meta; /* the request's other fields, given back as they are */
    cuzk_journal_part same; /* what, beside kind and payload, must be equal for two requests of one
                               request_id to be the same job; only its digest is kept */
    const cuzk_payload *payload; /* may be NULL */
} cuzk_journal_spec;

typedef struct cuzk_journal_accepted {
    uint64_t job; /* the sequence number: grows with each accepted job, also across restarts */
    char id[CUZK_JOURNAL_ID_BYTES]; /* "j-<job>-<16 hex digits>", not to be guessed */
    bool existing; /* the request_id is known with the same content: this is that job, which may
                      have ended; nothing was added */
} cuzk_journal_accepted;

/* Accepts a job. Returns CUZK_OK with *out at once; a client may hear of it when `done` has run
 * with CUZK_OK, also when existing (it may not be durable yet either). CONFLICT: the request_id
 * belongs to a job with another content, whose id *out holds. `done` does not run when this fails.
 * Waits for a short read, so not from a `done`. */
cuzk_status cuzk_journal_accept(cuzk_journal *j, cuzk_journal_accepted *out,
                                const cuzk_journal_spec *spec, cuzk_journal_done *done, void *ctx,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* A partition's proof was verified. After it is durable the partition is never proved again. The
 * first report of a partition counts; a second one succeeds and changes nothing. `done`: NOT_FOUND
 * when the job is unknown, FALSE when it has ended. */
cuzk_status cuzk_journal_partition_done(cuzk_journal *j, uint64_t job, uint32_t partition,
                                        cuzk_journal_part proof, cuzk_journal_part timings,
                                        cuzk_journal_done *done, void *ctx,
                                        cuzk_err *err) CUZK_MUST_CHECK;

/* Something went wrong with a partition (partition == n_partitions: with the whole job), on its way
 * to a retry or to failure; kept with the job, the last CUZK_JOURNAL_FAULTS of it. */
enum { CUZK_JOURNAL_FAULTS = 100 };
cuzk_status cuzk_journal_fault(cuzk_journal *j, uint64_t job, uint32_t partition, const char *stage,
                               const char *device, const char *text, cuzk_journal_done *done,
                               void *ctx, cuzk_err *err) CUZK_MUST_CHECK;

/* How a job ended. */
typedef struct cuzk_journal_end_spec {
    cuzk_journal_outcome outcome;
    const char *stage;         /* of a failure: where; may be NULL */
    const char *message;       /* for the client; may be NULL; cut at 4000 bytes */
    cuzk_journal_part result;  /* what the client fetches; any size */
    cuzk_journal_part timings; /* opaque, given back */
} cuzk_journal_end_spec;

/* Ends a job, once: `done` gets FALSE when it has ended before (the first end
 * stands), NOT_FOUND when it is unknown. Its payload and partitions' proofs are given up. A result
 * above 64 KiB is written to the spool by this call, which then takes as long as a put. */
cuzk_status cuzk_journal_end(cuzk_journal *j, uint64_t job, const cuzk_journal_end_spec *spec,
                             cuzk_journal_done *done, void *ctx, cuzk_err *err) CUZK_MUST_CHECK;

/* The client has the result: retention may be shorter from here on. */
cuzk_status cuzk_journal_fetched(cuzk_journal *j, uint64_t job, cuzk_journal_done *done, void *ctx,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* ---- Reading jobs ------------------------------------------------------------------------ */

typedef struct cuzk_journal_partition {
    bool done;
    cuzk_journal_part proof;   /* empty after the job's end */
    cuzk_journal_part timings; /* kept */
} cuzk_journal_partition;

typedef struct cuzk_journal_job {
    uint64_t job;
    char id[CUZK_JOURNAL_ID_BYTES];
    char *request_id, *client, *kind; /* "" when none */
    int priority;
    int64_t deadline_ns, submitted_ns, ended_ns; /* 0: none, not yet */
    uint32_t n_partitions;
    uint64_t partitions_done; /* bit p; kept after the end */
    uint64_t payload_bytes;   /* as given; 0: none */
    bool has_payload;         /* cuzk_journal_payload will find it */
    bool fetched;
    cuzk_journal_outcome outcome;
    char *stage, *message; /* of the end; "" when none */
    uint64_t result_bytes;
    cuzk_journal_part meta;             /* in lists: empty */
    cuzk_journal_part timings;          /* of the end; in lists: empty */
    cuzk_journal_partition *partitions; /* n_partitions; in lists: NULL */
} cuzk_journal_job;

/* Frees what job points to and zeroes it; zeroed: nothing. */
void cuzk_journal_job_free(cuzk_journal_job *job);
void cuzk_journal_jobs_free(cuzk_journal_job *jobs, size_t n);

/* The first unfinished job after the given one (0: from the start), oldest first, with its
 * partitions; NOT_FOUND when there is none. Free with cuzk_journal_job_free. */
cuzk_status cuzk_journal_next(cuzk_journal *j, cuzk_journal_job *out, uint64_t after,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* A job by its number, by its id ("j-…"), or by its request id. NOT_FOUND: not known (any more). */
cuzk_status cuzk_journal_get(cuzk_journal *j, cuzk_journal_job *out, uint64_t job,
                             cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_journal_find(cuzk_journal *j, cuzk_journal_job *out, const char *id,
                              cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_journal_find_request(cuzk_journal *j, cuzk_journal_job *out,
                                      const char *request_id, cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_journal_filter {
    uint32_t outcomes;           /* bit o: jobs of that outcome; 0: all */
    const char *kind;            /* NULL: all */
    const char *client;          /* NULL: all */
    uint64_t before;             /* jobs with a smaller number; 0: from the newest */
    int64_t submitted_before_ns; /* wall clock; 0: whenever */
    uint32_t limit;              /* at most so many; 0: 100; 1000 at most */
} cuzk_journal_filter;

/* Newest first. The next page: before = the last job's number. Free with cuzk_journal_jobs_free. */
cuzk_status cuzk_journal_list(cuzk_journal *j, cuzk_journal_job **out, size_t *n,
                              const cuzk_journal_filter *filter, cuzk_err *err) CUZK_MUST_CHECK;

/* The result of an ended job, which the caller frees with cuzk_free; NULL and 0 when it has none.
 * NOT_FOUND: no such job; FALSE: not ended. BAD_INPUT: the spool file is not what was stored. */
cuzk_status cuzk_journal_result(cuzk_journal *j, uint8_t **out, size_t *len, uint64_t job,
                                cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_journal_fault_record {
    uint64_t job;
    uint32_t partition;
    int64_t at_ns;
    char *stage, *device, *text;
} cuzk_journal_fault_record;

/* Faults of a job, or (job == 0) of all jobs, newest first, at most limit. */
cuzk_status cuzk_journal_faults(cuzk_journal *j, cuzk_journal_fault_record **out, size_t *n,
                                uint64_t job, uint32_t limit, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_journal_faults_free(cuzk_journal_fault_record *records, size_t n);

/* ---- Totals, retention, facts ------------------------------------------------------------ */

/* Since the journal began, deleted jobs counted. A kind's row has outcome UNFINISHED for those that
 * were accepted (ended ones too), else for those that ended so. */
typedef struct cuzk_journal_total {
    char kind[CUZK_JOURNAL_MAX_NAME + 1];
    cuzk_journal_outcome outcome;
    uint64_t jobs;
    double seconds; /* from submission to end, added up; of UNFINISHED 0 */
} cuzk_journal_total;

/* By kind, then outcome. Free *out with cuzk_free. */
cuzk_status cuzk_journal_totals(cuzk_journal *j, cuzk_journal_total **out, size_t *n,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* Which ended jobs go; 0 means "never for this reason". Unfinished ones never go. */
typedef struct cuzk_journal_retention {
    int64_t fetched_ns; /* so long after the end, when the result was fetched */
    int64_t ended_ns;   /* so long after the end, whatever was fetched */
    uint64_t max_jobs;  /* ended jobs beyond so many: fetched ones first, then the oldest */
} cuzk_journal_retention;

/* Deletes what the rules name, in steps that let other writes between, and the spool files that
 * nothing refers to any more; then shrinks the database. *removed: jobs. Waits; not from a `done`.
 */
cuzk_status cuzk_journal_retain(cuzk_journal *j, uint64_t *removed,
                                const cuzk_journal_retention *rules, cuzk_err *err) CUZK_MUST_CHECK;

/* Small facts that others want to remember (digests of keys that were checked): a name and bytes.
 * len 0 deletes. */
cuzk_status cuzk_journal_set_fact(cuzk_journal *j, const char *name, cuzk_journal_part value,
                                  cuzk_journal_done *done, void *ctx,
                                  cuzk_err *err) CUZK_MUST_CHECK;
/* NOT_FOUND: no such fact. Free *out with cuzk_free. */
cuzk_status cuzk_journal_get_fact(cuzk_journal *j, uint8_t **out, size_t *len, const char *name,
                                  cuzk_err *err) CUZK_MUST_CHECK;

/* For metrics. */
typedef struct cuzk_journal_stats {
    uint64_t requests, commits; /* since open: requests written, transactions that held them */
    uint64_t waiting;           /* requests in the queue now */
    uint64_t failed;            /* requests that failed for want of room or other I/O */
    uint64_t spool_bytes, spool_files;
    uint64_t stored_bytes;   /* payloads and results: what max_bytes limits */
    int64_t last_commit_ns;  /* how long the last transaction took */
    cuzk_status last_status; /* of the last transaction: not CUZK_OK while writing fails */
} cuzk_journal_stats;

void cuzk_journal_get_stats(cuzk_journal *j, cuzk_journal_stats *out);

#endif

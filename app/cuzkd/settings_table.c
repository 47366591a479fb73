/* Every setting of the daemon, in the order of the documentation. */
#include "settings.h"

#include <stddef.h>

#define AT(field) offsetof(cuzkd_settings, field)
#define TEXT_OF(field) 0, sizeof(((cuzkd_settings *)0)->field) - 1
#define SECONDS(n) (UINT64_C(1000000000) * (n))

#define DAYS SECONDS(86400)
#define TIB (UINT64_C(1) << 40)

/* Places in `deprecated`. */
enum {
    OLD_PINNED,
    OLD_WORKING,
    OLD_BATCH,
    OLD_BATCH_WAIT,
    OLD_SORT,
    OLD_PARTITION_WORKERS,
    OLD_ENABLED,
    OLD_LOOKAHEAD,
    OLD_CONCURRENCY,
    OLD_SLOT_SIZE
};

static const cuzk_cfg_entry entries[] = {
    {"daemon.listen", CUZK_CFG_TEXT, AT(listen), TEXT_OF(listen), "unix:///run/cuzk/cuzk.sock", 0,
     "Where gRPC clients connect: unix:///PATH, HOST:PORT or :PORT; several with commas."},
    {"daemon.status_listen", CUZK_CFG_TEXT, AT(status_listen), TEXT_OF(status_listen), "", 0,
     "Where the status page, /metrics and the JSON interface are; several with commas; empty: "
     "nowhere."},
    {"daemon.state_dir", CUZK_CFG_TEXT, AT(state_dir), TEXT_OF(state_dir), "/var/lib/cuzk", 0,
     "Journal, payloads and proofs; one daemon a directory."},
    {"daemon.socket_mode", CUZK_CFG_TEXT, AT(socket_mode), TEXT_OF(socket_mode), "0660", 0,
     "Who may connect to Unix sockets, in octal."},
    {"daemon.stop", CUZK_CFG_TEXT, AT(stop), TEXT_OF(stop), "checkpoint", CUZK_CFG_RELOAD,
     "On SIGTERM: checkpoint ends what runs at the end of its partition and keeps the rest for the "
     "next start; finish ends all jobs first."},
    {"daemon.stop_timeout", CUZK_CFG_DURATION, AT(stop_timeout_ns), 0, 7 * DAYS, "80s",
     CUZK_CFG_RELOAD, "After so long what still runs is left; accepted jobs stay in the journal."},
    {"tls.cert", CUZK_CFG_TEXT, AT(tls_cert), TEXT_OF(tls_cert), "", 0,
     "The server's certificate with its chain (PEM): TLS on every TCP address."},
    {"tls.key", CUZK_CFG_TEXT, AT(tls_key), TEXT_OF(tls_key), "", 0, "Its private key."},
    {"tls.client_ca", CUZK_CFG_TEXT, AT(tls_client_ca), TEXT_OF(tls_client_ca), "", 0,
     "Clients need a certificate signed by one of these."},
    {"auth.token_file", CUZK_CFG_TEXT, AT(token_file), TEXT_OF(token_file), "", 0,
     "Clients over TCP need one of these bearer tokens, one a line; mode 0640 or less."},
    {"memory.total_budget", CUZK_CFG_BYTES, AT(total_budget), UINT64_C(1) << 26, 64 * TIB, "auto",
     CUZK_CFG_AUTO,
     "Most memory that keys, witnesses and proofs take together; auto: what machine and control "
     "group allow, less safety_margin."},
    {"memory.safety_margin", CUZK_CFG_BYTES, AT(safety_margin), 0, TIB, "5GiB", 0,
     "Left to others when the budget is auto; no more than a quarter."},
    {"memory.pinned_max", CUZK_CFG_BYTES, AT(pinned_max), 0, 64 * TIB, "auto", CUZK_CFG_AUTO,
     "Of the budget, how much may be pinned for copies to devices; auto: half."},
    {"memory.eviction_min_idle", CUZK_CFG_DURATION, AT(eviction_min_idle), 0, DAYS, "5m", 0,
     "Has no effect: when memory is needed the key that is idle longest goes, however short that "
     "is."},
    {"memory.winning_reserve", CUZK_CFG_BYTES, AT(winning_host), 0, TIB, "512MiB", 0,
     "Of the budget, kept free for WinningPoSt."},
    {"memory.winning_reserve_device", CUZK_CFG_BYTES, AT(winning_device), 0, TIB, "0", 0,
     "Of each device's memory, kept free for WinningPoSt."},
    {"memory.pinned_budget", CUZK_CFG_TEXT, AT(deprecated[OLD_PINNED]), 0, 0, "", CUZK_CFG_IGNORED,
     "Of older engines: pinned_max."},
    {"memory.working_memory_budget", CUZK_CFG_TEXT, AT(deprecated[OLD_WORKING]), 0, 0, "",
     CUZK_CFG_IGNORED, "Of older engines: total_budget counts everything."},
    {"gpus.devices", CUZK_CFG_LIST, AT(devices), 0, 0, "", 0,
     "Devices by UUID, number (0, cuda:0) or cpu; empty: every GPU, or the CPU where there is "
     "none."},
    {"gpus.reserve", CUZK_CFG_LIST, AT(reserve), 0, 0, "", 0,
     "Devices kept for one kind of job, winning_post=cuda:0; kinds: porep_c2, snap_update, "
     "window_post, winning_post, circom."},
    {"gpus.gpu_threads", CUZK_CFG_NUMBER, AT(gpu_threads), 0, 4096, "0", 0,
     "Host threads of each device's worker; 0: by cores."},
    {"gpus.gpu_workers_per_device", CUZK_CFG_NUMBER, AT(gpu_workers), 1, 8, "2", 0,
     "Partitions on a device at a time: one computes while the others are staged."},
    {"gpus.memory_max", CUZK_CFG_BYTES, AT(device_memory), 0, 64 * TIB, "0", 0,
     "Most memory to use on each device; 0: all of it. A key that does not fit is streamed from "
     "pinned host memory, as much as its bases take (see cuzk plan)."},
    {"gpus.quarantine_after", CUZK_CFG_NUMBER, AT(quarantine_after), 0, 1000, "3", 0,
     "Faults of different jobs after which a device is set aside; 0: never."},
    {"gpus.quarantine", CUZK_CFG_DURATION, AT(quarantine_ns), 0, 30 * DAYS, "10m", 0,
     "For so long; 0: until it is restored by hand."},
    {"gpus.hang_timeout", CUZK_CFG_DURATION, AT(hang_ns), 0, DAYS, "30m", 0,
     "A device call that takes longer ends the device's worker process; 0: never."},
    {"gpus.worker_path", CUZK_CFG_TEXT, AT(worker_path), TEXT_OF(worker_path), "", 0,
     "The program cuzk-worker; empty: beside cuzkd."},
    {"scheduler.max_jobs", CUZK_CFG_NUMBER, AT(max_jobs), 1, 100000, "1000", 0,
     "Jobs accepted and not ended; more are refused with a time to come back."},
    {"scheduler.finishers", CUZK_CFG_NUMBER, AT(finishers), 1, 64, "2", 0,
     "Results that are finished on the host at a time."},
    {"scheduler.verifiers", CUZK_CFG_NUMBER, AT(verifiers), 1, 64, "2", 0,
     "Partitions that are verified at a time."},
    {"scheduler.max_batch_size", CUZK_CFG_TEXT, AT(deprecated[OLD_BATCH]), 0, 0, "",
     CUZK_CFG_IGNORED, "Of older engines: partitions of all jobs interleave without batches."},
    {"scheduler.max_batch_wait_ms", CUZK_CFG_TEXT, AT(deprecated[OLD_BATCH_WAIT]), 0, 0, "",
     CUZK_CFG_IGNORED, "Of older engines: nothing waits for a batch."},
    {"scheduler.sort_by_type", CUZK_CFG_TEXT, AT(deprecated[OLD_SORT]), 0, 0, "", CUZK_CFG_IGNORED,
     "Of older engines: order is by priority, deadline and submission."},
    {"synthesis.threads", CUZK_CFG_NUMBER, AT(witness_threads), 0, 4096, "0", 0,
     "Threads that make witnesses, all workers together; 0: one per core."},
    {"synthesis.workers", CUZK_CFG_NUMBER, AT(witness_workers), 0, 256, "0", 0,
     "Witnesses that are made at a time; 0: by cores and memory, at most "
     "pipeline.max_parallel_synthesis."},
    {"synthesis.partition_workers", CUZK_CFG_TEXT, AT(deprecated[OLD_PARTITION_WORKERS]), 0, 0, "",
     CUZK_CFG_IGNORED, "Of older engines: workers."},
    {"pipeline.max_parallel_synthesis", CUZK_CFG_NUMBER, AT(max_witnesses), 1, 256, "18", 0,
     "Most witness workers when their number is automatic."},
    {"pipeline.max_gpu_queue_depth", CUZK_CFG_NUMBER, AT(max_ready), 0, 256, "0", 0,
     "Witnesses that may wait for a device beside the one that each worker may hold; 0: two a "
     "device."},
    {"pipeline.enabled", CUZK_CFG_TEXT, AT(deprecated[OLD_ENABLED]), 0, 0, "", CUZK_CFG_IGNORED,
     "Of older engines: it always is."},
    {"pipeline.synthesis_lookahead", CUZK_CFG_TEXT, AT(deprecated[OLD_LOOKAHEAD]), 0, 0, "",
     CUZK_CFG_IGNORED, "Of older engines: max_gpu_queue_depth."},
    {"pipeline.synthesis_concurrency", CUZK_CFG_TEXT, AT(deprecated[OLD_CONCURRENCY]), 0, 0, "",
     CUZK_CFG_IGNORED, "Of older engines: synthesis.workers."},
    {"pipeline.slot_size", CUZK_CFG_TEXT, AT(deprecated[OLD_SLOT_SIZE]), 0, 0, "", CUZK_CFG_IGNORED,
     "Of older engines: a partition is the unit of work."},
    {"srs.param_cache", CUZK_CFG_TEXT, AT(param_cache), TEXT_OF(param_cache), "", 0,
     "Directory of Filecoin's parameter files; empty: FIL_PROOFS_PARAMETER_CACHE, then "
     "/var/tmp/filecoin-proof-parameters."},
    {"srs.preload", CUZK_CFG_LIST, AT(preload), 0, 0, "", 0,
     "Keys loaded at the start and never evicted, such as winning-32g and porep-32g."},
    {"srs.allow_insecure_keys", CUZK_CFG_BOOL, AT(allow_insecure), 0, 0, "false", 0,
     "Take development keys; their maker can forge proofs."},
    {"srs.insecure_seed", CUZK_CFG_TEXT, AT(insecure_seed), TEXT_OF(insecure_seed), "", 0,
     "For development: Filecoin's keys are made on the GPUs from this seed (hexadecimal), no file "
     "is read, and the proofs are worth nothing. Wants allow_insecure_keys."},
    {"circom.zkey_dir", CUZK_CFG_TEXT, AT(zkey_dir), TEXT_OF(zkey_dir), "", 0,
     "Directory of circom keys: NAME.zkey is the key NAME; empty: none."},
    {"jobs.retention", CUZK_CFG_DURATION, AT(retention_ns), 0, 3650 * DAYS, "24h", 0,
     "Ended jobs and their proofs are kept so long; 0: for ever."},
    {"jobs.retention_count", CUZK_CFG_NUMBER, AT(retention_count), 0, 100000000, "10000", 0,
     "And no more of them than this, oldest first; 0: no limit."},
    {"jobs.spool_max", CUZK_CFG_BYTES, AT(spool_max), 0, 1024 * TIB, "0", 0,
     "Most disk space for payloads and proofs; 0: no limit."},
    {"limits.max_message", CUZK_CFG_BYTES, AT(max_message), UINT64_C(1) << 16, UINT64_C(1) << 31,
     "256MiB", 0, "Longest gRPC message."},
    {"limits.request_memory", CUZK_CFG_BYTES, AT(request_memory), UINT64_C(1) << 20, TIB, "1GiB", 0,
     "Requests being received, of all clients together."},
    {"limits.max_connections", CUZK_CFG_NUMBER, AT(max_connections), 1, 1000000, "4096", 0,
     "gRPC connections at a time."},
    {"limits.max_http_connections", CUZK_CFG_NUMBER, AT(max_http_connections), 1, 100000, "1024", 0,
     "HTTP connections at a time."},
    {"limits.drain_grace", CUZK_CFG_DURATION, AT(drain_grace_ns), 0, SECONDS(3600), "5s",
     CUZK_CFG_RELOAD, "How long open calls may still be answered when the daemon ends."},
    {"logging.level", CUZK_CFG_TEXT, AT(level), TEXT_OF(level), "info", CUZK_CFG_RELOAD,
     "error, warn, info, debug or trace."},
    {"logging.format", CUZK_CFG_TEXT, AT(format), TEXT_OF(format), "auto", CUZK_CFG_RELOAD,
     "text, json, or auto: text, in systemd's form where its journal reads."},
    {"timeline.events", CUZK_CFG_NUMBER, AT(timeline_events), 1024, 1 << 24, "65536", 0,
     "Events kept for the timeline, 64 bytes each."},
};

const cuzk_cfg_table cuzkd_table = {entries, sizeof entries / sizeof *entries, "CUZK_"};

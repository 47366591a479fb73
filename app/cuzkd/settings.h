/* The daemon's settings: one table, from which the file, the command line, the environment, the
 * example and the documentation come. */
#ifndef CUZK_CUZKD_SETTINGS_H
#define CUZK_CUZKD_SETTINGS_H

#include "base/cfgtab.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/shell/engine.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CUZKD_PATH = 256,      /* bytes of a path, its NUL included */
    CUZKD_ADDRESSES = 512, /* of a list of addresses */
    CUZKD_DEPRECATED = 12,
};

typedef struct cuzkd_settings {
    /* daemon */
    char listen[CUZKD_ADDRESSES], status_listen[CUZKD_ADDRESSES];
    char state_dir[CUZKD_PATH], socket_mode[8], stop[16];
    uint64_t stop_timeout_ns;
    /* tls, auth */
    char tls_cert[CUZKD_PATH], tls_key[CUZKD_PATH], tls_client_ca[CUZKD_PATH],
        token_file[CUZKD_PATH];
    /* memory */
    uint64_t total_budget, safety_margin, pinned_max, eviction_min_idle, winning_host,
        winning_device;
    /* gpus */
    cuzk_cfg_list devices, reserve;
    uint64_t gpu_threads, gpu_workers, device_memory, quarantine_after, quarantine_ns, hang_ns;
    char worker_path[CUZKD_PATH];
    /* scheduler, synthesis, pipeline */
    uint64_t max_jobs, finishers, verifiers, witness_workers, witness_threads, max_witnesses,
        max_ready;
    /* srs, circom */
    char param_cache[CUZKD_PATH], zkey_dir[CUZKD_PATH];
    cuzk_cfg_list preload;
    bool allow_insecure;
    char insecure_seed[132]; /* hexadecimal; empty: none */
    /* jobs */
    uint64_t retention_ns, retention_count, spool_max;
    /* limits */
    uint64_t max_message, request_memory, max_connections, max_http_connections, drain_grace_ns;
    /* logging, timeline */
    char level[8], format[8];
    uint64_t timeline_events;

    bool deprecated[CUZKD_DEPRECATED]; /* was given */
} cuzkd_settings;

extern const cuzk_cfg_table cuzkd_table;

/* Defaults, then the file (NULL: none), the environment, then assignments of the command line, and
 * a check of the whole. Settings may be half read on an error, which names file and line. */
cuzk_status cuzkd_settings_read(cuzkd_settings *s, const char *file, char *(*get)(const char *name),
                                const char *const *assignments, size_t n,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* What the table cannot say: words out of a list, addresses, what goes together. */
cuzk_status cuzkd_settings_check(const cuzkd_settings *s, cuzk_err *err) CUZK_MUST_CHECK;

/* Calls put(ctx, path) for each setting that differs and may not change while the program runs. */
void cuzkd_settings_frozen(const cuzkd_settings *before, const cuzkd_settings *after,
                           void (*put)(void *ctx, const char *path), void *ctx);
/* The same for those of older engines that were given and do nothing, with the reason. */
void cuzkd_settings_deprecated(const cuzkd_settings *s,
                               void (*put)(void *ctx, const char *path, const char *why),
                               void *ctx);

/* Takes over what may change while the program runs. */
void cuzkd_settings_take(cuzkd_settings *s, const cuzkd_settings *fresh);

/* Logging as set; AUTO formats: systemd's where its journal reads. */
void cuzkd_settings_log(const cuzkd_settings *s);

/* The host's budget: memory.total_budget, or when that is "auto" what cuzk_hostmem_limit allows
 * less memory.safety_margin, or less a quarter where the margin is more than that. why: for the
 * log. */
cuzk_status cuzkd_settings_memory(const cuzkd_settings *s, const char *root, uint64_t *bytes,
                                  char *why, size_t why_room, cuzk_err *err) CUZK_MUST_CHECK;

/* One entry of gpus.reserve: "winning_post=cuda:0". */
cuzk_status cuzkd_reserve_parse(const char *text, cuzk_engine_kind *kind, const char **device,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* Splits "a, b" into items; calls put for each. Stops at the first that is not OK. */
cuzk_status cuzkd_each_address(const char *list,
                               cuzk_status (*put)(void *ctx, const char *address, cuzk_err *err),
                               void *ctx, cuzk_err *err) CUZK_MUST_CHECK;

/* The engine's configuration, but for devices and memory. Zeros are worked out: witness workers
 * from the cores, waiting witnesses from n_devices. preload points into s. */
void cuzkd_settings_engine(const cuzkd_settings *s, uint32_t n_devices, cuzk_engine_config *out,
                           const char *preload[CUZK_CFG_LIST_ITEMS]);

#endif

#include "settings.h"

#include "devices.h"

#include "base/cpu.h"
#include "base/file.h"
#include "base/hostmem.h"
#include "net/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BAD(err, ...) cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, __VA_ARGS__)

/* ---- reading ---- */

static cuzk_status read_file(cuzkd_settings *s, const char *file, cuzk_err *err) {
    cuzk_map map;
    CUZK_TRY(cuzk_map_file(&map, file, err));
    const cuzk_status st = cuzk_cfg_read(&cuzkd_table, s, (const char *)map.data, map.len, err);
    cuzk_map_close(&map);
    return st == CUZK_OK ? CUZK_OK : cuzk_err_prefix(err, st, "%s", file);
}

cuzk_status cuzkd_settings_read(cuzkd_settings *s, const char *file, char *(*get)(const char *name),
                                const char *const *assignments, size_t n, cuzk_err *err) {
    CUZK_TRY(cuzk_cfg_defaults(&cuzkd_table, s, err));
    if (file) CUZK_TRY(read_file(s, file, err));
    CUZK_TRY(cuzk_cfg_env(&cuzkd_table, s, get, err));
    for (size_t i = 0; i < n; i++) {
        const cuzk_status st = cuzk_cfg_set(&cuzkd_table, s, assignments[i], err);
        if (st != CUZK_OK) return cuzk_err_prefix(err, st, "--set %s", assignments[i]);
    }
    return cuzkd_settings_check(s, err);
}

/* ---- what the table cannot say ---- */

static cuzk_status one_of(const char *path, const char *value, const char *const *words,
                          cuzk_err *err) {
    char list[80] = "";
    for (size_t i = 0; words[i]; i++) {
        const size_t n = strlen(list);
        if (strcmp(value, words[i]) == 0) return CUZK_OK;
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", words[i]);
    }
    return BAD(err, "%s is one of %s, not `%s`", path, list, value);
}

cuzk_status cuzkd_each_address(const char *list,
                               cuzk_status (*put)(void *ctx, const char *address, cuzk_err *err),
                               void *ctx, cuzk_err *err) {
    char address[CUZKD_ADDRESSES];
    while (*list) {
        size_t n = strcspn(list, ",");
        const char *next = list + n + (list[n] == ',');
        while (n && *list == ' ') {
            list++;
            n--;
        }
        while (n && list[n - 1] == ' ')
            n--;
        if (n == 0 || n >= sizeof address) return BAD(err, "an address is missing between commas");
        memcpy(address, list, n);
        address[n] = '\0';
        CUZK_TRY(put(ctx, address, err));
        list = next;
    }
    return CUZK_OK;
}

static cuzk_status check_address(void *ctx, const char *address, cuzk_err *err) {
    const cuzk_status st = cuzk_net_address_check(address, err);
    return st == CUZK_OK ? CUZK_OK : cuzk_err_prefix(err, st, "%s", (const char *)ctx);
}

static cuzk_status check_list(const char *path, const char *list, cuzk_err *err) {
    char name[32];
    snprintf(name, sizeof name, "%s", path);
    return cuzkd_each_address(list, check_address, name, err);
}

/* "0660"; 0 is none. */
static bool octal(const char *text, unsigned long *out) {
    char *end;
    *out = strtoul(text, &end, 8);
    return *text >= '0' && *text <= '7' && !*end && *out <= 0777;
}

cuzk_status cuzkd_reserve_parse(const char *text, cuzk_engine_kind *kind, const char **device,
                                cuzk_err *err) {
    static const char *const names[] = {
#define CUZK__KIND(name, word) word,
        CUZK_ENGINE_KINDS(CUZK__KIND)
#undef CUZK__KIND
    };
    const char *eq = strchr(text, '=');
    for (int k = 1; eq && eq[1] && k < CUZK_ENGINE_KIND_COUNT; k++) {
        const size_t n = (size_t)(eq - text);
        if (strlen(names[k]) != n || strncmp(text, names[k], n) != 0) continue;
        *kind = (cuzk_engine_kind)k;
        *device = eq + 1;
        return CUZK_OK;
    }
    return BAD(err,
               "gpus.reserve wants KIND=DEVICE, such as winning_post=cuda:0, not `%s`; kinds are "
               "porep_c2, snap_update, window_post, winning_post, circom",
               text);
}

static cuzk_status check_security(const cuzkd_settings *s, cuzk_err *err) {
    if (!*s->tls_cert != !*s->tls_key)
        return BAD(err, "tls.cert and tls.key go together: one of them is missing");
    if (*s->tls_client_ca && !*s->tls_cert)
        return BAD(err, "tls.client_ca wants tls.cert and tls.key as well");
    unsigned long mode;
    if (!octal(s->socket_mode, &mode))
        return BAD(err, "daemon.socket_mode wants a mode such as 0660, not `%s`", s->socket_mode);
    return CUZK_OK;
}

cuzk_status cuzkd_settings_check(const cuzkd_settings *s, cuzk_err *err) {
    static const char *const stops[] = {"checkpoint", "finish", NULL};
    static const char *const formats[] = {"auto", "text", "json", NULL};
    static const char *const levels[] = {"error", "warn", "info", "debug", "trace", NULL};
    CUZK_TRY(one_of("daemon.stop", s->stop, stops, err));
    CUZK_TRY(one_of("logging.format", s->format, formats, err));
    CUZK_TRY(one_of("logging.level", s->level, levels, err));
    if (!*s->listen) return BAD(err, "daemon.listen is empty: nobody could connect");
    if (!*s->state_dir) return BAD(err, "daemon.state_dir is empty: jobs need a place on disk");
    CUZK_TRY(check_list("daemon.listen", s->listen, err));
    CUZK_TRY(check_list("daemon.status_listen", s->status_listen, err));
    CUZK_TRY(check_security(s, err));
    CUZK_TRY(cuzkd_devices_check(&s->devices, err));
    for (uint32_t i = 0; i < s->reserve.n; i++) {
        cuzk_engine_kind kind;
        const char *device;
        CUZK_TRY(cuzkd_reserve_parse(s->reserve.items[i], &kind, &device, err));
    }
    if (*s->insecure_seed && !s->allow_insecure)
        return BAD(err, "srs.insecure_seed wants srs.allow_insecure_keys: its keys are "
                        "development keys");
    const size_t digits = strlen(s->insecure_seed);
    if (digits % 2 || digits > 128 || strspn(s->insecure_seed, "0123456789abcdefABCDEF") != digits)
        return BAD(err, "srs.insecure_seed wants an even number of hexadecimal digits, up to 128");
    if (s->request_memory < s->max_message)
        return BAD(err, "limits.request_memory is less than limits.max_message");
    return CUZK_OK;
}

/* ---- changes, and what is not used ---- */

void cuzkd_settings_frozen(const cuzkd_settings *before, const cuzkd_settings *after,
                           void (*put)(void *ctx, const char *path), void *ctx) {
    for (size_t i = 0; i < cuzkd_table.n; i++) {
        const cuzk_cfg_table one = {&cuzkd_table.entries[i], 1, cuzkd_table.env_prefix};
        const char *path = cuzk_cfg_frozen(&one, before, after);
        if (path) put(ctx, path);
    }
}

void cuzkd_settings_deprecated(const cuzkd_settings *s,
                               void (*put)(void *ctx, const char *path, const char *why),
                               void *ctx) {
    for (size_t i = 0; i < cuzkd_table.n; i++) {
        const cuzk_cfg_entry *e = &cuzkd_table.entries[i];
        if ((e->flags & CUZK_CFG_IGNORED) && *((const bool *)((const char *)s + e->place)))
            put(ctx, e->path, e->help);
    }
}

void cuzkd_settings_take(cuzkd_settings *s, const cuzkd_settings *fresh) {
    memcpy(s->stop, fresh->stop, sizeof s->stop);
    memcpy(s->level, fresh->level, sizeof s->level);
    memcpy(s->format, fresh->format, sizeof s->format);
    s->stop_timeout_ns = fresh->stop_timeout_ns;
    s->drain_grace_ns = fresh->drain_grace_ns;
}

/* ---- what the parts of the daemon get ---- */

/* systemd names the journal's stream; what we write to may be another file by now. */
static bool to_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    char ours[48];
    if (!stream || fstat(STDERR_FILENO, &st) != 0) return false;
    snprintf(ours, sizeof ours, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, ours) == 0;
}

void cuzkd_settings_log(const cuzkd_settings *s) {
    cuzk_log_level level = CUZK_LOG_INFO;
    cuzk_log_format format = CUZK_LOG_TEXT;
    (void)cuzk_log_level_parse(s->level, &level);
    if (strcmp(s->format, "json") == 0)
        format = CUZK_LOG_JSON;
    else if (strcmp(s->format, "auto") == 0 && to_journal())
        format = CUZK_LOG_JOURNAL;
    cuzk_log_setup(STDERR_FILENO, level, format);
}

cuzk_status cuzkd_settings_memory(const cuzkd_settings *s, const char *root, uint64_t *bytes,
                                  char *why, size_t why_room, cuzk_err *err) {
    uint64_t limit;
    char limit_why[CUZK_HOSTMEM_WHY], limit_text[CUZK_UNITS_TEXT], margin_text[CUZK_UNITS_TEXT];
    if (s->total_budget != CUZK_CFG_AUTO_VALUE) {
        *bytes = s->total_budget;
        snprintf(why, why_room, "memory.total_budget");
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_hostmem_limit(root, &limit, limit_why, err));
    const uint64_t margin = s->safety_margin < limit / 4 ? s->safety_margin : limit / 4;
    *bytes = limit - margin;
    cuzk_format_bytes(limit >> 20 << 20, limit_text);
    cuzk_format_bytes(margin >> 20 << 20, margin_text);
    snprintf(why, why_room, "%s by %s, less %s", limit_text, limit_why, margin_text);
    return CUZK_OK;
}

/* Memory bounds it too, job by job: the scheduler sees to that. */
static uint32_t witness_workers(const cuzkd_settings *s) {
    const uint64_t cores = cuzk_cpu_count();
    if (s->witness_workers) return (uint32_t)s->witness_workers;
    return (uint32_t)(cores < s->max_witnesses ? cores : s->max_witnesses);
}

void cuzkd_settings_engine(const cuzkd_settings *s, uint32_t n_devices, cuzk_engine_config *out,
                           const char *preload[CUZK_CFG_LIST_ITEMS]) {
    out->state_dir = s->state_dir;
    out->witness_workers = witness_workers(s);
    out->max_ready = s->max_ready ? (uint32_t)s->max_ready : 2 * n_devices;
    out->workers_per_device = (uint32_t)s->gpu_workers;
    out->finishers = (uint32_t)s->finishers;
    out->verifiers = (uint32_t)s->verifiers;
    out->max_jobs = (uint32_t)s->max_jobs;
    out->reserved_host = s->winning_host;
    out->reserved_device = s->winning_device;
    out->quarantine_after = (uint32_t)s->quarantine_after;
    out->quarantine_ns = (int64_t)s->quarantine_ns;
    out->hang_ns = (int64_t)s->hang_ns;
    out->eviction_idle_ns = (int64_t)s->eviction_min_idle;
    out->spool_bytes = s->spool_max;
    out->retention_ns = (int64_t)s->retention_ns;
    out->retention_jobs = (uint32_t)s->retention_count;
    out->trace_events = (uint32_t)s->timeline_events;
    for (uint32_t i = 0; i < s->preload.n; i++)
        preload[i] = s->preload.items[i];
    out->preload = preload;
    out->n_preload = s->preload.n;
}

/* DESIGN. The main thread waits for signals and feeds the service manager's watchdog; a second one
 * runs the net loop; a third, while the daemon ends, waits for the engine to drain. Everything else
 * runs on the threads of engine and rpc.
 *
 *   serving -> (signal) draining -> closing -> end
 *
 * Draining refuses new jobs and waits for what runs, by daemon.stop. Clients are answered all the
 * while. Closing gives open calls limits.drain_grace. A second signal ends the process at once,
 * which is what kill -9 does: whatever was accepted is in the journal. */
#include "daemon.h"

#include "listen.h"
#include "providers.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/notify.h"
#include "rpc/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG(level, ...) cuzk_log(CUZK_LOG_##level, "daemon", NULL, __VA_ARGS__)

typedef struct daemon_state {
    cuzkd_settings *settings;
    const cuzkd_options *options;
    int signals, wake;
    cuzkd_providers providers;
    cuzk_engine *engine;
    cuzk_engine_watch *watch;
    cuzk_net_loop *loop;
    cuzkd_listeners listeners;
    pthread_t loop_thread, drain_thread;
    bool loop_runs, draining, failed;
    atomic_bool drained, closed;
    cuzk_err drain_err;
    cuzk_status drain_status;
    _Atomic int64_t loop_seen_ns; /* when the loop last answered */
} daemon_state;

/* ---- small things ---- */

static void wake(daemon_state *d) {
    const uint64_t one = 1;
    while (write(d->wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

static void tell_manager(const char *state) {
    cuzk_err err = {0};
    if (cuzk_notify(state, &err) != CUZK_OK) LOG(WARN, "%s", err.msg);
}

static void note_deprecated(void *ctx, const char *path, const char *why) {
    (void)ctx;
    LOG(WARN, "%s is not used any more. %s", path, why);
}

static void note_unknown(void *ctx, const char *name, const char *meant) {
    (void)ctx;
    LOG(WARN, "%s in the environment is no setting%s%s%s", name, meant ? "; did you mean " : "",
        meant ? meant : "", meant ? "?" : "");
}

/* It may be mounted later: no error. */
static void note_directory(const char *setting, const char *path) {
    struct stat st;
    if (*path && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        LOG(WARN, "%s: there is no directory %s: no key is found there", setting, path);
}

/* Ends of jobs, in the log. On an engine thread. */
static void job_changed(void *ctx, const cuzk_engine_job *job) {
    static const char *const kinds[] = {
#define CUZK__KIND(name, text) text,
        CUZK_ENGINE_KINDS(CUZK__KIND)
#undef CUZK__KIND
    };
    (void)ctx;
    if (job->state == CUZK_ENGINE_QUEUED || job->state == CUZK_ENGINE_RUNNING) return;
    if (job->state == CUZK_ENGINE_DONE)
        cuzk_log(CUZK_LOG_INFO, "engine", job->id, "%s %s done in %" PRIu64 " ms", kinds[job->kind],
                 job->key, job->times.total);
    else
        cuzk_log(job->state == CUZK_ENGINE_CANCELLED ? CUZK_LOG_INFO : CUZK_LOG_WARN, "engine",
                 job->id, "%s %s %s%s%s", kinds[job->kind], job->key,
                 cuzk_engine_state_name(job->state), *job->message ? ": " : "", job->message);
}

/* ---- start ---- */

/* Connections are limited by what the shell or the service manager allows; its soft limit is for
 * programs that use select(), and this one does not. */
static void raise_descriptors(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) LOG(WARN, "descriptors: %s", strerror(errno));
}

static cuzk_status open_signals(daemon_state *d, cuzk_err *err) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->signals >= 0 && d->wake >= 0) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO, "no descriptors for signals: %s", strerror(errno));
}

/* Which kinds of jobs each device takes: one that is reserved takes its own alone. */
static cuzk_status reserve_devices(daemon_state *d, cuzk_engine_config *c, cuzk_err *err) {
    const cuzk_cfg_list *list = &d->settings->reserve;
    const uint32_t n = d->providers.ops.devices->count(d->providers.ops.devices_self);
    for (uint32_t i = 0; i < n && i < CUZK_ENGINE_MAX_DEVICES; i++)
        c->device_memory[i] = d->settings->device_memory;
    for (uint32_t i = 0; i < list->n; i++) {
        cuzk_engine_kind kind;
        const char *word;
        uint32_t device;
        CUZK_TRY(cuzkd_reserve_parse(list->items[i], &kind, &word, err));
        CUZK_TRY(cuzkd_providers_find(&d->providers, d->settings, word, &device, err));
        c->device_kinds[device] |= 1u << kind;
    }
    return CUZK_OK;
}

static cuzk_status open_engine(daemon_state *d, cuzk_err *err) {
    const cuzkd_settings *s = d->settings;
    const char *preload[CUZK_CFG_LIST_ITEMS];
    char why[CUZKD_ADDRESSES];
    cuzk_engine_config c;
    cuzk_engine_config_init(&c);
    cuzkd_settings_engine(s, d->providers.ops.devices->count(d->providers.ops.devices_self), &c,
                          preload);
    CUZK_TRY(cuzkd_settings_memory(s, "/", &c.host_memory, why, sizeof why, err));
    c.pinned_memory = s->pinned_max == CUZK_CFG_AUTO_VALUE || s->pinned_max > c.host_memory
                          ? c.host_memory / 2
                          : s->pinned_max;
    c.recover = d->options->recover;
    if (c.reserved_host > c.host_memory / 4) c.reserved_host = c.host_memory / 4;
    CUZK_TRY(reserve_devices(d, &c, err));
    LOG(INFO, "memory: %.1f GiB (%s)", (double)c.host_memory / (double)(1 << 30), why);
    CUZK_TRY(cuzk_engine_open(&d->engine, &c, &d->providers.ops, err));
    return cuzk_engine_watch_new(d->engine, "", job_changed, NULL, &d->watch, err);
}

static void *run_loop(void *arg) {
    daemon_state *d = arg;
    cuzk_err err = {0};
    if (cuzk_net_loop_run(d->loop, &err) != CUZK_OK) LOG(ERROR, "%s", err.msg);
    return NULL;
}

static cuzk_status start_loop(daemon_state *d, cuzk_err *err) {
    if (pthread_create(&d->loop_thread, NULL, run_loop, d) != 0)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot start a thread");
    d->loop_runs = true;
    return CUZK_OK;
}

static cuzk_status start(daemon_state *d, cuzk_err *err) {
    CUZK_TRY(open_signals(d, err));
    cuzkd_settings_deprecated(d->settings, note_deprecated, NULL);
    cuzk_cfg_env_unknown(&cuzkd_table, environ, note_unknown, NULL);
    if (!d->options->mock) {
        note_directory("srs.param_cache", d->settings->param_cache);
        note_directory("circom.zkey_dir", d->settings->zkey_dir);
    }
    CUZK_TRY(cuzkd_providers_open(&d->providers, d->settings, d->options->mock, err));
    cuzk_log(d->options->mock ? CUZK_LOG_WARN : CUZK_LOG_INFO, "daemon", NULL, "%s",
             d->providers.what);
    if (*d->settings->insecure_seed)
        LOG(WARN, "srs.insecure_seed: every Filecoin key is made from a seed that stands in the "
                  "settings. PROOFS MADE HERE ARE WORTH NOTHING outside this test");
    CUZK_TRY(open_engine(d, err));
    CUZK_TRY(cuzk_net_loop_new(&d->loop, err));
    CUZK_TRY(
        cuzkd_listen(&d->listeners, d->settings, d->engine, d->loop, d->options->version, err));
    return start_loop(d, err);
}

/* ---- reload ---- */

static void note_frozen(void *ctx, const char *path) {
    (void)ctx;
    LOG(WARN, "%s has changed: it will count from the next start", path);
}

static void reload(daemon_state *d) {
    char state[96];
    cuzkd_settings *fresh;
    cuzk_err err = {0};
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, cuzk_now_ns() / 1000);
    tell_manager(state);
    cuzk_status st = cuzk_alloc((void **)&fresh, 1, sizeof *fresh);
    if (st == CUZK_OK)
        st = cuzkd_settings_read(fresh, d->options->file, getenv, d->options->set,
                                 d->options->n_set, &err);
    if (st != CUZK_OK) {
        LOG(ERROR, "settings stay as they are: %s", *err.msg ? err.msg : cuzk_status_text(st));
    } else {
        cuzkd_settings_frozen(d->settings, fresh, note_frozen, NULL);
        cuzkd_settings_deprecated(fresh, note_deprecated, NULL);
        cuzkd_settings_take(d->settings, fresh);
        cuzkd_settings_log(d->settings);
        LOG(INFO, "settings read again");
    }
    cuzk_free(fresh);
    if (cuzkd_listeners_reload(&d->listeners, &err) == CUZK_OK)
        LOG(INFO, "certificates and tokens read again");
    else
        LOG(ERROR, "certificates and tokens stay as they are: %s", err.msg);
    tell_manager("READY=1");
}

/* ---- end ---- */

static void *run_drain(void *arg) {
    daemon_state *d = arg;
    const bool checkpoint = strcmp(d->settings->stop, "checkpoint") == 0;
    d->drain_status = cuzk_engine_drain(d->engine, checkpoint,
                                        (int64_t)d->settings->stop_timeout_ns, &d->drain_err);
    atomic_store(&d->drained, true);
    wake(d);
    return NULL;
}

static void begin_drain(daemon_state *d, int signal) {
    char state[160];
    const uint64_t spare = d->settings->stop_timeout_ns + d->settings->drain_grace_ns;
    snprintf(state, sizeof state,
             "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=ending: %s what runs",
             spare / 1000 + 10000000, d->settings->stop);
    tell_manager(state);
    LOG(INFO, "%s: no new jobs; %s. Once more ends at once", strsignal(signal),
        strcmp(d->settings->stop, "finish") == 0 ? "all accepted ones are finished"
                                                 : "what runs ends with its partition");
    cuzk_rpc_set_ready(d->listeners.rpc, false);
    d->draining = true;
    if (pthread_create(&d->drain_thread, NULL, run_drain, d) != 0) run_drain(d);
}

static void all_closed(void *ctx) {
    daemon_state *d = ctx;
    atomic_store(&d->closed, true);
    wake(d);
}

static void begin_close(daemon_state *d) {
    if (d->drain_status == CUZK_OK)
        LOG(INFO, "drained");
    else
        LOG(WARN, "not drained in time (%s): what is left goes on at the next start",
            d->drain_err.msg);
    if (cuzk_rpc_drain(d->listeners.rpc, (int64_t)d->settings->drain_grace_ns, all_closed, d) !=
        CUZK_OK)
        all_closed(d);
}

/* In this order: rpc uses loop and engine, the engine its providers. */
static void close_all(daemon_state *d) {
    if (d->loop_runs) {
        cuzk_net_loop_stop(d->loop);
        pthread_join(d->loop_thread, NULL);
    }
    cuzkd_listeners_close(&d->listeners);
    cuzk_net_loop_free(d->loop);
    cuzk_engine_unwatch(d->watch);
    cuzk_engine_close(d->engine);
    cuzkd_providers_close(&d->providers);
    if (d->signals >= 0) close(d->signals);
    if (d->wake >= 0) close(d->wake);
}

/* ---- serve ---- */

static void loop_answers(void *ctx) {
    daemon_state *d = ctx;
    atomic_store(&d->loop_seen_ns, cuzk_now_ns());
}

/* Fed only while the loop answers and the engine's state can be read: one that is stuck is
 * restarted by the manager. */
static void feed_watchdog(daemon_state *d, int64_t interval) {
    cuzk_engine_status *s = NULL;
    cuzk_err err = {0};
    char state[128];
    if (cuzk_now_ns() - atomic_load(&d->loop_seen_ns) > 2 * interval) return;
    if (cuzk_engine_snapshot(d->engine, &s, &err) != CUZK_OK) return;
    if (d->draining)
        snprintf(state, sizeof state, "WATCHDOG=1");
    else
        snprintf(state, sizeof state, "WATCHDOG=1\nSTATUS=%u jobs, %zu devices", s->sched.jobs,
                 s->n_devices);
    cuzk_free(s);
    tell_manager(state);
    if (cuzk_net_post(d->loop, loop_answers, d) != CUZK_OK) LOG(WARN, "not enough memory");
}

/* False: end the process at once. */
static bool take_signals(daemon_state *d) {
    struct signalfd_siginfo info;
    while (read(d->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP && !d->draining)
            reload(d);
        else if (info.ssi_signo == SIGHUP)
            LOG(INFO, "ending: settings stay as they are");
        else if (d->draining)
            return false;
        else
            begin_drain(d, (int)info.ssi_signo);
    }
    return true;
}

static void serve(daemon_state *d) {
    const int64_t interval = cuzk_notify_watchdog_ns() / 3;
    bool closing = false;
    loop_answers(d);
    while (!atomic_load(&d->closed)) {
        struct pollfd fds[] = {{.fd = d->signals, .events = POLLIN},
                               {.fd = d->wake, .events = POLLIN}};
        uint64_t ignored;
        if (interval) feed_watchdog(d, interval);
        if (poll(fds, 2, interval ? (int)(interval / 1000000) + 1 : -1) < 0 && errno != EINTR)
            return;
        if (!take_signals(d)) {
            LOG(WARN, "ending at once: accepted jobs go on at the next start");
            _exit(0);
        }
        if (read(d->wake, &ignored, sizeof ignored) < 0 && errno != EAGAIN && errno != EINTR)
            return;
        if (closing || !atomic_load(&d->drained)) continue;
        pthread_join(d->drain_thread, NULL);
        begin_close(d);
        closing = true;
    }
}

int cuzkd_run(cuzkd_settings *settings, const cuzkd_options *options) {
    daemon_state d = {.settings = settings, .options = options, .signals = -1, .wake = -1};
    cuzk_err err = {0};
    cuzkd_settings_log(settings);
    raise_descriptors();
    LOG(INFO, "cuzkd %s starts", options->version);
    const cuzk_status st = start(&d, &err);
    if (st == CUZK_OK) {
        cuzk_rpc_set_ready(d.listeners.rpc, true);
        tell_manager("READY=1\nSTATUS=serving");
        LOG(INFO, "ready");
        serve(&d);
    } else {
        char state[800];
        LOG(ERROR, "cannot start: %s", *err.msg ? err.msg : cuzk_status_text(st));
        snprintf(state, sizeof state, "STATUS=cannot start: %s", err.msg);
        tell_manager(state);
    }
    close_all(&d);
    if (st == CUZK_OK) LOG(INFO, "ended");
    return cuzk_status_exit_code(st);
}

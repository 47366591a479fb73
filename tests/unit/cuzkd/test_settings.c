/* The daemon's settings: files, environment, command line, checks, memory. */
#include "support.h"

#include "devices.h"
#include "settings.h"

#include <sys/stat.h>
#include <unistd.h>

static cuzkd_settings now, other;
static cuzk_err err;
static char path[512];

static char *no_environment(const char *name) {
    (void)name;
    return NULL;
}

static int defaults(void **state) {
    (void)state;
    memset(&err, 0, sizeof err);
    return cuzkd_settings_read(&now, NULL, no_environment, NULL, 0, &err) == CUZK_OK ? 0 : -1;
}

static cuzk_status with(const char *text) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    memset(&err, 0, sizeof err);
    return cuzkd_settings_read(&now, path, no_environment, NULL, 0, &err);
}

static int make_file(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/cuzkd-settings-XXXXXX", tmp ? tmp : "/tmp");
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static char *environment(const char *name) {
    static char memory[] = "2GiB", level[] = "warn";
    if (strcmp(name, "CUZK_MEMORY_TOTAL_BUDGET") == 0) return memory;
    if (strcmp(name, "CUZK_LOGGING_LEVEL") == 0) return level;
    return NULL;
}

static void the_later_source_wins(void **state) {
    (void)state;
    static const char *const sets[] = {"logging.level=debug", "gpus.devices=cpu"};
    if (with("[memory]\ntotal_budget = \"1GiB\"\n[logging]\nlevel = \"error\"\nformat = "
             "\"json\"\n") != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(now.total_budget, 1 << 30);
    if (cuzkd_settings_read(&now, path, environment, sets, 2, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(now.total_budget, UINT64_C(2) << 30); /* the environment, over the file */
    assert_string_equal(now.level, "debug");               /* --set, over both */
    assert_string_equal(now.format, "json");
    assert_int_equal(now.devices.n, 1);
    assert_string_equal(now.devices.items[0], "cpu");
}

/* A file as people have it: the spelling of every key of the engine that went before. */
static void a_file_of_the_older_engine_is_read(void **state) {
    (void)state;
    static const char text[] =
        "[daemon]\nlisten = \"0.0.0.0:9820\"\nstatus_listen = \"0.0.0.0:9821\"\n"
        "[memory]\ntotal_budget = \"auto\"\nsafety_margin = \"5GiB\"\neviction_min_idle = \"5m\"\n"
        "pinned_budget = \"100GiB\"\nworking_memory_budget = \"80GiB\"\n"
        "[gpus]\ndevices = []\ngpu_threads = 32\ngpu_workers_per_device = 2\n"
        "[scheduler]\nmax_batch_size = 1\nmax_batch_wait_ms = 10000\nsort_by_type = true\n"
        "[synthesis]\nthreads = 0\npartition_workers = 12\n"
        "[pipeline]\nenabled = true\nsynthesis_lookahead = 1\nsynthesis_concurrency = 1\n"
        "max_parallel_synthesis = 18\nslot_size = 0\nmax_gpu_queue_depth = 8\n"
        "[srs]\nparam_cache = \"/data/zk/params\"\npreload = [\"porep-32g\"]\n"
        "[logging]\nlevel = \"info\"\nformat = \"text\"\n";
    if (with(text) != CUZK_OK) fail_msg("%s", err.msg);
    assert_true(now.gpu_threads == 32 && now.max_witnesses == 18 && now.max_ready == 8);
    assert_string_equal(now.param_cache, "/data/zk/params");
    assert_string_equal(now.preload.items[0], "porep-32g");
    assert_string_equal(now.status_listen, "0.0.0.0:9821");
}

static char told[512];
static void tell(void *ctx, const char *name, const char *why) {
    (void)ctx;
    assert_true(strlen(why) > 10);
    const size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s;", name);
}

static void tell_path(void *ctx, const char *name) {
    tell(ctx, name, "not while the program runs");
}

static void what_does_nothing_is_told(void **state) {
    (void)state;
    told[0] = '\0';
    cuzkd_settings_deprecated(&now, tell, NULL);
    assert_string_equal(told, "");
    assert_int_equal(
        with("[memory]\npinned_budget = \"1GiB\"\n[synthesis]\npartition_workers = 4\n"), CUZK_OK);
    cuzkd_settings_deprecated(&now, tell, NULL);
    assert_string_equal(told, "memory.pinned_budget;synthesis.partition_workers;");
}

static void all_that_stays_is_named(void **state) {
    (void)state;
    other = now;
    told[0] = '\0';
    snprintf(other.level, sizeof other.level, "trace");
    other.stop_timeout_ns++;
    cuzkd_settings_frozen(&now, &other, tell_path, NULL);
    assert_string_equal(told, "");
    other.max_jobs++;
    snprintf(other.listen, sizeof other.listen, ":1");
    cuzkd_settings_frozen(&now, &other, tell_path, NULL);
    assert_string_equal(told, "daemon.listen;scheduler.max_jobs;");
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[daemon]\nstop = \"now\"\n", "daemon.stop is one of checkpoint, finish, not `now`"},
        {"[daemon]\nlisten = \"\"\n", "daemon.listen is empty"},
        {"[daemon]\nlisten = \"nowhere\"\n", "daemon.listen: "},
        {"[daemon]\nlisten = \":9820,,:9821\"\n", "an address is missing"},
        {"[daemon]\nstatus_listen = \"host:99999\"\n", "daemon.status_listen: "},
        {"[daemon]\nsocket_mode = \"rw\"\n", "daemon.socket_mode wants a mode"},
        {"[daemon]\nstate_dir = \"\"\n", "daemon.state_dir is empty"},
        {"[tls]\ncert = \"a.pem\"\n", "tls.cert and tls.key go together"},
        {"[tls]\nclient_ca = \"a.pem\"\n", "tls.client_ca wants tls.cert"},
        {"[logging]\nlevel = \"loud\"\n",
         "logging.level is one of error, warn, info, debug, trace"},
        {"[logging]\nformat = \"xml\"\n", "logging.format is one of auto, text, json"},
        {"[gpus]\ndevices = [\"cpu\", \"gpu0\"]\n", "gpus.devices: `gpu0` is no device"},
        {"[gpus]\ndevices = [\"0\", \"cuda:0\"]\n", "gpus.devices names cuda:0 twice"},
        {"[gpus]\nreserve = [\"winning=0\"]\n", "wants KIND=DEVICE"},
        {"[gpus]\nreserve = [\"winning_post=\"]\n", "wants KIND=DEVICE"},
        {"[limits]\nrequest_memory = \"1MiB\"\n", "limits.request_memory is less"},
        {"[srs]\ninsecure_seed = \"00\"\n", "srs.insecure_seed wants srs.allow_insecure_keys"},
        {"[srs]\nallow_insecure_keys = true\ninsecure_seed = \"0x\"\n",
         "srs.insecure_seed wants an even number of hexadecimal digits"},
        {"[gpu]\ndevices = []\n", "did you mean `gpus.devices`?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(with(rows[i].text), CUZK_STATUS_BAD_INPUT);
        if (!strstr(err.msg, rows[i].message)) fail_msg("%s: %s", rows[i].text, err.msg);
    }
    static const char *const set[] = {"memory.total=1"};
    assert_int_equal(cuzkd_settings_read(&now, NULL, no_environment, set, 1, &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "--set memory.total=1: unknown setting"));
    assert_int_equal(
        cuzkd_settings_read(&now, "/nowhere/cuzkd.toml", no_environment, NULL, 0, &err),
        CUZK_STATUS_IO);
    assert_int_equal(with("daemon.listen = 1\n"), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, path));
}

static cuzk_status collect(void *ctx, const char *address, cuzk_err *e) {
    (void)e;
    strncat(ctx, address, 100);
    strncat(ctx, ";", 2);
    return CUZK_OK;
}

static void addresses_are_separate(void **state) {
    (void)state;
    char list[256] = "";
    assert_int_equal(cuzkd_each_address("unix:///a b , :1,[::1]:2", collect, list, &err), CUZK_OK);
    assert_string_equal(list, "unix:///a b;:1;[::1]:2;");
}

static void devices_are_kept_for_a_kind(void **state) {
    (void)state;
    cuzk_engine_kind kind;
    const char *device;
    assert_int_equal(cuzkd_reserve_parse("porep_c2=GPU-8f6a", &kind, &device, &err), CUZK_OK);
    assert_int_equal(kind, CUZK_ENGINE_POREP);
    assert_string_equal(device, "GPU-8f6a");
    assert_int_equal(cuzkd_reserve_parse("unspecified=0", &kind, &device, &err),
                     CUZK_STATUS_BAD_INPUT);
}

/* "auto" with a margin that a small machine cannot give. */
static void the_budget_leaves_a_margin(void **state) {
    (void)state;
    char dir[600], file[700], why[400];
    uint64_t bytes;
    snprintf(dir, sizeof dir, "%s.d", path);
    snprintf(file, sizeof file, "%s/proc", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    snprintf(file, sizeof file, "%s/proc/meminfo", dir);
    for (int small = 0; small < 2; small++) {
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        fputs(small ? "MemTotal: 4194304 kB\n" : "MemTotal: 67108864 kB\n", out);
        fclose(out);
        assert_int_equal(cuzkd_settings_memory(&now, dir, &bytes, why, sizeof why, &err), CUZK_OK);
        assert_int_equal(bytes, small ? UINT64_C(3) << 30 : UINT64_C(59) << 30);
        assert_string_equal(why,
                            small ? "4GiB by MemTotal, less 1GiB" : "64GiB by MemTotal, less 5GiB");
    }
    now.total_budget = 12345678;
    assert_int_equal(cuzkd_settings_memory(&now, dir, &bytes, why, sizeof why, &err), CUZK_OK);
    assert_int_equal(bytes, 12345678);
    unlink(file);
    snprintf(file, sizeof file, "%s/proc", dir);
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Exactly what the table says may change is taken over. */
static void a_reload_takes_what_may_change(void **state) {
    (void)state;
    static const char *const sets[] = {"daemon.stop=finish",    "daemon.stop_timeout=3s",
                                       "limits.drain_grace=9s", "logging.level=trace",
                                       "logging.format=json",   "scheduler.max_jobs=3"};
    size_t may = 0;
    for (size_t i = 0; i < cuzkd_table.n; i++)
        may += (cuzkd_table.entries[i].flags & CUZK_CFG_RELOAD) != 0;
    assert_int_equal(may, sizeof sets / sizeof *sets - 1);
    if (cuzkd_settings_read(&other, NULL, no_environment, sets, may + 1, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    cuzkd_settings_take(&now, &other);
    assert_string_equal(now.stop, "finish");
    assert_string_equal(now.level, "trace");
    assert_string_equal(now.format, "json");
    assert_true(now.stop_timeout_ns == UINT64_C(3000000000) && now.max_jobs == 1000);
    assert_true(now.drain_grace_ns == UINT64_C(9000000000));
}

/* What an operator writes reaches the engine. */
static void the_engine_is_told(void **state) {
    (void)state;
    const char *preload[CUZK_CFG_LIST_ITEMS];
    cuzk_engine_config c = {0};
    if (with("[gpus]\ngpu_workers_per_device = 3\nquarantine = \"1m\"\nquarantine_after = 5\n"
             "hang_timeout = \"2m\"\n[scheduler]\nmax_jobs = 7\nfinishers = 4\nverifiers = 5\n"
             "[jobs]\nretention = \"1h\"\nretention_count = 9\nspool_max = \"1GiB\"\n"
             "[memory]\neviction_min_idle = \"3s\"\nwinning_reserve = \"64MiB\"\n"
             "[srs]\npreload = [\"a\", \"b\"]\n[timeline]\nevents = 2048\n"
             "[synthesis]\nworkers = 6\n[pipeline]\nmax_gpu_queue_depth = 11\n") != CUZK_OK)
        fail_msg("%s", err.msg);
    cuzkd_settings_engine(&now, 3, &c, preload);
    assert_string_equal(c.state_dir, "/var/lib/cuzk");
    assert_true(c.workers_per_device == 3 && c.max_jobs == 7 && c.finishers == 4);
    assert_true(c.verifiers == 5 && c.quarantine_after == 5 && c.retention_jobs == 9);
    assert_true(c.quarantine_ns == INT64_C(60000000000) && c.hang_ns == INT64_C(120000000000));
    assert_true(c.retention_ns == INT64_C(3600000000000) && c.spool_bytes == 1 << 30);
    assert_true(c.eviction_idle_ns == INT64_C(3000000000) && c.reserved_host == 64 << 20);
    assert_true(c.n_preload == 2 && c.trace_events == 2048);
    assert_string_equal(c.preload[1], "b");
    assert_true(c.witness_workers == 6 && c.max_ready == 11);
    if (with("[pipeline]\nmax_parallel_synthesis = 1\n") != CUZK_OK) fail_msg("%s", err.msg);
    cuzkd_settings_engine(&now, 3, &c, preload);
    assert_true(c.witness_workers == 1 && c.max_ready == 6);
    if (with("[pipeline]\nmax_parallel_synthesis = 256\n") != CUZK_OK) fail_msg("%s", err.msg);
    cuzkd_settings_engine(&now, 3, &c, preload);
    assert_true(c.witness_workers >= 1 && c.witness_workers <= 256);
}

/* ---- devices ---- */

static void put_gpu(const char *bus, const char *text) {
    char name[900];
    snprintf(name, sizeof name, "%s.p/driver/nvidia/gpus/%s", path, bus);
    for (char *p = name + strlen(path); *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        (void)mkdir(name, 0700);
        *p = '/';
    }
    (void)mkdir(name, 0700);
    strncat(name, "/information", sizeof name - strlen(name) - 1);
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void devices_are_found_and_named(void **state) {
    (void)state;
    char words[8][CUZKD_DEVICE_WORD], proc[600], command[700];
    cuzk_cfg_list list = {0};
    uint32_t n;
    snprintf(proc, sizeof proc, "%s.p", path);
    assert_int_equal(cuzkd_devices(&list, proc, true, words, 8, &n, &err), CUZK_OK);
    assert_int_equal(n, 1);
    assert_string_equal(words[0], "cpu");
    put_gpu("0000:41:00.0", "Model: X\nGPU UUID: \t GPU-bbb\n");
    put_gpu("0000:01:00.0", "Model: X\nGPU UUID:   GPU-aaa\nBus: 1\n");
    put_gpu("0000:02:00.0", "Model: X\n");
    assert_int_equal(cuzkd_devices(&list, proc, true, words, 8, &n, &err), CUZK_OK);
    assert_int_equal(n, 2);
    assert_string_equal(words[0], "cuda:GPU-aaa");
    assert_string_equal(words[1], "cuda:GPU-bbb");
    assert_int_equal(cuzkd_devices(&list, proc, false, words, 8, &n, &err), CUZK_OK);
    assert_string_equal(words[0], "cpu"); /* a program without CUDA */
    static const char *const given[] = {"1", "cuda:0", "GPU-ccc", "cpu"};
    static const char *const want[] = {"cuda:1", "cuda:0", "cuda:GPU-ccc", "cpu"};
    for (list.n = 0; list.n < 4; list.n++)
        snprintf(list.items[list.n], sizeof list.items[0], "%s", given[list.n]);
    assert_int_equal(cuzkd_devices(&list, proc, true, words, 8, &n, &err), CUZK_OK);
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(words[i], want[i]);
    snprintf(list.items[3], sizeof list.items[0], "0");
    assert_int_equal(cuzkd_devices(&list, proc, true, words, 8, &n, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "cuda:0 twice"));
    snprintf(list.items[3], sizeof list.items[0], "gpu0");
    assert_int_equal(cuzkd_devices(&list, proc, true, words, 8, &n, &err), CUZK_STATUS_BAD_INPUT);
    snprintf(command, sizeof command, "rm -r '%s'", proc);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_later_source_wins, defaults),
        cmocka_unit_test_setup(a_file_of_the_older_engine_is_read, defaults),
        cmocka_unit_test_setup(what_does_nothing_is_told, defaults),
        cmocka_unit_test_setup(all_that_stays_is_named, defaults),
        cmocka_unit_test_setup(what_is_wrong_is_said, defaults),
        cmocka_unit_test(addresses_are_separate),
        cmocka_unit_test(devices_are_kept_for_a_kind),
        cmocka_unit_test_setup(the_budget_leaves_a_margin, defaults),
        cmocka_unit_test_setup(a_reload_takes_what_may_change, defaults),
        cmocka_unit_test(devices_are_found_and_named),
        cmocka_unit_test_setup(the_engine_is_told, defaults),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}

/* TOML, units and tables of settings. The table is that of a proving daemon. */
#include "support.h"

#include "base/cfgtab.h"
#include "base/toml.h"

/* ---- units ---- */

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"64GiB", UINT64_C(64) << 30},
        {"64 GiB", UINT64_C(64) << 30},
        {"1.5KiB", 1536},
        {"0.1GB", 100000000},
        {"500MB", 500000000},
        {"2TiB", UINT64_C(2) << 40},
        {"18446744073709551615B", UINT64_MAX},
    };
    static const char *const bad[] = {"",      "GiB",    "64gib",          "64Gi",
                                      "-1",    "1.",     ".5GiB",          "1..5GiB",
                                      "1e3",   " 1",     "1 GiB ",         "18446744073709551616",
                                      "1.2.3", "64GiBx", "99999999999TiB", "0.0000001KB"};
    uint64_t v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!cuzk_parse_bytes(good[i].text, &v)) fail_msg("%s", good[i].text);
        assert_int_equal(v, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (cuzk_parse_bytes(bad[i], &v)) fail_msg("%s", bad[i]);
}

static void durations(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"10", UINT64_C(10000000000)},
                {"5m", UINT64_C(300000000000)},
                {"250ms", 250000000},
                {"1h30m", UINT64_C(5400000000000)},
                {"2.5s", UINT64_C(2500000000)},
                {"1m1s1ms", UINT64_C(61001000000)},
                {"0", 0},
                {"7us", 7000},
                {"0.5", 500000000}};
    static const char *const bad[] = {"", "m", "5x", "5 m", "1m1h", "1s1s", "-5m", "5m3", "1.m"};
    uint64_t v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!cuzk_parse_duration(good[i].text, &v)) fail_msg("%s", good[i].text);
        assert_int_equal(v, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (cuzk_parse_duration(bad[i], &v)) fail_msg("%s", bad[i]);
}

/* ---- TOML ---- */

static char seen[4096];

static void put_seen(const char *path, const cuzk_toml_value *v) {
    const size_t n = strlen(seen);
    char *at = seen + n;
    const size_t room = sizeof seen - n;
    switch (v->type) {
    case CUZK_TOML_STRING:
        snprintf(at, room, "%s=<%s>;", path, v->text);
        break;
    case CUZK_TOML_INT:
        snprintf(at, room, "%s=%lld;", path, (long long)v->integer);
        break;
    case CUZK_TOML_FLOAT:
        snprintf(at, room, "%s=%g;", path, v->real);
        break;
    case CUZK_TOML_BOOL:
        snprintf(at, room, "%s=%s;", path, v->boolean ? "yes" : "no");
        break;
    case CUZK_TOML_ARRAY:
        snprintf(at, room, "%s[%zu];", path, v->n);
        for (size_t i = 0; i < v->n; i++)
            put_seen("", &v->items[i]);
    }
}

static cuzk_status collect(void *ctx, const char *path, const cuzk_toml_value *v, cuzk_err *err) {
    (void)ctx;
    (void)err;
    put_seen(path, v);
    return CUZK_OK;
}

static void toml_is_read(void **state) {
    (void)state;
    static const char text[] = "# head\n"
                               "top = 1\r\n"
                               "\n"
                               "[a]  # comment\n"
                               "s = \"x\\t\\\"\\u00e9\\U0001F600 # no comment\"\n"
                               "l = 'C:\\temp'\n"
                               "[a.\"b c\"]\n"
                               "d.e = -7\n"
                               "h = 0xff\no = 0o17\nbin = 0b101\nu = 1_000_000\n"
                               "f = 2.5e-1\ne = 1e3\n"
                               "t = true\nn = false\n"
                               "list = [ 1, \"two\", # three comes\n  3.5,\n]\n"
                               "none = []\n"
                               "last = 'end'";
    seen[0] = '\0';
    cuzk_err err = {0};
    if (cuzk_toml_read(text, sizeof text - 1, collect, NULL, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_string_equal(seen, "top=1;a.s=<x\t\"\xc3\xa9\xf0\x9f\x98\x80 # no comment>;"
                              "a.l=<C:\\temp>;a.b c.d.e=-7;a.b c.h=255;a.b c.o=15;a.b c.bin=5;"
                              "a.b c.u=1000000;a.b c.f=0.25;a.b c.e=1000;a.b c.t=yes;a.b c.n=no;"
                              "a.b c.list[3];=1;=<two>;=3.5;a.b c.none[0];a.b c.last=<end>;");
}

static void bad_toml_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"a = 1\nb = \n", "line 2: a value is missing"},
        {"a = b\n", "line 1: `b` is no value"},
        {"a = 01\n", "`01` is no value"},
        {"a = 1__0\n", "is no value"},
        {"a = _1\n", "is no value"},
        {"a = 1.\n", "is no value"},
        {"a = .5\n", "is no value"},
        {"a = 0x\n", "is no value"},
        {"a = 0b2\n", "is no value"},
        {"a = +\n", "is no value"},
        {"a = inf\n", "is no value"},
        {"a = 9223372036854775808\n", "is no value"},
        {"a = 2026-01-01\n", "is no value"},
        {"a = \"x\n", "a string does not end on its line"},
        {"a = \"\\q\"\n", "an unknown escape"},
        {"a = \"\\u00g0\"\n", "four hexadecimal digits"},
        {"a = \"\\ud800\"\n", "no character"},
        {"a = \"\\u0000\"\n", "no character"},
        {"a = \"\"\"x\"\"\"\n", "several lines are not supported"},
        {"a = {b = 1}\n", "inline tables are not supported"},
        {"a = [[1]]\n", "arrays of arrays are not supported"},
        {"[[a]]\n", "arrays of tables"},
        {"[a\n", "wants a ]"},
        {"[]\n", "a name is missing"},
        {"[a] b\n", "something follows"},
        {"a = 1 b = 2\n", "something follows"},
        {"a 1\n", "`a` wants = and a value"},
        {"a. = 1\n", "a name is missing"},
        {"= 1\n", "a name is missing"},
        {"a = [1 2]\n", "an array wants , or ]"},
        {"a = [1,\n", "a value is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cuzk_err err = {0};
        seen[0] = '\0';
        assert_int_equal(cuzk_toml_read(rows[i].text, strlen(rows[i].text), collect, NULL, &err),
                         CUZK_STATUS_BAD_INPUT);
        if (!strstr(err.msg, rows[i].message)) fail_msg("%s: %s", rows[i].text, err.msg);
        if (strncmp(err.msg, "line ", 5) != 0) fail_msg("%s", err.msg);
    }
    cuzk_err err = {0};
    assert_int_equal(cuzk_toml_read("a = 1\0", 6, collect, NULL, &err), CUZK_STATUS_BAD_INPUT);
    char many[1200] = "a = [";
    for (int i = 0; i < 65; i++)
        strncat(many, "1,", sizeof many - strlen(many) - 1);
    strncat(many, "]\n", sizeof many - strlen(many) - 1);
    assert_int_equal(cuzk_toml_read(many, strlen(many), collect, NULL, &err),
                     CUZK_STATUS_BAD_INPUT);
    char longer[1200] = "a = \"";
    memset(longer + 5, 'x', 1100);
    strncat(longer, "\"\n", sizeof longer - strlen(longer) - 1);
    assert_int_equal(cuzk_toml_read(longer, strlen(longer), collect, NULL, &err),
                     CUZK_STATUS_BAD_INPUT);
}

/* ---- tables ---- */

typedef struct settings {
    char listen[108];
    uint64_t total_budget, safety_margin, idle, workers;
    bool enabled, pinned;
    cuzk_cfg_list devices;
} settings;

static const cuzk_cfg_entry entries[] = {
    {"daemon.listen", CUZK_CFG_TEXT, offsetof(settings, listen), 0, 107,
     "unix:///run/curio/cuzk.sock", 0, "Where clients connect."},
    {"memory.total_budget", CUZK_CFG_BYTES, offsetof(settings, total_budget), 1 << 20,
     UINT64_C(1) << 50, "auto", CUZK_CFG_AUTO, "Most memory the engine uses."},
    {"memory.safety_margin", CUZK_CFG_BYTES, offsetof(settings, safety_margin), 0,
     UINT64_C(1) << 50, "5GiB", CUZK_CFG_RELOAD, "Left to others when the budget is auto."},
    {"memory.eviction_min_idle", CUZK_CFG_DURATION, offsetof(settings, idle), 0,
     UINT64_C(86400000000000), "5m", CUZK_CFG_RELOAD, "A key used more recently stays."},
    {"memory.pinned_budget", CUZK_CFG_BYTES, offsetof(settings, pinned), 0, 0, "0",
     CUZK_CFG_IGNORED, "Of older engines."},
    {"gpus.devices", CUZK_CFG_LIST, offsetof(settings, devices), 0, 0, "", 0,
     "Devices by UUID or number; empty: all."},
    {"gpus.gpu_workers_per_device", CUZK_CFG_NUMBER, offsetof(settings, workers), 1, 8, "2", 0,
     "Partitions on a device at a time."},
    {"pipeline.enabled", CUZK_CFG_BOOL, offsetof(settings, enabled), 0, 0, "true", CUZK_CFG_RELOAD,
     "Overlap witnesses and kernels."},
};
static const cuzk_cfg_table table = {entries, sizeof entries / sizeof *entries, "CUZK_"};

static settings now;
static cuzk_err err;

static int defaults(void **state) {
    (void)state;
    memset(&now, 0, sizeof now);
    memset(&err, 0, sizeof err);
    return cuzk_cfg_defaults(&table, &now, &err) == CUZK_OK ? 0 : -1;
}

static cuzk_status read_text(const char *text) {
    return cuzk_cfg_read(&table, &now, text, strlen(text), &err);
}

static void a_file_over_defaults(void **state) {
    (void)state;
    assert_string_equal(now.listen, "unix:///run/curio/cuzk.sock");
    assert_true(now.total_budget == CUZK_CFG_AUTO_VALUE && now.workers == 2 && now.enabled);
    assert_int_equal(now.devices.n, 0);
    if (read_text("daemon.listen = \"0.0.0.0:9820\"\n[memory]\ntotal_budget = \"64GiB\"\n"
                  "safety_margin = 1048576\neviction_min_idle = 30\npinned_budget = \"x\"\n"
                  "[gpus]\ndevices = [0, \"GPU-8f6a\"]\ngpu_workers_per_device = 3\n"
                  "[pipeline]\nenabled = false\n") != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_string_equal(now.listen, "0.0.0.0:9820");
    assert_int_equal(now.total_budget, UINT64_C(64) << 30);
    assert_int_equal(now.safety_margin, 1048576);
    assert_int_equal(now.idle, UINT64_C(30000000000));
    assert_int_equal(now.devices.n, 2);
    assert_string_equal(now.devices.items[0], "0");
    assert_string_equal(now.devices.items[1], "GPU-8f6a");
    assert_true(now.workers == 3 && !now.enabled);
    assert_true(now.pinned);
    defaults(NULL);
    assert_false(now.pinned);
    assert_int_equal(cuzk_cfg_set(&table, &now, "memory.pinned_budget=whatever", &err), CUZK_OK);
    assert_true(now.pinned);
}

static void what_is_shown_reads_back(void **state) {
    (void)state;
    if (read_text("daemon.listen = \"unix:a\\\"b\"\n[memory]\ntotal_budget = \"1536KiB\"\n"
                  "eviction_min_idle = \"1h30m\"\n[gpus]\ndevices = [0, \"GPU-8f6a\"]\n") !=
        CUZK_OK)
        fail_msg("%s", err.msg);
    const settings before = now;
    cuzk_buf text = CUZK_BUF_INIT;
    cuzk_cfg_show(&text, &table, &now);
    assert_int_equal(cuzk_buf_status(&text), CUZK_OK);
    assert_non_null(strstr(text.data, "[memory]\ntotal_budget = \"1536KiB\"\n"));
    assert_non_null(strstr(text.data, "eviction_min_idle = \"90m\"\n"));
    memset(&now, 0, sizeof now);
    if (read_text(text.data) != CUZK_OK) fail_msg("%s: %s", err.msg, text.data);
    assert_string_equal(now.listen, before.listen);
    assert_memory_equal(&now.total_budget, &before.total_budget, 4 * sizeof(uint64_t));
    assert_memory_equal(&now.devices, &before.devices, sizeof now.devices);
    cuzk_buf_free(&text);
}

static void sizes_and_durations_are_written(void **state) {
    (void)state;
    static const struct {
        uint64_t v;
        const char *bytes, *time;
    } rows[] = {{0, "0", "0s"},
                {1, "1", "1ns"},
                {1024, "1KiB", "1024ns"},
                {UINT64_C(64) << 30, "64GiB", "68719476736ns"},
                {UINT64_C(5400000000000), "5273437500KiB", "90m"},
                {UINT64_C(7200000000000), "7031250000KiB", "2h"},
                {250000000, "250000000", "250ms"},
                {UINT64_MAX, "18446744073709551615", "18446744073709551615ns"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CUZK_UNITS_TEXT];
        uint64_t v;
        cuzk_format_bytes(rows[i].v, text);
        assert_string_equal(text, rows[i].bytes);
        assert_true(cuzk_parse_bytes(text, &v) && v == rows[i].v);
        cuzk_format_duration(rows[i].v, text);
        assert_string_equal(text, rows[i].time);
        assert_true(cuzk_parse_duration(text, &v) && v == rows[i].v);
    }
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[memory]\ntotal_budgt = \"1GiB\"\n",
         "line 2: unknown setting `memory.total_budgt`; did you mean `memory.total_budget`?"},
        {"[pipeline]\ngpu_workers_per_device = 2\n", "did you mean `gpus.gpu_workers_per_device`?"},
        {"[colours]\nsky = 1\n", "line 2: unknown setting `colours.sky`"},
        {"[memory]\ntotal_budget = \"64G\"\n",
         "line 2: memory.total_budget wants a size like \"64GiB\" or \"auto\", not `64G`"},
        {"memory.safety_margin = \"auto\"\n", "wants a size like \"64GiB\", not `auto`"},
        {"memory.total_budget = 5\n", "must be from 1048576 to"},
        {"memory.total_budget = -5\n", "may not be negative"},
        {"memory.total_budget = true\n", "wants a size like"},
        {"memory.eviction_min_idle = \"5 minutes\"\n", "wants a time like"},
        {"memory.eviction_min_idle = 99999999999999\n", "is too long"},
        {"gpus.gpu_workers_per_device = 9\n", "must be from 1 to 8"},
        {"gpus.gpu_workers_per_device = \"2\"\n", "wants a whole number"},
        {"gpus.devices = \"0\"\n", "wants a list"},
        {"gpus.devices = [true]\n", "wants texts or whole numbers"},
        {"gpus.devices = [\"\"]\n", "must have 1 to 63 characters"},
        {"pipeline.enabled = 1\n", "wants true or false"},
        {"pipeline.enabled = true\n[pipeline]\nenabled = true\n",
         "line 3: pipeline.enabled is given a second time"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        defaults(NULL);
        assert_int_equal(read_text(rows[i].text), CUZK_STATUS_BAD_INPUT);
        if (!strstr(err.msg, rows[i].message)) fail_msg("%s: %s", rows[i].text, err.msg);
        if (i == 2) assert_null(strstr(err.msg, "mean"));
    }
}

static char *environment(const char *name) {
    static char budget[] = "32GiB", devices[] = "0,1,GPU-2";
    if (strcmp(name, "CUZK_MEMORY_TOTAL_BUDGET") == 0) return budget;
    if (strcmp(name, "CUZK_GPUS_DEVICES") == 0) return devices;
    return NULL;
}

static char *bad_environment(const char *name) {
    static char no[] = "0";
    return strcmp(name, "CUZK_PIPELINE_ENABLED") == 0 ? no : NULL;
}

static void tell(void *ctx, const char *name, const char *meant) {
    char *out = ctx;
    const size_t n = strlen(out);
    snprintf(out + n, 512 - n, "%s>%s;", name, meant ? meant : "");
}

static void unknown_names_in_the_environment(void **state) {
    (void)state;
    static char words[][48] = {
        "PATH=/bin",
        "CUZK_GPUS_DEVICES=0",
        "CUZK_GPUS_DEVICE=0",
        "CUZK_ADDR=x",
        "CUZK_MEMORY_TOTAL_BUGDET=",
        "CUZK_MEMORY_=1",
        "CUZK_GPUSDEVICES=",
        "CUZK_PIPELINE_PORT=tcp://",
        "CUZK_=",
        "CUZK",
    };
    static char far[400] = "CUZK_GPUS_";
    memset(far + 10, 'X', sizeof far - 12);
    char *environment[sizeof words / sizeof *words + 2];
    char told[512] = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        environment[i] = words[i];
    environment[sizeof words / sizeof *words] = far;
    environment[sizeof words / sizeof *words + 1] = NULL;
    cuzk_cfg_env_unknown(&table, environment, tell, told);
    assert_string_equal(told, "CUZK_GPUS_DEVICE>CUZK_GPUS_DEVICES;"
                              "CUZK_MEMORY_TOTAL_BUGDET>CUZK_MEMORY_TOTAL_BUDGET;"
                              "CUZK_MEMORY_>;CUZK_PIPELINE_PORT>;");
}

static void command_line_and_environment(void **state) {
    (void)state;
    assert_int_equal(cuzk_cfg_env(&table, &now, environment, &err), CUZK_OK);
    assert_int_equal(now.total_budget, UINT64_C(32) << 30);
    assert_int_equal(now.devices.n, 3);
    assert_string_equal(now.devices.items[2], "GPU-2");
    assert_int_equal(cuzk_cfg_env(&table, &now, bad_environment, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "CUZK_PIPELINE_ENABLED: pipeline.enabled wants true or false"));
    assert_int_equal(cuzk_cfg_set(&table, &now, "memory.total_budget=1GiB", &err), CUZK_OK);
    assert_int_equal(now.total_budget, UINT64_C(1) << 30);
    assert_int_equal(cuzk_cfg_set(&table, &now, "memory.total=1GiB", &err), CUZK_STATUS_BAD_INPUT);
    assert_int_equal(cuzk_cfg_set(&table, &now, "memory.total_budget", &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_int_equal(cuzk_cfg_set(&table, &now, "gpus.devices=0,", &err), CUZK_STATUS_BAD_INPUT);
}

static void only_some_settings_change_while_running(void **state) {
    (void)state;
    settings after = now;
    assert_null(cuzk_cfg_frozen(&table, &now, &after));
    after.safety_margin = 7;
    after.enabled = false;
    assert_null(cuzk_cfg_frozen(&table, &now, &after));
    after.workers = 3;
    assert_string_equal(cuzk_cfg_frozen(&table, &now, &after), "gpus.gpu_workers_per_device");
}

static void the_example_is_the_default(void **state) {
    (void)state;
    cuzk_buf example = CUZK_BUF_INIT, doc = CUZK_BUF_INIT;
    const settings preset = now;
    memset(&now, 0xee, sizeof now);
    cuzk_cfg_example(&example, &table);
    assert_int_equal(cuzk_buf_status(&example), CUZK_OK);
    if (read_text(example.data) != CUZK_OK) fail_msg("%s", err.msg);
    assert_string_equal(now.listen, preset.listen);
    assert_memory_equal(&now.total_budget, &preset.total_budget, 4 * sizeof(uint64_t));
    assert_true(now.enabled && now.devices.n == 0);
    assert_non_null(strstr(example.data, "\n[memory]\n# Most memory the engine uses.\n"
                                         "total_budget = \"auto\"\n"));
    assert_null(strstr(example.data, "pinned_budget"));
    cuzk_cfg_markdown(&doc, &table);
    assert_non_null(strstr(doc.data, "| `memory.eviction_min_idle` | `\"5m\"` | "
                                     "`CUZK_MEMORY_EVICTION_MIN_IDLE` | A key used more recently "
                                     "stays. Read again on SIGHUP. |\n"));
    cuzk_buf_free(&example);
    cuzk_buf_free(&doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations),
        cmocka_unit_test(toml_is_read),
        cmocka_unit_test(bad_toml_is_refused),
        cmocka_unit_test_setup(a_file_over_defaults, defaults),
        cmocka_unit_test_setup(what_is_shown_reads_back, defaults),
        cmocka_unit_test(sizes_and_durations_are_written),
        cmocka_unit_test_setup(what_is_wrong_is_named, defaults),
        cmocka_unit_test_setup(command_line_and_environment, defaults),
        cmocka_unit_test(unknown_names_in_the_environment),
        cmocka_unit_test_setup(only_some_settings_change_while_running, defaults),
        cmocka_unit_test_setup(the_example_is_the_default, defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

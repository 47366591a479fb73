/* What a daemon needs of its surroundings: log, memory limit, service manager. */
#include "support.h"

#include "base/hostmem.h"
#include "base/log.h"
#include "base/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[512];

static int make_dir(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/cuzk-service-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

/* ---- memory ---- */

static void put(const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (char *p = path + strlen(dir) + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        if (mkdir(path, 0700) != 0) assert_int_equal(errno, EEXIST);
        *p = '/';
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static uint64_t limit_now(char why[CUZK_HOSTMEM_WHY]) {
    cuzk_err err = {0};
    uint64_t bytes = 0;
    if (cuzk_hostmem_limit(dir, &bytes, why, &err) != CUZK_OK) fail_msg("%s", err.msg);
    return bytes;
}

static void the_least_limit_counts(void **state) {
    (void)state;
    cuzk_err err = {0};
    uint64_t bytes;
    char why[CUZK_HOSTMEM_WHY];
    assert_int_equal(cuzk_hostmem_limit(dir, &bytes, why, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "memory.total_budget"));

    put("proc/meminfo", "MemTotal:       64000000 kB\nMemFree: 5 kB\n");
    assert_int_equal(limit_now(why), UINT64_C(65536000000));
    assert_string_equal(why, "MemTotal");

    /* version 2, nested: the group above is the tighter one */
    put("proc/self/cgroup", "0::/system.slice/cuzkd.service\n");
    put("sys/fs/cgroup/system.slice/cuzkd.service/memory.max", "max\n");
    assert_int_equal(limit_now(why), UINT64_C(65536000000));
    put("sys/fs/cgroup/system.slice/memory.max", "8589934592\n");
    assert_int_equal(limit_now(why), UINT64_C(8) << 30);
    assert_string_equal(why, "/sys/fs/cgroup/system.slice/memory.max");
    put("sys/fs/cgroup/system.slice/cuzkd.service/memory.high", "4294967296\n");
    assert_int_equal(limit_now(why), UINT64_C(4) << 30);

    /* version 1 in a container: the path of outside, the limit at the mount point */
    put("proc/self/cgroup",
        "12:cpu,cpuacct:/docker/a1\n5:hugetlb,memory:/docker/a1\n0::/docker/a1\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    assert_int_equal(limit_now(why), UINT64_C(2) << 30);
    put("sys/fs/cgroup/memory/docker/a1/memory.limit_in_bytes", "1073741824\n");
    assert_int_equal(limit_now(why), UINT64_C(1) << 30);

    /* in a name space of its own; no limit is a large number in version 1 */
    put("proc/self/cgroup", "4:memory:/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(limit_now(why), UINT64_C(65536000000));
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "3221225472\n");
    assert_int_equal(limit_now(why), UINT64_C(3) << 30);
}

static void this_machine_has_memory(void **state) {
    (void)state;
    cuzk_err err = {0};
    uint64_t bytes;
    char why[CUZK_HOSTMEM_WHY];
    assert_int_equal(cuzk_hostmem_limit("/", &bytes, why, &err), CUZK_OK);
    assert_true(bytes > 1 << 20);
}

/* ---- log ---- */

static char line[4096];

static const char *logged(cuzk_log_level level, cuzk_log_format format, cuzk_log_level at,
                          const char *job, const char *message) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    cuzk_log_setup(ends[1], level, format);
    cuzk_log(at, "engine", job, "%s", message);
    cuzk_log_setup(STDERR_FILENO, CUZK_LOG_INFO, CUZK_LOG_TEXT);
    close(ends[1]);
    const ssize_t n = read(ends[0], line, sizeof line - 1);
    assert_true(n >= 0);
    line[n] = '\0';
    close(ends[0]);
    return line;
}

static void lines_are_whole(void **state) {
    (void)state;
    assert_non_null(strstr(logged(CUZK_LOG_INFO, CUZK_LOG_TEXT, CUZK_LOG_WARN, "j-1", "a\nb"),
                           "Z warn  engine: a b (job j-1)\n"));
    assert_string_equal(logged(CUZK_LOG_INFO, CUZK_LOG_JOURNAL, CUZK_LOG_ERROR, NULL, "x"),
                        "<3>engine: x\n");
    assert_string_equal(logged(CUZK_LOG_INFO, CUZK_LOG_TEXT, CUZK_LOG_DEBUG, NULL, "x"), "");
    const char *json = logged(CUZK_LOG_TRACE, CUZK_LOG_JSON, CUZK_LOG_TRACE, "j-\"1", "say \"hi\"");
    assert_non_null(strstr(json, "\"level\":\"trace\",\"component\":\"engine\",\"job\":\"j-\\\"1\","
                                 "\"message\":\"say \\\"hi\\\"\"}\n"));
    assert_true(strncmp(json, "{\"time\":\"20", 10) == 0);
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_true(strlen(logged(CUZK_LOG_INFO, CUZK_LOG_TEXT, CUZK_LOG_INFO, NULL, longer)) < 2200);
    assert_int_equal(line[strlen(line) - 1], '\n');
}

static void what_comes_again_and_again_is_limited(void **state) {
    (void)state;
    static cuzk_log_limit limit;
    int ends[2], lines = 0;
    assert_int_equal(pipe(ends), 0);
    cuzk_log_setup(ends[1], CUZK_LOG_INFO, CUZK_LOG_JOURNAL);
    for (int i = 0; i < 100; i++)
        cuzk_log_limited(&limit, CUZK_LOG_WARN, "engine", "j-1", "again %d", i);
    cuzk_log_limited(&limit, CUZK_LOG_DEBUG, "engine", NULL, "not on");
    atomic_store(&limit.since_ns, 1); /* the minute is over */
    cuzk_log_limited(&limit, CUZK_LOG_WARN, "engine", NULL, "later");
    cuzk_log_limited(&limit, CUZK_LOG_WARN, "engine", NULL, "later");
    cuzk_log_setup(STDERR_FILENO, CUZK_LOG_INFO, CUZK_LOG_TEXT);
    close(ends[1]);
    const ssize_t n = read(ends[0], line, sizeof line - 1);
    assert_true(n > 0);
    line[n] = '\0';
    close(ends[0]);
    for (const char *p = line; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, 5 + 2);
    assert_non_null(strstr(line, "<4>engine: again 4 (job j-1)\n<4>engine: later (95 such lines "
                                 "before it were left out)\n<4>engine: later\n"));
}

static void a_reader_that_sleeps_holds_nobody_up(void **state) {
    (void)state;
    int ends[2];
    char fill[4096] = {0};
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], fill, sizeof fill) > 0)
        continue;
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
    const unsigned long before = cuzk_log_lost();
    cuzk_log_setup(ends[1], CUZK_LOG_INFO, CUZK_LOG_TEXT);
    cuzk_log(CUZK_LOG_INFO, "test", NULL, "nobody reads this");
    cuzk_log_setup(STDERR_FILENO, CUZK_LOG_INFO, CUZK_LOG_TEXT);
    assert_int_equal(cuzk_log_lost(), before + 1);
    close(ends[0]);
    close(ends[1]);
}

static void levels_have_names(void **state) {
    (void)state;
    cuzk_log_level level;
    assert_true(cuzk_log_level_parse("debug", &level));
    assert_int_equal(level, CUZK_LOG_DEBUG);
    assert_false(cuzk_log_level_parse("Debug", &level));
    assert_true(cuzk_log_on(CUZK_LOG_INFO));
    assert_false(cuzk_log_on(CUZK_LOG_DEBUG));
}

/* ---- notify ---- */

static void the_manager_is_told(void **state) {
    (void)state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    cuzk_err err = {0};
    char text[64];
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(cuzk_notify("READY=1", &err), CUZK_OK);
    snprintf(at.sun_path, sizeof at.sun_path, "%.90s/notify", dir);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    setenv("NOTIFY_SOCKET", at.sun_path, 1);
    assert_int_equal(cuzk_notify("READY=1\nSTATUS=proving", &err), CUZK_OK);
    const ssize_t n = recv(fd, text, sizeof text - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "READY=1\nSTATUS=proving");
    close(fd);
    assert_int_equal(cuzk_notify("READY=1", &err), CUZK_STATUS_IO);
    setenv("NOTIFY_SOCKET", "relative", 1);
    assert_int_equal(cuzk_notify("READY=1", &err), CUZK_STATUS_IO);
    unsetenv("NOTIFY_SOCKET");
}

static void the_watchdog_is_for_one_process(void **state) {
    (void)state;
    char pid[24];
    unsetenv("WATCHDOG_USEC");
    assert_int_equal(cuzk_notify_watchdog_ns(), 0);
    setenv("WATCHDOG_USEC", "30000000", 1);
    assert_int_equal(cuzk_notify_watchdog_ns(), INT64_C(30000000000));
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(cuzk_notify_watchdog_ns(), INT64_C(30000000000));
    setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(cuzk_notify_watchdog_ns(), 0);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_counts),
        cmocka_unit_test(this_machine_has_memory),
        cmocka_unit_test(lines_are_whole),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(what_comes_again_and_again_is_limited),
        cmocka_unit_test(a_reader_that_sleeps_holds_nobody_up),
        cmocka_unit_test(the_manager_is_told),
        cmocka_unit_test(the_watchdog_is_for_one_process),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

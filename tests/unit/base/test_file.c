#include "support.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/cuzk-test-file-XXXXXX";
static char path[64];

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(dir)) return -1;
    snprintf(path, sizeof path, "%s/f", dir);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(path);
    return rmdir(dir); /* fails when a temporary file was left behind */
}

static int entries(void) {
    DIR *d = opendir(dir);
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void expect_content(const char *want) {
    cuzk_map m;
    assert_int_equal(cuzk_map_file(&m, path, NULL), CUZK_OK);
    assert_int_equal(m.len, strlen(want));
    assert_non_null(m.data);
    assert_memory_equal(m.data, want, m.len);
    cuzk_map_close(&m);
}

static void writes_replace_whole_files(void **state) {
    (void)state;
    cuzk_err err = {0};
    assert_int_equal(cuzk_write_file(path, "first", 5, &err), CUZK_OK);
    expect_content("first");
    assert_int_equal(cuzk_write_file(path, "", 0, &err), CUZK_OK);
    expect_content("");
    cuzk_out o;
    assert_int_equal(cuzk_out_open(&o, path, &err), CUZK_OK);
    assert_int_equal(cuzk_out_write(&o, "abcdef", 6, &err), CUZK_OK);
    assert_int_equal(cuzk_out_pwrite(&o, 2, "XY", 2, &err), CUZK_OK);
    expect_content(""); /* nothing shows before the commit */
    assert_int_equal(cuzk_out_commit(&o, &err), CUZK_OK);
    expect_content("abXYef");
    struct stat sb;
    assert_int_equal(stat(path, &sb), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(sb.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(entries(), 1);
}

static void abort_leaves_the_old_file(void **state) {
    (void)state;
    cuzk_out o;
    assert_int_equal(cuzk_write_file(path, "old", 3, NULL), CUZK_OK);
    assert_int_equal(cuzk_out_open(&o, path, NULL), CUZK_OK);
    assert_int_equal(cuzk_out_write(&o, "new", 3, NULL), CUZK_OK);
    cuzk_out_abort(&o);
    cuzk_out_abort(&o);
    expect_content("old");
    assert_int_equal(entries(), 1);
}

static void a_full_disk_is_an_error(void **state) {
    (void)state;
    cuzk_err err = {0};
    assert_int_equal(cuzk_write_file(path, "old", 3, NULL), CUZK_OK);
    struct rlimit was, lim;
    getrlimit(RLIMIT_FSIZE, &was);
    lim = was;
    lim.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &lim);
    static char big[8192];
    cuzk_status st = cuzk_write_file(path, big, sizeof big, &err);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(st, CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, path));
    expect_content("old");
    assert_int_equal(entries(), 1);
    assert_int_equal(cuzk_write_file("/dev/full", "x", 1, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "/dev/full"));
    struct stat sb;
    assert_int_equal(stat("/dev/full", &sb), 0);
    assert_true(S_ISCHR(sb.st_mode));
}

static void devices_and_pipes_are_written_in_place(void **state) {
    (void)state;
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    char name[64], got[8] = {0};
    snprintf(name, sizeof name, "/dev/fd/%d", fd[1]);
    assert_int_equal(cuzk_write_file(name, "hello", 5, NULL), CUZK_OK);
    assert_int_equal(read(fd[0], got, sizeof got), 5);
    assert_string_equal(got, "hello");
    close(fd[0]);
    close(fd[1]);
}

static void unreadable_inputs_are_named(void **state) {
    (void)state;
    cuzk_map m;
    cuzk_err err = {0};
    assert_int_equal(cuzk_map_file(&m, "/nonexistent/x", &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "/nonexistent/x"));
    assert_int_equal(cuzk_map_file(&m, dir, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "not a regular file"));
    assert_int_equal(cuzk_write_file("/nonexistent/x", "x", 1, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "/nonexistent/x"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_replace_whole_files),
        cmocka_unit_test(abort_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(devices_and_pipes_are_written_in_place),
        cmocka_unit_test(unreadable_inputs_are_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

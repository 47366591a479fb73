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

/* /dev/stdout of a program whose output goes to a file: the link stays and the file is written
 * where it is open, behind what is there already. */
static void an_open_file_is_written_where_it_is_open(void **state) {
    (void)state;
    char link[80], to[80];
    snprintf(link, sizeof link, "%s/link", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd > 0);
    assert_int_equal(write(fd, "one ", 4), 4);
    snprintf(to, sizeof to, "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(to, link), 0);
    assert_int_equal(cuzk_write_file(link, "two", 3, NULL), CUZK_OK);
    assert_int_equal(cuzk_write_file(to, " three", 6, NULL), CUZK_OK);
    close(fd);
    expect_content("one two three");
    struct stat sb;
    assert_int_equal(lstat(link, &sb), 0);
    assert_true(S_ISLNK(sb.st_mode));
    assert_int_equal(entries(), 2);
    unlink(link);
}

static void links_are_followed(void **state) {
    (void)state;
    char link[80], second[80];
    snprintf(link, sizeof link, "%s/link", dir);
    snprintf(second, sizeof second, "%s/second", dir);
    unlink(path);
    assert_int_equal(symlink("f", link), 0); /* leads to nothing yet */
    assert_int_equal(symlink(link, second), 0);
    assert_true(cuzk_same_file(link, path) || access(path, F_OK) != 0);
    assert_int_equal(cuzk_write_file(second, "new", 3, NULL), CUZK_OK);
    expect_content("new");
    assert_int_equal(cuzk_write_file(link, "newer", 5, NULL), CUZK_OK);
    expect_content("newer");
    struct stat sb;
    assert_int_equal(lstat(link, &sb), 0);
    assert_true(S_ISLNK(sb.st_mode));
    assert_true(cuzk_same_file(second, path));
    unlink(link);
    assert_int_equal(symlink("link", link), 0); /* leads to itself */
    cuzk_err err = {0};
    assert_int_equal(cuzk_write_file(link, "x", 1, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "link"));
    unlink(link);
    unlink(second);
    assert_int_equal(entries(), 1);
}

static void a_replaced_file_keeps_its_mode(void **state) {
    (void)state;
    struct stat sb;
    assert_int_equal(cuzk_write_file(path, "old", 3, NULL), CUZK_OK);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(cuzk_write_file(path, "new", 3, NULL), CUZK_OK);
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_mode & 07777, 0600);
    if (geteuid() != 0) { /* root may write anything */
        assert_int_equal(chmod(path, 0400), 0);
        assert_int_equal(cuzk_write_file(path, "x", 1, NULL), CUZK_STATUS_IO);
        expect_content("new");
    }
}

static void names_may_be_as_long_as_the_system_allows(void **state) {
    (void)state;
    char longest[400];
    int n = snprintf(longest, sizeof longest, "%s/", dir);
    memset(longest + n, 'n', 255);
    longest[n + 255] = '\0';
    assert_int_equal(cuzk_write_file(longest, "x", 1, NULL), CUZK_OK);
    assert_int_equal(unlink(longest), 0);
    assert_int_equal(cuzk_write_file("", "x", 1, NULL), CUZK_STATUS_IO);
}

static void the_same_file_under_two_names(void **state) {
    (void)state;
    char other[80], twin[80];
    snprintf(other, sizeof other, "%s/other", dir);
    snprintf(twin, sizeof twin, "%s/../%s/f", dir, strrchr(dir, '/') + 1);
    unlink(path);
    assert_true(cuzk_same_file(path, twin)); /* none there yet */
    assert_false(cuzk_same_file(path, other));
    assert_int_equal(cuzk_write_file(path, "x", 1, NULL), CUZK_OK);
    assert_true(cuzk_same_file(path, twin));
    assert_false(cuzk_same_file(path, other));
    assert_int_equal(link(path, other), 0);
    assert_true(cuzk_same_file(path, other));
    unlink(other);
    assert_false(
        cuzk_same_file("/dev/null", "/dev/null")); /* nothing is lost by writing it twice */
    assert_false(cuzk_same_file("/nonexistent/a", "/nonexistent/b"));
}

static void messages_stay_one_line(void **state) {
    (void)state;
    cuzk_map m;
    cuzk_err err = {0};
    assert_int_equal(cuzk_map_file(&m, "/no\nsuch\x1b[31m\x7f", &err), CUZK_STATUS_IO);
    for (const char *p = err.msg; *p; p++)
        assert_true(*p >= ' ' && *p != 127);
    cuzk_err_prefix(&err, CUZK_STATUS_IO, "a\nb");
    assert_null(strchr(err.msg, '\n'));
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
        cmocka_unit_test(an_open_file_is_written_where_it_is_open),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(a_replaced_file_keeps_its_mode),
        cmocka_unit_test(names_may_be_as_long_as_the_system_allows),
        cmocka_unit_test(the_same_file_under_two_names),
        cmocka_unit_test(messages_stay_one_line),
        cmocka_unit_test(unreadable_inputs_are_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

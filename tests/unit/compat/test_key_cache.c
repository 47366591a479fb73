/* The cache of keys: what it keeps, what it notices, what it lets go. */
#include "support.h"

#include "api/pool.h"
#include "compat/key_cache.h"
#include "unit/api/vectors.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static cuzk_err err;
static char dir[] = "/tmp/cuzk-cache-XXXXXX";
static char key_path[64];

static const char *const ZKEYS[] = {ZKEY("bn128/mul3"), ZKEY("bn128/nopub"),
                                    ZKEY("bn128/poseidon2"), ZKEY("bls12381/mul3")};

static int make_dir(void **state) {
    (void)state;
    if (!mkdtemp(dir)) return 1;
    snprintf(key_path, sizeof key_path, "%s/key.zkey", dir);
    return 0;
}

static int remove_dir(void **state) {
    (void)state;
    unlink(key_path);
    return rmdir(dir);
}

static int empty(void **state) {
    (void)state;
    cuzk__key_cache_limit(8, (size_t)1 << 30);
    cuzk__key_cache_trim(0, 0);
    return 0;
}

static cuzk_key_cache_stats stats(void) {
    cuzk_key_cache_stats s;
    cuzk__key_cache_stats(&s);
    return s;
}

static cuzk_cached_key *by_file(const char *path) {
    cuzk_cached_key *k;
    if (cuzk__key_cache_file(&k, path, &err) != CUZK_OK) fail_msg("%s", err.msg);
    return k;
}

static cuzk_cached_key *by_buffer(bytes b) {
    cuzk_cached_key *k;
    if (cuzk__key_cache_buffer(&k, b.p, b.n, &err) != CUZK_OK) fail_msg("%s", err.msg);
    return k;
}

static unsigned wires(const cuzk_cached_key *k) {
    return cuzk__key_cache_key(k)->zkey->n_vars;
}

static void copy_key(const char *from) {
    bytes b = read_file(from);
    write_file(key_path, b.p, b.n);
    free_bytes(&b);
}

/* Is the file still mapped into this process? */
static bool is_mapped(const char *path) {
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, path) != NULL;
    fclose(maps);
    return found;
}

/* In a process of its own, before the environment has been read. */
static void bounds_that_are_none(void **state) {
    (void)state;
    static const char *const names[] = {"CUZK_KEY_CACHE_ENTRIES", "CUZK_KEY_CACHE_BYTES"};
    for (int i = 0; i < 2; i++) {
        int code;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            cuzk_cached_key *k;
            setenv(names[i], "many", 1);
            const cuzk_status st = cuzk__key_cache_file(&k, ZKEYS[0], &err);
            const bool named = strstr(err.msg, names[i]) && strstr(err.msg, "many");
            setenv(names[i], i ? "4GiB" : "3", 1);
            const cuzk_status good = cuzk__key_cache_file(&k, ZKEYS[0], &err);
            _exit(st == CUZK_STATUS_USAGE && named && good == CUZK_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    }
}

static void a_key_is_loaded_once(void **state) {
    (void)state;
    cuzk_key_cache_stats before = stats();
    bytes b = read_file(ZKEYS[0]);
    cuzk_cached_key *file = by_file(ZKEYS[0]), *buffer = by_buffer(b);
    assert_ptr_not_equal(file, buffer);
    cuzk__key_cache_release(file);
    cuzk__key_cache_release(buffer);
    /* Another buffer with the same bytes, another name of the same file. */
    bytes same = read_file(ZKEYS[0]);
    assert_ptr_equal(by_buffer(same), buffer);
    char name[600];
    snprintf(name, sizeof name, "%s//bn128/mul3/circuit_final.zkey", VECTORS);
    assert_ptr_equal(by_file(name), file);
    cuzk__key_cache_release(file);
    cuzk__key_cache_release(buffer);
    cuzk_key_cache_stats after = stats();
    assert_int_equal(after.loads - before.loads, 2);
    assert_int_equal(after.hits - before.hits, 2);
    assert_int_equal(after.entries, 2);
    assert_int_equal(after.bytes, b.n);
    /* One bit elsewhere is another key; this one is a broken one. */
    same.p[same.n / 2] ^= 1;
    cuzk_cached_key *broken;
    cuzk_status st = cuzk__key_cache_buffer(&broken, same.p, same.n, &err);
    if (st == CUZK_OK) cuzk__key_cache_release(broken);
    assert_int_equal(stats().loads - after.loads, 1);
    free_bytes(&b);
    free_bytes(&same);
}

static void failures_are_not_kept(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        cuzk_cached_key *k = (cuzk_cached_key *)&err;
        assert_int_equal(cuzk__key_cache_file(&k, MALFORMED("truncated.zkey"), &err),
                         CUZK_STATUS_BAD_INPUT);
        assert_null(k);
        assert_int_equal(cuzk__key_cache_file(&k, VECTORS "none.zkey", &err), CUZK_STATUS_IO);
        assert_int_equal(cuzk__key_cache_buffer(&k, "zkey", 4, &err), CUZK_STATUS_BAD_INPUT);
        assert_int_equal(stats().entries, 0);
    }
    /* What was missing may appear. */
    copy_key(ZKEYS[0]);
    cuzk__key_cache_release(by_file(key_path));
}

/* Replaced by rename, as it should be: found at once, and who holds the old key keeps it. */
static void a_replaced_file_is_noticed(void **state) {
    (void)state;
    char other[80];
    snprintf(other, sizeof other, "%s.new", key_path);
    copy_key(ZKEYS[0]);
    cuzk_cached_key *old = by_file(key_path);
    assert_int_equal(wires(old), 6);
    bytes b = read_file(ZKEYS[2]);
    write_file(other, b.p, b.n);
    assert_int_equal(rename(other, key_path), 0);
    cuzk_cached_key *new = by_file(key_path);
    assert_int_equal(wires(new), 243);
    assert_int_equal(wires(old), 6);
    assert_int_equal(stats().entries, 1);
    cuzk__key_cache_release(old);
    cuzk__key_cache_release(new);
    free_bytes(&b);
}

/* Written over in place with a file of the same size, and its times put back: only the content
 * tells. */
static void a_change_within_a_tick_is_noticed(void **state) {
    (void)state;
    bytes b = read_file(ZKEYS[2]);
    write_file(key_path, b.p, b.n);
    struct stat s;
    assert_int_equal(stat(key_path, &s), 0);
    cuzk_key_cache_stats before = stats();
    cuzk__key_cache_release(by_file(key_path));
    cuzk__key_cache_release(by_file(key_path));
    assert_int_equal(stats().loads - before.loads, 1);
    assert_int_equal(stats().hits - before.hits, 1);
    const cuzk_cached_key *k = by_file(key_path);
    const cuzk_zkey *zk = cuzk__key_cache_key(k)->zkey;
    size_t at = (size_t)(zk->h - zk->data) + zk->curve->g1.point_size;
    cuzk__key_cache_release((cuzk_cached_key *)(uintptr_t)k);
    memcpy(b.p + at, b.p + at + 64, 64); /* H[1] = H[2]: a key that checks, but another */
    FILE *f = fopen(key_path, "r+b");
    assert_non_null(f);
    assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
    fclose(f);
    struct timespec times[2] = {s.st_atim, s.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, key_path, times, 0), 0);
    cuzk__key_cache_release(by_file(key_path));
    assert_int_equal(stats().loads - before.loads, 2);
    assert_int_equal(stats().entries, 1);
    free_bytes(&b);
}

static void the_bounds_hold(void **state) {
    (void)state;
    cuzk__key_cache_limit(2, (size_t)1 << 30);
    for (int i = 0; i < 4; i++)
        cuzk__key_cache_release(by_file(ZKEYS[i]));
    assert_int_equal(stats().entries, 2);
    /* The one used longest ago goes: 2 is used again, so that 3 has to. */
    cuzk_key_cache_stats before = stats();
    cuzk__key_cache_release(by_file(ZKEYS[2]));
    assert_int_equal(stats().hits - before.hits, 1);
    cuzk__key_cache_release(by_file(ZKEYS[0]));
    cuzk__key_cache_release(by_file(ZKEYS[2]));
    assert_int_equal(stats().hits - before.hits, 2);
    cuzk__key_cache_release(by_file(ZKEYS[3]));
    assert_int_equal(stats().loads - before.loads, 2);

    /* Bytes of copies; a key in use stays whatever the bound, and goes with its user. */
    cuzk__key_cache_trim(0, 0);
    bytes small = read_file(ZKEYS[0]), large = read_file(ZKEYS[2]);
    cuzk__key_cache_limit(8, large.n);
    cuzk__key_cache_release(by_buffer(small));
    cuzk__key_cache_release(by_buffer(large));
    assert_int_equal(stats().bytes, large.n);
    cuzk__key_cache_limit(8, large.n - 1);
    assert_int_equal(stats().bytes, 0);
    cuzk_cached_key *pinned = by_buffer(large);
    cuzk__key_cache_release(by_buffer(small));
    cuzk__key_cache_trim(0, 0);
    assert_int_equal(stats().bytes, large.n);
    assert_int_equal(wires(pinned), 243);
    cuzk__key_cache_release(pinned);
    assert_int_equal(stats().entries, 0);
    /* Nothing at all is kept with bounds of 0. */
    cuzk__key_cache_limit(0, 0);
    cuzk__key_cache_release(by_file(ZKEYS[0]));
    assert_int_equal(stats().entries, 0);
    free_bytes(&small);
    free_bytes(&large);
}

static unsigned long threads(void) {
    struct stat task;
    assert_int_equal(stat("/proc/self/task", &task), 0);
    return task.st_nlink;
}

static void memory_and_threads_are_given_back(void **state) {
    (void)state;
    unsigned long before = threads();
    copy_key(ZKEYS[2]);
    cuzk_cached_key *k = by_file(key_path);
    assert_true(is_mapped(key_path));
    cuzk__key_cache_trim(0, 0);
    assert_true(is_mapped(key_path));
    cuzk__key_cache_release(k);
    assert_true(is_mapped(key_path));
    cuzk__key_cache_trim(0, 0);
    assert_false(is_mapped(key_path));
    /* The threads were the cache's alone. */
    assert_int_equal(threads(), before);
}

typedef struct {
    cuzk_cached_key *key;
    const char *path;
} getter;

static void *get(void *arg) {
    getter *g = arg;
    cuzk_err e = {0};
    if (cuzk__key_cache_file(&g->key, g->path, &e) != CUZK_OK) g->key = NULL;
    return NULL;
}

/* Of many that want one key at once a single one loads it, and when it is bad all hear so. */
static void one_loads_and_the_others_wait(void **state) {
    (void)state;
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    getter g[THREADS];
    cuzk_key_cache_stats before = stats();
    for (int i = 0; i < THREADS; i++) {
        g[i] = (getter){.path = i % 4 == 3 ? MALFORMED("pointA_off_curve.zkey")
                                           : ZKEY("bn128/semaphore20")};
        assert_int_equal(pthread_create(&thread[i], NULL, get, &g[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (i % 4 == 3) {
            assert_null(g[i].key);
            continue;
        }
        assert_non_null(g[i].key);
        assert_ptr_equal(g[i].key, g[0].key);
        cuzk__key_cache_release(g[i].key);
    }
    assert_int_equal(stats().loads - before.loads, 1 + 2);
    assert_int_equal(stats().entries, 1);
    cuzk__key_cache_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_that_are_none), /* first: it forks */
        cmocka_unit_test_setup(a_key_is_loaded_once, empty),
        cmocka_unit_test_setup(failures_are_not_kept, empty),
        cmocka_unit_test_setup(a_replaced_file_is_noticed, empty),
        cmocka_unit_test_setup(a_change_within_a_tick_is_noticed, empty),
        cmocka_unit_test_setup(the_bounds_hold, empty),
        cmocka_unit_test_setup(memory_and_threads_are_given_back, empty),
        cmocka_unit_test_setup_teardown(one_loads_and_the_others_wait, empty, empty),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

/* The published names and digests (parameters.tsv), and what is remembered about files. */
#include "support.h"

#include "base/mem.h"
#include "filecoin/params.h"
#include "keys/files.h"

#include <sys/stat.h>
#include <unistd.h>

static const cuzk_circuit *circuit_of_stem(const char *stem, cuzk_params_name *name) {
    const cuzk_circuit *c, *found = NULL;
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++) {
        cuzk_params_name n;
        assert_int_equal(cuzk_filecoin_params_name(&n, c), CUZK_OK);
        if (strcmp(n.stem, stem) != 0) continue;
        assert_null(found); /* no two circuits share a file */
        found = c;
        *name = n;
    }
    return found;
}

static void published_names(void **state) {
    char line[512], stem[256], params[64], vk[64];
    unsigned long long size;
    size_t rows = 0;
    (void)state;
    FILE *f = fopen(CUZK_TEST_VECTORS "/porep/parameters.tsv", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        cuzk_params_name n;
        if (line[0] == '#') continue;
        assert_int_equal(sscanf(line, "%255s %llu %63s %63s", stem, &size, params, vk), 4);
        assert_non_null(circuit_of_stem(stem, &n));
        assert_int_equal(n.sector_size, size);
        assert_string_equal(n.params_digest, params);
        assert_string_equal(n.vk_digest, vk);
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 22);
    /* and no other circuit claims a published digest */
    const cuzk_circuit *c;
    size_t with_digest = 0;
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++) {
        cuzk_params_name n;
        assert_int_equal(cuzk_filecoin_params_name(&n, c), CUZK_OK);
        with_digest += n.params_digest != NULL;
    }
    assert_int_equal(with_digest, 22);
}

/* ---- the cache ---- */

static char dir[] = "/tmp/cuzk_keys_XXXXXX";

static int enter(void **state) {
    (void)state;
    return mkdtemp(dir) && setenv("XDG_CACHE_HOME", dir, 1) == 0 ? 0 : 1;
}

static int leave(void **state) {
    char path[256];
    static const char *const names[] = {"/a", "/b", "/cuzk/files", "/cuzk", ""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s%s", dir, names[i]);
        remove(path);
    }
    return 0;
}

static cuzk_map mapped(const char *name, const char *text) {
    char path[256];
    cuzk_map m;
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (text) assert_int_equal(cuzk_write_file(path, text, strlen(text), &err), CUZK_OK);
    assert_int_equal(cuzk_map_file(&m, path, &err), CUZK_OK);
    return m;
}

static void facts_belong_to_a_version(void **state) {
    cuzk__facts facts;
    cuzk_err err = {0};
    (void)state;
    cuzk_map a = mapped("a", "abc"), b = mapped("b", "abd");
    cuzk__facts_get(&facts, &a);
    assert_int_equal(facts.digest[0], 0);
    assert_int_equal(cuzk__file_digest(&facts, &a, "a", NULL, &err), CUZK_OK);
    /* BLAKE2b-512 of "abc", RFC 7693 */
    assert_string_equal(facts.digest, "ba80a53f981c4d0d6a2797b69f12f6e9");
    assert_false(facts.points_good);
    facts.points_good = true;
    cuzk__facts_put(&facts, &a);
    assert_int_equal(cuzk__file_digest(&facts, &b, "b", NULL, &err), CUZK_OK);
    assert_false(facts.points_good);
    cuzk__facts_get(&facts, &a);
    assert_string_equal(facts.digest, "ba80a53f981c4d0d6a2797b69f12f6e9");
    assert_true(facts.points_good);
    cuzk_map_close(&a);
    cuzk_map_close(&b);
    /* another file under the name, of the same size */
    a = mapped("a", "abd");
    cuzk__facts_get(&facts, &a);
    assert_int_equal(facts.digest[0], 0);
    cuzk_map_close(&a);
    /* a cache of rubbish is as good as none */
    char path[256];
    snprintf(path, sizeof path, "%s/cuzk/files", dir);
    assert_int_equal(cuzk_write_file(path, "\n1 2 3\nxx yy\n", 13, &err), CUZK_OK);
    b = mapped("b", NULL);
    cuzk__facts_get(&facts, &b);
    assert_int_equal(facts.digest[0], 0);
    cuzk_map_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_names),
        cmocka_unit_test_setup_teardown(facts_belong_to_a_version, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Parents, replica_id and challenges against the numbers in the reference implementation's vanilla
 * proofs (tests/vectors/porep/nodes.tsv, made from the C1 vectors), and the primitives against
 * their RFCs. */
#include "support.h"

#include "filecoin/blake2b.h"
#include "filecoin/chacha.h"
#include "filecoin/challenges.h"
#include "filecoin/graph.h"

#include "base/hash.h"

static void unhex(uint8_t *out, size_t n, const char *s) {
    assert_int_equal(strlen(s), 2 * n);
    for (size_t i = 0; i < n; i++) {
        unsigned v;
        assert_int_equal(sscanf(s + 2 * i, "%2x", &v), 1);
        out[i] = (uint8_t)v;
    }
}

static void test_blake2b(void **state) {
    (void)state;
    uint8_t msg[300], want[64], got[64];
    for (size_t i = 0; i < sizeof msg; i++)
        msg[i] = (uint8_t)(7 * i + 1);
    const size_t lengths[] = {0, 1, 16, 127, 128, 129, 255, 256, 257, 300};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(cuzk_hash_once(CUZK_HASH_BLAKE2B_512, msg, lengths[i], want), CUZK_OK);
        cuzk_blake2b(got, 64, NULL, 0, msg, lengths[i]);
        assert_memory_equal(got, want, 64);
    }
    assert_int_equal(cuzk_hash_once(CUZK_HASH_BLAKE2B_512,
                                    "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16, want),
                     CUZK_OK);
    uint64_t first = 0;
    for (int i = 0; i < 8; i++)
        first = first << 8 | want[i];
    assert_true(first == cuzk_blake2b_pair(0x0102030405060708, 0x090a0b0c0d0e0f10));
    /* keyed, of the reference code's self test list: key 00..3f, messages "" and 00 */
    uint8_t key[64];
    for (int i = 0; i < 64; i++)
        key[i] = (uint8_t)i;
    cuzk_blake2b(got, 64, key, 64, "", 0);
    unhex(want, 64,
          "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
          "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568");
    assert_memory_equal(got, want, 64);
    cuzk_blake2b(got, 64, key, 64, "", 1);
    unhex(want, 64,
          "961f6dd1e4dd30f63901690c512e78e4b45e4742ed197c3c5e45c549fd25f2e4"
          "187b0bc9fe30492b16b0d0bc4ef9b0f34c7003fac09a5ef1532e69430234cebd");
    assert_memory_equal(got, want, 64);
}

/* RFC 8439, 2.3.2. */
static void test_chacha(void **state) {
    (void)state;
    uint8_t key[32], want[64];
    uint32_t out[16];
    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)i;
    cuzk_chacha_block(out, key, (const uint32_t[4]){1, 0x09000000, 0x4a000000, 0}, 20);
    unhex(want, 64,
          "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
          "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
    assert_memory_equal(out, want, 64);
}

struct line {
    char *field[32];
    int n;
};

static void split(struct line *l, char *text) {
    l->n = 0;
    for (char *p = text; p && l->n < 32;) {
        l->field[l->n++] = p;
        p = strchr(p, '\t');
        if (p) *p++ = 0;
    }
    char *end = strchr(l->field[l->n - 1], '\n');
    if (end) *end = 0;
}

static uint64_t number(const struct line *l, int i) {
    assert_true(i < l->n);
    return strtoull(l->field[i], NULL, 10);
}

static void check_line(const struct line *l) {
    assert_int_equal(l->n, 28);
    uint8_t porep_id[32] = {(uint8_t)number(l, 4)}, prover[32], v[5][32], id[32];
    for (int i = 0; i < 5; i++) /* comm_d, comm_r, replica_id, seed, ticket */
        unhex(v[i], 32, l->field[7 + i]);
    cuzk_prover_id(prover, number(l, 5));
    assert_int_equal(cuzk_replica_id(id, prover, number(l, 6), v[4], v[0], porep_id), CUZK_OK);
    assert_memory_equal(id, v[2], 32);

    const uint32_t log2_nodes = (uint32_t)number(l, 3);
    const cuzk_porep_rule rule = l->field[1][0] == 'i'   ? CUZK_POREP_INTERACTIVE
                                 : l->field[1][0] == 's' ? CUZK_POREP_SYNTHETIC
                                                         : CUZK_POREP_NON_INTERACTIVE;
    uint64_t c;
    assert_int_equal(
        cuzk_porep_challenges(&c, (uint32_t)number(l, 12), 1, rule, log2_nodes, v[2], v[1], v[3]),
        CUZK_OK);
    assert_int_equal(c, number(l, 13));

    cuzk_graph g;
    uint32_t parents[CUZK_GRAPH_PARENTS];
    assert_int_equal(cuzk_graph_init(&g, log2_nodes, porep_id,
                                     l->field[2][3] == '1' ? CUZK_API_V1_1 : CUZK_API_V1_2),
                     CUZK_OK);
    cuzk_graph_parents(&g, (uint32_t)c, parents);
    for (int i = 0; i < CUZK_GRAPH_PARENTS; i++)
        assert_int_equal(parents[i], number(l, 14 + i));
}

static void test_vectors(void **state) {
    (void)state;
    char text[2048];
    int n = 0;
    FILE *f = fopen(CUZK_TEST_VECTORS "/porep/nodes.tsv", "r");
    assert_non_null(f);
    while (fgets(text, sizeof text, f)) {
        struct line l;
        if (text[0] == '#') continue;
        split(&l, text);
        check_line(&l);
        n++;
    }
    fclose(f);
    assert_true(n > 40);
}

/* The oldest rules take the same numbers in another order, and cut the expander's edge to 32 bits
 * before they divide. */
static void test_oldest_version(void **state) {
    (void)state;
    const uint8_t porep_id[32] = {8};
    cuzk_graph now, old;
    assert_int_equal(cuzk_graph_init(&now, 30, porep_id, CUZK_API_V1_1), CUZK_OK);
    assert_int_equal(cuzk_graph_init(&old, 30, porep_id, CUZK_API_V1_0), CUZK_OK);
    unsigned cut = 0;
    for (uint32_t node = 0; node < 100; node++) {
        const uint32_t at = node < 4 ? node : node * 10000019;
        uint32_t a[CUZK_GRAPH_PARENTS], b[CUZK_GRAPH_PARENTS];
        cuzk_graph_parents(&now, at, a);
        cuzk_graph_parents(&old, at, b);
        for (int i = 0; i < 6; i++)
            assert_int_equal(a[i], b[(i + 5) % 6]);
        for (int i = 6; i < CUZK_GRAPH_PARENTS; i++) {
            assert_int_equal(b[i], a[i] % (1u << 29));
            cut += a[i] != b[i];
        }
        for (int i = 0; i < 6; i++)
            assert_true(at < 2 ? a[i] == 0 : a[i] < at);
    }
    assert_true(cut > 0);
}

/* The permutation visits every edge once: each node is the expander parent of eight. */
static void test_expander_is_regular(void **state) {
    (void)state;
    for (uint32_t log2_nodes = 3; log2_nodes < 10; log2_nodes++) {
        const uint8_t porep_id[32] = {9, 1};
        uint32_t count[1 << 9] = {0}, out[CUZK_GRAPH_EXP];
        cuzk_graph g;
        assert_int_equal(cuzk_graph_init(&g, log2_nodes, porep_id, CUZK_API_V1_1), CUZK_OK);
        for (uint32_t node = 0; node < 1u << log2_nodes; node++) {
            cuzk_graph_exp_parents(&g, node, out);
            for (int i = 0; i < CUZK_GRAPH_EXP; i++)
                count[out[i]]++;
        }
        for (uint32_t node = 0; node < 1u << log2_nodes; node++)
            assert_int_equal(count[node], 8);
    }
}

static void test_post(void **state) {
    (void)state;
    static const struct {
        const char *randomness;
        uint64_t sector;
        uint32_t log2_nodes;
        uint32_t want[10];
    } v[] = {
        {"b403ca6ff540cfbf7828d5060385b314de8fcbff9c0dbe6182eb465f0be72c3b",
         7,
         6,
         {18, 36, 59, 32, 62, 46, 51, 61, 16, 48}},
        {"b403ca6ff540cfbf7828d5060385b314de8fcbff9c0dbe6182eb465f0be72c3b",
         8,
         6,
         {34, 45, 63, 50, 53, 10, 39, 3, 9, 45}},
        {"de41faa0ef116bbc8241de671fbd095846074cb96548cc9d9626562842de660f",
         77,
         30,
         {897157172, 680020042, 889310424, 1062613373, 780741586, 393465962, 1065801312, 760602363,
          700680259, 1045033743}},
    };
    for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
        uint8_t randomness[32];
        unhex(randomness, 32, v[k].randomness);
        for (uint64_t i = 0; i < 10; i++) {
            uint64_t c;
            assert_int_equal(cuzk_post_challenge(&c, randomness, v[k].sector, i, v[k].log2_nodes),
                             CUZK_OK);
            assert_int_equal(c, v[k].want[i]);
        }
    }
}

static void test_update(void **state) {
    (void)state;
    static const struct {
        const char *comm_r_new;
        uint32_t log2_nodes, log2_partitions, partition, n;
        uint32_t want[10];
    } v[] = {
        {"81e215804cecd73d743cd5241fdf1f3effba2cab424bdf16319ea807e310e74b",
         6,
         0,
         0,
         10,
         {27, 59, 32, 12, 19, 57, 4, 31, 26, 3}},
        {"502b2641d7aae775ea4ac629345e77f745e09707afd21f2b9bd42d3d9d23004c",
         18,
         2,
         0,
         10,
         {35484, 43238, 64319, 20212, 47868, 41019, 63081, 214, 20843, 2}},
        {"502b2641d7aae775ea4ac629345e77f745e09707afd21f2b9bd42d3d9d23004c",
         18,
         2,
         3,
         10,
         {233908, 258502, 225759, 199539, 242655, 239828, 229776, 238739, 210801, 214959}},
        {"80e379ca32a4e82de7dfd3dfc23850b04d6956ff4c881adbb8c9dfbc9bd3cf2e",
         30,
         4,
         0,
         86,
         {61530892, 42979532, 32309818, 60698702, 16910148, 40341872, 27933490, 6726493, 51937741,
          60905946}},
        {"80e379ca32a4e82de7dfd3dfc23850b04d6956ff4c881adbb8c9dfbc9bd3cf2e",
         30,
         4,
         15,
         86,
         {1065483787, 1073094072, 1043526683, 1028005022, 1033753254, 1052057628, 1011247078,
          1070980581, 1065680424, 1045032733}},
    };
    cuzk_poseidon *p2 = NULL;
    assert_int_equal(cuzk_poseidon_new(&p2, 2), CUZK_OK);
    for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
        uint8_t comm_r_new[32];
        uint64_t c[86];
        unhex(comm_r_new, 32, v[k].comm_r_new);
        assert_int_equal(cuzk_update_challenges(c, v[k].n, p2, comm_r_new, v[k].partition,
                                                v[k].log2_nodes, v[k].log2_partitions),
                         CUZK_OK);
        for (int i = 0; i < 10; i++)
            assert_int_equal(c[i], v[k].want[i]);
    }
    uint8_t not_canonical[32];
    uint64_t c;
    memset(not_canonical, 0xff, sizeof not_canonical);
    assert_int_equal(cuzk_update_challenges(&c, 1, p2, not_canonical, 0, 6, 0),
                     CUZK_STATUS_BAD_INPUT);
    cuzk_poseidon_free(p2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blake2b),
        cmocka_unit_test(test_chacha),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_oldest_version),
        cmocka_unit_test(test_expander_is_regular),
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

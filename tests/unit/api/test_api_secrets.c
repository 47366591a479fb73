/* After a proof no secret is left in this process's memory: the blinding r and s, and the values
 * of the witness. Looks through every private writable region by /proc/self/mem, free memory and
 * all stacks included.
 *
 * The test itself keeps what it looks for only disguised (all bits flipped) and in a shared
 * mapping, which is not looked through. */
#include "support.h"

#include "api/handle.h"
#include "base/mem.h"
#include "cuzk/cuzk.h"
#include "unit/api/vectors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, TABLE = 1 << 17, MAX_PATTERNS = 1 << 15 };

/* Two neighbouring limbs, flipped, or one alone, and where they come from. */
typedef struct {
    uint64_t flipped[2];
    bool alone;
    const char *what;
} pattern;

typedef struct {
    pattern list[MAX_PATTERNS];
    size_t n;
    uint16_t table[TABLE]; /* index + 1 of the pattern whose first limb has this hash */
    uint8_t window[WINDOW + 16];
} search;

static search *s;

static size_t hash(uint64_t limb) {
    return (limb * UINT64_C(0x9e3779b97f4a7c15)) >> 47;
}

static void add_pattern(uint64_t lo, uint64_t hi, bool alone, const char *what) {
    size_t h = hash(lo);
    while (s->table[h])
        h = (h + 1) % TABLE;
    assert_true(s->n < MAX_PATTERNS);
    s->list[s->n] = (pattern){{~lo, ~hi}, alone, what};
    s->table[h] = (uint16_t)++s->n;
}

/* Both halves, plain and in Montgomery form: a copy of any counts. Of the blinding a single limb
 * counts, as one might stay behind from a register. */
static void add_scalar(const cuzk_curve *curve, const cuzk_u256 *v, bool alone, const char *what) {
    cuzk_u256 m;
    curve->fr->to_mont(&m, v);
    for (int i = 0; i < 4; i += alone ? 1 : 2) {
        add_pattern(v->l[i], alone ? 0 : v->l[i + 1], alone, what);
        add_pattern(m.l[i], alone ? 0 : m.l[i + 1], alone, what);
    }
    cuzk_wipe(&m, sizeof m);
}

static const pattern *match(const uint8_t *at) {
    uint64_t limb[2];
    memcpy(limb, at, sizeof limb);
    for (size_t h = hash(limb[0]); s->table[h]; h = (h + 1) % TABLE) {
        const pattern *p = &s->list[s->table[h] - 1];
        if (p->flipped[0] == ~limb[0] && (p->alone || p->flipped[1] == ~limb[1])) return p;
    }
    return NULL;
}

/* Number of matches in [from, to); the first ones are told. */
static size_t search_region(int mem, uint64_t from, uint64_t to, const char *name) {
    size_t found = 0;
    for (uint64_t at = from; at < to; at += WINDOW) {
        ssize_t n = pread(mem, s->window, sizeof s->window, (off_t)at);
        for (ssize_t i = 0; i + 16 <= n && i < WINDOW; i++) {
            const pattern *p = match(s->window + i);
            if (p && found++ < 4)
                fprintf(stderr, "%s at %#llx (%s)\n", p->what,
                        (unsigned long long)(at + (uint64_t)i), name);
        }
    }
    return found;
}

static size_t search_memory(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int mem = open("/proc/self/mem", O_RDONLY);
    assert_non_null(maps);
    assert_true(mem >= 0);
    char line[512];
    size_t found = 0, looked = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        char mode[8], name[256] = "anonymous";
        if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %255[^\n]", &from, &to, mode, name) < 3)
            continue;
        if (mode[1] != 'w' || mode[3] != 'p') continue;
        found += search_region(mem, from, to, name);
        looked += (size_t)(to - from);
    }
    close(mem);
    fclose(maps);
    assert_true(looked > 100000);
    return found;
}

/* Is the value of a wire one of the public signals, too? */
static bool is_public(const uint8_t *v, const uint8_t *signals, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (memcmp(v, signals + 32 * i, 32) == 0) return true;
    }
    return false;
}

/* The full-size values of a witness that are not public. */
static void add_witness(const cuzk_curve *curve, const char *path, uint32_t signals) {
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    off_t n = lseek(fd, 0, SEEK_END);
    const uint8_t *file = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(file != MAP_FAILED);
    const uint8_t *first = file + 76 + 32;
    for (const uint8_t *v = first + 32 * signals; v + 32 <= file + n; v += 32) {
        cuzk_u256 value, minus;
        static const cuzk_u256 zero;
        if (is_public(v, first, signals)) continue;
        memcpy(&value, v, sizeof value);
        /* -1 and its like are in every table of roots: small on either side of zero is no secret.
         */
        curve->fr->sub(&minus, &zero, &value);
        if ((value.l[2] | value.l[3]) && (minus.l[2] | minus.l[3]))
            add_scalar(curve, &value, false, "a witness value");
        cuzk_wipe(&value, sizeof value);
        cuzk_wipe(&minus, sizeof minus);
    }
    munmap((void *)(uintptr_t)file, (size_t)n);
    close(fd);
}

static void expect_nothing(const char *when) {
    cuzk_wipe_stack();
    size_t found = search_memory();
    if (found) fail_msg("%zu secrets in memory %s", found, when);
}

/* r and s exist in the clear in this frame only. */
static __attribute__((noinline)) void prove_fixed(const cuzk_prover *p, const char *wtns) {
    const cuzk_curve *curve = p->key->zkey->curve;
    cuzk_u256 r, t;
    test_rng_bytes(&r, sizeof r);
    test_rng_bytes(&t, sizeof t);
    r.l[3] >>= 4;
    t.l[3] >>= 4;
    add_scalar(curve, &r, true, "r");
    add_scalar(curve, &t, true, "s");
    char *proof, *signals;
    cuzk_err err = {0};
    cuzk_status st = cuzk__prover_prove_fixed(p, wtns, &r, &t, &proof, &signals, &err);
    cuzk_wipe(&r, sizeof r);
    cuzk_wipe(&t, sizeof t);
    test_rng_state = 0;
    if (st != CUZK_OK) fail_msg("%s", err.msg);
    cuzk_string_free(proof);
    cuzk_string_free(signals);
}

static void start(void) {
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s != MAP_FAILED);
    test_rng_start();
}

static void finish(void) {
    munmap(s, sizeof *s);
}

static void prove_and_search(const char *zkey, const char *wtns, uint32_t signals,
                             unsigned threads) {
    start();
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    o.threads = threads;
    cuzk_prover *p;
    cuzk_err err = {0};
    if (cuzk_prover_open(&p, zkey, &o, &err)) fail_msg("%s", err.msg);
    add_witness(p->key->zkey->curve, wtns, signals);
    assert_true(s->n > 100);
    expect_nothing("before the proof");
    prove_fixed(p, wtns);
    expect_nothing("after the proof");
    cuzk_prover_free(p);
    expect_nothing("after the handle");
    finish();
}

static void one_thread(void **state) {
    (void)state;
    prove_and_search(ZKEY("bn128/poseidon2"), WTNS("bn128/poseidon2"), 1, 1);
}

static void workers(void **state) {
    (void)state;
    prove_and_search(ZKEY("bn128/semaphore20"), WTNS("bn128/semaphore20"), 4, 3);
}

static void other_curve(void **state) {
    (void)state;
    prove_and_search(ZKEY("bls12381/poseidon2"), WTNS("bls12381/poseidon2"), 1, 2);
}

/* A witness that does not satisfy the circuit takes the long way through the prover. */
static void unsatisfied(void **state) {
    (void)state;
    start();
    cuzk_prover *p;
    cuzk_err err = {0};
    char *proof, *signals;
    if (cuzk_prover_open(&p, ZKEY("bn128/poseidon2"), NULL, &err)) fail_msg("%s", err.msg);
    add_witness(p->key->zkey->curve, MALFORMED("unsatisfied.wtns"), 1);
    assert_int_equal(
        cuzk_prover_prove_file(p, MALFORMED("unsatisfied.wtns"), NULL, &proof, &signals, &err),
        CUZK_STATUS_FALSE);
    expect_nothing("after a failure");
    cuzk_prover_free(p);
    finish();
}

/* The search finds what is there: in the heap, on the stack, in static memory. */
static void the_search_works(void **state) {
    (void)state;
    static uint8_t in_static[64];
    start();
    cuzk_u256 v;
    test_rng_bytes(&v, sizeof v);
    v.l[3] >>= 4;
    add_scalar(cuzk_curve_get(CUZK_BN254), &v, false, "the canary");
    uint8_t on_stack[64];
    uint8_t *volatile there = on_stack; /* or the copy might stay in registers */
    memcpy(there + 3, &v, sizeof v);
    cuzk_wipe(&v, sizeof v);
    assert_true(search_memory() >= 2);
    uint8_t *in_heap = test_malloc(64);
    memcpy(in_heap + 5, there + 3, sizeof v);
    cuzk_wipe(on_stack, sizeof on_stack);
    assert_int_equal(search_memory(), 2);
    memcpy(in_static, in_heap + 5, 32);
    cuzk_wipe(in_heap, 64);
    assert_int_equal(search_memory(), 2);
    cuzk_wipe(in_static, sizeof in_static);
    assert_int_equal(search_memory(), 0);
    test_free(in_heap);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_works), cmocka_unit_test(one_thread),
        cmocka_unit_test(workers),          cmocka_unit_test(other_curve),
        cmocka_unit_test(unsatisfied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

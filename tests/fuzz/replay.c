/* main() of the fuzz targets where there is no libFuzzer: runs every file named, whole, cut short
 * and with a few bytes changed, the same way each time. */
#include "fuzz.h"

enum { MUTATIONS = 150, LARGEST_MUTATED = 1 << 14 };

static uint64_t state = 1;

static uint64_t next_random(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The target gets a copy of exactly n bytes. */
static void run(const uint8_t *p, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    FUZZ_CHECK(copy);
    memcpy(copy, p, n);
    FUZZ_CHECK(LLVMFuzzerTestOneInput(copy, n) == 0);
    free(copy);
}

static void mutate(const uint8_t *p, size_t n) {
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', '"', ',', '[', '}'};
    static uint8_t copy[LARGEST_MUTATED];
    size_t len = n;
    memcpy(copy, p, n);
    if (next_random() % 4 == 0) len = next_random() % n;
    for (uint64_t i = next_random() % 4; len && i < 4; i++) {
        uint64_t r = next_random();
        /* containers keep what matters in their first bytes */
        size_t at = (r & 1 ? next_random() : next_random() % 256) % len;
        uint8_t bit = (uint8_t)(1u << (r >> 8) % 8);
        if (r & 2)
            copy[at] = values[(r >> 8) % sizeof values];
        else
            copy[at] ^= bit;
    }
    run(copy, len);
}

int main(int argc, char **argv) {
    size_t runs = 0;
    run((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) {
            fprintf(stderr, "cannot open %s\n", argv[i]);
            return 1;
        }
        FUZZ_CHECK(fseek(f, 0, SEEK_END) == 0);
        long size = ftell(f);
        FUZZ_CHECK(size > 0 && fseek(f, 0, SEEK_SET) == 0);
        size_t n = (size_t)size;
        uint8_t *p = malloc(n);
        FUZZ_CHECK(p && fread(p, 1, n, f) == n);
        fclose(f);
        run(p, n);
        runs++;
        for (int k = 0; n <= LARGEST_MUTATED && k < MUTATIONS; k++, runs++)
            mutate(p, n);
        free(p);
    }
    printf("%zu runs of %d files\n", runs, argc - 1);
    if (argc > 1) return 0;
    fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    return 2;
}

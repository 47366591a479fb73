/* The circuits of tests/vectors/circom, for the tests of api and compat. Include after support.h.
 */
#ifndef CUZK_TESTS_API_VECTORS_H
#define CUZK_TESTS_API_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define VECTORS CUZK_TEST_VECTORS "/circom/"
#define ZKEY(circuit) VECTORS circuit "/circuit_final.zkey"
#define WTNS(circuit) VECTORS circuit "/witness.wtns"
#define VKEY(circuit) VECTORS circuit "/verification_key.json"
#define MALFORMED(file) VECTORS "malformed/" file

typedef struct bytes {
    uint8_t *p; /* a NUL follows */
    size_t n;
} bytes;

static inline bytes read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    bytes b = {NULL, 0};
    if (fseek(f, 0, SEEK_END) == 0) b.n = (size_t)ftell(f);
    rewind(f);
    b.p = test_malloc(b.n + 1);
    if (!b.p || fread(b.p, 1, b.n, f) != b.n) fail_msg("cannot read %s", path);
    b.p[b.n] = 0;
    fclose(f);
    return b;
}

static inline void free_bytes(bytes *b) {
    test_free(b->p);
    b->p = NULL;
}

static inline void write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) fail_msg("cannot write %s", path);
}

#endif

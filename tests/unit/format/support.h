/* What the format tests share: vectors in memory, files taken apart and put together again, and
 * assertions on error messages. Include after cmocka.h. */
#ifndef CUZK_TESTS_FORMAT_SUPPORT_H
#define CUZK_TESTS_FORMAT_SUPPORT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes on the heap, exactly as long as they say, so that a sanitizer sees every overrun. */
typedef struct blob {
    uint8_t *p;
    size_t n;
} blob;

/* tests/vectors/circom/<rel>; fails the test when it cannot be read. */
blob vector_read(const char *rel);
blob blob_copy(const void *p, size_t n);
/* b with n bytes at `at` replaced by the m bytes of `with`. */
blob blob_splice(blob b, size_t at, size_t n, const void *with, size_t m);
void blob_free(blob *b);

/* Where section `type` of a container lies; fails the test when there is none. */
typedef struct span {
    size_t header; /* of the section's 12-byte header */
    size_t off;    /* of its payload */
    size_t len;
} span;
span section_of(blob file, uint32_t type);
/* Number of sections, and section i in file order. */
uint32_t section_count(blob file);
span section_at(blob file, uint32_t i, uint32_t *type);

/* A copy of file whose sections come in another order (`order` lists types, 0-terminated), with
 * types that are not listed left out and, when odd > 0, an unknown section of that many bytes in
 * front. */
blob container_rebuild(blob file, const uint32_t *order, size_t odd);

/* Status and message: BAD_INPUT, and a message with the given parts, "expected" and "actual". */
void assert_bad_input(cuzk_status st, const cuzk_err *err, const char *part1, const char *part2);
void assert_has(const char *text, const char *part);

uint64_t test_seed(void); /* prints it; from CUZK_TEST_SEED when set */
uint64_t test_random(uint64_t *state);

/* A path in a fresh directory under TMPDIR; removed by temp_remove. */
char *temp_path(const char *name);
void temp_remove(char *path);

#endif

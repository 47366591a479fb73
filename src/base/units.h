/* Sizes and durations as people write them. */
#ifndef CUZK_BASE_UNITS_H
#define CUZK_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* "64GiB", "1.5 GB", "4096": false when it is no size or does not fit. */
bool cuzk_parse_bytes(const char *text, uint64_t *out);
/* "5m", "1h30m", "250ms", "2.5s", "10" (seconds): nanoseconds. */
bool cuzk_parse_duration(const char *text, uint64_t *out);

enum { CUZK_UNITS_TEXT = 32 };
/* The shortest text that the functions above read back exactly: "64GiB", "1536KiB", "90s". */
void cuzk_format_bytes(uint64_t bytes, char out[CUZK_UNITS_TEXT]);
void cuzk_format_duration(uint64_t ns, char out[CUZK_UNITS_TEXT]);

#endif

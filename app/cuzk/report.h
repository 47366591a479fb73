/* A report that comes out as lines for people or as one JSON object, from the same calls. */
#ifndef CUZK_REPORT_H
#define CUZK_REPORT_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUZK_REPORT_DEPTH = 8 };

typedef struct cuzk_report {
    cuzk_buf text;
    bool json;
    unsigned depth;
    struct {
        bool array; /* its members have no names */
        bool line;  /* for people: all on one line */
        bool first;
    } level[CUZK_REPORT_DEPTH];
} cuzk_report;

void cuzk_report_init(cuzk_report *r, bool json);

/* key is NULL inside an array. */
void cuzk_report_open(cuzk_report *r, const char *key, bool array);
void cuzk_report_close(cuzk_report *r);

/* n bytes; anything that is not printable ASCII is escaped. */
void cuzk_report_text(cuzk_report *r, const char *key, const char *s, size_t n);
void cuzk_report_str(cuzk_report *r, const char *key, const char *s);
void cuzk_report_u64(cuzk_report *r, const char *key, uint64_t v);
void cuzk_report_bool(cuzk_report *r, const char *key, bool v);
/* part of whole in percent with one decimal, as "part" and "percent" of an object. */
void cuzk_report_share(cuzk_report *r, const char *key, uint64_t part, uint64_t whole);
void cuzk_report_hex(cuzk_report *r, const char *key, const uint8_t *p, size_t n);

/* Ends the report and prints it on stdout: OK, IO or NO_MEMORY. Frees it. */
cuzk_status cuzk_report_finish(cuzk_report *r, cuzk_err *err) CUZK_MUST_CHECK;

#endif

#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cuzk_report_init(cuzk_report *r, bool json) {
    memset(r, 0, sizeof *r);
    r->json = json;
    r->level[0].first = true;
    if (json) cuzk_buf_puts(&r->text, "{");
}

/* What comes before a value: separator, indentation, key. */
static void begin(cuzk_report *r, const char *key) {
    bool first = r->level[r->depth].first, line = r->level[r->depth].line;
    r->level[r->depth].first = false;
    if (r->json) {
        if (!first) cuzk_buf_puts(&r->text, ",");
        if (key) {
            cuzk_buf_json_str(&r->text, key);
            cuzk_buf_puts(&r->text, ":");
        }
        return;
    }
    if (line) {
        if (!first) cuzk_buf_puts(&r->text, ", ");
    } else {
        for (unsigned i = 0; i < r->depth; i++)
            cuzk_buf_puts(&r->text, "  ");
    }
    if (key) {
        for (const char *p = key; *p; p++)
            cuzk_buf_append(&r->text, *p == '_' ? " " : p, 1);
        cuzk_buf_puts(&r->text, line ? " " : ": ");
    }
}

static void end(cuzk_report *r) {
    if (!r->json && !r->level[r->depth].line) cuzk_buf_puts(&r->text, "\n");
}

void cuzk_report_open(cuzk_report *r, const char *key, bool array) {
    bool line = r->level[r->depth].array || r->level[r->depth].line;
    begin(r, key);
    if (r->json) {
        cuzk_buf_puts(&r->text, array ? "[" : "{");
    } else if (!line) {
        /* the key's line ends here */
        if (r->text.len && r->text.data[r->text.len - 1] == ' ') r->text.len--;
        cuzk_buf_puts(&r->text, "\n");
    }
    if (r->depth + 1 < CUZK_REPORT_DEPTH) r->depth++;
    r->level[r->depth].array = array;
    r->level[r->depth].line = line;
    r->level[r->depth].first = true;
}

void cuzk_report_close(cuzk_report *r) {
    if (r->json) cuzk_buf_puts(&r->text, r->level[r->depth].array ? "]" : "}");
    bool line = r->level[r->depth].line;
    if (r->depth) r->depth--;
    if (line) end(r);
}

void cuzk_report_text(cuzk_report *r, const char *key, const char *s, size_t n) {
    begin(r, key);
    if (r->json) cuzk_buf_puts(&r->text, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < ' ' || c > '~')
            cuzk_buf_printf(&r->text, "\\u%04x", c);
        else if (r->json && (c == '"' || c == '\\'))
            cuzk_buf_printf(&r->text, "\\%c", c);
        else
            cuzk_buf_append(&r->text, s + i, 1);
    }
    if (r->json) cuzk_buf_puts(&r->text, "\"");
    end(r);
}

void cuzk_report_str(cuzk_report *r, const char *key, const char *s) {
    cuzk_report_text(r, key, s, strlen(s));
}

void cuzk_report_u64(cuzk_report *r, const char *key, uint64_t v) {
    begin(r, key);
    cuzk_buf_printf(&r->text, "%" PRIu64, v);
    end(r);
}

void cuzk_report_bool(cuzk_report *r, const char *key, bool v) {
    begin(r, key);
    cuzk_buf_puts(&r->text, r->json ? v ? "true" : "false" : v ? "yes" : "no");
    end(r);
}

void cuzk_report_share(cuzk_report *r, const char *key, uint64_t part, uint64_t whole) {
    double percent = whole ? 100.0 * (double)part / (double)whole : 0.0;
    begin(r, key);
    if (r->json)
        cuzk_buf_printf(&r->text, "{\"count\":%" PRIu64 ",\"percent\":%.1f}", part, percent);
    else
        cuzk_buf_printf(&r->text, "%" PRIu64 " (%.1f %%)", part, percent);
    end(r);
}

void cuzk_report_hex(cuzk_report *r, const char *key, const uint8_t *p, size_t n) {
    begin(r, key);
    if (r->json) cuzk_buf_puts(&r->text, "\"");
    for (size_t i = 0; i < n; i++)
        cuzk_buf_printf(&r->text, "%02x", p[i]);
    if (r->json) cuzk_buf_puts(&r->text, "\"");
    end(r);
}

cuzk_status cuzk_report_finish(cuzk_report *r, cuzk_err *err) {
    if (r->json) cuzk_buf_puts(&r->text, "}\n");
    cuzk_status st = cuzk_buf_status(&r->text);
    if (st != CUZK_OK) {
        cuzk_err_set(err, st, "not enough memory for the report");
    } else if (fwrite(r->text.data, 1, r->text.len, stdout) != r->text.len || fflush(stdout) != 0) {
        st = cuzk_err_set(err, CUZK_STATUS_IO, "cannot write to standard output");
    }
    cuzk_buf_free(&r->text);
    return st;
}

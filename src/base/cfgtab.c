#include "base/cfgtab.h"

#include "base/mem.h"
#include "base/toml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAD(err, ...) cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, __VA_ARGS__)

/* ---- names ---- */

static unsigned min3(unsigned a, unsigned b, unsigned c) {
    const unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Letters to add, drop or change to make b of a (Levenshtein). */
static unsigned distance(const char *a, const char *b) {
    unsigned row[CUZK_TOML_NAME + 1];
    const size_t n = strlen(b);
    if (n > CUZK_TOML_NAME) return UINT32_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            const unsigned up = row[j];
            row[j] = min3(row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = up;
        }
    }
    return row[n];
}

static const cuzk_cfg_entry *find(const cuzk_cfg_table *t, const char *path) {
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->entries[i].path, path) == 0) return &t->entries[i];
    return NULL;
}

/* The name after the last dot. */
static const char *leaf(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* The known path that is nearest, by the whole path or, in another table, by its last name; NULL
 * when none is near. */
static const cuzk_cfg_entry *nearest(const cuzk_cfg_table *t, const char *path) {
    const cuzk_cfg_entry *best = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < t->n; i++) {
        const char *other = t->entries[i].path;
        unsigned d = distance(path, other);
        const unsigned moved = 1 + distance(leaf(path), leaf(other));
        if (moved < d) d = moved;
        if (d < least) {
            least = d;
            best = &t->entries[i];
        }
    }
    return least <= 1 + strlen(path) / 4 ? best : NULL;
}

static cuzk_status unknown(const cuzk_cfg_table *t, const char *path, cuzk_err *err) {
    const cuzk_cfg_entry *meant = nearest(t, path);
    if (meant) return BAD(err, "unknown setting `%s`; did you mean `%s`?", path, meant->path);
    return BAD(err, "unknown setting `%s`", path);
}

/* ---- values ---- */

static cuzk_status in_range(const cuzk_cfg_entry *e, uint64_t v, cuzk_err *err) {
    if (v >= e->least && v <= e->most) return CUZK_OK;
    return BAD(err, "%s must be from %" PRIu64 " to %" PRIu64 "%s", e->path, e->least, e->most,
               e->type == CUZK_CFG_BYTES      ? " bytes"
               : e->type == CUZK_CFG_DURATION ? " nanoseconds"
                                              : "");
}

static cuzk_status put_number(const cuzk_cfg_entry *e, void *at, uint64_t v, cuzk_err *err) {
    CUZK_TRY(in_range(e, v, err));
    memcpy(at, &v, sizeof v);
    return CUZK_OK;
}

static cuzk_status put_item(const cuzk_cfg_entry *e, cuzk_cfg_list *list, const char *text,
                            size_t n, cuzk_err *err) {
    if (list->n == CUZK_CFG_LIST_ITEMS)
        return BAD(err, "%s has more than %d items", e->path, CUZK_CFG_LIST_ITEMS);
    if (n == 0 || n >= CUZK_CFG_LIST_TEXT)
        return BAD(err, "an item of %s must have 1 to %d characters", e->path,
                   CUZK_CFG_LIST_TEXT - 1);
    memcpy(list->items[list->n], text, n);
    list->items[list->n++][n] = '\0';
    return CUZK_OK;
}

/* "a,b" */
static cuzk_status put_list(const cuzk_cfg_entry *e, cuzk_cfg_list *list, const char *text,
                            cuzk_err *err) {
    *list = (cuzk_cfg_list){0};
    while (*text) {
        const size_t n = strcspn(text, ",");
        CUZK_TRY(put_item(e, list, text, n, err));
        text += n;
        if (*text == ',' && !*++text) return BAD(err, "%s ends with a comma", e->path);
    }
    return CUZK_OK;
}

static bool digits_only(const char *s, uint64_t *out) {
    return s[strspn(s, "0123456789")] == '\0' && cuzk_parse_bytes(s, out);
}

/* A value as text: of a command line, the environment, a default, or a file's string. */
static cuzk_status put_text(const cuzk_cfg_entry *e, void *at, const char *text, cuzk_err *err) {
    uint64_t v;
    switch (e->type) {
    case CUZK_CFG_TEXT:
        if (strlen(text) > e->most)
            return BAD(err, "%s is longer than %" PRIu64 " bytes", e->path, e->most);
        memcpy(at, text, strlen(text) + 1);
        return CUZK_OK;
    case CUZK_CFG_LIST:
        return put_list(e, at, text, err);
    case CUZK_CFG_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return BAD(err, "%s wants true or false, not `%.40s`", e->path, text);
        *(bool *)at = text[0] == 't';
        return CUZK_OK;
    case CUZK_CFG_NUMBER:
        if (!digits_only(text, &v)) return BAD(err, "%s wants a whole number", e->path);
        return put_number(e, at, v, err);
    case CUZK_CFG_BYTES:
        if ((e->flags & CUZK_CFG_AUTO) && strcmp(text, "auto") == 0) {
            v = CUZK_CFG_AUTO_VALUE;
            memcpy(at, &v, sizeof v);
            return CUZK_OK;
        }
        if (!cuzk_parse_bytes(text, &v))
            return BAD(err, "%s wants a size like \"64GiB\"%s, not `%.40s`", e->path,
                       e->flags & CUZK_CFG_AUTO ? " or \"auto\"" : "", text);
        return put_number(e, at, v, err);
    case CUZK_CFG_DURATION:
        if (!cuzk_parse_duration(text, &v))
            return BAD(err, "%s wants a time like \"5m\" or \"250ms\", not `%.40s`", e->path, text);
        return put_number(e, at, v, err);
    }
    return cuzk_err_set(err, CUZK_STATUS_BUG, "%s has no type", e->path);
}

static void *place_of(const cuzk_cfg_entry *e, void *settings) {
    return (char *)settings + e->place;
}

/* Anything may be given to a setting that is ignored. */
static cuzk_status put(const cuzk_cfg_entry *e, void *settings, const char *text, cuzk_err *err) {
    if (!(e->flags & CUZK_CFG_IGNORED)) return put_text(e, place_of(e, settings), text, err);
    *(bool *)place_of(e, settings) = true;
    return CUZK_OK;
}

cuzk_status cuzk_cfg_defaults(const cuzk_cfg_table *t, void *settings, cuzk_err *err) {
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_cfg_entry *e = &t->entries[i];
        if (e->flags & CUZK_CFG_IGNORED)
            *(bool *)place_of(e, settings) = false;
        else if (put(e, settings, e->preset, err) != CUZK_OK)
            return cuzk_err_set(err, CUZK_STATUS_BUG, "the default of %s is none", e->path);
    }
    return CUZK_OK;
}

/* ---- a file ---- */

typedef struct reading {
    const cuzk_cfg_table *table;
    void *settings;
    bool *seen;
} reading;

static cuzk_status put_array(const cuzk_cfg_entry *e, void *at, const cuzk_toml_value *v,
                             cuzk_err *err) {
    cuzk_cfg_list *list = at;
    *list = (cuzk_cfg_list){0};
    for (size_t i = 0; i < v->n; i++) {
        char number[24];
        const cuzk_toml_value *item = &v->items[i];
        const char *text = item->text;
        if (item->type == CUZK_TOML_INT) { /* device numbers may be given bare */
            snprintf(number, sizeof number, "%" PRId64, item->integer);
            text = number;
        } else if (item->type != CUZK_TOML_STRING) {
            return BAD(err, "%s wants texts or whole numbers", e->path);
        }
        CUZK_TRY(put_item(e, list, text, strlen(text), err));
    }
    return CUZK_OK;
}

static cuzk_status put_int(const cuzk_cfg_entry *e, void *at, int64_t v, cuzk_err *err) {
    uint64_t u = (uint64_t)v;
    if (v < 0) return BAD(err, "%s may not be negative", e->path);
    if (e->type == CUZK_CFG_DURATION && __builtin_mul_overflow(u, UINT64_C(1000000000), &u))
        return BAD(err, "%s is too long", e->path);
    return put_number(e, at, u, err);
}

static cuzk_status put_value(const cuzk_cfg_entry *e, void *at, const cuzk_toml_value *v,
                             cuzk_err *err) {
    static const char *const wants[] = {"a text in quotes",      "a list like [\"a\", \"b\"]",
                                        "true or false",         "a whole number",
                                        "a size like \"64GiB\"", "a time like \"5m\""};
    const bool measure = e->type == CUZK_CFG_BYTES || e->type == CUZK_CFG_DURATION;
    if (v->type == CUZK_TOML_STRING && (e->type == CUZK_CFG_TEXT || measure))
        return put_text(e, at, v->text, err);
    if (v->type == CUZK_TOML_INT && (e->type == CUZK_CFG_NUMBER || measure))
        return put_int(e, at, v->integer, err);
    if (v->type == CUZK_TOML_ARRAY && e->type == CUZK_CFG_LIST) return put_array(e, at, v, err);
    if (v->type != CUZK_TOML_BOOL || e->type != CUZK_CFG_BOOL)
        return BAD(err, "%s wants %s", e->path, wants[e->type]);
    *(bool *)at = v->boolean;
    return CUZK_OK;
}

static cuzk_status on_value(void *ctx, const char *path, const cuzk_toml_value *v, cuzk_err *err) {
    reading *r = ctx;
    const cuzk_cfg_entry *e = find(r->table, path);
    if (!e) return unknown(r->table, path, err);
    bool *seen = &r->seen[e - r->table->entries];
    if (*seen) return BAD(err, "%s is given a second time", path);
    *seen = true;
    if (e->flags & CUZK_CFG_IGNORED) {
        *(bool *)place_of(e, r->settings) = true;
        return CUZK_OK;
    }
    return put_value(e, place_of(e, r->settings), v, err);
}

cuzk_status cuzk_cfg_read(const cuzk_cfg_table *t, void *settings, const char *text, size_t len,
                          cuzk_err *err) {
    reading r = {.table = t, .settings = settings};
    CUZK_TRY(cuzk_alloc((void **)&r.seen, t->n, sizeof *r.seen));
    const cuzk_status st = cuzk_toml_read(text, len, on_value, &r, err);
    cuzk_free(r.seen);
    return st;
}

/* ---- command line, environment ---- */

cuzk_status cuzk_cfg_set(const cuzk_cfg_table *t, void *settings, const char *assignment,
                         cuzk_err *err) {
    char path[CUZK_TOML_NAME];
    const char *eq = strchr(assignment, '=');
    if (!eq || eq == assignment || (size_t)(eq - assignment) >= sizeof path)
        return BAD(err, "`%.60s` is no setting=value", assignment);
    memcpy(path, assignment, (size_t)(eq - assignment));
    path[eq - assignment] = '\0';
    const cuzk_cfg_entry *e = find(t, path);
    return e ? put(e, settings, eq + 1, err) : unknown(t, path, err);
}

static void env_name(const cuzk_cfg_table *t, const cuzk_cfg_entry *e, char *out, size_t room) {
    snprintf(out, room, "%s%s", t->env_prefix, e->path);
    for (char *p = out + strlen(t->env_prefix); *p; p++) {
        if (*p == '.' || *p == '-') *p = '_';
        if (*p >= 'a' && *p <= 'z') *p = (char)(*p - 'a' + 'A');
    }
}

cuzk_status cuzk_cfg_env(const cuzk_cfg_table *t, void *settings, char *(*get)(const char *name),
                         cuzk_err *err) {
    for (size_t i = 0; i < t->n; i++) {
        char name[2 * CUZK_TOML_NAME];
        env_name(t, &t->entries[i], name, sizeof name);
        const char *value = get(name);
        if (!value) continue;
        const cuzk_status st = put(&t->entries[i], settings, value, err);
        if (st != CUZK_OK) return cuzk_err_prefix(err, st, "%s", name);
    }
    return CUZK_OK;
}

/* The path that a name in the environment would stand for, if its first word is a table; or false.
 */
static bool path_of(const cuzk_cfg_table *t, const char *name, char path[CUZK_TOML_NAME]) {
    const size_t prefix = strlen(t->env_prefix), n = strcspn(name, "=");
    if (strncmp(name, t->env_prefix, prefix) != 0 || n - prefix >= CUZK_TOML_NAME) return false;
    for (size_t i = prefix; i < n; i++)
        path[i - prefix] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    path[n - prefix] = '\0';
    for (size_t i = 0; i < t->n; i++) {
        const size_t table = strcspn(t->entries[i].path, ".");
        if (strncmp(path, t->entries[i].path, table) != 0 || path[table] != '_') continue;
        path[table] = '.';
        return true;
    }
    return false;
}

void cuzk_cfg_env_unknown(const cuzk_cfg_table *t, char *const *environment,
                          void (*tell)(void *ctx, const char *name, const char *meant), void *ctx) {
    char path[CUZK_TOML_NAME], name[2 * CUZK_TOML_NAME], meant[2 * CUZK_TOML_NAME];
    for (; *environment; environment++) {
        bool known = false;
        if (!path_of(t, *environment, path)) continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*environment, "="), *environment);
        for (size_t i = 0; i < t->n && !known; i++) {
            env_name(t, &t->entries[i], meant, sizeof meant);
            known = strcmp(name, meant) == 0;
        }
        if (known) continue;
        const cuzk_cfg_entry *e = nearest(t, path);
        if (e) env_name(t, e, meant, sizeof meant);
        tell(ctx, name, e ? meant : NULL);
    }
}

/* ---- reload ---- */

static size_t size_of(const cuzk_cfg_entry *e) {
    switch (e->type) {
    case CUZK_CFG_TEXT:
        return (size_t)e->most + 1;
    case CUZK_CFG_LIST:
        return sizeof(cuzk_cfg_list);
    case CUZK_CFG_BOOL:
        return sizeof(bool);
    default:
        return sizeof(uint64_t);
    }
}

static bool same(const cuzk_cfg_entry *e, const char *a, const char *b) {
    return e->type == CUZK_CFG_TEXT ? strcmp(a, b) == 0 : memcmp(a, b, size_of(e)) == 0;
}

const char *cuzk_cfg_frozen(const cuzk_cfg_table *t, const void *before, const void *after) {
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_cfg_entry *e = &t->entries[i];
        if (e->flags & (CUZK_CFG_RELOAD | CUZK_CFG_IGNORED)) continue;
        if (!same(e, (const char *)before + e->place, (const char *)after + e->place))
            return e->path;
    }
    return NULL;
}

/* ---- example, documentation ---- */

static void put_default(cuzk_buf *out, const cuzk_cfg_entry *e) {
    const char *s = e->preset;
    if (e->type == CUZK_CFG_BOOL || e->type == CUZK_CFG_NUMBER) {
        cuzk_buf_puts(out, s);
    } else if (e->type != CUZK_CFG_LIST) {
        cuzk_buf_json_str(out, s);
    } else {
        cuzk_buf_puts(out, "[");
        for (bool first = true; *s; first = false) {
            const size_t n = strcspn(s, ",");
            cuzk_buf_printf(out, "%s\"%.*s\"", first ? "" : ", ", (int)n, s);
            s += n + (s[n] == ',');
        }
        cuzk_buf_puts(out, "]");
    }
}

/* "[memory]" where another table than that of the entry before begins. */
static void put_heading(cuzk_buf *out, const cuzk_cfg_entry *before, const cuzk_cfg_entry *e) {
    const size_t n = (size_t)(leaf(e->path) - e->path);
    if (before && strncmp(before->path, e->path, n) == 0 && leaf(before->path) == before->path + n)
        return;
    cuzk_buf_printf(out, "%s[%.*s]\n", before ? "\n" : "", (int)(n ? n - 1 : 0), e->path);
}

void cuzk_cfg_example(cuzk_buf *out, const cuzk_cfg_table *t) {
    const cuzk_cfg_entry *before = NULL;
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_cfg_entry *e = &t->entries[i];
        if (e->flags & CUZK_CFG_IGNORED) continue;
        put_heading(out, before, e);
        cuzk_buf_printf(out, "# %s%s\n%s = ", e->help,
                        e->flags & CUZK_CFG_RELOAD ? " Read again on SIGHUP." : "", leaf(e->path));
        put_default(out, e);
        cuzk_buf_puts(out, "\n");
        before = e;
    }
}

static void put_now(cuzk_buf *out, const cuzk_cfg_entry *e, const void *at) {
    const cuzk_cfg_list *list = at;
    char text[CUZK_UNITS_TEXT];
    uint64_t v = 0;
    if (e->type >= CUZK_CFG_NUMBER) memcpy(&v, at, sizeof v);
    switch (e->type) {
    case CUZK_CFG_TEXT:
        cuzk_buf_json_str(out, at);
        return;
    case CUZK_CFG_LIST:
        cuzk_buf_puts(out, "[");
        for (uint32_t i = 0; i < list->n; i++) {
            if (i) cuzk_buf_puts(out, ", ");
            cuzk_buf_json_str(out, list->items[i]);
        }
        cuzk_buf_puts(out, "]");
        return;
    case CUZK_CFG_BOOL:
        cuzk_buf_puts(out, *(const bool *)at ? "true" : "false");
        return;
    case CUZK_CFG_NUMBER:
        cuzk_buf_printf(out, "%" PRIu64, v);
        return;
    case CUZK_CFG_BYTES:
        cuzk_format_bytes(v, text);
        cuzk_buf_json_str(out,
                          (e->flags & CUZK_CFG_AUTO) && v == CUZK_CFG_AUTO_VALUE ? "auto" : text);
        return;
    case CUZK_CFG_DURATION:
        cuzk_format_duration(v, text);
        cuzk_buf_json_str(out, text);
        return;
    }
}

void cuzk_cfg_show(cuzk_buf *out, const cuzk_cfg_table *t, const void *settings) {
    const cuzk_cfg_entry *before = NULL;
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_cfg_entry *e = &t->entries[i];
        if (e->flags & CUZK_CFG_IGNORED) continue;
        put_heading(out, before, e);
        cuzk_buf_printf(out, "%s = ", leaf(e->path));
        put_now(out, e, (const char *)settings + e->place);
        cuzk_buf_puts(out, "\n");
        before = e;
    }
}

void cuzk_cfg_markdown(cuzk_buf *out, const cuzk_cfg_table *t) {
    cuzk_buf_puts(out, "| setting | default | environment | what |\n|---|---|---|---|\n");
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_cfg_entry *e = &t->entries[i];
        char name[2 * CUZK_TOML_NAME];
        env_name(t, e, name, sizeof name);
        cuzk_buf_printf(out, "| `%s` | `", e->path);
        put_default(out, e);
        cuzk_buf_printf(out, "` | `%s` | %s%s |\n", name, e->help,
                        e->flags & CUZK_CFG_IGNORED  ? " Ignored."
                        : e->flags & CUZK_CFG_RELOAD ? " Read again on SIGHUP."
                                                     : "");
    }
}

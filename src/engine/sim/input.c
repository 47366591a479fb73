/* Reads scenario files: lines `key = value` under [host], [device], [scheduler], [kind NAME] and
 * [expect]; what stands before the first [run NAME] holds for every run. One table of keys serves
 * reading, defaults and messages. */
#include "sim.h"

#include "base/mem.h"
#include "engine/core/sched.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum value_type { T_REAL, T_COUNT, T_PRIORITY, T_BOOL, T_STAGE, T_TEXT } value_type;

typedef struct entry {
    const char *section, *key;
    value_type type;
    size_t at; /* in the scenario, of [kind] in the kind */
    double least, most;
} entry;

#define SCENARIO(section, field, type, least, most)                                                \
    { section, #field, type, offsetof(cuzk_sim_scenario, field), least, most }
#define EXPECT(field)                                                                              \
    { "expect", #field, T_REAL, offsetof(cuzk_sim_scenario, expect.field), 0, 1e9 }
#define KIND(field, type, least, most)                                                             \
    { "kind", #field, type, offsetof(cuzk_sim_kind, field), least, most }
#define WORK(name, text)                                                                           \
    {"kind", text, T_REAL, offsetof(cuzk_sim_kind, work[CUZK_SIM_##name].seconds), 0, 1e6},        \
        {"kind", text ".bandwidth",                                                                \
         T_REAL, offsetof(cuzk_sim_kind, work[CUZK_SIM_##name].bandwidth),                         \
         0,      1e6},                                                                             \
        {"kind", text ".sensitivity",                                                              \
         T_REAL, offsetof(cuzk_sim_kind, work[CUZK_SIM_##name].sensitivity),                       \
         0,      1000},                                                                            \
        {"kind", text ".cores", T_REAL, offsetof(cuzk_sim_kind, work[CUZK_SIM_##name].cores), 0,   \
         1e6},

static const entry entries[] = {
    SCENARIO("run", cite, T_TEXT, 0, 0),
    SCENARIO("host", cores, T_REAL, 0, 1e6),
    SCENARIO("host", bandwidth, T_REAL, 0, 1e6),
    SCENARIO("host", memory, T_REAL, 0, 1e6),
    SCENARIO("host", pinned, T_REAL, 0, 1e6),
    SCENARIO("host", base_memory, T_REAL, 0, 1e6),
    {"device", "count", T_COUNT, offsetof(cuzk_sim_scenario, devices), 1, CUZK_SCHED_MAX_DEVICES},
    {"device", "memory", T_REAL, offsetof(cuzk_sim_scenario, device_memory), 0, 1e6},
    SCENARIO("scheduler", witness_workers, T_COUNT, 1, 4096),
    SCENARIO("scheduler", reserved_witness_workers, T_COUNT, 0, 4096),
    SCENARIO("scheduler", max_ready, T_COUNT, 0, 65536),
    SCENARIO("scheduler", slots, T_COUNT, 1, 64),
    SCENARIO("scheduler", reserved_slots, T_COUNT, 0, 64),
    SCENARIO("scheduler", results, T_COUNT, 1, 4096),
    SCENARIO("scheduler", finishers, T_COUNT, 1, 4096),
    SCENARIO("scheduler", verifiers, T_COUNT, 1, 4096),
    SCENARIO("scheduler", slot_until, T_STAGE, 0, 0),
    SCENARIO("scheduler", witness_until, T_STAGE, 0, 0),
    KIND(partitions, T_COUNT, 1, CUZK_SCHED_MAX_PARTITIONS),
    KIND(priority, T_PRIORITY, -1000, 1000),
    KIND(reserved, T_BOOL, 0, 0),
    KIND(gate_waits, T_BOOL, 0, 0),
    KIND(exclusive, T_BOOL, 0, 0),
    KIND(stall, T_REAL, 0, 1e6),
    KIND(shared, T_REAL, 0, 1e6),
    KIND(memory, T_REAL, 0, 1e6),
    KIND(scratch, T_REAL, 0, 1e6),
    KIND(pinned, T_REAL, 0, 1e6),
    KIND(slot, T_REAL, 0, 1e6),
    KIND(key_host, T_REAL, 0, 1e6),
    KIND(key_device, T_REAL, 0, 1e6),
    KIND(key_seconds, T_REAL, 0, 1e6),
    KIND(key_device_seconds, T_REAL, 0, 1e6),
    KIND(key_kept, T_BOOL, 0, 0),
    KIND(count, T_COUNT, 0, 100000),
    KIND(concurrency, T_COUNT, 0, 100000),
    KIND(interval, T_REAL, 0, 1e6),
    KIND(deadline, T_REAL, 0, 1e9),
    CUZK_SIM_WORKS(WORK) EXPECT(seconds_per_proof),
    EXPECT(steady),
    EXPECT(device_seconds),
    EXPECT(efficiency),
    EXPECT(gate_busy),
    EXPECT(peak_memory),
};

void cuzk_sim_defaults(cuzk_sim_scenario *s) {
    *s = (cuzk_sim_scenario){.memory = 1000,
                             .pinned = 1000,
                             .devices = 1,
                             .device_memory = 1000,
                             .witness_workers = 4,
                             .max_ready = 4,
                             .slots = 2,
                             .results = 4,
                             .finishers = 2,
                             .verifiers = 2,
                             .slot_until = CUZK_STAGE_COMPUTE,
                             .witness_until = CUZK_STAGE_VERIFY};
}

typedef struct reader {
    const char *text, *end;
    unsigned line;
    cuzk_err *err;
    cuzk_sim_set *set;
    cuzk_sim_scenario common;
    bool in_run;
    char section[CUZK_SIM_NAME];
    cuzk_sim_kind *kind;
} reader;

#define BAD(r, ...) cuzk_err_set((r)->err, CUZK_STATUS_BAD_INPUT, __VA_ARGS__)

static cuzk_sim_scenario *current(reader *r) {
    return r->in_run ? &r->set->items[r->set->n - 1] : &r->common;
}

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t')
        s++;
    size_t n = strlen(s);
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        s[--n] = '\0';
    return s;
}

/* Cuts a comment off, not inside quotes. */
static void drop_comment(char *s) {
    bool quoted = false;
    for (; *s; s++) {
        if (*s == '"') quoted = !quoted;
        if (*s == '#' && !quoted) *s = '\0';
        if (!*s) return;
    }
}

static bool plain_name(const char *s) {
    const size_t n = strlen(s);
    if (n == 0 || n >= CUZK_SIM_NAME) return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '-' || *s == '_'))
            return false;
    return true;
}

static cuzk_status begin_run(reader *r, const char *name) {
    cuzk_sim_set *set = r->set;
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return BAD(r, "line %u: a second [run %s]", r->line, name);
    CUZK_TRY(cuzk_realloc((void **)&set->items, set->n + 1, sizeof *set->items));
    set->items[set->n] = r->common;
    memcpy(set->items[set->n].name, name, strlen(name) + 1);
    set->n++;
    r->in_run = true;
    return CUZK_OK;
}

static cuzk_status begin_kind(reader *r, const char *name) {
    cuzk_sim_scenario *s = current(r);
    for (uint32_t i = 0; i < s->n_kinds; i++) {
        r->kind = &s->kinds[i];
        if (strcmp(r->kind->name, name) == 0) return CUZK_OK;
    }
    if (s->n_kinds == CUZK_SIM_MAX_KINDS)
        return BAD(r, "line %u: more than %d kinds", r->line, CUZK_SIM_MAX_KINDS);
    r->kind = &s->kinds[s->n_kinds++];
    *r->kind = (cuzk_sim_kind){.partitions = 1};
    memcpy(r->kind->name, name, strlen(name) + 1);
    return CUZK_OK;
}

static cuzk_status section(reader *r, char *s) {
    char *close = strchr(s, ']');
    if (!close || close[1] != '\0') return BAD(r, "line %u: a section ends with ]", r->line);
    *close = '\0';
    char *name = strchr(s, ' ');
    if (name) {
        *name++ = '\0';
        name = trim(name);
    }
    const bool named = strcmp(s, "run") == 0 || strcmp(s, "kind") == 0;
    bool known = named;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        known |= strcmp(entries[i].section, s) == 0;
    if (!known)
        return BAD(r,
                   "line %u: unknown section [%s]; there are run, host, device, scheduler, kind "
                   "and expect",
                   r->line, s);
    if (named != (name != NULL) || (name && !plain_name(name)))
        return BAD(r,
                   named ? "line %u: [%s NAME] wants a name of letters, digits, - and _"
                         : "line %u: [%s] has no name",
                   r->line, s);
    memcpy(r->section, s, strlen(s) + 1);
    r->kind = NULL;
    if (strcmp(s, "run") == 0) return begin_run(r, name);
    if (strcmp(s, "kind") == 0) return begin_kind(r, name);
    return CUZK_OK;
}

static cuzk_status number(reader *r, const entry *e, const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !isfinite(*out))
        return BAD(r, "line %u: %s wants a number, not `%.40s`", r->line, e->key, text);
    const bool whole = e->type == T_COUNT || e->type == T_PRIORITY;
    if (*out < e->least || *out > e->most || (whole && *out != floor(*out)))
        return BAD(r, "line %u: %s wants a%s number from %g to %g", r->line, e->key,
                   whole ? " whole" : "", e->least, e->most);
    return CUZK_OK;
}

static cuzk_status stage(reader *r, const entry *e, const char *text, uint32_t *out) {
    for (cuzk_sched_stage i = CUZK_STAGE_STAGE; i <= CUZK_STAGE_VERIFY; i++) {
        if (strcmp(cuzk_sched_stage_name(i), text) != 0) continue;
        *out = i;
        return CUZK_OK;
    }
    return BAD(r, "line %u: %s wants \"stage\", \"compute\", \"finish\" or \"verify\"", r->line,
               e->key);
}

static cuzk_status unquote(reader *r, const entry *e, char **text) {
    const size_t n = strlen(*text);
    if (n < 2 || (*text)[0] != '"' || (*text)[n - 1] != '"' || memchr(*text + 1, '"', n - 2))
        return BAD(r, "line %u: %s wants a text in quotes", r->line, e->key);
    (*text)[n - 1] = '\0';
    ++*text;
    return CUZK_OK;
}

static cuzk_status store(reader *r, const entry *e, char *text) {
    char *base = r->kind ? (char *)r->kind : (char *)current(r);
    void *at = base + e->at;
    double v = 0;
    if (e->type == T_TEXT || e->type == T_STAGE) CUZK_TRY(unquote(r, e, &text));
    switch (e->type) {
    case T_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return BAD(r, "line %u: %s wants true or false", r->line, e->key);
        *(bool *)at = text[0] == 't';
        return CUZK_OK;
    case T_STAGE:
        return stage(r, e, text, at);
    case T_TEXT:
        if (strlen(text) >= CUZK_SIM_CITE)
            return BAD(r, "line %u: %s has more than %d characters", r->line, e->key,
                       CUZK_SIM_CITE - 1);
        memcpy(at, text, strlen(text) + 1);
        return CUZK_OK;
    default:
        CUZK_TRY(number(r, e, text, &v));
    }
    if (e->type == T_REAL) *(double *)at = v;
    if (e->type == T_COUNT) *(uint32_t *)at = (uint32_t)v;
    if (e->type == T_PRIORITY) *(int *)at = (int)v;
    return CUZK_OK;
}

static cuzk_status setting(reader *r, char *s) {
    char *eq = strchr(s, '=');
    if (!eq) return BAD(r, "line %u: neither `key = value` nor a [section]", r->line);
    *eq = '\0';
    const char *key = trim(s);
    char *value = trim(eq + 1);
    if (!r->section[0]) return BAD(r, "line %u: `%.40s` stands under no [section]", r->line, key);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].section, r->section) == 0 && strcmp(entries[i].key, key) == 0)
            return store(r, &entries[i], value);
    return BAD(r, "line %u: [%s] has no key `%.40s`", r->line, r->section, key);
}

static cuzk_status next_line(reader *r, char *line, size_t room) {
    const char *stop = memchr(r->text, '\n', (size_t)(r->end - r->text));
    const size_t n = (size_t)((stop ? stop : r->end) - r->text);
    r->line++;
    if (n >= room) return BAD(r, "line %u is longer than %zu characters", r->line, room - 1);
    if (memchr(r->text, '\0', n)) return BAD(r, "line %u holds a zero byte", r->line);
    memcpy(line, r->text, n);
    line[n] = '\0';
    r->text += n + (stop != NULL);
    drop_comment(line);
    char *s = trim(line);
    if (*s == '\0') return CUZK_OK;
    return *s == '[' ? section(r, s + 1) : setting(r, s);
}

cuzk_status cuzk_sim_read(cuzk_sim_set *out, const char *text, size_t len, cuzk_err *err) {
    char line[512];
    *out = (cuzk_sim_set){0};
    reader r = {.text = text, .end = text + len, .err = err, .set = out};
    cuzk_sim_defaults(&r.common);
    memcpy(r.common.name, "run", 4);
    while (r.text < r.end) {
        const cuzk_status st = next_line(&r, line, sizeof line);
        if (st == CUZK_STATUS_NO_MEMORY) return cuzk_err_set(err, st, "not enough memory");
        CUZK_TRY(st);
    }
    if (out->n > 0) return CUZK_OK;
    CUZK_TRY(begin_run(&r, "run"));
    return CUZK_OK;
}

void cuzk_sim_free(cuzk_sim_set *set) {
    cuzk_free(set->items);
    *set = (cuzk_sim_set){0};
}

/* "kind.NAME.key" and "section.key" as the reader's section and the key's place in text. */
static cuzk_status enter(reader *r, cuzk_sim_scenario *s, char *text, char **key) {
    char *dot = strchr(text, '.');
    if (!dot || dot - text >= (ptrdiff_t)sizeof r->section)
        return BAD(r, "`%.60s` is no section.key=value or kind.NAME.key=value", text);
    *dot = '\0';
    memcpy(r->section, text, strlen(text) + 1);
    *key = dot + 1;
    if (strcmp(text, "kind") != 0) return CUZK_OK;
    dot = strchr(*key, '.');
    if (dot) *dot = '\0';
    for (uint32_t i = 0; dot && i < s->n_kinds; i++) {
        if (strcmp(s->kinds[i].name, *key) != 0) continue;
        r->kind = &s->kinds[i];
        *key = dot + 1;
        return CUZK_OK;
    }
    return BAD(r, "run %s has no kind `%.40s`", s->name, *key);
}

cuzk_status cuzk_sim_change(cuzk_sim_scenario *s, const char *assignment, cuzk_err *err) {
    char text[512], *key = NULL;
    const size_t n = strlen(assignment);
    if (n >= sizeof text) return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "too long a setting");
    memcpy(text, assignment, n + 1);
    cuzk_sim_set one = {s, 1};
    reader r = {.err = err, .set = &one, .in_run = true};
    cuzk_err inner = {0};
    CUZK_TRY(enter(&r, s, text, &key));
    r.err = &inner;
    const cuzk_status st = setting(&r, key);
    const char *what = strstr(inner.msg, ": ");
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "%s: %s", assignment, what ? what + 2 : inner.msg);
    return CUZK_OK;
}

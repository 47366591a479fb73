/* DESIGN. `cuzk params check` has looked at every file by the name of a circuit's key. What is left
 * in the directory and looks like a key is read by nobody, and whoever put it there thinks
 * otherwise: this says so, and what to do. Names alone are looked at, and of the small files the
 * contents. */
#include "keys/strays.h"

#include "base/buf.h"
#include "base/mem.h"
#include "keys/files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *dir;
    void (*put)(void *ctx, const cuzk_key_report *report);
    void *ctx;
    size_t n;
} watch;

static void tell(watch *w, const char *circuit, const char *file, const cuzk_err *err) {
    cuzk_map map;
    cuzk_err ignored = {0};
    cuzk_buf path = CUZK_BUF_INIT;
    cuzk_key_report r = {.circuit = circuit, .file = file, .state = CUZK_KEY_STRAY, .err = *err};
    cuzk_buf_printf(&path, "%s/%s", w->dir, file);
    if (cuzk_buf_status(&path) == CUZK_OK && cuzk_map_file(&map, path.data, &ignored) == CUZK_OK) {
        r.bytes = map.len;
        cuzk_map_close(&map);
    }
    cuzk_buf_free(&path);
    w->put(w->ctx, &r);
    w->n++;
}

/* ---- files of a circuit ---- */

/* {"sector_size":N}, blanks allowed. */
static bool meta_is(const cuzk_map *m, uint64_t want) {
    char text[64], expected[64];
    size_t n = 0;
    for (size_t i = 0; i < m->len && n < sizeof text - 1; i++)
        if (!memchr(" \t\r\n", m->data[i], 4)) text[n++] = (char)m->data[i];
    text[n] = 0;
    snprintf(expected, sizeof expected, "{\"sector_size\":%" PRIu64 "}", want);
    return strcmp(text, expected) == 0;
}

static void check_meta(watch *w, const cuzk__files *f) {
    cuzk_map map;
    cuzk_err err = {0};
    if (!cuzk__file_exists(f->path[CUZK__META])) return;
    const char *file = strrchr(f->path[CUZK__META], '/') + 1;
    if (cuzk_map_file(&map, f->path[CUZK__META], &err) == CUZK_OK) {
        const bool good = meta_is(&map, f->name.sector_size);
        cuzk_map_close(&map);
        if (good) return;
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s: expected {\"sector_size\":%" PRIu64 "}, actual something else; fetch the "
                     "file again or write that into it",
                     f->path[CUZK__META], f->name.sector_size);
    }
    tell(w, f->circuit->name, file, &err);
}

static void check_set(watch *w, const cuzk__files *f) {
    cuzk_err err = {0};
    const bool params = cuzk__file_exists(f->path[CUZK__PARAMS]);
    const bool vk = cuzk__file_exists(f->path[CUZK__VK]);
    const bool side = cuzk__file_exists(f->path[CUZK__SIDECAR]);
    const bool meta = cuzk__file_exists(f->path[CUZK__META]);
    char file[CUZK_PARAMS_NAME_MAX + 16];
    check_meta(w, f);
    if (params && !vk) {
        snprintf(file, sizeof file, "%s%s", f->name.stem, cuzk__file_suffix[CUZK__VK]);
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s: not there, though the .params is: proofs cannot be verified with half a "
                     "key; fetch it%s",
                     f->path[CUZK__VK],
                     side ? ", or make both again with `cuzk setup --circuit`" : "");
        tell(w, f->circuit->name, file, &err);
    }
    if (params || vk) return;
    const cuzk__file_kind alone[2] = {CUZK__SIDECAR, CUZK__META};
    for (int i = 0; i < 2; i++) {
        if (i == 0 ? !side : !meta) continue;
        snprintf(file, sizeof file, "%s%s", f->name.stem, cuzk__file_suffix[alone[i]]);
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s: no .params and no .vk stand beside it; fetch or make the key, or remove "
                     "this file",
                     f->path[alone[i]]);
        tell(w, f->circuit->name, file, &err);
    }
}

/* ---- other names ---- */

typedef struct {
    char **file;
    size_t n, room;
} names;

static void free_names(names *a) {
    for (size_t i = 0; i < a->n; i++)
        cuzk_free(a->file[i]);
    cuzk_free(a->file);
}

static bool ends_with(const char *s, const char *tail) {
    const size_t n = strlen(s), k = strlen(tail);
    return n > k && strcmp(s + n - k, tail) == 0;
}

/* The suffix of a key's file that the name has, or NULL. */
static const char *suffix_of(const char *name) {
    for (int k = 0; k < CUZK__FILE_KINDS; k++)
        if (ends_with(name, cuzk__file_suffix[k])) return cuzk__file_suffix[k];
    return NULL;
}

/* v28-…, v27-…: a version and a hyphen. */
static bool versioned(const char *name, unsigned *version) {
    char *end;
    if (name[0] != 'v' || name[1] < '0' || name[1] > '9') return false;
    const unsigned long v = strtoul(name + 1, &end, 10);
    *version = v > 9999 ? 9999 : (unsigned)v;
    return *end == '-';
}

/* Names of circuits whose files begin like this one up to the last hyphen. */
static void namesakes(const char *name, cuzk_buf *out) {
    const cuzk_circuit *c;
    cuzk_params_name k;
    const char *hash = strrchr(name, '-');
    for (size_t i = 0; hash && (c = cuzk_circuit_at(i)) != NULL; i++) {
        if (cuzk_filecoin_params_name(&k, c) != CUZK_OK) continue;
        const char *own = strrchr(k.stem, '-');
        if (own - k.stem != hash - name || strncmp(name, k.stem, (size_t)(hash - name)) != 0)
            continue;
        cuzk_buf_printf(out, "%s%s (%.9s...)", out->len ? ", " : "", c->name, own);
    }
}

static void check_name(watch *w, const char *name) {
    cuzk_err err = {0};
    cuzk_buf like = CUZK_BUF_INIT;
    unsigned version;
    const char *suffix = suffix_of(name);
    if (!suffix || cuzk_keys_circuit_of(name, NULL)) return;
    namesakes(name, &like);
    if (!versioned(name, &version))
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s/%s: not the name of a key: no program reads it; `cuzk inspect` says what "
                     "it is, `cuzk setup --help` and Filecoin's parameters.json how keys are named",
                     w->dir, name);
    else if (version != 28)
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s/%s: of version %u of Filecoin's keys, which are at 28: no program reads "
                     "it; it can be removed",
                     w->dir, name, version);
    else if (like.len)
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s/%s: begins like the files of %s, and ends in the hash of another circuit: "
                     "misnamed, or of a circuit that cuzk does not know; fetch it again under its "
                     "own name",
                     w->dir, name, like.failed ? "other circuits" : like.data);
    else
        cuzk_err_set(&err, CUZK_STATUS_BAD_INPUT,
                     "%s/%s: no circuit that cuzk knows has this name (`cuzk circuit list`): no "
                     "program reads it",
                     w->dir, name);
    cuzk_buf_free(&like);
    tell(w, NULL, name, &err);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static cuzk_status read_names(names *out, const char *dir, cuzk_err *err) {
    DIR *d = opendir(dir);
    const struct dirent *e;
    cuzk_status st = CUZK_OK;
    if (!d) return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", dir, strerror(errno));
    while (st == CUZK_OK && (e = readdir(d)) != NULL) {
        if (!suffix_of(e->d_name)) continue;
        if (out->n == out->room) {
            out->room = 2 * out->room + 16;
            st = cuzk_realloc((void **)&out->file, out->room, sizeof *out->file);
        }
        if (st == CUZK_OK) st = cuzk_strdup(&out->file[out->n], e->d_name);
        if (st == CUZK_OK) out->n++;
    }
    closedir(d);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: not enough memory for its names", dir);
    if (out->n) qsort(out->file, out->n, sizeof *out->file, by_name);
    return CUZK_OK;
}

cuzk_status cuzk__keys_strays(const char *dir,
                              void (*put)(void *ctx, const cuzk_key_report *report), void *ctx,
                              size_t *n, cuzk_err *err) {
    watch w = {dir, put, ctx, 0};
    names all = {0};
    const cuzk_circuit *c;
    cuzk_status st = CUZK_OK;
    for (size_t i = 0; st == CUZK_OK && (c = cuzk_circuit_at(i)) != NULL; i++) {
        cuzk__files f;
        st = cuzk__files_of(&f, c, dir, err);
        if (st != CUZK_OK) break;
        check_set(&w, &f);
        cuzk__files_free(&f);
    }
    if (st == CUZK_OK) st = read_names(&all, dir, err);
    for (size_t i = 0; st == CUZK_OK && i < all.n; i++)
        check_name(&w, all.file[i]);
    free_names(&all);
    *n += w.n;
    return st;
}

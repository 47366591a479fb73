/* Names of keys, and where their files are. */
#include "jobs/internal.h"

#include "base/mem.h"
#include "keys/files.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static const char suffix[] = ".zkey";
enum { SUFFIX = sizeof suffix - 1 };

cuzk_status cuzk__jobs_no_memory(cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
}

static cuzk_status join(char **out, const char *dir, const char *name, const char *end,
                        cuzk_err *err) {
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_buf_printf(&b, "%s/%s%s", dir, name, end);
    cuzk_status st = cuzk_buf_status(&b);
    if (st == CUZK_OK) st = cuzk_strdup(out, b.data);
    cuzk_buf_free(&b);
    return st == CUZK_OK ? CUZK_OK : cuzk__jobs_no_memory(err);
}

static bool is_file(const char *path, uint64_t *size) {
    struct stat st;
    const bool yes = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (yes && size) *size = (uint64_t)st.st_size;
    return yes;
}

/* A file's name without .zkey: false when it has no such name that a key may have. */
static bool stem_of(char out[CUZK_ENGINE_KEY_NAME], const char *file) {
    const size_t n = strlen(file);
    if (n <= SUFFIX || n - SUFFIX >= CUZK_ENGINE_KEY_NAME || file[0] == '.' ||
        strcmp(file + n - SUFFIX, suffix) != 0)
        return false;
    memcpy(out, file, n - SUFFIX);
    out[n - SUFFIX] = '\0';
    return cuzk_circuit_find(out) == NULL;
}

/* Calls put for each .zkey of the directory until it returns false. A directory that is not there
 * has none. */
static void each_zkey(const char *dir, bool (*put)(void *ctx, const char *stem, const char *file),
                      void *ctx) {
    char stem[CUZK_ENGINE_KEY_NAME];
    DIR *d = opendir(dir);
    if (!d) return;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (stem_of(stem, e->d_name) && !put(ctx, stem, e->d_name)) break;
    closedir(d);
}

/* ---- by digest ---- */

static bool is_digest(const char *name) {
    return strlen(name) == CUZK_PARAMS_DIGEST_HEX &&
           strspn(name, "0123456789abcdef") == CUZK_PARAMS_DIGEST_HEX;
}

typedef struct search {
    const char *dir, *digest;
    cuzk__where *out;
    bool found;
} search;

static bool compare(void *ctx, const char *stem, const char *file) {
    search *s = ctx;
    cuzk__facts facts;
    cuzk_map map;
    char *path;
    if (join(&path, s->dir, file, "", NULL) != CUZK_OK) return false;
    if (cuzk_map_file(&map, path, NULL) == CUZK_OK) {
        s->found = cuzk__file_digest(&facts, &map, path, NULL, NULL) == CUZK_OK &&
                   strcmp(facts.digest, s->digest) == 0;
        cuzk_map_close(&map);
    }
    if (!s->found) {
        cuzk_free(path);
        return true;
    }
    memcpy(s->out->name, stem, strlen(stem) + 1);
    s->out->path = path;
    return false;
}

/* ---- */

static cuzk_status where_zkey(cuzk__where *out, const cuzk_jobs_keys *keys, const char *name,
                              cuzk_err *err) {
    size_t n = strlen(name);
    if (n > SUFFIX && strcmp(name + n - SUFFIX, suffix) == 0) n -= SUFFIX;
    if (n == 0 || n >= CUZK_ENGINE_KEY_NAME || name[0] == '.' || strchr(name, '/'))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "key: expected the name of a .zkey (less than %d bytes, without /) or "
                            "of a circuit, actual \"%.120s\"",
                            CUZK_ENGINE_KEY_NAME, name);
    memcpy(out->name, name, n);
    out->name[n] = '\0';
    if (!keys->zkey_dir)
        return cuzk_err_set(err, CUZK_STATUS_NOT_FOUND,
                            "key %s: no directory of .zkey files is configured", out->name);
    CUZK_TRY(join(&out->path, keys->zkey_dir, out->name, suffix, err));
    if (is_file(out->path, NULL)) return CUZK_OK;
    search s = {keys->zkey_dir, out->name, out, false};
    char *missing = out->path;
    out->path = NULL;
    if (is_digest(name)) each_zkey(keys->zkey_dir, compare, &s);
    cuzk_status st = CUZK_OK;
    if (!s.found)
        st = cuzk_err_set(err, CUZK_STATUS_NOT_FOUND,
                          "key %s: no file %s, and no circuit of this name", out->name, missing);
    cuzk_free(missing);
    return st;
}

cuzk_status cuzk__jobs_where(cuzk__where *out, const cuzk_jobs_keys *keys, const char *name,
                             cuzk_err *err) {
    *out = (cuzk__where){.circuit = cuzk_circuit_find(name)};
    if (!out->circuit) return where_zkey(out, keys, name, err);
    memcpy(out->name, name, strlen(name) + 1);
    return CUZK_OK;
}

cuzk_status cuzk__jobs_params(char **path, uint64_t *size, const cuzk_jobs_keys *keys,
                              const cuzk_circuit *c, cuzk_err *err) {
    cuzk__files f;
    *path = NULL;
    *size = 0;
    CUZK_TRY(cuzk__files_of(&f, c, keys->params_dir, err));
    const cuzk_status st = cuzk_strdup(path, f.path[CUZK__PARAMS]);
    cuzk__files_free(&f);
    if (st != CUZK_OK) return cuzk__jobs_no_memory(err);
    (void)is_file(*path, size);
    return CUZK_OK;
}

typedef struct listing {
    void (*put)(void *ctx, const char *name, const char *file, bool present);
    void *ctx;
    const char *dir;
    cuzk_status st;
    cuzk_err *err;
} listing;

static bool list_zkey(void *ctx, const char *stem, const char *file) {
    listing *l = ctx;
    char *path;
    l->st = join(&path, l->dir, file, "", l->err);
    if (l->st != CUZK_OK) return false;
    l->put(l->ctx, stem, path, true);
    cuzk_free(path);
    return true;
}

cuzk_status cuzk__jobs_list(const cuzk_jobs_keys *keys,
                            void (*put)(void *ctx, const char *name, const char *file,
                                        bool present),
                            void *ctx, cuzk_err *err) {
    const cuzk_circuit *c;
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++) {
        char *path;
        uint64_t size;
        CUZK_TRY(cuzk__jobs_params(&path, &size, keys, c, err));
        put(ctx, c->name, path, size > 0 || keys->seed);
        cuzk_free(path);
    }
    listing l = {put, ctx, keys->zkey_dir, CUZK_OK, err};
    if (l.dir) each_zkey(l.dir, list_zkey, &l);
    return l.st;
}

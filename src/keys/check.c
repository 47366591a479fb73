#include "keys/keys.h"

#include "format/params.h"
#include "groth16/params_key.h"
#include "keys/files.h"
#include "keys/strays.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

typedef struct {
    const cuzk__files *f;
    cuzk_pool *pool;
    FILE *progress;
} job;

/* Structure and every point of a file that nobody vouches for. */
static cuzk_status check_params(const job *j, const char *path, const cuzk_params_counts *want,
                                cuzk__facts *facts, const cuzk_map *map, cuzk_err *err) {
    cuzk_params *p;
    cuzk_progress bar;
    CUZK_TRY(cuzk_params_from_memory(&p, map->data, map->len, path, want, j->f->circuit->name,
                                     j->pool, err));
    cuzk_status st = CUZK_OK;
    if (!facts->points_good) {
        cuzk_progress_begin(&bar, j->progress, "checking the key's points",
                            (uint64_t)p->n.h + p->n.l + p->n.a + 2 * (uint64_t)p->n.b + 1);
        st = cuzk_params_check_points(p, j->pool, &bar, err);
        cuzk_progress_end(&bar);
    }
    cuzk_params_free(p);
    if (st != CUZK_OK) return st;
    facts->points_good = true;
    cuzk__facts_put(facts, map);
    return CUZK_OK;
}

cuzk_status cuzk_keys_counts(cuzk_params_counts *out, const cuzk_circuit *circuit, cuzk_err *err) {
    cuzk_r1cs *r;
    cuzk_r1cs_density d;
    CUZK_TRY(cuzk_circuit_compact(&r, circuit, err));
    cuzk_status st = cuzk_r1cs_density_of(&d, r);
    if (st == CUZK_OK) {
        cuzk_params_counts_of(out, r, &d);
        cuzk_r1cs_density_free(&d);
    } else {
        cuzk_err_set(err, st, "not enough memory for %s", circuit->name);
    }
    cuzk_r1cs_free(r);
    return st;
}

/* A .params begins with its verifying key: the .vk beside it must hold the same bytes. */
static cuzk_status check_pair(const job *j, const cuzk_map *vk, cuzk_err *err) {
    const char *path = j->f->path[CUZK__PARAMS];
    cuzk_map params;
    if (!cuzk__file_exists(path)) return CUZK_OK;
    CUZK_TRY(cuzk_map_file(&params, path, err));
    const bool same = params.len >= vk->len && memcmp(params.data, vk->data, vk->len) == 0;
    cuzk_map_close(&params);
    if (same) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: is not the verifying key of the .params beside it: they were not made "
                        "together",
                        j->f->path[CUZK__VK]);
}

static cuzk_status check_contents(const job *j, cuzk__file_kind kind, const cuzk_map *map,
                                  cuzk__facts *facts, cuzk_err *err) {
    cuzk_params_counts want;
    CUZK_TRY(cuzk_keys_counts(&want, j->f->circuit, err));
    if (kind == CUZK__PARAMS) return check_params(j, j->f->path[kind], &want, facts, map, err);
    cuzk_params_vk vk;
    CUZK_TRY(cuzk_params_vk_from_bytes(&vk, map->data, map->len, j->f->path[kind], want.ic,
                                       j->f->circuit->name, err));
    cuzk_params_vk_free(&vk);
    return check_pair(j, map, err);
}

static bool is_the_machines(cuzk_status st) {
    return st == CUZK_STATUS_NO_MEMORY || st == CUZK_STATUS_BUG;
}

static cuzk_status look_at(const job *j, cuzk__file_kind kind, cuzk_key_report *r, cuzk_err *err) {
    cuzk_map map;
    cuzk__facts facts;
    const cuzk__files *f = j->f;
    r->official = cuzk__official_digest(f, kind);
    cuzk_status st = cuzk_map_file(&map, f->path[kind], &r->err);
    if (st != CUZK_OK) {
        r->state = CUZK_KEY_BAD;
        return CUZK_OK;
    }
    r->bytes = map.len;
    st = cuzk__file_digest(&facts, &map, f->path[kind], j->progress, &r->err);
    if (st == CUZK_OK) {
        memcpy(r->digest, facts.digest, sizeof r->digest);
        if (r->official && strcmp(r->official, facts.digest) == 0) {
            r->state = CUZK_KEY_OFFICIAL;
        } else {
            st = check_contents(j, kind, &map, &facts, &r->err);
            r->state = st != CUZK_OK          ? CUZK_KEY_BAD
                       : cuzk__has_sidecar(f) ? CUZK_KEY_DEVELOPMENT
                                              : CUZK_KEY_DIFFERS;
        }
    }
    cuzk_map_close(&map);
    if (is_the_machines(st)) return cuzk_err_set(err, st, "%s", r->err.msg);
    return CUZK_OK;
}

cuzk_status cuzk_keys_check(const char *dir, cuzk_pool *pool, FILE *progress,
                            void (*put)(void *ctx, const cuzk_key_report *report), void *ctx,
                            size_t *n, cuzk_err *err) {
    static const cuzk__file_kind kinds[2] = {CUZK__PARAMS, CUZK__VK};
    const cuzk_circuit *c;
    cuzk_status st = CUZK_OK;
    *n = 0;
    DIR *there = opendir(dir);
    if (!there)
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s: no directory of keys can be read there",
                            dir, strerror(errno));
    closedir(there);
    for (size_t i = 0; st == CUZK_OK && (c = cuzk_circuit_at(i)) != NULL; i++) {
        cuzk__files files;
        CUZK_TRY(cuzk__files_of(&files, c, dir, err));
        const job j = {&files, pool, progress};
        for (int k = 0; k < 2 && st == CUZK_OK; k++) {
            char file[CUZK_PARAMS_NAME_MAX + 16];
            if (!cuzk__file_exists(files.path[kinds[k]])) continue;
            snprintf(file, sizeof file, "%s%s", files.name.stem, cuzk__file_suffix[kinds[k]]);
            cuzk_key_report r = {.circuit = c->name, .file = file};
            st = look_at(&j, kinds[k], &r, err);
            if (st != CUZK_OK) break;
            put(ctx, &r);
            ++*n;
        }
        cuzk__files_free(&files);
    }
    if (st == CUZK_OK) st = cuzk__keys_strays(dir, put, ctx, n, err);
    return st;
}

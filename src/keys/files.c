#include "keys/files.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/progress.h"
#include "keys/keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const cuzk__file_suffix[CUZK__FILE_KINDS] = {".params", ".vk", ".meta", ".insecure"};

const char *cuzk_keys_default_dir(void) {
    const char *env = getenv("FIL_PROOFS_PARAMETER_CACHE");
    return env && *env ? env : "/var/tmp/filecoin-proof-parameters";
}

cuzk_status cuzk__files_of(cuzk__files *out, const cuzk_circuit *c, const char *dir,
                           cuzk_err *err) {
    memset(out, 0, sizeof *out);
    out->circuit = c;
    cuzk_status st = cuzk_filecoin_params_name(&out->name, c);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: no name for its keys", c->name);
    if (!dir) dir = cuzk_keys_default_dir();
    for (int i = 0; i < CUZK__FILE_KINDS && st == CUZK_OK; i++) {
        cuzk_buf b = CUZK_BUF_INIT;
        cuzk_buf_printf(&b, "%s/%s%s", dir, out->name.stem, cuzk__file_suffix[i]);
        st = cuzk_buf_status(&b);
        if (st == CUZK_OK) st = cuzk_strdup(&out->path[i], b.data);
        cuzk_buf_free(&b);
    }
    if (st == CUZK_OK) return CUZK_OK;
    cuzk__files_free(out);
    return cuzk_err_set(err, st, "not enough memory for the names of files");
}

void cuzk__files_free(cuzk__files *f) {
    for (int i = 0; i < CUZK__FILE_KINDS; i++) {
        cuzk_free(f->path[i]);
        f->path[i] = NULL;
    }
}

bool cuzk__file_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

bool cuzk__has_sidecar(const cuzk__files *f) {
    struct stat st;
    return stat(f->path[CUZK__SIDECAR], &st) == 0 && S_ISREG(st.st_mode);
}

const char *cuzk__official_digest(const cuzk__files *f, cuzk__file_kind kind) {
    return kind == CUZK__PARAMS ? f->name.params_digest : f->name.vk_digest;
}

cuzk_status cuzk_keys_own(bool *own, const char *dir, const char *path, cuzk_err *err) {
    const cuzk_circuit *c;
    *own = false;
    for (size_t i = 0; !*own && (c = cuzk_circuit_at(i)) != NULL; i++) {
        cuzk__files f;
        CUZK_TRY(cuzk__files_of(&f, c, dir, err));
        for (int k = 0; k < CUZK__FILE_KINDS; k++)
            *own |= cuzk_same_file(f.path[k], path);
        cuzk__files_free(&f);
    }
    return CUZK_OK;
}

const cuzk_circuit *cuzk_keys_circuit_of(const char *path, cuzk_params_name *name) {
    const char *tail = strrchr(path, '/');
    const cuzk_circuit *c;
    cuzk_params_name k;
    tail = tail ? tail + 1 : path;
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++) {
        if (cuzk_filecoin_params_name(&k, c) != CUZK_OK) continue;
        const size_t n = strlen(k.stem);
        if (strncmp(tail, k.stem, n) != 0) continue;
        for (int s = 0; s < CUZK__FILE_KINDS; s++) {
            if (strcmp(tail + n, cuzk__file_suffix[s]) != 0) continue;
            if (name) *name = k;
            return c;
        }
    }
    return NULL;
}

bool cuzk_keys_sidecar_beside(const char *path) {
    cuzk_buf b = CUZK_BUF_INIT;
    const char *dot = strrchr(path, '.');
    struct stat st;
    if (!dot) return false;
    cuzk_buf_append(&b, path, (size_t)(dot - path));
    cuzk_buf_puts(&b, cuzk__file_suffix[CUZK__SIDECAR]);
    const bool there =
        cuzk_buf_status(&b) == CUZK_OK && stat(b.data, &st) == 0 && S_ISREG(st.st_mode);
    cuzk_buf_free(&b);
    return there;
}

void cuzk__digest_text(char out[CUZK_PARAMS_DIGEST_HEX + 1], const uint8_t hash[64]) {
    for (size_t i = 0; i < CUZK_PARAMS_DIGEST_HEX / 2; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

cuzk_status cuzk__file_digest(cuzk__facts *facts, const cuzk_map *map, const char *path,
                              FILE *progress, cuzk_err *err) {
    /* A verifying key decides what is true; reading it again costs nothing. */
    enum { PIECE = 1 << 22, SMALL = 1 << 20 };
    cuzk_progress bar;
    cuzk_hash *h;
    uint8_t hash[64];
    cuzk__facts_get(facts, map);
    if (facts->digest[0] && map->len > SMALL) return CUZK_OK;
    cuzk_status st = cuzk_hash_new(&h, CUZK_HASH_BLAKE2B_512);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "BLAKE2b-512: %s", cuzk_status_text(st));
    cuzk_progress_begin(&bar, progress, "checking the key's digest", map->len ? map->len : 1);
    for (size_t at = 0; at < map->len; at += PIECE) {
        const size_t n = map->len - at < PIECE ? map->len - at : PIECE;
        cuzk_hash_update(h, map->data + at, n);
        cuzk_map_drop(map, at, n);
        cuzk_progress_add(&bar, n);
    }
    cuzk_progress_end(&bar);
    st = cuzk_hash_final(h, hash);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: BLAKE2b-512 failed", path);
    cuzk__digest_text(facts->digest, hash);
    cuzk__facts_put(facts, map);
    return CUZK_OK;
}

cuzk_status cuzk_keys_digest(char out[CUZK_PARAMS_DIGEST_HEX + 1], const cuzk_map *map,
                             const char *path, FILE *progress, cuzk_err *err) {
    cuzk__facts facts;
    CUZK_TRY(cuzk__file_digest(&facts, map, path, progress, err));
    memcpy(out, facts.digest, sizeof facts.digest);
    return CUZK_OK;
}

/* One circuit's files in the parameter directory, and what is known about a file. Internal to
 * keys. */
#ifndef CUZK_KEYS_FILES_H
#define CUZK_KEYS_FILES_H

#include "base/file.h"
#include "base/status.h"
#include "filecoin/params.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum cuzk__file_kind {
    CUZK__PARAMS,
    CUZK__VK,
    CUZK__META,
    CUZK__SIDECAR,
    CUZK__FILE_KINDS
} cuzk__file_kind;

extern const char *const cuzk__file_suffix[CUZK__FILE_KINDS]; /* ".params", … */

typedef struct cuzk__files {
    const cuzk_circuit *circuit;
    cuzk_params_name name;
    char *path[CUZK__FILE_KINDS];
} cuzk__files;

cuzk_status cuzk__files_of(cuzk__files *out, const cuzk_circuit *c, const char *dir,
                           cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__files_free(cuzk__files *f);
/* Whatever it is, a link to nothing included. */
bool cuzk__file_exists(const char *path);
/* The files of this name say that they are development keys. */
bool cuzk__has_sidecar(const cuzk__files *f);
/* The published digest of the .params or the .vk, or NULL. */
const char *cuzk__official_digest(const cuzk__files *f, cuzk__file_kind kind);

/* What was found out about a version of a file, told apart by device, inode, size and times.
 * Remembered in $XDG_CACHE_HOME/cuzk/files ($HOME/.cache when that is not set), so that large keys
 * are read once. */
typedef struct cuzk__facts {
    char digest[CUZK_PARAMS_DIGEST_HEX + 1]; /* empty: not known */
    bool points_good;                        /* every point was checked */
} cuzk__facts;

/* Zeroed facts when nothing is known. */
void cuzk__facts_get(cuzk__facts *out, const cuzk_map *map);
/* A cache that cannot be written is no error. */
void cuzk__facts_put(const cuzk__facts *facts, const cuzk_map *map);

/* The digest of a mapped file, from the facts or by reading it all, and then remembered. */
cuzk_status cuzk__file_digest(cuzk__facts *facts, const cuzk_map *map, const char *path,
                              FILE *progress, cuzk_err *err) CUZK_MUST_CHECK;

/* The first digits of a BLAKE2b-512 digest. */
void cuzk__digest_text(char out[CUZK_PARAMS_DIGEST_HEX + 1], const uint8_t hash[64]);

#endif

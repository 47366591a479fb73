#include "keys/keys.h"

#include "base/mem.h"
#include "keys/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char sidecar[] =
    "The keys of this name were made by `cuzk setup` from known secrets: whoever knows them can\n"
    "forge proofs. They are for development only. Programs take them with --allow-insecure-keys.\n";

/* A sidecar may have stayed behind when the published files were fetched over development keys. */
static cuzk_status not_official(const cuzk__files *f, FILE *progress, cuzk_err *err) {
    static const cuzk__file_kind kinds[2] = {CUZK__PARAMS, CUZK__VK};
    for (int i = 0; i < 2; i++) {
        const char *official = cuzk__official_digest(f, kinds[i]);
        cuzk_map map;
        cuzk__facts facts;
        if (!official || !cuzk__file_exists(f->path[kinds[i]])) continue;
        CUZK_TRY(cuzk_map_file(&map, f->path[kinds[i]], err));
        const cuzk_status st = cuzk__file_digest(&facts, &map, f->path[kinds[i]], progress, err);
        cuzk_map_close(&map);
        CUZK_TRY(st);
        if (strcmp(official, facts.digest) == 0)
            return cuzk_err_set(
                err, CUZK_STATUS_USAGE,
                "%s: is the published key, whatever %s says: not overwritten; choose "
                "another directory",
                f->path[kinds[i]], cuzk__file_suffix[CUZK__SIDECAR]);
    }
    return CUZK_OK;
}

static cuzk_status may_write(const cuzk__files *f, const char *dir, FILE *progress, cuzk_err *err) {
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: cannot make the directory: %s", dir,
                            strerror(errno));
    if (cuzk__has_sidecar(f)) return not_official(f, progress, err);
    for (int i = 0; i < CUZK__FILE_KINDS; i++) {
        if (cuzk__file_exists(f->path[i]))
            return cuzk_err_set(err, CUZK_STATUS_USAGE,
                                "%s: exists and is no development key (there is no %s%s): not "
                                "overwritten; choose another directory",
                                f->path[i], f->name.stem, cuzk__file_suffix[CUZK__SIDECAR]);
    }
    return CUZK_OK;
}

/* The small files, complete on the medium but not visible yet. */
static cuzk_status write_small(cuzk_out out[CUZK__FILE_KINDS], const cuzk__files *f,
                               const cuzk_params_vk *vk, cuzk_err *err) {
    cuzk_status st = CUZK_OK;
    for (int i = CUZK__VK; i < CUZK__FILE_KINDS && st == CUZK_OK; i++) {
        cuzk_buf b = CUZK_BUF_INIT;
        if (i == CUZK__VK) cuzk_params_vk_to_bytes(vk, &b);
        if (i == CUZK__META) cuzk_params_meta(f->name.sector_size, &b);
        if (i == CUZK__SIDECAR) cuzk_buf_puts(&b, sidecar);
        st = cuzk_buf_status(&b);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for %s", f->path[i]);
        if (st == CUZK_OK) st = cuzk_out_open(&out[i], f->path[i], err);
        if (st == CUZK_OK) st = cuzk_out_write(&out[i], b.data, b.len, err);
        if (st == CUZK_OK) st = cuzk_out_sync(&out[i], err);
        cuzk_buf_free(&b);
    }
    return st;
}

/* We made them, so that nobody has to read them again to know. */
static void remember(const cuzk__files *f, const uint8_t hash[64]) {
    cuzk_map map;
    cuzk__facts facts = {.points_good = true};
    cuzk_err ignored = {0};
    if (cuzk_map_file(&map, f->path[CUZK__PARAMS], &ignored) != CUZK_OK) return;
    cuzk__digest_text(facts.digest, hash);
    cuzk__facts_put(&facts, &map);
    cuzk_map_close(&map);
}

static cuzk_status make(const cuzk__files *f, const char *dir, const cuzk_r1cs *r1cs,
                        const cuzk_r1cs_density *density, const cuzk_toxic *toxic,
                        const cuzk_setup_opts *opts, cuzk_err *err) {
    cuzk_out out[CUZK__FILE_KINDS];
    cuzk_params_vk vk = {.vk = {0}};
    uint8_t hash[64];
    for (int i = 0; i < CUZK__FILE_KINDS; i++)
        out[i] = (cuzk_out){.fd = -1};
    cuzk_status st = cuzk_out_open(&out[CUZK__PARAMS], f->path[CUZK__PARAMS], err);
    if (st == CUZK_OK)
        st = cuzk_groth16_setup_params(r1cs, density, toxic, f->circuit->name, &out[CUZK__PARAMS],
                                       &vk, hash, opts, err);
    if (st == CUZK_OK) st = cuzk_out_sync(&out[CUZK__PARAMS], err);
    if (st == CUZK_OK) st = write_small(out, f, &vk, err);
    /* once more: files may have arrived meanwhile */
    if (st == CUZK_OK) st = may_write(f, dir, opts->progress, err);
    /* the sidecar first: no key is ever there without it */
    for (int i = CUZK__FILE_KINDS - 1; i >= 0; i--) {
        if (st == CUZK_OK)
            st = cuzk_out_commit(&out[i], err);
        else
            cuzk_out_abort(&out[i]);
    }
    if (st == CUZK_OK) remember(f, hash);
    cuzk_params_vk_free(&vk);
    return st;
}

cuzk_status cuzk_keys_setup(const cuzk_circuit *circuit, const cuzk_r1cs *r1cs,
                            const cuzk_toxic *toxic, const char *dir, const cuzk_setup_opts *opts,
                            cuzk_params_name *name, cuzk_err *err) {
    cuzk__files files;
    cuzk_r1cs_density density;
    if (!dir) dir = cuzk_keys_default_dir();
    CUZK_TRY(cuzk__files_of(&files, circuit, dir, err));
    if (name) *name = files.name;
    cuzk_status st = may_write(&files, dir, opts->progress, err);
    if (st == CUZK_OK) {
        st = cuzk_r1cs_density_of(&density, r1cs);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for %s", circuit->name);
    }
    if (st == CUZK_OK) {
        st = make(&files, dir, r1cs, &density, toxic, opts, err);
        cuzk_r1cs_density_free(&density);
    }
    cuzk__files_free(&files);
    return st;
}

/* DESIGN. A key is taken when its digest is the published one. Another key is taken only when it
 * says that it is a development key (the sidecar) and the caller allows such: then nobody vouches
 * for its points, and they are checked, once for each version of the file. */
#include "keys/keys.h"

#include "backend/cpu/cpu.h"
#include "base/mem.h"
#include "filecoin/public.h"
#include "groth16/params_key.h"
#include "keys/files.h"

#include <string.h>

struct cuzk_circuit_key {
    cuzk__files files;
    const cuzk_r1cs *r1cs;
    cuzk_params_counts counts;
    cuzk_params_key *key;
    cuzk_backend *cpu;
    cuzk_device_key *device;
    cuzk_pool *pool;
    bool insecure;
};

/* ---- whether a file may be used ---- */

static cuzk_status refuse(const cuzk__files *f, cuzk__file_kind kind, const char *digest,
                          bool sidecar, cuzk_err *err) {
    const char *path = f->path[kind], *official = cuzk__official_digest(f, kind);
    char against[96];
    if (official)
        snprintf(against, sizeof against, "expected %s (the published file's)", official);
    else
        snprintf(against, sizeof against, "and none is published for %s", f->circuit->name);
    if (sidecar)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: a development key: its digest is %s, %s, and %s stands beside it; "
                            "--allow-insecure-keys takes it",
                            path, digest, against, cuzk__file_suffix[CUZK__SIDECAR]);
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: not the official key: its digest is %s, %s; fetch the file again, or "
                        "make a development key with `cuzk setup --circuit %s`",
                        path, digest, against, f->circuit->name);
}

static cuzk_status need_file(const cuzk__files *f, cuzk__file_kind kind, cuzk_err *err) {
    if (cuzk__file_exists(f->path[kind])) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO,
                        "%s: no such file: the key of %s must be in this directory (--params, or "
                        "FIL_PROOFS_PARAMETER_CACHE); fetch the published one, or make a "
                        "development key with `cuzk setup --circuit %s`",
                        f->path[kind], f->circuit->name, f->circuit->name);
}

static cuzk_status judge(const cuzk__files *f, cuzk__file_kind kind, const cuzk_map *map,
                         const cuzk_keys_opts *opts, cuzk__facts *facts, bool *insecure,
                         cuzk_err *err) {
    const char *official = cuzk__official_digest(f, kind);
    *insecure = false;
    CUZK_TRY(cuzk__file_digest(facts, map, f->path[kind], opts->progress, err));
    if (official && strcmp(official, facts->digest) == 0) return CUZK_OK;
    const bool sidecar = cuzk__has_sidecar(f);
    if (!sidecar || !opts->allow_insecure) return refuse(f, kind, facts->digest, sidecar, err);
    *insecure = true;
    return CUZK_OK;
}

static cuzk_status check_points(const cuzk_params *file, cuzk__facts *facts,
                                const cuzk_keys_opts *opts, cuzk_err *err) {
    cuzk_progress bar;
    if (facts->points_good) return CUZK_OK;
    const cuzk_params_counts *n = &file->n;
    cuzk_progress_begin(&bar, opts->progress, "checking the key's points",
                        (uint64_t)n->h + n->l + n->a + 2 * (uint64_t)n->b + 1);
    const cuzk_status st = cuzk_params_check_points(file, opts->pool, &bar, err);
    cuzk_progress_end(&bar);
    if (st != CUZK_OK) return st;
    facts->points_good = true;
    cuzk__facts_put(facts, &file->map);
    return CUZK_OK;
}

/* ---- proving keys ---- */

static cuzk_status load(cuzk_circuit_key *k, const cuzk_params *file,
                        const cuzk_r1cs_density *density, const cuzk_keys_opts *opts,
                        cuzk_err *err) {
    cuzk_progress bar;
    const cuzk_params_counts *n = &file->n;
    cuzk_progress_begin(&bar, opts->progress, "loading the key",
                        (uint64_t)n->h + n->l + n->a + 2 * (uint64_t)n->b + 1);
    const cuzk_status st = cuzk_params_key_new(&k->key, file, k->r1cs, density, k->pool, &bar, err);
    cuzk_progress_end(&bar);
    return st;
}

static cuzk_status open_and_load(cuzk_circuit_key *k, const cuzk_r1cs_density *density,
                                 const cuzk_keys_opts *opts, cuzk_err *err) {
    cuzk_params *file;
    cuzk__facts facts;
    CUZK_TRY(need_file(&k->files, CUZK__PARAMS, err));
    CUZK_TRY(cuzk_params_open(&file, k->files.path[CUZK__PARAMS], &k->counts,
                              k->files.circuit->name, k->pool, err));
    cuzk_status st = judge(&k->files, CUZK__PARAMS, &file->map, opts, &facts, &k->insecure, err);
    if (st == CUZK_OK && k->insecure) st = check_points(file, &facts, opts, err);
    if (st == CUZK_OK) st = load(k, file, density, opts, err);
    cuzk_params_free(file);
    return st;
}

/* ---- keys from a seed, without files ---- */

static cuzk_status seed_secrets(cuzk_toxic *toxic, const char *name, const cuzk_keys_opts *opts,
                                cuzk_err *err) {
    if (!opts->allow_insecure)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "%s: a key from a seed is a development key, and none is allowed",
                            name);
    return cuzk_toxic_from_hex(toxic, cuzk_curve_get(CUZK_BLS12_381), opts->seed, err);
}

static cuzk_status make_from_seed(cuzk_circuit_key *k, const cuzk_r1cs_density *density,
                                  const cuzk_keys_opts *opts, cuzk_err *err) {
    const char *name = k->files.circuit->name;
    cuzk_toxic toxic;
    if (!opts->data_only)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s: only a GPU takes a key from a seed", name);
    CUZK_TRY(seed_secrets(&toxic, name, opts, err));
    k->insecure = true;
    const cuzk_status st =
        cuzk_groth16_setup_logs(&k->key, k->r1cs, density, &toxic, name, false, k->pool, err);
    cuzk_wipe(&toxic, sizeof toxic);
    return st;
}

static cuzk_status vk_from_seed(cuzk_params_vk *vk, const cuzk_circuit *circuit,
                                const cuzk_keys_opts *opts, cuzk_err *err) {
    cuzk_r1cs_density density;
    cuzk_toxic toxic;
    cuzk_r1cs *r1cs;
    CUZK_TRY(seed_secrets(&toxic, circuit->name, opts, err));
    cuzk_status st = cuzk_circuit_compact(&r1cs, circuit, err);
    if (st == CUZK_OK) {
        st = cuzk_r1cs_density_of(&density, r1cs);
        if (st != CUZK_OK) {
            (void)cuzk_err_set(err, st, "not enough memory for %s", circuit->name);
        } else {
            st = cuzk_groth16_setup_vk(vk, r1cs, &density, &toxic, circuit->name, opts->pool, err);
            cuzk_r1cs_density_free(&density);
        }
        cuzk_r1cs_free(r1cs);
    }
    cuzk_wipe(&toxic, sizeof toxic);
    return st;
}

/* ---- */

static cuzk_status open_device(cuzk_circuit_key *k, cuzk_err *err) {
    CUZK_TRY(cuzk_cpu_backend_open(&k->cpu, CUZK_CPU_AUTO, k->pool, err));
    return k->cpu->ops->key_load(k->cpu, &k->device, &k->key->key, err);
}

cuzk_status cuzk_circuit_key_open(cuzk_circuit_key **out, const cuzk_circuit *circuit,
                                  const cuzk_r1cs *r1cs, const cuzk_keys_opts *opts,
                                  cuzk_err *err) {
    cuzk_r1cs_density density;
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof(cuzk_circuit_key)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a key");
    cuzk_circuit_key *k = mem;
    k->r1cs = r1cs;
    k->pool = opts->pool;
    cuzk_status st = cuzk__files_of(&k->files, circuit, opts->dir, err);
    if (st == CUZK_OK) {
        st = cuzk_r1cs_density_of(&density, r1cs);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for %s", circuit->name);
    }
    if (st == CUZK_OK) {
        cuzk_params_counts_of(&k->counts, r1cs, &density);
        st = opts->seed ? make_from_seed(k, &density, opts, err)
                        : open_and_load(k, &density, opts, err);
        cuzk_r1cs_density_free(&density);
    }
    if (st == CUZK_OK) k->key->key.plan = opts->plan;
    if (st == CUZK_OK && !opts->data_only) st = open_device(k, err);
    if (st == CUZK_OK)
        *out = k;
    else
        cuzk_circuit_key_free(k);
    return st;
}

void cuzk_circuit_key_free(cuzk_circuit_key *k) {
    if (!k) return;
    if (k->cpu) {
        k->cpu->ops->key_free(k->device);
        k->cpu->ops->close(k->cpu);
    }
    cuzk_params_key_free(k->key);
    cuzk__files_free(&k->files);
    cuzk_free(k);
}

const cuzk_vk *cuzk_circuit_key_vk(const cuzk_circuit_key *key) {
    return &key->key->vk.vk;
}

const cuzk_proving_key *cuzk_circuit_key_data(const cuzk_circuit_key *key) {
    return &key->key->key;
}

void cuzk_circuit_key_drop_bases(cuzk_circuit_key *key) {
    if (!key->cpu) cuzk_params_key_drop_bases(key->key);
}

bool cuzk_circuit_key_is_insecure(const cuzk_circuit_key *key) {
    return key->insecure;
}

/* ---- proving ---- */

/* For a proof that does not verify: reads the file again, every point of it. */
static cuzk_status look_for_bad_point(const void *ctx, cuzk_pool *pool, cuzk_err *err) {
    const cuzk_circuit_key *k = ctx;
    cuzk_params *file;
    CUZK_TRY(cuzk_params_open(&file, k->files.path[CUZK__PARAMS], &k->counts,
                              k->files.circuit->name, pool, err));
    const cuzk_status st = cuzk_params_check_points(file, pool, NULL, err);
    cuzk_params_free(file);
    return st;
}

/* A proof that cannot be: names the row that the witness breaks. */
static cuzk_status name_row(const cuzk_circuit_key *k, const cuzk_witness *w, cuzk_err *err) {
    cuzk_err row = {.status = CUZK_OK};
    if (cuzk_witness_check(w, NULL, &row) != CUZK_STATUS_FALSE) return CUZK_STATUS_FALSE;
    return cuzk_err_set(err, CUZK_STATUS_FALSE, "no proof: the witness breaks %s: %s",
                        k->files.circuit->name, row.msg);
}

static cuzk_status prove_on(cuzk_device_key *device, const cuzk_circuit_key *k,
                            const cuzk_witness *w, const cuzk_prove_opts *opts, cuzk_proof *out,
                            cuzk_prove_stats *stats, cuzk_err *err) {
    const cuzk_backend_ops *ops = device->backend->ops;
    const cuzk_wires wires = {.bits = w->bits, .full = w->full, .montgomery = true};
    cuzk_slot *slot;
    CUZK_TRY(ops->slot_new(device, &slot, err));
    const cuzk_status st =
        cuzk_groth16_prove_slot(slot, &wires, &k->key->vk.vk, opts, out, stats, err);
    ops->slot_free(slot);
    return st == CUZK_STATUS_FALSE ? name_row(k, w, err) : st;
}

cuzk_status cuzk_circuit_key_prove(const cuzk_circuit_key *k, const cuzk_witness *w,
                                   const cuzk_prove_opts *given, cuzk_proof *out,
                                   cuzk_prove_stats *stats, cuzk_err *err) {
    cuzk_prove_opts opts = {.impl = CUZK_CPU_AUTO};
    if (given) opts = *given;
    opts.pool = k->pool;
    opts.check_key = look_for_bad_point;
    opts.check_ctx = k;
    memset(out, 0, sizeof *out);
    if (w->r1cs != k->r1cs)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a witness of another circuit than %s",
                            k->files.circuit->name);
    cuzk_backend *own = NULL;
    cuzk_device_key *device = k->device;
    cuzk_status st = CUZK_OK;
    if (opts.backend || opts.impl != CUZK_CPU_AUTO) {
        cuzk_backend *b = opts.backend;
        if (!b) st = cuzk_cpu_backend_open(&own, opts.impl, k->pool, err);
        if (!b) b = own;
        if (st == CUZK_OK) st = b->ops->key_load(b, &device, &k->key->key, err);
        if (st == CUZK_OK) {
            st = prove_on(device, k, w, &opts, out, stats, err);
            b->ops->key_free(device);
        }
        if (own) own->ops->close(own);
    } else {
        st = prove_on(device, k, w, &opts, out, stats, err);
    }
    cuzk_wipe(&opts, sizeof opts);
    return st;
}

cuzk_status cuzk_circuit_key_prove_inputs(const cuzk_circuit_key *k, cuzk_slot *slot,
                                          const cuzk_u256 *frees, const cuzk_u256 *publics,
                                          const cuzk_prove_opts *given, cuzk_proof *out,
                                          cuzk_prove_stats *stats, cuzk_err *err) {
    cuzk_prove_opts opts = {.impl = CUZK_CPU_AUTO};
    if (given) opts = *given;
    opts.pool = k->pool;
    opts.check_key = look_for_bad_point;
    opts.check_ctx = k;
    memset(out, 0, sizeof *out);
    if (slot->key->key != &k->key->key)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a slot of another circuit than %s",
                            k->files.circuit->name);
    const cuzk_status st = cuzk_groth16_prove_inputs(slot, frees, k->r1cs->n_free, publics,
                                                     &k->key->vk.vk, &opts, out, stats, err);
    cuzk_wipe(&opts, sizeof opts);
    return st;
}

/* ---- verifying keys ---- */

/* A .params begins with its .vk, the copy of beta and delta in G1 included. */
static cuzk_status same_beginning(const cuzk__files *f, const cuzk_map *vk, cuzk_err *err) {
    cuzk_map params;
    CUZK_TRY(need_file(f, CUZK__PARAMS, err));
    CUZK_TRY(cuzk_map_file(&params, f->path[CUZK__PARAMS], err));
    const bool same = params.len > vk->len && memcmp(params.data, vk->data, vk->len) == 0;
    cuzk_map_close(&params);
    if (same) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: begins otherwise than %s: the two are of different keys",
                        f->path[CUZK__PARAMS], f->path[CUZK__VK]);
}

static cuzk_status open_vk(cuzk_params_vk *vk, bool *insecure, const cuzk_circuit *circuit,
                           const cuzk_keys_opts *opts, bool prover, cuzk_err *err) {
    cuzk__files files;
    cuzk__facts facts;
    cuzk_map map;
    bool development = false;
    memset(vk, 0, sizeof *vk);
    if (opts->seed) {
        if (insecure) *insecure = true;
        return vk_from_seed(vk, circuit, opts, err);
    }
    CUZK_TRY(cuzk__files_of(&files, circuit, opts->dir, err));
    cuzk_status st = need_file(&files, CUZK__VK, err);
    if (st == CUZK_OK) st = cuzk_map_file(&map, files.path[CUZK__VK], err);
    if (st == CUZK_OK) {
        st = judge(&files, CUZK__VK, &map, opts, &facts, &development, err);
        if (st == CUZK_OK)
            st = cuzk_params_vk_from_bytes(vk, map.data, map.len, files.path[CUZK__VK],
                                           (uint32_t)cuzk_circuit_public(circuit) + 1,
                                           circuit->name, err);
        if (st == CUZK_OK && prover) {
            st = same_beginning(&files, &map, err);
            if (st != CUZK_OK) cuzk_params_vk_free(vk);
        }
        cuzk_map_close(&map);
    }
    if (insecure) *insecure = development;
    cuzk__files_free(&files);
    return st;
}

cuzk_status cuzk_circuit_vk_open(cuzk_vk *out, bool *insecure, const cuzk_circuit *circuit,
                                 const cuzk_keys_opts *opts, cuzk_err *err) {
    cuzk_params_vk vk;
    memset(out, 0, sizeof *out);
    CUZK_TRY(open_vk(&vk, insecure, circuit, opts, false, err));
    *out = vk.vk;
    return CUZK_OK;
}

cuzk_status cuzk_circuit_prover_vk_open(cuzk_params_vk *out, bool *insecure,
                                        const cuzk_circuit *circuit, const cuzk_keys_opts *opts,
                                        cuzk_err *err) {
    return open_vk(out, insecure, circuit, opts, true, err);
}

cuzk_status cuzk_witness_publics(cuzk_u256 *out, const cuzk_witness *w) {
    for (uint32_t i = 1; i < w->r1cs->n_inputs; i++)
        CUZK_TRY(cuzk_witness_get(&out[i - 1], w, i));
    return CUZK_OK;
}

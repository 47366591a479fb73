/* The work provider's table: what does not depend on the kind of job. DESIGN
 *
 * A device's result is not believed. The proof is assembled here with fresh blinding and verified
 * with the public inputs that follow from what the client sent (a PoRep's from its C1 output, not
 * from the witness), so neither a wrong witness nor a wrong sum gets through. */
#include "jobs/internal.h"

#include "base/mem.h"
#include "format/proof_bytes.h"
#include "groth16/assemble.h"
#include "groth16/groth16.h"
#include "jobs/points.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

cuzk_status cuzk_jobs_new(cuzk_jobs **out, const cuzk_jobs_config *config, cuzk_err *err) {
    cuzk_jobs *j;
    *out = NULL;
    if (cuzk_alloc((void **)&j, 1, sizeof *j) != CUZK_OK) return cuzk__jobs_no_memory(err);
    j->config = *config;
    if (cuzk_poseidon_set_init(&j->set) != CUZK_OK) {
        cuzk_free(j);
        return cuzk__jobs_no_memory(err);
    }
    if (pthread_mutex_init(&j->lock, NULL) != 0) {
        cuzk_poseidon_set_fini(&j->set);
        cuzk_free(j);
        return cuzk__jobs_no_memory(err);
    }
    *out = j;
    return CUZK_OK;
}

void cuzk_jobs_free(cuzk_jobs *j) {
    if (!j) return;
    while (j->keys) {
        j->keys->refs = 1;
        cuzk__jobs_key_done(j, j->keys);
    }
    (void)pthread_mutex_destroy(&j->lock);
    cuzk_poseidon_set_fini(&j->set);
    cuzk_free(j->figures);
    cuzk_free(j);
}

/* ---- keys ---- */

static cuzk_status keys(void *self,
                        void (*put)(void *ctx, const char *name, const char *file, bool present),
                        void *ctx, cuzk_err *err) {
    const cuzk_jobs *j = self;
    return cuzk__jobs_list(&j->config.keys, put, ctx, err);
}

/* Of the file as it lies there: its inode, length and time of change; 0: there is none. */
static uint64_t identity_of(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    const uint64_t words[] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                              (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec};
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        h = (h ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 33;
    }
    return h;
}

static cuzk_status zkey_plan(cuzk_jobs *j, const char *name, const char *path,
                             cuzk_engine_key_plan *out, cuzk_err *err) {
    cuzk__figures f;
    cuzk_zkey *zk;
    CUZK_TRY(cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_SIZES, NULL, err));
    const cuzk_status st = cuzk__jobs_zkey_figures(j, name, zk, &f, err);
    if (st == CUZK_OK) *out = (cuzk_engine_key_plan){f.host, f.device, zk->len, identity_of(path)};
    cuzk_zkey_free(zk);
    return st;
}

static cuzk_status circuit_plan(cuzk_jobs *j, const cuzk_circuit *c, cuzk_engine_key_plan *out,
                                cuzk_err *err) {
    cuzk__figures f;
    char *path;
    uint64_t size;
    CUZK_TRY(cuzk__jobs_params(&path, &size, &j->config.keys, c, err));
    cuzk_status st = CUZK_OK;
    if (!size && !j->config.keys.seed)
        st = cuzk_err_set(err, CUZK_STATUS_NOT_FOUND,
                          "%s: no such file: the key of %s must be in this directory; fetch the "
                          "published one, or make a development key with `cuzk setup --circuit %s`",
                          path, c->name, c->name);
    const uint64_t identity = identity_of(path);
    cuzk_free(path);
    if (st == CUZK_OK) st = cuzk__jobs_figures(j, c, &f, err);
    if (st == CUZK_OK) *out = (cuzk_engine_key_plan){f.host, f.device, size, identity};
    return st;
}

static cuzk_status key_plan(void *self, const char *key, cuzk_engine_key_plan *out, cuzk_err *err) {
    cuzk_jobs *j = self;
    cuzk__where w;
    CUZK_TRY(cuzk__jobs_where(&w, &j->config.keys, key, err));
    const cuzk_status st =
        w.circuit ? circuit_plan(j, w.circuit, out, err) : zkey_plan(j, w.name, w.path, out, err);
    cuzk_free(w.path);
    return st;
}

static cuzk_status key_load(void *self, const char *key, cuzk_err *err) {
    return cuzk__jobs_key_load(self, key, err);
}

static void key_free(void *self, const char *key) {
    cuzk__jobs_key_free(self, key);
}

/* ---- jobs ---- */

static void job_free(void *self, void *p) {
    cuzk__job *job = p;
    (void)self;
    if (!job) return;
    cuzk_statement_free(job->statement);
    cuzk_vanilla_free(job->vanilla);
    cuzk_wtns_free(job->wtns);
    cuzk_free(job);
}

static cuzk_status job_open(void *self, const cuzk_engine_payload *payload, void **out,
                            cuzk_engine_plan *plan, cuzk_err *err) {
    cuzk__job *job;
    cuzk_status st;
    *out = NULL;
    memset(plan, 0, sizeof *plan);
    if (cuzk_alloc((void **)&job, 1, sizeof *job) != CUZK_OK) return cuzk__jobs_no_memory(err);
    job->kind = payload->kind;
    if (payload->kind == CUZK_ENGINE_CIRCOM)
        st = cuzk__job_open_circom(self, job, payload, plan, err);
    else
        st = cuzk__job_open_filecoin(self, job, payload, plan, err);
    if (st != CUZK_OK) {
        job_free(self, job);
        return st;
    }
    memcpy(plan->key, job->key, sizeof plan->key);
    plan->n_partitions = job->partitions;
    plan->shared_host += sizeof *job;
    *out = job;
    return CUZK_OK;
}

/* ---- witnesses ---- */

cuzk_status cuzk__witness_open(cuzk_engine_witness *w, size_t len, cuzk_err *err) {
    *w = (cuzk_engine_witness){.fd = -1};
    const int fd = memfd_create("cuzk-witness", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)len) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        const int e = errno;
        if (fd >= 0) (void)close(fd);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "no room for a witness of %zu bytes: %s",
                            len, strerror(e));
    }
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        (void)close(fd);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "no room for a witness of %zu bytes", len);
    }
    (void)madvise(p, len, MADV_HUGEPAGE);
    (void)madvise(p, len, MADV_DONTDUMP);
    *w = (cuzk_engine_witness){fd, len, p};
    return CUZK_OK;
}

static void witness_free(void *self, cuzk_engine_witness *w) {
    (void)self;
    if (!w->data) return;
    cuzk_wipe(w->data, w->len);
    (void)munmap(w->data, w->len);
    if (w->fd >= 0) (void)close(w->fd);
    *w = (cuzk_engine_witness){.fd = -1};
}

static cuzk_status witness(void *self, void *p, uint32_t partition, const atomic_bool *cancel,
                           cuzk_engine_witness *out, cuzk_err *err) {
    cuzk__job *job = p;
    cuzk__jobs_key *k;
    *out = (cuzk_engine_witness){.fd = -1};
    CUZK_TRY(cuzk__jobs_key_use(self, job->key, &k, err));
    const cuzk_status st =
        job->kind == CUZK_ENGINE_CIRCOM
            ? cuzk__job_witness_circom(job, k, out, err)
            : cuzk__job_witness_filecoin(self, job, k, partition, cancel, out, err);
    if (st != CUZK_OK) witness_free(self, out);
    cuzk__jobs_key_done(self, k);
    return st;
}

/* ---- proofs ---- */

cuzk_status cuzk__job_publics(cuzk_u256 **out, const cuzk__job *job, uint32_t first, uint32_t n,
                              cuzk_err *err) {
    if (job->kind != CUZK_ENGINE_CIRCOM)
        return cuzk_statement_publics(out, job->statement, first, n, err);
    if (cuzk_alloc((void **)out, job->n_public, sizeof **out) != CUZK_OK)
        return cuzk__jobs_no_memory(err);
    if (job->n_public) memcpy(*out, job->wtns->values + sizeof **out, job->n_public * sizeof **out);
    return CUZK_OK;
}

static cuzk_status assemble_proof(const cuzk__jobs_key *k, const cuzk_groth16_sums *sums,
                                  cuzk_proof *out, cuzk_err *err) {
    const cuzk_fr_ops *fr = k->vk->curve->fr;
    cuzk_u256 r, s;
    cuzk_status st = cuzk_groth16_fresh_scalar(fr, &r, err);
    if (st == CUZK_OK) st = cuzk_groth16_fresh_scalar(fr, &s, err);
    if (st == CUZK_OK) cuzk_groth16_assemble(&k->points, sums, &r, &s, out);
    cuzk_wipe(&r, sizeof r);
    cuzk_wipe(&s, sizeof s);
    cuzk_wipe_stack();
    return st;
}

/* Also that the points are in their groups: nobody else would take them. */
static cuzk_status encode(const cuzk__job *job, const cuzk_proof *proof, uint8_t *out, size_t *len,
                          cuzk_err *err) {
    cuzk_proof read;
    if (job->kind != CUZK_ENGINE_CIRCOM) {
        *len = CUZK_PROOF_BYTES;
        cuzk_proof_to_bytes(out, proof);
        return cuzk_proof_from_bytes(&read, out, "the proof", 0, err);
    }
    *len = cuzk_raw_proof_to_bytes(out, proof);
    return cuzk_raw_proof_from_bytes(&read, proof->curve, out, *len, err);
}

/* A zkey's points were not checked when it was loaded; they are when a proof fails. */
static cuzk_status explain(const cuzk_jobs *j, const cuzk__jobs_key *k, cuzk_err *err) {
    if (!k->zkey)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "the proof does not verify: the device's result or the witness is "
                            "wrong");
    cuzk_zkey *zk;
    CUZK_TRY(cuzk_zkey_open(&zk, k->zkey, CUZK_ZKEY_CHECK_SHAPE, j->config.pool, err));
    const cuzk_status st = cuzk_zkey_check_points(zk, true, j->config.pool, err);
    cuzk_zkey_free(zk);
    if (st != CUZK_OK) return st;
    return cuzk_err_set(err, CUZK_STATUS_FALSE,
                        "the proof does not verify: the witness does not satisfy the circuit of %s "
                        "(`cuzk wtns check` says), or the device's result is wrong",
                        k->name);
}

static cuzk_status prove(const cuzk_jobs *j, const cuzk__job *job, const cuzk__jobs_key *k,
                         uint32_t partition, const void *result, size_t result_len, uint8_t *proof,
                         size_t *proof_len, cuzk_err *err) {
    cuzk_groth16_sums sums;
    cuzk_proof points;
    cuzk_u256 *publics = NULL;
    memset(&points, 0, sizeof points);
    cuzk_status st = cuzk_sums_from_bytes(&sums, k->vk->curve, result, result_len, err);
    if (st == CUZK_OK) st = assemble_proof(k, &sums, &points, err);
    cuzk_wipe(&sums, sizeof sums);
    if (st == CUZK_OK) st = encode(job, &points, proof, proof_len, err);
    if (st == CUZK_OK) st = cuzk__job_publics(&publics, job, partition, 1, err);
    if (st == CUZK_OK) {
        st = cuzk_groth16_verify(k->vk, publics, k->vk->n_public, &points, err);
        if (st == CUZK_STATUS_FALSE) st = explain(j, k, err);
    }
    if (st != CUZK_OK) cuzk_wipe(proof, CUZK_ENGINE_PROOF_MAX);
    cuzk_wipe(&points, sizeof points);
    cuzk_free(publics);
    return st;
}

static cuzk_status verify(void *self, void *p, uint32_t partition, const void *result,
                          size_t result_len, void *proof, size_t *proof_len, cuzk_err *err) {
    cuzk__job *job = p;
    cuzk__jobs_key *k;
    *proof_len = 0;
    CUZK_TRY(cuzk__jobs_key_use(self, job->key, &k, err));
    const cuzk_status st =
        prove(self, job, k, partition, result, result_len, proof, proof_len, err);
    cuzk__jobs_key_done(self, k);
    return st;
}

static cuzk_status assemble(void *self, void *p, const cuzk_engine_bytes *proofs, cuzk_buf *out,
                            cuzk_err *err) {
    cuzk__job *job = p;
    cuzk__jobs_key *k;
    CUZK_TRY(cuzk__jobs_key_use(self, job->key, &k, err));
    cuzk_status st = job->kind == CUZK_ENGINE_CIRCOM
                         ? cuzk__job_answer_circom(job, k, proofs, out, err)
                         : cuzk__job_answer_filecoin(self, job, k, proofs, out, err);
    cuzk__jobs_key_done(self, k);
    if (st == CUZK_OK && cuzk_buf_status(out) != CUZK_OK) st = cuzk__jobs_no_memory(err);
    return st;
}

const cuzk_work_ops cuzk_jobs_work = {
    .keys = keys,
    .key_plan = key_plan,
    .key_load = key_load,
    .key_free = key_free,
    .job_open = job_open,
    .job_free = job_free,
    .witness = witness,
    .witness_free = witness_free,
    .verify = verify,
    .assemble = assemble,
};

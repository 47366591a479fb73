/* The daemon's part of keys: verifying key, and what else proofs are assembled from. */
#include "jobs/internal.h"

#include "base/mem.h"
#include "keys/keys.h"

#include <string.h>

static void drop(cuzk__jobs_key *k) {
    if (!k) return;
    cuzk_params_vk_free(&k->params_vk);
    cuzk_vk_free(&k->zkey_vk);
    cuzk_free(k->zkey);
    cuzk_free(k);
}

static cuzk_status load_circuit(cuzk_jobs *j, cuzk__jobs_key *k, cuzk_err *err) {
    const cuzk_keys_opts opts = {.dir = j->config.keys.params_dir,
                                 .allow_insecure = j->config.keys.allow_insecure,
                                 .seed = j->config.keys.seed,
                                 .pool = j->config.pool};
    CUZK_TRY(cuzk_circuit_prover_vk_open(&k->params_vk, &k->insecure, k->circuit, &opts, err));
    cuzk__figures f;
    CUZK_TRY(cuzk__jobs_figures(j, k->circuit, &f, err));
    k->n_free = f.n_free;
    const cuzk_params_vk *v = &k->params_vk;
    k->vk = &v->vk;
    k->points = (cuzk_proving_key){.curve = v->vk.curve,
                                   .name = k->circuit->name,
                                   .n_inputs = v->vk.n_public + 1,
                                   .alpha1 = &v->vk.alpha1,
                                   .beta1 = &v->beta1,
                                   .beta2 = &v->vk.beta2,
                                   .gamma2 = &v->vk.gamma2,
                                   .delta1 = &v->delta1,
                                   .delta2 = &v->vk.delta2,
                                   .ic = v->vk.ic};
    return CUZK_OK;
}

static cuzk_status copy_zkey(cuzk__jobs_key *k, const cuzk_zkey *zk, cuzk_err *err) {
    const uint8_t *const from[] = {zk->alpha1, zk->beta1,  zk->beta2,
                                   zk->gamma2, zk->delta1, zk->delta2};
    CUZK_TRY(cuzk_zkey_vk(zk, &k->zkey_vk, err));
    k->vk = &k->zkey_vk;
    k->zkey_wires = zk->n_vars;
    for (int i = 0; i < 6; i++) {
        const bool g2 = i == 2 || i == 3 || i == 5;
        memcpy(k->zkey_points[i].b, from[i],
               g2 ? zk->curve->g2.point_size : zk->curve->g1.point_size);
    }
    k->points = (cuzk_proving_key){.curve = zk->curve,
                                   .name = k->name,
                                   .n_inputs = zk->n_public + 1,
                                   .alpha1 = &k->zkey_points[0],
                                   .beta1 = &k->zkey_points[1],
                                   .beta2 = &k->zkey_points[2],
                                   .gamma2 = &k->zkey_points[3],
                                   .delta1 = &k->zkey_points[4],
                                   .delta2 = &k->zkey_points[5],
                                   .ic = k->zkey_vk.ic};
    return CUZK_OK;
}

static cuzk_status load_zkey(cuzk_jobs *j, cuzk__jobs_key *k, const char *path, cuzk_err *err) {
    cuzk_zkey *zk;
    if (cuzk_strdup(&k->zkey, path) != CUZK_OK) return cuzk__jobs_no_memory(err);
    CUZK_TRY(cuzk_zkey_open(&zk, path, CUZK_ZKEY_CHECK_SHAPE, j->config.pool, err));
    const cuzk_status st = copy_zkey(k, zk, err);
    cuzk_zkey_free(zk);
    return st;
}

static cuzk_status load(cuzk_jobs *j, cuzk__jobs_key **out, const cuzk__where *w, cuzk_err *err) {
    cuzk__jobs_key *k;
    if (cuzk_alloc((void **)&k, 1, sizeof *k) != CUZK_OK) return cuzk__jobs_no_memory(err);
    memcpy(k->name, w->name, sizeof k->name);
    k->loads = k->refs = 1;
    k->circuit = w->circuit;
    const cuzk_status st = w->circuit ? load_circuit(j, k, err) : load_zkey(j, k, w->path, err);
    if (st == CUZK_OK)
        *out = k;
    else
        drop(k);
    return st;
}

/* lock is held. */
static cuzk__jobs_key **place(cuzk_jobs *j, const char *name) {
    cuzk__jobs_key **at = &j->keys;
    while (*at && (strcmp((*at)->name, name) != 0 || (*at)->loads == 0))
        at = &(*at)->next;
    return at;
}

static bool load_again(cuzk_jobs *j, const char *name) {
    (void)pthread_mutex_lock(&j->lock);
    cuzk__jobs_key *k = *place(j, name);
    if (k) {
        k->loads++;
        k->refs++;
    }
    (void)pthread_mutex_unlock(&j->lock);
    return k != NULL;
}

cuzk_status cuzk__jobs_key_load(cuzk_jobs *j, const char *name, cuzk_err *err) {
    cuzk__where w;
    cuzk__jobs_key *k = NULL;
    if (load_again(j, name)) return CUZK_OK;
    CUZK_TRY(cuzk__jobs_where(&w, &j->config.keys, name, err));
    const cuzk_status st = load(j, &k, &w, err);
    cuzk_free(w.path);
    if (st != CUZK_OK) return st;
    (void)pthread_mutex_lock(&j->lock);
    k->next = j->keys;
    j->keys = k;
    (void)pthread_mutex_unlock(&j->lock);
    return CUZK_OK;
}

cuzk_status cuzk__jobs_key_use(cuzk_jobs *j, const char *name, cuzk__jobs_key **out,
                               cuzk_err *err) {
    (void)pthread_mutex_lock(&j->lock);
    *out = *place(j, name);
    if (*out) (*out)->refs++;
    (void)pthread_mutex_unlock(&j->lock);
    if (*out) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BUG, "the key %s is not loaded", name);
}

void cuzk__jobs_key_done(cuzk_jobs *j, cuzk__jobs_key *k) {
    (void)pthread_mutex_lock(&j->lock);
    const bool last = --k->refs == 0;
    for (cuzk__jobs_key **at = &j->keys; last && *at; at = &(*at)->next)
        if (*at == k) {
            *at = k->next;
            break;
        }
    (void)pthread_mutex_unlock(&j->lock);
    if (last) drop(k);
}

void cuzk__jobs_key_free(cuzk_jobs *j, const char *name) {
    (void)pthread_mutex_lock(&j->lock);
    cuzk__jobs_key *k = *place(j, name);
    if (k) k->loads--;
    (void)pthread_mutex_unlock(&j->lock);
    if (k) cuzk__jobs_key_done(j, k);
}

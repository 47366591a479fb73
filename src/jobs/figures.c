/* What keys and partitions take. Of a circuit its compact form is made for it, and given back. */
#include "jobs/internal.h"

#include "backend/cpu/cpu.h"
#include "base/mem.h"
#include "circuit/fillers.h"
#include "groth16/assemble.h"
#include "groth16/params_key.h"
#include "r1cs/figures.h"
#include "witness/witness.h"

#include <string.h>

static cuzk_status plan_on_cpu(const cuzk_jobs *j, const cuzk_proving_key *shape,
                               cuzk_backend_plan *out, cuzk_err *err) {
    cuzk_pool *pool;
    cuzk_backend *cpu;
    if (cuzk_pool_new(&pool, j->config.device_threads) != CUZK_OK) return cuzk__jobs_no_memory(err);
    cuzk_status st = cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, pool, err);
    if (st == CUZK_OK) {
        st = cpu->ops->plan(cpu, shape, out, err);
        cpu->ops->close(cpu);
    }
    cuzk_pool_free(pool);
    return st;
}

/* own: bytes of the key in the process that computes. */
static cuzk_status on_device(const cuzk_jobs *j, const char *name, const cuzk_proving_key *shape,
                             uint64_t own, cuzk__figures *f, cuzk_err *err) {
    const cuzk_jobs_config *c = &j->config;
    cuzk_backend_plan plan;
    if (c->device_plan) {
        CUZK_TRY(c->device_plan(c->device_plan_ctx, name, &plan, err));
    } else {
        CUZK_TRY(plan_on_cpu(j, shape, &plan, err));
        plan.key += own;
    }
    f->device = plan.key;
    f->host += plan.key_pin; /* pinned by the worker, and part of the budget all the same */
    f->slot = plan.slot;
    return CUZK_OK;
}

static cuzk_status of_system(cuzk_jobs *j, const cuzk_circuit *c, const cuzk_r1cs *r,
                             cuzk__figures *f, cuzk_err *err) {
    cuzk_r1cs_density density;
    cuzk_proving_key shape;
    cuzk_witness_plan *plan;
    if (cuzk_r1cs_density_of(&density, r) != CUZK_OK) return cuzk__jobs_no_memory(err);
    cuzk_status st = cuzk_params_key_shape(&shape, r, &density, err);
    cuzk_r1cs_density_free(&density);
    if (st != CUZK_OK) return st;
    if (cuzk_circuit_plan(&plan, r, &j->set) != CUZK_OK) return cuzk__jobs_no_memory(err);
    shape.plan = plan;
    f->host = sizeof(cuzk__jobs_key) + (uint64_t)r->n_inputs * shape.curve->g1.point_size;
    f->n_free = r->n_free;
    f->witness = (uint64_t)r->n_free * sizeof(cuzk_u256);
    const uint64_t own =
        cuzk_r1cs_bytes(r) + cuzk_witness_plan_bytes(r) + cuzk_params_key_bytes(&shape);
    st = on_device(j, c->name, &shape, own, f, err);
    cuzk_witness_plan_free(plan);
    return st;
}

static bool kept(cuzk_jobs *j, const cuzk_circuit *c, cuzk__figures *out) {
    bool found = false;
    (void)pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < j->n_figures && !found; i++) {
        found = j->figures[i].circuit == c;
        if (found) *out = j->figures[i];
    }
    (void)pthread_mutex_unlock(&j->lock);
    return found;
}

cuzk_status cuzk__jobs_figures(cuzk_jobs *j, const cuzk_circuit *c, cuzk__figures *out,
                               cuzk_err *err) {
    cuzk_r1cs *r;
    cuzk__figures seen;
    if (kept(j, c, out)) return CUZK_OK;
    memset(out, 0, sizeof *out);
    CUZK_TRY(cuzk_circuit_compact(&r, c, err));
    cuzk_status st = of_system(j, c, r, out, err);
    cuzk_r1cs_free(r);
    if (st != CUZK_OK) return st;
    out->circuit = c;
    if (kept(j, c, &seen)) return CUZK_OK; /* by another thread meanwhile */
    (void)pthread_mutex_lock(&j->lock);
    st = cuzk_realloc((void **)&j->figures, j->n_figures + 1, sizeof *j->figures);
    if (st == CUZK_OK) j->figures[j->n_figures++] = *out;
    (void)pthread_mutex_unlock(&j->lock);
    return st == CUZK_OK ? CUZK_OK : cuzk__jobs_no_memory(err);
}

cuzk_status cuzk__jobs_zkey_figures(cuzk_jobs *j, const char *name, const cuzk_zkey *zk,
                                    cuzk__figures *out, cuzk_err *err) {
    cuzk_proving_key shape;
    cuzk_zkey_proving_key(zk, &shape);
    memset(out, 0, sizeof *out);
    out->witness = (uint64_t)zk->n_vars * sizeof(cuzk_u256);
    out->host = sizeof(cuzk__jobs_key) + ((uint64_t)zk->n_public + 1) * zk->curve->g1.point_size;
    /* the file is mapped, and all of it is read for every proof */
    return on_device(j, name, &shape, zk->len, out, err);
}

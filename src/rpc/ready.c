/* Whether the engine can take jobs: what /readyz and the health service say. */
#include "base/mem.h"
#include "rpc/internal.h"

const char *cuzk__rpc_not_ready(cuzk_rpc *r) {
    cuzk_engine_status *s = NULL;
    const char *why = NULL;
    size_t up = 0;
    if (atomic_load(&r->stopping)) return "stopping\n";
    if (!atomic_load(&r->ready)) return "starting\n";
    if (cuzk_engine_snapshot(r->engine, &s, NULL) != CUZK_OK) return "no memory\n";
    for (size_t i = 0; i < s->n_devices; i++)
        up += s->devices[i].sched.up && !s->devices[i].sched.quarantined;
    if (s->sched.draining)
        why = "draining\n";
    else if (up == 0)
        why = "no device is up\n";
    else if (s->journal != CUZK_OK)
        why = "the journal cannot be written\n";
    cuzk_free(s);
    return why;
}

void cuzk__rpc_health_refresh(cuzk_rpc *r) {
    static const char *const services[] = {"cuzk.v1.ProvingEngine", "cuzk.v1.Engine"};
    pthread_mutex_lock(&r->health_lock);
    if (!r->health_over) {
        const bool serving = cuzk__rpc_not_ready(r) == NULL;
        bool told = true;
        /* without memory for it, the next look tells */
        for (int i = 0; i < 2 && (!r->health_told || serving != r->serving); i++)
            told &= cuzk_grpc_health_set(r->grpc, services[i], serving) == CUZK_OK;
        r->health_told = told;
        r->serving = serving;
    }
    pthread_mutex_unlock(&r->health_lock);
}

void cuzk__rpc_health_end(cuzk_rpc *r) {
    pthread_mutex_lock(&r->health_lock);
    r->health_over = true;
    pthread_mutex_unlock(&r->health_lock);
}

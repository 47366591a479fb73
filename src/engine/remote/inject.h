/* Trouble on demand in a worker process, for tests of the engine: `crash:compute:3`.
 *
 *   WHAT:STEP[:K[+]]   the K-th call of STEP (1) since the worker began; with + each from there on
 *   WHAT   crash    the process ends by SIGKILL
 *          hang     the call never returns
 *          error    the call fails
 *          sticky   this call and every later one fails, as after a fault of a GPU
 *          flip     a bit of what the call gives is wrong (finish)
 *   STEP   open key_load key_free stage compute finish plan */
#ifndef CUZK_ENGINE_REMOTE_INJECT_H
#define CUZK_ENGINE_REMOTE_INJECT_H

#include "engine/remote/wire.h"

typedef enum cuzk_inject_what {
    CUZK_INJECT_NOTHING,
    CUZK_INJECT_CRASH,
    CUZK_INJECT_HANG,
    CUZK_INJECT_ERROR,
    CUZK_INJECT_STICKY,
    CUZK_INJECT_FLIP,
} cuzk_inject_what;

typedef struct cuzk_inject {
    cuzk_inject_what what;
    cuzk_wire_type step;
    uint32_t at;
    bool on; /* and after it */
    atomic_uint seen;
    atomic_bool stuck; /* sticky, and it has begun */
} cuzk_inject;

/* text NULL or empty: nothing. false when it is none of the above. */
bool cuzk_inject_parse(cuzk_inject *out, const char *text);
/* What happens to this call. Thread-safe. */
cuzk_inject_what cuzk_inject_due(cuzk_inject *i, cuzk_wire_type step);

#endif

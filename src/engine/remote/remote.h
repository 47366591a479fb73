/* Devices in worker processes, as the engine's device provider: the daemon's side.
 *
 * Each device is a process of its own, started by open, which owns whatever computes and its
 * memory. It ends with the daemon (PR_SET_PDEATHSIG, and the end of its socket). When it ends by
 * itself, every call under way returns NO_DEVICE and on_lost is called, at once; close ends it:
 * first by the end of its socket, then SIGTERM, then SIGKILL.
 *
 * Nothing here knows a key or a proof: names and bytes pass through. A witness travels as its
 * memfd. */
#ifndef CUZK_ENGINE_REMOTE_REMOTE_H
#define CUZK_ENGINE_REMOTE_REMOTE_H

#include "engine/remote/wire.h"

enum { CUZK_REMOTE_DEVICES = 32 };

typedef struct cuzk_remote_config {
    uint32_t n_devices;
    /* Of each device: the program (a path) and its arguments, NULL at the end; "--fd", "3" follow,
     * and descriptor 3 is the socket. Standard error is the daemon's, input and output are
     * /dev/null. Must outlive the devices. */
    const char *const *const *commands;
    int64_t open_ns;        /* a device that is not open by then is given up; 0: two minutes */
    int64_t grace_ns;       /* between the steps by which a worker is ended; 0: half a second */
    const char *inject;     /* inject.h, for every worker; NULL: nothing */
    uint32_t inject_starts; /* only for the first so many of a device; 0: each */
} cuzk_remote_config;

typedef struct cuzk_remote cuzk_remote;
cuzk_status cuzk_remote_new(cuzk_remote **out, const cuzk_remote_config *config,
                            cuzk_err *err) CUZK_MUST_CHECK;
/* Closes what is open; no call may be under way. NULL is ignored. */
void cuzk_remote_free(cuzk_remote *r);

/* self is a cuzk_remote. Errors of a worker's calls come with the worker's sentence. */
extern const cuzk_device_ops cuzk_remote_devices;

/* What a key takes on a device that is open, as its worker works it out. */
cuzk_status cuzk_remote_plan(cuzk_remote *r, uint32_t device, const char *key,
                             cuzk_device_plan *out, cuzk_err *err) CUZK_MUST_CHECK;

#endif

/* The worker's side: serves one device to the process at the other end of a socket (wire.h). */
#ifndef CUZK_ENGINE_REMOTE_SERVE_H
#define CUZK_ENGINE_REMOTE_SERVE_H

#include "engine/remote/wire.h"

typedef struct cuzk_serve_config {
    int fd; /* the socket; stays the caller's */
    const cuzk_device_ops *ops;
    void *self; /* its device 0 is served */
    /* Figures of a key, open device or not; NULL: none are to be had. */
    cuzk_status (*plan)(void *self, const char *key, cuzk_device_plan *out, cuzk_err *err);
    /* Asked after a call failed: whether the device can do no more until the process begins anew
     * (a CUDA context after a fault). NULL: never. */
    bool (*broken)(void *ctx);
    void *ctx;
    const char *inject; /* inject.h; NULL: nothing */
} cuzk_serve_config;

/* Returns when the other end is closed. *orderly: nothing is under way, and the device is closed;
 * otherwise calls are still running on other threads, and the caller ends the process at once.
 * USAGE: inject; NO_DEVICE: the device broke, its last reply is sent; BAD_INPUT: a packet that is
 * none; NO_MEMORY. */
cuzk_status cuzk_serve(const cuzk_serve_config *config, bool *orderly,
                       cuzk_err *err) CUZK_MUST_CHECK;

#endif

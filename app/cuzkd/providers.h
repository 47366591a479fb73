/* Whom the engine has the work done by: mock providers, or the real ones. */
#ifndef CUZK_CUZKD_PROVIDERS_H
#define CUZK_CUZKD_PROVIDERS_H

#include "settings.h"

#include "engine/shell/provider.h"

typedef struct cuzkd_providers {
    cuzk_engine_providers ops;
    void (*free)(void *self);
    void *self;
    bool cpu;       /* the only device is the CPU, since no GPU was found */
    char what[160]; /* for the log */
} cuzkd_providers;

/* The number of the device that a word of gpus.reserve means: its place in gpus.devices, or where
 * that is empty its number, or "cpu" where there is no GPU. BAD_INPUT: there is none such. */
cuzk_status cuzkd_providers_find(const cuzkd_providers *p, const cuzkd_settings *s,
                                 const char *word, uint32_t *device, cuzk_err *err) CUZK_MUST_CHECK;

/* mock: NULL, "default", or a file of the table [mock] (`cuzkd --help`). NO_DEVICE, BAD_INPUT, IO.
 * out must be closed after the engine; it may be closed also when this failed. */
cuzk_status cuzkd_providers_open(cuzkd_providers *out, const cuzkd_settings *s, const char *mock,
                                 cuzk_err *err) CUZK_MUST_CHECK;
void cuzkd_providers_close(cuzkd_providers *p);

/* Those that prove, on the devices of the settings. */
cuzk_status cuzkd_real_open(cuzkd_providers *out, const cuzkd_settings *s,
                            cuzk_err *err) CUZK_MUST_CHECK;
/* Those that sleep instead of proving. */
cuzk_status cuzkd_mock_open(cuzkd_providers *out, const char *mock, cuzk_err *err) CUZK_MUST_CHECK;

#endif

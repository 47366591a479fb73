#include "providers.h"

#include <stdio.h>
#include <string.h>

/* "0" is "cuda:0". */
static const char *bare(const char *word) {
    return strncmp(word, "cuda:", 5) == 0 ? word + 5 : word;
}

cuzk_status cuzkd_providers_find(const cuzkd_providers *p, const cuzkd_settings *s,
                                 const char *word, uint32_t *device, cuzk_err *err) {
    const uint32_t n = p->ops.devices->count(p->ops.devices_self);
    for (uint32_t i = 0; i < n; i++) {
        char number[16];
        const char *name = p->cpu ? "cpu" : number;
        snprintf(number, sizeof number, "%u", i);
        if (i < s->devices.n) name = s->devices.items[i];
        if (strcmp(bare(name), bare(word)) != 0) continue;
        *device = i;
        return CUZK_OK;
    }
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "gpus.reserve: no device %s among %u%s; name it as gpus.devices does", word,
                        n, p->cpu ? " (cpu)" : "");
}

cuzk_status cuzkd_providers_open(cuzkd_providers *out, const cuzkd_settings *s, const char *mock,
                                 cuzk_err *err) {
    memset(out, 0, sizeof *out);
    if (mock) return cuzkd_mock_open(out, mock, err);
    return cuzkd_real_open(out, s, err);
}

void cuzkd_providers_close(cuzkd_providers *p) {
    if (p->free) p->free(p->self);
    memset(p, 0, sizeof *p);
}

#include "presets.h"
#include "sim.h"

#include <string.h>

const char *cuzk_sim_preset_name(size_t i) {
    return cuzk__sim_presets[i].name;
}

const char *cuzk_sim_preset(const char *name) {
    for (size_t i = 0; cuzk__sim_presets[i].name; i++)
        if (strcmp(cuzk__sim_presets[i].name, name) == 0) return cuzk__sim_presets[i].text;
    return NULL;
}

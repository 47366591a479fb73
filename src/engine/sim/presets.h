/* The texts of presets/, put into the program by CMake. */
#ifndef CUZK_ENGINE_SIM_PRESETS_H
#define CUZK_ENGINE_SIM_PRESETS_H

typedef struct cuzk_sim_preset_text {
    const char *name, *text;
} cuzk_sim_preset_text;

/* Ends with NULL. */
extern const cuzk_sim_preset_text cuzk__sim_presets[];

#endif

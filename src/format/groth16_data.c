#include "format/groth16_data.h"

#include "base/mem.h"

#include <string.h>

void cuzk_vk_free(cuzk_vk *vk) {
    if (!vk) return;
    cuzk_free(vk->ic);
    memset(vk, 0, sizeof *vk);
}

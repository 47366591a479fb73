#include "fuzz.h"

#include "format/wtns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_wtns *w;
    cuzk_err err = {0};
    if (fuzz_refused(cuzk_wtns_from_memory(&w, data, size, "input", &err), &err)) {
        FUZZ_CHECK(!w);
        return 0;
    }
    FUZZ_CHECK(w->n > 0 && w->values[0] == 1);
    for (uint32_t i = 0; i < w->n; i++) {
        cuzk_u256 v;
        memcpy(&v, w->values + (size_t)i * sizeof v, sizeof v);
        FUZZ_CHECK(w->curve->fr->is_canonical(&v));
    }
    cuzk_wtns_free(w);
    return 0;
}

#include "fuzz.h"

#include "format/ptau.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_ptau_header h;
    cuzk_err err = {0};
    if (fuzz_refused(cuzk_ptau_read(&h, data, size, "input", &err), &err)) return 0;
    FUZZ_CHECK(h.power <= h.curve->fr->adicity);
    FUZZ_CHECK(((size_t)1 << h.power) * h.curve->g1.point_size < size);
    return 0;
}

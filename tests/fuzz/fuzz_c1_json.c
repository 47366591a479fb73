/* C1 outputs as JSON, bare or in the wrapper. */
#include "fuzz_c1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_c1(data, size);
}

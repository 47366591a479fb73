/* C1 outputs as bincode. */
#include "fuzz_c1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_c1(data, size);
}

#include "fuzz.h"

#include "format/params.h"

/* What the reader lets through is written back byte for byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_params_vk vk;
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_err err = {0};
    const cuzk_status st = cuzk_params_vk_from_bytes(&vk, data, size, "input", 0, NULL, &err);
    if (fuzz_refused(st, &err)) {
        FUZZ_CHECK(!vk.vk.ic);
        return 0;
    }
    cuzk_params_vk_to_bytes(&vk, &b);
    FUZZ_CHECK(cuzk_buf_status(&b) == CUZK_OK && b.len == size);
    FUZZ_CHECK(memcmp(b.data, data, size) == 0);
    cuzk_buf_free(&b);
    cuzk_params_vk_free(&vk);
    return 0;
}

#include "fuzz.h"

#include "format/json_docs.h"

/* What is read can be written, and reads as the same key. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_vk vk, again;
    cuzk_err err = {0};
    cuzk_buf text = CUZK_BUF_INIT;
    cuzk_status st = cuzk_vk_from_json(&vk, (const char *)data, size, "input", &err);
    if (fuzz_refused(st, &err)) {
        FUZZ_CHECK(st == CUZK_STATUS_BAD_INPUT && !vk.ic);
        return 0;
    }
    cuzk_vk_to_json(&vk, &text);
    FUZZ_CHECK(cuzk_buf_status(&text) == CUZK_OK);
    FUZZ_CHECK(cuzk_vk_from_json(&again, text.data, text.len, "again", &err) == CUZK_OK);
    FUZZ_CHECK(again.curve == vk.curve && again.n_public == vk.n_public);
    FUZZ_CHECK(vk.curve->g2.eq(again.delta2.b, vk.delta2.b));
    FUZZ_CHECK(memcmp(again.ic, vk.ic, ((size_t)vk.n_public + 1) * vk.curve->g1.point_size) == 0);
    cuzk_vk_free(&again);
    cuzk_vk_free(&vk);
    cuzk_buf_free(&text);
    return 0;
}

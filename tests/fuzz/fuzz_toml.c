/* Configuration files: refused with a line's number, or read, with every text whole. */
#include "fuzz.h"

#include "base/toml.h"

static void touch(const cuzk_toml_value *v) {
    if (v->type == CUZK_TOML_STRING) FUZZ_CHECK(strlen(v->text) < CUZK_TOML_TEXT);
    FUZZ_CHECK(v->n <= CUZK_TOML_ITEMS);
    for (size_t i = 0; v->type == CUZK_TOML_ARRAY && i < v->n; i++)
        touch(&v->items[i]);
}

static cuzk_status on_value(void *ctx, const char *path, const cuzk_toml_value *v, cuzk_err *err) {
    (void)ctx;
    (void)err;
    FUZZ_CHECK(strlen(path) < CUZK_TOML_NAME);
    touch(v);
    return CUZK_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_err err = {0};
    const cuzk_status st = cuzk_toml_read((const char *)data, size, on_value, NULL, &err);
    FUZZ_CHECK(st == CUZK_OK || (st == CUZK_STATUS_BAD_INPUT && err.msg[0]));
    return 0;
}

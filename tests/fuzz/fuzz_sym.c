#include "fuzz.h"

#include "format/sym.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { WIRES = 100 };
    cuzk_sym *s;
    cuzk_err err = {0};
    cuzk_status st = cuzk_sym_from_memory(&s, (const char *)data, size, WIRES, "input", &err);
    if (fuzz_refused(st, &err)) {
        FUZZ_CHECK(!s);
        return 0;
    }
    for (uint32_t i = 0; i < WIRES; i++) {
        size_t n;
        const char *name = cuzk_sym_name(s, i, &n);
        if (!name) continue;
        FUZZ_CHECK(n > 0 && !memchr(name, '\n', n));
        fuzz_touch((const uint8_t *)name, n);
    }
    cuzk_sym_free(s);
    return 0;
}

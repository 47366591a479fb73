#include "fuzz.h"

#include "base/mem.h"
#include "format/json_docs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int id = CUZK_BN254; id <= CUZK_BLS12_381; id++) {
        const cuzk_curve *c = cuzk_curve_get((cuzk_curve_id)id);
        cuzk_u256 *v, *again;
        size_t n, m;
        cuzk_err err = {0};
        cuzk_status st = cuzk_public_from_json(&v, &n, c, (const char *)data, size, "input", &err);
        if (fuzz_refused(st, &err)) {
            FUZZ_CHECK(!v);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            FUZZ_CHECK(c->fr->is_canonical(&v[i]));
        cuzk_buf text = CUZK_BUF_INIT;
        cuzk_public_to_json(v, n, CUZK_JSON_COMPACT, &text);
        FUZZ_CHECK(cuzk_public_from_json(&again, &m, c, text.data, text.len, "again", &err) ==
                   CUZK_OK);
        FUZZ_CHECK(m == n && (n == 0 || memcmp(v, again, n * sizeof *v) == 0));
        cuzk_free(v);
        cuzk_free(again);
        cuzk_buf_free(&text);
    }
    return 0;
}

#include "fuzz.h"

#include "format/json_docs.h"

/* What is read can be written in both styles, and reads as the same proof. */
static void round_trip(const cuzk_proof *p, cuzk_json_style style) {
    cuzk_proof again;
    cuzk_err err = {0};
    cuzk_buf text = CUZK_BUF_INIT;
    cuzk_proof_to_json(p, style, &text);
    FUZZ_CHECK(cuzk_buf_status(&text) == CUZK_OK);
    FUZZ_CHECK(cuzk_proof_from_json(&again, p->curve, text.data, text.len, "again", &err) ==
               CUZK_OK);
    FUZZ_CHECK(p->curve->g1.eq(again.a.b, p->a.b) && p->curve->g2.eq(again.b.b, p->b.b) &&
               p->curve->g1.eq(again.c.b, p->c.b));
    cuzk_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const cuzk_curve *const curves[] = {NULL, cuzk_curve_get(CUZK_BN254),
                                        cuzk_curve_get(CUZK_BLS12_381)};
    for (size_t i = 0; i < 3; i++) {
        cuzk_proof p;
        cuzk_err err = {0};
        cuzk_status st =
            cuzk_proof_from_json(&p, curves[i], (const char *)data, size, "input", &err);
        if (fuzz_refused(st, &err)) continue;
        FUZZ_CHECK(p.curve->g1.in_subgroup(p.a.b) && p.curve->g2.in_subgroup(p.b.b) &&
                   p.curve->g1.in_subgroup(p.c.b));
        round_trip(&p, CUZK_JSON_SNARKJS);
        round_trip(&p, CUZK_JSON_COMPACT);
    }
    return 0;
}

#include "fuzz.h"

#include "format/params.h"

/* The reader on anything; what it lets through is as large as it says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const cuzk_params_counts cubic = {.ic = 2, .h = 7, .l = 3, .a = 5, .b = 2};
    cuzk_params *p;
    cuzk_err err = {0};
    cuzk_status st = cuzk_params_from_memory(&p, data, size, "input", &cubic, "cubic", NULL, &err);
    if (fuzz_refused(st, &err)) FUZZ_CHECK(!p);
    if (st == CUZK_OK) cuzk_params_free(p);
    memset(&err, 0, sizeof err);
    st = cuzk_params_from_memory(&p, data, size, "input", NULL, NULL, NULL, &err);
    if (fuzz_refused(st, &err)) {
        FUZZ_CHECK(!p);
        return 0;
    }
    FUZZ_CHECK(size == cuzk_params_bytes(&p->n) && p->n.ic == p->vk.vk.n_public + 1);
    fuzz_touch(p->h, (size_t)96 * p->n.h);
    fuzz_touch(p->l, (size_t)96 * p->n.l);
    fuzz_touch(p->a, (size_t)96 * p->n.a);
    fuzz_touch(p->b1, (size_t)96 * p->n.b);
    fuzz_touch(p->b2, (size_t)192 * p->n.b);
    (void)fuzz_refused(cuzk_params_check_points(p, NULL, NULL, &err), &err);
    cuzk_params_free(p);
    return 0;
}

/* Requests, and what the vanilla proofs in them are taken for. */
#include "fuzz.h"

#include "filecoin/post.h"
#include "filecoin/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_request *r;
    cuzk_err err = {0};
    if (fuzz_refused(cuzk_request_from_memory(&r, data, size, "input", &err), &err)) {
        FUZZ_CHECK(!r);
        return 0;
    }
    unsigned sum = fuzz_touch(r->vanilla_proof.data, r->vanilla_proof.len);
    for (size_t i = 0; i < r->n_vanilla; i++)
        sum += fuzz_touch(r->vanilla_proofs[i].data, r->vanilla_proofs[i].len);
    (void)sum;
    FUZZ_CHECK(memchr(r->request_id, 0, sizeof r->request_id));
    if (r->kind == CUZK_KIND_UPDATE) {
        cuzk_update *u;
        if (!fuzz_refused(cuzk_update_from_request(&u, r, &err), &err)) cuzk_update_free(u);
    } else {
        cuzk_post *p;
        if (!fuzz_refused(cuzk_post_from_request(&p, r, &err), &err)) cuzk_post_free(p);
    }
    return 0;
}

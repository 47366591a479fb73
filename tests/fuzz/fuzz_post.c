/* FallbackPoStSectorProof in bincode; the first byte is the registered proof. */
#include "fuzz_blob.h"

#include "filecoin/post.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_post *p;
    cuzk_merkle_proof m;
    cuzk_err err = {0};
    if (size == 0) return 0;
    cuzk_request *r = fuzz_blob_request(data[0], data + 1, size - 1);
    if (fuzz_refused(cuzk_post_from_request(&p, r, &err), &err)) {
        FUZZ_CHECK(!p);
        return 0;
    }
    FUZZ_CHECK(p->statement.n_sectors == 1);
    for (uint32_t i = 0; i < p->statement.type->challenges; i++) {
        cuzk_post_proof_at(p, 0, i, &m);
        FUZZ_CHECK(m.path.levels == cuzk_tree_levels(&p->statement.circuit->u.post.tree));
    }
    cuzk_post_free(p);
    return 0;
}

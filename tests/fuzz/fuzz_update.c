/* PartitionProof in bincode, of an update with one partition. */
#include "fuzz_blob.h"

#include "filecoin/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_update *u;
    cuzk_update_challenge x;
    cuzk_err err = {0};
    cuzk_request *r = fuzz_blob_request(0, data, size);
    if (fuzz_refused(cuzk_update_from_request(&u, r, &err), &err)) {
        FUZZ_CHECK(!u);
        return 0;
    }
    for (uint32_t i = 0; i < u->statement.type->challenges; i++) {
        cuzk_update_challenge_at(u, 0, i, &x);
        FUZZ_CHECK(x.d_new.path.levels == u->statement.type->log2_nodes);
    }
    cuzk_update_free(u);
    return 0;
}

/* What a daemon and a worker process read of each other: a packet that is taken has one form only.
 */
#include "fuzz.h"

#include "engine/remote/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t again[CUZK_WIRE_MAX];
    cuzk_wire_request request;
    cuzk_wire_reply reply;
    if (cuzk_wire_get_request(&request, data, size)) {
        FUZZ_CHECK(memchr(request.key, 0, sizeof request.key));
        FUZZ_CHECK(cuzk_wire_put_request(again, &request) == size);
        FUZZ_CHECK(memcmp(again, data, size) == 0);
    }
    if (cuzk_wire_get_reply(&reply, data, size)) {
        FUZZ_CHECK(memchr(reply.err.msg, 0, sizeof reply.err.msg));
        FUZZ_CHECK(reply.result_len <= sizeof reply.result);
        FUZZ_CHECK(cuzk_wire_put_reply(again, &reply) == size);
        FUZZ_CHECK(memcmp(again, data, size) == 0);
    }
    return 0;
}

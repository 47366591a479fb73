/* Jobs as protobuf messages: refused with a sentence, or taken with parts inside the message and a
 * JSON object beside them. The first byte chooses the message. */
#include "fuzz.h"

#include "base/json_pull.h"
#include "rpc/internal.h"

static void check(const cuzk__rpc_submission *s, const uint8_t *msg, size_t n) {
    const cuzk_engine_payload *p = &s->request.payload;
    cuzk_pull j;
    cuzk_err err = {0};
    FUZZ_CHECK(p->kind > CUZK_ENGINE_UNSPECIFIED && p->kind < CUZK_ENGINE_KIND_COUNT);
    FUZZ_CHECK(p->n_parts > 0 && s->request.priority >= 0 && s->request.priority <= 4);
    FUZZ_CHECK(s->request.deadline_ns >= 0);
    FUZZ_CHECK(strlen(s->request.request_id) < CUZK_ENGINE_REQUEST_ID);
    for (size_t i = 0; i < p->n_parts; i++) {
        const uint8_t *data = p->parts[i].data;
        FUZZ_CHECK(data >= msg && p->parts[i].len <= (size_t)(msg + n - data));
    }
    cuzk_pull_init(&j, p->meta.data, p->meta.len, "meta", &err);
    FUZZ_CHECK(cuzk_pull_skip(&j) == CUZK_OK && cuzk_pull_end(&j) == CUZK_OK);
    cuzk_pull_fini(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_err err = {0};
    cuzk__rpc_submission s;
    if (size == 0) return 0;
    const uint8_t *msg = data + 1;
    const size_t n = size - 1;
    cuzk__rpc_submission_init(&s, "fuzz");
    const cuzk_status st = data[0] % 3 == 2 ? cuzk__rpc_read_circom(&s, msg, n, &err)
                                            : cuzk__rpc_read_submit(&s, msg, n, data[0] % 3, &err);
    FUZZ_CHECK(st == CUZK_OK || (st == CUZK_STATUS_BAD_INPUT && err.msg[0]));
    if (st == CUZK_OK) check(&s, msg, n);
    cuzk__rpc_submission_free(&s);
    return 0;
}

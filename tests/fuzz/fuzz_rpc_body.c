/* Jobs as HTTP bodies: refused with a sentence, or taken with a JSON object that is one. The first
 * byte chooses the content type; of raw bodies the first line has the kind. */
#include "fuzz.h"

#include "base/json_pull.h"
#include "rpc/internal.h"

static const char *query(void *ctx, const char *name) {
    return strcmp(name, "proof_kind") == 0 || strcmp(name, "key") == 0 ? ctx : NULL;
}

static void check(const cuzk__rpc_submission *s) {
    const cuzk_engine_payload *p = &s->request.payload;
    cuzk_pull j;
    cuzk_err err = {0};
    FUZZ_CHECK(p->kind > CUZK_ENGINE_UNSPECIFIED && p->kind < CUZK_ENGINE_KIND_COUNT);
    FUZZ_CHECK(p->n_parts > 0 && s->request.deadline_ns >= 0);
    unsigned sum = 0;
    for (size_t i = 0; i < p->n_parts; i++)
        sum += fuzz_touch(p->parts[i].data, p->parts[i].len);
    (void)sum;
    cuzk_pull_init(&j, p->meta.data, p->meta.len, "meta", &err);
    FUZZ_CHECK(cuzk_pull_skip(&j) == CUZK_OK && cuzk_pull_end(&j) == CUZK_OK);
    cuzk_pull_fini(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {"application/json", "multipart/form-data; boundary=b",
                                        "application/octet-stream"};
    char kind[32] = "";
    cuzk_err err = {0};
    cuzk__rpc_submission s;
    if (size == 0) return 0;
    const unsigned type = data[0] % 3;
    const uint8_t *body = data + 1;
    size_t n = size - 1;
    if (type == 2) {
        const uint8_t *end = memchr(body, '\n', n < sizeof kind ? n : sizeof kind);
        const size_t len = end ? (size_t)(end - body) : 0;
        if (memchr(body, 0, len)) return 0; /* a query has no NUL */
        memcpy(kind, body, len);
        body += len;
        n -= len;
    }
    cuzk__rpc_submission_init(&s, "fuzz");
    const cuzk_status st = cuzk__rpc_read_body(&s, types[type], body, n, query, kind, &err);
    FUZZ_CHECK(st == CUZK_OK || (st == CUZK_STATUS_BAD_INPUT && err.msg[0]));
    if (st == CUZK_OK) check(&s);
    cuzk__rpc_submission_free(&s);
    return 0;
}

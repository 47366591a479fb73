#include "base/hash.h"

#include "base/mem.h"

#include <openssl/evp.h>

struct cuzk_hash {
    EVP_MD_CTX *ctx;
    int failed;
};

static const EVP_MD *algorithm(cuzk_hash_kind kind) {
    switch (kind) {
    case CUZK_HASH_SHA256:
        return EVP_sha256();
    case CUZK_HASH_BLAKE2B_512:
        return EVP_blake2b512();
    case CUZK_HASH_BLAKE2S_256:
        return EVP_blake2s256();
    }
    return NULL;
}

cuzk_status cuzk_hash_new(cuzk_hash **out, cuzk_hash_kind kind) {
    void *mem;
    *out = NULL;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_hash)));
    cuzk_hash *h = mem;
    h->ctx = EVP_MD_CTX_new();
    if (!h->ctx || EVP_DigestInit_ex(h->ctx, algorithm(kind), NULL) != 1) {
        cuzk_hash_free(h);
        return CUZK_STATUS_NO_MEMORY;
    }
    *out = h;
    return CUZK_OK;
}

void cuzk_hash_update(cuzk_hash *h, const void *data, size_t n) {
    if (EVP_DigestUpdate(h->ctx, data, n) != 1) h->failed = 1;
}

cuzk_status cuzk_hash_final(cuzk_hash *h, uint8_t *out) {
    int ok = !h->failed && EVP_DigestFinal_ex(h->ctx, out, NULL) == 1;
    cuzk_hash_free(h);
    return ok ? CUZK_OK : CUZK_STATUS_BUG;
}

void cuzk_hash_free(cuzk_hash *h) {
    if (!h) return;
    EVP_MD_CTX_free(h->ctx);
    cuzk_free(h);
}

cuzk_status cuzk_hash_once(cuzk_hash_kind kind, const void *data, size_t n, uint8_t *out) {
    cuzk_hash *h;
    CUZK_TRY(cuzk_hash_new(&h, kind));
    cuzk_hash_update(h, data, n);
    return cuzk_hash_final(h, out);
}

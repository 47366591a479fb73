#include "bench_daemon_check.h"

#include "base/file.h"
#include "base/json_pull.h"
#include "base/mem.h"
#include "filecoin/vanilla.h"
#include "format/json_docs.h"
#include "format/proof_bytes.h"
#include "keys/keys.h"

#include <string.h>

struct cuzk_load_check {
    cuzk_engine_kind kind;
    cuzk_statement *statement;
    cuzk_vk vk;
    cuzk_u256 *publics;
};

static cuzk_status open_filecoin(cuzk_load_check *c, const char *file, const cuzk_load_keys *keys,
                                 cuzk_err *err) {
    const cuzk_keys_opts opts = {.dir = keys->params, .allow_insecure = keys->allow_insecure};
    const cuzk_porep_facts facts = {0};
    bool insecure;
    CUZK_TRY(cuzk_statement_open(&c->statement, file, &facts, err));
    CUZK_TRY(cuzk_circuit_vk_open(&c->vk, &insecure, c->statement->circuit, &opts, err));
    return cuzk_statement_publics(&c->publics, c->statement, 0, c->statement->partitions, err);
}

static cuzk_status open_circom(cuzk_load_check *c, const char *vk, cuzk_err *err) {
    cuzk_map map;
    CUZK_TRY(cuzk_map_file(&map, vk, err));
    const cuzk_status st = cuzk_vk_from_json(&c->vk, (const char *)map.data, map.len, vk, err);
    cuzk_map_close(&map);
    return st;
}

cuzk_status cuzk_load_check_new(cuzk_load_check **out, cuzk_engine_kind kind, const char *file,
                                const cuzk_load_keys *keys, cuzk_err *err) {
    cuzk_load_check *c;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    c->kind = kind;
    cuzk_status st;
    if (kind != CUZK_ENGINE_CIRCOM)
        st = open_filecoin(c, file, keys, err);
    else if (keys->vk)
        st = open_circom(c, keys->vk, err);
    else
        st = cuzk_err_set(err, CUZK_STATUS_USAGE,
                          "a circom proof wants --vk FILE to be verified, or --no-verify");
    if (st == CUZK_OK)
        *out = c;
    else
        cuzk_load_check_free(c);
    return st;
}

void cuzk_load_check_free(cuzk_load_check *c) {
    if (!c) return;
    cuzk_free(c->publics);
    cuzk_vk_free(&c->vk);
    cuzk_statement_free(c->statement);
    cuzk_free(c);
}

static cuzk_status check_filecoin(const cuzk_load_check *c, const cuzk_buf *answer, cuzk_err *err) {
    const uint32_t n = c->statement->partitions;
    cuzk_proof *proofs = NULL;
    size_t have = 0;
    cuzk_status st = cuzk_proofs_from_bytes(&proofs, &have, (const uint8_t *)answer->data,
                                            answer->len, "the answer", err);
    if (st == CUZK_OK && have != n)
        st = cuzk_err_set(err, CUZK_STATUS_FALSE, "%zu proofs came, of %u partitions", have, n);
    if (st == CUZK_OK)
        st = cuzk_groth16_verify_batch(
            &c->vk, c->publics, cuzk_circuit_public(c->statement->circuit), proofs, n, NULL, err);
    cuzk_free(proofs);
    return st;
}

static cuzk_status check_circom(const cuzk_load_check *c, const cuzk_buf *answer, cuzk_err *err) {
    const char *text[2] = {NULL, NULL}, *key;
    size_t len[2] = {0, 0}, n = 0;
    cuzk_u256 *publics = NULL;
    cuzk_proof proof;
    cuzk_pull j;
    cuzk_pull_init(&j, (const uint8_t *)answer->data, answer->len, "the answer", err);
    CUZK_TRY(cuzk_pull_object(&j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(&j, &key));
        if (!key) break;
        const int which = strcmp(key, "proof") == 0 ? 0 : strcmp(key, "public") == 0 ? 1 : -1;
        (void)cuzk_pull_peek(&j);
        const uint8_t *begin = j.p;
        CUZK_TRY(cuzk_pull_skip(&j));
        if (which < 0) continue;
        text[which] = (const char *)begin;
        len[which] = (size_t)(j.p - begin);
    }
    if (!text[0] || !text[1])
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "the answer has no proof or no public signals");
    cuzk_status st =
        cuzk_public_from_json(&publics, &n, c->vk.curve, text[1], len[1], "public", err);
    if (st == CUZK_OK)
        st = cuzk_proof_from_json(&proof, c->vk.curve, text[0], len[0], "proof", err);
    if (st == CUZK_OK) st = cuzk_groth16_verify(&c->vk, publics, n, &proof, err);
    cuzk_free(publics);
    return st;
}

cuzk_status cuzk_load_check_proof(const cuzk_load_check *c, const cuzk_buf *proof, cuzk_err *err) {
    return c->kind == CUZK_ENGINE_CIRCOM ? check_circom(c, proof, err)
                                         : check_filecoin(c, proof, err);
}

/* Jobs as protobuf messages. Vanilla proofs are tens of megabytes, and protobuf-c would copy them:
 * the message is first split into them and the rest, which protobuf-c then reads. */
#include "base/mem.h"
#include "rpc/wire.h"

#include <cuzk/v1/engine.pb-c.h>
#include <cuzk/v1/proving.pb-c.h>

#include <stdio.h>
#include <string.h>

static cuzk_status malformed(cuzk_err *err, const char *what) {
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "the request is no %s: it does not decode. Generate the client from the "
                        "server's own .proto files (reflection lists them)",
                        what);
}

static cuzk_status no_memory(cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the request");
}

/* Appends a field to what protobuf-c will read: little, since of fields it does not know it keeps
 * many times their size. */
static cuzk_status keep(cuzk_buf *rest, const cuzk__rpc_fields *f, cuzk_err *err) {
    const size_t len = (size_t)(f->p - f->begin);
    if (len > CUZK__RPC_SMALL || rest->len + len > CUZK__RPC_SMALL)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "fields beside proofs and witness take more than %d bytes",
                            CUZK__RPC_SMALL);
    cuzk_buf_append(rest, f->begin, len);
    return CUZK_OK;
}

/* Splits a SubmitProofRequest: vanilla_proof to *one (the last counts, as everywhere in proto3),
 * vanilla_proofs to the parts, the rest to `rest`. */
static cuzk_status split(cuzk__rpc_submission *s, const uint8_t *msg, size_t n,
                         cuzk_engine_bytes *one, cuzk_buf *rest, cuzk_err *err) {
    cuzk__rpc_fields f = {.p = msg, .end = msg + n};
    while (cuzk__rpc_next_field(&f)) {
        if (f.number == 10 && f.wire == 2) {
            *one = (cuzk_engine_bytes){f.data, f.len};
        } else if (f.number == 11 && f.wire == 2) {
            if (s->n_parts >= CUZK__RPC_MAX_PARTS)
                return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                    "vanilla_proofs: more than %d of them", CUZK__RPC_MAX_PARTS);
            if (cuzk__rpc_add_part(s, f.data, f.len) != CUZK_OK) return no_memory(err);
        } else {
            CUZK_TRY(keep(rest, &f, err));
        }
    }
    return f.bad ? malformed(err, "cuzk.v1.SubmitProofRequest") : CUZK_OK;
}

static cuzk_status split_prove(cuzk__rpc_submission *s, const uint8_t *msg, size_t n,
                               cuzk_engine_bytes *one, cuzk_buf *rest, cuzk_err *err) {
    cuzk__rpc_fields f = {.p = msg, .end = msg + n};
    bool some = false;
    while (cuzk__rpc_next_field(&f)) {
        if (f.number != 1 || f.wire != 2) continue;
        some = true;
        CUZK_TRY(split(s, f.data, f.len, one, rest, err)); /* several are one, joined */
    }
    if (f.bad) return malformed(err, "cuzk.v1.ProveRequest");
    if (!some)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "submit: expected the job (SubmitProofRequest), actual none");
    return CUZK_OK;
}

static void member(cuzk_buf *meta, const char *name) {
    cuzk_buf_printf(meta, ",\"%s\":", name);
}

static void number(cuzk_buf *meta, const char *name, uint64_t v) {
    member(meta, name);
    cuzk_buf_printf(meta, "%llu", (unsigned long long)v);
}

static cuzk_status bytes32(cuzk_buf *meta, const char *name, const ProtobufCBinaryData *b,
                           cuzk_err *err) {
    if (b->len == 0) return CUZK_OK;
    if (b->len != 32)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: expected 32 bytes, actual %zu", name,
                            b->len);
    member(meta, name);
    cuzk_buf_puts(meta, "\"");
    for (int i = 0; i < 32; i++)
        cuzk_buf_printf(meta, "%02x", b->data[i]);
    cuzk_buf_puts(meta, "\"");
    return CUZK_OK;
}

/* The fields as the work provider reads them. A 0 is left out where it may stand for "not set";
 * of PoSt and update the registered proof says the sector size, and its numbers begin at 0. */
static cuzk_status put_meta(cuzk_buf *meta, const Cuzk__V1__SubmitProofRequest *m,
                            cuzk_engine_kind kind, cuzk_err *err) {
    cuzk_buf_printf(meta, "{\"proof_kind\":\"%s\"", cuzk__rpc_kind_wire_name(kind));
    if (m->sector_size) number(meta, "sector_size", m->sector_size);
    if (m->registered_proof || kind != CUZK_ENGINE_POREP)
        number(meta, "registered_proof", m->registered_proof);
    if (m->sector_number) number(meta, "sector_number", m->sector_number);
    if (m->miner_id) number(meta, "miner_id", m->miner_id);
    CUZK_TRY(bytes32(meta, "randomness", &m->randomness, err));
    if (m->partition_index || kind == CUZK_ENGINE_WINDOW)
        number(meta, "partition_index", m->partition_index);
    CUZK_TRY(bytes32(meta, "comm_r_old", &m->comm_r_old, err));
    CUZK_TRY(bytes32(meta, "comm_r_new", &m->comm_r_new, err));
    CUZK_TRY(bytes32(meta, "comm_d_new", &m->comm_d_new, err));
    cuzk_buf_puts(meta, "}");
    return CUZK_OK;
}

static cuzk_status set_priority(cuzk__rpc_submission *s, int priority, cuzk_err *err) {
    if (priority < 0 || priority > 4)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "priority: expected LOW (1) to CRITICAL (4) or 0, actual %d", priority);
    s->request.priority = priority;
    return CUZK_OK;
}

static cuzk_status take_fields(cuzk__rpc_submission *s, const Cuzk__V1__SubmitProofRequest *m,
                               const cuzk_engine_bytes *one, cuzk_err *err) {
    const int kind = (int)m->proof_kind;
    if (kind < 0 || kind > CUZK_ENGINE_WINNING)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "proof_kind: expected 1 to 4, actual %d; circom jobs go through "
                            "cuzk.v1.Engine/SubmitCircom",
                            kind);
    s->request.payload.kind = (cuzk_engine_kind)kind;
    CUZK_TRY(set_priority(s, (int)m->priority, err));
    CUZK_TRY(cuzk__rpc_set_request_id(s, m->request_id, strlen(m->request_id), err));
    CUZK_TRY(cuzk__rpc_set_deadline(s, m->deadline_unix_ms, err));
    s->cancel_on_disconnect = m->cancel_on_disconnect;
    if (kind == CUZK_ENGINE_POREP) {
        if (s->n_parts)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "vanilla_proofs: expected vanilla_proof of a PoRep, actual %zu of "
                                "another kind",
                                s->n_parts);
        if (one->len && cuzk__rpc_add_part(s, one->data, one->len) != CUZK_OK)
            return no_memory(err);
    } else if (one->len) {
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "vanilla_proof: expected vanilla_proofs of %s, actual the field of a "
                            "PoRep",
                            cuzk__rpc_kind_wire_name(s->request.payload.kind));
    }
    CUZK_TRY(put_meta(&s->meta, m, s->request.payload.kind, err));
    return cuzk__rpc_seal_submission(s, err);
}

cuzk_status cuzk__rpc_read_submit(cuzk__rpc_submission *s, const uint8_t *msg, size_t n, bool prove,
                                  cuzk_err *err) {
    cuzk_buf rest = CUZK_BUF_INIT;
    cuzk_engine_bytes one = {NULL, 0};
    Cuzk__V1__SubmitProofRequest *m = NULL;
    cuzk_status st =
        prove ? split_prove(s, msg, n, &one, &rest, err) : split(s, msg, n, &one, &rest, err);
    if (st == CUZK_OK && cuzk_buf_status(&rest) != CUZK_OK) st = no_memory(err);
    if (st == CUZK_OK) {
        m = cuzk__rpc_unpack(&cuzk__v1__submit_proof_request__descriptor,
                             (const uint8_t *)rest.data, rest.len);
        st = m ? take_fields(s, m, &one, err) : malformed(err, "cuzk.v1.SubmitProofRequest");
    }
    cuzk__rpc_unpacked_free(m);
    cuzk_buf_free(&rest);
    return st;
}

static cuzk_status take_circom(cuzk__rpc_submission *s, const Cuzk__V1__SubmitCircomRequest *m,
                               cuzk_err *err) {
    s->request.payload.kind = CUZK_ENGINE_CIRCOM;
    CUZK_TRY(set_priority(s, (int)m->priority, err));
    CUZK_TRY(cuzk__rpc_set_request_id(s, m->request_id, strlen(m->request_id), err));
    CUZK_TRY(cuzk__rpc_set_deadline(s, m->deadline_unix_ms, err));
    s->cancel_on_disconnect = m->cancel_on_disconnect;
    const size_t len = strlen(m->key);
    if (len == 0 || len >= CUZK_ENGINE_KEY_NAME || !cuzk__rpc_is_utf8((const uint8_t *)m->key, len))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "key: expected the name of a proving key (1 to %d bytes, UTF-8), "
                            "actual one of %zu%s",
                            CUZK_ENGINE_KEY_NAME - 1, len,
                            len && len < CUZK_ENGINE_KEY_NAME ? ", and no UTF-8" : "");
    cuzk_buf_puts(&s->meta, "{\"key\":");
    cuzk__rpc_json(&s->meta, m->key);
    cuzk_buf_puts(&s->meta, "}");
    return cuzk__rpc_seal_submission(s, err);
}

cuzk_status cuzk__rpc_read_circom(cuzk__rpc_submission *s, const uint8_t *msg, size_t n,
                                  cuzk_err *err) {
    static const char type[] = "cuzk.v1.SubmitCircomRequest";
    cuzk_buf rest = CUZK_BUF_INIT;
    cuzk_engine_bytes wtns = {NULL, 0};
    Cuzk__V1__SubmitCircomRequest *m = NULL;
    cuzk__rpc_fields f = {.p = msg, .end = msg + n};
    cuzk_status st = CUZK_OK;
    while (st == CUZK_OK && cuzk__rpc_next_field(&f)) {
        if (f.number == 3 && f.wire == 2)
            wtns = (cuzk_engine_bytes){f.data, f.len};
        else
            st = keep(&rest, &f, err);
    }
    if (st == CUZK_OK && f.bad) st = malformed(err, type);
    if (st == CUZK_OK && cuzk_buf_status(&rest) != CUZK_OK) st = no_memory(err);
    if (st == CUZK_OK && wtns.len && cuzk__rpc_add_part(s, wtns.data, wtns.len) != CUZK_OK)
        st = no_memory(err);
    if (st == CUZK_OK) {
        m = cuzk__rpc_unpack(&cuzk__v1__submit_circom_request__descriptor,
                             (const uint8_t *)rest.data, rest.len);
        st = m ? take_circom(s, m, err) : malformed(err, type);
    }
    cuzk__rpc_unpacked_free(m);
    cuzk_buf_free(&rest);
    return st;
}

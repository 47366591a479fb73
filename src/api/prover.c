#include "cuzk/prover.h"

#include "api/handle.h"
#include "api/pool.h"
#include "base/mem.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 4096 };

/* Structures grow at their end: one of an earlier version is as good. sizes: the first version's,
 * and today's. */
static cuzk_status known_size(const char *what, size_t given, const size_t sizes[2],
                              cuzk_err *err) {
    if (given == sizes[0] || given == sizes[1]) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE,
                        "%s.size is %zu, expected %zu: begin with the structure's _INIT", what,
                        given, sizes[1]);
}

static cuzk_status read_options(const cuzk_prover_options *given, cuzk_prover_options *o,
                                cuzk_err *err) {
    static const size_t sizes[] = {offsetof(cuzk_prover_options, device), sizeof *o};
    *o = (cuzk_prover_options)CUZK_PROVER_OPTIONS_INIT;
    if (!given) return CUZK_OK;
    CUZK_TRY(known_size("cuzk_prover_options", given->size, sizes, err));
    memcpy(o, given, given->size);
    if (o->threads > MAX_THREADS)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "threads is %u, the most is %d", o->threads,
                            MAX_THREADS);
    if (o->check != CUZK_KEY_CHECK_FULL && o->check != CUZK_KEY_CHECK_CURVE &&
        o->check != CUZK_KEY_CHECK_SHAPE)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "unknown cuzk_key_check %d", (int)o->check);
    return CUZK_OK;
}

static cuzk_zkey_check zkey_check(cuzk_key_check check) {
    switch (check) {
    case CUZK_KEY_CHECK_SHAPE:
        return CUZK_ZKEY_CHECK_SHAPE;
    case CUZK_KEY_CHECK_CURVE:
        return CUZK_ZKEY_CHECK_CURVE;
    case CUZK_KEY_CHECK_FULL:
        break;
    }
    return CUZK_ZKEY_CHECK_FULL;
}

/* A handle with its threads, without a key. */
static cuzk_status new_prover(cuzk_prover **out, const cuzk_prover_options *o, cuzk_pool **pool,
                              cuzk_err *err) {
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "out of memory");
    cuzk_prover *p = mem;
    cuzk_status st;
    if (o->threads) {
        st = cuzk_pool_new(&p->pool, o->threads);
        *pool = p->pool;
    } else {
        st = cuzk__shared_pool_get(pool);
    }
    if (st != CUZK_OK) {
        cuzk_free(p);
        return cuzk_err_set(err, st, "cannot start worker threads");
    }
    p->owner = getpid();
    *out = p;
    return CUZK_OK;
}

/* Where a key comes from. */
typedef struct {
    const char *path; /* NULL: data */
    const void *data;
    size_t len;
} key_source;

static cuzk_status open_from(cuzk_prover **out, const key_source *from,
                             const cuzk_prover_options *options, cuzk_err *err) {
    cuzk_prover_options o;
    cuzk_device device;
    cuzk_prover *p = NULL;
    cuzk_pool *pool = NULL;
    *out = NULL;
    CUZK_TRY(read_options(options, &o, err));
    if (!cuzk_device_parse(o.device, &device))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "device is %s: cpu, cuda or cuda:N", o.device);
    CUZK_TRY(new_prover(&p, &o, &pool, err));
    cuzk_zkey_check check = zkey_check(o.check);
    cuzk_status st = from->path ? cuzk__key_open(&p->key, from->path, check, pool, err)
                                : cuzk__key_copy(&p->key, from->data, from->len, "the proving key",
                                                 check, pool, err);
    if (st == CUZK_OK) st = cuzk__key_to_device(p->key, &device, o.threads, true, err);
    if (st == CUZK_OK)
        *out = p;
    else
        cuzk_prover_free(p);
    return st;
}

static cuzk_status null_argument(cuzk_err *err, const char *what) {
    return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s is NULL", what);
}

cuzk_status cuzk_prover_open(cuzk_prover **out, const char *zkey_path,
                             const cuzk_prover_options *options, cuzk_err *err) {
    if (!out) return null_argument(err, "out");
    *out = NULL;
    if (!zkey_path) return null_argument(err, "zkey_path");
    return open_from(out, &(key_source){.path = zkey_path}, options, err);
}

cuzk_status cuzk_prover_open_memory(cuzk_prover **out, const void *zkey, size_t zkey_len,
                                    const cuzk_prover_options *options, cuzk_err *err) {
    if (!out) return null_argument(err, "out");
    *out = NULL;
    if (!zkey) return null_argument(err, "zkey");
    return open_from(out, &(key_source){.data = zkey, .len = zkey_len}, options, err);
}

void cuzk_prover_free(cuzk_prover *prover) {
    if (!prover) return;
    cuzk__key_free(prover->key);
    if (!prover->pool)
        cuzk__shared_pool_put();
    else if (prover->owner == getpid())
        cuzk_pool_free(prover->pool);
    /* else: the child of a fork, where the threads to join do not exist */
    cuzk_free(prover);
}

cuzk_status cuzk_prover_info(const cuzk_prover *prover, cuzk_key_info *info) {
    if (!prover || !info ||
        (info->size != sizeof *info && info->size != offsetof(cuzk_key_info, device)))
        return CUZK_STATUS_USAGE;
    const cuzk_zkey *zk = prover->key->zkey;
    const cuzk_device *device = cuzk__key_device(prover->key);
    info->curve = zk->curve->circom;
    info->wires = zk->n_vars;
    info->signals = zk->n_public;
    info->domain_size = (uint64_t)1 << zk->log2_domain;
    info->coefficients = zk->n_coefs;
    info->key_bytes = zk->len;
    if (info->size == sizeof *info) info->device = device ? device->word : "cpu";
    return CUZK_OK;
}

/* What a proof is to be written to. */
typedef struct {
    cuzk_json_style style;
    char **proof, **signals, **report; /* each may be NULL */
} outputs;

static cuzk_status read_prove_options(const cuzk_prove_options *options, outputs *to,
                                      cuzk_err *err) {
    static const size_t sizes[] = {offsetof(cuzk_prove_options, report), sizeof *options};
    to->style = CUZK_JSON_COMPACT;
    if (to->proof) *to->proof = NULL;
    if (to->signals) *to->signals = NULL;
    if (!options) return CUZK_OK;
    CUZK_TRY(known_size("cuzk_prove_options", options->size, sizes, err));
    if (options->size == sizeof *options) to->report = options->report;
    if (to->report) *to->report = NULL;
    if (options->form == CUZK_JSON_FORM_SNARKJS)
        to->style = CUZK_JSON_SNARKJS;
    else if (options->form != CUZK_JSON_FORM_COMPACT)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "unknown cuzk_json_form %d",
                            (int)options->form);
    return CUZK_OK;
}

/* The handle's threads in this process. */
static cuzk_status pool_of(const cuzk_prover *prover, cuzk_pool **pool, cuzk_err *err) {
    *pool = NULL;
    if (prover->pool) {
        if (prover->owner == getpid()) *pool = prover->pool;
        return CUZK_OK; /* in the child of a fork: no workers, the caller works alone */
    }
    cuzk_status st = cuzk__shared_pool_current(pool);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "cannot start worker threads");
    return CUZK_OK;
}

/* Moves a buffer's text to *to, which may be NULL. */
static void give(cuzk_buf *b, char **to) {
    if (to)
        *to = b->data;
    else
        cuzk_buf_free(b);
    *b = (cuzk_buf)CUZK_BUF_INIT;
}

static cuzk_status prove_with(const cuzk_prover *prover, const cuzk_wtns *wtns,
                              const cuzk__blinding *blinding, const outputs *to, cuzk_err *err) {
    enum { TEXTS = 3 };
    cuzk_buf text[TEXTS] = {CUZK_BUF_INIT, CUZK_BUF_INIT, CUZK_BUF_INIT};
    char **const out[TEXTS] = {to->proof, to->signals, to->report};
    cuzk_pool *pool = NULL;
    cuzk_status st = cuzk__key_fits(prover->key->zkey, wtns, err);
    if (st == CUZK_OK) st = pool_of(prover, &pool, err);
    if (st == CUZK_OK)
        st = cuzk__key_prove(prover->key, wtns, blinding, pool, to->style, &text[0], &text[1],
                             &text[2], err);
    for (int i = 0; i < TEXTS; i++) {
        if (st == CUZK_OK) give(&text[i], out[i]);
        cuzk_buf_free(&text[i]);
    }
    return st;
}

cuzk_status cuzk_prover_prove(const cuzk_prover *prover, const void *wtns, size_t wtns_len,
                              const cuzk_prove_options *options, char **proof, char **signals,
                              cuzk_err *err) {
    outputs to = {.proof = proof, .signals = signals};
    cuzk_wtns *w;
    CUZK_TRY(read_prove_options(options, &to, err));
    if (!prover) return null_argument(err, "prover");
    if (!wtns) return null_argument(err, "wtns");
    CUZK_TRY(cuzk_wtns_from_memory(&w, wtns, wtns_len, "the witness", err));
    cuzk_status st = prove_with(prover, w, NULL, &to, err);
    cuzk_wtns_free(w);
    return st;
}

static cuzk_status prove_file(const cuzk_prover *prover, const char *path,
                              const cuzk__blinding *blinding, const cuzk_prove_options *options,
                              char **proof, char **signals, cuzk_err *err) {
    outputs to = {.proof = proof, .signals = signals};
    cuzk_wtns *w;
    CUZK_TRY(read_prove_options(options, &to, err));
    if (!prover) return null_argument(err, "prover");
    if (!path) return null_argument(err, "wtns_path");
    CUZK_TRY(cuzk_wtns_open(&w, path, err));
    cuzk_status st = prove_with(prover, w, blinding, &to, err);
    cuzk_wtns_free(w);
    return st;
}

cuzk_status cuzk_prover_prove_file(const cuzk_prover *prover, const char *wtns_path,
                                   const cuzk_prove_options *options, char **proof, char **signals,
                                   cuzk_err *err) {
    return prove_file(prover, wtns_path, NULL, options, proof, signals, err);
}

cuzk_status cuzk__prover_prove_fixed(const cuzk_prover *prover, const char *wtns_path,
                                     const cuzk_u256 *r, const cuzk_u256 *s, char **proof,
                                     char **signals, cuzk_err *err) {
    return prove_file(prover, wtns_path, &(cuzk__blinding){r, s}, NULL, proof, signals, err);
}

cuzk_status cuzk_prover_verification_key(const cuzk_prover *prover, char **json, cuzk_err *err) {
    if (!json) return null_argument(err, "json");
    *json = NULL;
    if (!prover) return null_argument(err, "prover");
    cuzk_vk vk;
    cuzk_buf text = CUZK_BUF_INIT;
    CUZK_TRY(cuzk_zkey_vk(prover->key->zkey, &vk, err));
    cuzk_vk_to_json(&vk, &text);
    cuzk_vk_free(&vk);
    cuzk_status st = cuzk_buf_status(&text);
    if (st == CUZK_OK)
        give(&text, json);
    else
        cuzk_err_set(err, st, "not enough memory for the verification key's text");
    cuzk_buf_free(&text);
    return st;
}

void cuzk_string_free(char *text) {
    cuzk_free(text);
}

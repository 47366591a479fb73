#include "api/key.h"

#include "base/apart.h"
#include "base/mem.h"
#include "groth16/groth16.h"

#include <string.h>

static cuzk_status new_key(cuzk_key **out, const char *name, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    *out = mem;
    return CUZK_OK;
}

cuzk_status cuzk__key_open(cuzk_key **out, const char *path, cuzk_zkey_check check, cuzk_pool *pool,
                           cuzk_err *err) {
    CUZK_TRY(new_key(out, path, err));
    cuzk_status st = cuzk_zkey_open(&(*out)->zkey, path, check, pool, err);
    if (st != CUZK_OK) {
        cuzk__key_free(*out);
        *out = NULL;
    }
    return st;
}

cuzk_status cuzk__key_copy(cuzk_key **out, const void *data, size_t n, const char *name,
                           cuzk_zkey_check check, cuzk_pool *pool, cuzk_err *err) {
    CUZK_TRY(new_key(out, name, err));
    cuzk_key *key = *out;
    cuzk_status st = cuzk_big_alloc(&key->copy, n);
    if (st != CUZK_OK) {
        cuzk_err_set(err, st, "%s: not enough memory for a copy (%zu bytes)", name, n);
    } else {
        key->copy_len = n;
        memcpy(key->copy, data, n);
        st = cuzk_zkey_from_memory(&key->zkey, key->copy, n, name, check, pool, err);
    }
    if (st != CUZK_OK) {
        cuzk__key_free(key);
        *out = NULL;
    }
    return st;
}

void cuzk__key_free(cuzk_key *key) {
    if (!key) return;
    cuzk__resident_free(key->resident);
    cuzk_zkey_free(key->zkey);
    cuzk_big_free(key->copy, key->copy_len);
    cuzk_free(key);
}

cuzk_status cuzk__key_fits(const cuzk_zkey *zkey, const cuzk_wtns *wtns, cuzk_err *err) {
    if (wtns->curve != zkey->curve)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: section 1: the witness is for %s, the key %s for %s", wtns->name,
                            wtns->curve->circom, zkey->name, zkey->curve->circom);
    if (wtns->n != zkey->n_vars)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: section 2: %u values, but the circuit of %s has %u wires (are "
                            "both from the same compilation?)",
                            wtns->name, wtns->n, zkey->name, zkey->n_vars);
    return CUZK_OK;
}

cuzk_status cuzk__key_to_device(cuzk_key *key, const cuzk_device *where, unsigned threads,
                                bool tables, cuzk_err *err) {
    if (!where->cuda) return CUZK_OK;
    return cuzk__resident_open(&key->resident, key->zkey, where, threads, tables, err);
}

const cuzk_device *cuzk__key_device(const cuzk_key *key) {
    return key->resident ? cuzk__resident_device(key->resident) : NULL;
}

typedef struct {
    const cuzk_key *key;
    const void *witness;
    const cuzk_prove_opts *opts;
    cuzk_proof *out;
    cuzk_prove_stats *stats;
    cuzk_err *err;
    cuzk_status st;
} prove_call;

static void call_prove(void *arg) {
    prove_call *c = arg;
    const cuzk_key *k = c->key;
    c->st = k->resident
                ? cuzk__resident_prove(k->resident, c->witness, c->opts, c->out, c->stats, c->err)
                : cuzk_groth16_prove(k->zkey, c->witness, c->opts, c->out, c->stats, c->err);
}

/* Whatever stack the calling thread has: it belongs to another program. */
cuzk_status cuzk__key_prove_points(const cuzk_key *key, const cuzk_wtns *wtns,
                                   const cuzk_prove_opts *opts, cuzk_proof *out,
                                   cuzk_prove_stats *stats, cuzk_err *err) {
    prove_call c = {key, wtns->values, opts, out, stats, err, CUZK_OK};
    cuzk_status st = cuzk_run_apart(call_prove, &c);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for a thread to prove on");
    return c.st;
}

static void append_report(const cuzk_key *key, const cuzk_prove_stats *stats, cuzk_buf *out) {
    cuzk_device cpu;
    const cuzk_device *d = cuzk__key_device(key);
    (void)cuzk_device_parse(NULL, &cpu);
    cuzk_buf_puts(out, "{");
    cuzk_device_json(d ? d : &cpu, out);
    cuzk_buf_puts(out, ",");
    cuzk_device_stages_json(d ? d : &cpu, stats, out);
    cuzk_buf_puts(out, "}");
}

cuzk_status cuzk__key_prove(const cuzk_key *key, const cuzk_wtns *wtns,
                            const cuzk__blinding *blinding, cuzk_pool *pool, cuzk_json_style style,
                            cuzk_buf *proof, cuzk_buf *signals, cuzk_buf *report, cuzk_err *err) {
    cuzk_prove_opts opts = {.pool = pool};
    if (blinding) {
        opts.r = blinding->r;
        opts.s = blinding->s;
    }
    cuzk_proof points;
    cuzk_prove_stats stats;
    cuzk_status st = cuzk__key_prove_points(key, wtns, &opts, &points, &stats, err);
    if (st != CUZK_OK) return st;
    cuzk_proof_to_json(&points, style, proof);
    st = cuzk_buf_status(proof);
    if (signals && st == CUZK_OK) {
        cuzk_public_to_json(wtns->values + sizeof(cuzk_u256), key->zkey->n_public, style, signals);
        st = cuzk_buf_status(signals);
    }
    if (report && st == CUZK_OK) {
        append_report(key, &stats, report);
        st = cuzk_buf_status(report);
    }
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for the proof's text");
    return CUZK_OK;
}

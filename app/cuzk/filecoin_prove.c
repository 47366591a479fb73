/* `cuzk porep|wpost|winning|snap prove`. */
#include "filecoin.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "circuit/fillers.h"
#include "cli.h"
#include "format/proof_bytes.h"
#include "keys/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef enum stage { OPEN, CHECK, CIRCUIT, KEY, WITNESS, PROVE, VERIFY, STAGES } stage;
static const char *const stage_names[STAGES] = {"open",    "vanilla_check", "circuit", "key",
                                                "witness", "prove",         "verify"};

typedef struct prover {
    const cuzk_filecoin_opts *o;
    cuzk_pool *pool;
    cuzk_vanilla *v;
    cuzk_statement *statement;
    uint32_t first, n; /* partitions */
    cuzk_poseidon_set set;
    cuzk_r1cs *r1cs;
    cuzk_witness_plan *plan;
    cuzk_circuit_key *key;
    cuzk_device device;
    cuzk_device_key *device_key; /* NULL on the CPU, where the key proves by itself */
    cuzk_slot **slots; /* as many as proofs share a pass over the key, where it is streamed */
    uint32_t n_slots;
    cuzk_sums_stats sums; /* of all partitions */
    cuzk_proof *proofs;
    int64_t ns[STAGES], since;
} prover;

static void lap(prover *p, stage s) {
    const int64_t now = cuzk_now_ns();
    p->ns[s] += now - p->since;
    p->since = now;
}

static cuzk_status open_input(prover *p, cuzk_err *err) {
    const cuzk_filecoin_opts *o = p->o;
    CUZK_TRY(cuzk_vanilla_open(&p->v, o->in, &o->facts, err));
    const bool winning = p->v->post && p->v->post->statement.type->winning;
    CUZK_TRY(cuzk_filecoin_fits(o, p->v->circuit, winning, p->v->partitions, err));
    if (p->v->c1) cuzk_filecoin_warn(o, &p->v->porep);
    if (p->v->c1 && !p->v->c1->type && !o->facts.type)
        fprintf(stderr,
                "cuzk %s: warning: %s does not say its registered proof: taken for %s "
                "(--registered-proof)\n",
                o->kind->verb, o->in,
                p->v->porep.type ? p->v->porep.type->name : "one of version 1.1");
    p->first = o->one ? o->partition : 0;
    p->n = o->one ? 1 : p->v->partitions;
    CUZK_TRY(cuzk_statement_of_vanilla(&p->statement, p->v, err));
    lap(p, OPEN);
    return CUZK_OK;
}

static cuzk_status check_input(prover *p, cuzk_err *err) {
    cuzk_progress progress;
    if (cuzk_poseidon_set_init(&p->set) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    cuzk_progress_begin(&progress, stderr, "vanilla proof", cuzk_vanilla_challenges(p->v, p->n));
    const cuzk_status st =
        cuzk_vanilla_check(p->v, p->first, p->n, &p->set, p->pool, &progress, err);
    cuzk_progress_end(&progress);
    lap(p, CHECK);
    return st;
}

/* Before any work: the place of the proof must not be one of a key. */
static cuzk_status check_output(const cuzk_filecoin_opts *o, cuzk_err *err) {
    bool own;
    CUZK_TRY(cuzk_keys_own(&own, o->params, o->out, err));
    if (!own) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE,
                        "%s is a file of a key: the proof needs another name", o->out);
}

static cuzk_status open_slots(prover *p, cuzk_err *err) {
    cuzk_backend *b = p->device.backend;
    CUZK_TRY(b->ops->key_load(b, &p->device_key, cuzk_circuit_key_data(p->key), err));
    const uint32_t n = cuzk_device_key_share(p->device_key);
    if (cuzk_alloc((void **)&p->slots, n, sizeof(cuzk_slot *)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    for (; p->n_slots < n; p->n_slots++)
        CUZK_TRY(b->ops->slot_new(p->device_key, &p->slots[p->n_slots], err));
    return CUZK_OK;
}

static cuzk_status open_key(prover *p, cuzk_err *err) {
    cuzk_keys_opts opts = {.dir = p->o->params,
                           .allow_insecure = p->o->allow_insecure,
                           .pool = p->pool,
                           .progress = stderr};
    CUZK_TRY(cuzk_circuit_compact(&p->r1cs, p->v->circuit, err));
    const cuzk_status st = cuzk_circuit_plan(&p->plan, p->r1cs, &p->set);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for the circuit");
    if (p->device.cuda) opts.plan = p->plan;
    lap(p, CIRCUIT);
    CUZK_TRY(cuzk_circuit_key_open(&p->key, p->v->circuit, p->r1cs, &opts, err));
    if (cuzk_circuit_key_is_insecure(p->key))
        fprintf(stderr,
                "cuzk %s: warning: development key: its maker can forge proofs, and the chain will "
                "not take this one\n",
                p->o->kind->verb);
    if (p->device.cuda) {
        p->device.share = p->n;
        CUZK_TRY(cuzk_device_open(&p->device, p->o->threads, false, err));
        CUZK_TRY(open_slots(p, err));
    }
    lap(p, KEY);
    return CUZK_OK;
}

static void close_device(prover *p) {
    if (!p->device.backend) return;
    for (uint32_t i = 0; i < p->n_slots; i++)
        p->device.backend->ops->slot_free(p->slots[i]);
    cuzk_free(p->slots);
    p->device.backend->ops->key_free(p->device_key);
    cuzk_device_close(&p->device);
}

static void add_sums(cuzk_sums_stats *to, const cuzk_sums_stats *from) {
    for (int i = 0; i < CUZK_SUMS_STAGES; i++)
        to->ns[i] += from->ns[i];
    to->device_ns += from->device_ns;
    to->bytes_in += from->bytes_in;
    to->bytes_out += from->bytes_out;
}

static cuzk_status make_witness(prover *p, uint32_t partition, cuzk_witness **out, cuzk_err *err) {
    if (cuzk_witness_new(out, p->r1cs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the witness");
    const cuzk_status st = cuzk_vanilla_witness(p->v, partition, p->plan, *out, p->pool, err);
    lap(p, WITNESS);
    return st;
}

/* On a device: it makes the witness from the free values. */
static cuzk_status prove_inputs(prover *p, uint32_t partition, cuzk_slot *slot,
                                const cuzk_prove_opts *opts, cuzk_proof *proof,
                                cuzk_prove_stats *stats, cuzk_err *err) {
    const size_t n_free = p->r1cs->n_free, n_public = cuzk_circuit_public(p->v->circuit);
    void *mem;
    if (cuzk_alloc(&mem, n_free + n_public, sizeof(cuzk_u256)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the witness");
    cuzk_u256 *frees = mem, *publics = frees + n_free;
    cuzk_status st = cuzk_vanilla_free_values(p->v, partition, frees, n_free, err);
    if (st == CUZK_OK) st = cuzk_statement_public(publics, n_public, p->statement, partition, err);
    lap(p, WITNESS);
    if (st == CUZK_OK)
        st = cuzk_circuit_key_prove_inputs(p->key, slot, frees, publics, opts, proof, stats, err);
    cuzk_wipe(mem, (n_free + n_public) * sizeof(cuzk_u256));
    cuzk_free(mem);
    return st;
}

/* A partition, and those behind it that are proved in one pass with it. */
typedef struct chain {
    prover *p;
    uint32_t i, slot;
} chain;

static cuzk_status prove_partition(chain *c, cuzk_err *err);

static cuzk_status prove_next(void *ctx, cuzk_err *err) {
    const chain *c = ctx;
    chain next = {c->p, c->i + 1, c->slot + 1};
    return next.i < c->p->n && next.slot < c->p->n_slots ? prove_partition(&next, err) : CUZK_OK;
}

static cuzk_status prove_partition(chain *c, cuzk_err *err) {
    prover *p = c->p;
    const uint32_t i = c->i;
    const cuzk_filecoin_opts *o = p->o;
    cuzk_prove_opts opts = {.pool = p->pool, .queued = prove_next, .queued_ctx = c};
    cuzk_witness *w = NULL;
    if (o->fixed) {
        opts.r = &o->r;
        opts.s = &o->s;
    }
    cuzk_prove_stats stats = {0};
    cuzk_status st = CUZK_OK;
    if (p->n_slots) {
        st = prove_inputs(p, p->first + i, p->slots[c->slot], &opts, &p->proofs[i], &stats, err);
    } else {
        st = make_witness(p, p->first + i, &w, err);
        if (st == CUZK_OK)
            st = cuzk_circuit_key_prove(p->key, w, &opts, &p->proofs[i], &stats, err);
    }
    add_sums(&p->sums, &stats.sums);
    lap(p, PROVE);
    cuzk_witness_free(w);
    if (st != CUZK_OK && p->n > 1) return cuzk_err_prefix(err, st, "partition %u", p->first + i);
    return st;
}

static cuzk_status prove_all(prover *p, cuzk_err *err) {
    cuzk_progress progress;
    cuzk_status st = cuzk_alloc((void **)&p->proofs, p->n, sizeof *p->proofs);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory");
    cuzk_progress_begin(&progress, p->n > 1 ? stderr : NULL, "partitions", p->n);
    const uint32_t step = p->n_slots ? p->n_slots : 1;
    for (uint32_t i = 0; i < p->n && st == CUZK_OK; i += step) {
        chain c = {p, i, 0};
        st = prove_partition(&c, err);
        cuzk_progress_add(&progress, p->n - i < step ? p->n - i : step);
    }
    cuzk_progress_end(&progress);
    return st;
}

/* Each proof was verified against its witness when it was made; here all of them against the
 * public inputs that follow from the statement alone, as the chain derives them. */
static cuzk_status verify_all(prover *p, cuzk_err *err) {
    cuzk_u256 *publics;
    CUZK_TRY(cuzk_statement_publics(&publics, p->statement, p->first, p->n, err));
    const cuzk_status st = cuzk_groth16_verify_batch(cuzk_circuit_key_vk(p->key), publics,
                                                     cuzk_circuit_public(p->v->circuit), p->proofs,
                                                     p->n, p->pool, err);
    cuzk_free(publics);
    lap(p, VERIFY);
    return st;
}

static cuzk_status write_proofs(const prover *p, cuzk_err *err) {
    uint8_t *bytes;
    const size_t n = (size_t)p->n * CUZK_PROOF_BYTES;
    if (cuzk_alloc((void **)&bytes, n, 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    for (uint32_t i = 0; i < p->n; i++)
        cuzk_proof_to_bytes(bytes + (size_t)i * CUZK_PROOF_BYTES, &p->proofs[i]);
    const cuzk_status st = cuzk_write_file(p->o->out, bytes, n, err);
    cuzk_free(bytes);
    return st;
}

static void report(const prover *p, int64_t start) {
    printf("{\"circuit\":\"%s\",\"first_partition\":%u,\"partitions\":%u,\"proof_bytes\":%u,"
           "\"threads\":%u,\"insecure_key\":%s,\"verified\":true,\"ms\":%.3f,\"stages\":{",
           p->v->circuit->name, p->first, p->n, p->n * CUZK_PROOF_BYTES, cuzk_pool_threads(p->pool),
           cuzk_circuit_key_is_insecure(p->key) ? "true" : "false",
           (double)(cuzk_now_ns() - start) * 1e-6);
    for (int i = 0; i < STAGES; i++)
        printf("%s\"%s\":%.3f", i ? "," : "", stage_names[i], (double)p->ns[i] * 1e-6);
    fputs("},", stdout);
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_device_json(&p->device, &b);
    cuzk_buf_printf(&b, ",\"witness_on\":\"%s\"", p->device.word);
    cuzk_device_sums_json(&p->device, &p->sums, &b);
    cuzk_buf_puts(&b, "}\n");
    if (cuzk_buf_status(&b) == CUZK_OK) fputs(b.data, stdout);
    cuzk_buf_free(&b);
}

cuzk_status cuzk_filecoin_prove(const cuzk_filecoin_opts *o, cuzk_err *err) {
    const int64_t start = cuzk_now_ns();
    prover p = {.o = o, .device = o->device, .since = start};
    cuzk_status st = cuzk_pool_new(&p.pool, o->threads);
    if (st != CUZK_OK) cuzk_err_set(err, st, "cannot start %u threads", o->threads);
    if (st == CUZK_OK) st = check_output(o, err);
    if (st == CUZK_OK) st = open_input(&p, err);
    if (st == CUZK_OK) st = check_input(&p, err);
    if (st == CUZK_OK) st = open_key(&p, err);
    if (st == CUZK_OK) st = prove_all(&p, err);
    if (st == CUZK_OK) st = verify_all(&p, err);
    if (st == CUZK_OK) st = write_proofs(&p, err);
    if (st == CUZK_OK && o->json) report(&p, start);
    close_device(&p);
    cuzk_free(p.proofs);
    cuzk_circuit_key_free(p.key);
    cuzk_witness_plan_free(p.plan);
    cuzk_r1cs_free(p.r1cs);
    cuzk_poseidon_set_fini(&p.set);
    cuzk_statement_free(p.statement);
    cuzk_vanilla_free(p.v);
    cuzk_pool_free(p.pool);
    return st;
}

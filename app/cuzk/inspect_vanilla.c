/* C1 outputs and requests. Read, and held against their registered proof, but not checked: that
 * takes a prover or `cuzk bench witness`. */
#include "inspect.h"

#include "base/bytes.h"
#include "filecoin/vanilla.h"

#include <inttypes.h>
#include <string.h>

/* The first byte that is no blank. */
static char first_char(const cuzk_map *m) {
    for (size_t i = 0; i < m->len; i++)
        if (!strchr(" \t\r\n", m->data[i])) return (char)m->data[i];
    return 0;
}

static bool mentions(const cuzk_map *m, const char *member) {
    return memmem(m->data, m->len, member, strlen(member)) != NULL;
}

static void hashes(cuzk_report *r, const cuzk_porep_statement *s) {
    cuzk_report_hex(r, "replica_id", s->replica_id, 32);
    cuzk_report_hex(r, "comm_d", s->comm_d, 32);
    cuzk_report_hex(r, "comm_r", s->comm_r, 32);
    cuzk_report_hex(r, "seed", s->seed, 32);
    cuzk_report_hex(r, "ticket", s->ticket, 32);
}

static void porep(cuzk_report *r, const cuzk_porep_statement *s) {
    cuzk_report_str(r, "registered_proof", s->type ? s->type->name : "none of this size");
    cuzk_report_u64(r, "partitions", s->partitions);
    cuzk_report_u64(r, "challenges_per_partition", s->circuit->u.porep.challenges);
    hashes(r, s);
    cuzk_report_str(r, "replica_id_is",
                    s->replica_id_checked ? "that of the miner and sector"
                                          : "not checked: the file does not say the miner");
}

static void post(cuzk_report *r, const cuzk_post_statement *s) {
    enum { SHOWN = 16 };
    cuzk_report_str(r, "registered_proof", s->type->name);
    if (!s->type->winning) cuzk_report_u64(r, "partition_index", s->partition);
    cuzk_report_u64(r, "sectors", s->n_sectors);
    cuzk_report_u64(r, "sectors_of_a_partition", s->type->sectors);
    cuzk_report_u64(r, "challenges_per_sector", s->type->challenges);
    cuzk_report_hex(r, "randomness", s->randomness, 32);
    cuzk_report_open(r, "first_sectors", true);
    for (size_t i = 0; i < s->n_sectors && i < SHOWN; i++) {
        cuzk_report_open(r, NULL, false);
        cuzk_report_u64(r, "sector", s->sectors[i].number);
        cuzk_report_hex(r, "comm_r", s->sectors[i].comm_r, 32);
        cuzk_report_close(r);
    }
    cuzk_report_close(r);
}

static void update(cuzk_report *r, const cuzk_update_statement *s) {
    cuzk_report_str(r, "registered_proof", s->type->name);
    cuzk_report_u64(r, "partitions", s->type->partitions);
    cuzk_report_u64(r, "challenges_per_partition", s->type->challenges);
    cuzk_report_hex(r, "comm_r_old", s->comm_r_old, 32);
    cuzk_report_hex(r, "comm_r_new", s->comm_r_new, 32);
    cuzk_report_hex(r, "comm_d_new", s->comm_d_new, 32);
}

static cuzk_status statement(cuzk_inspect *in, const char *kind, cuzk_err *err) {
    cuzk_report *r = &in->report;
    cuzk_statement *s;
    const cuzk_porep_facts none = {0};
    cuzk_report_str(r, "kind", kind);
    CUZK_TRY(cuzk_statement_open(&s, in->path, &none, err));
    cuzk_report_str(r, "circuit", s->circuit->name);
    if (s->circuit->kind == CUZK_CIRCUIT_POREP)
        porep(r, &s->porep);
    else if (s->circuit->kind == CUZK_CIRCUIT_POST)
        post(r, &s->post);
    else
        update(r, &s->update);
    cuzk_report_str(r, "vanilla_proof",
                    "read, not checked (`cuzk bench witness` or `prove` checks it)");
    cuzk_statement_free(s);
    return CUZK_OK;
}

/* The counts that bincode begins with: partitions and challenges of one of the known sizes. */
static bool looks_like_bincode(const cuzk_map *m) {
    if (m->len < 28000) return false;
    const uint64_t partitions = cuzk_ld_u64le(m->data), challenges = cuzk_ld_u64le(m->data + 8);
    return partitions >= 1 && partitions <= 126 && challenges >= 1 && challenges <= 18;
}

bool cuzk_inspect_vanilla(cuzk_inspect *in, cuzk_status *st, cuzk_err *err) {
    const cuzk_map *m = &in->map;
    if (looks_like_bincode(m)) {
        *st = statement(in, "C1 output (bincode)", err);
        return true;
    }
    if (first_char(m) != '{') return false;
    if (cuzk_vanilla_is_request(m->data, m->len))
        *st = statement(in, "request for a proof (JSON)", err);
    else if (mentions(m, "\"Phase1Out\""))
        *st = statement(in, "C1 output (JSON, in the wrapper of lotus-bench)", err);
    else if (mentions(m, "\"vanilla_proofs\"") || mentions(m, "\"registered_proof\""))
        *st = statement(in, "C1 output (JSON)", err);
    else
        return false;
    return true;
}

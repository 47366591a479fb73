#include "filecoin/sector.h"

#include "base/mem.h"
#include "filecoin/fr.h"
#include "filecoin/sector_internal.h"

static uint32_t log2_nodes_of(const cuzk_sector_spec *s) {
    const cuzk_circuit *c = s->circuit;
    if (c->kind == CUZK_CIRCUIT_POREP) return c->u.porep.log2_nodes;
    if (c->kind == CUZK_CIRCUIT_UPDATE) return c->u.update.log2_nodes;
    return s->post ? s->post->log2_nodes : 0;
}

uint64_t cuzk_sector_work(const cuzk_sector_spec *s) {
    const uint64_t nodes = (uint64_t)1 << log2_nodes_of(s);
    const bool post = s->circuit->kind == CUZK_CIRCUIT_POST;
    if (s->synthetic) return post ? s->sectors : 1;
    const cuzk_circuit *porep = cuzk_porep_circuit_of(log2_nodes_of(s));
    const uint64_t layers = porep ? porep->u.porep.layers : 2;
    /* parents, labels, columns, three trees */
    const uint64_t sealing = nodes * (1 + layers + 1 + 3);
    if (post) return sealing * s->sectors;
    return sealing + (s->circuit->kind == CUZK_CIRCUIT_UPDATE ? 2 * nodes : 0);
}

static cuzk_status check_porep(const cuzk_sector_spec *s, cuzk_c1_format format, cuzk_err *err) {
    if (s->circuit->u.porep.tree.base_arity != 8 || s->circuit->u.porep.challenges < 2)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s is no sector size", s->circuit->name);
    if (!s->seal && format != CUZK_C1_BINCODE)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "%s has no registered proof, which JSON names; ask for bincode",
                            s->circuit->name);
    if (s->synthetic && s->seal && s->seal->rule != CUZK_POREP_INTERACTIVE)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "%s: its challenges depend on comm_r, and a synthetic sector's comm_r "
                            "on its challenges; take an interactive proof, or a size up to 8 MiB",
                            s->seal->name);
    return CUZK_OK;
}

static cuzk_status check(const cuzk_sector_spec *s, cuzk_c1_format format, cuzk_err *err) {
    const cuzk_circuit *c = s->circuit;
    cuzk_u256 x;
    if (c->kind == CUZK_CIRCUIT_POREP) CUZK_TRY(check_porep(s, format, err));
    if (c->kind == CUZK_CIRCUIT_UPDATE && !s->update)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "%s has no registered proof, which a request names", c->name);
    if (c->kind == CUZK_CIRCUIT_POST && !s->post)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s: a registered PoSt proof is needed",
                            c->name);
    if (c->kind == CUZK_CIRCUIT_POST && (s->sectors == 0 || s->sectors > s->post->sectors))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s takes 1 to %u sectors, not %u", c->name,
                            s->post->sectors, s->sectors);
    if (s->randomness && !cuzk__fr_read(&x, s->randomness))
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "the randomness is no field element; clear the top two bits of its "
                            "last byte, as the chain does");
    const uint32_t log2_nodes = log2_nodes_of(s);
    if (!s->synthetic && log2_nodes > CUZK_SECTOR_REAL_LOG2_NODES)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s is too large to seal here", c->name);
    if (s->data && (s->synthetic || c->kind == CUZK_CIRCUIT_POST))
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "data can be given to a real PoRep or update only");
    const uint64_t room = ((uint64_t)32 << log2_nodes) / 128 * 127;
    if (s->data && s->data_len > room)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the data has %zu bytes; %s has room for %llu",
                            s->data_len, c->name, (unsigned long long)room);
    return CUZK_OK;
}

cuzk_status cuzk_sector_make(cuzk_buf *out, const cuzk_sector_spec *s, cuzk_c1_format format,
                             cuzk_err *err) {
    cuzk_poseidon_set set;
    CUZK_TRY(check(s, format, err));
    CUZK_TRY(cuzk_poseidon_set_init(&set));
    const cuzk__tree_maker m = {&set, s->pool, s->synthetic ? NULL : s->progress};
    cuzk_status st = CUZK_STATUS_BUG;
    switch (s->circuit->kind) {
    case CUZK_CIRCUIT_POREP:
        st = cuzk__make_c1(out, s, &m, format, err);
        break;
    case CUZK_CIRCUIT_POST:
        st = cuzk__make_post(out, s, &m, err);
        break;
    case CUZK_CIRCUIT_UPDATE:
        st = cuzk__make_update(out, s, &m, err);
        break;
    }
    cuzk_poseidon_set_fini(&set);
    if (st != CUZK_OK && (!err || err->status == CUZK_OK))
        cuzk_err_set(err, st, "%s: %s", s->circuit->name, cuzk_status_text(st));
    return st;
}

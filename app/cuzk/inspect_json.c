#include "inspect.h"

#include "base/mem.h"
#include "format/json_docs.h"

#include <stdio.h>

static cuzk_status proof(cuzk_inspect *in, cuzk_err *err) {
    cuzk_proof p;
    cuzk_report *r = &in->report;
    cuzk_report_str(r, "kind", "proof");
    CUZK_TRY(
        cuzk_proof_from_json(&p, NULL, (const char *)in->map.data, in->map.len, in->path, err));
    cuzk_report_str(r, "curve", p.curve->circom);
    const bool infinite[] = {p.curve->g1.is_infinity(p.a.b), p.curve->g2.is_infinity(p.b.b),
                             p.curve->g1.is_infinity(p.c.b)};
    static const char *const name[] = {"pi_a", "pi_b", "pi_c"};
    for (size_t i = 0; i < 3; i++)
        cuzk_report_str(r, name[i], infinite[i] ? "infinity" : "on its curve and in its subgroup");
    return CUZK_OK;
}

static cuzk_status signals(cuzk_inspect *in, cuzk_err *err) {
    static const cuzk_curve_id ids[] = {CUZK_BN254, CUZK_BLS12_381};
    cuzk_report *r = &in->report;
    cuzk_u256 *values;
    size_t n;
    cuzk_report_str(r, "kind", "public signals");
    cuzk_status st = CUZK_OK;
    for (size_t i = 0; i < 2; i++) {
        const cuzk_curve *c = cuzk_curve_get(ids[i]);
        char key[48];
        *err = (cuzk_err){0};
        st = cuzk_public_from_json(&values, &n, c, (const char *)in->map.data, in->map.len,
                                   in->path, err);
        if (st != CUZK_OK && st != CUZK_STATUS_FALSE) return st;
        if (i == 0 && st == CUZK_OK) cuzk_report_u64(r, "signals", n);
        snprintf(key, sizeof key, "all_below_r_of_%s", c->circom);
        cuzk_report_bool(r, key, st == CUZK_OK);
        cuzk_free(values);
    }
    return st; /* of the larger prime: FALSE when the signals fit no curve */
}

static cuzk_status vk(cuzk_inspect *in, cuzk_err *err) {
    cuzk_vk k;
    cuzk_report *r = &in->report;
    cuzk_report_str(r, "kind", "verification key");
    CUZK_TRY(cuzk_vk_from_json(&k, (const char *)in->map.data, in->map.len, in->path, err));
    const cuzk_group_ops *g2 = &k.curve->g2;
    cuzk_report_str(r, "curve", k.curve->circom);
    cuzk_report_u64(r, "public_signals", k.n_public);
    cuzk_report_bool(r, "gamma_is_1", g2->eq(k.gamma2.b, g2->generator));
    cuzk_report_bool(r, "delta_is_1", g2->eq(k.delta2.b, g2->generator));
    cuzk_report_str(r, "points", "all on their curves and in their subgroups");
    cuzk_vk_free(&k);
    return CUZK_OK;
}

cuzk_status cuzk_inspect_json(cuzk_inspect *in, cuzk_err *err) {
    switch (cuzk_json_kind_of((const char *)in->map.data, in->map.len)) {
    case CUZK_JSON_PROOF:
        return proof(in, err);
    case CUZK_JSON_PUBLIC:
        return signals(in, err);
    case CUZK_JSON_VK:
        return vk(in, err);
    case CUZK_JSON_UNKNOWN:
        break;
    }
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: offset 0: expected a zkey, wtns, r1cs or ptau file, a key, proof, C1 "
                        "output or request of Filecoin, or a proof, verification key or list of "
                        "public signals in JSON, actual something else",
                        in->path);
}

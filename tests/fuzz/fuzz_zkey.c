#include "fuzz.h"

#include "base/bytes.h"
#include "format/zkey.h"
#include "format/zkey_ceremony.h"

static void walk_ceremony(const cuzk_zkey *zk) {
    cuzk_zkey_ceremony c;
    cuzk_err err = {0};
    cuzk_status st = cuzk_zkey_ceremony_begin(&c, zk, &err);
    for (uint32_t i = 0; st == CUZK_OK && i < c.n; i++) {
        cuzk_zkey_contribution k;
        st = cuzk_zkey_ceremony_next(&c, zk, &k, &err);
        if (st != CUZK_OK) break;
        fuzz_touch(k.transcript, 64);
        fuzz_touch((const uint8_t *)k.contributor, k.contributor_len);
        fuzz_touch(k.beacon, k.beacon_len);
    }
    (void)fuzz_refused(st, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_zkey *zk;
    cuzk_vk vk;
    cuzk_err err = {0};
    cuzk_status st =
        cuzk_zkey_from_memory(&zk, data, size, "input", CUZK_ZKEY_CHECK_SHAPE, NULL, &err);
    if (fuzz_refused(st, &err)) {
        FUZZ_CHECK(!zk);
        return 0;
    }
    size_t g1 = zk->curve->g1.point_size, g2 = zk->curve->g2.point_size, vars = zk->n_vars;
    FUZZ_CHECK(zk->n_public < vars && zk->log2_domain <= zk->curve->fr->adicity);
    fuzz_touch(zk->a, vars * g1);
    fuzz_touch(zk->b1, vars * g1);
    fuzz_touch(zk->b2, vars * g2);
    fuzz_touch(zk->c, (vars - zk->n_public - 1) * g1);
    fuzz_touch(zk->h, g1 << zk->log2_domain);
    for (uint64_t i = 0; i < zk->n_coefs; i++) {
        const uint8_t *p = zk->coefs + i * CUZK_ZKEY_COEF_SIZE;
        FUZZ_CHECK(cuzk_ld_u32le(p) < 2 && cuzk_ld_u32le(p + 4) >> zk->log2_domain == 0 &&
                   cuzk_ld_u32le(p + 8) < vars);
    }
    FUZZ_CHECK(cuzk_zkey_vk(zk, &vk, &err) == CUZK_OK);
    cuzk_vk_free(&vk);
    (void)fuzz_refused(cuzk_zkey_check_points(zk, false, NULL, &err), &err);
    walk_ceremony(zk);
    cuzk_zkey_free(zk);
    return 0;
}

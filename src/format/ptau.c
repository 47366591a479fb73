#include "format/ptau.h"

#include "format/binfile.h"

#include <inttypes.h>
#include <stdio.h>

static cuzk_status read_header(const cuzk_binfile *f, cuzk_ptau_header *h, cuzk_err *err) {
    const cuzk_binfile_section *s;
    CUZK_TRY(cuzk_binfile_need(f, 1, &s, err));
    cuzk_cursor c = cuzk_binfile_cursor(f, s);
    CUZK_TRY(cuzk_binfile_base_prime(f, s, &c, &h->curve, err));
    CUZK_TRY(cuzk_binfile_expect_len(f, s, c.off + 8, "prime and two powers", err));
    uint64_t at = c.off;
    if (!cuzk_rd_u32le(&c, &h->power) || !cuzk_rd_u32le(&c, &h->ceremony_power))
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: header measured wrongly", f->name);
    unsigned most = h->curve->fr->adicity;
    if (h->power < 1 || h->power > most)
        return cuzk_binfile_bad(f, s, at, err, "expected a power from 1 to %u, actual %" PRIu32,
                                most, h->power);
    if (h->ceremony_power < h->power)
        return cuzk_binfile_bad(f, s, at + 4, err,
                                "expected a ceremony's power of at least %" PRIu32
                                ", actual %" PRIu32,
                                h->power, h->ceremony_power);
    return CUZK_OK;
}

cuzk_status cuzk_ptau_read(cuzk_ptau_header *out, const void *data, uint64_t len, const char *name,
                           cuzk_err *err) {
    cuzk_binfile f;
    CUZK_TRY(cuzk_binfile_parse(&f, &cuzk_binfile_ptau, data, len, name, err));
    CUZK_TRY(read_header(&f, out, err));
    out->prepared = cuzk_binfile_find(&f, 12) != NULL;
    uint64_t g1 = out->curve->g1.point_size, g2 = out->curve->g2.point_size;
    uint64_t n = (uint64_t)1 << out->power;
    const struct {
        uint32_t type;
        uint64_t points, size;
    } want[] = {
        {2, 2 * n - 1, g1},
        {3, n, g2},
        {4, n, g1},
        {5, n, g1},
        {6, 1, g2},
        /* blocks of 2^0, 2^1, … points: up to 2n for section 12, to n for the others */
        {12, 4 * n - 1, g1},
        {13, 2 * n - 1, g2},
        {14, 2 * n - 1, g1},
        {15, 2 * n - 1, g1},
    };
    for (size_t i = 0; i < (out->prepared ? 9 : 5); i++) {
        const cuzk_binfile_section *s;
        char why[80];
        CUZK_TRY(cuzk_binfile_need(&f, want[i].type, &s, err));
        snprintf(why, sizeof why, "%" PRIu64 " points of %" PRIu64 " for the power %" PRIu32,
                 want[i].points, want[i].size, out->power);
        CUZK_TRY(cuzk_binfile_expect_len(&f, s, want[i].points * want[i].size, why, err));
    }
    return CUZK_OK;
}

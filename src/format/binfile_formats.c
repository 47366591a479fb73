#include "format/binfile.h"

#include <string.h>

static const char *const zkey_names[] = {
    NULL, "protocol", "header", "IC", "coefficients", "A", "B1", "B2", "C", "H", "contributions",
};
static const char *const wtns_names[] = {NULL, "header", "witness"};
static const char *const r1cs_names[] = {
    NULL, "header", "constraints", "labels", "custom gates", "custom gate uses",
};
static const char *const ptau_names[] = {
    NULL,
    "header",
    "tau G1",
    "tau G2",
    "alpha tau G1",
    "beta tau G1",
    "beta G2",
    "contributions",
    NULL,
    NULL,
    NULL,
    NULL,
    "Lagrange tau G1",
    "Lagrange tau G2",
    "Lagrange alpha tau G1",
    "Lagrange beta tau G1",
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

const cuzk_binfile_format cuzk_binfile_zkey = {"zkey", 1, 2, zkey_names, COUNT(zkey_names)};
const cuzk_binfile_format cuzk_binfile_wtns = {"wtns", 2, 2, wtns_names, COUNT(wtns_names)};
const cuzk_binfile_format cuzk_binfile_r1cs = {"r1cs", 1, 1, r1cs_names, COUNT(r1cs_names)};
const cuzk_binfile_format cuzk_binfile_ptau = {"ptau", 1, 1, ptau_names, COUNT(ptau_names)};

const cuzk_binfile_format *cuzk_binfile_format_of(const void *data, uint64_t len) {
    static const cuzk_binfile_format *const all[] = {&cuzk_binfile_zkey, &cuzk_binfile_wtns,
                                                     &cuzk_binfile_r1cs, &cuzk_binfile_ptau};
    for (size_t i = 0; len >= 4 && i < COUNT(all); i++) {
        if (memcmp(data, all[i]->magic, 4) == 0) return all[i];
    }
    return NULL;
}

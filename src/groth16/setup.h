/* Proving keys from known toxic waste: for development and tests only. Whoever knows the seed can
 * forge proofs. */
#ifndef CUZK_GROTH16_SETUP_H
#define CUZK_GROTH16_SETUP_H

#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"
#include "format/params.h"
#include "format/r1cs.h"
#include "groth16/params_key.h"
#include "r1cs/figures.h"

#include <stdio.h>

/* The five secrets, in Montgomery form, none zero; gamma is 1 in circom's keys. */
typedef struct cuzk_toxic {
    cuzk_u256 tau, alpha, beta, gamma, delta;
} cuzk_toxic;

/* Derived from seed (n bytes, any n > 0): each secret is BLAKE2b-512(name || seed) mod r. */
cuzk_status cuzk_toxic_from_seed(cuzk_toxic *out, const cuzk_curve *curve, const void *seed,
                                 size_t n, cuzk_err *err) CUZK_MUST_CHECK;

/* The same from the seed's hexadecimal digits: an even number of them, 2 to 128; USAGE. */
cuzk_status cuzk_toxic_from_hex(cuzk_toxic *out, const cuzk_curve *curve, const char *hex,
                                cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_setup_stats {
    uint64_t points[2]; /* made in G1 and G2, but for the handful of a verifying key */
    cuzk_multiples_stats made;
} cuzk_setup_stats;

/* How a key is made; the file is the same. All may be NULL. */
typedef struct cuzk_setup_opts {
    cuzk_pool *pool;
    cuzk_backend *backend; /* multiplies points out; NULL: the CPU */
    FILE *progress;        /* for bars */
    cuzk_setup_stats *stats;
} cuzk_setup_opts;

/* Writes a .zkey for the circuit: standard generators, gamma = 1, no contributions. The same
 * inputs give the same file. A file that is there is replaced when it is empty or such a key (no
 * circuit hash and no contributions in section 10), and otherwise stays: USAGE. Needs about 170
 * bytes of memory for each wire and 100 for each row of the domain. */
cuzk_status cuzk_groth16_setup_zkey(const cuzk_circom_r1cs *r1cs, const cuzk_toxic *toxic,
                                    const char *path, const cuzk_setup_opts *opts,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* Writes a .params, as bellperson does, for a compact circuit: standard generators. *vk: its
 * verifying key, free with cuzk_params_vk_free; hash: the BLAKE2b-512 digest of what was written
 * (64 bytes). out is open and stays so. The rest as above; needs about 130 bytes of memory for
 * each wire and 32 for each row of the domain. */
cuzk_status cuzk_groth16_setup_params(const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                                      const cuzk_toxic *toxic, const char *name, cuzk_out *out,
                                      cuzk_params_vk *vk, uint8_t hash[64],
                                      const cuzk_setup_opts *opts, cuzk_err *err) CUZK_MUST_CHECK;

/* The same key in memory, as logarithms for a device to multiply out (cuzk_proving_key.logs): what
 * a proof on a device needs, without a file. Folded: in the form CUZK_H_FOLDED, whose proofs are
 * the same and need four transforms instead of six; L'_w = L_w + (tau^n - 1) C_w(tau) / (2 delta),
 * and L_w = 0 for inputs. Free with cuzk_params_key_free; r1cs must outlive
 * it. Needs about 230 bytes of memory for each wire and 64 for each row of the domain. */
cuzk_status cuzk_groth16_setup_logs(cuzk_params_key **out, const cuzk_r1cs *r1cs,
                                    const cuzk_r1cs_density *density, const cuzk_toxic *toxic,
                                    const char *name, bool folded, cuzk_pool *pool,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* The verifying key of that key alone. Free with cuzk_params_vk_free. Needs about 130 bytes of
 * memory for each wire and 32 for each row of the domain. */
cuzk_status cuzk_groth16_setup_vk(cuzk_params_vk *out, const cuzk_r1cs *r1cs,
                                  const cuzk_r1cs_density *density, const cuzk_toxic *toxic,
                                  const char *name, cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;

#endif

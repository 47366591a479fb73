/* What computes proofs: a device (the CPU, a GPU) holds keys and turns witnesses into the five sums
 * that a Groth16 proof is assembled from (groth16/assemble.h). Nothing here knows a file format,
 * a circuit's meaning or a secret beyond the witness.
 *
 * One proof passes through a slot in three steps, so that two slots keep a device busy: stage
 * (brings the witness in; may overlap another slot's compute), compute (the kernels), finish
 * (waits for them and reads the sums). */
#ifndef CUZK_BACKEND_BACKEND_H
#define CUZK_BACKEND_BACKEND_H

#include "base/status.h"
#include "curve/curve.h"
#include "r1cs/r1cs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Some wires' bases. Bases of wires that are always 0 or 1 stand apart from the others, so that a
 * bit never becomes a scalar. Points as in curve/curve.h, infinities and any alignment allowed. */
typedef struct cuzk_query {
    size_t n_bits;
    const void *bit_bases;
    const uint32_t *bit_slots; /* the bit of the witness that chooses each, ascending */
    size_t n_full;
    const void *full_bases;
    const void *one_base;       /* of the constant ONE when that is no full value; NULL: none */
    const uint32_t *full_slots; /* the full value that multiplies each, ascending; NULL: base i
                                   takes value first_full + i */
    size_t first_full;
} cuzk_query;

typedef enum cuzk_h_form {
    /* h[i] belongs to the quotient's value at g w^i on the odd coset, 2^log2_domain of them, c is
     * a b and nothing is divided: circom's keys. */
    CUZK_H_COSET_VALUES,
    /* h[i] belongs to coefficient i of the quotient, 2^log2_domain - 1 of them: bellperson's. */
    CUZK_H_COEFFICIENTS,
    /* h[i] belongs to coefficient i of -D / 2, 2^log2_domain of them, where D has the values a b on
     * the odd coset of bellperson's roots. The quotient is (C - D) / 2: what C, which the wires
     * determine, adds to the proof has been added to the bases of l, which holds inputs as well. */
    CUZK_H_FOLDED,
} cuzk_h_form;

/* One coefficient of A or B of a flat system: value * wire (full value number `wire`) is added to
 * row `row`. The layout of a .zkey's section 4: u32 matrix (0 A, 1 B), u32 row, u32 wire, value *
 * R^2 mod r; 44 bytes, any alignment. */
enum { CUZK_COEF_RECORD_SIZE = 44 };

struct cuzk_witness_plan;

/* A proving key as data. Everything is borrowed and must outlive what is made of it. */
typedef struct cuzk_proving_key {
    const cuzk_curve *curve;
    const char *name; /* for messages */
    unsigned log2_domain;
    uint32_t n_inputs; /* with ONE */
    size_t n_bits;     /* of a witness's bit array */
    size_t n_full;     /* of a witness's full values */
    /* The rows: a compact system (the input rows, A = input i and B = 0, follow its own), or
     * records of a flat one; the other is NULL. */
    const cuzk_r1cs *r1cs;
    const uint8_t *coefs;
    uint64_t n_coefs;
    /* Of r1cs (witness/witness.h), or NULL. With it slots take free values and make the witness
     * themselves: stage_inputs, and on a device nothing else. */
    const struct cuzk_witness_plan *plan;
    cuzk_h_form h_form;
    /* Keys from known secrets, for development: in place of each base of h, a, b1, b2 and l stands
     * its discrete logarithm to the group's generator (plain, 32 bytes; 0: infinity), and the
     * device multiplies them out. The CPU does not take such keys. */
    bool logs;
    const void *h;       /* G1 */
    cuzk_query a, b1, l; /* G1; l: every wire that is no input (but CUZK_H_FOLDED) */
    cuzk_query b2;       /* G2, the wires of b1 */
    /* affine points */
    const void *alpha1, *beta1, *beta2, *gamma2, *delta1, *delta2;
    const void *ic; /* n_inputs points of G1 */
} cuzk_proving_key;

/* Values of every wire. Of a compact system: its slots, with ONE apart (it is no slot). Of a flat
 * one: full values only, full value 0 is ONE. */
typedef struct cuzk_wires {
    const uint64_t *bits; /* one word more than needed */
    const void *full;     /* n_full elements, any alignment */
    bool montgomery;      /* the form of full: Montgomery (witness/), or plain (a .wtns) */
} cuzk_wires;

/* Sums over the queries' bases: a of A, b1 and b2 of B, l of L (and the inputs' part nowhere), h of
 * the quotient. ONE's own base counts where the query holds it. Affine. */
typedef struct cuzk_groth16_sums {
    cuzk_point a, b1, b2, l, h;
} cuzk_groth16_sums;

typedef enum cuzk_sums_stage {
    CUZK_SUMS_UPLOAD,  /* the witness, or its free values, to the device */
    CUZK_SUMS_WITNESS, /* from the free values, where the slot makes it */
    CUZK_SUMS_EVAL,    /* a = A w, b = B w, c = a b */
    CUZK_SUMS_NTT,     /* to the scalars of H */
    CUZK_SUMS_MSM_A,
    CUZK_SUMS_MSM_B1,
    CUZK_SUMS_MSM_B2,
    CUZK_SUMS_MSM_L,
    CUZK_SUMS_MSM_H,
    CUZK_SUMS_STAGES
} cuzk_sums_stage;

typedef struct cuzk_sums_stats {
    int64_t ns[CUZK_SUMS_STAGES]; /* wall time on the CPU, device time on a GPU */
    int64_t device_ns;            /* from the upload's begin to the last sum's end; 0 on the CPU */
    uint64_t bytes_in, bytes_out; /* moved between host and device */
} cuzk_sums_stats;

/* Memory in bytes. */
typedef struct cuzk_backend_plan {
    uint64_t key;      /* that a key takes on the device, on the CPU beside the key itself; with
                          the memory that its sums are computed in where slots do not hold it
                          (several keys of such a device share the largest) */
    uint64_t slot;     /* that a slot takes there, on the CPU at the peak of its sums */
    uint64_t slot_pin; /* pinned memory of the host that a slot takes */
    uint64_t key_pin;  /* and that a key takes whose bases are streamed */
} cuzk_backend_plan;

/* A device that is open, a key on it, and room for one proof with that key. Each backend embeds
 * these as the first member of its own structures. */
typedef struct cuzk_backend cuzk_backend;
typedef struct cuzk_device_key cuzk_device_key;
typedef struct cuzk_slot cuzk_slot;

/* Multiples of a group's generator in batches, of which keys from known secrets are made. */
typedef struct cuzk_multiples cuzk_multiples;

typedef struct cuzk_multiples_stats {
    int64_t device_ns;            /* spent on batches that were taken; 0 on the CPU */
    uint64_t bytes_in, bytes_out; /* moved between host and device */
} cuzk_multiples_stats;

/* Errors are values; NO_MEMORY comes out of key_load and slot_new, before anything is launched,
 * DEVICE errors from any. Different slots may be used by different threads; one slot by one at a
 * time, in the order stage, compute, finish. free functions take NULL. */
typedef struct cuzk_backend_ops {
    const char *name; /* "cpu", "cuda" */
    void (*close)(cuzk_backend *b);
    cuzk_status (*key_load)(cuzk_backend *b, cuzk_device_key **out, const cuzk_proving_key *key,
                            cuzk_err *err);
    void (*key_free)(cuzk_device_key *k);
    cuzk_status (*slot_new)(cuzk_device_key *k, cuzk_slot **out, cuzk_err *err);
    void (*slot_free)(cuzk_slot *s); /* wipes what held a witness */
    cuzk_status (*stage)(cuzk_slot *s, const cuzk_wires *wires, cuzk_err *err);
    /* In place of stage, of keys with a plan: free values, n of them, as cuzk_witness_solve takes
     * them. They are not needed when it returns. What does not fit is BAD_INPUT, from here or from
     * finish. USAGE for a key without a plan, or another number. */
    cuzk_status (*stage_inputs)(cuzk_slot *s, const cuzk_u256 *frees, size_t n, cuzk_err *err);
    cuzk_status (*compute)(cuzk_slot *s, cuzk_err *err);
    cuzk_status (*finish)(cuzk_slot *s, cuzk_groth16_sums *out, cuzk_sums_stats *stats,
                          cuzk_err *err);
    /* What a key and its slots will take, from its figures alone: of `key` the bases and records
     * are not read, of a query only its counts and whether full_slots and one_base are there. A
     * device that shapes a key by the memory it finds free says what it would take now. */
    cuzk_status (*plan)(cuzk_backend *b, const cuzk_proving_key *key, cuzk_backend_plan *out,
                        cuzk_err *err);
    /* Multiples of the curve's generator of a group, `batch` at most at a time, some `total` in
     * all. All memory is taken here. */
    cuzk_status (*multiples_new)(cuzk_backend *b, cuzk_multiples **out, const cuzk_curve *curve,
                                 cuzk_group group, size_t batch, uint64_t total, cuzk_err *err);
    /* Where the scalars of the next batch are to be written (plain, below the order). There is room
     * while fewer than m->depth batches are queued and not taken. */
    cuzk_u256 *(*multiples_room)(cuzk_multiples *m);
    /* Queues the products of the n > 0 scalars that were written there. */
    cuzk_status (*multiples_queue)(cuzk_multiples *m, size_t n, cuzk_err *err);
    /* Waits for the oldest batch that is queued. *points (affine, n of them) stay as they are until
     * another batch is queued. */
    cuzk_status (*multiples_take)(cuzk_multiples *m, const void **points, cuzk_err *err);
    void (*multiples_free)(cuzk_multiples *m); /* wipes the scalars */
} cuzk_backend_ops;

struct cuzk_backend {
    const cuzk_backend_ops *ops;
};
struct cuzk_device_key {
    cuzk_backend *backend;
    const cuzk_proving_key *key;
};
struct cuzk_slot {
    cuzk_device_key *key;
};
struct cuzk_multiples {
    cuzk_backend *backend;
    unsigned depth;
    cuzk_multiples_stats stats;
};

#ifdef __cplusplus
}
#endif

#endif

/* See predict.h. DESIGN. Kernels of one proof fill the device together, so that what they work adds
 * up; what a sum waits for (its launches, and the last levels of its tree, where few points are
 * left) hides behind the others' work, but for that of the sum that waits longest. */
#include "backend/cuda/predict.h"

/* Measured on an H200 (docs/gpu.md, "Predictions"), in nanoseconds; of sums in BLS12-381's G1. */
static const double TRANSFORM = 7.6e-3, TRANSFORM_SMALL = 12.5e-3; /* an element and level */
static const double TRANSFORM_BEGINS = 50e3;
static const double ROW = 0.055;                 /* an element of a and b */
static const double WITNESS = 1 / 107.0;         /* a byte of it, made on the device */
static const double WITNESS_BEGINS = 1.5e6;      /* its steps, one after another */
static const double STAGE = 1 / 23.0;            /* a byte that the host copies first */
static const double SORTED = 0.29, BUCKET = 0.2; /* a digit, a bucket */
static const double CHOSEN = 0.25, LISTED = 0.7; /* a point, batch-affine and in XYZZ */
static const double SORTED_WAITS = 0.9e6, CHOSEN_WAITS = 0.9e6, LISTED_WAITS = 0.2e6;
static const double ONES = 0.5; /* of bits */
/* An addition in BN254, and in G2. */
static const double BN254 = 0.55, G2 = 2.9;

typedef struct work {
    double busy, waits;
} work;

static work sum_work(const cuzk__predict_key *k, const cuzk__predict_sum *s) {
    const double addition = (k->bn254 ? BN254 : 1) * (s->g2 ? G2 : 1);
    const bool sorted = s->buckets > 0;
    const double list = ONES * s->listed + (sorted ? 0 : s->digits);
    work w = {0, 0};
    if (sorted) {
        w.busy += s->digits * SORTED + s->buckets * BUCKET;
        w.waits += SORTED_WAITS;
    }
    if (list > 0) {
        w.busy += list * (s->many ? CHOSEN : LISTED);
        w.waits += s->many ? CHOSEN_WAITS : LISTED_WAITS;
    }
    return (work){w.busy * addition, w.waits * addition};
}

static double transforms_ns(const cuzk__predict_key *k) {
    const double n = (double)((size_t)1 << k->log2_domain);
    const double level = k->small_tables ? TRANSFORM_SMALL : TRANSFORM;
    return k->transforms * (n * k->log2_domain * level + TRANSFORM_BEGINS);
}

static double witness_ns(const cuzk__predict_key *k, double link) {
    if (k->makes_witness) return k->sent * link + WITNESS_BEGINS + k->witness * WITNESS;
    return k->sent * (link > STAGE ? link : STAGE);
}

double cuzk__predict_ms(const cuzk__predict_key *k, double link) {
    double ns = witness_ns(k, link) + transforms_ns(k);
    ns += (double)((size_t)1 << k->log2_domain) * ROW;
    double longest = 0, all = 0;
    for (int i = 0; i < CUZK__PREDICT_SUMS; i++) {
        const work w = sum_work(k, &k->sum[i]);
        ns += w.busy;
        all += w.waits;
        if (w.waits > longest) longest = w.waits;
    }
    return (ns + (k->in_turn ? all : longest)) * 1e-6;
}

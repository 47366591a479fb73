/* Proofs with keys that the device cannot hold. DESIGN
 *
 * The bases stay in pinned memory of the host, without infinities, cut into chunks, and a proof
 * brings each chunk to the device once, behind the kernels. What the device must hold at a time is
 * little: rows, transform tables of megabytes, the three vectors of the quotient, buffers for a few
 * chunks and the scratch of sums over one chunk. Memory that is left over holds chunks for good,
 * spread evenly over the pass.
 *
 * There are two kinds of chunks:
 *   full  bases of full values, and H's: sorted sums. They come behind the quotient, driven by the
 *         host; what they work in lies over its second and third vector.
 *   bits  bases of bits: chosen and summed batch-affine, nothing else. They have scratch of their
 *         own and begin with the proof, so that the link is busy while rows and transforms run.
 *         Their kernels are short and go first wherever blocks end: sums of full values fill the
 *         device, and the link would wait for buffers.
 * Each kind has a copy stream and buffers; as many chunks as it has buffers are on their way or in
 * use. Some lie over the quotient's second and third vector, and are used once it has left them. A
 * chunk is one piece: points, then for each the place of its value (cuzk__choice.slots). Results of
 * chunks are added up by the host.
 *
 * Proofs may share a pass: each chunk is brought once and used for all of them, which pays where
 * the link takes longer than the kernels. Proofs that were queued wait (their witness is made
 * meanwhile) until there are `share` of them, or until one of them is to be finished. The scalars
 * of H of all but the last are kept beside the vectors.
 *
 * How large chunks are, and how many proofs share a pass, is chosen from the cap by the predicted
 * time (lean_plan.cu). */
#ifndef CUZK_BACKEND_CUDA_LEAN_CUH
#define CUZK_BACKEND_CUDA_LEAN_CUH

#include "backend/cuda/prover.cuh"
#include "backend/cuda/two_steps.cuh"

enum cuzk__lean_kind { CUZK__LEAN_FULL, CUZK__LEAN_BITS, CUZK__LEAN_KINDS };
/* Of an H200's host: nanoseconds a byte. */
static const double CUZK__H200_LINK = 1.0 / 54;
enum { CUZK__LEAN_BUFFERS = 16, CUZK__LEAN_GROUPS = 2, CUZK__LEAN_SHARE = 8 };

/* What is asked for, within bounds. */
static inline unsigned cuzk__lean_share(unsigned n) {
    const unsigned most = CUZK__LEAN_SHARE;
    return n < 1 ? 1 : n > most ? most : n;
}

/* A query's group in the arrays below. */
static inline int cuzk__lean_group(const cuzk__gpu_query *q) {
    return q->group == CUZK_G2;
}

struct cuzk__lean_chunk {
    int id;             /* the query */
    uint32_t first, n;  /* of its finite bases; H's in the order of the key */
    size_t at, bytes;   /* in host memory */
    size_t slots_at;    /* within the chunk */
    char *device;       /* where it stays; NULL: it comes with every proof */
    size_t sum, sorted; /* places of its results in a slot's pinned memory */
};

/* Bases of a query that are cut alike. */
struct cuzk__lean_run {
    uint32_t first, n, each; /* bases, and of them in a chunk but the last */
    uint32_t chunk;          /* the first one's number */
};

/* What a kind works with. */
struct cuzk__lean_part {
    cuzk_cuda dev; /* a view whose arena is the key's */
    cuzk__lean_chunk *chunks;
    uint32_t n;          /* chunks */
    uint32_t points;     /* in a chunk at most; of G2 half as many */
    size_t buffer_bytes; /* of the largest chunk that does not stay */
    /* Of the buffers those from `early` on lie over vectors of the quotient; they are used from the
     * streamed chunk `late_from` on. */
    unsigned buffers, early;
    uint32_t late_from;
    char *buffer[CUZK__LEAN_BUFFERS];
    cudaEvent_t ready[CUZK__LEAN_BUFFERS], free[CUZK__LEAN_BUFFERS];
    cudaStream_t copy;
    cudaEvent_t end;               /* of the last proof's pass */
    uint32_t *counts, *list, *map; /* map, rest: full */
    void *rest;
    cuzk_cuda_bits *many[CUZK__LEAN_GROUPS];
    cuzk_cuda_msm *msm[CUZK__LEAN_GROUPS]; /* full */
};

struct cuzk__lean {
    cuzk__lean_part part[CUZK__LEAN_KINDS];
    cuzk__lean_run run[CUZK__LEAN_KINDS][CUZK__QUERIES];
    cuzk_cuda *bits;   /* the stream of bits */
    cuzk__arena arena; /* of the device; everything below rows and transform tables */
    size_t vectors, work, buffers, resident; /* bytes of it: abc, scratch beyond, … */
    char *abc;
    unsigned share;                           /* proofs in a pass at most */
    char *scalars[CUZK__LEAN_SHARE];          /* of H, of each of them; the last's: abc */
    cuzk_gpu_slot *waiting[CUZK__LEAN_SHARE]; /* guarded by the work's lock */
    unsigned n_waiting;
    char *host; /* pinned: the chunks */
    size_t host_bytes, streamed;
    bool registered, small; /* small: its transforms have small tables */
    size_t results;         /* pinned bytes of a slot's results */
    double link;            /* nanoseconds a byte from the host */
    double ms[2];           /* predicted for a proof: with that link, and one a tenth as fast */
    double compute_ms;      /* of which the device works */
};

/* ---- lean_plan.cu ---- */

/* Cuts the queries (whose counts are known) for `room` bytes of device memory, of which two slots
 * (k->bytes.slot) and the transforms' tables are set aside, and says what everything takes.
 * NO_MEMORY names the least that would do, with the `held` bytes that others have. dev: any handle,
 * read only.
 * chunk: see cuzk_cuda_options; share: 1 to CUZK__LEAN_SHARE proofs may share a pass. */
cuzk_status cuzk__lean_plan(cuzk_gpu_key *k, const cuzk_cuda *dev, size_t room, size_t held,
                            uint32_t chunk, unsigned share, cuzk_err *err) CUZK_MUST_CHECK;
/* Lays the planned memory out in l->arena, which is there. */
cuzk_status cuzk__lean_lay_out(cuzk_gpu_key *k, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__lean_clear(cuzk__lean *l); /* plans and chunk lists; not memory of device and host */

/* Where finite base i of a query lies on the host; *run (or NULL): how many adjoin from it on. */
char *cuzk__lean_point(const cuzk_gpu_key *k, int id, uint32_t i, uint32_t *run);
uint32_t *cuzk__lean_slot(const cuzk_gpu_key *k, int id, uint32_t i);

/* ---- lean_key.cu ---- */

/* Counts the queries' bases without those at infinity. */
cuzk_status cuzk__lean_count(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) CUZK_MUST_CHECK;

/* Loads a key for `room` bytes, transforms too; called by the loader with b->loading held, once
 * rows are there. */
cuzk_status cuzk__lean_load(cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t room, size_t held,
                            cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__lean_free(cuzk_gpu_backend *b, cuzk_gpu_key *k);

/* ---- lean_slot.cu ---- */

/* Queues a proof whose witness is staged, or lets it wait. Called with the work's lock held. */
cuzk_status cuzk__lean_queue(cuzk_gpu_slot *s, cuzk_err *err) CUZK_MUST_CHECK;
/* A proof that waits will not be finished. */
void cuzk__lean_forget(cuzk_gpu_slot *s);
/* The sums, once everything has come to its end. Takes the work's lock. */
cuzk_status cuzk__lean_finish(cuzk_gpu_slot *s, cuzk_groth16_sums *out,
                              cuzk_err *err) CUZK_MUST_CHECK;

#endif

/* `cuzk bench witness --device cuda`: the witness of one partition, made on the device. */
#include "bench_filecoin.h"

#include "base/mem.h"
#include "cli.h"

#ifdef CUZK_HAVE_CUDA
#include "backend/cuda/witness.h"

#include <inttypes.h>
#include <string.h>

typedef struct on_device {
    cuzk_cuda *dev, *side;
    cuzk_cuda_witness *tables;
    void *frees, *full;
    uint64_t *bits;
    cuzk_cuda_witness_fault *fault;
} on_device;

static cuzk_status load(on_device *d, const cuzk_bench_partition *p, int ordinal, cuzk_err *err) {
    cuzk_witness_program *program;
    void *mem;
    const size_t frees = p->r1cs->n_free * sizeof(cuzk_u256);
    CUZK_TRY(cuzk_cuda_open(&d->dev, ordinal, err));
    CUZK_TRY(cuzk_cuda_open(&d->side, ordinal, err));
    CUZK_TRY(cuzk_witness_program_new(&program, p->plan, err));
    const cuzk_status st = cuzk_cuda_witness_new(&d->tables, d->dev, program, err);
    cuzk_witness_program_free(program);
    if (st != CUZK_OK) return st;
    CUZK_TRY(cuzk_cuda_alloc(d->dev, &d->frees, frees + 32, err));
    CUZK_TRY(cuzk_cuda_alloc(d->dev, &d->full, cuzk_witness_full_bytes(p->r1cs), err));
    CUZK_TRY(cuzk_cuda_alloc(d->dev, &mem, cuzk_witness_bits_bytes(p->r1cs), err));
    d->bits = mem;
    CUZK_TRY(cuzk_cuda_alloc(d->dev, &mem, sizeof *d->fault, err));
    d->fault = mem;
    return cuzk_cuda_upload(d->dev, d->frees, p->frees, frees, err);
}

static void unload(on_device *d) {
    if (!d->dev) return;
    void *all[] = {d->frees, d->full, d->bits, d->fault};
    cuzk_cuda_witness_free(d->tables);
    for (int i = 0; i < 4; i++)
        cuzk_cuda_free(d->dev, all[i]);
    cuzk_cuda_close(d->side);
    cuzk_cuda_close(d->dev);
}

static cuzk_status make(const on_device *d, int64_t *ns, cuzk_err *err) {
    float ms;
    CUZK_TRY(cuzk_cuda_mark(d->dev, 0, err));
    CUZK_TRY(cuzk_cuda_witness_make(d->tables, d->dev, d->side, d->frees, d->bits, d->full,
                                    d->fault, err));
    CUZK_TRY(cuzk_cuda_mark(d->dev, 1, err));
    CUZK_TRY(cuzk_cuda_sync(d->dev, err));
    CUZK_TRY(cuzk_cuda_elapsed(d->dev, 0, 1, &ms, err));
    *ns = (int64_t)((double)ms * 1e6);
    return CUZK_OK;
}

/* What the device made, in a witness of the host. */
static cuzk_status fetch(const on_device *d, cuzk_bench_partition *p, cuzk_err *err) {
    cuzk_cuda_witness_fault fault;
    cuzk_witness_free(p->w);
    p->w = NULL;
    if (cuzk_witness_new(&p->w, p->r1cs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a witness");
    CUZK_TRY(cuzk_cuda_download(d->dev, &fault, d->fault, sizeof fault, err));
    if (fault.free_value != UINT32_MAX || fault.row != UINT32_MAX)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "free value %u or row %u is at fault",
                            fault.free_value, fault.row);
    CUZK_TRY(
        cuzk_cuda_download(d->dev, p->w->bits, d->bits, cuzk_witness_bits_bytes(p->r1cs), err));
    return cuzk_cuda_download(d->dev, p->w->full, d->full, (size_t)p->r1cs->n_full * 32, err);
}

static void add(cuzk_bench *b, const cuzk_bench_partition *p, const on_device *d, int64_t *ns,
                const uint8_t digest[32], bool same) {
    cuzk_buf more = CUZK_BUF_INIT;
    unsigned log2n = 0;
    while (((uint64_t)1 << log2n) < (uint64_t)p->r1cs->n_rows + p->r1cs->n_inputs)
        log2n++;
    cuzk_buf_puts(&more, ",\"hardware\":{");
    cuzk_device_json(&b->device, &more);
    cuzk_device_clocks_json(&b->device, &more);
    cuzk_buf_printf(&more,
                    "},\"witness_on\":\"%s\",\"circuit\":\"%s\",\"partition\":%u,\"witness_bytes\":"
                    "%" PRIu64 ",\"table_bytes\":%zu,\"bytes_to_device\":%zu,\"digest\":\"",
                    b->device.word, p->v->circuit->name, b->partition,
                    (uint64_t)cuzk_witness_bits_bytes(p->r1cs) + (uint64_t)p->r1cs->n_full * 32,
                    cuzk_cuda_witness_bytes(d->tables), p->r1cs->n_free * sizeof(cuzk_u256));
    for (int i = 0; i < 32; i++)
        cuzk_buf_printf(&more, "%02x", digest[i]);
    cuzk_buf_puts(&more, "\"");
    if (more.failed) b->rows.failed = true;
    const cuzk_bench_row row = {.op = "witness",
                                .curve = "bls12_381",
                                .log2n = log2n,
                                .device = b->device.word,
                                .threads = b->threads,
                                .variant = p->v->circuit->name,
                                .verified = same,
                                .ns = ns,
                                .runs = b->runs,
                                .extra = more.failed ? NULL : more.data};
    cuzk_bench_add(b, &row);
    cuzk_buf_free(&more);
}

static cuzk_status run(cuzk_bench *b, cuzk_bench_partition *p, on_device *d, cuzk_err *err) {
    int64_t ns[CUZK_BENCH_MAX_RUNS];
    uint8_t digest[2][32]; /* the CPU's, the device's */
    CUZK_TRY(cuzk_bench_partition_load(p, b, err));
    CUZK_TRY(load(d, p, b->device.ordinal, err));
    CUZK_TRY(cuzk_bench_partition_solve(p, b, err));
    CUZK_TRY(cuzk_witness_digest(digest[0], p->w));
    for (unsigned i = 0; i < b->runs; i++)
        CUZK_TRY(make(d, &ns[i], err));
    CUZK_TRY(fetch(d, p, err));
    CUZK_TRY(cuzk_witness_digest(digest[1], p->w));
    const bool same = memcmp(digest[0], digest[1], sizeof digest[0]) == 0;
    if (!same) b->wrong = true;
    add(b, p, d, ns, digest[1], same);
    return CUZK_OK;
}

cuzk_status cuzk_bench_witness_device(cuzk_bench *b, cuzk_err *err) {
    cuzk_bench_partition p = {0};
    on_device d = {0};
    cuzk_status st = cuzk_device_open(&b->device, b->threads, false, err);
    if (st == CUZK_OK) st = run(b, &p, &d, err);
    unload(&d);
    cuzk_device_close(&b->device);
    cuzk_bench_partition_unload(&p);
    return st;
}
#else
cuzk_status cuzk_bench_witness_device(cuzk_bench *b, cuzk_err *err) {
    return cuzk_device_open(&b->device, b->threads, false, err);
}
#endif

/* A witness made on the device: the steps of a program (witness/program.h), one kernel each,
 * its two lanes on two streams. */
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/witness.h"
#include "backend/cuda/witness_sha256.cuh"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

using namespace cuzk_gpu;

/* A step, and for those that are awaited, what tells its end. */
struct queued_step {
    cuzk_work_step step;
    cudaEvent_t end;
};

struct cuzk_cuda_witness {
    cuzk_cuda *dev;
    witness_view view; /* tables; the rest is of one witness */
    queued_step *steps;
    cudaEvent_t begin, side_end;
    uint32_t n_free, n_steps;
    size_t bits_bytes; /* with the words that are only read */
    size_t bytes;
};

namespace {

/* Small blocks: the last steps have few items, which are to be spread over the device. */
enum { WARP = 32, THREAD_ITEMS = 64, FREES = 256 };

__global__ __launch_bounds__(FREES) void put_frees(const __grid_constant__ witness_view v,
                                                   const uint32_t *frees, uint32_t n) {
    const uint32_t i = blockIdx.x * FREES + threadIdx.x;
    if (i < n) put_free(v, frees, i);
}

__global__ __launch_bounds__(THREAD_ITEMS) void do_rows_step(const __grid_constant__ witness_view v,
                                                             uint32_t item0, uint32_t n) {
    const uint32_t i = blockIdx.x * THREAD_ITEMS + threadIdx.x;
    if (i >= n) return;
    const cuzk_work_item item = v.items[item0 + i];
    do_rows(v, item, v.works[item.work]);
}

__global__ __launch_bounds__(THREAD_ITEMS) void do_bits_step(const __grid_constant__ witness_view v,
                                                             uint32_t item0, uint32_t n) {
    const uint32_t i = blockIdx.x * THREAD_ITEMS + threadIdx.x;
    if (i >= n) return;
    const cuzk_work_item item = v.items[item0 + i];
    do_bits(v, item, v.works[item.work]);
}

/* The item of this thread's lanes; behind the last the last again, which writes the same. */
__device__ __forceinline__ cuzk_work_item item_of(const witness_view &v, uint32_t item0, uint32_t n,
                                                  uint32_t i) {
    return v.items[item0 + (i < n ? i : n - 1)];
}

/* Blocks of a warp of narrow hashes, or of one wide one. */
template <class H> constexpr uint32_t hash_threads = H::LANES < WARP ? WARP : H::LANES;
template <class H> constexpr uint32_t block_hashes = hash_threads<H> / H::LANES;

template <class H>
__global__
__launch_bounds__(hash_threads<H>) void do_hash_step(const __grid_constant__ witness_view v,
                                                     uint32_t item0, uint32_t n) {
    __shared__ H h[block_hashes<H>];
    const uint32_t k = threadIdx.x / H::LANES;
    hash_item(v, item_of(v, item0, n, blockIdx.x * block_hashes<H> + k), &h[k]);
}

template <class H>
__global__
__launch_bounds__(hash_threads<H>) void do_level_step(const __grid_constant__ witness_view v,
                                                      uint32_t item0, uint32_t n) {
    __shared__ H h[block_hashes<H>];
    const uint32_t k = threadIdx.x / H::LANES;
    level_item(v, item_of(v, item0, n, blockIdx.x * block_hashes<H> + k), &h[k]);
}

__global__ __launch_bounds__(SHA_LANES) void do_sha256_step(const __grid_constant__ witness_view v,
                                                            uint32_t item0, uint32_t n) {
    __shared__ __align__(16) sha_shared h;
    sha_item(v, item_of(v, item0, n, blockIdx.x), &h);
}

typedef void (*step_kernel)(witness_view, uint32_t, uint32_t);

/* The kernel, its threads, and how many items a block takes. */
struct step_launch {
    step_kernel kernel;
    uint32_t threads, items;
};

template <class H> constexpr step_launch of_hashes(step_kernel kernel) {
    return {kernel, hash_threads<H>, block_hashes<H>};
}

/* Of steps of few items, which are to be done soon, and of many. A multiprocessor works on as many
 * narrow hashes in the time of one as it does on ten wide ones. */
enum { FEW_ITEMS = 8 }; /* a multiprocessor */
const step_launch launches[2][CUZK_WORK_KINDS] = {
    {
        {do_rows_step, THREAD_ITEMS, THREAD_ITEMS},
        {do_bits_step, THREAD_ITEMS, THREAD_ITEMS},
        of_hashes<wide_hash>(do_hash_step<wide_hash>),
        of_hashes<wide_hash>(do_level_step<wide_hash>),
        {do_sha256_step, SHA_LANES, 1},
    },
    {
        {do_rows_step, THREAD_ITEMS, THREAD_ITEMS},
        {do_bits_step, THREAD_ITEMS, THREAD_ITEMS},
        of_hashes<narrow_hash>(do_hash_step<narrow_hash>),
        of_hashes<narrow_hash>(do_level_step<narrow_hash>),
        {do_sha256_step, SHA_LANES, 1},
    },
};

cuzk_status put(cuzk_cuda_witness *w, void *to, const void *from, size_t bytes, cuzk_err *err) {
    void *device;
    CUZK_TRY(cuzk_cuda_alloc(w->dev, &device, bytes + 16, err));
    memcpy(to, &device, sizeof device);
    w->bytes += bytes + 16;
    if (w->dev->arena && w->dev->arena->measuring) return CUZK_OK;
    return bytes ? cuzk_cuda_upload(w->dev, device, from, bytes, err) : CUZK_OK;
}

cuzk_status put_tables(cuzk_cuda_witness *w, const cuzk_witness_program *p, cuzk_err *err) {
    witness_view *v = &w->view;
    CUZK_TRY(put(w, &v->works, p->works, p->n_works * sizeof *p->works, err));
    CUZK_TRY(put(w, &v->inputs, p->inputs, p->n_inputs * sizeof *p->inputs, err));
    CUZK_TRY(put(w, &v->consts, p->consts, p->n_consts * sizeof *p->consts, err));
    CUZK_TRY(put(w, &v->coefs, p->coefs, p->n_coefs * sizeof *p->coefs, err));
    CUZK_TRY(put(w, &v->ops, p->ops, p->n_ops * sizeof *p->ops, err));
    CUZK_TRY(put(w, &v->rows, p->rows, p->n_rows * sizeof *p->rows, err));
    CUZK_TRY(put(w, &v->terms, p->terms, p->n_terms * sizeof *p->terms, err));
    CUZK_TRY(put(w, &v->items, p->items, p->n_items * sizeof *p->items, err));
    CUZK_TRY(put(w, &v->args, p->args, p->n_args * sizeof *p->args, err));
    return put(w, &v->free_slots, p->free_slots, p->n_free * sizeof *p->free_slots, err);
}

cuzk_status put_steps(cuzk_cuda_witness *w, const cuzk_witness_program *p, cuzk_err *err) {
    const bool measuring = w->dev->arena && w->dev->arena->measuring;
    for (uint32_t i = 0; i < p->n_steps; i++)
        w->steps[i].step = p->steps[i];
    if (measuring) return CUZK_OK;
    CUZK_CUDA(cudaEventCreateWithFlags(&w->begin, cudaEventDisableTiming));
    CUZK_CUDA(cudaEventCreateWithFlags(&w->side_end, cudaEventDisableTiming));
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].awaited)
            CUZK_CUDA(cudaEventCreateWithFlags(&w->steps[i].end, cudaEventDisableTiming));
    return CUZK_OK;
}

cuzk_status queue_step(const cuzk_cuda_witness *w, const witness_view &v, const queued_step &q,
                       cudaStream_t stream, cuzk_err *err) {
    const cuzk_work_step &s = q.step;
    const bool many = s.n_items > FEW_ITEMS * (uint32_t)w->dev->info.sms;
    const step_launch &l = launches[many][s.kind];
    if (s.after != CUZK_WORK_NO_STEP)
        CUZK_CUDA(cudaStreamWaitEvent(stream, w->steps[s.after].end, 0));
    l.kernel<<<(s.n_items + l.items - 1) / l.items, l.threads, 0, stream>>>(v, s.item0, s.n_items);
    CUZK_CUDA_LAUNCHED();
    if (q.end) CUZK_CUDA(cudaEventRecord(q.end, stream));
    return CUZK_OK;
}

} // namespace

cuzk_status cuzk_cuda_witness_new(cuzk_cuda_witness **out, cuzk_cuda *dev,
                                  const cuzk_witness_program *p, cuzk_err *err) {
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_witness)));
    cuzk_cuda_witness *w = (cuzk_cuda_witness *)mem;
    cuzk_status st;
    w->dev = dev;
    w->n_free = p->n_free;
    w->n_steps = p->n_steps;
    w->bits_bytes = p->bits_bytes;
    CUZK_TRY_GOTO(cuzk_alloc(&mem, (size_t)p->n_steps + 1, sizeof *w->steps), out);
    w->steps = (queued_step *)mem;
    CUZK_TRY_GOTO(put_steps(w, p, err), out);
    CUZK_TRY_GOTO(put_tables(w, p, err), out);
    *out = w;
    w = NULL;
out:
    cuzk_cuda_witness_free(w);
    return st;
}

void cuzk_cuda_witness_free(cuzk_cuda_witness *w) {
    if (!w) return;
    const witness_view *v = &w->view;
    const void *all[] = {v->works, v->inputs, v->consts, v->coefs, v->ops,
                         v->rows,  v->terms,  v->items,  v->args,  v->free_slots};
    for (const void *p : all)
        cuzk_cuda_free(w->dev, (void *)p);
    for (uint32_t i = 0; w->steps && i < w->n_steps; i++)
        if (w->steps[i].end) (void)cudaEventDestroy(w->steps[i].end);
    if (w->begin) (void)cudaEventDestroy(w->begin);
    if (w->side_end) (void)cudaEventDestroy(w->side_end);
    cuzk_free(w->steps);
    cuzk_free(w);
}

size_t cuzk_cuda_witness_bytes(const cuzk_cuda_witness *w) {
    return w->bytes;
}

cuzk_status cuzk_cuda_witness_make(const cuzk_cuda_witness *w, const cuzk_cuda *dev,
                                   const cuzk_cuda *side, const void *frees, uint64_t *bits,
                                   void *full, cuzk_cuda_witness_fault *fault, cuzk_err *err) {
    witness_view v = w->view;
    v.bits = (uint32_t *)bits;
    v.full = (uint32_t *)full;
    v.bad_free = &fault->free_value;
    v.bad_row = &fault->row;
    CUZK_CUDA(cudaMemsetAsync(bits, 0, w->bits_bytes, dev->stream));
    CUZK_CUDA(cudaMemsetAsync(fault, 0xff, sizeof *fault, dev->stream));
    if (w->n_free) {
        put_frees<<<(w->n_free + FREES - 1) / FREES, FREES, 0, dev->stream>>>(
            v, (const uint32_t *)frees, w->n_free);
        CUZK_CUDA_LAUNCHED();
    }
    CUZK_CUDA(cudaEventRecord(w->begin, dev->stream));
    CUZK_CUDA(cudaStreamWaitEvent(side->stream, w->begin, 0));
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const queued_step &q = w->steps[i];
        CUZK_TRY(queue_step(w, v, q, q.step.lane ? side->stream : dev->stream, err));
    }
    CUZK_CUDA(cudaEventRecord(w->side_end, side->stream));
    CUZK_CUDA(cudaStreamWaitEvent(dev->stream, w->side_end, 0));
    return CUZK_OK;
}

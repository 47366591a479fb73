/* Opens a CUDA device as a backend (backend/backend.h): keys stay on the device, a proof moves its
 * witness in and a few points out. docs/gpu.md says how it is organised and measured. */
#ifndef CUZK_BACKEND_CUDA_OPEN_H
#define CUZK_BACKEND_CUDA_OPEN_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"
#include "backend/cuda/cuda.h"

typedef struct cuzk_cuda_options {
    int ordinal;
    unsigned threads; /* of the host, to copy witnesses and to drive sums; 0: one per core */
    bool tables;      /* make tables of multiples when a key is loaded: loading takes up to seconds
                         and gigabytes, every proof less time */
    size_t leave;   /* bytes that the tables of a large key (2^26 rows and more) leave to others */
    bool sleep;     /* threads sleep while they wait for the device, for whoever else needs the
                       cores: each wait ends tens of microseconds later. The first backend of a
                       process decides for all on the device. */
    bool in_turn;   /* the sums of a proof behind the transforms, one after another, in the same
                       memory: slower, but each stage's time is its own. Large keys that leave
                       little memory get their sums so in any case, beside the transforms. */
    size_t vram;    /* at most so many bytes of the device are taken, beside what the driver
                       holds for the process; 0: what is free. A key that does not fit stays in
                       pinned memory of the host and is streamed. */
    unsigned share; /* so many proofs at most may be queued before one of them is finished, and so
                       share a pass over a key that is streamed; 0: 1. The planner takes as many as
                       help (cuzk_cuda_stream.share). */
    unsigned link_copies; /* for measurements: chunks are copied so many times, as over a link so
                             much slower; 0: once */
    uint32_t chunk; /* not 0: every key is streamed, all of it, at most so many bases of G1 at a
                       time, whatever would be best; for tests */
} cuzk_cuda_options;

/* NO_DEVICE without a driver or such a device. Closed by ops->close, after its keys are freed. */
cuzk_status cuzk_cuda_backend_open(cuzk_backend **out, const cuzk_cuda_options *options,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* Name, memory and versions of the device of a backend that was opened here; of its memory what the
 * backend may take. */
cuzk_status cuzk_cuda_backend_info(const cuzk_backend *b, cuzk_cuda_info *out,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* Bytes of the device that are taken, by the driver's count: by every program on it, and by the
 * driver for itself. 0 when it cannot be asked. */
size_t cuzk_cuda_backend_used(const cuzk_backend *b);

/* Device bytes that a key holds, that its proofs are computed in, and that one of its slots takes
 * (exact). All keys of a device compute in the same memory, which is as large as the largest of
 * them wants it. */
typedef struct cuzk_cuda_key_bytes {
    size_t points, tables, rows, transforms; /* held by the key */
    size_t work, slot;
    size_t streamed,
        host; /* bytes of bases that come with every proof, and in pinned host memory */
} cuzk_cuda_key_bytes;
void cuzk_cuda_backend_key_bytes(const cuzk_device_key *k, cuzk_cuda_key_bytes *out);

/* How a key is cut that may be streamed; all zero of one that is loaded whole. */
typedef struct cuzk_cuda_stream {
    uint32_t chunks[2], chunk_bases[2]; /* of full values and H, of bits; bases at most */
    unsigned share;                     /* proofs in a pass at most */
    double link;                        /* bytes a second from the host, measured or an H200's */
    double ms, ms_slow;                 /* a proof's time, predicted; with a link a tenth as fast */
} cuzk_cuda_stream;
void cuzk_cuda_backend_key_stream(const cuzk_device_key *k, cuzk_cuda_stream *out);

/* What a key takes on a device with so much memory, and a proof's time there: exact but for bases
 * at infinity, which are counted, and long rows of flat systems. Made by the code that loads keys;
 * no device is needed: multiprocessors, arithmetic and link are an H200's. */
typedef struct cuzk_cuda_forecast {
    bool streamed;             /* bases come with every proof */
    cuzk_cuda_key_bytes bytes; /* points: those that stay on the device */
    size_t vectors, scratch,
        buffers;              /* of bytes.work: what a proof computes in; buffers of chunks */
    unsigned slots;           /* counted below */
    size_t device;            /* all of it */
    size_t slot_pinned, ring; /* host: of a slot; what keys are loaded through */
    size_t pinned;            /* host, all of it */
    cuzk_cuda_stream stream;
    double ms, ms_slow; /* a proof; with a link a tenth as fast */
} cuzk_cuda_forecast;
/* key: its figures are read, as by cuzk_backend_ops.plan. like: vram (which must be there), tables,
 * share and leave are. link: bytes a second from the host; 0: an H200's. NO_MEMORY names the least
 * that would do. */
cuzk_status cuzk_cuda_forecast_key(cuzk_cuda_forecast *out, const cuzk_proving_key *key,
                                   const cuzk_cuda_options *like, double link,
                                   cuzk_err *err) CUZK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif

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
    size_t leave; /* bytes that the tables of a large key (2^26 rows and more) leave to others */
    bool sleep;   /* threads sleep while they wait for the device, for whoever else needs the
                     cores: each wait ends tens of microseconds later. The first backend of a
                     process decides for all on the device. */
    bool in_turn; /* the sums of a proof one after another, in the same memory: slower, and
                     what large keys on small devices get in any case */
} cuzk_cuda_options;

/* NO_DEVICE without a driver or such a device. Closed by ops->close, after its keys are freed. */
cuzk_status cuzk_cuda_backend_open(cuzk_backend **out, const cuzk_cuda_options *options,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* Name, memory and versions of the device of a backend that was opened here. */
cuzk_status cuzk_cuda_backend_info(const cuzk_backend *b, cuzk_cuda_info *out,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* Device bytes that a key holds, that its proofs are computed in, and that one of its slots takes
 * (exact). All keys of a device compute in the same memory, which is as large as the largest of
 * them wants it. */
typedef struct cuzk_cuda_key_bytes {
    size_t points, tables, rows, transforms; /* held by the key */
    size_t work, slot;
} cuzk_cuda_key_bytes;
void cuzk_cuda_backend_key_bytes(const cuzk_device_key *k, cuzk_cuda_key_bytes *out);

#ifdef __cplusplus
}
#endif

#endif

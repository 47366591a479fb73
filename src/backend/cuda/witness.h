/* Witnesses made on a device from the free values, by the program of a plan (witness/program.h). */
#ifndef CUZK_BACKEND_CUDA_WITNESS_H
#define CUZK_BACKEND_CUDA_WITNESS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/cuda/cuda.h"
#include "witness/program.h"

typedef struct cuzk_cuda_witness cuzk_cuda_witness;

/* What did not fit: the least number of a free value that is no field element, or no bit where one
 * is needed, and of a row whose wire must be a bit and is none. UINT32_MAX: none. */
typedef struct cuzk_cuda_witness_fault {
    uint32_t free_value, row;
} cuzk_cuda_witness_fault;

/* Uploads a program, which may be freed afterwards. Waits. */
cuzk_status cuzk_cuda_witness_new(cuzk_cuda_witness **out, cuzk_cuda *dev,
                                  const cuzk_witness_program *program,
                                  cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_cuda_witness_free(cuzk_cuda_witness *w);
/* Device bytes taken. */
size_t cuzk_cuda_witness_bytes(const cuzk_cuda_witness *w);

/* Every wire from the free values (device, 32 bytes each, plain): bits (device, as
 * cuzk_witness_bits_bytes) and full values (device, Montgomery form, canonical), the same as
 * cuzk_witness_solve gives. *fault (device): what went wrong; the values mean nothing then. Queued
 * on `dev`, any handle of the device; a part of it on `side`, another one, for which `dev` waits at
 * the end. One thread at a time may queue witnesses of a program; they may overlap. */
cuzk_status cuzk_cuda_witness_make(const cuzk_cuda_witness *w, const cuzk_cuda *dev,
                                   const cuzk_cuda *side, const void *frees, uint64_t *bits,
                                   void *full, cuzk_cuda_witness_fault *fault,
                                   cuzk_err *err) CUZK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif

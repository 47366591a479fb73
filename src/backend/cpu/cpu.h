/* The CPU as a backend (backend/backend.h). */
#ifndef CUZK_BACKEND_CPU_CPU_H
#define CUZK_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "base/cpu.h"
#include "base/thread.h"

/* pool may be NULL (one thread) and must outlive the backend. Close with (*out)->ops->close.
 *
 * What is particular here: keys are used where they are, and so are wires, which must stay as they
 * are from stage to finish; Montgomery forms of a compact system's wires must be aligned to 8
 * bytes. A slot takes three vectors of the domain. With small circom keys and
 * several threads the stages of a computation run at the same time, and so do their times. Sums
 * that are computed at the fault points `msm_a`, `msm_b1`, `msm_b2`, `msm_c` (of L) and `msm_h` can
 * be disturbed (base/fault.h). */
cuzk_status cuzk_cpu_backend_open(cuzk_backend **out, cuzk_cpu_impl impl, cuzk_pool *pool,
                                  cuzk_err *err) CUZK_MUST_CHECK;

/* For tests: the scalars of H, plain, of the last compute of a slot of this backend. */
const cuzk_u256 *cuzk__cpu_slot_h(const cuzk_slot *slot);

#endif

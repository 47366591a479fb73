/* The plainest listener: every row goes straight to a sink, nothing is kept. It is what the
 * compact form is tested against. */
#ifndef CUZK_CIRCUIT_FLAT_H
#define CUZK_CIRCUIT_FLAT_H

#include "circuit/cs.h"

typedef struct cuzk_cs_flat {
    cuzk_cs cs;
    cuzk_row_sink sink; /* row may be NULL: count only */
} cuzk_cs_flat;

cuzk_status cuzk_cs_flat_init(cuzk_cs_flat *f, const cuzk_row_sink *sink) CUZK_MUST_CHECK;
void cuzk_cs_flat_fini(cuzk_cs_flat *f);

#endif

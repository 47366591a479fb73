/* The parts of `cuzk inspect`: each explains one kind of file, as far as it can be read, and
 * returns what the reader says about it. */
#ifndef CUZK_INSPECT_H
#define CUZK_INSPECT_H

#include "report.h"

#include "base/file.h"
#include "base/thread.h"

typedef struct cuzk_inspect {
    const char *path;
    cuzk_map map;
    bool full; /* every point in its subgroup */
    cuzk_pool *pool;
    cuzk_report report;
} cuzk_inspect;

cuzk_status cuzk_inspect_zkey(cuzk_inspect *in, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_inspect_wtns(cuzk_inspect *in, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_inspect_r1cs(cuzk_inspect *in, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_inspect_ptau(cuzk_inspect *in, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_inspect_json(cuzk_inspect *in, cuzk_err *err) CUZK_MUST_CHECK;
/* Filecoin's files; vanilla: C1 outputs and requests. False, and nothing reported: it is none. */
bool cuzk_inspect_filecoin(cuzk_inspect *in, cuzk_status *st, cuzk_err *err) CUZK_MUST_CHECK;
bool cuzk_inspect_vanilla(cuzk_inspect *in, cuzk_status *st, cuzk_err *err) CUZK_MUST_CHECK;

#endif

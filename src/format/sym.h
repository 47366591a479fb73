/* circom's .sym file: names of signals, one line `label,wire,component,name` each. wire is -1 for
 * a signal that simplification removed; several names may share a wire. */
#ifndef CUZK_FORMAT_SYM_H
#define CUZK_FORMAT_SYM_H

#include "base/file.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_sym {
    char *file;
    cuzk_map map;
    const char *text;
    uint32_t n_wires;
    struct {
        uint64_t off; /* of the name in the text */
        uint32_t len; /* 0: no name */
    } * names;        /* by wire: the first name in the file, which is the outermost component's */
} cuzk_sym;

/* n_wires: of the circuit the file must belong to. BAD_INPUT with line and offset. */
cuzk_status cuzk_sym_open(cuzk_sym **out, const char *path, uint32_t n_wires,
                          cuzk_err *err) CUZK_MUST_CHECK;
/* From memory that must stay valid and unchanged. */
cuzk_status cuzk_sym_from_memory(cuzk_sym **out, const char *text, size_t len, uint32_t n_wires,
                                 const char *name, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_sym_free(cuzk_sym *s);

/* The name of a wire, *len bytes, no NUL; NULL when the file has none, or s is NULL. */
const char *cuzk_sym_name(const cuzk_sym *s, uint32_t wire, size_t *len);

#endif

/* Progress of long work: a bar on a terminal, one line per tenth elsewhere, nothing when the
 * work takes under a second. Written to stderr only by programs; library code receives a
 * cuzk_progress pointer (may be NULL) and calls cuzk_progress_add. Adding is thread-safe. */
#ifndef CUZK_BASE_PROGRESS_H
#define CUZK_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cuzk_progress {
    const char *what;
    FILE *to; /* NULL: silent */
    bool tty;
    uint64_t total;
    _Atomic uint64_t done;
    _Atomic int64_t next_ns; /* when to draw again */
    _Atomic unsigned shown;  /* last tenth printed where there is no terminal */
    int64_t start_ns;
} cuzk_progress;

/* what must outlive the object. to == NULL makes it silent. total > 0. */
void cuzk_progress_begin(cuzk_progress *p, FILE *to, const char *what, uint64_t total);
void cuzk_progress_add(cuzk_progress *p, uint64_t units);
/* Clears the bar. */
void cuzk_progress_end(cuzk_progress *p);

#endif

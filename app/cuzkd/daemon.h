/* The daemon's life: start, serve, reload, drain, end. */
#ifndef CUZK_CUZKD_DAEMON_H
#define CUZK_CUZKD_DAEMON_H

#include "settings.h"

typedef struct cuzkd_options {
    const char *file;       /* of settings; NULL: none */
    const char *const *set; /* assignments of the command line */
    size_t n_set;
    const char *mock; /* NULL, "default" or a file */
    bool recover;     /* begin anew when the journal is damaged */
    const char *version;
} cuzkd_options;

/* Runs until a signal ends it; returns the exit code. settings has been read and checked; it
 * changes when the file is read again. Blocks SIGTERM, SIGINT and SIGHUP for the whole process, so
 * no other thread may run yet. */
int cuzkd_run(cuzkd_settings *settings, const cuzkd_options *options);

#endif

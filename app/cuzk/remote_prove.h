/* `cuzk prove --addr`, `cuzk porep prove --addr`, …: the same as without --addr, by a daemon. */
#ifndef CUZK_REMOTE_PROVE_H
#define CUZK_REMOTE_PROVE_H

#include <stdbool.h>

/* Whether --addr is among the words. */
bool cuzk_remote_asked(int argc, char **argv);
/* Reads the rest of the command line itself; returns the exit code. */
int cuzk_remote_prove(const char *verb, int argc, char **argv);

#endif

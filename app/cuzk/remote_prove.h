/* `cuzk prove --addr`, `cuzk porep prove --addr`, …: the same as without --addr, by a daemon. */
#ifndef CUZK_REMOTE_PROVE_H
#define CUZK_REMOTE_PROVE_H

/* Reads the rest of the command line itself; returns the exit code. */
int cuzk_remote_prove(const char *verb, int argc, char **argv);

#endif

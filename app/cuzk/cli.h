/* What every verb of `cuzk` shares: options, messages, exit codes. */
#ifndef CUZK_CLI_H
#define CUZK_CLI_H

#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A verb: main() calls it with argv[0] = the verb's name; it returns an exit code. run is NULL
 * where another program has the verb. */
typedef struct cuzk_verb {
    const char *name;
    const char *summary; /* one line for `cuzk --help` */
    int (*run)(int argc, char **argv);
} cuzk_verb;

/* The commit this program was built from, with "-dirty" when files differed (cmake/CuzkCommit). */
extern const char cuzk_cli_commit[];

/* "cuzk VERB: message" on stderr; returns the exit code of the status. */
int cuzk_cli_fail(const char *verb, cuzk_status st, const cuzk_err *err);

/* "cuzk VERB: message" and a pointer to --help on stderr; returns exit code 2. */
int cuzk_cli_usage(const char *verb, const char *fmt, ...) CUZK_PRINTF(2, 3);

/* What getopt_long's '?' and ':' mean; returns exit code 2. optopt and argv are getopt's. */
int cuzk_cli_bad_option(const char *verb, int c, char **argv);

/* Ends a verb that wrote to stdout: code, or 4 with a message when not all of it was written. */
int cuzk_cli_flush(const char *verb, int code);
/* --help: the text on stdout; returns the exit code. */
int cuzk_cli_help(const char *verb, const char *text);

/* Whether --addr, which has a daemon do the work, is among the words. */
bool cuzk_cli_addr_given(int argc, char **argv);

/* 0, or exit code 2 with a message when an output is an input or another output as well. */
int cuzk_cli_distinct(const char *verb, const char *const *in, size_t n_in, const char *const *out,
                      size_t n_out);

/* A whole decimal number in [lo, hi]; false otherwise. */
bool cuzk_cli_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

/* A decimal number below 2^256; false when it is not. */
bool cuzk_cli_scalar(const char *text, size_t len, uint64_t out[4]);

/* "--impl NAME": auto, ifma, asm or portable; false for another word. */
bool cuzk_cli_impl(const char *text, cuzk_cpu_impl *out);

/* "--threads N": 0 (the default) is one per core. False when text is no such number. */
bool cuzk_cli_threads(const char *text, unsigned *out);

/* "--vram SIZE" into *out; NULL leaves it. The exit code 2 after a message when it is no size or
 * the device is not CUDA, else -1. */
int cuzk_cli_vram(const char *verb, const char *text, bool cuda, uint64_t *out);

#endif

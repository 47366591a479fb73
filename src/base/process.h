/* What every program of the project does first. */
#ifndef CUZK_BASE_PROCESS_H
#define CUZK_BASE_PROCESS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* A closed pipe and a full quota become errors of the write instead of the end of the process, and
 * standard input, output and error exist (on /dev/null where the caller closed them), so that no
 * file of ours gets their numbers. For main() only. */
void cuzk_process_init(void);

/* USAGE when the environment has a CUZK_CPU (base/cpu.h) other than `scalar`, `baseline`, `auto` or
 * an empty one, so that a misspelt word does not go unnoticed. For main() only. */
cuzk_status cuzk_process_env(cuzk_err *err) CUZK_MUST_CHECK;

/* The path of the program `name` in the directory that holds the running program (symbolic links
 * followed), whether it is there or not; false when /proc does not tell or out is too small. */
bool cuzk_process_beside(char *out, size_t room, const char *name);

#endif

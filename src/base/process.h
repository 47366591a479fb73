/* What every program of the project does first. */
#ifndef CUZK_BASE_PROCESS_H
#define CUZK_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* A closed pipe and a full quota become errors of the write instead of the end of the process, and
 * standard input, output and error exist (on /dev/null where the caller closed them), so that no
 * file of ours gets their numbers. For main() only. */
void cuzk_process_init(void);

/* The path of the program `name` in the directory that holds the running program (symbolic links
 * followed), whether it is there or not; false when /proc does not tell or out is too small. */
bool cuzk_process_beside(char *out, size_t room, const char *name);

#endif

/* What every program of the project does first. */
#ifndef CUZK_BASE_PROCESS_H
#define CUZK_BASE_PROCESS_H

/* A closed pipe and a full quota become errors of the write instead of the end of the process, and
 * standard input, output and error exist (on /dev/null where the caller closed them), so that no
 * file of ours gets their numbers. For main() only. */
void cuzk_process_init(void);

#endif

/* Starting and ending worker processes. Internal to remote. */
#ifndef CUZK_ENGINE_REMOTE_SPAWN_H
#define CUZK_ENGINE_REMOTE_SPAWN_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts a program whose descriptor 3 is `socket`, without any other of ours. The thread that calls
 * is the one whose end ends the worker: it must live as long. inject NULL: none. */
cuzk_status cuzk__spawn(pid_t *out, const char *const *command, const char *inject, int socket,
                        cuzk_err *err) CUZK_MUST_CHECK;

/* Waits for its end, grace_ns at a time: by itself (when `kindly`), after SIGTERM (when kindly),
 * after SIGKILL. Writes how it ended ("was ended by signal 9 (Killed)"). */
void cuzk__reap(pid_t pid, bool kindly, int64_t grace_ns, char *how, size_t room);

#endif

#include "engine/remote/spawn.h"

#include "engine/remote/remote.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SOCKET = 3 };

/* The command, "--fd", "3", the injection, NULL. */
static cuzk_status make_argv(char ***out, const char *const *command, const char *inject) {
    static const char *const tail[] = {"--fd", "3", "--inject"};
    size_t n = 0;
    while (command[n])
        n++;
    CUZK_TRY(cuzk_alloc((void **)out, n + 5, sizeof **out));
    for (size_t i = 0; i < n; i++)
        memcpy(&(*out)[i], &command[i], sizeof **out);
    for (size_t i = 0; i < (inject ? 3 : 2); i++)
        memcpy(&(*out)[n + i], &tail[i], sizeof **out);
    if (inject) memcpy(&(*out)[n + 3], &inject, sizeof **out);
    return CUZK_OK;
}

static int set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, int socket) {
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int e = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!e) e = posix_spawn_file_actions_addopen(files, 1, "/dev/null", O_WRONLY, 0);
    if (!e) e = posix_spawn_file_actions_adddup2(files, socket, SOCKET);
    if (!e) e = posix_spawn_file_actions_addclosefrom_np(files, SOCKET + 1);
    if (!e) e = posix_spawnattr_setsigmask(attr, &none);
    if (!e) e = posix_spawnattr_setsigdefault(attr, &all);
    /* A group of its own: a Ctrl-C at the daemon's terminal lets what runs end. The worker ends
     * with the daemon all the same, by its socket and the parent's death signal. */
    if (!e) e = posix_spawnattr_setpgroup(attr, 0);
    if (!e)
        e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETPGROUP);
    return e;
}

cuzk_status cuzk__spawn(pid_t *out, const char *const *command, const char *inject, int socket,
                        cuzk_err *err) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    char **argv;
    if (make_argv(&argv, command, inject) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory to start a worker");
    int e = posix_spawn_file_actions_init(&files);
    if (!e) {
        e = posix_spawnattr_init(&attr);
        if (!e) {
            e = set_up(&files, &attr, socket);
            if (!e) e = posix_spawn(out, argv[0], &files, &attr, argv, environ);
            (void)posix_spawnattr_destroy(&attr);
        }
        (void)posix_spawn_file_actions_destroy(&files);
    }
    cuzk_free(argv);
    if (!e) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "cannot start the worker %s: %s", command[0],
                        strerror(e));
}

/* Waits at most ns; whether it has ended. */
static bool wait_for(pid_t pid, int64_t ns, int *status) {
    const int64_t until = cuzk_now_ns() + ns;
    for (;;) {
        const pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid) return true;
        if (got < 0 && errno != EINTR) {
            *status = 0; /* somebody else waited for it */
            return true;
        }
        if (cuzk_now_ns() >= until) return false;
        const struct timespec ms = {0, 1000000};
        (void)nanosleep(&ms, NULL);
    }
}

void cuzk__reap(pid_t pid, bool kindly, int64_t grace_ns, char *how, size_t room) {
    int status = 0;
    bool ended = wait_for(pid, kindly ? grace_ns : 0, &status);
    if (!ended && kindly) {
        (void)kill(pid, SIGTERM);
        ended = wait_for(pid, grace_ns, &status);
    }
    if (!ended) {
        (void)kill(pid, SIGKILL);
        ended = wait_for(pid, 20 * grace_ns, &status);
    }
    if (!ended)
        snprintf(how, room, "does not end, even by SIGKILL");
    else if (WIFSIGNALED(status))
        snprintf(how, room, "was ended by signal %d (%s)", WTERMSIG(status),
                 sigdescr_np(WTERMSIG(status)));
    else
        snprintf(how, room, "ended with exit code %d", WEXITSTATUS(status));
}

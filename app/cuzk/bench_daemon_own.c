/* A daemon that lives as long as a benchmark. */
#include "bench_daemon.h"

#include "base/clock.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_WORDS = 96 };

static cuzk_status program_beside(char out[512], const char *name, cuzk_err *err) {
    if (!cuzk_process_beside(out, 512, name))
        return cuzk_err_set(err, CUZK_STATUS_IO, "cannot read /proc/self/exe");
    if (access(out, X_OK) == 0) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO, "%s is not there", out);
}

static cuzk_status make_dir(cuzk_load_daemon *d, cuzk_err *err) {
    const char *tmp = getenv("TMPDIR");
    snprintf(d->dir, sizeof d->dir, "%.200s/cuzk-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(d->dir))
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", d->dir, strerror(errno));
    snprintf(d->addr, sizeof d->addr, "unix://%s/sock", d->dir);
    snprintf(d->log, sizeof d->log, "%s/log", d->dir);
    return CUZK_OK;
}

static cuzk_status spawn(cuzk_load_daemon *d, const char *program, char **words, cuzk_err *err) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, d->log, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    const int why = posix_spawn(&pid, program, &files, NULL, words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (why) return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", program, strerror(why));
    d->pid = (int)pid;
    return CUZK_OK;
}

/* Until somebody answers there, or the process has ended. */
static cuzk_status wait_for(cuzk_load_daemon *d, cuzk_err *err) {
    const struct timespec pause = {0, 50000000};
    const int64_t until = cuzk_now_ns() + 120 * INT64_C(1000000000);
    while (cuzk_now_ns() < until && !cuzk_remote_stopped()) {
        cuzk_rpc_client *c;
        int status;
        if (waitpid(d->pid, &status, WNOHANG) == d->pid) {
            d->pid = 0;
            break;
        }
        if (cuzk_rpc_client_new(&c, d->addr, NULL, NULL) == CUZK_OK) {
            cuzk_rpc_client_free(c);
            return CUZK_OK;
        }
        nanosleep(&pause, NULL);
    }
    char last[300] = "";
    FILE *in = fopen(d->log, "re");
    while (in && fgets(last, sizeof last, in))
        continue;
    if (in) fclose(in);
    return cuzk_err_set(err, CUZK_STATUS_BUSY, "cuzkd does not come up: %s", last);
}

cuzk_status cuzk_load_daemon_start(cuzk_load_daemon *d, char *const *args, cuzk_err *err) {
    char program[512], listen[340], state[340], name[] = "cuzkd", set[] = "--set";
    char *words[MAX_WORDS];
    int n = 0;
    memset(d, 0, sizeof *d);
    CUZK_TRY(program_beside(program, name, err));
    CUZK_TRY(make_dir(d, err));
    snprintf(listen, sizeof listen, "daemon.listen=%s", d->addr);
    snprintf(state, sizeof state, "daemon.state_dir=%s/state", d->dir);
    words[n++] = name;
    words[n++] = set;
    words[n++] = listen;
    words[n++] = set;
    words[n++] = state;
    for (; *args && n < MAX_WORDS - 1; args++)
        words[n++] = *args;
    words[n] = NULL;
    cuzk_status st = spawn(d, program, words, err);
    if (st == CUZK_OK) st = wait_for(d, err);
    if (st != CUZK_OK) (void)cuzk_load_daemon_stop(d, NULL);
    return st;
}

uint64_t cuzk_load_daemon_memory(const cuzk_load_daemon *d) {
    char path[48];
    unsigned long long size, resident = 0;
    if (!d->pid) return 0;
    snprintf(path, sizeof path, "/proc/%d/statm", d->pid);
    FILE *in = fopen(path, "re");
    if (!in) return 0;
    if (fscanf(in, "%llu %llu", &size, &resident) != 2) resident = 0;
    fclose(in);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

cuzk_status cuzk_load_daemon_stop(cuzk_load_daemon *d, cuzk_err *err) {
    cuzk_status st = CUZK_OK;
    int status = 0;
    if (d->pid) {
        kill(d->pid, SIGTERM);
        while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            st = cuzk_err_set(err, CUZK_STATUS_IO, "cuzkd ended badly (status %#x)",
                              (unsigned)status);
        d->pid = 0;
    }
    if (*d->dir) nftw(d->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    d->dir[0] = '\0';
    return st;
}

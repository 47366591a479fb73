#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cuzk_process_init(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

bool cuzk_process_beside(char *out, size_t room, const char *name) {
    const size_t bytes = strlen(name) + 1;
    const ssize_t n = readlink("/proc/self/exe", out, room);
    if (n <= 0 || (size_t)n >= room) return false;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash || (size_t)(slash + 1 - out) + bytes > room) return false;
    memcpy(slash + 1, name, bytes);
    return true;
}

cuzk_status cuzk_process_env(cuzk_err *err) {
    static const char *const words[] = {"", "auto", "scalar", "baseline"};
    const char *v = getenv("CUZK_CPU");
    if (!v) return CUZK_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(v, words[i]) == 0) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_USAGE, "CUZK_CPU is %s: auto, scalar or baseline", v);
}

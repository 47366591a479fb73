#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
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

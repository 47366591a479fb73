#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
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

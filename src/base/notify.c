#include "base/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

cuzk_status cuzk_notify(const char *state, cuzk_err *err) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || !*path) return CUZK_OK;
    const size_t n = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || n >= sizeof to.sun_path)
        return cuzk_err_set(err, CUZK_STATUS_IO, "NOTIFY_SOCKET %.120s is no socket's name", path);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') to.sun_path[0] = '\0'; /* of the abstract name space */
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    const ssize_t sent =
        fd < 0 ? -1
               : sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, len);
    const int why = errno;
    if (fd >= 0) close(fd);
    if (sent >= 0) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO, "cannot notify %.120s: %s", path, strerror(why));
}

int64_t cuzk_notify_watchdog_ns(void) {
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!usec || (pid && strtoll(pid, NULL, 10) != (long long)getpid())) return 0;
    const long long v = strtoll(usec, NULL, 10);
    return v > 0 && v < INT64_MAX / 1000 ? v * 1000 : 0;
}

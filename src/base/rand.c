#include "base/rand.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

cuzk_status cuzk_random(void *out, size_t n, cuzk_err *err) {
    char *p = out;
    while (n) {
        ssize_t r = getrandom(p, n, 0);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return cuzk_err_set(err, CUZK_STATUS_IO, "getrandom: %s", strerror(errno));
        p += r;
        n -= (size_t)r;
    }
    return CUZK_OK;
}

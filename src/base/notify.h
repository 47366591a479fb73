/* What a service tells its manager (systemd): datagrams to $NOTIFY_SOCKET, as sd_notify(3) sends
 * them. Without that variable nothing happens. */
#ifndef CUZK_BASE_NOTIFY_H
#define CUZK_BASE_NOTIFY_H

#include "base/status.h"

#include <stdint.h>

/* state: "READY=1", "STOPPING=1\nSTATUS=…", lines without a newline at the end. OK also when nobody
 * listens; IO when the socket is named and cannot be reached. Any thread. */
cuzk_status cuzk_notify(const char *state, cuzk_err *err);

/* How often "WATCHDOG=1" is expected of this process, in nanoseconds; 0: not at all. */
int64_t cuzk_notify_watchdog_ns(void);

#endif

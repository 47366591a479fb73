/* A server with methods that show everything a handler can do; for the tests of this directory and
 * for the peers of tests/interop. Messages are plain bytes. */
#ifndef CUZK_TESTS_ECHO_SERVER_H
#define CUZK_TESTS_ECHO_SERVER_H

#include "net/grpc.h"

#include <stdatomic.h>

/* /cuzk.test.Echo/…
 *   Echo     the request back
 *   Later    the same, from another thread
 *   Length   the request's length as decimal digits
 *   Count    a stream of "1" … "n", n being the request as digits; from another thread
 *   Hang     no answer ever
 *   Forever  a stream of one message that does not end; a drain does not wait for it
 *   Fail     "code message": ends so; code 8 with a retry hint of 1500 ms
 *   Flood    a stream of 64 KiB messages until it is over, whatever the client reads
 *   Chat     a message back for every message
 *   Who      "peer|identity|milliseconds to the deadline or none|value of x-test" */
extern const cuzk_grpc_method echo_methods[];
extern const size_t echo_methods_n;

extern _Atomic unsigned echo_cancelled; /* calls whose on_cancel was called */
extern _Atomic unsigned echo_hanging;   /* Hang calls held now */
extern _Atomic unsigned echo_threads;   /* that hold calls; none when the loop is freed */

#endif

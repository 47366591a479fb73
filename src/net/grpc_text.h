/* gRPC's small encodings: percent-encoded messages, timeouts, base64 of "-bin" metadata, status
 * details. Pure. */
#ifndef CUZK_NET_GRPC_TEXT_H
#define CUZK_NET_GRPC_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes outside 0x20..0x7e, and '%', become %XX. */
void cuzk__grpc_percent_encode(cuzk_buf *out, const char *text);
/* The reverse, lenient as gRPC asks: what is no escape stays. Truncated to cap - 1 bytes. */
void cuzk__grpc_percent_decode(char *out, size_t cap, const char *text, size_t n);

/* "100m" and so on (at most 8 digits and a unit of H M S m u n) in nanoseconds, INT64_MAX when that
 * is more than fits; false when it is none. */
bool cuzk__grpc_timeout_parse(const char *text, size_t n, int64_t *ns);
/* Nanoseconds (at least 0) as such a text, rounded up in the finest unit that fits. cap >= 12. */
void cuzk__grpc_timeout_format(char *out, size_t cap, int64_t ns);

/* Unpadded base64, as senders of "-bin" values should write; the reader takes padding too, and says
 * false for anything else. */
void cuzk__grpc_base64(cuzk_buf *out, const void *data, size_t n);
bool cuzk__grpc_unbase64(cuzk_buf *out, const char *text, size_t n);

/* Whether a content-type is gRPC with protobuf: application/grpc or application/grpc+proto. */
bool cuzk__grpc_content_type(const char *value);

/* A serialised google.rpc.Status{code, message, details: [RetryInfo{retry_delay}]}; and the retry
 * delay of such a one: -1 when there is none in it. */
void cuzk__grpc_retry_details(cuzk_buf *out, int code, const char *message, int64_t retry_ns);
int64_t cuzk__grpc_retry_of(const void *details, size_t n);

#endif

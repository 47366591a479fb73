/* gRPC's message frames (one flag byte, four bytes of length, the message) out of pieces cut
 * anywhere. The reader owns no memory: its caller is asked for room when a length is known, which
 * is where budgets are kept. Pure. */
#ifndef CUZK_NET_GRPC_FRAME_H
#define CUZK_NET_GRPC_FRAME_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cuzk__grpc_frames {
    uint8_t head[5];
    size_t head_len;
    uint8_t *body; /* where the message goes; may move between calls */
    size_t len;    /* of the message, once head_len == 5 */
    size_t have;   /* of it so far */
    size_t room;   /* bytes that body has; at most len */
} cuzk__grpc_frames;

typedef enum cuzk__grpc_event {
    CUZK__GRPC_MORE,    /* all bytes taken, message unfinished (or none begun) */
    CUZK__GRPC_ROOM,    /* len is known and room used up: set body and room, and go on */
    CUZK__GRPC_MESSAGE, /* a message is whole: use it, cuzk__grpc_frames_next, and go on */
    CUZK__GRPC_FLAGGED, /* its flag byte is not 0: compressed or nonsense (head[0]) */
} cuzk__grpc_event;

/* Takes bytes from *p up to end, until something is to be told. */
cuzk__grpc_event cuzk__grpc_frames_feed(cuzk__grpc_frames *f, const uint8_t **p,
                                        const uint8_t *end);
/* Ready for the next message; body is forgotten. */
void cuzk__grpc_frames_next(cuzk__grpc_frames *f);
/* Nothing half read. */
static inline int cuzk__grpc_frames_idle(const cuzk__grpc_frames *f) {
    return f->head_len == 0;
}

#endif

#include "net/grpc_frame.h"

#include "base/bytes.h"

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

cuzk__grpc_event cuzk__grpc_frames_feed(cuzk__grpc_frames *f, const uint8_t **p,
                                        const uint8_t *end) {
    if (f->head_len < sizeof f->head) {
        const size_t n = least(sizeof f->head - f->head_len, (size_t)(end - *p));
        if (n) memcpy(f->head + f->head_len, *p, n);
        f->head_len += n;
        *p += n;
        if (f->head_len < sizeof f->head) return CUZK__GRPC_MORE;
        if (f->head[0]) return CUZK__GRPC_FLAGGED;
        f->len = cuzk_ld_u32be(f->head + 1);
        f->have = f->room = 0;
        if (f->len) return CUZK__GRPC_ROOM;
    }
    const size_t n = least(f->room - f->have, (size_t)(end - *p));
    if (n) memcpy(f->body + f->have, *p, n);
    f->have += n;
    *p += n;
    if (f->have == f->len) return CUZK__GRPC_MESSAGE;
    return f->have == f->room && *p < end ? CUZK__GRPC_ROOM : CUZK__GRPC_MORE;
}

void cuzk__grpc_frames_next(cuzk__grpc_frames *f) {
    *f = (cuzk__grpc_frames){0};
}

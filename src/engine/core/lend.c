/* Lending a device's memory to another program. What is lent counts as used; a request that waits
 * stops new partitions on the device, so that it is met as soon as running ones have ended. */
#include "state.h"

static void answer(cuzk_sched *s, cuzk_sched_action_type type, uint32_t d, uint64_t need,
                   uint64_t limit) {
    cuzk_sched_action *a = cuzk__sched_emit(s, type);
    a->device = d;
    a->need = need;
    a->limit = limit;
}

static void ask(cuzk_sched *s, uint32_t d, uint64_t bytes) {
    device *dev = &s->devices[d];
    const uint64_t bound = cuzk__sched_kept_on_device(s, NONE) + dev->lent + dev->memory.reserve;
    const uint64_t most = dev->memory.limit > bound ? dev->memory.limit - bound : 0;
    if (bytes == 0 || bytes > most || dev->lend)
        answer(s, CUZK_ACT_LEND_REFUSED, d, bytes, dev->lend ? 0 : most);
    else
        dev->lend = bytes;
}

static void take_back(device *dev, uint64_t bytes) {
    const uint64_t n = bytes < dev->lent ? bytes : dev->lent;
    if (bytes > dev->lent) dev->lend = 0;
    dev->lent -= n;
    dev->memory.used[0] -= n;
}

void cuzk__sched_lend_event(cuzk_sched *s, const cuzk_sched_event *e) {
    if (e->device >= s->config.n_devices) return;
    if (e->type == CUZK_EV_LEND)
        ask(s, e->device, e->bytes);
    else
        take_back(&s->devices[e->device], e->bytes);
}

void cuzk__sched_lend(cuzk_sched *s) {
    for (uint32_t d = 0; d < s->config.n_devices; d++) {
        device *dev = &s->devices[d];
        if (dev->lend == 0 || !cuzk__sched_clear_device(s, d, dev->lend)) continue;
        dev->memory.used[0] += dev->lend;
        dev->lent += dev->lend;
        answer(s, CUZK_ACT_LENT, d, dev->lend, 0);
        dev->lend = 0;
    }
}

#include "msm/share.h"

#include <string.h>

static cuzk__portion unpack(uint64_t left) {
    return (cuzk__portion){(uint32_t)left, (uint32_t)(left >> 32)};
}

static uint64_t pack(cuzk__portion p) {
    return (uint64_t)p.last << 32 | p.first;
}

static uint32_t parts(cuzk__portion p) {
    return p.last - p.first;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t to_windows(uint32_t n) {
    return (n + CUZK__PARTS - 1) / CUZK__PARTS * CUZK__PARTS;
}

void cuzk__share_init(cuzk__share *s, uint32_t first, uint32_t last) {
    memset(s, 0, sizeof *s);
    atomic_init(&s->left, pack((cuzk__portion){first, last}));
}

void cuzk__share_progress(const cuzk__shares *s, unsigned t, uint64_t done) {
    atomic_store_explicit(&s->of[t].done, done, memory_order_relaxed);
}

/* How many parts thread t has done when all are done at the same time, from now on and with the
 * speed of each so far; at least 1, and UINT32_MAX where that cannot be told. */
static uint32_t in_time(const cuzk__shares *s, unsigned t, int64_t now) {
    double speeds = 0, mine = 0, open = 0, known = 0;
    for (unsigned i = 0; i < s->threads; i++) {
        const cuzk__share *a = &s->of[i];
        const int64_t started = atomic_load(&a->started);
        const double left = CUZK__PART_DONE * (double)parts(unpack(atomic_load(&a->left)));
        if (!started && left == 0) continue; /* it had no whole windows of its own */
        /* a thread only ever does less than it has taken */
        const double done = (double)atomic_load(&a->done), taken = (double)atomic_load(&a->taken);
        if (!started || now <= started || done < CUZK__PART_DONE) return UINT32_MAX;
        const double speed = done / (double)(now - started);
        speeds += speed;
        known++;
        if (i == t) mine = speed;
        open += left + (taken > done ? taken - done : 0);
    }
    if (known == 0) return UINT32_MAX;
    if (mine == 0) { /* as fast as the others, for all one knows */
        mine = speeds / known;
        speeds += mine;
    }
    const double n = mine / speeds * open / CUZK__PART_DONE + 0.5;
    return n < 1 ? 1 : (uint32_t)n;
}

/* Portions of about the same size, as few as can be: another one costs a look at all scalars and
 * more sums to add one by one. */
static uint32_t portion_size(const cuzk__shares *s, uint32_t left) {
    const uint32_t portions = (left + s->most - 1) / s->most;
    return least(left, to_windows((left + portions - 1) / portions));
}

static void take(cuzk__share *a, uint32_t n) {
    atomic_fetch_add(&a->taken, (uint64_t)n * CUZK__PART_DONE);
}

cuzk__portion cuzk__share_own(const cuzk__shares *s, unsigned t, int64_t now) {
    cuzk__share *a = &s->of[t];
    uint64_t was = atomic_load(&a->left);
    if (atomic_load(&a->started) == 0) atomic_store(&a->started, now);
    for (;;) {
        const cuzk__portion left = unpack(was);
        cuzk__portion got = {left.first, left.first};
        if (parts(left) == 0) return got;
        uint32_t n = portion_size(s, parts(left));
        if (n == parts(left) && s->threads > 1) n = least(n, in_time(s, t, now));
        if (s->whole) n = to_windows(n);
        got.last += n;
        if (atomic_compare_exchange_weak(&a->left, &was,
                                         pack((cuzk__portion){got.last, left.last}))) {
            take(a, n);
            return got;
        }
    }
}

/* The thread with most left, or threads when nobody has any. */
static unsigned most_left(const cuzk__shares *s) {
    unsigned which = s->threads;
    uint32_t most = 0;
    for (unsigned i = 0; i < s->threads; i++) {
        const uint32_t n = parts(unpack(atomic_load(&s->of[i].left)));
        if (n > most) most = n, which = i;
    }
    return which;
}

cuzk__portion cuzk__share_other(const cuzk__shares *s, unsigned t, int64_t now) {
    for (;;) {
        const unsigned from = most_left(s);
        if (from == s->threads) return (cuzk__portion){0, 0};
        uint64_t was = atomic_load(&s->of[from].left);
        const cuzk__portion left = unpack(was);
        if (parts(left) == 0) continue;
        uint32_t n = least(portion_size(s, parts(left)), in_time(s, t, now));
        if (s->whole) n = to_windows(n);
        const cuzk__portion got = {left.last - n, left.last};
        if (!atomic_compare_exchange_strong(&s->of[from].left, &was,
                                            pack((cuzk__portion){left.first, got.first})))
            continue;
        take(&s->of[t], n);
        return got;
    }
}

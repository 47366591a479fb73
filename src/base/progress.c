#include "base/progress.h"

#include "base/clock.h"

#include <unistd.h>

enum { WIDTH = 32 };
static const int64_t QUIET_NS = 1000000000, REDRAW_NS = 100000000;

void cuzk_progress_begin(cuzk_progress *p, FILE *to, const char *what, uint64_t total) {
    p->what = what;
    p->to = to;
    p->tty = to && isatty(fileno(to));
    p->total = total ? total : 1;
    p->start_ns = cuzk_now_ns();
    atomic_store(&p->done, 0);
    atomic_store(&p->next_ns, p->start_ns + QUIET_NS);
    atomic_store(&p->shown, 0);
}

static void draw(cuzk_progress *p, uint64_t done, int64_t now) {
    if (done > p->total) done = p->total;
    double part = (double)done / (double)p->total;
    double spent = (double)(now - p->start_ns) * 1e-9;
    double left = part > 0 ? spent / part - spent : 0;
    if (!p->tty) {
        unsigned tenth = (unsigned)(part * 10), seen = atomic_load(&p->shown);
        if (tenth > seen && atomic_compare_exchange_strong(&p->shown, &seen, tenth))
            fprintf(p->to, "%s: %u%%, %.0f s left\n", p->what, tenth * 10, left);
        return;
    }
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(part * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(p->to, "\r%s [%s] %3.0f%%  %.0f s left \033[K", p->what, bar, part * 100, left);
    fflush(p->to);
}

void cuzk_progress_add(cuzk_progress *p, uint64_t units) {
    if (!p) return;
    uint64_t done = atomic_fetch_add(&p->done, units) + units;
    if (!p->to) return;
    int64_t now = cuzk_now_ns(), due = atomic_load(&p->next_ns);
    if (now < due) return;
    if (atomic_compare_exchange_strong(&p->next_ns, &due, now + REDRAW_NS)) draw(p, done, now);
}

void cuzk_progress_end(cuzk_progress *p) {
    if (!p || !p->to || !p->tty) return;
    if (cuzk_now_ns() - p->start_ns > QUIET_NS) {
        fprintf(p->to, "\r\033[K");
        fflush(p->to);
    }
}

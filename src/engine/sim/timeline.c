/* What happened, as the engine's lines and as a picture. */
#include "run.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cuzk__sim_span(sim *s, const sim_part *p, cuzk_sim_lane lane, double begin, double queued) {
    cuzk_sim_timeline *t = s->timeline;
    if (!t) return;
    if (t->n == t->cap) {
        const size_t cap = t->cap ? 2 * t->cap : 256;
        const cuzk_status st = cuzk_realloc((void **)&t->items, cap, sizeof *t->items);
        if (st != CUZK_OK) {
            s->status = cuzk_err_set(s->err, st, "not enough memory for the timeline");
            return;
        }
        t->cap = cap;
    }
    t->items[t->n++] = (cuzk_sim_span){.begin = begin,
                                       .queued = queued,
                                       .end = s->fluid.now,
                                       .job = p->job,
                                       .partition = p->index,
                                       .kind = s->jobs[p->job].kind,
                                       .device = p->device,
                                       .worker = p->worker,
                                       .lane = lane};
}

void cuzk_sim_timeline_free(cuzk_sim_timeline *t) {
    cuzk_free(t->items);
    *t = (cuzk_sim_timeline){0};
}

/* ---- lines ---- */

typedef struct line {
    double at;
    size_t order;
    const char *event;
    const cuzk_sim_span *span;
} line;

static int by_time(const void *a, const void *b) {
    const line *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static long long ms(double seconds) {
    return llround(seconds * 1000);
}

static void put_line(cuzk_buf *out, const line *l) {
    const cuzk_sim_span *p = l->span;
    cuzk_buf_printf(out, "TIMELINE,%lld,%s,job-%u,", ms(l->at), l->event, p->job);
    if (strcmp(l->event, "SYNTH_END") == 0)
        cuzk_buf_printf(out, "partition=%u,synth_ms=%lld\n", p->partition, ms(p->end - p->begin));
    else if (strcmp(l->event, "GPU_END") == 0)
        cuzk_buf_printf(out, "worker=%u,partition=%u,gpu_ms=%lld\n", p->worker, p->partition,
                        ms(p->end - p->begin));
    else if (p->lane == CUZK_SIM_LANE_WITNESS)
        cuzk_buf_printf(out, "partition=%u\n", p->partition);
    else
        cuzk_buf_printf(out, "worker=%u,partition=%u\n", p->worker, p->partition);
}

void cuzk_sim_csv(cuzk_buf *out, const cuzk_sim_timeline *t) {
    line *lines;
    size_t n = 0;
    if (cuzk_alloc((void **)&lines, 3 * t->n, sizeof *lines) != CUZK_OK) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_sim_span *p = &t->items[i];
        if (p->lane == CUZK_SIM_LANE_WITNESS) {
            lines[n] = (line){p->begin, n, "SYNTH_START", p};
            n++;
            lines[n] = (line){p->end, n, "SYNTH_END", p};
            n++;
            lines[n] = (line){p->end, n, "GPU_QUEUE", p};
            n++;
        } else if (p->lane == CUZK_SIM_LANE_SLOT) {
            lines[n] = (line){p->begin, n, "GPU_PICKUP", p};
            n++;
        } else {
            lines[n] = (line){p->begin, n, "GPU_START", p};
            n++;
            lines[n] = (line){p->end, n, "GPU_END", p};
            n++;
        }
    }
    qsort(lines, n, sizeof *lines, by_time);
    for (size_t i = 0; i < n; i++)
        put_line(out, &lines[i]);
    cuzk_free(lines);
}

/* ---- picture ---- */

enum { LEFT = 110, WIDTH = 1200, ROW = 16, TOP = 30 };

static uint32_t row_of(const cuzk_sim_scenario *s, const cuzk_sim_span *p) {
    const uint32_t workers = s->witness_workers + s->reserved_witness_workers;
    const uint32_t slots = s->slots + s->reserved_slots;
    if (p->lane == CUZK_SIM_LANE_WITNESS) return p->worker;
    const uint32_t first = workers + p->device * (slots + 1);
    return p->lane == CUZK_SIM_LANE_GATE ? first : first + 1 + p->worker;
}

static void put_labels(cuzk_buf *out, const cuzk_sim_scenario *s, double wall) {
    const uint32_t workers = s->witness_workers + s->reserved_witness_workers;
    const uint32_t slots = s->slots + s->reserved_slots;
    for (uint32_t i = 0; i < workers; i++)
        cuzk_buf_printf(out, "<text x='4' y='%u'>witness %u</text>\n", TOP + ROW * i + 12, i);
    for (uint32_t d = 0; d < s->devices; d++) {
        const uint32_t first = TOP + ROW * (workers + d * (slots + 1)) + 12;
        cuzk_buf_printf(out, "<text x='4' y='%u'>device %u kernels</text>\n", first, d);
        for (uint32_t i = 0; i < slots; i++)
            cuzk_buf_printf(out, "<text x='4' y='%u'>device %u slot %u</text>\n",
                            first + ROW * (i + 1), d, i);
    }
    for (int i = 0; i <= 10; i++)
        cuzk_buf_printf(out, "<text x='%d' y='20'>%.1f s</text>\n", LEFT + WIDTH * i / 10,
                        wall * i / 10);
}

void cuzk_sim_svg(cuzk_buf *out, const cuzk_sim_scenario *s, const cuzk_sim_timeline *t) {
    const uint32_t rows = s->witness_workers + s->reserved_witness_workers +
                          s->devices * (s->slots + s->reserved_slots + 1);
    double wall = 0;
    for (size_t i = 0; i < t->n; i++)
        wall = fmax(wall, t->items[i].end);
    cuzk_buf_printf(out,
                    "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' "
                    "font-family='sans-serif' font-size='10'>\n<rect width='100%%' height='100%%' "
                    "fill='white'/>\n",
                    LEFT + WIDTH + 60, TOP + ROW * rows + 10);
    put_labels(out, s, wall);
    for (size_t i = 0; i < t->n && wall > 0; i++) {
        const cuzk_sim_span *p = &t->items[i];
        const double x = LEFT + WIDTH * p->begin / wall;
        const double w = WIDTH * (p->end - p->begin) / wall;
        cuzk_buf_printf(out,
                        "<rect x='%.2f' y='%u' width='%.2f' height='%d' fill='hsl(%u,60%%,%u%%)'>"
                        "<title>job %u partition %u: %.3f s to %.3f s</title></rect>\n",
                        x, TOP + ROW * row_of(s, p), fmax(w, 0.3), ROW - 2, p->job * 137 % 360,
                        45 + p->partition % 4 * 8, p->job, p->partition, p->begin, p->end);
    }
    cuzk_buf_puts(out, "</svg>\n");
}

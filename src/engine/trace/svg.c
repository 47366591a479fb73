/* A picture of a timeline. */
#include "visits.h"

#include "base/mem.h"

enum { LEFT = 120, WIDTH = 1200, ROW = 16, TOP = 30 };

typedef struct picture {
    cuzk_buf *out;
    const cuzk_trace *t;
    int64_t begin, end;
    uint32_t witness_rows, slot_rows[CUZK_TRACE_MAX_DEVICES], first_row[CUZK_TRACE_MAX_DEVICES];
    uint32_t n_devices, rows;
} picture;

static double x_of(const picture *p, int64_t ns) {
    const int64_t span = p->end > p->begin ? p->end - p->begin : 1;
    return LEFT + WIDTH * (double)(ns - p->begin) / (double)span;
}

static void label(const picture *p, uint32_t row, const char *fmt, uint32_t a, uint32_t b) {
    cuzk_buf_printf(p->out, "<text x='4' y='%u'>", TOP + ROW * row + 12);
    cuzk_buf_printf(p->out, fmt, a, b);
    cuzk_buf_puts(p->out, "</text>\n");
}

static void put_xml(cuzk_buf *out, const char *s) {
    for (; *s; s++) {
        if (*s == '<' || *s == '>' || *s == '&' || (unsigned char)*s < 0x20 ||
            (unsigned char)*s > 0x7e)
            cuzk_buf_puts(out, "?");
        else
            cuzk_buf_append(out, s, 1);
    }
}

static void box(const picture *p, uint32_t row, const visit *v, int64_t from, int64_t to,
                const char *what, int lightness) {
    char name[32];
    const double x = x_of(p, from), w = x_of(p, to) - x;
    cuzk_buf_printf(p->out,
                    "<rect x='%.2f' y='%u' width='%.2f' height='%d' fill='hsl(%u,60%%,%d%%)'>"
                    "<title>",
                    x, TOP + ROW * row, w < 0.3 ? 0.3 : w, ROW - 2, (unsigned)(v->job * 137 % 360),
                    lightness + (int)(v->partition % 4) * 6);
    put_xml(p->out, cuzk_trace_job(p->t, v->job, name));
    cuzk_buf_printf(p->out, " partition %u: %s %.3f s to %.3f s</title></rect>\n", v->partition,
                    what, (double)from / 1e9, (double)to / 1e9);
}

static void head(const picture *p) {
    cuzk_buf_printf(p->out,
                    "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' "
                    "font-family='sans-serif' font-size='10'>\n"
                    "<rect width='100%%' height='100%%' fill='white'/>\n",
                    LEFT + WIDTH + 60, TOP + ROW * p->rows + 10);
    for (int i = 0; i <= 10; i++)
        cuzk_buf_printf(p->out, "<text x='%d' y='20'>%.1f s</text>\n", LEFT + WIDTH * i / 10,
                        (double)(p->end - p->begin) / 1e9 * i / 10);
    for (uint32_t i = 0; i < p->witness_rows; i++)
        label(p, i, "witness %u", i, 0);
    for (uint32_t d = 0; d < p->n_devices; d++) {
        label(p, p->first_row[d], "device %u kernels", d, 0);
        for (uint32_t i = 0; i < p->slot_rows[d]; i++)
            label(p, p->first_row[d] + 1 + i, "device %u slot %u", d, i);
    }
}

static void draw(picture *p, visits *v) {
    p->witness_rows = cuzk__trace_place(v->synths, v->n_synths, 0, true);
    p->rows = p->witness_rows;
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].device >= p->n_devices) p->n_devices = v->items[i].device + 1;
    for (uint32_t d = 0; d < p->n_devices; d++) {
        p->first_row[d] = p->rows;
        p->slot_rows[d] = cuzk__trace_place(v->items, v->n, d, false);
        p->rows += 1 + p->slot_rows[d];
    }
    head(p);
    for (size_t i = 0; i < v->n_synths; i++) {
        const visit *it = &v->synths[i];
        box(p, it->lane, it, it->synth_start, it->synth_end, "witness", 50);
    }
    for (size_t i = 0; i < v->n; i++) {
        const visit *it = &v->items[i];
        const uint32_t row = p->first_row[it->device];
        box(p, row, it, it->start, it->end, "kernels", 40);
        box(p, row + 1 + it->lane, it, it->pickup >= 0 ? it->pickup : it->start, it->end, "slot",
            60);
    }
    cuzk_buf_puts(p->out, "</svg>\n");
}

cuzk_status cuzk_trace_svg(cuzk_buf *out, const cuzk_trace *t) {
    visits v;
    CUZK_TRY(cuzk__trace_visits(&v, t));
    picture p = {.out = out, .t = t};
    if (t->n > 0) {
        p.begin = t->items[0].ns;
        p.end = t->items[t->n - 1].ns;
    }
    draw(&p, &v);
    cuzk__trace_visits_free(&v);
    return cuzk_buf_status(out);
}

/* DESIGN. Ranges of instances are walked at the same time. Most wires of a range's rows are the own
 * wires of its instances, which no other range writes; what a range adds to others, and to inputs,
 * it keeps in a list, and the lists are added up at the end. */
#include "groth16/columns.h"

#include "base/mem.h"

enum { RANGES_PER_THREAD = 4, CHUNK = 1 << 13 };

/* To be added to another range's wires. */
typedef struct chunk {
    struct chunk *next;
    size_t n;
    struct {
        cuzk_u256 v;
        uint32_t wire, m;
    } term[CHUNK];
} chunk;

typedef struct {
    const cuzk_r1cs *r;
    const cuzk_u256 *weight;
    cuzk_u256 *const *col;
    uint32_t row0, row1;
    size_t own0, own1; /* flat wires */
    uint32_t row;      /* while walking */
    chunk *others;
    cuzk_status st;
} range;

static cuzk_status keep(range *g, uint32_t m, size_t wire, const cuzk_u256 *v) {
    if (!g->others || g->others->n == CHUNK) {
        void *mem;
        CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(chunk)));
        ((chunk *)mem)->next = g->others;
        g->others = mem;
    }
    chunk *c = g->others;
    c->term[c->n].v = *v;
    c->term[c->n].wire = (uint32_t)wire;
    c->term[c->n++].m = m;
    return CUZK_OK;
}

static cuzk_status add_row(void *ctx, const cuzk_flat_term *t, const uint32_t n[3],
                           const cuzk_u256 *coefs) {
    static const cuzk_u256 zero;
    range *g = ctx;
    const cuzk_fr_ops *fr = g->r->fr;
    const cuzk_u256 *l = &g->weight[g->row++];
    for (uint32_t m = 0; m < 3; t += n[m++]) {
        for (uint32_t i = 0; i < n[m]; i++) {
            const cuzk_wire w = t[i].wire;
            const size_t at = w & CUZK_WIRE_AUX ? g->r->n_inputs + (size_t)(w & ~CUZK_WIRE_AUX) : w;
            cuzk_u256 v = *l;
            if (t[i].coef == CUZK_COEF_MINUS_ONE)
                fr->sub(&v, &zero, l);
            else if (t[i].coef != CUZK_COEF_ONE)
                fr->mul(&v, &coefs[t[i].coef], l);
            if (g->own0 <= at && at < g->own1)
                fr->add(&g->col[m][at], &g->col[m][at], &v);
            else
                CUZK_TRY(keep(g, m, at, &v));
        }
    }
    return CUZK_OK;
}

static void walk(void *ctx, size_t i) {
    range *g = (range *)ctx + i;
    const cuzk_row_sink sink = {add_row, g};
    g->row = g->row0;
    g->st = cuzk_r1cs_expand(g->r, g->row0, g->row1, &sink);
}

/* Range i of n: instances from the one that holds the first of its share of rows. */
static void place(range *g, size_t i, size_t n) {
    const cuzk_r1cs *r = g->r;
    const uint64_t rows = r->n_rows;
    const uint32_t first = i == 0 ? 0 : cuzk_r1cs_find_row(r, (uint32_t)(rows * i / n));
    const uint32_t last =
        i + 1 == n ? r->n_insts : cuzk_r1cs_find_row(r, (uint32_t)(rows * (i + 1) / n));
    const bool end = last == r->n_insts;
    g->row0 = i == 0 ? 0 : r->insts[first].row0;
    g->row1 = end ? r->n_rows : r->insts[last].row0;
    /* one range alone owns the inputs as well */
    g->own0 = i > 0 ? r->n_inputs + (size_t)r->insts[first].aux0 : n > 1 ? r->n_inputs : 0;
    g->own1 = r->n_inputs + (size_t)(end ? r->n_aux : r->insts[last].aux0);
}

static void take_others(range *g) {
    const cuzk_fr_ops *fr = g->r->fr;
    for (const chunk *c = g->others; c && g->st == CUZK_OK; c = c->next)
        for (size_t i = 0; i < c->n; i++) {
            cuzk_u256 *to = &g->col[c->term[i].m][c->term[i].wire];
            fr->add(to, to, &c->term[i].v);
        }
    while (g->others) {
        chunk *c = g->others;
        g->others = c->next;
        cuzk_wipe(c, sizeof *c);
        cuzk_free(c);
    }
}

cuzk_status cuzk__columns(const cuzk_r1cs *r, const cuzk_u256 *weight, cuzk_u256 *const col[3],
                          cuzk_pool *pool) {
    const unsigned threads = cuzk_pool_threads(pool);
    size_t n = threads > 1 ? (size_t)threads * RANGES_PER_THREAD : 1;
    if (n > r->n_insts) n = r->n_insts ? r->n_insts : 1;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, n, sizeof(range)));
    range *g = mem;
    for (size_t i = 0; i < n; i++) {
        g[i] = (range){.r = r, .weight = weight, .col = col};
        place(&g[i], i, n);
    }
    cuzk_pool_run(pool, n, walk, g);
    cuzk_status st = CUZK_OK;
    for (size_t i = 0; i < n; i++) {
        take_others(&g[i]);
        if (st == CUZK_OK) st = g[i].st;
    }
    cuzk_free(g);
    return st;
}

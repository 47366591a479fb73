/* What a key that is streamed takes, and how it is cut. DESIGN. Every size of chunks is laid out by
 * the code that lays memory out for proofs, on an arena that only measures; of those that fit, the
 * one with the shortest predicted time is taken. */
#include "backend/cuda/lean.cuh"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

/* Points of G1 in a chunk. */
enum { MOST_FULL = 24, MOST_BITS = 22, LEAST = 4, MOST_CHUNKS_LOG = 12 };

/* ---- cutting ---- */

static const cuzk__query_id cut_order[CUZK__QUERIES] = {CUZK__Q_H, CUZK__Q_B2, CUZK__Q_B1,
                                                        CUZK__Q_A, CUZK__Q_L};

static uint32_t h_bases(const cuzk_proving_key *key) {
    return (1u << key->log2_domain) - (key->h_form == CUZK_H_COEFFICIENTS);
}

static void set_run(cuzk_gpu_key *k, int kind, int id, uint32_t first, uint32_t n) {
    cuzk__lean_part *part = &k->lean->part[kind];
    cuzk__lean_run *r = &k->lean->run[kind][id];
    const uint32_t half = k->query[id].group == CUZK_G2 ? 2 : 1;
    const uint32_t most = part->points / half > 0 ? part->points / half : 1;
    const uint32_t pieces = n / most + (n % most != 0);
    *r = {first, n, pieces ? n / pieces + (n % pieces != 0) : 0, part->n};
    if (n) part->n += n / r->each + (n % r->each != 0);
}

static void set_chunks(cuzk_gpu_key *k, int kind, int id) {
    cuzk__lean *l = k->lean;
    const cuzk__lean_run *r = &l->run[kind][id];
    const size_t size = k->query[id].ops->point_bytes;
    for (uint32_t i = 0, at = 0; at < r->n; i++, at += r->each) {
        cuzk__lean_chunk *c = &l->part[kind].chunks[r->chunk + i];
        *c = {};
        c->id = id;
        c->first = r->first + at;
        c->n = r->n - at < r->each ? r->n - at : r->each;
        c->slots_at = (c->n * size + 255) & ~(size_t)255;
        c->bytes = c->slots_at + (id == CUZK__Q_H ? 0 : ((size_t)c->n * 4 + 255) & ~(size_t)255);
        c->at = l->host_bytes;
        l->host_bytes += c->bytes;
    }
}

static cuzk_status cut(cuzk_gpu_key *k, uint32_t full, uint32_t bits, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    l->part[CUZK__LEAN_FULL].points = full;
    l->part[CUZK__LEAN_BITS].points = bits;
    l->host_bytes = 0;
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        cuzk__lean_part *part = &l->part[kind];
        const bool is_full = kind == CUZK__LEAN_FULL;
        part->n = 0;
        for (const cuzk__query_id id : cut_order) {
            const cuzk__gpu_query *q = &k->query[id];
            const uint32_t n_full = id == CUZK__Q_H ? h_bases(k->base.key) : q->n_full;
            const uint32_t n_bits = id == CUZK__Q_H ? 0 : q->n - q->n_full;
            set_run(k, kind, id, is_full ? 0 : n_full, is_full ? n_full : n_bits);
        }
        cuzk_free(part->chunks);
        part->chunks = NULL;
        void *mem;
        if (cuzk_alloc(&mem, part->n, sizeof *part->chunks) != CUZK_OK)
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a key");
        part->chunks = (cuzk__lean_chunk *)mem;
        for (const cuzk__query_id id : cut_order)
            set_chunks(k, kind, id);
    }
    return CUZK_OK;
}

static const cuzk__lean_chunk *chunk_of(const cuzk_gpu_key *k, int id, uint32_t i,
                                        uint32_t *within) {
    const cuzk__lean *l = k->lean;
    const bool bit = id != CUZK__Q_H && i >= k->query[id].n_full;
    const int kind = bit ? CUZK__LEAN_BITS : CUZK__LEAN_FULL;
    const cuzk__lean_run *r = &l->run[kind][id];
    *within = (i - r->first) % r->each;
    return &l->part[kind].chunks[r->chunk + (i - r->first) / r->each];
}

char *cuzk__lean_point(const cuzk_gpu_key *k, int id, uint32_t i, uint32_t *run) {
    uint32_t within;
    const cuzk__lean_chunk *c = chunk_of(k, id, i, &within);
    if (run) *run = c->n - within;
    return k->lean->host + c->at + within * k->query[id].ops->point_bytes;
}

uint32_t *cuzk__lean_slot(const cuzk_gpu_key *k, int id, uint32_t i) {
    uint32_t within;
    const cuzk__lean_chunk *c = chunk_of(k, id, i, &within);
    return (uint32_t *)(k->lean->host + c->at + c->slots_at) + within;
}

/* ---- layout ---- */

static cuzk_status take(cuzk_cuda *dev, void *pointer, size_t bytes, cuzk_err *err) {
    return cuzk_cuda_alloc(dev, (void **)pointer, bytes, err);
}

/* The largest chunk of a group; wires: H's left out. */
static uint32_t largest(const cuzk_gpu_key *k, const cuzk__lean_part *part, int group, bool wires) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < part->n; i++) {
        const cuzk__lean_chunk *c = &part->chunks[i];
        if (cuzk__lean_group(&k->query[c->id]) != group || (wires && c->id == CUZK__Q_H)) continue;
        if (c->n > n) n = c->n;
    }
    return n;
}

/* The sums of one group's chunks, over the same scratch as the other's: a stream runs them one
 * after another. */
static cuzk_status lay_out_group(cuzk_gpu_key *k, int kind, int group, cuzk_err *err) {
    cuzk__lean_part *part = &k->lean->part[kind];
    cuzk__arena *arena = part->dev.arena;
    const size_t base = arena->used;
    const uint32_t listed = largest(k, part, group, true), all = largest(k, part, group, false);
    if (listed) {
        cuzk_cuda_bits_config c = {};
        c.curve = k->base.key->curve->id;
        c.group = group ? CUZK_G2 : CUZK_G1;
        c.n = listed;
        const size_t bytes = cuzk_cuda_bits_scratch(&part->dev, &c);
        if (bytes == 0)
            return cuzk_err_set(err, CUZK_STATUS_BUG, "no scratch for %u bases", listed);
        CUZK_TRY(take(&part->dev, &c.scratch, bytes, err));
        if (!arena->measuring)
            CUZK_TRY(cuzk_cuda_bits_new(&part->many[group], &part->dev, &c, err));
    }
    if (kind == CUZK__LEAN_FULL && all) {
        const size_t end = arena->used;
        arena->used = base;
        cuzk_cuda_msm_config c = {};
        c.curve = k->base.key->curve->id;
        c.group = group ? CUZK_G2 : CUZK_G1;
        c.n = all;
        c.factor = 1;
        CUZK_TRY(cuzk_cuda_msm_new(&part->msm[group], &part->dev, &c, NULL, err));
        if (arena->used < end) arena->used = end;
    }
    return CUZK_OK;
}

static cuzk_status lay_out_sums(cuzk_gpu_key *k, int kind, cuzk_err *err) {
    cuzk__lean_part *part = &k->lean->part[kind];
    cuzk_cuda *dev = &part->dev;
    size_t wires = 0;
    for (int g = 0; g < CUZK__LEAN_GROUPS; g++) {
        const size_t n = largest(k, part, g, true);
        if (n > wires) wires = n;
    }
    CUZK_TRY(take(dev, &part->counts, 8, err));
    if (wires) CUZK_TRY(take(dev, &part->list, wires * 4, err));
    if (wires && kind == CUZK__LEAN_FULL) {
        CUZK_TRY(take(dev, &part->map, wires * 4, err));
        CUZK_TRY(take(dev, &part->rest, wires * 32, err));
    }
    const size_t base = dev->arena->used;
    size_t end = base;
    for (int g = 0; g < CUZK__LEAN_GROUPS; g++) {
        dev->arena->used = base;
        CUZK_TRY(lay_out_group(k, kind, g, err));
        if (dev->arena->used > end) end = dev->arena->used;
    }
    dev->arena->used = end;
    return CUZK_OK;
}

/* Sums of full values take longer than the next chunk's way; of bits, they do not. */
static cuzk_status lay_out_buffers(cuzk__lean_part *part, uint32_t most, cuzk_err *err) {
    part->buffer_bytes = 0;
    uint32_t streamed = 0;
    for (uint32_t i = 0; i < part->n; i++) {
        const cuzk__lean_chunk *c = &part->chunks[i];
        if (c->device) continue;
        streamed++;
        if (c->bytes > part->buffer_bytes) part->buffer_bytes = c->bytes;
    }
    part->buffers = streamed < most ? streamed : most;
    for (unsigned i = 0; i < part->buffers; i++)
        CUZK_TRY(take(&part->dev, &part->buffer[i], part->buffer_bytes, err));
    return CUZK_OK;
}

static void clear_sums(cuzk__lean *l) {
    for (cuzk__lean_part &part : l->part) {
        for (int g = 0; g < CUZK__LEAN_GROUPS; g++) {
            cuzk_cuda_msm_free(part.msm[g]);
            cuzk_cuda_bits_free(part.many[g]);
            part.msm[g] = NULL;
            part.many[g] = NULL;
        }
    }
}

/* Chunks whose `device` is not NULL stay. Leaves the sums' plans. */
static cuzk_status lay_out(cuzk_gpu_key *k, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    cuzk__lean_part *full = &l->part[CUZK__LEAN_FULL];
    const unsigned log2n = k->base.key->log2_domain;
    clear_sums(l);
    l->arena.used = 0;
    /* a, which becomes the scalars of H; what follows it is needed no more by then */
    const bool folded = k->base.key->h_form == CUZK_H_FOLDED;
    CUZK_TRY(take(&full->dev, &l->abc, (size_t)(folded ? 64 : 96) << log2n, err));
    l->vectors = l->arena.used;
    l->arena.used = (size_t)32 << log2n;
    CUZK_TRY(lay_out_sums(k, CUZK__LEAN_FULL, err));
    if (l->arena.used < l->vectors) l->arena.used = l->vectors;
    CUZK_TRY(lay_out_sums(k, CUZK__LEAN_BITS, err));
    size_t at = l->arena.used;
    l->work = at - l->vectors;
    CUZK_TRY(lay_out_buffers(full, 2, err));
    CUZK_TRY(lay_out_buffers(&l->part[CUZK__LEAN_BITS], CUZK__LEAN_BUFFERS, err));
    l->buffers = l->arena.used - at;
    at = l->arena.used;
    for (cuzk__lean_part &part : l->part)
        for (uint32_t i = 0; i < part.n; i++)
            if (part.chunks[i].device)
                CUZK_TRY(take(&part.dev, &part.chunks[i].device, part.chunks[i].bytes, err));
    l->resident = l->arena.used - at;
    l->arena.used = (l->arena.used + 255) & ~(size_t)255;
    return CUZK_OK;
}

static cuzk_status measure(cuzk_gpu_key *k, size_t *bytes, cuzk_err *err) {
    const cuzk_status st = lay_out(k, err);
    *bytes = k->lean->arena.used;
    return st;
}

/* ---- time ---- */

/* Of an H200 (docs/gpu.md), in nanoseconds: bytes over the link, an element of a transform and
 * level, a row, an addition of a sorted and of a listed sum and a bucket of BLS12-381's G1. */
static const double LINK = 1.0 / 50, TRANSFORM = 9.3e-3, ROW = 0.05, SORTED = 0.31, BUCKET = 0.75,
                    LISTED = 0.27;
/* One more chunk. */
static const double SORTED_CHUNK = 1.5e6, LISTED_CHUNK = 0.3e6;

static double group_factor(const cuzk_gpu_key *k, int id) {
    const bool bn = k->base.key->curve->id == CUZK_BN254, g2 = k->query[id].group == CUZK_G2;
    return (bn ? 0.55 : 1) * (g2 ? 2.8 : 1);
}

/* Of the device. At most: values of full wires may be 0 or 1, of bits half are taken to be 1. */
static double compute_ns(const cuzk_gpu_key *k) {
    const cuzk__lean *l = k->lean;
    const double n = (double)((size_t)1 << k->base.key->log2_domain);
    double ns = n * ROW + 6 * n * k->base.key->log2_domain * TRANSFORM;
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        const cuzk__lean_part *part = &l->part[kind];
        for (uint32_t i = 0; i < part->n; i++) {
            const cuzk__lean_chunk *c = &part->chunks[i];
            double chunk = c->n * 0.5 * LISTED, once = LISTED_CHUNK;
            if (kind == CUZK__LEAN_FULL) {
                cuzk_cuda_msm_info m;
                cuzk_cuda_msm_get_info(part->msm[cuzk__lean_group(&k->query[c->id])], &m);
                chunk = c->n * (double)m.windows * SORTED +
                        m.sets * (double)(1u << (m.window - 1)) * BUCKET;
                once = SORTED_CHUNK;
            }
            ns += (chunk + once) * group_factor(k, c->id);
        }
    }
    return ns;
}

/* Whatever takes longer hides the other, but for some of it at the ends. Returns what is to be the
 * least. */
static double predict(cuzk_gpu_key *k, double ms[2]) {
    cuzk__lean *l = k->lean;
    const double compute = compute_ns(k);
    const double bytes = (double)l->streamed + (double)cuzk__gpu_slot_bytes(k->base.key);
    for (int slow = 0; slow < 2; slow++) {
        const double link = bytes * LINK * (slow ? 10 : 1);
        const double most = link > compute ? link : compute, least = link + compute - most;
        ms[slow] = (most + 0.05 * least) * 1e-6;
    }
    l->compute_ms = compute * 1e-6;
    return ms[0];
}

/* ---- the choice ---- */

/* Marks chunks that stay, spread evenly, of at most `room` bytes; what does not stay is streamed.
 */
static void keep(cuzk__lean *l, size_t room) {
    const double share = (double)room / (double)l->host_bytes;
    double want = 0.5;
    size_t kept = 0;
    l->streamed = 0;
    for (cuzk__lean_part &part : l->part) {
        for (uint32_t i = 0; i < part.n; i++) {
            cuzk__lean_chunk *c = &part.chunks[i];
            want += share * (double)c->bytes;
            const bool stays = (double)(kept + c->bytes) <= want && kept + c->bytes <= room;
            c->device = stays ? (char *)256 : NULL; /* a mark; the layout gives the place */
            if (stays)
                kept += c->bytes;
            else
                l->streamed += c->bytes;
        }
    }
}

/* Cuts, keeps what fits, and lays out. *need: bytes, more than room when it does not fit. */
static cuzk_status attempt(cuzk_gpu_key *k, uint32_t full, uint32_t bits, size_t room, size_t *need,
                           cuzk_err *err) {
    cuzk__lean *l = k->lean;
    CUZK_TRY(cut(k, full, bits, err));
    keep(l, SIZE_MAX); /* all */
    CUZK_TRY(measure(k, need, err));
    if (*need <= room) return CUZK_OK;
    keep(l, 0);
    CUZK_TRY(measure(k, need, err));
    if (*need > room) return CUZK_OK;
    keep(l, room - *need);
    return measure(k, need, err);
}

/* Chunks of a given size, none of which stays. */
static cuzk_status cut_given(cuzk_gpu_key *k, uint32_t chunk, size_t *need, cuzk_err *err) {
    CUZK_TRY(cut(k, chunk, chunk, err));
    keep(k->lean, 0);
    CUZK_TRY(measure(k, need, err));
    (void)predict(k, k->lean->ms);
    return CUZK_OK;
}

/* Two slots, and what the driver rounds pieces of memory up to: 2 MiB each. */
static size_t set_aside(const cuzk_gpu_key *k) {
    return 2 * k->bytes.slot + ((size_t)32 << 20);
}

/* held: by other keys and programs. */
static cuzk_status too_little(const cuzk_gpu_key *k, size_t least, size_t held, cuzk_err *err) {
    enum { SPARE = 4096 }; /* pieces begin at multiples of 256 */
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                        "%s: a proof needs at least %zu bytes of device memory", k->base.key->name,
                        held + k->bytes.rows + k->bytes.transforms + least + set_aside(k) + SPARE);
}

static cuzk_status choose(cuzk_gpu_key *k, size_t room, size_t held, uint32_t chunk,
                          cuzk_err *err) {
    const uint32_t most[2] = {MOST_FULL, MOST_BITS};
    uint32_t best[2] = {0, 0}, low[2], top[2];
    size_t need, least = SIZE_MAX;
    double best_score = 0;
    if (chunk) {
        CUZK_TRY(cut_given(k, chunk, &need, err));
        return need > room ? too_little(k, need, held, err) : CUZK_OK;
    }
    for (int kind = 0; kind < 2; kind++) {
        uint32_t n = 1;
        for (int id = 0; id < CUZK__QUERIES; id++) {
            const cuzk__gpu_query *q = &k->query[id];
            const uint32_t of = kind == CUZK__LEAN_FULL ? q->n_full : q->n - q->n_full;
            if (of > n) n = of;
        }
        for (low[kind] = LEAST; n >> low[kind] >> MOST_CHUNKS_LOG; low[kind]++) {
        }
        for (top[kind] = low[kind]; top[kind] < most[kind] && n >> top[kind]; top[kind]++) {
        }
    }
    for (uint32_t f = low[0]; f <= top[0]; f++) {
        for (uint32_t b = low[1]; b <= top[1]; b++) {
            double score, ms[2];
            CUZK_TRY(attempt(k, 1u << f, 1u << b, room, &need, err));
            if (need < least) least = need;
            if (need > room) continue;
            score = predict(k, ms);
            if (best[0] && score >= best_score) continue;
            best[0] = f;
            best[1] = b;
            best_score = score;
        }
    }
    if (!best[0]) return too_little(k, least, held, err);
    CUZK_TRY(attempt(k, 1u << best[0], 1u << best[1], room, &need, err));
    (void)predict(k, k->lean->ms);
    return CUZK_OK;
}

/* Results in a slot's pinned memory: sums of lists side by side for each query and kind, then those
 * of sorted sums; two words of counts for each full chunk. */
static void place_results(cuzk_gpu_key *k) {
    cuzk__lean *l = k->lean;
    size_t at = 0;
    for (cuzk__lean_part &part : l->part) {
        for (uint32_t i = 0; i < part.n; i++) {
            part.chunks[i].sum = at;
            at += k->query[part.chunks[i].id].ops->xyzz_bytes;
        }
    }
    cuzk__lean_part *full = &l->part[CUZK__LEAN_FULL];
    for (uint32_t i = 0; i < full->n; i++) {
        full->chunks[i].sorted = at;
        const int g = cuzk__lean_group(&k->query[full->chunks[i].id]);
        at += 16 + ((cuzk__cuda_msm_result_bytes(full->msm[g]) + 15) & ~(size_t)15);
    }
    l->results = at;
}

cuzk_status cuzk__lean_plan(cuzk_gpu_key *k, const cuzk_cuda *dev, size_t room, size_t held,
                            uint32_t chunk, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    for (cuzk__lean_part &part : l->part) {
        part.dev = *dev;
        part.dev.arena = &l->arena;
    }
    l->arena.measuring = true;
    const size_t aside = set_aside(k);
    CUZK_TRY(choose(k, room > aside ? room - aside : 0, held, chunk, err));
    place_results(k);
    clear_sums(l);
    l->arena.size = l->arena.used;
    return CUZK_OK;
}

cuzk_status cuzk__lean_lay_out(cuzk_gpu_key *k, cuzk_err *err) {
    k->lean->arena.measuring = false;
    return lay_out(k, err);
}

void cuzk__lean_clear(cuzk__lean *l) {
    clear_sums(l);
    for (cuzk__lean_part &part : l->part) {
        cuzk_free(part.chunks);
        part.chunks = NULL;
    }
}

/* What a key that is streamed takes, and how it is cut. DESIGN. Every size of chunks is laid out by
 * the code that lays memory out for proofs, on an arena that only measures; of those that fit, the
 * one with the shortest predicted time is taken. */
#include "backend/cuda/lean.cuh"
#include "backend/cuda/ntt_small.h"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

/* Points of G1 in a chunk. */
enum { MOST_FULL = 24, MOST_BITS = 22, LEAST = 4, MOST_CHUNKS_LOG = 12 };

/* ---- cutting ---- */

/* H's sum hides the copies of bits. */
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

static void count_buffers(cuzk__lean_part *part, uint32_t most) {
    uint32_t streamed = 0;
    part->buffer_bytes = 0;
    for (uint32_t i = 0; i < part->n; i++) {
        const cuzk__lean_chunk *c = &part->chunks[i];
        if (c->device) continue;
        streamed++;
        if (c->bytes > part->buffer_bytes) part->buffer_bytes = c->bytes;
    }
    part->buffers = streamed < most ? streamed : most;
}

static cuzk_status take_buffers(cuzk__lean_part *part, unsigned from, unsigned to, cuzk_err *err) {
    for (unsigned i = from; i < to; i++)
        CUZK_TRY(take(&part->dev, &part->buffer[i], part->buffer_bytes, err));
    return CUZK_OK;
}

/* Buffers over what is left of the quotient's vectors, whose end is `end`: the second one of full
 * chunks, and some of bits. Few: a full chunk's copy waits behind the copies of bits that are
 * queued. */
static cuzk_status lay_out_late(cuzk__lean *l, size_t end, cuzk_err *err) {
    cuzk__lean_part *full = &l->part[CUZK__LEAN_FULL], *bits = &l->part[CUZK__LEAN_BITS];
    enum { FULL = 2, EARLY = 3 };
    static const size_t AHEAD = (size_t)5 << 28; /* bytes of bits */
    count_buffers(full, FULL);
    full->early = full->late_from = full->buffers ? 1 : 0; /* the first one is there in time */
    CUZK_TRY(take_buffers(full, full->early, full->buffers, err));
    count_buffers(bits, CUZK__LEAN_BUFFERS);
    bits->early = bits->buffers < EARLY ? bits->buffers : (unsigned)EARLY;
    const size_t each = (bits->buffer_bytes + 255) & ~(size_t)255;
    size_t left = end > l->arena.used + 256 ? end - l->arena.used - 256 : 0;
    unsigned late = bits->early;
    for (; late < bits->buffers && left >= each && (late + 1) * each <= AHEAD; late++)
        left -= each;
    bits->buffers = late;
    return take_buffers(bits, bits->early, late, err);
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
    cuzk__lean_part *full = &l->part[CUZK__LEAN_FULL], *bits = &l->part[CUZK__LEAN_BITS];
    const unsigned log2n = k->base.key->log2_domain;
    clear_sums(l);
    l->arena.used = 0;
    /* a, which becomes the scalars of H; what follows it is needed no more by then */
    const bool folded = k->base.key->h_form == CUZK_H_FOLDED;
    CUZK_TRY(take(&full->dev, &l->abc, (size_t)(folded ? 64 : 96) << log2n, err));
    l->vectors = l->arena.used;
    l->arena.used = (size_t)32 << log2n;
    l->scalars[l->share - 1] = l->abc;
    CUZK_TRY(lay_out_sums(k, CUZK__LEAN_FULL, err));
    const size_t sums = l->arena.used < l->vectors ? l->vectors : l->arena.used;
    CUZK_TRY(lay_out_late(l, l->vectors, err));
    if (l->arena.used < sums) l->arena.used = sums;
    l->buffers = l->arena.used - sums;
    size_t at = l->arena.used;
    for (unsigned i = 0; i + 1 < l->share; i++)
        CUZK_TRY(take(&full->dev, &l->scalars[i], (size_t)32 << log2n, err));
    CUZK_TRY(lay_out_sums(k, CUZK__LEAN_BITS, err));
    l->work = sums - l->vectors + l->arena.used - at;
    at = l->arena.used;
    CUZK_TRY(take_buffers(full, 0, full->early, err));
    CUZK_TRY(take_buffers(bits, 0, bits->early, err));
    l->buffers += l->arena.used - at;
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

/* Of an H200 (docs/gpu.md), in nanoseconds: an element of a transform and level, a row, an addition
 * of a sorted and of a listed sum and a bucket of BLS12-381's G1. They decide how a key is cut;
 * what a key takes that is not cut is foretold by predict.h. */
static const double TRANSFORM[2] = {8e-3, 12.5e-3}; /* with large tables, with small ones */
static const double ROW = 0.05, SORTED = 0.31, BUCKET = 0.75, LISTED = 0.27;
/* One more chunk. */
static const double SORTED_CHUNK = 6e6, LISTED_CHUNK = 0.3e6;

static double group_factor(const cuzk_gpu_key *k, int id) {
    const bool bn = k->base.key->curve->id == CUZK_BN254, g2 = k->query[id].group == CUZK_G2;
    return (bn ? 0.55 : 1) * (g2 ? 2.8 : 1);
}

/* Rows and transforms of a proof. */
static double quotient_ns(const cuzk_gpu_key *k) {
    const double n = (double)((size_t)1 << k->base.key->log2_domain);
    return n * ROW + 6 * n * k->base.key->log2_domain * TRANSFORM[k->lean->small];
}

/* Of the device. At most: values of full wires may be 0 or 1, of bits half are taken to be 1. */
static double compute_ns(const cuzk_gpu_key *k) {
    const cuzk__lean *l = k->lean;
    double ns = quotient_ns(k);
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
    const double bytes = (double)l->streamed / l->share + (double)cuzk__gpu_slot_bytes(k->base.key);
    for (int slow = 0; slow < 2; slow++) {
        const double link = bytes * l->link * (slow ? 10 : 1);
        const double most = link > compute ? link : compute, least = link + compute - most;
        ms[slow] = (most + 0.15 * least) * 1e-6;
    }
    l->compute_ms = compute * 1e-6;
    return ms[0];
}

/* From which chunk of bits on buffers lie where the quotient was: earlier, and copies wait for it;
 * later, and they wait for sums that the device has no room for. */
static void set_late(cuzk_gpu_key *k) {
    cuzk__lean_part *bits = &k->lean->part[CUZK__LEAN_BITS];
    const double until = 1.3 * k->lean->share * quotient_ns(k); /* sums of bits run meanwhile */
    const double each = (double)bits->buffer_bytes * k->lean->link;
    const double chunks = each > 0 ? until / each : 0;
    bits->late_from = chunks < bits->n ? (uint32_t)chunks : bits->n;
    if (bits->late_from < bits->early) bits->late_from = bits->early;
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

static size_t set_aside(const cuzk_gpu_key *k) {
    unsigned slots = CUZK__SLOTS;
    if (slots < k->lean->share) slots = k->lean->share;
    return slots * k->bytes.slot + CUZK__ROUNDED;
}

/* least: of the arena; held: by other keys and programs. A small key may want less whole. */
static cuzk_status too_little(const cuzk_gpu_key *k, size_t least, size_t held, cuzk_err *err) {
    enum { SPARE = 4096 }; /* pieces begin at multiples of 256 */
    const size_t lean = k->bytes.transforms + least + set_aside(k);
    const size_t all = held + k->bytes.rows + (lean < k->whole ? lean : k->whole) + SPARE;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                        "%s: a proof needs at least %zu bytes of device memory", k->base.key->name,
                        all);
}

/* Sizes of chunks that are tried: powers of two, of each kind. */
struct cuts {
    uint32_t low[CUZK__LEAN_KINDS], top[CUZK__LEAN_KINDS];
};

static cuts cuts_of(const cuzk_gpu_key *k) {
    const uint32_t most[CUZK__LEAN_KINDS] = {MOST_FULL, MOST_BITS};
    cuts c;
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        uint32_t n = 1;
        for (const cuzk__gpu_query &q : k->query) {
            const uint32_t of = kind == CUZK__LEAN_FULL ? q.n_full : q.n - q.n_full;
            if (of > n) n = of;
        }
        for (c.low[kind] = LEAST; n >> c.low[kind] >> MOST_CHUNKS_LOG; c.low[kind]++) {
        }
        for (c.top[kind] = c.low[kind]; c.top[kind] < most[kind] && n >> c.top[kind];
             c.top[kind]++) {
        }
    }
    return c;
}

/* The best that was found; share 0: none. */
struct found {
    uint32_t log2[CUZK__LEAN_KINDS]; /* of the chunks' sizes */
    unsigned share;
    bool small;
    double score;
    size_t least; /* bytes that any wanted */
};

/* Sizes next to those that are best until now. */
static cuts near_to(const found *best, const cuts *all) {
    cuts c = *all;
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        const uint32_t at = best->log2[kind];
        if (at > c.low[kind]) c.low[kind] = at - 1;
        if (at < c.top[kind]) c.top[kind] = at + 1;
    }
    return c;
}

/* A larger share has to bring something: it delays the first proof. */
static bool is_better(const cuzk_gpu_key *k, double score, const found *best) {
    static const double WORTH = 0.97;
    return !best->share || score < best->score * (k->lean->share > best->share ? WORTH : 1);
}

static cuzk_status search(cuzk_gpu_key *k, const cuts *c, size_t room, found *best, cuzk_err *err) {
    for (uint32_t f = c->low[CUZK__LEAN_FULL]; f <= c->top[CUZK__LEAN_FULL]; f++) {
        for (uint32_t b = c->low[CUZK__LEAN_BITS]; b <= c->top[CUZK__LEAN_BITS]; b++) {
            double ms[2];
            size_t need;
            CUZK_TRY(attempt(k, 1u << f, 1u << b, room, &need, err));
            if (need < best->least) best->least = need;
            if (need > room) continue;
            const double score = predict(k, ms);
            if (is_better(k, score, best))
                *best = {{f, b}, k->lean->share, k->lean->small, score, best->least};
        }
    }
    return CUZK_OK;
}

/* Of what is there, what vectors, chunks and scratch may take with such tables. */
static size_t room_beside(cuzk_gpu_key *k, unsigned share, bool small, size_t room) {
    const cuzk_cuda *dev = &k->lean->part[CUZK__LEAN_FULL].dev;
    const unsigned dirs = cuzk__gpu_transform_dirs(dev, k->base.key, small);
    k->lean->share = share;
    k->lean->small = dirs & CUZK_NTT_SMALL_TABLES;
    k->bytes.transforms = cuzk__gpu_transform_bytes(k->base.key, dirs);
    const size_t aside = set_aside(k) + k->bytes.transforms;
    return room > aside ? room - aside : 0;
}

/* The kind of tables that takes less: of small domains that are not the small ones. */
static void take_fewer_tables(cuzk_gpu_key *k, size_t room) {
    (void)room_beside(k, 1, false, room);
    const size_t large = k->bytes.transforms;
    (void)room_beside(k, 1, true, room);
    if (large < k->bytes.transforms) (void)room_beside(k, 1, false, room);
}

/* share: proofs that may share a pass, at most. */
static cuzk_status choose(cuzk_gpu_key *k, size_t room, size_t held, uint32_t chunk, unsigned share,
                          cuzk_err *err) {
    found best = {};
    size_t need;
    best.least = SIZE_MAX;
    if (chunk) {
        room = room_beside(k, share, true, room);
        CUZK_TRY(cut_given(k, chunk, &need, err));
        return need > room ? too_little(k, need, held, err) : CUZK_OK;
    }
    const cuts all = cuts_of(k);
    for (unsigned n = 1; n <= share && (n == 1 || best.share); n++) {
        for (int small = 1; small >= 0; small--) {
            const size_t beside = room_beside(k, n, small, room);
            const cuts near = best.share ? near_to(&best, &all) : all;
            if (beside || small) CUZK_TRY(search(k, &near, beside, &best, err));
        }
    }
    if (!best.share) {
        take_fewer_tables(k, room);
        return too_little(k, best.least, held, err);
    }
    CUZK_TRY(attempt(k, 1u << best.log2[CUZK__LEAN_FULL], 1u << best.log2[CUZK__LEAN_BITS],
                     room_beside(k, best.share, best.small, room), &need, err));
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
                            uint32_t chunk, unsigned share, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    for (cuzk__lean_part &part : l->part) {
        part.dev = *dev;
        part.dev.arena = &l->arena;
    }
    l->arena.measuring = true;
    if (l->link == 0) l->link = CUZK__H200_LINK;
    CUZK_TRY(choose(k, room, held, chunk, share, err));
    set_late(k);
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

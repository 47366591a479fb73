/* DESIGN. The file has a query's points in the order of the flat system's wires that occur in it.
 * One walk over the instances gives, for each such wire, its slot and its place in the file; slots
 * ascend along the walk, separately for bits and full values, because instances are laid out in
 * order and a block numbers its own slots in the order of its wires. Then every destination is
 * filled from its place, in parallel. */
#include "groth16/params_key.h"

#include "base/mem.h"
#include "curve/zcash.h"

#include <stdatomic.h>
#include <string.h>

/* Bases of one class (bits, or full values) of one query. */
typedef struct {
    uint32_t *slots; /* in the key */
    uint32_t *from;  /* index in the file; while loading */
    size_t n, cap;
} places;

typedef struct {
    places bits, full;
    bool has_one; /* ONE's base is the section's first point */
} layout;

typedef struct {
    cuzk_params_key *k;
    const cuzk_params *file;
    const cuzk_r1cs *r;
    const cuzk_r1cs_density *density;
    cuzk_pool *pool;
    cuzk_progress *progress;
    bool logs; /* the arrays hold scalars */
    bool folded;
    cuzk_err *err;
} loader;

enum { LOG_SIZE = 32 };

/* Of one base in the file and in the key. */
static size_t base_size(const loader *l, cuzk_group g) {
    return l->logs ? LOG_SIZE : cuzk_zcash_size(g);
}

void cuzk_params_counts_of(cuzk_params_counts *out, const cuzk_r1cs *r,
                           const cuzk_r1cs_density *density) {
    uint64_t m = 1;
    while (m < (uint64_t)r->n_rows + r->n_inputs)
        m *= 2;
    *out = (cuzk_params_counts){.ic = r->n_inputs,
                                .h = (uint32_t)(m - 1),
                                .l = r->n_aux,
                                .a = r->n_inputs + density->n_a_aux,
                                .b = density->n_b_input + density->n_b_aux};
}

static bool bit_at(const uint64_t *map, uint32_t i) {
    return map[i / 64] >> (i % 64) & 1;
}

static cuzk_status out_of_memory(const loader *l, size_t bytes) {
    return cuzk_err_set(l->err, CUZK_STATUS_NO_MEMORY,
                        "%s: not enough memory for the key (%zu bytes more)", l->file->name, bytes);
}

/* Memory that the key owns. */
static cuzk_status own(const loader *l, size_t n, size_t size, void *out) {
    void *p = NULL;
    cuzk_params_key *k = l->k;
    if (n == 0) n = 1;
    if (cuzk_big_alloc(&p, n * size) != CUZK_OK) return out_of_memory(l, n * size);
    k->owned[k->n_owned].p = p;
    k->owned[k->n_owned++].bytes = n * size;
    memcpy(out, &p, sizeof p);
    return CUZK_OK;
}

/* ---- where each base goes ---- */

/* Which wires a section of the file holds. */
typedef struct {
    const uint64_t *aux;   /* NULL: all */
    const uint64_t *input; /* NULL: all, or none when no_inputs */
    bool no_inputs;
} section_wires;

static bool add_place(places *p, uint32_t slot, uint32_t from) {
    if (p->slots) {
        if (p->n > 0 && p->slots[p->n - 1] >= slot) return false;
        p->slots[p->n] = slot;
        p->from[p->n] = from;
    }
    p->n++;
    return true;
}

/* One walk: counts when the arrays are not there yet, fills them otherwise. */
static bool walk(const loader *l, const section_wires *w, layout *out) {
    const cuzk_r1cs *r = l->r;
    uint32_t input_at = 0, aux_at = 0;
    out->has_one = !w->no_inputs && (!w->input || bit_at(w->input, 0));
    out->bits.n = out->full.n = 0;
    /* inputs come first in the file, so aux wires begin behind the number of those it has */
    for (uint32_t i = 0; i < r->n_inputs && !w->no_inputs; i++)
        aux_at += !w->input || bit_at(w->input, i);
    input_at = out->has_one;
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        const uint32_t *own_slot = r->slots + s->slot0;
        for (uint32_t k = 0; k < s->n_inputs && !w->no_inputs; k++) {
            if (w->input && !bit_at(w->input, inst->input0 + k)) continue;
            if (own_slot[k] & CUZK_SLOT_BIT) return false;
            if (!add_place(&out->full, own_slot[k] + inst->full0, input_at++)) return false;
        }
        for (uint32_t k = 0; k < s->n_aux; k++) {
            if (w->aux && !bit_at(w->aux, inst->aux0 + k)) continue;
            const uint32_t slot = own_slot[s->n_inputs + k];
            if (slot & CUZK_SLOT_BIT) {
                if (!add_place(&out->bits, (slot & ~CUZK_SLOT_BIT) + inst->bit0, aux_at++))
                    return false;
            } else if (!add_place(&out->full, slot + inst->full0, aux_at++)) {
                return false;
            }
        }
    }
    return true;
}

static void free_places(places *p) {
    cuzk_big_free(p->from, p->cap * sizeof *p->from);
    p->from = NULL;
}

static cuzk_status make_places(const loader *l, places *p) {
    void *mem;
    p->cap = p->n ? p->n : 1;
    CUZK_TRY(own(l, p->n, sizeof *p->slots, &p->slots));
    if (cuzk_big_alloc(&mem, p->cap * sizeof *p->from) != CUZK_OK)
        return out_of_memory(l, p->cap * sizeof *p->from);
    p->from = mem;
    return CUZK_OK;
}

static cuzk_status make_layout(const loader *l, const section_wires *w, layout *out) {
    *out = (layout){.has_one = false};
    bool ordered = walk(l, w, out);
    if (ordered) {
        CUZK_TRY(make_places(l, &out->bits));
        CUZK_TRY(make_places(l, &out->full));
        ordered = walk(l, w, out);
    }
    if (!ordered)
        return cuzk_err_set(l->err, CUZK_STATUS_BUG, "%s: slots of the circuit are not in order",
                            l->file->name);
    return CUZK_OK;
}

/* What sections a, b and l hold. */
static void sections(section_wires out[3], const cuzk_r1cs_density *d, bool folded) {
    out[0] = (section_wires){.aux = d->a_aux};
    out[1] = (section_wires){.aux = d->b_aux, .input = d->b_input};
    out[2] = (section_wires){.no_inputs = !folded};
}

cuzk_status cuzk_params_key_shape(cuzk_proving_key *out, const cuzk_r1cs *r1cs,
                                  const cuzk_r1cs_density *density, cuzk_err *err) {
    const loader l = {.r = r1cs};
    cuzk_params_counts n;
    section_wires wires[3];
    cuzk_params_counts_of(&n, r1cs, density);
    sections(wires, density, false);
    *out = (cuzk_proving_key){.curve = cuzk_curve_get(CUZK_BLS12_381),
                              .name = "",
                              .n_inputs = r1cs->n_inputs,
                              .n_bits = r1cs->n_bits,
                              .n_full = r1cs->n_full,
                              .r1cs = r1cs,
                              .h_form = CUZK_H_COEFFICIENTS};
    while ((uint64_t)1 << out->log2_domain <= n.h)
        out->log2_domain++;
    cuzk_query *query[3] = {&out->a, &out->b1, &out->l};
    for (int i = 0; i < 3; i++) {
        layout lay = {.has_one = false};
        if (!walk(&l, &wires[i], &lay))
            return cuzk_err_set(err, CUZK_STATUS_BUG, "slots of the circuit are not in order");
        *query[i] = (cuzk_query){.n_bits = lay.bits.n,
                                 .n_full = lay.full.n,
                                 .one_base = lay.has_one ? r1cs : NULL,
                                 .full_slots = r1cs->slots};
    }
    out->b2 = out->b1;
    return CUZK_OK;
}

uint64_t cuzk_params_key_bytes(const cuzk_proving_key *shape) {
    const cuzk_query *q[] = {&shape->a, &shape->b1, &shape->b2, &shape->l};
    const uint64_t g1 = shape->curve->g1.point_size, g2 = shape->curve->g2.point_size;
    uint64_t bytes = sizeof(cuzk_params_key) + (((uint64_t)1 << shape->log2_domain) - 1) * g1 +
                     shape->n_inputs * g1;
    for (int i = 0; i < 4; i++)
        bytes += (q[i]->n_bits + q[i]->n_full + (q[i]->one_base != NULL)) * (i == 2 ? g2 : g1);
    for (int i = 0; i < 4; i++)
        if (i != 2) bytes += 4 * (uint64_t)(q[i]->n_bits + q[i]->n_full);
    return bytes;
}

/* ---- conversion ---- */

typedef struct {
    cuzk_group g;
    bool logs;
    uint8_t *to;
    const uint8_t *section; /* of the file */
    const uint32_t *from;   /* NULL: the same order */
    cuzk_progress *progress;
    _Atomic uint64_t first_bad; /* index in the file; UINT64_MAX: none */
} conversion;

static void convert_range(void *ctx, size_t begin, size_t end) {
    conversion *c = ctx;
    const size_t size = c->logs ? LOG_SIZE : cuzk_zcash_size(c->g);
    for (size_t i = begin; i < end; i++) {
        const size_t from = c->from ? c->from[i] : i;
        cuzk_zcash_result why;
        if (c->logs) {
            memcpy(c->to + i * size, c->section + from * size, size);
            continue;
        }
        if (cuzk_zcash_read(c->g, c->to + i * size, c->section + from * size, 1, &why) == 1)
            continue;
        uint64_t seen = atomic_load(&c->first_bad);
        while (from < seen && !atomic_compare_exchange_weak(&c->first_bad, &seen, from)) {
        }
    }
    if (c->progress) cuzk_progress_add(c->progress, end - begin);
}

static cuzk_status convert(const loader *l, const char *name, cuzk_group g, const uint8_t *section,
                           const uint32_t *from, size_t n, void *to) {
    conversion c = {.g = g,
                    .logs = l->logs,
                    .to = to,
                    .section = section,
                    .from = from,
                    .progress = l->progress};
    atomic_init(&c.first_bad, UINT64_MAX);
    cuzk_pool_run_ranges(l->pool, n, 1 << 12, 16, convert_range, &c);
    const uint64_t at = atomic_load(&c.first_bad);
    if (at == UINT64_MAX) return CUZK_OK;
    cuzk_zcash_result why;
    cuzk_point p;
    const size_t size = cuzk_zcash_size(g);
    (void)cuzk_zcash_read(g, &p, section + at * size, 1, &why);
    return cuzk_params_bad_point(l->file, name, section, size, at, cuzk_zcash_expected(why),
                                 l->err);
}

static cuzk_status convert_query(const loader *l, const char *name, cuzk_group g,
                                 const uint8_t *section, const layout *lay, cuzk_query *q) {
    const size_t size = base_size(l, g);
    void *bits = NULL, *full = NULL, *one;
    CUZK_TRY(own(l, lay->bits.n, size, &bits));
    CUZK_TRY(own(l, lay->full.n + lay->has_one, size, &full));
    one = (uint8_t *)full + lay->full.n * size;
    if (lay->has_one) CUZK_TRY(convert(l, name, g, section, NULL, 1, one));
    CUZK_TRY(convert(l, name, g, section, lay->bits.from, lay->bits.n, bits));
    CUZK_TRY(convert(l, name, g, section, lay->full.from, lay->full.n, full));
    *q = (cuzk_query){.n_bits = lay->bits.n,
                      .bit_bases = bits,
                      .bit_slots = lay->bits.slots,
                      .n_full = lay->full.n,
                      .full_bases = full,
                      .one_base = lay->has_one ? one : NULL,
                      .full_slots = lay->full.slots};
    return CUZK_OK;
}

/* The file's points up to `end` are converted: no second copy of them has to stay. */
static void drop_until(const loader *l, const uint8_t *end) {
    if (l->file->map.data) cuzk_map_drop(&l->file->map, 0, (size_t)(end - l->file->data));
}

static cuzk_status load_queries(const loader *l) {
    cuzk_proving_key *key = &l->k->key;
    section_wires wires[3];
    layout lay;
    sections(wires, l->density, l->folded);
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 3 && st == CUZK_OK; i++) {
        st = make_layout(l, &wires[i], &lay);
        if (st == CUZK_OK && i == 0) st = convert_query(l, "a", CUZK_G1, l->file->a, &lay, &key->a);
        if (i == 0) drop_until(l, l->file->b1); /* a; l comes last */
        if (st == CUZK_OK && i == 1)
            st = convert_query(l, "b_g1", CUZK_G1, l->file->b1, &lay, &key->b1);
        if (st == CUZK_OK && i == 1)
            st = convert_query(l, "b_g2", CUZK_G2, l->file->b2, &lay, &key->b2);
        if (st == CUZK_OK && i == 2) st = convert_query(l, "l", CUZK_G1, l->file->l, &lay, &key->l);
        free_places(&lay.bits);
        free_places(&lay.full);
    }
    return st;
}

/* ---- the whole ---- */

static cuzk_status copy_vk(const loader *l) {
    cuzk_params_key *k = l->k;
    const size_t bytes = (size_t)l->file->n.ic * CUZK_ZCASH_G1;
    void *ic;
    k->vk = l->file->vk;
    k->vk.vk.ic = NULL;
    if (cuzk_alloc(&ic, bytes, 1) != CUZK_OK) return out_of_memory(l, bytes);
    memcpy(ic, l->file->vk.vk.ic, bytes);
    k->vk.vk.ic = ic;
    return CUZK_OK;
}

static cuzk_status load(const loader *l) {
    cuzk_params_key *k = l->k;
    const size_t name_len = strlen(l->file->name) + 1;
    char *name = NULL;
    void *h = NULL;
    CUZK_TRY(own(l, name_len, 1, &name));
    memcpy(name, l->file->name, name_len);
    CUZK_TRY(copy_vk(l));
    k->key = (cuzk_proving_key){
        .curve = k->vk.vk.curve,
        .name = name,
        .n_inputs = l->r->n_inputs,
        .n_bits = l->r->n_bits,
        .n_full = l->r->n_full,
        .r1cs = l->r,
        .h_form = l->folded ? CUZK_H_FOLDED : CUZK_H_COEFFICIENTS,
        .logs = l->logs,
        .alpha1 = &k->vk.vk.alpha1,
        .beta1 = &k->vk.beta1,
        .beta2 = &k->vk.vk.beta2,
        .gamma2 = &k->vk.vk.gamma2,
        .delta1 = &k->vk.delta1,
        .delta2 = &k->vk.vk.delta2,
        .ic = k->vk.vk.ic,
    };
    while ((uint64_t)1 << k->key.log2_domain <= l->file->n.h - l->folded)
        k->key.log2_domain++;
    CUZK_TRY(own(l, l->file->n.h, base_size(l, CUZK_G1), &h));
    CUZK_TRY(convert(l, "h", CUZK_G1, l->file->h, NULL, l->file->n.h, h));
    k->key.h = h;
    drop_until(l, l->file->l);
    return load_queries(l);
}

static cuzk_status make_key(cuzk_params_key **out, const loader *from) {
    const cuzk_params *file = from->file;
    cuzk_err *err = from->err;
    void *mem;
    cuzk_params_counts want;
    *out = NULL;
    cuzk_params_counts_of(&want, from->r, from->density);
    if (from->folded) {
        want.h++;
        want.l += want.ic;
    }
    if (memcmp(&want, &file->n, sizeof want) != 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: the key of another circuit",
                            file->name);
    if (cuzk_alloc(&mem, 1, sizeof(cuzk_params_key)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", file->name);
    loader l = *from;
    l.k = mem;
    const cuzk_status st = load(&l);
    if (st == CUZK_OK)
        *out = mem;
    else
        cuzk_params_key_free(mem);
    return st;
}

cuzk_status cuzk_params_key_new(cuzk_params_key **out, const cuzk_params *file,
                                const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                                cuzk_pool *pool, cuzk_progress *progress, cuzk_err *err) {
    const loader l = {NULL, file, r1cs, density, pool, progress, false, false, err};
    return make_key(out, &l);
}

cuzk_status cuzk_params_key_of_logs(cuzk_params_key **out, const cuzk_params *file, bool folded,
                                    const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                                    cuzk_pool *pool, cuzk_err *err) {
    const loader l = {NULL, file, r1cs, density, pool, NULL, true, folded, err};
    return make_key(out, &l);
}

void cuzk_params_key_drop_bases(cuzk_params_key *k) {
    cuzk_query *const q[] = {&k->key.a, &k->key.b1, &k->key.b2, &k->key.l};
    for (int i = 0; i < 4; i++) {
        q[i]->bit_bases = q[i]->full_bases = q[i]->one_base = NULL;
        q[i]->bit_slots = q[i]->full_slots = NULL;
    }
    k->key.h = NULL;
    /* the first is the key's name */
    for (; k->n_owned > 1; k->n_owned--)
        cuzk_big_free(k->owned[k->n_owned - 1].p, k->owned[k->n_owned - 1].bytes);
}

void cuzk_params_key_free(cuzk_params_key *k) {
    if (!k) return;
    for (unsigned i = 0; i < k->n_owned; i++)
        cuzk_big_free(k->owned[i].p, k->owned[i].bytes);
    cuzk_params_vk_free(&k->vk);
    cuzk_free(k);
}

#include "bench.h"

#include "api/key.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "groth16/groth16.h"

#include <stdio.h>
#include <string.h>

/* Each row is a series of whole proofs, every one verified again outside the timed part. */
typedef struct series {
    int64_t ns[CUZK_BENCH_MAX_RUNS];
    int64_t load_ns[CUZK_BENCH_MAX_RUNS]; /* reading key and witness; cold only */
    cuzk_prove_stats stats[CUZK_BENCH_MAX_RUNS];
    bool ok;
} series;

static bool verifies(const cuzk_zkey *key, const cuzk_wtns *w, const cuzk_proof *proof) {
    cuzk_vk vk;
    if (cuzk_zkey_vk(key, &vk, NULL) != CUZK_OK) return false;
    void *mem;
    bool ok = false;
    if (cuzk_alloc(&mem, key->n_public, sizeof(cuzk_u256)) == CUZK_OK) {
        memcpy(mem, w->values + 32, key->n_public * sizeof(cuzk_u256));
        ok = cuzk_groth16_verify(&vk, mem, key->n_public, proof, NULL) == CUZK_OK;
        cuzk_free(mem);
    }
    cuzk_vk_free(&vk);
    return ok;
}

static cuzk_status prove(const cuzk_bench *b, const cuzk_zkey *key, const cuzk_wtns *w,
                         cuzk_proof *proof, cuzk_prove_stats *stats, cuzk_err *err) {
    const cuzk_prove_opts opts = {.impl = b->impl, .pool = b->pool};
    return cuzk_groth16_prove(key, w->values, &opts, proof, stats, err);
}

static cuzk_status open_both(const cuzk_bench *b, cuzk_zkey **key, cuzk_wtns **w, cuzk_err *err) {
    *key = NULL;
    *w = NULL;
    CUZK_TRY(cuzk_zkey_open(key, b->zkey, CUZK_ZKEY_CHECK_SHAPE, b->pool, err));
    CUZK_TRY(cuzk_wtns_open(w, b->wtns, err));
    return cuzk__key_fits(*key, *w, err);
}

/* Key and witness are opened anew for every proof, as a command that proves once would. */
static cuzk_status cold(const cuzk_bench *b, series *s, cuzk_err *err) {
    cuzk_status st = CUZK_OK;
    s->ok = true;
    for (unsigned r = 0; r < b->runs && st == CUZK_OK; r++) {
        cuzk_zkey *key;
        cuzk_wtns *w;
        cuzk_proof proof;
        const int64_t t = cuzk_now_ns();
        st = open_both(b, &key, &w, err);
        s->load_ns[r] = cuzk_now_ns() - t;
        if (st == CUZK_OK) st = prove(b, key, w, &proof, &s->stats[r], err);
        s->ns[r] = cuzk_now_ns() - t;
        cuzk_bench_disturb(&proof.a);
        s->ok = s->ok && st == CUZK_OK && verifies(key, w, &proof);
        cuzk_wtns_free(w);
        cuzk_zkey_free(key);
    }
    return st;
}

static cuzk_status warm(const cuzk_bench *b, const cuzk_zkey *key, const cuzk_wtns *w, series *s,
                        cuzk_err *err) {
    s->ok = true;
    memset(s->load_ns, 0, sizeof s->load_ns);
    for (unsigned r = 0; r < b->runs; r++) {
        cuzk_proof proof;
        const int64_t t = cuzk_now_ns();
        CUZK_TRY(prove(b, key, w, &proof, &s->stats[r], err));
        s->ns[r] = cuzk_now_ns() - t;
        cuzk_bench_disturb(&proof.a);
        s->ok = s->ok && verifies(key, w, &proof);
    }
    return CUZK_OK;
}

/* The run that cuzk_bench_add will call the median. */
static unsigned median_run(const series *s, unsigned runs) {
    for (unsigned r = 0; r < runs; r++) {
        unsigned before = 0;
        for (unsigned k = 0; k < runs; k++)
            before += s->ns[k] < s->ns[r] || (s->ns[k] == s->ns[r] && k < r);
        if (before == runs / 2) return r;
    }
    return 0;
}

static void add_stage(cuzk_buf *stages, cuzk_buf *note, const char *name, int64_t ns) {
    if (ns == 0) return;
    cuzk_buf_printf(stages, "%c\"%s\":%.4f", stages->len ? ',' : '{', name, (double)ns * 1e-6);
    cuzk_buf_printf(note, "%s%s %.1f", note->len ? ", " : "", name, (double)ns * 1e-6);
}

static void add(cuzk_bench *b, series *s, const cuzk_zkey *key, const char *variant) {
    const unsigned mid = median_run(s, b->runs);
    cuzk_buf stages = CUZK_BUF_INIT, note = CUZK_BUF_INIT;
    add_stage(&stages, &note, "load", s->load_ns[mid]);
    for (int i = 0; i < CUZK_STAGE_COUNT; i++)
        add_stage(&stages, &note, cuzk_prove_stage_name((cuzk_prove_stage)i), s->stats[mid].ns[i]);
    cuzk_buf_puts(&stages, "}");
    if (stages.failed || note.failed) b->rows.failed = true;
    const cuzk_bench_row row = {.op = "prove",
                                .curve = key->curve->name,
                                .log2n = key->log2_domain,
                                .device = "cpu",
                                .threads = b->threads,
                                .variant = variant,
                                .verified = s->ok,
                                .ns = s->ns,
                                .runs = b->runs,
                                .stages = stages.failed ? NULL : stages.data,
                                .note = note.failed ? NULL : note.data};
    cuzk_bench_add(b, &row);
    cuzk_buf_free(&stages);
    cuzk_buf_free(&note);
}

cuzk_status cuzk_bench_prove(cuzk_bench *b, cuzk_err *err) {
    cuzk_zkey *key = NULL;
    cuzk_wtns *w = NULL;
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(series)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    series *s = mem;
    cuzk_status st = cold(b, s, err);
    if (st == CUZK_OK) st = open_both(b, &key, &w, err);
    if (st == CUZK_OK) {
        add(b, s, key, "cold");
        st = warm(b, key, w, s, err);
    }
    if (st == CUZK_OK) add(b, s, key, "warm");
    cuzk_wtns_free(w);
    cuzk_zkey_free(key);
    cuzk_free(mem);
    return st;
}

#include "bench_device.h"

#include <string.h>

static unsigned median_run(const int64_t *ns, unsigned runs) {
    for (unsigned r = 0; r < runs; r++) {
        unsigned before = 0;
        for (unsigned k = 0; k < runs; k++)
            before += ns[k] < ns[r] || (ns[k] == ns[r] && k < r);
        if (before == runs / 2) return r;
    }
    return 0;
}

void cuzk_bench_device_count(cuzk_bench_device_series *s, const cuzk_device *d) {
    const size_t used = cuzk_device_used(d);
    if (s->used.proofs++ == 0) s->used.first = s->used.least = s->used.most = used;
    if (used < s->used.least) s->used.least = used;
    if (used > s->used.most) s->used.most = used;
}

void cuzk_bench_device_add(cuzk_bench *b, const cuzk_device *d, const cuzk_device_key *key,
                           const cuzk_proving_key *data, const cuzk_bench_device_series *s,
                           const char *op, const char *variant, const int64_t *ns) {
    static const char *const names[CUZK_SUMS_STAGES] = {
        "upload", "witness", "eval", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_l", "msm_h"};
    const cuzk_sums_stats *sums = &s->sums[median_run(ns, b->runs)];
    cuzk_buf stages = CUZK_BUF_INIT, note = CUZK_BUF_INIT, extra = CUZK_BUF_INIT;
    for (int i = 0; i < CUZK_SUMS_STAGES; i++) {
        const double ms = (double)sums->ns[i] * 1e-6;
        cuzk_buf_printf(&stages, "%c\"%s\":%.4f", i ? ',' : '{', names[i], ms);
        cuzk_buf_printf(&note, "%s%s %.3f", i ? ", " : "", names[i], ms);
    }
    cuzk_buf_printf(&stages, ",\"all\":%.4f}", (double)sums->device_ns * 1e-6);
    cuzk_buf_puts(&extra, ",\"hardware\":{");
    cuzk_device_json(d, &extra);
    cuzk_device_clocks_json(d, &extra);
    cuzk_buf_printf(&extra,
                    "},\"load_ms\":%.3f,\"bytes_to_device\":%llu,\"bytes_from_device\":%llu",
                    (double)s->load_ns * 1e-6, (unsigned long long)sums->bytes_in,
                    (unsigned long long)sums->bytes_out);
    cuzk_buf_printf(&extra, ",\"witness_on\":\"%s\"", data->plan ? d->word : "cpu");
    if (key) cuzk_device_key_json(d, key, &extra);
    if (s->used.proofs)
        cuzk_buf_printf(&extra,
                        ",\"device_bytes_used\":{\"proofs\":%u,\"first\":%zu,\"least\":%zu,"
                        "\"most\":%zu}",
                        s->used.proofs, s->used.first, s->used.least, s->used.most);
    if (stages.failed || note.failed || extra.failed) b->rows.failed = true;
    int64_t sorted[CUZK_BENCH_MAX_RUNS];
    memcpy(sorted, ns, b->runs * sizeof *ns);
    const cuzk_bench_row row = {.op = op,
                                .curve = data->curve->name,
                                .log2n = data->log2_domain,
                                .device = d->word,
                                .threads = b->threads,
                                .variant = variant,
                                .verified = true,
                                .ns = sorted,
                                .runs = b->runs,
                                .stages = stages.failed ? NULL : stages.data,
                                .extra = extra.failed ? NULL : extra.data,
                                .note = note.failed ? NULL : note.data};
    cuzk_bench_add(b, &row);
    cuzk_buf_free(&stages);
    cuzk_buf_free(&note);
    cuzk_buf_free(&extra);
}

/* The figures of a run. */
#include "run.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static const double GIB = 1073741824.0;

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Fills values with the chosen jobs' figures, ascending; returns how many. kind ==
 * CUZK_SIM_MAX_KINDS: of every kind. */
static size_t collect(const sim *s, uint32_t kind, double (*figure)(const sim_job *),
                      double *values) {
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_jobs; i++) {
        const sim_job *j = &s->jobs[i];
        if (kind != CUZK_SIM_MAX_KINDS && j->kind != kind) continue;
        if (!j->refused && j->outcome == CUZK_OUTCOME_DONE) values[n++] = figure(j);
    }
    qsort(values, n, sizeof *values, ascending);
    return n;
}

static double latency(const sim_job *j) {
    return j->end - j->submitted;
}
static double ended(const sim_job *j) {
    return j->end;
}
static double on_device(const sim_job *j) {
    return j->end - j->first_stage;
}
static double first_start(const sim_job *j) {
    return j->first_kernel - j->submitted;
}

static double mean(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

/* Nearest rank. */
static double percentile(const double *v, size_t n, double p) {
    if (n == 0) return 0;
    const size_t i = (size_t)ceil(p / 100 * (double)n);
    return v[i > 0 ? i - 1 : 0];
}

static void measure_kind(const sim *s, uint32_t kind, cuzk_sim_kind_result *r, double *values) {
    for (uint32_t i = 0; i < s->n_jobs; i++) {
        const sim_job *j = &s->jobs[i];
        if (j->kind != kind) continue;
        r->refused += j->refused;
        r->done += !j->refused && j->outcome == CUZK_OUTCOME_DONE;
        r->failed += !j->refused && j->outcome == CUZK_OUTCOME_FAILED;
        r->late += !j->refused && j->outcome == CUZK_OUTCOME_DEADLINE;
    }
    size_t n = collect(s, kind, latency, values);
    r->mean = mean(values, n);
    r->p50 = percentile(values, n, 50);
    r->p95 = percentile(values, n, 95);
    r->max = n ? values[n - 1] : 0;
    n = collect(s, kind, first_start, values);
    r->first_start = n ? values[n - 1] : 0;
}

static void measure_devices(const sim *s, cuzk_sim_result *r) {
    uint32_t used = 0, measured = 0;
    double first = INFINITY, last = 0;
    for (uint32_t d = 0; d < s->in->devices; d++) {
        const sim_device *dev = &s->devices[d];
        if (r->wall > 0) r->efficiency += 100 * dev->kernel_time / r->wall / s->in->devices;
        if (dev->first < 0) continue;
        used++;
        first = fmin(first, dev->first);
        last = fmax(last, dev->last);
        /* kernels that take no time say nothing about how busy the device was */
        if (dev->last <= dev->first) continue;
        measured++;
        r->gate_busy += 100 * dev->gate_time / (dev->last - dev->first);
    }
    if (measured) r->gate_busy /= measured;
    r->kernel_span = used ? last - first : 0;
}

static const char *limit_of(const cuzk_sim_result *r) {
    if (r->gate_busy >= 90) return "device";
    if (r->paused >= 50) return "device's host work";
    if (r->witness_busy >= 85) return "witness";
    return "load";
}

void cuzk__sim_measure(const sim *s, cuzk_sim_result *r) {
    double *values;
    if (cuzk_alloc((void **)&values, s->n_jobs, sizeof *values) != CUZK_OK) return;
    for (uint32_t i = 0; i < s->n_jobs; i++)
        if (!s->jobs[i].refused && s->jobs[i].end > r->wall) r->wall = s->jobs[i].end;
    for (uint32_t kind = 0; kind < s->in->n_kinds; kind++)
        measure_kind(s, kind, &r->kinds[kind], values);
    size_t n = collect(s, CUZK_SIM_MAX_KINDS, on_device, values);
    r->device_seconds = mean(values, n);
    n = collect(s, CUZK_SIM_MAX_KINDS, ended, values);
    r->proofs = (uint32_t)n;
    r->seconds_per_proof = n ? r->wall / (double)n : 0;
    const size_t lo = n / 4, hi = n - 1 - n / 4;
    r->steady = n > 3 ? (values[hi] - values[lo]) / (double)(hi - lo) : r->seconds_per_proof;
    if (r->wall > 0) {
        measure_devices(s, r);
        const uint32_t workers = s->in->witness_workers + s->in->reserved_witness_workers;
        r->witness_busy = 100 * s->witness_time / (r->wall * workers);
        r->paused = 100 * s->paused_time / r->wall;
    }
    r->witness_slowdown = s->witness_alone > 0 ? s->witness_time / s->witness_alone : 1;
    r->peak_memory = s->in->base_memory + (double)s->peak_host / GIB;
    r->peak_device = (double)s->peak_device / GIB;
    r->limit = limit_of(r);
    cuzk_free(values);
}

bool cuzk_sim_compare(const cuzk_sim_scenario *s, const cuzk_sim_result *r, size_t i,
                      const char **name, double *published, double *here) {
    const struct {
        const char *name;
        double published, here;
    } rows[] = {
        {"seconds_per_proof", s->expect.seconds_per_proof, r->seconds_per_proof},
        {"steady", s->expect.steady, r->steady},
        {"device_seconds", s->expect.device_seconds, r->device_seconds},
        {"efficiency", s->expect.efficiency, r->efficiency},
        {"gate_busy", s->expect.gate_busy, r->gate_busy},
        {"peak_memory", s->expect.peak_memory, r->peak_memory},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (rows[k].published <= 0 || i-- > 0) continue;
        *name = rows[k].name;
        *published = rows[k].published;
        *here = rows[k].here;
        return true;
    }
    return false;
}

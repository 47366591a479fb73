#include "bench.h"

#include "base/fault.h"
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

uint64_t cuzk_bench_random(cuzk_bench_rng *rng) {
    /* SplitMix64 */
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void cuzk_bench_element(cuzk_bench_rng *rng, const cuzk_fr_ops *fr, cuzk_u256 *out) {
    uint64_t wide[8];
    uint8_t bytes[sizeof wide];
    for (size_t i = 0; i < 8; i++)
        wide[i] = cuzk_bench_random(rng);
    memcpy(bytes, wide, sizeof bytes);
    fr->from_wide(out, bytes);
}

const char *cuzk_bench_pattern_name(cuzk_bench_pattern p) {
    static const char *const names[] = {"uniform", "01", "equal", "half01", "u64"};
    return names[p];
}

const char *cuzk_bench_impl_name(cuzk_cpu_impl impl) {
    static const char *const names[] = {"auto", "portable", "asm", "ifma"};
    return names[impl];
}

const char *cuzk_bench_group_name(cuzk_group g) {
    return g == CUZK_G1 ? "g1" : "g2";
}

void cuzk_bench_disturb(void *result) {
    if (cuzk_fault("bench_result")) *(uint8_t *)result ^= 1;
}

static int compare_ns(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void cuzk_bench_add(cuzk_bench *b, const cuzk_bench_row *row) {
    qsort(row->ns, row->runs, sizeof *row->ns, compare_ns);
    const double lo = (double)row->ns[0] * 1e-6, hi = (double)row->ns[row->runs - 1] * 1e-6,
                 mid = (double)row->ns[row->runs / 2] * 1e-6;
    if (!row->verified) b->wrong = true;
    cuzk_buf *t = &b->rows;
    cuzk_buf_printf(t, "%s\n{\"op\":\"%s\",\"curve\":\"%s\",\"group\":", t->len ? "," : "", row->op,
                    row->curve);
    if (row->group)
        cuzk_buf_json_str(t, row->group);
    else
        cuzk_buf_puts(t, "null");
    cuzk_buf_printf(t,
                    ",\"log2n\":%u,\"device\":\"%s\",\"threads\":%u,\"variant\":\"%s\","
                    "\"verified\":%s,\"ms\":{\"min\":%.4f,\"median\":%.4f,\"max\":%.4f},"
                    "\"runs\":%u,\"stages\":%s%s}",
                    row->log2n, row->device, row->threads, row->variant,
                    row->verified ? "true" : "false", lo, mid, hi, row->runs,
                    row->stages ? row->stages : "{}", row->extra ? row->extra : "");
    if (b->table)
        fprintf(stderr, "%-6s %-9s %-2s 2^%-2u %-4s x%-2u %-14s %12.3f ms (%.3f to %.3f) %s%s\n",
                row->op, row->curve, row->group ? row->group : "", row->log2n, row->device,
                row->threads, row->variant, mid, lo, hi, row->verified ? "" : "WRONG ",
                row->note ? row->note : "");
}

/* NAME="value" of /etc/os-release, without the quotes; "" when there is none. */
static void os_name(char *out, size_t n) {
    static const char key[] = "PRETTY_NAME=\"";
    char line[256];
    out[0] = '\0';
    FILE *f = fopen("/etc/os-release", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, sizeof key - 1) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        char *value = line + sizeof key - 1;
        value[strcspn(value, "\"")] = '\0';
        snprintf(out, n, "%s", value);
    }
    if (f) fclose(f);
}

static void machine(cuzk_buf *t) {
    char cpu[128], os[128], text[512];
    struct utsname u;
    cuzk_cpu_name(cpu, sizeof cpu);
    os_name(os, sizeof os);
    if (uname(&u) == 0)
        snprintf(text, sizeof text, "%s%s%s %s %s", os, *os ? ", " : "", u.sysname, u.release,
                 u.machine);
    else
        snprintf(text, sizeof text, "%s", os);
    cuzk_buf_puts(t, "{\"machine\":{\"cpu\":");
    cuzk_buf_json_str(t, cpu);
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    cuzk_buf_printf(t, ",\"cores\":%u,\"memory\":%" PRIu64 ",\"os\":", cuzk_cpu_count(), memory);
    cuzk_buf_json_str(t, text);
    cuzk_buf_puts(t, ",\"compiler\":");
#if defined(__clang__)
    cuzk_buf_json_str(t, __VERSION__);
#else
    cuzk_buf_json_str(t, "gcc " __VERSION__);
#endif
    cuzk_buf_puts(t, "},\n\"commit\":");
    cuzk_buf_json_str(t, cuzk_cli_commit);
}

cuzk_status cuzk_bench_print(const cuzk_bench *b, cuzk_err *err) {
    cuzk_buf t = CUZK_BUF_INIT;
    machine(&t);
    cuzk_buf_puts(&t, ",\n\"command\":");
    cuzk_buf_json_str(&t, b->command);
    cuzk_buf_puts(&t, ",\n\"results\":[");
    cuzk_buf_append(&t, b->rows.data ? b->rows.data : "", b->rows.len);
    cuzk_buf_puts(&t, "\n]}\n");
    cuzk_status st = CUZK_OK;
    if (b->rows.failed || t.failed)
        st = cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the report");
    else if (fwrite(t.data, 1, t.len, stdout) != t.len || fflush(stdout) != 0)
        st = cuzk_err_set(err, CUZK_STATUS_IO, "cannot write the results to stdout");
    cuzk_buf_free(&t);
    return st;
}

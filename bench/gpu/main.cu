/* cuzk-gpu-bench: the GPU kernels checked and timed in one program.
 *
 *   cuzk-gpu-bench [field] [ntt] [msm] [bits] [rows] [--curve bn254|bls12_381] [--group g1|g2]
 *                  [--log2 A..B] [--step N] [--reps N] [--factor N] [--window N] [--patterns]
 *                  [--partition] [--circuit NAME] [--quick] [--commit TEXT] [--out FILE]
 *
 * Every row of the JSON it writes was compared with a reference in the same run ("verified").
 * Exit codes: 0 all verified, 1 a result was wrong, 2 usage, 77 no CUDA device (the tests' skip).
 */
#include "bench.cuh"

#include <algorithm>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void bench_report::row(const char *op, const char *curve, const char *group, unsigned log2n,
                       const char *variant, bool verified, std::vector<float> ms,
                       const std::string &extra) {
    std::sort(ms.begin(), ms.end());
    char text[512];
    snprintf(text, sizeof text,
             "{\"op\":\"%s\",\"curve\":\"%s\",\"group\":\"%s\",\"log2n\":%u,\"device\":\"cuda:0\","
             "\"variant\":\"%s\",\"verified\":%s,\"ms\":{\"min\":%.4f,\"median\":%.4f,\"max\":%.4f,"
             "\"runs\":%zu}",
             op, curve, group, log2n, variant, verified ? "true" : "false", ms.front(),
             ms[ms.size() / 2], ms.back(), ms.size());
    rows.push_back(std::string(text) + (extra.empty() ? "" : "," + extra) + "}");
    fprintf(stderr, "%-8s %-9s %-3s 2^%-2u %-22s %s min %.3f median %.3f ms %s\n", op, curve, group,
            log2n, variant, verified ? "ok" : "WRONG", ms.front(), ms[ms.size() / 2],
            extra.c_str());
    if (!verified) failures++;
}

/* Clocks and power by NVML, loaded at run time because the driver owns it; zeros without it. */
struct nvml_sample {
    unsigned sm_mhz, mem_mhz, milliwatt;
};
static nvml_sample sample_clocks(int ordinal) {
    nvml_sample s = {0, 0, 0};
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!lib) return s;
    auto init = (int (*)(void))dlsym(lib, "nvmlInit_v2");
    auto by_index = (int (*)(unsigned, void **))dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
    auto clock = (int (*)(void *, int, unsigned *))dlsym(lib, "nvmlDeviceGetClockInfo");
    auto power = (int (*)(void *, unsigned *))dlsym(lib, "nvmlDeviceGetPowerUsage");
    void *handle;
    if (init && by_index && clock && power && init() == 0 &&
        by_index((unsigned)ordinal, &handle) == 0) {
        enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
        (void)clock(handle, NVML_CLOCK_SM, &s.sm_mhz);
        (void)clock(handle, NVML_CLOCK_MEM, &s.mem_mhz);
        (void)power(handle, &s.milliwatt);
    }
    dlclose(lib);
    return s;
}

static int usage(void) {
    fputs("usage: cuzk-gpu-bench [field] [ntt] [msm] [bits] [rows] [--curve bn254|bls12_381]\n"
          "                      [--group g1|g2] [--log2 A..B] [--step N] [--reps N] [--factor N]\n"
          "                      [--window N] [--patterns] [--partition] [--circuit NAME]\n"
          "                      [--quick] [--commit TEXT] [--out FILE]\n",
          stderr);
    return 2;
}

struct arguments {
    bench_options o;
    bool field, ntt, msm, bits, rows;
    const char *out_path, *commit;
    std::string command;
};

static bool flag_word(arguments *a, const char *w) {
    if (!strcmp(w, "field")) return a->field = true;
    if (!strcmp(w, "ntt")) return a->ntt = true;
    if (!strcmp(w, "msm")) return a->msm = true;
    if (!strcmp(w, "bits")) return a->bits = true;
    if (!strcmp(w, "rows")) return a->rows = true;
    if (!strcmp(w, "--partition")) return a->o.partition = true;
    if (!strcmp(w, "--patterns")) return a->o.patterns = true;
    if (strcmp(w, "--quick")) return false;
    a->o.reps = 1;
    return a->o.quick = true;
}

static bool option_value(arguments *a, const char *w, const char *v) {
    bench_options *o = &a->o;
    const unsigned number = (unsigned)strtoul(v, NULL, 10);
    const char *dots = strstr(v, "..");
    if (!strcmp(w, "--curve"))
        o->curve = !strcmp(v, "bn254") ? CUZK_BN254 : CUZK_BLS12_381;
    else if (!strcmp(w, "--group"))
        o->group = !strcmp(v, "g1") ? CUZK_G1 : CUZK_G2;
    else if (!strcmp(w, "--log2"))
        o->from = number, o->to = dots ? (unsigned)strtoul(dots + 2, NULL, 10) : number;
    else if (!strcmp(w, "--step"))
        o->step = std::max(1u, number);
    else if (!strcmp(w, "--reps"))
        o->reps = (int)std::max(1u, number);
    else if (!strcmp(w, "--factor"))
        o->factor = number;
    else if (!strcmp(w, "--window"))
        o->window = number;
    else if (!strcmp(w, "--circuit"))
        o->circuit = v;
    else if (!strcmp(w, "--commit"))
        a->commit = v;
    else if (!strcmp(w, "--out"))
        a->out_path = v;
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, arguments *a) {
    a->o.from = 10, a->o.to = 16, a->o.reps = 5, a->o.step = 1, a->o.seed = 1;
    a->commit = "unknown";
    a->command = "cuzk-gpu-bench";
    for (int i = 1; i < argc; i++) {
        a->command += std::string(" ") + argv[i];
        if (flag_word(a, argv[i])) continue;
        if (i + 1 == argc || !option_value(a, argv[i], argv[i + 1])) return false;
        a->command += std::string(" ") + argv[++i];
    }
    return a->field || a->ntt || a->msm || a->bits || a->rows;
}

static cuzk_status run_all(cuzk_cuda *dev, const arguments &a, bench_report *rep, cuzk_err *err) {
    if (a.field) CUZK_TRY(bench_field(dev, a.o, rep, err));
    if (a.ntt) CUZK_TRY(bench_ntt(dev, a.o, rep, err));
    if (a.msm) CUZK_TRY(bench_msm(dev, a.o, rep, err));
    if (a.bits) CUZK_TRY(bench_bits(dev, a.o, rep, err));
    if (a.rows) CUZK_TRY(bench_rows(dev, a.o, rep, err));
    return CUZK_OK;
}

static void write_json(FILE *f, const arguments &a, const cuzk_cuda_info &info,
                       const bench_report &rep) {
    const nvml_sample clocks = sample_clocks(0); /* right after the last kernel */
    fprintf(f,
            "{\"machine\":{\"gpu\":\"%s\",\"sms\":%d,\"cc\":\"%d.%d\",\"driver\":%d,\"runtime\":%d,"
            "\"memory_bytes\":%zu,\"sm_mhz\":%u,\"mem_mhz\":%u,\"power_w\":%.1f},\n"
            "\"commit\":\"%s\",\n\"command\":\"%s\",\n\"results\":[\n",
            info.name, info.sms, info.cc_major, info.cc_minor, info.driver, info.runtime,
            info.bytes_total, clocks.sm_mhz, clocks.mem_mhz, clocks.milliwatt * 1e-3, a.commit,
            a.command.c_str());
    for (size_t i = 0; i < rep.rows.size(); i++)
        fprintf(f, "%s%s\n", rep.rows[i].c_str(), i + 1 < rep.rows.size() ? "," : "");
    fputs("]}\n", f);
}

int main(int argc, char **argv) {
    arguments a = {};
    if (!parse(argc, argv, &a)) return usage();
    if (cuzk_cuda_device_count() == 0) {
        fputs("gpu: SKIPPED (no CUDA device)\n", stderr);
        return 77;
    }
    cuzk_err err = {};
    cuzk_cuda *dev;
    bench_report rep;
    cuzk_cuda_info info = {};
    cuzk_status st = cuzk_cuda_open(&dev, 0, &err);
    if (st == CUZK_OK) st = cuzk_cuda_get_info(dev, &info, &err);
    if (st == CUZK_OK) st = run_all(dev, a, &rep, &err);
    if (st != CUZK_OK) {
        fprintf(stderr, "cuzk-gpu-bench: %s\n", err.msg[0] ? err.msg : cuzk_status_text(st));
        return cuzk_status_exit_code(st);
    }
    FILE *f = a.out_path ? fopen(a.out_path, "w") : stdout;
    if (!f) return 4;
    write_json(f, a, info, rep);
    if (a.out_path) fclose(f);
    cuzk_cuda_close(dev);
    return rep.failures ? 1 : 0;
}

/* cuzk-gpu-bench: the GPU kernels checked and timed in one program.
 *
 *   cuzk-gpu-bench [field] [ntt] [msm] [--curve bn254|bls12_381] [--group g1|g2] [--log2 A..B]
 *                  [--step N] [--reps N] [--factor N] [--window N] [--patterns] [--quick]
 *                  [--commit TEXT] [--out FILE]
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
    fputs("usage: cuzk-gpu-bench [field] [ntt] [msm] [--curve bn254|bls12_381] [--group g1|g2]\n"
          "                      [--log2 A..B] [--step N] [--reps N] [--factor N] [--window N]\n"
          "                      [--patterns] [--quick] [--commit TEXT] [--out FILE]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv) {
    bench_options o = {};
    o.from = 10, o.to = 16, o.reps = 5, o.step = 1, o.seed = 1;
    bool field = false, ntt = false, msm = false;
    const char *out_path = NULL, *commit = "unknown";
    std::string command = "cuzk-gpu-bench";
    for (int i = 1; i < argc; i++) {
        command += std::string(" ") + argv[i];
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "field")) {
            field = true;
        } else if (!strcmp(a, "ntt")) {
            ntt = true;
        } else if (!strcmp(a, "msm")) {
            msm = true;
        } else if (!strcmp(a, "--quick")) {
            o.quick = true;
            o.reps = 1;
        } else if (!strcmp(a, "--patterns")) {
            o.patterns = true;
        } else if (v && !strcmp(a, "--group")) {
            o.group = !strcmp(v, "g1") ? CUZK_G1 : CUZK_G2;
        } else if (v && !strcmp(a, "--step")) {
            o.step = (unsigned)std::max(1l, strtol(v, NULL, 10));
        } else if (v && !strcmp(a, "--window")) {
            o.window = (unsigned)strtoul(v, NULL, 10);
        } else if (v && !strcmp(a, "--factor")) {
            o.factor = (unsigned)strtoul(v, NULL, 10);
        } else if (v && !strcmp(a, "--curve")) {
            o.curve = !strcmp(v, "bn254") ? CUZK_BN254 : CUZK_BLS12_381;
        } else if (v && !strcmp(a, "--log2")) {
            char *end;
            o.from = o.to = (unsigned)strtoul(v, &end, 10);
            if (!strncmp(end, "..", 2)) o.to = (unsigned)strtoul(end + 2, NULL, 10);
        } else if (v && !strcmp(a, "--reps")) {
            o.reps = std::max(1, (int)strtol(v, NULL, 10));
        } else if (v && !strcmp(a, "--commit")) {
            commit = v;
        } else if (v && !strcmp(a, "--out")) {
            out_path = v;
        } else {
            return usage();
        }
        if (a[0] == '-' && strcmp(a, "--quick") && strcmp(a, "--patterns"))
            command += std::string(" ") + argv[++i];
    }
    if (!field && !ntt && !msm) return usage();
    if (cuzk_cuda_device_count() == 0) {
        fputs("gpu: SKIPPED (no CUDA device)\n", stderr);
        return 77;
    }
    cuzk_err err = {};
    cuzk_cuda *dev;
    bench_report rep;
    cuzk_cuda_info info;
    nvml_sample clocks = {0, 0, 0};
    cuzk_status st = cuzk_cuda_open(&dev, 0, &err);
    if (st == CUZK_OK) st = cuzk_cuda_get_info(dev, &info, &err);
    if (st == CUZK_OK && field) st = bench_field(dev, o, &rep, &err);
    if (st == CUZK_OK && ntt) st = bench_ntt(dev, o, &rep, &err);
    if (st == CUZK_OK && msm) st = bench_msm(dev, o, &rep, &err);
    if (st != CUZK_OK) {
        fprintf(stderr, "cuzk-gpu-bench: %s\n", err.msg[0] ? err.msg : cuzk_status_text(st));
        return cuzk_status_exit_code(st);
    }
    clocks = sample_clocks(0); /* right after the last kernel: the clock it ran at */
    FILE *f = out_path ? fopen(out_path, "w") : stdout;
    if (!f) return 4;
    fprintf(f,
            "{\"machine\":{\"gpu\":\"%s\",\"sms\":%d,\"cc\":\"%d.%d\",\"driver\":%d,\"runtime\":%d,"
            "\"memory_bytes\":%zu,\"sm_mhz\":%u,\"mem_mhz\":%u,\"power_w\":%.1f},\n"
            "\"commit\":\"%s\",\n\"command\":\"%s\",\n\"results\":[\n",
            info.name, info.sms, info.cc_major, info.cc_minor, info.driver, info.runtime,
            info.bytes_total, clocks.sm_mhz, clocks.mem_mhz, clocks.milliwatt * 1e-3, commit,
            command.c_str());
    for (size_t i = 0; i < rep.rows.size(); i++)
        fprintf(f, "%s%s\n", rep.rows[i].c_str(), i + 1 < rep.rows.size() ? "," : "");
    fputs("]}\n", f);
    if (out_path) fclose(f);
    cuzk_cuda_close(dev);
    return rep.failures ? 1 : 0;
}

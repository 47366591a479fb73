#include "api/device.h"

#include "groth16/groth16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CUZK_HAVE_CUDA
#include "backend/cuda/open.h"

#include <dlfcn.h>
#endif

bool cuzk_device_parse(const char *word, cuzk_device *out) {
    enum { CUDA = 4, DIGITS = 4 };
    memset(out, 0, sizeof *out);
    if (word && strncmp(word, "cuda", CUDA) == 0) {
        const char *rest = word + CUDA;
        const size_t digits = *rest ? strspn(rest + 1, "0123456789") : 0;
        if (*rest && (*rest != ':' || digits == 0 || digits > DIGITS || rest[1 + digits]))
            return false;
        out->cuda = true;
        out->ordinal = *rest ? (int)strtol(rest + 1, NULL, 10) : 0;
        snprintf(out->word, sizeof out->word, "cuda:%d", out->ordinal);
        return true;
    }
    snprintf(out->word, sizeof out->word, "cpu");
    return !word || strcmp(word, "cpu") == 0;
}

void cuzk_device_json(const cuzk_device *d, cuzk_buf *out) {
    cuzk_buf_printf(out, "\"device\":\"%s\"", d->word);
    if (!d->cuda) return;
    cuzk_buf_puts(out, ",\"device_name\":");
    cuzk_buf_json_str(out, d->name);
    cuzk_buf_printf(out, ",\"driver\":%d,\"cuda\":%d", d->driver, d->runtime);
    if (d->vram) cuzk_buf_printf(out, ",\"vram\":%llu", (unsigned long long)d->vram);
}

void cuzk_device_sums_json(const cuzk_device *d, const cuzk_sums_stats *sums, cuzk_buf *out) {
    static const char *const names[CUZK_SUMS_STAGES] = {
        [CUZK_SUMS_UPLOAD] = "upload", [CUZK_SUMS_WITNESS] = "witness",
        [CUZK_SUMS_EVAL] = "eval",     [CUZK_SUMS_NTT] = "ntt",
        [CUZK_SUMS_MSM_A] = "msm_a",   [CUZK_SUMS_MSM_B1] = "msm_b1",
        [CUZK_SUMS_MSM_B2] = "msm_b2", [CUZK_SUMS_MSM_L] = "msm_l",
        [CUZK_SUMS_MSM_H] = "msm_h",
    };
    cuzk_buf_printf(out, ",\"sums_on\":\"%s\"", d->word);
    if (!d->cuda) return;
    for (int i = 0; i < CUZK_SUMS_STAGES; i++)
        cuzk_buf_printf(out, "%s\"%s\":%.3f", i ? "," : ",\"device_ms\":{", names[i],
                        (double)sums->ns[i] * 1e-6);
    cuzk_buf_printf(out, ",\"all\":%.3f", (double)sums->device_ns * 1e-6);
    cuzk_buf_printf(out, "},\"bytes_to_device\":%llu,\"bytes_from_device\":%llu",
                    (unsigned long long)sums->bytes_in, (unsigned long long)sums->bytes_out);
}

void cuzk_device_stages_json(const cuzk_device *d, const cuzk_prove_stats *stats, cuzk_buf *out) {
    for (int i = 0; i < CUZK_STAGE_COUNT; i++)
        cuzk_buf_printf(out, "%s\"%s\":%.3f", i ? "," : "\"stages\":{",
                        cuzk_prove_stage_name((cuzk_prove_stage)i), (double)stats->ns[i] * 1e-6);
    for (int i = 0; i < CUZK_STAGE_COUNT; i++)
        cuzk_buf_printf(out, "%s\"%s\":\"%s\"", i ? "," : "},\"stage_devices\":{",
                        cuzk_prove_stage_name((cuzk_prove_stage)i),
                        i == CUZK_STAGE_VERIFY ? "cpu" : d->word);
    cuzk_buf_puts(out, "}");
    cuzk_device_sums_json(d, &stats->sums, out);
}

void cuzk_device_close(cuzk_device *d) {
    if (d->backend) d->backend->ops->close(d->backend);
    d->backend = NULL;
}

#ifdef CUZK_HAVE_CUDA
cuzk_status cuzk_device_open(cuzk_device *d, unsigned threads, bool tables, cuzk_err *err) {
    if (!d->cuda) return CUZK_OK;
    const cuzk_cuda_options options = {.ordinal = d->ordinal,
                                       .threads = threads,
                                       .tables = tables,
                                       .in_turn = d->in_turn,
                                       .vram = (size_t)d->vram,
                                       .share = d->share,
                                       .link_copies = d->link_copies};
    cuzk_cuda_info info;
    CUZK_TRY(cuzk_cuda_backend_open(&d->backend, &options, err));
    CUZK_TRY(cuzk_cuda_backend_info(d->backend, &info, err));
    snprintf(d->name, sizeof d->name, "%s", info.name);
    d->driver = info.driver;
    d->runtime = info.runtime;
    d->bytes_total = info.bytes_total;
    d->bytes_free = info.bytes_free;
    return CUZK_OK;
}

/* Clocks and power by NVML, which belongs to the driver and is loaded when asked for. */
void cuzk_device_clocks_json(const cuzk_device *d, cuzk_buf *out) {
    enum { CLOCK_SM = 1, CLOCK_MEM = 2 };
    void *lib = d->cuda ? dlopen("libnvidia-ml.so.1", RTLD_NOW) : NULL;
    if (!lib) return;
    union {
        void *p;
        int (*init)(void);
        int (*by_index)(unsigned, void **);
        int (*clock)(void *, int, unsigned *);
        int (*power)(void *, unsigned *);
    } init = {dlsym(lib, "nvmlInit_v2")}, by_index = {dlsym(lib, "nvmlDeviceGetHandleByIndex_v2")},
      clock = {dlsym(lib, "nvmlDeviceGetClockInfo")},
      power = {dlsym(lib, "nvmlDeviceGetPowerUsage")};
    void *handle;
    unsigned sm = 0, mem = 0, milliwatt = 0;
    if (init.p && by_index.p && clock.p && power.p && init.init() == 0 &&
        by_index.by_index((unsigned)d->ordinal, &handle) == 0 &&
        clock.clock(handle, CLOCK_SM, &sm) == 0 && clock.clock(handle, CLOCK_MEM, &mem) == 0 &&
        power.power(handle, &milliwatt) == 0)
        cuzk_buf_printf(out, ",\"clocks\":{\"sm_mhz\":%u,\"mem_mhz\":%u,\"power_w\":%.1f}", sm, mem,
                        (double)milliwatt * 1e-3);
    dlclose(lib);
}

unsigned cuzk_device_key_share(const cuzk_device_key *key) {
    cuzk_cuda_stream s;
    cuzk_cuda_backend_key_stream(key, &s);
    return s.share ? s.share : 1;
}

size_t cuzk_device_used(const cuzk_device *d) {
    return d->backend ? cuzk_cuda_backend_used(d->backend) : 0;
}

void cuzk_device_key_json(const cuzk_device *d, const cuzk_device_key *key, cuzk_buf *out) {
    if (!d->cuda) return;
    cuzk_cuda_key_bytes bytes;
    cuzk_cuda_backend_key_bytes(key, &bytes);
    cuzk_buf_printf(out,
                    ",\"key_bytes\":{\"points\":%zu,\"tables\":%zu,\"rows\":%zu,\"transforms\":%zu,"
                    "\"work\":%zu,\"slot\":%zu,\"streamed\":%zu,\"host\":%zu}",
                    bytes.points, bytes.tables, bytes.rows, bytes.transforms, bytes.work,
                    bytes.slot, bytes.streamed, bytes.host);
    if (bytes.streamed == 0) return;
    cuzk_cuda_stream s;
    cuzk_cuda_backend_key_stream(key, &s);
    cuzk_buf_printf(
        out,
        ",\"stream\":{\"share\":%u,\"link\":%.0f,\"predicted_ms\":%.1f,\"predicted_ms_slow_link\""
        ":%.1f,\"full_chunks\":%u,\"full_bases\":%u,\"bits_chunks\":%u,"
        "\"bits_bases\":%u}",
        s.share, s.link, s.ms, s.ms_slow, s.chunks[0], s.chunk_bases[0], s.chunks[1],
        s.chunk_bases[1]);
}
#else
cuzk_status cuzk_device_open(cuzk_device *d, unsigned threads, bool tables, cuzk_err *err) {
    (void)threads;
    (void)tables;
    if (!d->cuda) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE,
                        "device %s: this cuzk was built without CUDA (cmake --preset cuda)",
                        d->word);
}

unsigned cuzk_device_key_share(const cuzk_device_key *key) {
    (void)key;
    return 1;
}

size_t cuzk_device_used(const cuzk_device *d) {
    (void)d;
    return 0;
}

void cuzk_device_clocks_json(const cuzk_device *d, cuzk_buf *out) {
    (void)d;
    (void)out;
}

void cuzk_device_key_json(const cuzk_device *d, const cuzk_device_key *key, cuzk_buf *out) {
    (void)d;
    (void)key;
    (void)out;
}
#endif

/* The operations of kernels.h: their table, their rows, and the floors that rows are held against.
 * Multiply-adds of a product or an addition are counted in the instructions of the kernels: 300 and
 * 234 (square) for 381 bits, 136 and 108 for 254, three products for one in a quadratic extension
 * with lazy reduction (744, 600; 336, 272). */
#include "bench.cuh"

#include <algorithm>
#include <string.h>

static const struct {
    const char *name;
    cuzk_status (*run)(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);
} operations[] = {{"field", bench_field},
                  {"ntt", bench_ntt},
                  {"msm", bench_msm},
                  {"bits", bench_bits},
                  {"eval", bench_eval}};

extern "C" const char *const cuzk_kernels_operations[] = {"field", "ntt",  "msm",
                                                          "bits",  "eval", NULL};

extern "C" cuzk_status cuzk_kernels_run(cuzk_cuda *dev, const char *operation,
                                        const cuzk_kernels_options *given,
                                        const cuzk_kernels_sink *sink, unsigned *wrong,
                                        cuzk_err *err) {
    cuzk_kernels_options o = *given;
    if (o.step == 0) o.step = 1;
    if (o.runs == 0) o.runs = 1;
    for (const auto &op : operations) {
        if (strcmp(op.name, operation) != 0) continue;
        bench_report rep = {sink, 0};
        const cuzk_status st = op.run(dev, o, &rep, err);
        *wrong += rep.failures;
        return st;
    }
    return cuzk_err_set(err, CUZK_STATUS_USAGE, "no operation is called %s", operation);
}

void bench_report::row(const char *op, const char *curve, const char *group, unsigned log2n,
                       const char *variant, bool verified, std::vector<float> ms, double floor_ms,
                       double bytes, const std::string &extra) {
    std::sort(ms.begin(), ms.end());
    const std::string more = "," + extra;
    const cuzk_kernels_row r = {op,       curve,    group,       log2n,
                                variant,  verified, ms.data(),   (unsigned)ms.size(),
                                floor_ms, bytes,    more.c_str()};
    if (!verified) failures++;
    sink->row(sink->ctx, &r);
}

double bench_wides_ms(const cuzk_cuda *dev, double wides) {
    int khz = 0;
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, dev->ordinal) != cudaSuccess || khz == 0)
        return 0;
    return wides / (32.0 * dev->info.sms * khz);
}

double bench_bytes_ms(const cuzk_cuda *dev, double bytes) {
    int khz = 0, bits = 0;
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, dev->ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, dev->ordinal) !=
            cudaSuccess ||
        khz == 0)
        return 0;
    const double reached = 0.9; /* of twice clock times width, by copies */
    return bytes / (reached * 2.0 * khz * (bits / 8.0));
}

bench_group_cost bench_cost(cuzk_curve_id curve, cuzk_group group) {
    const bool g1 = group == CUZK_G1;
    if (curve == CUZK_BN254) return g1 ? bench_group_cost{788, 1848} : bench_group_cost{1952, 4848};
    return g1 ? bench_group_cost{1707, 4068} : bench_group_cost{4320, 10728};
}

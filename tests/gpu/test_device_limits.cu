/* What host code makes of a device's shared memory, for chips from sm_75 to sm_120: blocks that
 * can be launched, blocks that a multiprocessor holds, transforms and windows that fit, and errors
 * where nothing does. Needs no GPU: figures of chips stand in for devices. */
#include "backend/cuda/accumulate_lists.cuh"
#include "backend/cuda/cub_room.h"
#include "backend/cuda/msm_reduce.cuh"
#include "backend/cuda/msm_tile.cuh"
#include "backend/cuda/ntt_kernels.cuh"
#include "backend/cuda/ntt_small.h"
#include "backend/cuda/sum_ops.cuh"

#include <stdio.h>
#include <string.h>

using namespace cuzk_gpu;

static int failures;

static void expect(bool ok, const char *what, int arch) {
    if (ok) return;
    if (failures++ < 20) fprintf(stderr, "wrong on sm_%d: %s\n", arch, what);
}

/* From the vendor's table of compute capabilities: threads and KiB of shared memory of a
 * multiprocessor, and KiB of a block at most. */
struct chip {
    int arch, threads, shared, block;
};
static const chip chips[] = {
    {75, 1024, 64, 64},    {80, 2048, 164, 163},  {86, 1536, 100, 99},
    {87, 1536, 164, 163},  {89, 1536, 100, 99},   {90, 2048, 228, 227},
    {100, 2048, 228, 227}, {103, 2048, 228, 227}, {120, 1536, 100, 99},
};

static cuzk_cuda device_of(const chip &c, cuzk__arena *arena) {
    cuzk_cuda dev = {};
    *arena = {};
    arena->measuring = true;
    dev.arena = arena;
    dev.ordinal = CUZK__NO_DEVICE;
    dev.info.sms = 100;
    dev.info.cc_major = c.arch / 10;
    dev.info.sm_threads = c.threads;
    dev.info.sm_shared = (size_t)c.shared << 10;
    dev.info.block_shared = (size_t)c.block << 10;
    return dev;
}

/* Batch-affine sums: threads and bytes of a coordinate of a block, blocks wanted and those that
 * there are. */
static void sums(const chip &c) {
    static const struct {
        const cuzk__cuda_group_ops *ops;
        int threads;
        size_t coordinate;
        int most;
    } groups[] = {{&cuzk__cuda_bn254_g1, 256, 8192, 3},
                  {&cuzk__cuda_bn254_g2, 256, 8192, 2},
                  {&cuzk__cuda_bls12_381_g1, 256, 12288, 2},
                  {&cuzk__cuda_bls12_381_g2, 256, 12288, 2}};
    cuzk__arena arena;
    const cuzk_cuda dev = device_of(c, &arena);
    for (const auto &g : groups) {
        const size_t bytes = cuzk__cuda_stage(&dev, g.coordinate);
        /* what kernels compiled for the chip use, and no less: sm_75 holds the inverse elsewhere */
        const size_t used = (c.arch < 80 ? 5 : 6) * g.coordinate;
        expect(bytes >= used, "a block has less than its kernel uses", c.arch);
        expect(bytes + 1024 <= dev.info.block_shared, "a block would be refused", c.arch);
        /* merging lists, blocks of 128 sum points in XYZZ in the same memory */
        const size_t point = g.coordinate * 128 / (size_t)g.ops->threads;
        expect(cuzk__cuda_stage(&dev, point) >= 128 * g.ops->xyzz_bytes, "points to merge", c.arch);
        const int held = g.ops->blocks(&dev);
        expect(held >= 1 && held <= g.most, "blocks", c.arch);
        expect(held == 1 || held * (bytes + 1024) <= dev.info.sm_shared,
               "more blocks than a multiprocessor holds", c.arch);
        expect(held == g.most || (held + 1) * (bytes + BLOCK_ASIDE) > dev.info.sm_shared,
               "fewer blocks than a multiprocessor holds", c.arch);
        if (c.arch == 90) expect(held == g.most, "blocks of sm_90", c.arch);
        expect(blocks_held(limits_of(c.arch * 10), g.threads, bytes, g.most) == held,
               "launch bounds are for other blocks", c.arch);
    }
    expect(stage<coord_fp<bn254_fp>, 256>::SIZE == groups[0].coordinate &&
               stage<coord_fp2_lanes<bls12_381_fp>, 256>::SIZE == groups[3].coordinate,
           "bytes of a coordinate", c.arch);
}

static void launch_limits(const chip &c) {
    const chip_limits l = limits_of(c.arch * 10);
    expect(l.threads == c.threads && l.shared == (size_t)c.shared << 10, "limits", c.arch);
}

static void transforms(const chip &c) {
    cuzk__arena arena;
    cuzk_cuda dev = device_of(c, &arena);
    const size_t room = dev.info.block_shared;
    for (unsigned log2n = 1; log2n <= CUZK__NTT_MAX_LOG; log2n++) {
        int len[CUZK__NTT_MAX_PASSES], longest = 0;
        const int passes = cuzk__cuda_ntt_split(log2n, len);
        for (int k = 0; k < passes; k++)
            if (len[k] > longest) longest = len[k];
        /* bytes of the shapes, by ntt_kernels.cuh's layout worked out by hand */
        const size_t want = passes == 1    ? (size_t)32 << 11
                            : longest == 9 ? 110720
                            : longest == 8 ? 92288
                            : longest == 7 ? 46208
                                           : 41600;
        const bool fits = want + (passes == 1 ? 0 : 1024) <= room;
        const unsigned dirs = cuzk__cuda_ntt_dirs(log2n, 3, room);
        expect(dirs == (fits ? 3u : 3u | CUZK_NTT_SMALL_TABLES), "transforms' tables", c.arch);
        expect(cuzk__cuda_ntt_dirs(log2n, 2 | CUZK_NTT_SMALL_TABLES, room) ==
                   (2 | CUZK_NTT_SMALL_TABLES),
               "small tables stay small", c.arch);
        if (fits) continue;
        cuzk_cuda_ntt *plan;
        cuzk_err err = {};
        expect(cuzk_cuda_ntt_new(&plan, &dev, CUZK_BLS12_381, log2n, 7, 3, &err) ==
                       CUZK_STATUS_USAGE &&
                   !plan && strstr(err.msg, "small tables"),
               "a transform that cannot be launched", c.arch);
    }
    expect((cuzk__cuda_ntt_dirs(27, 3, room) == 3) == (c.block > 99), "2^27", c.arch);
    expect((cuzk__cuda_ntt_dirs(24, 3, room) == 3) == (c.arch > 75), "2^24", c.arch);
    expect(cuzk__cuda_ntt_dirs(20, 3, room) == 3, "2^20", c.arch);
}

/* A bin that one block places: two such blocks fit on a multiprocessor. */
static void bins(const cuzk_cuda *dev, const cuzk_cuda_msm_info *info, size_t n, int arch) {
    cuzk__msm_shape s = {};
    cuzk__msm_sorter sorter = {};
    cuzk_err err = {};
    s.n = n;
    s.window = (int)info->window;
    s.sets = (int)info->sets;
    s.factor = 1;
    expect(cuzk__msm_plan_sort(dev, &s, &sorter, &err) == CUZK_OK, "a sort", arch);
    const size_t lows = (size_t)1 << (info->window - 1 - (unsigned)sorter.lg_bins);
    const size_t bytes = (sorter.whole + lows + 1) * 4 + BLOCK_ASIDE;
    expect(sorter.whole >= 2048 && bytes <= dev->info.block_shared + BLOCK_ASIDE &&
               2 * bytes <= dev->info.sm_shared,
           "a bin in a block", arch);
    const size_t share = (sorter.share + 2 * lows + 1) * 4;
    expect(sorter.most >= sorter.whole && share + 512 <= dev->info.block_shared &&
               sorter.cluster >= 1 && sorter.cluster <= (arch < 90 ? 1 : 8),
           "shares of a large bin", arch);
}

/* Tiles on their way to bins, of one window or of all windows of a table's set: two of them fit on
 * a multiprocessor, and their digits have numbers. */
static void tiles(const cuzk_cuda *dev, size_t n, int arch) {
    for (int window = 4; window <= 24; window++)
        for (int factor = 1; factor <= 24; factor++) {
            cuzk__msm_shape s = {};
            cuzk__msm_sorter sorter = {};
            cuzk_err err = {};
            s.n = n;
            s.window = window;
            s.sets = 1;
            s.factor = factor;
            if (!cuzk__msm_bins_fit(&s, dev->info.block_shared)) continue;
            expect(cuzk__msm_plan_sort(dev, &s, &sorter, &err) == CUZK_OK, "a sort", arch);
            const size_t digits = sorter.tile * (size_t)(sorter.again ? factor : 1);
            const size_t bytes = tile_bytes_of(digits, sorter.lg_bins) + BLOCK_ASIDE;
            expect(sorter.again == (factor >= 3) && sorter.tile >= 32 && digits <= TILE_MOST &&
                       2 * bytes <= dev->info.sm_shared,
                   "a tile of digits", arch);
            const int part = lg_part_of(window - 1, sorter.lg_bins);
            expect(part <= 16 && part >= window - 1 - sorter.lg_bins &&
                       window - 1 - part <= LG_PARTS,
                   "parts of a tile", arch);
        }
}

/* Blocks of 2^sums running sums add up every row and every column of a set's buckets, and have sums
 * for them. */
static void lines(int sums) {
    for (int low = 1; low <= 12; low++)
        for (int high = low - 1; high <= low; high++)
            for (int fold = 0; fold <= 3 && fold <= high; fold++)
                for (uint32_t sets = 1; sets < 64; sets += 7)
                    for (uint32_t resident = 36; resident < 2000; resident += 123) {
                        const cuzk__msm_square square = {sets, sets / 3, high, low, fold};
                        const lines_cut c = choose_lines(square, sums, resident);
                        const uint32_t columns = c.blocks() - c.row_blocks();
                        expect(c.lg_rows >= 0 && c.lg_rows <= sums && c.lg_columns >= 0 &&
                                   c.lg_columns <= sums &&
                                   c.row_blocks() << c.lg_rows == square.rows(sets) &&
                                   columns << c.lg_columns == 1u << low &&
                                   square.empty_most() < sets << (high + low),
                               "lines", 0);
                    }
}

static void windows(const chip &c) {
    cuzk__arena arena;
    cuzk_cuda dev = device_of(c, &arena);
    cuzk_cuda_msm *msm;
    cuzk_cuda_msm_info info;
    cuzk_err err = {};
    cuzk_cuda_msm_config config = {};
    config.curve = CUZK_BLS12_381;
    config.group = CUZK_G1;
    config.factor = 1;
    for (unsigned log2n = 0; log2n <= 27; log2n++) {
        config.n = (size_t)1 << log2n;
        config.window = 0;
        if (cuzk_cuda_msm_new(&msm, &dev, &config, NULL, &err) != CUZK_OK) {
            expect(false, err.msg, c.arch);
            continue;
        }
        cuzk_cuda_msm_get_info(msm, &info);
        cuzk_cuda_msm_free(msm);
        /* counters of all sets' bins, of 2^12 buckets at most */
        const unsigned bits = info.window > 13 ? info.window - 13 : 0;
        expect((info.sets * 4 << bits) + 1024 <= dev.info.block_shared, "bins", c.arch);
        bins(&dev, &info, config.n, c.arch);
        tiles(&dev, config.n, c.arch);
        if (log2n == 27)
            expect(info.window == (c.arch < 80 ? 22u : 24u), "the window of 2^27", c.arch);
    }
    config.window = 24;
    const cuzk_status st = cuzk_cuda_msm_new(&msm, &dev, &config, NULL, &err);
    expect(st == (c.arch < 80 ? CUZK_STATUS_USAGE : CUZK_OK), "a window of 24 bits", c.arch);
    if (st == CUZK_OK) cuzk_cuda_msm_free(msm);
}

/* Every group's kernels are refused by a value, before the driver is asked. */
static void too_little() {
    const chip none = {0, 1024, 48, 16};
    cuzk__arena arena;
    const cuzk_cuda dev = device_of(none, &arena);
    for (int k = 0; k < 4; k++) {
        const cuzk_curve_id curve = k & 1 ? CUZK_BN254 : CUZK_BLS12_381;
        const cuzk_group group = k & 2 ? CUZK_G2 : CUZK_G1;
        cuzk_err err[2] = {};
        expect(cuzk__cuda_group(curve, group)->prepare(&dev, &err[0]) == CUZK_STATUS_NO_DEVICE &&
                   strstr(err[0].msg, "shared memory"),
               "sums that cannot be launched", 0);
        expect(cuzk__sum_group(curve, group)->prepare(&dev, &err[1]) == CUZK_STATUS_NO_DEVICE &&
                   strstr(err[1].msg, "shared memory"),
               "points that cannot be made", 0);
    }
}

/* What cuts a size otherwise for a benchmark, and what does not. */
static void other_splits() {
    static const struct {
        unsigned log2n;
        int len[CUZK__NTT_MAX_PASSES];
        bool good;
    } cases[] = {{22, {8, 7, 7}, true},   {22, {8, 8, 7}, false},  {22, {9, 8, 5}, false},
                 {22, {10, 6, 6}, false}, {9, {9}, false},         {22, {8, 0, 8, 6}, false},
                 {0, {0}, false},         {24, {6, 6, 6, 6}, true}};
    int was[CUZK__NTT_MAX_PASSES], len[CUZK__NTT_MAX_PASSES];
    for (const auto &c : cases) {
        cuzk__cuda_ntt_split(c.log2n, was);
        expect(cuzk__cuda_ntt_try_split(c.log2n, c.len) == c.good, "split taken", (int)c.log2n);
        cuzk__cuda_ntt_split(c.log2n, len);
        expect(memcmp(len, c.good ? c.len : was, sizeof len) == 0, "split", (int)c.log2n);
    }
}

int main() {
    for (const chip &c : chips) {
        launch_limits(c);
        sums(c);
        transforms(c);
        windows(c);
    }
    too_little();
    other_splits();
    lines(7);
    lines(6); /* in G2 */
    if (failures) return 1;
    printf("limits of %zu chips\n", sizeof chips / sizeof *chips);
    return 0;
}

/* Where a program or a library's handle computes: cpu, cuda or cuda:N. What was asked for is used
 * or the call fails; nothing falls back. */
#ifndef CUZK_API_DEVICE_H
#define CUZK_API_DEVICE_H

#include "backend/backend.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cuzk_device {
    bool cuda;
    int ordinal;
    char word[16];         /* "cpu", "cuda:0" */
    cuzk_backend *backend; /* NULL on the CPU, which proving opens itself */
    char name[128];        /* of the hardware */
    int driver, runtime;   /* as 13000 for 13.0 */
    size_t bytes_total, bytes_free;
    uint64_t vram; /* at most so many bytes of its memory are taken; 0: what there is */
    bool in_turn;  /* and these: see backend/cuda/open.h */
    unsigned share, link_copies;
} cuzk_device;

/* Reads the word; NULL: cpu. False when it is none of those above. */
bool cuzk_device_parse(const char *word, cuzk_device *out);

/* Opens a CUDA device; does nothing for the CPU. NO_DEVICE without such a device, a driver, or
 * CUDA in this build. threads: of the host; 0: one per core. tables: see backend/cuda/open.h. */
cuzk_status cuzk_device_open(cuzk_device *d, unsigned threads, bool tables,
                             cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_device_close(cuzk_device *d);

/* Appends the members "device" and, on CUDA, "device_name", "driver", "cuda". */
void cuzk_device_json(const cuzk_device *d, cuzk_buf *out);

/* Appends where the sums' stages ran, and on CUDA their device times in milliseconds and the bytes
 * moved: ,"sums_on":"cuda:0","device_ms":{"upload":…},"bytes_to_device":…,"bytes_from_device":… */
void cuzk_device_sums_json(const cuzk_device *d, const cuzk_sums_stats *sums, cuzk_buf *out);

/* Proofs that share a pass over a key that is loaded there, at most; 1 where none do. */
unsigned cuzk_device_key_share(const cuzk_device_key *key);

/* Bytes of a CUDA device in use by anybody, by the driver's count; 0 where it cannot be had. */
size_t cuzk_device_used(const cuzk_device *d);

/* Appends the stages of a proof:
 * "stages":{"eval":milliseconds,…},"stage_devices":{"eval":"cuda:0",…} and cuzk_device_sums_json.
 */
struct cuzk_prove_stats;
void cuzk_device_stages_json(const cuzk_device *d, const struct cuzk_prove_stats *stats,
                             cuzk_buf *out);

/* Appends ,"clocks":{…} and ,"key_bytes":{…} of a CUDA device; nothing where they cannot be had.
 * Of a key that is streamed also ,"stream":{"link":bytes a second,…}. */
void cuzk_device_clocks_json(const cuzk_device *d, cuzk_buf *out);
void cuzk_device_key_json(const cuzk_device *d, const cuzk_device_key *key, cuzk_buf *out);

#endif

/* DESIGN. SQLite reads a write-ahead log up to the first frame whose checksum does not fit and
 * takes the rest for a transaction that never ended. That is right after a power loss, and wrong
 * when the medium lost bits in the middle: acknowledged jobs would be gone without a word. The two
 * can be told apart: the journal begins a transaction only after the one before is synced, so at
 * most one, the last, may be torn. Frames of a further transaction behind the first bad frame show
 * damage. (A bad bit in the very last transaction looks like a torn one; no log can tell.)
 *
 * Format: sqlite.org/fileformat2.html, section 4. Integers are big-endian. */
#include "engine/journal/internal.h"

#include "base/bytes.h"

#include <string.h>
#include <sys/mman.h>

enum { HEADER = 32, FRAME_HEADER = 24 };

/* The log's checksum: two running sums over pairs of words, in the byte order that the log's magic
 * names. */
static void add_sum(uint32_t s[2], const uint8_t *p, size_t n, bool big) {
    for (size_t i = 0; i + 8 <= n; i += 8) {
        s[0] += (big ? cuzk_ld_u32be(p + i) : cuzk_ld_u32le(p + i)) + s[1];
        s[1] += (big ? cuzk_ld_u32be(p + i + 4) : cuzk_ld_u32le(p + i + 4)) + s[0];
    }
}

static bool all_zero(const uint8_t *p, size_t n) {
    while (n && p[n - 1] == 0)
        n--;
    return n == 0;
}

static const char *damage_in(const uint8_t *log, size_t size) {
    if (size < HEADER) return NULL; /* a log that was never begun */
    const bool big = cuzk_ld_u32be(log) & 1;
    const size_t page = cuzk_ld_u32be(log + 8);
    uint32_t s[2] = {0, 0};
    add_sum(s, log, 24, big);
    if ((cuzk_ld_u32be(log) | 1) != 0x377f0683 || page < 512 || page > 65536 || page & (page - 1) ||
        s[0] != cuzk_ld_u32be(log + 24) || s[1] != cuzk_ld_u32be(log + 28))
        return all_zero(log, HEADER) ? NULL : "the header of its log is not what was written";

    const size_t frame = FRAME_HEADER + page, n = (size - HEADER) / frame;
    size_t i = 0;
    for (; i < n; i++) {
        const uint8_t *f = log + HEADER + i * frame;
        add_sum(s, f, 8, big);
        add_sum(s, f + FRAME_HEADER, page, big);
        if (memcmp(f + 8, log + 16, 8) || s[0] != cuzk_ld_u32be(f + 16) ||
            s[1] != cuzk_ld_u32be(f + 20))
            break;
    }
    bool ended = false; /* the transaction of the bad frame */
    for (; i < n; i++) {
        const uint8_t *f = log + HEADER + i * frame;
        if (memcmp(f + 8, log + 16, 8)) continue; /* left from an earlier use of the file */
        if (ended) return "a part of its log that was complete is not what was written";
        ended = cuzk_ld_u32be(f + 4) != 0;
    }
    return NULL;
}

const char *cuzk__wal_damage(int fd, uint64_t size) {
    if (!size) return NULL;
    void *log = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (log == MAP_FAILED) return NULL; /* SQLite will say why it cannot be read */
    const char *what = damage_in(log, size);
    munmap(log, size);
    return what;
}

int cuzk__log_begin(cuzk_journal *j) {
    const int rc = sqlite3_wal_checkpoint_v2(j->w.h, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (rc == SQLITE_OK) {
        j->log_spoilt = false;
        j->wal_frames = 0;
    }
    return rc;
}

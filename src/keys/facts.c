/* The cache of facts about files: one line each, "device inode size mtime ctime digest points",
 * newest last. */
#include "keys/files.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINES_MAX = 512, LINE_MAX_LEN = 256, PATH_ROOM = 1024 };

/* The cache's path, or false when there is no place for one. make: its directories too. */
static bool cache_path(char *out, size_t room, bool make) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (xdg && xdg[0] == '/')
        n = snprintf(out, room, "%s/", xdg);
    else if (home && home[0] == '/')
        n = snprintf(out, room, "%s/.cache/", home);
    else
        return false;
    if (n < 0 || (size_t)n + sizeof "cuzk/files" > room) return false;
    if (make) {
        out[n - 1] = 0;
        (void)mkdir(out, 0700);
        out[n - 1] = '/';
    }
    memcpy(out + n, "cuzk", sizeof "cuzk");
    if (make) (void)mkdir(out, 0700);
    memcpy(out + n, "cuzk/files", sizeof "cuzk/files");
    return true;
}

/* What a line of this file begins with. */
static int key_of(char *out, size_t room, const cuzk_map *m) {
    return snprintf(out, room, "%" PRIu64 " %" PRIu64 " %zu %" PRId64 " %" PRId64 " ", m->dev,
                    m->ino, m->len, m->mtime_ns, m->ctime_ns);
}

static bool is_hex(const char *p, size_t n) {
    return strspn(p, "0123456789abcdef") >= n;
}

static void read_line(cuzk__facts *out, const char *rest) {
    memset(out, 0, sizeof *out);
    if (is_hex(rest, CUZK_PARAMS_DIGEST_HEX) && rest[CUZK_PARAMS_DIGEST_HEX] == ' ') {
        memcpy(out->digest, rest, CUZK_PARAMS_DIGEST_HEX);
        out->points_good = rest[CUZK_PARAMS_DIGEST_HEX + 1] == '1';
    }
}

void cuzk__facts_get(cuzk__facts *out, const cuzk_map *map) {
    char path[PATH_ROOM], key[LINE_MAX_LEN], line[LINE_MAX_LEN];
    memset(out, 0, sizeof *out);
    if (!cache_path(path, sizeof path, false)) return;
    FILE *f = fopen(path, "re");
    if (!f) return;
    const size_t n = (size_t)key_of(key, sizeof key, map);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0) read_line(out, line + n);
    fclose(f);
}

/* The lines that stay: all of other files, the newest when there are too many. */
static void keep_lines(cuzk_buf *out, const char *path, const char *key, size_t key_len) {
    char line[LINE_MAX_LEN];
    size_t lines = 0;
    FILE *f = fopen(path, "re");
    if (!f) return;
    while (fgets(line, sizeof line, f))
        lines++;
    rewind(f);
    for (size_t i = 0; fgets(line, sizeof line, f); i++) {
        if (lines - i >= LINES_MAX || strncmp(line, key, key_len) == 0) continue;
        if (strchr(line, '\n')) cuzk_buf_puts(out, line);
    }
    fclose(f);
}

void cuzk__facts_put(const cuzk__facts *facts, const cuzk_map *map) {
    char path[PATH_ROOM], key[LINE_MAX_LEN];
    cuzk_buf text = CUZK_BUF_INIT;
    if (!facts->digest[0] || !cache_path(path, sizeof path, true)) return;
    const size_t n = (size_t)key_of(key, sizeof key, map);
    keep_lines(&text, path, key, n);
    cuzk_buf_printf(&text, "%s%s %d\n", key, facts->digest, facts->points_good);
    if (cuzk_buf_status(&text) == CUZK_OK) {
        cuzk_err ignored = {0};
        if (cuzk_write_file(path, text.data, text.len, &ignored) != CUZK_OK)
            memset(&ignored, 0, sizeof ignored); /* only a cache */
    }
    cuzk_buf_free(&text);
}

#include "base/hostmem.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, TEXT_BYTES = 8192 };

typedef struct finder {
    const char *root;
    uint64_t least;
    char *why;
} finder;

/* A small file as text; false when it is not there. */
static bool read_text(const finder *f, const char *name, char *out, size_t room) {
    char path[PATH_BYTES];
    const bool slash = f->root[strlen(f->root) - 1] == '/';
    if (snprintf(path, sizeof path, "%s%s%s", f->root, slash ? "" : "/", name) >= (int)sizeof path)
        return false;
    FILE *in = fopen(path, "re");
    if (!in) return false;
    const size_t n = fread(out, 1, room - 1, in);
    const bool ok = !ferror(in);
    fclose(in);
    out[n] = '\0';
    return ok;
}

/* "max" and numbers that are no limit are passed over. */
static void lower(finder *f, const char *name) {
    char text[64], *end;
    if (!read_text(f, name, text, sizeof text)) return;
    const unsigned long long v = strtoull(text, &end, 10);
    if (end == text || (*end != '\n' && *end != '\0') || v >= f->least) return;
    f->least = v;
    snprintf(f->why, CUZK_HOSTMEM_WHY, "/%.300s", name);
}

/* The limit files of a group and of every group above it. A container may not see the upper part
 * of its path: then the files of the path are not there, and the mount point itself is its group.
 */
static void walk(finder *f, const char *mount, const char *group, const char *const *files) {
    char path[PATH_BYTES], name[PATH_BYTES + 64];
    if (snprintf(path, sizeof path, "%s%s", mount, group) >= (int)sizeof path) return;
    for (;;) {
        for (size_t i = 0; files[i]; i++) {
            snprintf(name, sizeof name, "%s/%s", path, files[i]);
            lower(f, name);
        }
        char *slash = strrchr(path, '/');
        if (!slash || strlen(path) <= strlen(mount)) return;
        *slash = '\0';
    }
}

/* Whether "cpu,memory" names memory. */
static bool has_memory(const char *controllers, size_t n) {
    while (n) {
        const char *comma = memchr(controllers, ',', n);
        const size_t len = comma ? (size_t)(comma - controllers) : n;
        if (len == 6 && memcmp(controllers, "memory", 6) == 0) return true;
        if (!comma) return false;
        controllers += len + 1;
        n -= len + 1;
    }
    return false;
}

/* A line of /proc/self/cgroup: "ID:CONTROLLERS:PATH". */
static void group_line(finder *f, char *line) {
    static const char *const v1[] = {"memory.limit_in_bytes", NULL};
    static const char *const v2[] = {"memory.max", "memory.high", NULL};
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return;
    controllers++;
    const size_t n = (size_t)(group - controllers);
    group++;
    if (strcmp(group, "/") == 0) group++;
    if (n == 0) {
        walk(f, "sys/fs/cgroup", group, v2);
        walk(f, "sys/fs/cgroup/unified", group, v2);
    } else if (has_memory(controllers, n)) {
        walk(f, "sys/fs/cgroup/memory", group, v1);
    }
}

cuzk_status cuzk_hostmem_limit(const char *root, uint64_t *bytes, char why[CUZK_HOSTMEM_WHY],
                               cuzk_err *err) {
    finder f = {.root = root, .why = why};
    char text[TEXT_BYTES], *save = NULL;
    unsigned long long kib = 0;
    const char *total =
        read_text(&f, "proc/meminfo", text, sizeof text) ? strstr(text, "MemTotal:") : NULL;
    if (!total || (kib = strtoull(total + 9, NULL, 10)) == 0 || kib > UINT64_MAX / 1024)
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "cannot read MemTotal from /proc/meminfo: set memory.total_budget");
    f.least = kib * 1024;
    snprintf(why, CUZK_HOSTMEM_WHY, "MemTotal");
    if (read_text(&f, "proc/self/cgroup", text, sizeof text))
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            group_line(&f, line);
    *bytes = f.least;
    return CUZK_OK;
}

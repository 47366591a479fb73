#include "devices.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool all_digits(const char *word) {
    return *word && word[strspn(word, "0123456789")] == '\0';
}

static cuzk_status of_word(const char *word, char out[CUZKD_DEVICE_WORD], cuzk_err *err) {
    const bool cuda = strncmp(word, "cuda:", 5) == 0 && word[5];
    if (strcmp(word, "cpu") == 0 || cuda) {
        snprintf(out, CUZKD_DEVICE_WORD, "%s", word);
        return CUZK_OK;
    }
    if (all_digits(word) || strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0) {
        snprintf(out, CUZKD_DEVICE_WORD, "cuda:%s", word);
        return CUZK_OK;
    }
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "gpus.devices: `%s` is no device: a number (0, cuda:0), a UUID (GPU-...) "
                        "or cpu",
                        word);
}

/* The UUID in a GPU's "information"; false when there is none. */
static bool read_uuid(const char *path, char out[CUZKD_DEVICE_WORD]) {
    static const char label[] = "GPU UUID:";
    char line[256];
    bool found = false;
    FILE *in = fopen(path, "re");
    while (in && !found && fgets(line, sizeof line, in)) {
        const char *p = line + sizeof label - 1;
        if (strncmp(line, label, sizeof label - 1) != 0) continue;
        while (isspace((unsigned char)*p))
            p++;
        const size_t n = strcspn(p, " \t\r\n");
        found = n > 4 && n < CUZKD_DEVICE_WORD - 5;
        if (found) snprintf(out, CUZKD_DEVICE_WORD, "cuda:%.*s", (int)n, p);
    }
    if (in) fclose(in);
    return found;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of the bus, which is the order of the driver's own numbers. */
static uint32_t find_gpus(const char *proc, char words[][CUZKD_DEVICE_WORD], uint32_t room) {
    char dir[256], path[600], names[64][64], *sorted[64];
    uint32_t n = 0, found = 0;
    const struct dirent *entry;
    snprintf(dir, sizeof dir, "%s/driver/nvidia/gpus", proc);
    DIR *d = opendir(dir);
    while (d && n < 64 && (entry = readdir(d)) != NULL) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof names[0]) continue;
        memcpy(names[n], entry->d_name, strlen(entry->d_name) + 1);
        sorted[n] = names[n];
        n++;
    }
    if (d) closedir(d);
    qsort(sorted, n, sizeof *sorted, by_name);
    for (uint32_t i = 0; i < n && found < room; i++) {
        snprintf(path, sizeof path, "%s/%s/information", dir, sorted[i]);
        found += read_uuid(path, words[found]);
    }
    return found;
}

cuzk_status cuzkd_devices(const cuzk_cfg_list *list, const char *proc, bool cuda,
                          char words[][CUZKD_DEVICE_WORD], uint32_t room, uint32_t *n,
                          cuzk_err *err) {
    *n = 0;
    if (list->n == 0) {
        if (cuda) *n = find_gpus(proc, words, room);
        if (*n == 0) snprintf(words[(*n)++], CUZKD_DEVICE_WORD, "cpu");
        return CUZK_OK;
    }
    for (uint32_t i = 0; i < list->n && i < room; i++) {
        CUZK_TRY(of_word(list->items[i], words[i], err));
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(words[k], words[i]) == 0)
                return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                    "gpus.devices names %s twice: one daemon has a device once",
                                    words[i]);
        *n = i + 1;
    }
    return CUZK_OK;
}

cuzk_status cuzkd_devices_check(const cuzk_cfg_list *list, cuzk_err *err) {
    char words[CUZK_CFG_LIST_ITEMS][CUZKD_DEVICE_WORD];
    uint32_t n;
    if (list->n == 0) return CUZK_OK;
    return cuzkd_devices(list, "", false, words, CUZK_CFG_LIST_ITEMS, &n, err);
}

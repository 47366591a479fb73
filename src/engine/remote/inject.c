#include "engine/remote/inject.h"

#include <stdlib.h>
#include <string.h>

static bool take_word(const char **p, char *out, size_t room) {
    const size_t n = strcspn(*p, ":");
    if (n == 0 || n >= room) return false;
    memcpy(out, *p, n);
    out[n] = '\0';
    *p += n;
    return true;
}

static bool read_times(cuzk_inject *out, const char *p) {
    char *end;
    if (*p < '0' || *p > '9') return false;
    const unsigned long k = strtoul(p, &end, 10);
    out->on = *end == '+';
    if (out->on) end++;
    out->at = (uint32_t)k;
    return *end == '\0' && k >= 1 && k <= 1000000;
}

bool cuzk_inject_parse(cuzk_inject *out, const char *text) {
    static const char *const whats[] = {"", "crash", "hang", "error", "sticky", "flip"};
    char word[16];
    memset(out, 0, sizeof *out);
    out->at = 1;
    if (!text || !*text) return true;
    if (!take_word(&text, word, sizeof word) || *text++ != ':') return false;
    for (int i = 1; i < 6; i++)
        if (strcmp(whats[i], word) == 0) out->what = (cuzk_inject_what)i;
    if (!take_word(&text, word, sizeof word)) return false;
    for (int i = CUZK_WIRE_OPEN; i < CUZK_WIRE_TYPES; i++)
        if (strcmp(cuzk_wire_type_name((cuzk_wire_type)i), word) == 0)
            out->step = (cuzk_wire_type)i;
    if (!out->what || !out->step ||
        (out->what == CUZK_INJECT_FLIP && out->step != CUZK_WIRE_FINISH))
        return false;
    return !*text || read_times(out, text + 1);
}

cuzk_inject_what cuzk_inject_due(cuzk_inject *i, cuzk_wire_type step) {
    if (i->what == CUZK_INJECT_NOTHING) return CUZK_INJECT_NOTHING;
    if (atomic_load(&i->stuck)) return CUZK_INJECT_STICKY;
    if (step != i->step) return CUZK_INJECT_NOTHING;
    const uint32_t n = atomic_fetch_add(&i->seen, 1) + 1;
    if (n != i->at && !(i->on && n > i->at)) return CUZK_INJECT_NOTHING;
    if (i->what == CUZK_INJECT_STICKY) atomic_store(&i->stuck, true);
    return i->what;
}

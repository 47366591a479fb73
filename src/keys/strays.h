/* Files of a parameter directory that look like keys and are none. Internal to keys. */
#ifndef CUZK_KEYS_STRAYS_H
#define CUZK_KEYS_STRAYS_H

#include "keys/keys.h"

/* Reports (CUZK_KEY_STRAY) half sets, a .meta with other contents, a sidecar or .meta without a
 * key, and names with a key's ending that are no key's; adds their number to *n. */
cuzk_status cuzk__keys_strays(const char *dir,
                              void (*put)(void *ctx, const cuzk_key_report *report), void *ctx,
                              size_t *n, cuzk_err *err) CUZK_MUST_CHECK;

#endif

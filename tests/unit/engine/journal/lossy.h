/* A disk that loses power. Under SQLite as a VFS, under the spool as hooks: what is written goes to
 * the real files, and beside that each file's synced bytes and the operations since its last sync
 * are kept. When the power goes, at an operation chosen before, an image of the disk is made:
 * synced bytes, and of the operations since then a random part (all, none, some, or torn at
 * sectors); names that were made or removed without a sync of their directory are there or not.
 * From then on every operation fails. lossy_restore makes the directory what the image says. */
#ifndef CUZK_TESTS_JOURNAL_LOSSY_H
#define CUZK_TESTS_JOURNAL_LOSSY_H

#include "engine/journal/hooks.h"

#include <stdint.h>

/* Registers the VFS "lossy" and forgets everything; files in dir are taken as synced from the next
 * lossy_arm on. hooks: to be given to the journal. */
void lossy_start(const char *dir, cuzk_journal_hooks *hooks);
/* The disk holds what dir holds, synced. The power goes at operation `at` from now (0: never). */
void lossy_arm(uint64_t at, uint64_t seed);
/* The next n syncs of SQLite's files fail, the power stays on. */
void lossy_fail_syncs(int n);
/* Whether it has gone. */
int lossy_is_off(void);
/* Operations since arm. */
uint64_t lossy_operations(void);
/* The power goes now, unless it has gone. */
void lossy_cut(void);
/* Makes dir, which nobody has open, what the image says. */
void lossy_restore(void);
void lossy_stop(void);

#endif

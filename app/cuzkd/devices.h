/* Which devices gpus.devices means. */
#ifndef CUZK_CUZKD_DEVICES_H
#define CUZK_CUZKD_DEVICES_H

#include "base/cfgtab.h"
#include "base/status.h"

enum { CUZKD_DEVICE_WORD = 80 };

/* The words for cuzk-worker --device: those of the list, "0" as "cuda:0" and "GPU-…" as
 * "cuda:GPU-…"; of an empty list every GPU that the NVIDIA driver shows under proc (by UUID), where
 * this program can use one (cuda), else "cpu". proc: "/proc", or a test's. BAD_INPUT: a word that
 * means none, or one twice. */
cuzk_status cuzkd_devices(const cuzk_cfg_list *list, const char *proc, bool cuda,
                          char words[][CUZKD_DEVICE_WORD], uint32_t room, uint32_t *n,
                          cuzk_err *err) CUZK_MUST_CHECK;

/* Whether every word of the list means a device, and no two the same, as far as that can be told
 * without looking for them. BAD_INPUT. */
cuzk_status cuzkd_devices_check(const cuzk_cfg_list *list, cuzk_err *err) CUZK_MUST_CHECK;

#endif

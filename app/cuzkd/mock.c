/* `cuzkd --mock FILE|default`: an engine whose work is sleeping, for tests and demonstrations. */
#include "providers.h"

#include "base/file.h"
#include "engine/mock/mock.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct mock_settings {
    uint64_t devices, device_memory, witness, stage, compute, finish, verify, assemble, key_load,
        host, slot, key_host, key_device;
} mock_settings;

#define AT(field) offsetof(mock_settings, field)
#define MINUTES(n) (UINT64_C(60000000000) * (n))
#define TIB (UINT64_C(1) << 40)

static const cuzk_cfg_entry entries[] = {
    {"mock.devices", CUZK_CFG_NUMBER, AT(devices), 1, CUZK_MOCK_MAX_DEVICES, "1", 0, "Devices."},
    {"mock.device_memory", CUZK_CFG_BYTES, AT(device_memory), 0, TIB, "16GiB", 0,
     "Memory of each."},
    {"mock.witness", CUZK_CFG_DURATION, AT(witness), 0, MINUTES(10), "300ms", 0,
     "Time of a stage where the job does not say."},
    {"mock.stage", CUZK_CFG_DURATION, AT(stage), 0, MINUTES(10), "40ms", 0, "The same."},
    {"mock.compute", CUZK_CFG_DURATION, AT(compute), 0, MINUTES(10), "100ms", 0, "The same."},
    {"mock.finish", CUZK_CFG_DURATION, AT(finish), 0, MINUTES(10), "20ms", 0, "The same."},
    {"mock.verify", CUZK_CFG_DURATION, AT(verify), 0, MINUTES(10), "10ms", 0, "The same."},
    {"mock.assemble", CUZK_CFG_DURATION, AT(assemble), 0, MINUTES(10), "1ms", 0, "The same."},
    {"mock.key_load", CUZK_CFG_DURATION, AT(key_load), 0, MINUTES(10), "50ms", 0,
     "Time to load a key, on the host and on a device."},
    {"mock.host", CUZK_CFG_BYTES, AT(host), 0, TIB, "64MiB", 0, "Host memory of a partition."},
    {"mock.slot", CUZK_CFG_BYTES, AT(slot), 0, TIB, "1GiB", 0, "Device memory of a partition."},
    {"mock.key_host", CUZK_CFG_BYTES, AT(key_host), 0, TIB, "1GiB", 0, "Host memory of a key."},
    {"mock.key_device", CUZK_CFG_BYTES, AT(key_device), 0, TIB, "4GiB", 0,
     "Device memory of a key."},
};
static const cuzk_cfg_table table = {entries, sizeof entries / sizeof *entries, "CUZK_"};

static cuzk_status read_settings(mock_settings *s, const char *mock, cuzk_err *err) {
    cuzk_map map;
    CUZK_TRY(cuzk_cfg_defaults(&table, s, err));
    if (strcmp(mock, "default") == 0) return CUZK_OK;
    CUZK_TRY(cuzk_map_file(&map, mock, err));
    const cuzk_status st = cuzk_cfg_read(&table, s, (const char *)map.data, map.len, err);
    cuzk_map_close(&map);
    return st == CUZK_OK ? CUZK_OK : cuzk_err_prefix(err, st, "%s", mock);
}

static uint32_t ms(uint64_t ns) {
    return (uint32_t)(ns / 1000000);
}

static void free_mock(void *self) {
    cuzk_mock_free(self);
}

cuzk_status cuzkd_mock_open(cuzkd_providers *out, const char *mock, cuzk_err *err) {
    mock_settings s;
    cuzk_mock_config c;
    cuzk_mock *m;
    CUZK_TRY(read_settings(&s, mock, err));
    cuzk_mock_config_init(&c);
    c.devices = (uint32_t)s.devices;
    c.device_memory = s.device_memory;
    c.times = (cuzk_mock_times){ms(s.witness), ms(s.stage),  ms(s.compute),
                                ms(s.finish),  ms(s.verify), ms(s.assemble)};
    c.plan.witness_host = s.host;
    c.plan.slot_device = s.slot;
    c.key.host = s.key_host;
    c.key.device = s.key_device;
    c.key_load_ms = c.device_key_load_ms = ms(s.key_load);
    const cuzk_status st = cuzk_mock_new(&m, &c);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "cannot make mock devices");
    out->ops = cuzk_mock_providers(m);
    out->free = free_mock;
    out->self = m;
    snprintf(out->what, sizeof out->what,
             "MOCK: nothing is proved, answers are not proofs; %" PRIu64 " simulated devices",
             s.devices);
    return CUZK_OK;
}

/* Packets: what is written is read back, and nothing else is. */
#include "support.h"

#include "engine/remote/inject.h"
#include "engine/remote/wire.h"

static size_t some_request(uint8_t out[CUZK_WIRE_MAX], int type, cuzk_wire_request *r) {
    memset(r, 0, sizeof *r);
    r->type = (cuzk_wire_type)type;
    r->id = test_rng();
    if (type == CUZK_WIRE_STAGE || type == CUZK_WIRE_COMPUTE) r->slot = (uint32_t)test_rng();
    if (type == CUZK_WIRE_COMPUTE || type == CUZK_WIRE_FINISH) r->result = (uint32_t)test_rng();
    if (type == CUZK_WIRE_STAGE) r->bytes = test_rng();
    if (type == CUZK_WIRE_STAGE || type == CUZK_WIRE_KEY_LOAD || type == CUZK_WIRE_KEY_FREE ||
        type == CUZK_WIRE_PLAN)
        memset(r->key, 'a' + (int)(test_rng() % 26), test_rng() % sizeof r->key);
    return cuzk_wire_put_request(out, r);
}

static size_t some_reply(uint8_t out[CUZK_WIRE_MAX], int type, bool good, cuzk_wire_reply *r) {
    memset(r, 0, sizeof *r);
    r->type = (cuzk_wire_type)type;
    r->id = test_rng();
    r->err.status = good ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
    memset(r->err.msg, 'x', test_rng() % sizeof r->err.msg);
    if (good && type == CUZK_WIRE_OPEN) {
        r->info = (cuzk_engine_device_info){"a device", "GPU-1", 3, 2, 1234};
    } else if (good && type == CUZK_WIRE_COMPUTE) {
        r->moved = (cuzk_engine_moved){1, 2, 3, 4, 5, 6};
    } else if (good && type == CUZK_WIRE_FINISH) {
        r->result_len = test_rng() % (sizeof r->result + 1);
        test_rng_bytes(r->result, r->result_len);
    } else if (good && type == CUZK_WIRE_PLAN) {
        r->plan = (cuzk_device_plan){test_rng(), test_rng(), test_rng(), test_rng()};
    }
    return cuzk_wire_put_reply(out, r);
}

/* Any other length is refused, and so is any other byte in the head but those of the id. */
static void expect_exact(const uint8_t *packet, size_t n, bool reply) {
    uint8_t other[CUZK_WIRE_MAX];
    cuzk_wire_request q;
    cuzk_wire_reply r;
    memcpy(other, packet, n);
    other[n] = 0;
    for (size_t i = 0; i <= n + 1; i++)
        assert_int_equal(reply ? cuzk_wire_get_reply(&r, other, i)
                               : cuzk_wire_get_request(&q, other, i),
                         i == n);
    for (size_t i = 0; i < 8; i++) {
        other[i] ^= 0x40;
        assert_false(reply ? cuzk_wire_get_reply(&r, other, n)
                           : cuzk_wire_get_request(&q, other, n));
        other[i] ^= 0x40;
    }
    assert_false(reply ? cuzk_wire_get_request(&q, other, n) : cuzk_wire_get_reply(&r, other, n));
}

static void packets_come_back(void **state) {
    uint8_t packet[CUZK_WIRE_MAX + 1];
    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int type = CUZK_WIRE_OPEN; type < CUZK_WIRE_TYPES; type++) {
            cuzk_wire_request q, q2;
            cuzk_wire_reply r, r2;
            size_t n = some_request(packet, type, &q);
            assert_true(cuzk_wire_get_request(&q2, packet, n));
            assert_memory_equal(&q, &q2, sizeof q);
            expect_exact(packet, n, false);
            n = some_reply(packet, type, round % 2, &r);
            assert_true(cuzk_wire_get_reply(&r2, packet, n));
            assert_int_equal(r.result_len, r2.result_len);
            assert_memory_equal(r.result, r2.result, sizeof r.result);
            assert_memory_equal(&r.moved, &r2.moved, sizeof r.moved);
            assert_memory_equal(&r.plan, &r2.plan, sizeof r.plan);
            assert_string_equal(r.err.msg, r2.err.msg);
            assert_string_equal(r.info.name, r2.info.name);
            assert_string_equal(r.info.uuid, r2.info.uuid);
            assert_int_equal(r.info.pid, r2.info.pid);
            expect_exact(packet, n, true);
        }
    }
}

static void strange_packets_are_refused(void **state) {
    uint8_t packet[CUZK_WIRE_MAX];
    cuzk_wire_request q = {.type = CUZK_WIRE_KEY_LOAD, .id = 1, .key = "abc"};
    cuzk_wire_reply r = {.type = CUZK_WIRE_FINISH, .id = 1, .result_len = 8};
    (void)state;
    size_t n = cuzk_wire_put_request(packet, &q);
    packet[n - 2] = 0; /* a NUL in the key */
    assert_false(cuzk_wire_get_request(&q, packet, n));
    packet[6] = CUZK_WIRE_TYPES;
    assert_false(cuzk_wire_get_request(&q, packet, n));
    n = cuzk_wire_put_reply(packet, &r);
    packet[16] = 200; /* no status */
    assert_false(cuzk_wire_get_reply(&r, packet, n));
    packet[16] = CUZK_STATUS_BUSY; /* an error has no result */
    assert_false(cuzk_wire_get_reply(&r, packet, n));
    packet[16] = 0;
    packet[22] = 0xff;
    packet[23] = 0xff; /* a length beyond the packet */
    assert_false(cuzk_wire_get_reply(&r, packet, n));
}

static void injections(void **state) {
    static const char *const bad[] = {"crash",
                                      "crash:",
                                      "crash:compute:0",
                                      "crash:compute:x",
                                      "crash:compute:",
                                      "crash:nothing",
                                      "dance:compute",
                                      "flip:compute",
                                      "crash:compute:3:4",
                                      "crash:compute:1+x"};
    cuzk_inject i;
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(cuzk_inject_parse(&i, bad[k]));
    assert_true(cuzk_inject_parse(&i, NULL));
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_STAGE), CUZK_INJECT_NOTHING);
    assert_true(cuzk_inject_parse(&i, "crash:compute:2"));
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_COMPUTE), CUZK_INJECT_NOTHING);
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_STAGE), CUZK_INJECT_NOTHING);
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_COMPUTE), CUZK_INJECT_CRASH);
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_COMPUTE), CUZK_INJECT_NOTHING);
    assert_true(cuzk_inject_parse(&i, "flip:finish:2+"));
    for (int k = 0; k < 4; k++)
        assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_FINISH),
                         k ? CUZK_INJECT_FLIP : CUZK_INJECT_NOTHING);
    assert_true(cuzk_inject_parse(&i, "sticky:stage"));
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_FINISH), CUZK_INJECT_NOTHING);
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_STAGE), CUZK_INJECT_STICKY);
    assert_int_equal(cuzk_inject_due(&i, CUZK_WIRE_FINISH), CUZK_INJECT_STICKY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_come_back),
        cmocka_unit_test(strange_packets_are_refused),
        cmocka_unit_test(injections),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "echo_server.h"

#include "base/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Atomic unsigned echo_cancelled, echo_hanging, echo_threads;

static void echo(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    (void)ctx;
    cuzk_grpc_call_request(call, &p, &n);
    cuzk_grpc_reply(call, p, n);
}

static void length(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    char text[24];
    (void)ctx;
    cuzk_grpc_call_request(call, &p, &n);
    cuzk_grpc_reply(call, text, (size_t)snprintf(text, sizeof text, "%zu", n));
}

/* ---- from other threads ---- */

static void spawn(void *(*fn)(void *), cuzk_grpc_call *call) {
    pthread_t t;
    cuzk_grpc_call_ref(call);
    atomic_fetch_add(&echo_threads, 1);
    if (pthread_create(&t, NULL, fn, call) == 0) {
        pthread_detach(t);
        return;
    }
    cuzk_grpc_fail(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "no thread");
    cuzk_grpc_call_unref(call);
    atomic_fetch_sub(&echo_threads, 1);
}

static unsigned long number_of(const cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    char text[16] = "";
    cuzk_grpc_call_request(call, &p, &n);
    if (n < sizeof text) memcpy(text, p, n);
    return strtoul(text, NULL, 10);
}

/* A number is how many milliseconds later. */
static void *later_thread(void *arg) {
    const unsigned long ms = number_of(arg);
    const struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
    echo(NULL, arg);
    cuzk_grpc_call_unref(arg);
    atomic_fetch_sub(&echo_threads, 1);
    return NULL;
}

static void later(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    spawn(later_thread, call);
}

static void *count_thread(void *arg) {
    char text[16];
    const unsigned long most = number_of(arg);
    cuzk_grpc_call_drop_request(arg);
    for (unsigned long i = 1; i <= most; i++)
        cuzk_grpc_send(arg, text, (size_t)snprintf(text, sizeof text, "%lu", i));
    cuzk_grpc_end(arg, CUZK_GRPC_OK, NULL, NULL, 0);
    cuzk_grpc_call_unref(arg);
    atomic_fetch_sub(&echo_threads, 1);
    return NULL;
}

static void count(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    spawn(count_thread, call);
}

/* More than any socket takes, and less than a call may leave unsent unless the test says so. */
enum { FLOOD_AHEAD = 32 << 20 };

static void *flood_thread(void *arg) {
    static const char block[65536];
    const struct timespec ms = {0, 1000000};
    while (cuzk_grpc_send(arg, block, sizeof block) == CUZK_OK) {
        while (cuzk_grpc_call_unsent(arg) > FLOOD_AHEAD)
            nanosleep(&ms, NULL);
    }
    cuzk_grpc_call_unref(arg);
    atomic_fetch_sub(&echo_threads, 1);
    return NULL;
}

static void on_cancel(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    (void)call;
    atomic_fetch_add(&echo_cancelled, 1);
}

static void flood(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    cuzk_grpc_call_on_cancel(call, on_cancel, NULL);
    spawn(flood_thread, call);
}

/* ---- calls that stay ---- */

static void let_go(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    atomic_fetch_add(&echo_cancelled, 1);
    atomic_fetch_sub(&echo_hanging, 1);
    cuzk_grpc_reply(call, "late", 4); /* must do nothing */
    cuzk_grpc_call_unref(call);
}

static void hang(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    atomic_fetch_add(&echo_hanging, 1);
    cuzk_grpc_call_ref(call);
    cuzk_grpc_call_on_cancel(call, let_go, NULL);
}

static void forever(void *ctx, cuzk_grpc_call *call) {
    hang(ctx, call);
    cuzk_grpc_send(call, "here", 4);
}

/* ---- the rest ---- */

static void fail(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    char text[256] = "";
    (void)ctx;
    cuzk_grpc_call_request(call, &p, &n);
    if (n < sizeof text) memcpy(text, p, n);
    char *message;
    const int code = (int)strtol(text, &message, 10);
    while (*message == ' ')
        message++;
    if (code == CUZK_GRPC_RESOURCE_EXHAUSTED)
        cuzk_grpc_fail_retry(call, code, 1500000000, "%s", message);
    else
        cuzk_grpc_fail(call, code, "%s", message);
}

static void chat(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    (void)ctx;
    if (cuzk_grpc_call_request(call, &p, &n))
        cuzk_grpc_send(call, p, n);
    else
        cuzk_grpc_end(call, CUZK_GRPC_OK, NULL, NULL, 0);
}

static void who(void *ctx, cuzk_grpc_call *call) {
    char text[512], left[32] = "none";
    const char *identity = cuzk_grpc_call_identity(call);
    const char *value = cuzk_grpc_call_metadata(call, "x-test");
    const int64_t deadline = cuzk_grpc_call_deadline_ns(call);
    (void)ctx;
    if (deadline != INT64_MAX)
        snprintf(left, sizeof left, "%" PRId64, (deadline - cuzk_now_ns()) / 1000000);
    const int n = snprintf(text, sizeof text, "%s|%s|%s|%s", cuzk_grpc_call_peer(call),
                           identity ? identity : "", left, value ? value : "");
    cuzk_grpc_reply(call, text, (size_t)n);
}

#define METHOD(name) "/cuzk.test.Echo/" name
const cuzk_grpc_method echo_methods[] = {
    {METHOD("Echo"), CUZK_GRPC_UNARY, echo, NULL},
    {METHOD("Later"), CUZK_GRPC_UNARY, later, NULL},
    {METHOD("Length"), CUZK_GRPC_UNARY, length, NULL},
    {METHOD("Count"), CUZK_GRPC_SERVER_STREAM, count, NULL},
    {METHOD("Hang"), CUZK_GRPC_UNARY, hang, NULL},
    {METHOD("Forever"), CUZK_GRPC_SERVER_STREAM | CUZK_GRPC_WATCH, forever, NULL},
    {METHOD("Fail"), CUZK_GRPC_UNARY, fail, NULL},
    {METHOD("Flood"), CUZK_GRPC_SERVER_STREAM, flood, NULL},
    {METHOD("Chat"), CUZK_GRPC_CLIENT_STREAM | CUZK_GRPC_SERVER_STREAM, chat, NULL},
    {METHOD("Who"), CUZK_GRPC_UNARY, who, NULL},
};
const size_t echo_methods_n = sizeof echo_methods / sizeof echo_methods[0];

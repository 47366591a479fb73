/* cuzk-worker: owns one device and serves it to the daemon that started it (docs/engine.md). It
 * ends with the daemon. */
#include "device.h"

#include "base/process.h"
#include "engine/remote/serve.h"
#include "jobs/local.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static const char help[] =
    "usage: cuzk-worker --fd N --device DEVICE [options]\n"
    "\n"
    "Holds one device, its keys and what it computes, for the daemon at the other end of a "
    "socket.\n"
    "Started by cuzkd, not by hand: whatever goes wrong with a device ends this process and not\n"
    "the daemon.\n"
    "\n"
    "  --fd N                 the socket (SOCK_SEQPACKET)\n"
    "  --device DEVICE        cpu, cuda, cuda:N or cuda:UUID\n"
    "  --threads N            of the host; 0 (default): one per core\n"
    "  --memory BYTES         of a GPU at most; keys that do not fit are streamed from the host's\n"
    "                         memory; 0 (default): all that is free\n"
    "  --params DIR           Filecoin's keys (FIL_PROOFS_PARAMETER_CACHE)\n"
    "  --zkeys DIR            circom's keys\n"
    "  --allow-insecure-keys  take development keys\n"
    "  --insecure-seed HEX    make Filecoin's keys from this seed instead of reading them\n"
    "  --inject WHAT:STEP[:K] for tests: crash, hang, error, sticky or flip at the K-th open,\n"
    "                         key_load, key_free, stage, compute or finish (flip: finish)\n"
    "  --version\n";

typedef struct options {
    int fd;
    worker_device device;
    cuzk_local_config local;
    const char *inject;
} options;

static int fail(cuzk_status st, const char *message) {
    fprintf(stderr, "cuzk-worker: %s\n", message[0] ? message : cuzk_status_text(st));
    return cuzk_status_exit_code(st);
}

static bool number(const char *text, unsigned long most, unsigned long *out) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    *out = strtoul(text, &end, 10);
    return *end == '\0' && errno == 0 && *out <= most;
}

/* An exit code, or -1 to go on. */
static int parse(int argc, char **argv, options *o) {
    enum {
        FD = 256,
        DEVICE,
        THREADS,
        MEMORY,
        PARAMS,
        ZKEYS,
        INSECURE,
        SEED,
        INJECT,
        HELP,
        VERSION
    };
    static const struct option table[] = {
        {"fd", required_argument, NULL, FD},
        {"device", required_argument, NULL, DEVICE},
        {"threads", required_argument, NULL, THREADS},
        {"memory", required_argument, NULL, MEMORY},
        {"params", required_argument, NULL, PARAMS},
        {"zkeys", required_argument, NULL, ZKEYS},
        {"allow-insecure-keys", no_argument, NULL, INSECURE},
        {"insecure-seed", required_argument, NULL, SEED},
        {"inject", required_argument, NULL, INJECT},
        {"help", no_argument, NULL, HELP},
        {"version", no_argument, NULL, VERSION},
        {NULL, 0, NULL, 0},
    };
    unsigned long n = 0;
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        switch (c) {
        case FD:
            if (!number(optarg, 1023, &n)) return fail(CUZK_STATUS_USAGE, "--fd wants a number");
            o->fd = (int)n;
            break;
        case DEVICE:
            o->device.word = optarg;
            break;
        case THREADS:
            if (!number(optarg, 4096, &n))
                return fail(CUZK_STATUS_USAGE, "--threads wants a number");
            o->device.threads = (unsigned)n;
            break;
        case MEMORY:
            if (!number(optarg, ULONG_MAX, &n))
                return fail(CUZK_STATUS_USAGE, "--memory wants a number of bytes");
            o->device.memory = n;
            break;
        case PARAMS:
            o->local.keys.params_dir = optarg;
            break;
        case ZKEYS:
            o->local.keys.zkey_dir = optarg;
            break;
        case INSECURE:
            o->local.keys.allow_insecure = true;
            break;
        case SEED:
            o->local.keys.seed = optarg;
            break;
        case INJECT:
            o->inject = optarg;
            break;
        case HELP:
            fputs(help, stdout);
            return 0;
        case VERSION:
            puts("cuzk-worker " CUZK_VERSION);
            return 0;
        default:
            return cuzk_status_exit_code(CUZK_STATUS_USAGE);
        }
    }
    if (o->fd < 0 || !o->device.word || optind != argc)
        return fail(CUZK_STATUS_USAGE, "wants --fd and --device, see --help");
    return -1;
}

/* Witnesses are secret: no core file, no other process of this user that reads our memory. And no
 * life beyond the daemon's; should it be gone already, the socket says so. */
static void withdraw(void) {
    const struct rlimit none = {0, 0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
}

static cuzk_status plan(void *self, const char *key, cuzk_device_plan *out, cuzk_err *err) {
    cuzk_backend_plan p;
    CUZK_TRY(cuzk_local_plan(self, 0, key, &p, err));
    *out = (cuzk_device_plan){p.key, p.slot, p.slot_pin, p.key_pin};
    return CUZK_OK;
}

static cuzk_status serve(options *o, bool *orderly, cuzk_err *err) {
    cuzk_local *local;
    int type = 0;
    socklen_t len = sizeof type;
    if (getsockopt(o->fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_SEQPACKET)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "descriptor %d is no socket of a daemon: this program is started by "
                            "cuzkd",
                            o->fd);
    const cuzk_status st = cuzk_pool_new(&o->device.pool, o->device.threads);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "cannot start threads");
    o->local.devices = 1;
    o->local.pool = o->device.pool;
    o->local.open = worker_device_open;
    o->local.ctx = &o->device;
    CUZK_TRY(cuzk_local_new(&local, &o->local, err));
    const cuzk_serve_config config = {.fd = o->fd,
                                      .ops = &cuzk_local_devices,
                                      .self = local,
                                      .plan = plan,
                                      .broken = worker_device_broken,
                                      .ctx = &o->device,
                                      .inject = o->inject};
    const cuzk_status end = cuzk_serve(&config, orderly, err);
    if (*orderly) cuzk_local_free(local);
    return end;
}

int main(int argc, char **argv) {
    options o = {.fd = -1};
    cuzk_err err = {.status = CUZK_OK};
    bool orderly = false;
    cuzk_process_init();
    withdraw();
    const int code = parse(argc, argv, &o);
    if (code >= 0) return code;
    cuzk_status st = cuzk_process_env(&err);
    if (st == CUZK_OK) st = serve(&o, &orderly, &err);
    const int result = st == CUZK_OK ? 0 : fail(st, err.msg);
    /* calls that are still running use everything there is */
    if (!orderly) _exit(result);
    cuzk_pool_free(o.device.pool);
    return result;
}

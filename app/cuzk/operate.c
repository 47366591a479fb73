/* `cuzk cancel|drain|resume|preload|evict|lend`: what an operator tells a daemon. */
#include "cli.h"
#include "remote.h"
#include "verbs.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct call {
    char **words;
    int n;
    bool checkpoint, take_back, restore;
    uint64_t timeout_ns;
    uint64_t device, bytes; /* of lend, parsed */
} call;

typedef struct operation {
    const char *name, *usage, *example;
    int least, most; /* words */
    cuzk_status (*run)(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err);
} operation;

enum { OPT_CHECKPOINT = CUZK_OPT_OWN, OPT_TIMEOUT, OPT_TAKE_BACK, OPT_RESTORE };

static uint64_t ms(uint64_t ns) {
    return ns ? ns / 1000000 + (ns % 1000000 != 0) : 0;
}

/* ---- what each does ---- */

static cuzk_status run_cancel(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err) {
    for (int i = 0; i < c->n; i++) {
        bool running = false;
        CUZK_TRY(cuzk_rpc_cancel(r->client, c->words[i], &running, err));
        if (!r->json) {
            cuzk_buf_printf(out, "%s: %s\n", c->words[i],
                            running ? "cancelled while it ran" : "cancelled, or had ended");
            continue;
        }
        cuzk_buf_puts(out, "{\"job_id\":");
        cuzk_buf_json_str(out, c->words[i]);
        cuzk_buf_printf(out, ",\"was_running\":%s}\n", running ? "true" : "false");
    }
    return CUZK_OK;
}

static cuzk_status run_drain(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err) {
    CUZK_TRY(cuzk_rpc_drain_engine(r->client, c->checkpoint, ms(c->timeout_ns), err));
    cuzk_buf_puts(out, r->json ? "{\"drained\":true}\n" : "drained: no job is left running\n");
    return CUZK_OK;
}

static cuzk_status run_resume(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err) {
    (void)c;
    CUZK_TRY(cuzk_rpc_resume(r->client, err));
    cuzk_buf_puts(out, r->json ? "{\"resumed\":true}\n" : "takes jobs again\n");
    return CUZK_OK;
}

static cuzk_status run_preload(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err) {
    for (int i = 0; i < c->n; i++) {
        bool already = false;
        uint64_t took = 0;
        if (!r->json) fprintf(stderr, "loading %s\n", c->words[i]);
        CUZK_TRY(cuzk_rpc_preload(r->client, c->words[i], &already, &took, err));
        if (!r->json) {
            cuzk_buf_printf(out, "%s: %s", c->words[i], already ? "was loaded\n" : "loaded");
            if (!already) cuzk_buf_printf(out, " in %.1f s\n", (double)took * 1e-3);
            continue;
        }
        cuzk_buf_puts(out, "{\"key\":");
        cuzk_buf_json_str(out, c->words[i]);
        cuzk_buf_printf(out, ",\"already_loaded\":%s,\"load_time_ms\":%" PRIu64 "}\n",
                        already ? "true" : "false", took);
    }
    return CUZK_OK;
}

static cuzk_status run_evict(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err) {
    for (int i = 0; i < c->n; i++) {
        bool was = false;
        uint64_t freed = 0;
        CUZK_TRY(cuzk_rpc_evict(r->client, c->words[i], &was, &freed, err));
        if (r->json) {
            cuzk_buf_puts(out, "{\"key\":");
            cuzk_buf_json_str(out, c->words[i]);
            cuzk_buf_printf(out, ",\"was_loaded\":%s,\"freed_bytes\":%" PRIu64 "}\n",
                            was ? "true" : "false", freed);
            continue;
        }
        cuzk_buf_printf(out, "%s: %s", c->words[i], was ? "freed " : "was not loaded");
        if (was) cuzk_remote_put_bytes(out, freed);
        cuzk_buf_puts(out, "\n");
    }
    return CUZK_OK;
}

static cuzk_status run_lend(cuzk_remote *r, const call *c, cuzk_buf *out, cuzk_err *err) {
    const uint32_t device = (uint32_t)c->device;
    if (c->restore) {
        CUZK_TRY(cuzk_rpc_restore(r->client, device, err));
        cuzk_buf_puts(out, r->json ? "{\"restored\":true}\n" : "the device is used again\n");
    } else if (c->take_back) {
        CUZK_TRY(cuzk_rpc_take_back(r->client, device, c->bytes, err));
        cuzk_buf_puts(out, r->json ? "{\"taken_back\":true}\n" : "taken back\n");
    } else {
        CUZK_TRY(cuzk_rpc_lend(r->client, device, c->bytes, ms(c->timeout_ns), err));
        if (r->json) {
            cuzk_buf_printf(out, "{\"lent_bytes\":%" PRIu64 "}\n", c->bytes);
        } else {
            cuzk_remote_put_bytes(out, c->bytes);
            cuzk_buf_printf(out, " of device %" PRIu32 " are free\n", device);
        }
    }
    return CUZK_OK;
}

/* ---- words and options ---- */

static const operation operations[] = {
    {"cancel",
     "usage: cuzk cancel [OPTIONS] JOB...\n\n"
     "Ends jobs, at whatever stage they are. JOB is an id or a request id; cancelling one that "
     "has\n"
     "ended changes nothing.\n\n"
     "  --json              an object a job\n",
     "\nexample: cuzk cancel 3f2a-17\n", 1, 1000, run_cancel},
    {"drain",
     "usage: cuzk drain [OPTIONS]\n\n"
     "The daemon takes no new jobs from now on; waits until all accepted ones have ended.\n"
     "`cuzk resume` ends it.\n\n"
     "  --checkpoint        stop at the end of each running partition instead; the rest goes on\n"
     "                      after resume or a restart\n"
     "  --timeout TIME      wait so long at most (exit code 6); the daemon goes on draining\n"
     "  --json              {\"drained\": true}\n",
     "\nexample: cuzk drain --checkpoint && systemctl stop cuzkd\n", 0, 0, run_drain},
    {"resume",
     "usage: cuzk resume [OPTIONS]\n\nThe daemon takes jobs again, after `cuzk drain`.\n\n"
     "  --json              {\"resumed\": true}\n",
     "\nexample: cuzk resume\n", 0, 0, run_resume},
    {"preload",
     "usage: cuzk preload [OPTIONS] KEY...\n\n"
     "Loads keys before jobs ask for them; waits until they are loaded. `cuzk status` lists "
     "keys;\none that is not known ends with exit code 3.\n\n"
     "  --json              an object a key\n",
     "\nexample: cuzk preload winning-32g porep-32g\n", 1, 64, run_preload},
    {"evict",
     "usage: cuzk evict [OPTIONS] KEY...\n\n"
     "Gives the memory of keys back. One that jobs use stays (exit code 75); one that is\n"
     "not known ends with 3.\n\n"
     "  --json              an object a key\n",
     "\nexample: cuzk evict snap-32g\n", 1, 64, run_evict},
    {"lend",
     "usage: cuzk lend [OPTIONS] DEVICE BYTES\n"
     "       cuzk lend [OPTIONS] --take-back DEVICE [BYTES]\n"
     "       cuzk lend [OPTIONS] --restore DEVICE\n\n"
     "Frees memory of a device for another program (PC2 on the same GPU, for instance), waiting "
     "for\n"
     "what runs there; --take-back gives it to the daemon again, all of it without BYTES.\n"
     "--restore ends the quarantine of a device that failed. DEVICE is its number in `cuzk "
     "status`.\n"
     "\n"
     "  --timeout TIME      wait so long at most (exit code 6); default 60s\n"
     "  --json              an object\n",
     "\nexample: cuzk lend 0 8GiB && pc2; cuzk lend --take-back 0\n", 1, 2, run_lend},
};

static int option(const operation *op, call *o, int c, char **argv) {
    const bool drain = op->run == run_drain, lend = op->run == run_lend;
    if (c == OPT_CHECKPOINT && drain) {
        o->checkpoint = true;
    } else if (c == OPT_TAKE_BACK && lend) {
        o->take_back = true;
    } else if (c == OPT_RESTORE && lend) {
        o->restore = true;
    } else if (c == OPT_TIMEOUT && (drain || lend)) {
        if (!cuzk_parse_duration(optarg, &o->timeout_ns))
            return cuzk_cli_usage(op->name, "--timeout %s: a time such as 10m", optarg);
    } else if (c >= CUZK_OPT_OWN) {
        return cuzk_cli_usage(op->name, "takes no option %s", argv[optind - 1]);
    } else {
        return cuzk_cli_bad_option(op->name, c, argv);
    }
    return -1;
}

static int lend_words(const operation *op, call *c) {
    const bool bytes = c->n == 2;
    if (c->restore && (c->take_back || bytes))
        return cuzk_cli_usage(op->name, "--restore takes a device alone");
    if (!c->restore && !c->take_back && !bytes)
        return cuzk_cli_usage(op->name, "wants DEVICE and BYTES");
    if (!cuzk_cli_number(c->words[0], 0, CUZK_ENGINE_MAX_DEVICES - 1, &c->device))
        return cuzk_cli_usage(op->name, "DEVICE %s: a number of `cuzk status`", c->words[0]);
    if (bytes && (!cuzk_parse_bytes(c->words[1], &c->bytes) || c->bytes == 0))
        return cuzk_cli_usage(op->name, "BYTES %s: a size such as 8GiB", c->words[1]);
    return -1;
}

/* Exit code 2: what the first line of the usage asks for, and how many words there are. */
static int count_words(const operation *op, const call *c) {
    static const char before[] = "[OPTIONS] ";
    const char *wants = strstr(op->usage, before);
    if (op->most == 0 || !wants) return cuzk_cli_usage(op->name, "takes no words");
    wants += sizeof before - 1;
    return cuzk_cli_usage(op->name, "wants %.*s, at most %d words, got %d",
                          (int)strcspn(wants, "\n"), wants, op->most, c->n);
}

static int operate(const char *name, int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          {"checkpoint", no_argument, NULL, OPT_CHECKPOINT},
                                          {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                          {"take-back", no_argument, NULL, OPT_TAKE_BACK},
                                          {"restore", no_argument, NULL, OPT_RESTORE},
                                          {NULL, 0, NULL, 0}};
    const operation *op = operations;
    cuzk_remote r = {.verb = name};
    call o = {0};
    cuzk_err err = {0};
    cuzk_buf out = CUZK_BUF_INIT;
    int c;
    while (strcmp(op->name, name) != 0)
        op++;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) {
            fputs(op->usage, stdout);
            fputs(cuzk_remote_help, stdout);
            return cuzk_cli_help(name, op->example);
        }
        if (cuzk_remote_option(&r, c, optarg)) continue;
        const int code = option(op, &o, c, argv);
        if (code >= 0) return code;
    }
    o.words = argv + optind;
    o.n = argc - optind;
    if (o.n < op->least || o.n > op->most) return count_words(op, &o);
    if (op->run == run_lend) {
        const int code = lend_words(op, &o);
        if (code >= 0) return code;
    }
    cuzk_status st = cuzk_remote_open(&r, &err);
    if (st == CUZK_OK) st = op->run(&r, &o, &out, &err);
    return cuzk_remote_finish(&r, st, &out, &err);
}

#define VERB(verb)                                                                                 \
    int cuzk_cmd_##verb(int argc, char **argv) {                                                   \
        return operate(#verb, argc, argv);                                                         \
    }
VERB(cancel)
VERB(drain)
VERB(resume)
VERB(preload)
VERB(evict)
VERB(lend)

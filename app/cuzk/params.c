#include "cli.h"
#include "verbs.h"

#include "base/buf.h"
#include "keys/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk params check [DIR] [--json] [--threads N]\n"
    "\n"
    "Looks at Filecoin's keys in a directory (left out: FIL_PROOFS_PARAMETER_CACHE, or Filecoin's\n"
    "default): every .params and .vk of a circuit we know. A file is `official` when its digest "
    "is\n"
    "the published one. Any other is read as a key of its circuit, every point of it, and is then\n"
    "`development` (a file .insecure stands beside it; programs take it with\n"
    "--allow-insecure-keys), `differs` (no program takes it), or `bad`, with the reason.\n"
    "\n"
    "Then what looks like a key and is none, as `stray`, with what to do about it: names of no\n"
    "circuit or of another version, a .params without its .vk, a .meta with other contents, a\n"
    ".insecure or .meta without a key. (A .vk alone is all that verifying needs.)\n"
    "\n"
    "Digests and checked points are remembered in $XDG_CACHE_HOME/cuzk/files, so that a file is\n"
    "read once as long as it does not change.\n"
    "\n"
    "exit codes: 0 when every key is official or development and nothing is stray (or there is\n"
    "nothing at all), 1 when a file differs, is bad or stray, 4 when DIR cannot be read; see\n"
    "`cuzk --help`.\n"
    "\n"
    "example: cuzk params check /var/tmp/filecoin-proof-parameters\n";

typedef struct {
    bool json;
    size_t shown, keys, wrong;
    cuzk_buf out;
} printer;

/* Names come from the directory: nothing in them may act on a terminal. */
static void put_line(const char *s) {
    for (; *s; s++)
        putchar((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s);
    putchar('\n');
}

static void put(void *ctx, const cuzk_key_report *r) {
    static const char *const states[] = {
        [CUZK_KEY_OFFICIAL] = "official", [CUZK_KEY_DEVELOPMENT] = "development",
        [CUZK_KEY_DIFFERS] = "differs",   [CUZK_KEY_BAD] = "bad",
        [CUZK_KEY_STRAY] = "stray",
    };
    printer *p = ctx;
    const bool reason = r->state == CUZK_KEY_BAD || r->state == CUZK_KEY_STRAY;
    p->wrong += r->state == CUZK_KEY_DIFFERS || reason;
    p->keys += r->state != CUZK_KEY_STRAY;
    if (!p->json) {
        printf("%-12s %-18s ", states[r->state], r->circuit ? r->circuit : "-");
        put_line(r->file);
        if (reason) printf("             ");
        if (reason) put_line(r->err.msg);
        if (r->state == CUZK_KEY_DIFFERS)
            printf("             digest %s, published %s\n", r->digest,
                   r->official ? r->official : "none");
        fflush(stdout);
        return;
    }
    cuzk_buf_puts(&p->out, p->shown++ ? ",{\"circuit\":" : "{\"circuit\":");
    if (r->circuit)
        cuzk_buf_json_str(&p->out, r->circuit);
    else
        cuzk_buf_puts(&p->out, "null");
    cuzk_buf_puts(&p->out, ",\"file\":");
    cuzk_buf_json_str(&p->out, r->file);
    cuzk_buf_printf(&p->out,
                    ",\"bytes\":%" PRIu64 ",\"state\":\"%s\",\"digest\":\"%s\",\"published\":",
                    r->bytes, states[r->state], r->digest);
    if (r->official)
        cuzk_buf_printf(&p->out, "\"%s\"", r->official);
    else
        cuzk_buf_puts(&p->out, "null");
    if (reason) {
        cuzk_buf_puts(&p->out, ",\"reason\":");
        cuzk_buf_json_str(&p->out, r->err.msg);
    }
    cuzk_buf_puts(&p->out, "}");
}

static int check(const char *dir, bool json, unsigned threads) {
    printer p = {.json = json, .out = CUZK_BUF_INIT};
    cuzk_err err = {0};
    cuzk_pool *pool = NULL;
    size_t n = 0;
    cuzk_status st = cuzk_pool_new(&pool, threads);
    if (st != CUZK_OK) cuzk_err_set(&err, st, "cannot start %u threads", threads);
    if (st == CUZK_OK) st = cuzk_keys_check(dir, pool, stderr, put, &p, &n, &err);
    if (st == CUZK_OK) st = cuzk_buf_status(&p.out);
    if (st == CUZK_OK && json) printf("[%s]\n", p.out.data ? p.out.data : "");
    if (st == CUZK_OK && p.keys == 0)
        fprintf(stderr, "cuzk params: no key of a known circuit in %s\n", dir);
    cuzk_buf_free(&p.out);
    cuzk_pool_free(pool);
    if (st != CUZK_OK) return cuzk_cli_fail("params", st, &err);
    if (cuzk_cli_flush("params", 0) != 0) return 4;
    return p.wrong ? 1 : 0;
}

int cuzk_cmd_params(int argc, char **argv) {
    static const struct option longs[] = {
        {"json", no_argument, NULL, 'j'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool json = false;
    unsigned threads = 0;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("params", help);
        if (c == 'j') {
            json = true;
        } else if (c == 't') {
            if (!cuzk_cli_threads(optarg, &threads))
                return cuzk_cli_usage("params", "--threads %s: not a number up to 4096", optarg);
        } else {
            return cuzk_cli_bad_option("params", c, argv);
        }
    }
    if (optind >= argc || strcmp(argv[optind], "check") != 0 || argc - optind > 2)
        return cuzk_cli_usage("params", "wants check and at most one DIR");
    return check(argc - optind == 2 ? argv[optind + 1] : cuzk_keys_default_dir(), json, threads);
}

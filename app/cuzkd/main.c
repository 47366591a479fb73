/* cuzkd: the proving daemon. This file reads the command line. */
#include "daemon.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/process.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SETS = 64 };

typedef struct command_line {
    cuzkd_options options;
    const char *sets[MAX_SETS];
    enum { RUN, CHECK, PRINT_CONFIG, PRINT_EXAMPLE, PRINT_REFERENCE } what;
} command_line;

static const char usage[] =
    "usage: cuzkd [OPTIONS]\n"
    "\n"
    "cuzkd keeps proving keys loaded, takes jobs from clients over gRPC and HTTP, and answers "
    "with\n"
    "verified proofs. An accepted job survives crashes and restarts.\n"
    "\n"
    "  --config FILE      settings, in TOML; without it defaults\n"
    "  --set NAME=VALUE   one setting, over the file and the environment; may be repeated\n"
    "  --check-config     reads the settings, says what is wrong, and ends\n"
    "  --print-config     prints the settings as they are in force\n"
    "  --print-example    prints an annotated file with every setting at its default\n"
    "  --print-reference  prints a table of all settings, in Markdown\n"
    "  --recover          when the journal is damaged: sets it aside and begins a new one\n"
    "  --mock FILE        proves nothing and sleeps instead, for tests and demonstrations; FILE "
    "has\n"
    "                     a table [mock] (devices, witness, stage, compute, finish, verify, ...), "
    "or\n"
    "                     is the word default\n"
    "  --version, --help\n"
    "\n"
    "signals: SIGTERM and SIGINT end it by daemon.stop, once more at once; SIGHUP reads the "
    "settings\n"
    "again and takes over those that may change.\n"
    "exit codes: 0 ended as asked; 2 usage; 3 settings malformed; 4 cannot read, write or\n"
    "listen, the journal is damaged, or another daemon has the state directory; 5 no memory or\n"
    "no such device; 70 a bug.\n"
    "\n"
    "examples:\n"
    "  cuzkd --mock default --set daemon.listen=unix:///tmp/cuzk.sock --set "
    "daemon.state_dir=/tmp/cuzk\n"
    "  cuzkd --config /etc/cuzk/cuzkd.toml --check-config\n"
    "  CUZK_LOGGING_LEVEL=debug cuzkd --config cuzkd.toml\n"
    "\n"
    "settings, with their defaults, later sources over earlier ones: --config, environment\n"
    "(CUZK_DAEMON_LISTEN for daemon.listen), --set:\n";

static int fail(cuzk_status st, const cuzk_err *err) {
    fprintf(stderr, "cuzkd: %s\n", *err->msg ? err->msg : cuzk_status_text(st));
    return cuzk_status_exit_code(st);
}

static int misuse(const char *what, const char *word) {
    fprintf(stderr, "cuzkd: %s %s\nTry `cuzkd --help`.\n", what, word);
    return cuzk_status_exit_code(CUZK_STATUS_USAGE);
}

static int flush(int code) {
    if (!ferror(stdout) && fflush(stdout) == 0) return code;
    fprintf(stderr, "cuzkd: cannot write to standard output: %s\n", strerror(errno));
    return cuzk_status_exit_code(CUZK_STATUS_IO);
}

static int put(cuzk_buf *b) {
    if (cuzk_buf_status(b) != CUZK_OK) {
        cuzk_buf_free(b);
        return fail(CUZK_STATUS_NO_MEMORY, &(cuzk_err){0});
    }
    fwrite(b->data, 1, b->len, stdout);
    cuzk_buf_free(b);
    return flush(0);
}

static int help(void) {
    fputs(usage, stdout);
    for (size_t i = 0; i < cuzkd_table.n; i++) {
        const cuzk_cfg_entry *e = &cuzkd_table.entries[i];
        if (e->flags & CUZK_CFG_IGNORED) continue;
        printf("  %s = %s%s\n      %s\n", e->path, e->preset, *e->preset ? "" : "\"\"", e->help);
    }
    return flush(0);
}

/* -1: go on. */
static int option(int c, char **argv, command_line *l) {
    switch (c) {
    case 'c':
        l->options.file = optarg;
        return -1;
    case 's':
        if (l->options.n_set == MAX_SETS) return misuse("too many", "--set");
        l->sets[l->options.n_set++] = optarg;
        return -1;
    case 'm':
        l->options.mock = optarg;
        return -1;
    case 'r':
        l->options.recover = true;
        return -1;
    case 'C':
        l->what = CHECK;
        return -1;
    case 'P':
        l->what = PRINT_CONFIG;
        return -1;
    case 'E':
        l->what = PRINT_EXAMPLE;
        return -1;
    case 'R':
        l->what = PRINT_REFERENCE;
        return -1;
    case 'v':
        printf("cuzkd %s\n", l->options.version);
        return flush(0);
    case 'h':
        return help();
    case ':':
        return misuse("a value is missing after", argv[optind - 1]);
    default:
        return misuse("unknown option", argv[optind - 1]);
    }
}

static void note_unknown(void *ctx, const char *name, const char *meant) {
    (void)ctx;
    fprintf(stderr, "cuzkd: warning: %s in the environment is no setting%s%s%s\n", name,
            meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static int print(const command_line *l, const cuzkd_settings *s) {
    cuzk_buf b = CUZK_BUF_INIT;
    switch (l->what) {
    case PRINT_CONFIG:
        cuzk_cfg_show(&b, &cuzkd_table, s);
        break;
    case PRINT_EXAMPLE:
        cuzk_buf_puts(&b, "# Settings of cuzkd at their defaults; docs/configuration.md explains "
                          "how they are read.\n# Made by `cuzkd --print-example`.\n\n");
        cuzk_cfg_example(&b, &cuzkd_table);
        break;
    case PRINT_REFERENCE:
        cuzk_cfg_markdown(&b, &cuzkd_table);
        break;
    default:
        cuzk_buf_puts(&b, "settings are well-formed\n");
        break;
    }
    return put(&b);
}

int main(int argc, char **argv) {
    static const struct option longs[] = {
        {"config", required_argument, NULL, 'c'},
        {"set", required_argument, NULL, 's'},
        {"mock", required_argument, NULL, 'm'},
        {"recover", no_argument, NULL, 'r'},
        {"check-config", no_argument, NULL, 'C'},
        {"print-config", no_argument, NULL, 'P'},
        {"print-example", no_argument, NULL, 'E'},
        {"print-reference", no_argument, NULL, 'R'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static command_line l;
    static cuzkd_settings settings;
    cuzk_err err = {0};
    int c;
    cuzk_process_init();
    l.options.version = CUZK_VERSION;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":hc:", longs, NULL)) != -1) {
        const int code = option(c, argv, &l);
        if (code >= 0) return code;
    }
    if (optind < argc) return misuse("takes no argument, but got", argv[optind]);
    l.options.set = l.sets;
    cuzk_status st = cuzk_process_env(&err);
    if (st == CUZK_OK)
        st = cuzkd_settings_read(&settings, l.options.file, getenv, l.sets, l.options.n_set, &err);
    if (st != CUZK_OK) return fail(st, &err);
    if (l.what == RUN) return cuzkd_run(&settings, &l.options);
    cuzk_cfg_env_unknown(&cuzkd_table, environ, note_unknown, NULL);
    return print(&l, &settings);
}

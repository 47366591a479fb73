/* The command line program: a table of verbs, one file each. Compiled twice: for cuzk-full, and
 * with CUZK_HANDS_ON for cuzk. */
#include "cli.h"
#include "verbs.h"

#include "base/apart.h"
#include "base/file.h"
#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CUZK__VERB(verb_name, function, text) {verb_name, text, function},
#ifdef CUZK_HANDS_ON
#define CUZK__OTHER(verb_name, function, text) {verb_name, text, NULL},
#else
#define CUZK__OTHER CUZK__VERB
#endif
static const cuzk_verb verbs[] = {CUZK_VERBS(CUZK__VERB, CUZK__OTHER)};
#undef CUZK__VERB
#undef CUZK__OTHER

static void print_help(FILE *to) {
    fputs("cuzk proves and verifies Groth16: Filecoin sectors and circom circuits.\n\n"
          "usage: cuzk VERB [OPTIONS] ARGUMENTS\n\n",
          to);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        fprintf(to, "  %-16s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\n`cuzk VERB --help` explains one verb. `cuzk --version` prints the version.\n\n"
          "exit codes: 0 done and true; 1 the thing checked is false; 2 usage; 3 bad input;\n"
          "4 cannot read or write; 5 not enough memory or no such device; 6 a job failed, was\n"
          "cancelled or timed out; 70 a bug of ours; 75 a daemon is busy or unreachable.\n",
          to);
}

typedef struct {
    const cuzk_verb *verb;
    int argc;
    char **argv;
    int code;
} verb_call;

static void call_verb(void *arg) {
    verb_call *c = arg;
    c->code = c->verb->run(c->argc, c->argv);
}

/* On a stack of its own: transforms and hashes need more than a shell's limit may allow, and under
 * a limit on memory a stack that cannot grow would end the process with a signal. */
static int run_verb(const cuzk_verb *verb, int argc, char **argv) {
    verb_call c = {verb, argc, argv, 0};
    cuzk_err err = {0};
    cuzk_status st = cuzk_process_env(&err);
    if (st == CUZK_OK) st = cuzk_run_apart(call_verb, &c);
    if (st != CUZK_OK) return cuzk_cli_fail(verb->name, st, &err);
    return c.code;
}

#ifdef CUZK_HANDS_ON
/* Becomes cuzk-full with the same words, first among them the name this program was called by. Only
 * returns when that fails: the exit code. */
static int hand_on(const char *verb, char **argv) {
    char path[4096];
    if (!cuzk_process_beside(path, sizeof path, "cuzk-full"))
        snprintf(path, sizeof path, "cuzk-full");
    if (cuzk_same_file(path, "/proc/self/exe")) { /* or this would go on for ever */
        fprintf(stderr,
                "cuzk %s: this verb is in the program cuzk-full, and %s is the one without it: "
                "put the right one there\n",
                verb, path);
        return cuzk_status_exit_code(CUZK_STATUS_IO);
    }
    execvp(path, argv);
    fprintf(stderr, "cuzk %s: this verb is in the program %s, which cannot be started: %s\n", verb,
            path, strerror(errno));
    return cuzk_status_exit_code(CUZK_STATUS_IO);
}
#endif

int main(int argc, char **argv) {
    cuzk_process_init();
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return cuzk_cli_flush("--help", 0);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("cuzk %s (%s)\n", CUZK_VERSION, cuzk_cli_commit);
        return cuzk_cli_flush("--version", 0);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(argv[1], verbs[i].name) != 0) continue;
#ifdef CUZK_HANDS_ON
        if (!verbs[i].run || cuzk_cli_addr_given(argc - 1, argv + 1))
            return hand_on(verbs[i].name, argv);
#endif
        return run_verb(&verbs[i], argc - 1, argv + 1);
    }
    fprintf(stderr, "cuzk: unknown verb `%s`\nTry `cuzk --help`.\n", argv[1]);
    return 2;
}

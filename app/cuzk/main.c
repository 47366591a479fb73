/* The command line program: a table of verbs, one file each. */
#include "cli.h"
#include "verbs.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const cuzk_verb verbs[] = {
#define CUZK__VERB(verb_name, function, text) {verb_name, text, function},
    CUZK_VERBS(CUZK__VERB)
#undef CUZK__VERB
};

static void print_help(FILE *to) {
    fputs("cuzk proves and verifies Groth16: circom circuits today, Filecoin sectors next.\n\n"
          "usage: cuzk VERB [OPTIONS] ARGUMENTS\n\n",
          to);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        fprintf(to, "  %-16s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\n`cuzk VERB --help` explains one verb. `cuzk --version` prints the version.\n\n"
          "exit codes: 0 done and true; 1 the thing checked is false; 2 usage; 3 bad input;\n"
          "4 cannot read or write; 5 not enough memory or no such device; 70 a bug of ours.\n",
          to);
}

/* Makes the main thread's stack as deep as a proof will need it (a transform keeps 320 KiB there).
 * Under a limit on memory a stack that cannot grow ends the process with a signal; an allocation
 * that fails later is exit code 5. */
static __attribute__((noinline)) void reserve_stack(void) {
    volatile char area[512 << 10];
    for (size_t i = 0; i < sizeof area; i += 4096)
        area[i] = 0;
}

int main(int argc, char **argv) {
    reserve_stack();
    /* A closed pipe and a full quota are errors of the write, not the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return fflush(stdout) == 0 ? 0 : 4;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("cuzk %s (%s)\n", CUZK_VERSION, cuzk_cli_commit);
        return fflush(stdout) == 0 ? 0 : 4;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) return verbs[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "cuzk: unknown verb `%s`\nTry `cuzk --help`.\n", argv[1]);
    return 2;
}

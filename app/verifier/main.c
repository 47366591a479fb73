/* `verifier`: rapidsnark's command line, for scripts written for it. The result goes to stderr,
 * the exit code is 0 for a valid proof and 1 otherwise. */
#include "base/file.h"
#include "base/process.h"
#include "base/status.h"
#include "cuzk/verifier.h"

#include <stdio.h>

static cuzk_status run(char **path, cuzk_err *err) {
    cuzk_map map[3] = {{0}};
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 3 && st == CUZK_OK; i++)
        st = cuzk_map_file(&map[i], path[i], err);
    if (st == CUZK_OK)
        st = cuzk_verify((const char *)map[0].data, map[0].len, (const char *)map[1].data,
                         map[1].len, (const char *)map[2].data, map[2].len, err);
    for (int i = 0; i < 3; i++)
        cuzk_map_close(&map[i]);
    return st;
}

int main(int argc, char **argv) {
    cuzk_process_init();
    if (argc != 4) {
        fputs("Invalid number of parameters:\n"
              "Usage: verifier <verification_key.json> <inputs.json> <proof.json>\n",
              stderr);
        return 1;
    }
    cuzk_err err = {0};
    cuzk_status st = run(argv + 1, &err);
    if (st == CUZK_OK)
        fputs("Result: Valid proof\n", stderr);
    else if (st == CUZK_STATUS_FALSE)
        fputs("Result: Invalid proof\n", stderr);
    else
        fprintf(stderr, "Error: %s\n", err.msg[0] ? err.msg : cuzk_status_text(st));
    return st == CUZK_OK ? 0 : 1;
}

#include "cli.h"
#include "verbs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/progress.h"
#include "circuit/circuits.h"
#include "r1cs/figures.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk circuit list [--json]\n"
    "       cuzk circuit info NAME [--json]\n"
    "       cuzk circuit digest NAME [--json]\n"
    "       cuzk circuit shapes NAME [--json]\n"
    "       cuzk circuit row NAME NUMBER [--json]\n"
    "\n"
    "The circuits of Filecoin's proofs. list names them; info prints their figures; digest prints\n"
    "the BLAKE2s-256 digest of every constraint in order (of porep-32g in some minutes); shapes\n"
    "shows the repeated blocks that the compact form is made of; row names the step of the "
    "circuit\n"
    "that a constraint (counted from 0) belongs to.\n"
    "\n"
    "example: cuzk circuit info porep-2k\n";

enum { JSON_OPT = 256 };

static int end(int rc) {
    return cuzk_cli_flush("circuit", rc);
}

static int list(bool json) {
    const cuzk_circuit *c;
    if (json) fputs("[", stdout);
    for (size_t i = 0; (c = cuzk_circuit_at(i)) != NULL; i++) {
        if (json)
            printf("%s{\"name\":\"%s\",\"what\":\"%s\"}", i ? "," : "", c->name, c->what);
        else
            printf("%-20s %s\n", c->name, c->what);
    }
    if (json) puts("]");
    return end(0);
}

static cuzk_status info(const cuzk_circuit *c, const cuzk_r1cs *r, bool json, cuzk_err *err) {
    cuzk_r1cs_figures f;
    const cuzk_status st = cuzk_r1cs_count(&f, r);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory to count wires");
    const struct {
        const char *key, *text;
        uint64_t value;
    } rows[] = {
        {"constraints", "constraints", f.constraints},
        {"inputs", "public inputs, with ONE", f.inputs},
        {"aux", "other wires", f.aux},
        {"nnz_a", "coefficients of A", f.nnz[0]},
        {"nnz_b", "coefficients of B", f.nnz[1]},
        {"nnz_c", "coefficients of C", f.nnz[2]},
        {"a_aux_density", "other wires in A", f.a_aux},
        {"b_input_density", "public inputs in B", f.b_input},
        {"b_aux_density", "other wires in B", f.b_aux},
        {"log2_domain", "log2 of the domain", f.log2_domain},
        {"params_bytes", "bytes of .params", f.params_bytes},
        {"vk_bytes", "bytes of .vk", f.vk_bytes},
        {"bit_wires", "wires known to be bits", f.bits},
        {"free_values", "values given from outside", r->n_free},
        {"shapes", "shapes", r->n_shapes},
        {"instances", "instances", r->n_insts},
        {"compact_bytes", "bytes of the compact form", cuzk_r1cs_bytes(r)},
    };
    if (json)
        printf("{\"name\":\"%s\"", c->name);
    else
        printf("%s: %s\n", c->name, c->what);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (json)
            printf(",\"%s\":%llu", rows[i].key, (unsigned long long)rows[i].value);
        else
            printf("  %-26s %llu\n", rows[i].text, (unsigned long long)rows[i].value);
    }
    if (json) puts("}");
    return CUZK_OK;
}

static cuzk_status digest(const cuzk_circuit *c, const cuzk_r1cs *r, bool json, cuzk_err *err) {
    cuzk_progress progress;
    uint8_t d[32];
    cuzk_progress_begin(&progress, stderr, c->name, r->n_rows);
    const cuzk_status st = cuzk_r1cs_digest(d, r, &progress);
    cuzk_progress_end(&progress);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "cannot hash the constraints of %s", c->name);
    if (json) printf("{\"name\":\"%s\",\"digest\":\"", c->name);
    for (int i = 0; i < 32; i++)
        printf("%02x", d[i]);
    puts(json ? "\"}" : "");
    return CUZK_OK;
}

static cuzk_status shapes(const cuzk_circuit *c, const cuzk_r1cs *r, bool json, cuzk_err *err) {
    uint32_t *times;
    if (cuzk_alloc((void **)&times, r->n_shapes, sizeof *times) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    for (uint32_t i = 0; i < r->n_insts; i++)
        times[r->insts[i].shape]++;
    if (json)
        printf("{\"name\":\"%s\",\"shapes\":[", c->name);
    else
        printf("%-20s %9s %9s %9s %9s %8s\n", "block", "times", "rows", "wires", "terms", "ports");
    for (uint32_t i = 0; i < r->n_shapes; i++) {
        const cuzk_r1cs_shape *s = &r->shapes[i];
        const char *name =
            s->name == CUZK_R1CS_NONE ? "(rows between)" : r->names + r->name_offs[s->name];
        const uint32_t wires = s->n_inputs + s->n_aux, ports = s->n_port_inputs + s->n_port_aux;
        printf(json ? "%s{\"block\":\"%s\",\"times\":%u,\"rows\":%u,\"wires\":%u,\"terms\":%u,"
                      "\"ports\":%u}"
                    : "%s%-20s %9u %9u %9u %9u %8u\n",
               json && i ? "," : "", name, times[i], s->n_rows, wires, s->n_terms, ports);
    }
    if (json) puts("]}");
    cuzk_free(times);
    return CUZK_OK;
}

static cuzk_status row(const cuzk_circuit *c, const cuzk_r1cs *r, uint64_t number, bool json,
                       cuzk_err *err) {
    cuzk_buf path = CUZK_BUF_INIT;
    if (number >= r->n_rows)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s has rows 0 to %u, not %llu", c->name,
                            r->n_rows - 1, (unsigned long long)number);
    cuzk_r1cs_row_path(r, (uint32_t)number, &path);
    const cuzk_status st = cuzk_buf_status(&path);
    if (st == CUZK_OK && json)
        printf("{\"name\":\"%s\",\"row\":%llu,\"path\":\"%s\"}\n", c->name,
               (unsigned long long)number, path.len ? path.data : "");
    else if (st == CUZK_OK)
        puts(path.len ? path.data : "");
    cuzk_buf_free(&path);
    return st;
}

static int on_circuit(const char *what, int n, char **args, bool json) {
    cuzk_err err = {0};
    cuzk_r1cs *r = NULL;
    uint64_t number = 0;
    const bool is_row = strcmp(what, "row") == 0;
    if (n != (is_row ? 2 : 1))
        return cuzk_cli_usage("circuit", "%s wants NAME%s", what, is_row ? " NUMBER" : "");
    if (is_row && !cuzk_cli_number(args[1], 0, UINT32_MAX, &number))
        return cuzk_cli_usage("circuit", "`%s` is no row number", args[1]);
    const cuzk_circuit *c = cuzk_circuit_find(args[0]);
    if (!c)
        return cuzk_cli_usage("circuit", "no circuit is called `%s`; see `cuzk circuit list`",
                              args[0]);
    cuzk_status st = cuzk_circuit_compact(&r, c, &err);
    if (st == CUZK_OK) {
        if (is_row)
            st = row(c, r, number, json, &err);
        else if (strcmp(what, "info") == 0)
            st = info(c, r, json, &err);
        else if (strcmp(what, "shapes") == 0)
            st = shapes(c, r, json, &err);
        else
            st = digest(c, r, json, &err);
    }
    cuzk_r1cs_free(r);
    return st == CUZK_OK ? end(0) : cuzk_cli_fail("circuit", st, &err);
}

int cuzk_cmd_circuit(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
                                          {"json", no_argument, NULL, JSON_OPT},
                                          {NULL, 0, NULL, 0}};
    static const char *const known[] = {"info", "digest", "shapes", "row"};
    bool json = false;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return fputs(help, stdout) < 0 ? 4 : end(0);
        if (c != JSON_OPT) return cuzk_cli_bad_option("circuit", c, argv);
        json = true;
    }
    const int n = argc - optind;
    char **args = argv + optind;
    if (n < 1) return cuzk_cli_usage("circuit", "wants list, info, digest, shapes or row");
    if (strcmp(args[0], "list") == 0)
        return n == 1 ? list(json) : cuzk_cli_usage("circuit", "list takes no arguments");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(args[0], known[i]) == 0) return on_circuit(args[0], n - 1, args + 1, json);
    return cuzk_cli_usage("circuit", "unknown subcommand `%s`", args[0]);
}

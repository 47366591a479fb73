#include "cli.h"
#include "verbs.h"

#include "base/bytes.h"
#include "format/decimal.h"
#include "format/r1cs.h"
#include "format/r1cs_check.h"
#include "format/sym.h"
#include "format/wtns.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk wtns check R1CS WTNS [--sym FILE] [--threads N]\n"
    "\n"
    "Tells whether a witness satisfies a circuit. If not, shows the first constraint A * B = C\n"
    "that does not hold with the values of A, B, C and of the signals in them, and exits with 1.\n"
    "Numbers above half the prime are shown as negative ones.\n"
    "\n"
    "  --sym FILE    circom's .sym file: signals by name (compile with --sym)\n"
    "  --threads N   threads to use; 0 (default): one per core\n"
    "\n"
    "example: cuzk wtns check circuit.r1cs witness.wtns --sym circuit.sym\n";

enum { TERMS_SHOWN = 24 };

/* x as a number between -r/2 and r/2. */
static void print_number(FILE *to, const cuzk_fr_ops *fr, const cuzk_u256 *x) {
    static const cuzk_u256 zero;
    char text[CUZK_DECIMAL_MAX];
    cuzk_u256 minus;
    fr->sub(&minus, &zero, x);
    bool negative = false; /* x > r - x */
    for (int i = 3; i >= 0; i--) {
        if (x->l[i] == minus.l[i]) continue;
        negative = x->l[i] > minus.l[i];
        break;
    }
    cuzk_decimal_from_limbs(text, negative ? minus.l : x->l, 4);
    fprintf(to, "%s%s", negative ? "-" : "", text);
}

static void print_signal(FILE *to, const cuzk_sym *sym, uint32_t wire) {
    size_t len;
    const char *name = cuzk_sym_name(sym, wire, &len);
    if (wire == 0) {
        fputs("the constant 1", to);
    } else if (name) {
        for (size_t i = 0; i < len; i++)
            fputc(name[i] < ' ' || name[i] == 0x7f ? '?' : name[i], to);
        fprintf(to, " (wire %u)", wire);
    } else {
        fprintf(to, "wire %u", wire);
    }
}

static void print_lc(FILE *to, const cuzk_wtns *w, const cuzk_sym *sym,
                     const cuzk_circom_r1cs_lc *lc) {
    const cuzk_fr_ops *fr = w->curve->fr;
    const uint8_t *t = lc->terms;
    for (uint32_t i = 0; i < lc->n && i < TERMS_SHOWN; i++, t += CUZK_R1CS_TERM_SIZE) {
        cuzk_u256 coef, value;
        uint32_t wire = cuzk_ld_u32le(t);
        memcpy(&coef, t + 4, sizeof coef);
        memcpy(&value, w->values + (size_t)wire * sizeof value, sizeof value);
        fputs("      ", to);
        print_number(to, fr, &coef);
        fputs(" * ", to);
        print_signal(to, sym, wire);
        if (wire) {
            fputs(" = ", to);
            print_number(to, fr, &value);
        }
        fputc('\n', to);
    }
    if (lc->n > TERMS_SHOWN) fprintf(to, "      and %u terms more\n", lc->n - TERMS_SHOWN);
}

static void explain(FILE *to, const cuzk_wtns *w, const cuzk_sym *sym,
                    const cuzk_circom_r1cs_failure *f) {
    const cuzk_fr_ops *fr = w->curve->fr;
    cuzk_u256 ab;
    fr->to_mont(&ab, &f->value[0]);
    fr->mul(&ab, &ab, &f->value[1]);
    fputs("  A * B = ", to);
    print_number(to, fr, &ab);
    fputs(", C = ", to);
    print_number(to, fr, &f->value[2]);
    fputc('\n', to);
    for (int k = 0; k < 3; k++) {
        fprintf(to, "  %c = ", "ABC"[k]);
        print_number(to, fr, &f->value[k]);
        fputs(f->row.lc[k].n ? ", the sum of\n" : ", without terms\n", to);
        print_lc(to, w, sym, &f->row.lc[k]);
    }
}

static int check(const char *r1cs, const char *wtns, const char *symbols, unsigned threads) {
    cuzk_err err = {0};
    cuzk_circom_r1cs *r = NULL;
    cuzk_wtns *w = NULL;
    cuzk_sym *sym = NULL;
    cuzk_pool *pool = NULL;
    cuzk_circom_r1cs_failure f;
    int code = 0;
    cuzk_status st = cuzk_pool_new(&pool, threads);
    if (st != CUZK_OK) cuzk_err_set(&err, st, "cannot start %u threads", threads);
    if (st == CUZK_OK) st = cuzk_circom_r1cs_open(&r, r1cs, &err);
    if (st == CUZK_OK) st = cuzk_wtns_open(&w, wtns, &err);
    if (st == CUZK_OK && symbols) st = cuzk_sym_open(&sym, symbols, r->n_wires, &err);
    if (st == CUZK_OK) st = cuzk_circom_r1cs_check(r, w, pool, &f, &err);
    if (st == CUZK_OK) {
        printf("the witness satisfies all %u constraints\n", r->n_constraints);
        code = cuzk_cli_flush("wtns", code);
    } else {
        code = cuzk_cli_fail("wtns check", st, &err);
        if (st == CUZK_STATUS_FALSE) explain(stderr, w, sym, &f);
    }
    cuzk_sym_free(sym);
    cuzk_wtns_free(w);
    cuzk_circom_r1cs_free(r);
    cuzk_pool_free(pool);
    return code;
}

int cuzk_cmd_wtns(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
                                          {"sym", required_argument, NULL, 's'},
                                          {"threads", required_argument, NULL, 't'},
                                          {NULL, 0, NULL, 0}};
    const char *sym = NULL;
    unsigned threads = 0;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("wtns", help);
        if (c == 's')
            sym = optarg;
        else if (c != 't')
            return cuzk_cli_bad_option("wtns", c, argv);
        else if (!cuzk_cli_threads(optarg, &threads))
            return cuzk_cli_usage("wtns", "--threads %s: not a number up to 4096", optarg);
    }
    if (argc - optind < 1 || strcmp(argv[optind], "check") != 0)
        return cuzk_cli_usage("wtns", "wants the word `check` first");
    if (argc - optind != 3)
        return cuzk_cli_usage("wtns", "check wants R1CS WTNS, got %d arguments", argc - optind - 1);
    return check(argv[optind + 1], argv[optind + 2], sym, threads);
}

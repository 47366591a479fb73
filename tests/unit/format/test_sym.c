#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "format/sym.h"

#include <stdio.h>
#include <string.h>

static const char mul3[] = "1,1,0,main.d\n"
                           "2,2,0,main.a\n"
                           "3,3,0,main.b\n"
                           "4,4,0,main.c[0]\n"
                           "5,5,1,main.sub.t\n"
                           "6,-1,1,main.sub.gone\n"
                           "7,2,1,main.sub.a\n";

static void names_of_wires(void **state) {
    (void)state;
    static const char *const want[] = {NULL,     "main.d",    "main.a",
                                       "main.b", "main.c[0]", "main.sub.t"};
    /* with and without the last line's end, and with Windows' line ends */
    for (int form = 0; form < 3; form++) {
        char text[512];
        size_t n = 0;
        for (const char *p = mul3; *p; p++) {
            if (form == 2 && *p == '\n') text[n++] = '\r';
            text[n++] = *p;
        }
        if (form == 1) n--;
        blob exact = blob_copy(text, n);
        cuzk_sym *s;
        cuzk_err err = {0};
        assert_int_equal(cuzk_sym_from_memory(&s, (char *)exact.p, n, 6, "x.sym", &err), CUZK_OK);
        for (uint32_t w = 0; w < 6; w++) {
            size_t len = 0;
            const char *name = cuzk_sym_name(s, w, &len);
            if (!want[w]) {
                assert_null(name);
                continue;
            }
            assert_non_null(name);
            assert_int_equal(len, strlen(want[w]));
            assert_memory_equal(name, want[w], len);
        }
        size_t len;
        assert_null(cuzk_sym_name(s, 6, &len));
        assert_null(cuzk_sym_name(NULL, 1, &len));
        cuzk_sym_free(s);
        blob_free(&exact);
    }
}

static void bad_lines(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } row[] = {
        {"1,1,0,main.a\n\n", "line 2 at offset 13"},
        {"1,1,0,main.a\n1", "line 2 at offset 14"},
        {"x,1,0,main.a\n", "offset 0: expected a label"},
        {",1,0,main.a\n", "expected a label"},
        {"-1,1,0,main.a\n", "expected a label"},
        {"1 ,1,0,main.a\n", "expected a label"},
        {"18446744073709551616,1,0,main.a\n", "expected a label"},
        {"1,,0,main.a\n", "expected a wire"},
        {"1,-,0,main.a\n", "expected a wire"},
        {"1,-2,0,main.a\n", "expected a wire"},
        {"1,0x1,0,main.a\n", "expected a wire"},
        {"1,6,0,main.a\n", "below 6"},
        {"1,4294967296,0,main.a\n", "below 6"},
        {"1,18446744073709551615,0,main.a\n", "below 6"},
        {"1,1,main.a\n", "component"},
        {"1,1,-1,main.a\n", "component"},
        {"1,1,0\n", "component"},
        {"1,1,0,\n", "name"},
        {"1,1,0,", "name"},
        {"1,-1,0,\n", "name"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = blob_copy(row[i].text, strlen(row[i].text));
        cuzk_sym *s;
        cuzk_err err = {0};
        cuzk_status st = cuzk_sym_from_memory(&s, (char *)b.p, b.n, 6, "x.sym", &err);
        assert_null(s);
        assert_bad_input(st, &err, row[i].part, "x.sym: line");
        blob_free(&b);
    }
}

/* Every cut either ends a name early or is refused; none is read past its end. */
static void cut_at_every_offset(void **state) {
    (void)state;
    for (size_t n = 0; n < strlen(mul3); n++) {
        blob b = blob_copy(mul3, n);
        cuzk_sym *s;
        cuzk_err err = {0};
        cuzk_status st = cuzk_sym_from_memory(&s, (char *)b.p, n, 6, "x.sym", &err);
        bool line_end = n == 0 || mul3[n - 1] == '\n';
        const char *start = mul3 + n;
        while (start > mul3 && start[-1] != '\n')
            start--;
        int commas = 0;
        for (const char *p = start; p < mul3 + n; p++)
            commas += *p == ',';
        bool whole = line_end || (commas == 3 && mul3[n - 1] != ',');
        assert_int_equal(st, whole ? CUZK_OK : CUZK_STATUS_BAD_INPUT);
        cuzk_sym_free(s);
        blob_free(&b);
    }
}

static void no_file(void **state) {
    (void)state;
    cuzk_sym *s;
    cuzk_err err = {0};
    assert_int_equal(cuzk_sym_open(&s, "/nonexistent/x.sym", 1, &err), CUZK_STATUS_IO);
    assert_null(s);
    assert_has(err.msg, "/nonexistent/x.sym");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_wires),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(cut_at_every_offset),
        cmocka_unit_test(no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#!/usr/bin/env python3
"""Plants one violation at a time in a small tree and expects the checkers to name it."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()

CLEAN = {
    "tools/layers.txt": "base:\nfield: base\ncurve: base field\ncore: base\n"
                        "app: base field curve core\npure core: stdint.h base/status.h\n"
                        "third-party openssl/: base/hash.c\nthird-party blst.h: field\n"
                        "third-party gmp.h: tests\n",
    "src/core/core.c": '#include "base/status.h"\n\n#include <stdint.h>\n\n'
                       "static const int table[] = {1};\n/* malloc( */\n"
                       "static inline int twice(int runtime) {\n    return 2 * runtime;\n}\n",
    "src/core/CMakeLists.txt": "cuzk_module(core SOURCES core.c DEPS base)\n",
    "src/base/status.h": "#ifndef CUZK_BASE_STATUS_H\n#define CUZK_BASE_STATUS_H\n\n"
                         "#include <stdint.h>\n\n#endif\n",
    "src/base/hash.c": '#include "base/status.h"\n\n#include <openssl/evp.h>\n',
    "src/base/CMakeLists.txt": "cuzk_module(base SOURCES hash.c LIBS OpenSSL::Crypto)\n",
    "src/field/field.h": "#ifndef CUZK_FIELD_FIELD_H\n#define CUZK_FIELD_FIELD_H\n\n"
                         '#include "base/status.h"\n\n#endif\n',
    "src/field/CMakeLists.txt": "cuzk_module(field SOURCES field.c DEPS base)\n",
    "src/curve/curve.c": '#include "base/status.h"\n#include "field/field.h"\n',
    "src/curve/CMakeLists.txt": "cuzk_module(curve SOURCES curve.c DEPS base field)\n",
    "include/cuzk/cuzk.h": "#ifndef CUZK_CUZK_H\n#define CUZK_CUZK_H\n\n#include <stdint.h>\n\n"
                           "#endif\n",
    "app/cuzk/main.c": '#include "curve/curve.h"\n\n#include <stdlib.h>\n\n'
                       "int main(void) {\n    exit(0);\n}\n",
    "README.md": "See [the code](src/base/hash.c).\n",
}


class PlantedTree(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="cuzk-checkers-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in CLEAN.items():
            self.plant(name, text)
        shutil.copy(ROOT / ".clang-format", self.root / ".clang-format")

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_tool(self, tool, *arguments):
        run = subprocess.run([sys.executable, str(ROOT / "tools" / tool), str(self.root),
                              *arguments], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


class LayerRules(PlantedTree):
    def expect(self, text, status=1):
        code, output = self.run_tool("check_layers.py")
        self.assertEqual(code, status, output)
        self.assertIn(text, output)

    def test_clean_tree(self):
        self.expect("0 violations", 0)

    def test_upward_include(self):
        self.plant("src/base/bad.c", '#include "curve/curve.h"\n')
        self.expect("src/base/bad.c:1: base may not include curve")

    def test_commented_include_is_no_include(self):
        self.plant("src/base/good.c", '/* #include "curve/curve.h" */\n')
        self.expect("0 violations", 0)

    def test_include_not_in_deps(self):
        self.plant("src/curve/CMakeLists.txt", "cuzk_module(curve SOURCES curve.c DEPS base)\n")
        self.expect("curve includes field but its DEPS do not")

    def test_deps_beyond_layers(self):
        self.plant("src/field/CMakeLists.txt", "cuzk_module(field SOURCES f.c DEPS base curve)\n")
        self.expect("DEPS of field has curve")

    def test_undeclared_module(self):
        self.plant("src/extra/x.c", "\n")
        self.expect("its module is not in layers.txt")

    def test_third_party_elsewhere(self):
        self.plant("src/curve/hash.c", "#include <openssl/evp.h>\n")
        self.expect("<openssl/evp.h> is not allowed here")

    def test_test_library_in_source(self):
        self.plant("src/field/big.c", "#include <gmp.h>\n")
        self.expect("<gmp.h> is not allowed here")

    def test_unknown_library(self):
        self.plant("src/base/x.c", "#include <zlib.h>\n")
        self.expect("<zlib.h> is neither C library nor named")

    def test_cuda_outside_cuda(self):
        self.plant("src/field/x.c", "#include <cuda_runtime_api.h>\n")
        self.expect("CUDA header outside CUDA code")

    def test_installed_header(self):
        self.plant("include/cuzk/more.h", '#include "base/status.h"\n')
        self.expect("an installed header includes base/status.h")

    def test_header_in_pure(self):
        for header in ("<time.h>", '"base/thread.h"', "<stdio.h>"):
            with self.subTest(header=header):
                self.plant("src/core/x.c", f"#include {header}\n")
                self.expect(f"src/core/x.c:1: pure core may not include {header[1:-1]}")

    def test_call_in_pure(self):
        for text in ("    free(p);", "    pthread_mutex_lock(m);", "    _Atomic int x;",
                     "    return time(0);", "    cuzk_alloc(&p, 1, 1);", "    printf(s);"):
            with self.subTest(text=text):
                self.plant("src/core/x.c", "void f(void) {\n" + text + "\n}\n")
                self.expect("src/core/x.c:2: " + text.split("(")[0].split()[-1 if "(" in text
                                                                            else 0])

    def test_variable_in_pure(self):
        for text in ("static int count;", "static char *names[4] = {0};"):
            with self.subTest(text=text):
                self.plant("src/core/x.c", text + "\n")
                self.expect("is a variable that outlives a call of core")

    def test_app_is_not_named(self):
        self.plant("tools/layers.txt", "base:\nfield: curve\ncurve: base\n")
        self.expect("which is not below it", 2)


class StyleRules(PlantedTree):
    def expect(self, rule, text, status=1):
        code, output = self.run_tool("check_style.py", "--only", rule)
        if code == 2:
            self.skipTest(output.strip())
        self.assertEqual(code, status, output)
        self.assertIn(text, output)

    def test_clean_tree(self):
        for rule in ("banned", "length", "guards", "text", "links", "complexity", "format"):
            with self.subTest(rule=rule):
                self.expect(rule, "0 violations", 0)

    def test_banned_function(self):
        self.plant("src/base/x.c", "void f(char *a, char *b) {\n    strcpy(a, b);\n}\n")
        self.expect("banned", "src/base/x.c:2: strcpy()")

    def test_word_in_comment_or_name(self):
        self.plant("src/base/x.c", '/* strcpy(a) */\nint my_rand(int);\nchar *s = "gets(x)";\n')
        self.expect("banned", "0 violations", 0)

    def test_raw_malloc(self):
        self.plant("src/field/x.c", "void *f(void) {\n    return malloc(1);\n}\n")
        self.expect("banned", "src/field/x.c:2: malloc()")

    def test_environment_changed(self):
        self.plant("app/x.c", 'void f(void) {\n    setenv("A", "1", 1);\n}\n')
        self.expect("banned", "app/x.c:2: setenv()")
        self.plant("app/x.c", "int f(void);\n")
        self.plant("tests/x.c", 'void f(void) {\n    setenv("A", "1", 1);\n}\n')
        self.expect("banned", "0 violations", 0)

    def test_exit_in_library(self):
        self.plant("src/field/x.c", "void f(void) {\n    abort();\n}\n")
        self.expect("banned", "src/field/x.c:2: abort()")

    def test_mark(self):
        self.plant("src/field/x.c", "/* " + "TO" + "DO: later */\n")
        self.expect("banned", "finish it or file an issue")

    def test_long_file(self):
        self.plant("src/field/x.c", "\n" * 801)
        self.expect("length", "801 lines; 800 is the limit")

    def test_long_generated_file(self):
        self.plant("src/field/x.h", "/* Generated by a test. */\n" + "\n" * 900)
        self.expect("length", "0 violations", 0)

    def test_long_function(self):
        self.plant("src/field/x.c", "void f(void) {\n" + "    g();\n" * 120 + "}\n")
        self.expect("complexity", "122 lines; 120 is the limit")

    def test_complex_function(self):
        self.plant("src/field/x.c", "void f(int a) {\n" + "    if (a)\n        a++;\n" * 20 + "}\n")
        self.expect("complexity", "complexity 21; 20 is the limit")

    def test_wrong_guard(self):
        self.plant("src/field/x.h", "#ifndef X_H\n#define X_H\n#endif\n")
        self.expect("guards", "should be CUZK_FIELD_X_H")

    def test_format(self):
        self.plant("src/field/x.c", "int  f(void){return 1;}\n")
        self.expect("format", "src/field/x.c:1: clang-format-14")

    def test_machine_path(self):
        self.plant("docs/x.md", "Look in /" + "home/someone/cuzk.\n")
        self.expect("text", "docs/x.md:1: a path of one machine")

    def test_trailing_blank_and_tab(self):
        self.plant("src/base/x.c", "int a; \nint\tb;\nint c;")
        for text in ("x.c:1: trailing", "x.c:2: a tab", "x.c:3: no newline"):
            self.expect("text", text)

    def test_dead_link(self):
        self.plant("docs/x.md", "[gone](gone.md)\n")
        self.expect("links", "the link gone.md leads nowhere")

    def test_shell(self):
        self.plant("tools/x.sh", "#!/bin/sh\nrm $1\n")
        self.expect("scripts", "SC2086")

    def test_python(self):
        self.plant("tools/x.py", "def f(:\n")
        self.expect("scripts", "tools/x.py:1: Python")


class Skips(unittest.TestCase):
    def check(self, statuses, text):
        with tempfile.TemporaryDirectory(prefix="cuzk-skips-") as tmp:
            tree = pathlib.Path(tmp)
            for directory in ("tools", "tests"):
                (tree / directory).mkdir()
            shutil.copy(ROOT / "tools" / "check_skips.py", tree / "tools")
            (tree / "tests" / "expected_skips.txt").write_text(text)
            cases = "".join(f'<testcase name="{n}" status="{s}"/>' for n, s in statuses.items())
            (tree / "run.xml").write_text(f"<testsuite>{cases}</testsuite>")
            return subprocess.run([sys.executable, str(tree / "tools" / "check_skips.py"),
                                   str(tree / "run.xml")], capture_output=True,
                                  check=False).returncode

    def test_agreement(self):
        self.assertEqual(self.check({"a": "run", "b": "notrun"}, "b # why\n"), 0)
        self.assertEqual(self.check({"a": "run"}, "b\n"), 0)
        self.assertEqual(self.check({"a": "run"}, "a unless sh\n"), 0)
        self.assertEqual(self.check({"a": "notrun"}, "a unless no-such-command\n"), 0)

    def test_difference(self):
        self.assertEqual(self.check({"a": "notrun"}, ""), 1)
        self.assertEqual(self.check({"a": "run"}, "a\n"), 1)
        self.assertEqual(self.check({"a": "run"}, "a unless no-such-command\n"), 1)


class Drift(unittest.TestCase):
    def test_changed_constant(self):
        with tempfile.TemporaryDirectory(prefix="cuzk-drift-") as tmp:
            tree = pathlib.Path(tmp)
            (tree / "tools").mkdir()
            shutil.copy(ROOT / "tools" / "gen_params.py", tree / "tools")
            shutil.copytree(ROOT / "src" / "field", tree / "src" / "field")
            command = [sys.executable, str(tree / "tools" / "gen_params.py"), "--check"]
            self.assertEqual(subprocess.run(command, check=False).returncode, 0)
            header = tree / "src" / "field" / "bn254_params.h"
            header.write_text(header.read_text().replace("0x", "0x1", 1))
            self.assertNotEqual(subprocess.run(command, capture_output=True,
                                               check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()

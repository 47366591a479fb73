#!/usr/bin/env python3
"""Checks that modules only depend on what tools/layers.txt allows.

Looks at every #include under src/, app/ and include/, and at DEPS in src/*/CMakeLists.txt:
  - a module includes only itself and the modules its line names, and those stand above it;
  - CMake's DEPS of a module are the same as, or fewer than, its line, and cover its includes;
  - third-party headers are included only where layers.txt says; unknown ones nowhere;
  - CUDA headers only in .cu and .cuh files and under backend/cuda;
  - a module that layers.txt calls pure includes only the headers listed there, names no thread,
    lock, clock, allocation, input or output, and has no variable that outlives a call;
  - the installed headers (include/) include only the C library and each other, and besides
    the program surfaces only base/status.h includes one of them.
Exit status: 0 clean, 1 violations (one line each), 2 usage or a broken layers.txt."""

import argparse
import pathlib
import re
import sys

SOURCE_SUFFIXES = {".c", ".h", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
C_LIBRARY = re.compile(
    r"^(assert|complex|ctype|dirent|dlfcn|elf|errno|fcntl|fenv|float|ftw|getopt|immintrin|inttypes|libgen|"
    r"limits|link|locale|malloc|math|poll|pthread|sched|semaphore|setjmp|signal|spawn|stdalign|stdarg|"
    r"stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|termios|time|"
    r"unistd|wchar|x86intrin|netdb|cpuid|arm_neon)\.h$|^(sys|linux|asm|arpa|net|netinet)/")
CUDA = re.compile(r"^(cuda|cub/|nvtx3/|cooperative_groups|curand|nvml|thrust/)")

IMPURE = re.compile(
    r"(?<![\w.>])("
    r"pthread_\w+|thrd_\w+|mtx_\w+|cnd_\w+|sem_\w+|atomic_\w+|_Atomic|__atomic_\w+|__sync_\w+|"
    r"_Thread_local|volatile|"
    r"time|clock|clock_\w+|gettimeofday|nanosleep|usleep|sleep|timespec_get|cuzk_now_ns|cuzk_cpu_ns|"
    r"malloc|calloc|realloc|free|alloca|mmap|cuzk_alloc|cuzk_realloc|cuzk_free|cuzk_big_\w+|"
    r"cuzk_strdup|cuzk_buf_\w+|printf|[fsvd]\w*printf|f?puts|fopen|fread|fwrite|open|read|write|"
    r"getenv|syscall|cuzk_random|cuzk_pool_\w+|cuzk_fault|rand)(?=\s*\(|\s+\w|\s*\*)")
STATIC_VARIABLE = re.compile(r"^[ \t]*static\s+(?!inline\b|const\b)[\w\s*]+?(\w+)\s*(\[[^;{]*)?[=;]", re.M)


class Layers:
    """What layers.txt says."""

    def __init__(self, path):
        self.allowed = {}  # module -> set of modules, in file order
        self.third_party = {}  # header prefix -> list of places
        self.pure = {}  # module -> headers
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            name, colon, rest = line.partition(":")
            if not colon:
                raise ValueError(f"{path}:{number}: no colon")
            if name.startswith("third-party "):
                self.third_party[name.split()[1]] = rest.split()
                continue
            if name.startswith("pure "):
                module = name.split()[1]
                if module not in self.allowed:
                    raise ValueError(f"{path}:{number}: no module {module}")
                self.pure[module] = set(rest.split())
                continue
            for dep in rest.split():
                if dep not in self.allowed:
                    raise ValueError(f"{path}:{number}: {name} names {dep}, which is not below it")
                if dep == "app":
                    raise ValueError(f"{path}:{number}: nobody may name app")
            self.allowed[name] = set(rest.split())

    def module_of(self, relative):
        """The longest declared module that holds a path relative to src/, or None."""
        parts = pathlib.PurePosixPath(relative).parts[:-1]
        for end in range(len(parts), 0, -1):
            name = "/".join(parts[:end])
            if name in self.allowed:
                return name
        return None

    def third_party_places(self, header):
        for prefix, places in self.third_party.items():
            if header == prefix or (prefix.endswith("/") and header.startswith(prefix)):
                return places
        return None


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def includes(path):
    text = strip_comments(path.read_text(errors="replace"))
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == "<", match.group(2)


def sources(root):
    if root.is_dir():
        for path in sorted(root.rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path


class Checker:
    def __init__(self, tree, layers):
        self.tree, self.layers, self.errors = tree, layers, []
        self.used = {}  # module -> {module it includes: where}

    def error(self, path, line, text):
        self.errors.append(f"{path.relative_to(self.tree)}:{line}: {text}")

    def check_angle(self, path, line, module, header):
        relative = path.relative_to(self.tree).as_posix()
        in_cuda = path.suffix in {".cu", ".cuh"} or "/backend/cuda/" in "/" + relative
        if CUDA.match(header):
            if not in_cuda:
                self.error(path, line, f"<{header}> is a CUDA header outside CUDA code")
            return
        places = self.layers.third_party_places(header)
        if places is None:
            known = C_LIBRARY.match(header) or (in_cuda and "." not in header)
            if module == "app" and header.startswith(("cuzk/", "rapidsnark/")):
                known = True
            if not known:
                self.error(path, line, f"<{header}> is neither C library nor named in layers.txt")
            return
        inner = relative[len("src/"):] if relative.startswith("src/") else relative
        if not any(inner == p or module == p or inner.startswith(p + "/") for p in places):
            self.error(path, line, f"<{header}> is not allowed here (only {', '.join(places)})")

    def check_quote(self, path, line, module, header):
        if "/" not in header or header.startswith("."):
            if header.startswith(".."):
                self.error(path, line, f'"{header}" climbs out of its directory')
            elif not (path.parent / header).is_file():
                self.error(path, line, f'"{header}" is not beside this file')
            return
        if header.startswith(("cuzk/", "rapidsnark/")):
            inside = path.relative_to(self.tree).as_posix()
            if module not in {"api", "compat", "app"} and inside != "src/base/status.h":
                self.error(path, line, f"{module} includes the installed header {header}")
            return
        target = self.layers.module_of(header)
        if target is None:
            if module != "app" or not (path.parent / header).is_file():
                self.error(path, line, f'"{header}" belongs to no module')
            return
        if target == module:
            return
        self.used.setdefault(module, {}).setdefault(target, (path, line))
        if target not in self.layers.allowed.get(module, set()):
            self.error(path, line, f"{module} may not include {target} ({header})")

    def check_sources(self):
        for path in sources(self.tree / "src"):
            relative = path.relative_to(self.tree / "src").as_posix()
            module = self.layers.module_of(relative)
            if module is None:
                self.error(path, 1, "its module is not in layers.txt")
                continue
            self.check_file(path, module)
        for path in sources(self.tree / "app"):
            self.check_file(path, "app")
        for path in sources(self.tree / "include"):
            for line, angle, header in includes(path):
                beside = header.startswith("cuzk/") and (self.tree / "include" / header).is_file()
                if not beside and not (angle and C_LIBRARY.match(header)):
                    self.error(path, line, f"an installed header includes {header}")

    def check_pure(self, path, module):
        text = strip_comments(path.read_text(errors="replace"))
        text = re.sub(r'^[ \t]*#[ \t]*include[^\n]*', "", text, flags=re.M)
        text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
        for pattern, what in ((IMPURE, "does not belong into pure"),
                              (STATIC_VARIABLE, "is a variable that outlives a call of")):
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start(1)) + 1
                self.error(path, line, f"{match.group(1)} {what} {module}")

    def check_file(self, path, module):
        if module in self.layers.pure:
            self.check_pure(path, module)
        for line, angle, header in includes(path):
            known = self.layers.pure.get(module)
            outside = angle or ("/" in header and self.layers.module_of(header) != module)
            if known is not None and outside and header not in known:
                self.error(path, line, f"pure {module} may not include {header}")
            check = self.check_angle if angle else self.check_quote
            check(path, line, module, header)

    def check_cmake(self):
        for path in sorted((self.tree / "src").rglob("CMakeLists.txt")):
            text = re.sub(r"#[^\n]*", "", path.read_text())
            for match in re.finditer(r"cuzk_module\s*\(\s*([\w/]+)([^)]*)\)", text):
                line = text.count("\n", 0, match.start()) + 1
                self.check_deps(path, line, match.group(1), match.group(2))

    def check_deps(self, path, line, module, arguments):
        if module not in self.layers.allowed:
            self.error(path, line, f"module {module} is not in layers.txt")
            return
        found = re.search(r"\bDEPS\b((?:\s+[\w/]+)*?)(?=\s+(?:LIBS|SOURCES|LABELS)\b|\s*$)",
                          arguments)
        deps = set(found.group(1).split()) if found else set()
        for dep in sorted(deps - self.layers.allowed[module]):
            self.error(path, line, f"DEPS of {module} has {dep}, which layers.txt does not allow")
        reach, todo = set(), list(deps)
        while todo:
            dep = todo.pop()
            if dep not in reach:
                reach.add(dep)
                todo.extend(self.layers.allowed.get(dep, ()))
        for dep, (where, at) in sorted(self.used.get(module, {}).items()):
            if dep not in reach:
                self.error(where, at, f"{module} includes {dep} but its DEPS do not")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    tree = parser.parse_args().tree.resolve()
    try:
        layers = Layers(tree / "tools" / "layers.txt")
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    checker = Checker(tree, layers)
    checker.check_sources()
    checker.check_cmake()
    for text in checker.errors:
        print(text)
    print(f"layers: {len(checker.errors)} violations", file=sys.stderr)
    return 1 if checker.errors else 0


if __name__ == "__main__":
    sys.exit(main())

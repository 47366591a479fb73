#!/usr/bin/env python3
"""Figures and digests of Filecoin's circuits, held against the reference implementation's.

usage: bench/circuits.py [--cuzk PROGRAM] [--no-digest] NAME...   (--all: every circuit of the vectors)

Runs `cuzk circuit info` and `cuzk circuit digest` and compares what they print with
tests/vectors/porep/circuits.tsv (figures and digests of the reference implementation) and
figures.tsv (figures, sizes of key files). Prints a table as bench/results/circuit_digests.tsv holds
it; exit code 1 when anything differs. A digest takes a microsecond a row: 150 s for porep-32g, 450 s
for wpost-32g, on one core.
"""
import json
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = [
    "constraints", "inputs", "aux", "nnz_a", "nnz_b", "nnz_c", "a_aux_density", "b_input_density",
    "b_aux_density",
]
SIZES = ["log2_domain", "params_bytes", "vk_bytes"]


def vectors():
    """Name -> expected figures and, where known, digest."""
    want = {}
    for file, names in (("circuits.tsv", FIGURES), ("figures.tsv", FIGURES + SIZES)):
        for line in (ROOT / "tests/vectors/porep" / file).read_text().splitlines():
            if line.startswith("#"):
                continue
            name, *rest = line.split()
            row = want.setdefault(name, {})
            row.update(zip(names, map(int, rest)))
            if len(rest) > len(names):
                row["digest"] = rest[len(names)]
    return want


def cpu_ms():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(1000 * (used.ru_utime + used.ru_stime))


def run(program, verb, name):
    start = cpu_ms()
    out = subprocess.run([program, "circuit", verb, name, "--json"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out), cpu_ms() - start


def main():
    args = sys.argv[1:]
    program = str(ROOT / "build/release/bin/cuzk")
    digests = True
    if "-h" in args or "--help" in args:
        print(__doc__)
        return 0
    if "--cuzk" in args:
        at = args.index("--cuzk")
        program = args[at + 1]
        del args[at:at + 2]
    if "--no-digest" in args:
        args.remove("--no-digest")
        digests = False
    want = vectors()
    names = list(want) if args == ["--all"] else args
    if not names or any(n not in want for n in names):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = 0
    print("\t".join(["# circuit"] + FIGURES + ["digest", "compact_bytes", "cpu_ms_info", "cpu_ms_digest"]))
    for name in names:
        got, ms = run(program, "info", name)
        took = "-"
        if digests and "digest" in want[name]:
            answer, took = run(program, "digest", name)
            got["digest"] = answer["digest"]
        for key, value in want[name].items():
            if key in got and got[key] != value:
                print(f"{name}: {key}: expected {value}, actual {got[key]}", file=sys.stderr)
                wrong += 1
        print("\t".join(str(v) for v in [name, *(got[k] for k in FIGURES), got.get("digest", "-"),
                                         got["compact_bytes"], ms, took]), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

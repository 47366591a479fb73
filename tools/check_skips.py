#!/usr/bin/env python3
"""Holds the tests that a ctest run skipped against tests/expected_skips.txt.

usage: check_skips.py [--quiet] JUNIT_XML

Every test of the run that the list names, and whose condition holds here, must have been skipped,
and no other. Exit status: 0 they agree, 1 they differ, 2 usage."""

import os
import pathlib
import shutil
import sys
import xml.etree.ElementTree

LIST = pathlib.Path(__file__).resolve().parent.parent / "tests" / "expected_skips.txt"


def present(what):
    """Is the command on the PATH, or for cpu:FLAG the flag among the processor's?"""
    if not what.startswith("cpu:"):
        return shutil.which(what) is not None
    hidden = {"scalar": ("avx512",), "baseline": ("avx512", "adx")}  # src/base/cpu.h
    if what[4:].startswith(hidden.get(os.environ.get("CUZK_CPU"), ())):
        return False
    try:
        return what[4:] in pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def expected():
    """Names that must skip on this machine: a line is NAME [unless COMMAND | unless cpu:FLAG]."""
    for line in LIST.read_text().splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) not in (1, 3) or (len(words) == 3 and words[1] != "unless"):
            sys.exit(f"{LIST}: cannot read: {line}")
        if len(words) == 1 or not present(words[2]):
            yield words[0]


def main():
    quiet = "--quiet" in sys.argv[1:]
    paths = [a for a in sys.argv[1:] if a != "--quiet"]
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    cases = xml.etree.ElementTree.parse(paths[0]).getroot().iter("testcase")
    status = {case.get("name"): case.get("status") for case in cases}
    skipped = {name for name, value in status.items() if value in ("notrun", "disabled")}
    wanted = set(expected()) & set(status)
    for name in sorted(skipped - wanted):
        print(f"{name} was skipped but is not in {LIST.name}", file=sys.stderr)
    for name in sorted(wanted - skipped):
        print(f"{name} is in {LIST.name} but was not skipped", file=sys.stderr)
    if skipped == wanted and not quiet:
        print(f"skips: {len(skipped)}, as recorded")
    return 0 if skipped == wanted else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares two result files of `cuzk bench` (or of the GPU benchmark) row by row.

usage: bench/compare.py [--threshold PERCENT] BEFORE AFTER

A row is named by op, curve, group, log2n, device, threads and variant. Medians are compared; a row
that changed by more than the threshold (5) is marked, `slower` or `faster`. Rows of the device
`blst` are the same code in both files: their change is the machine's noise, and is shown first.

exit codes: 0 nothing slower; 1 a row is slower, unverified or missing in AFTER; 2 usage; 3 a file
that is no result file; 4 a file that cannot be read.
"""
import argparse
import json
import sys

KEY = ("op", "curve", "group", "log2n", "device", "threads", "variant")


def fail(code, text):
    print(f"compare.py: {text}", file=sys.stderr)
    sys.exit(code)


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            document = json.load(f)
    except OSError as e:
        fail(4, f"{path}: {e.strerror}")
    except ValueError as e:
        fail(3, f"{path}: {e}")
    rows = {}
    try:
        for row in document["results"]:
            key = tuple(row.get(k) for k in KEY)
            if key in rows:
                fail(3, f"{path}: two rows for {name(key)}")
            rows[key] = (float(row["ms"]["median"]), bool(row["verified"]))
        return document["machine"], document["commit"], rows
    except (KeyError, TypeError) as e:
        fail(3, f"{path}: not a result file ({e!r})")


def name(key):
    op, curve, group, log2n, device, threads, variant = key
    return (f"{op} {curve}{' ' + group if group else ''} 2^{log2n} {device}"
            f"{' x' + str(threads) if threads else ''} {variant}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--threshold", type=float, default=5.0)
    parser.add_argument("before")
    parser.add_argument("after")
    args = parser.parse_args()
    machine1, commit1, before = load(args.before)
    machine2, commit2, after = load(args.after)
    print(f"{commit1} -> {commit2}")
    if machine1 != machine2:
        print("note: the machines differ")
    bad = False
    for key in sorted(before, key=lambda k: (k[4] != "blst", tuple(map(str, k)))):
        if key not in after:
            print(f"{name(key):60} missing")
            bad = True
            continue
        (old, _), (new, verified) = before[key], after[key]
        change = (new / old - 1) * 100 if old > 0 else 0.0
        mark = ""
        if not verified:
            mark = "WRONG"
        elif abs(change) > args.threshold:
            mark = "slower" if change > 0 else "faster"
        if mark == "WRONG" or (mark == "slower" and key[4] != "blst"):
            bad = True
        print(f"{name(key):60} {old:12.4f} {new:12.4f} ms {change:+7.1f} % {mark}".rstrip())
    for key in sorted(set(after) - set(before), key=lambda k: tuple(map(str, k))):
        print(f"{name(key):60} new {after[key][0]:21.4f} ms{'' if after[key][1] else ' WRONG'}")
        bad = bad or not after[key][1]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Counts what each CUDA kernel was compiled to, and fails when it got worse.

    tools/check_sass.py [--update] RECORD OBJECT...

For every kernel of the objects (built with nvcc --no-compress): multiply-adds by kind, other
instructions, registers, stack bytes, local-memory loads and stores, and how many of these stand in
innermost loops (hot). RECORD is a text file with one line a kernel; a kernel that needs more
registers, stack, local accesses or wide multiply-adds than recorded, or that is not recorded, is an
error. So is one with local accesses in an innermost loop, recorded or not, unless a line

    # local memory in loops: NAME...

of the record names the beginning of its name. --update rewrites all other lines of the record.

No disassembler is needed: a kernel's code is 16-byte instructions whose low 9 bits are the
opcode, a branch holds its distance, and the resource figures are in the cubin's .nv.info sections
(the numbers below were compared with cuobjdump's for sm_90). Exit code: 0 as recorded, 1 worse,
2 usage or unreadable.
"""
import argparse
import re
import struct
import subprocess
import sys

# opcode -> column; sm_70 to sm_90 encode the form of the operands in the bits above the ninth
OPCODES = {0x025: "wide", 0x024: "imad", 0x027: "hi", 0x010: "iadd", 0x007: "sel",
           0x183: "ldl", 0x187: "stl"}
COLUMNS = ["wide", "imad", "hi", "iadd", "sel", "ldl", "stl", "hot", "all", "regs", "stack"]
CHECKED = ["wide", "hi", "ldl", "stl", "hot", "regs", "stack"]
LOCAL, BRANCH = (0x183, 0x187), 0x947
ALLOWED = "# local memory in loops:"
ATTR_REGCOUNT, ATTR_FRAME_SIZE = 0x2F, 0x11


def sections(elf):
    """(name, type, offset, size, link, info) of each section of a 64-bit ELF image."""
    shoff, = struct.unpack_from("<Q", elf, 0x28)
    entsize, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    raw = [struct.unpack_from("<IIQQQQIIQQ", elf, shoff + i * entsize) for i in range(count)]
    strings = raw[names][4]
    out = []
    for r in raw:
        start = strings + r[0]
        out.append((elf[start:elf.index(b"\0", start)].decode(), r[1], r[4], r[5], r[6], r[7]))
    return out


def cubins(blob):
    """The ELF images for NVIDIA GPUs (machine 190) inside an object file's fat binary."""
    at = 0
    while True:
        at = blob.find(b"\x7fELF\x02\x01", at)
        if at < 0:
            return
        if struct.unpack_from("<H", blob, at + 18)[0] == 190:
            yield blob[at:]
        at += 4


def hot_locals(code):
    """Local accesses within the backward branches' spans that hold no other such span. code: the
    instructions' two words each. A branch's distance, in units of 4 bytes from the next
    instruction, is a signed number whose low 8 bits are bits 16-23, the rest bits 34-81."""
    spans = []
    for i, (low, high) in enumerate(code):
        if low & 0xFFF == BRANCH:
            far = (high & 0x3FFFF) << 30 | low >> 34
            far -= (far >> 47) << 48
            to = i + 1 + ((far << 8 | low >> 16 & 0xFF) >> 2)
            if 0 <= to < i:
                spans.append((to, i))
    inner = [s for s in spans if not any(t != s and t[0] >= s[0] and t[1] <= s[1] for t in spans)]
    return sum(1 for i, (low, _) in enumerate(code)
               if low & 0x1FF in LOCAL and any(a <= i <= b for a, b in inner))


def kernels(elf):
    table = sections(elf)
    symbols = {}
    for name, kind, offset, size, link, _ in table:
        if kind != 2:
            continue
        strings = table[link][2]
        for i in range(size // 24):
            n, = struct.unpack_from("<I", elf, offset + 24 * i)
            start = strings + n
            symbols[i] = elf[start:elf.index(b"\0", start)].decode()
    figures = {}
    for name, _, offset, size, _, _ in table:
        if name.startswith(".text."):
            f = dict.fromkeys(COLUMNS, 0)
            for i in range(offset, offset + size, 16):
                op = struct.unpack_from("<H", elf, i)[0] & 0x1FF
                f["all"] += 1
                if op in OPCODES:
                    f[OPCODES[op]] += 1
            if f["ldl"] + f["stl"]:
                f["hot"] = hot_locals([struct.unpack_from("<QQ", elf, i)
                                       for i in range(offset, offset + size, 16)])
            figures[name[6:]] = f
    for name, _, offset, size, _, _ in table:
        if name != ".nv.info":
            continue
        at, end = offset, offset + size
        while at + 4 <= end:
            form, attr, length = struct.unpack_from("<BBH", elf, at)
            at += 4
            if form != 4:  # only attributes with a payload carry a length
                continue
            if attr in (ATTR_REGCOUNT, ATTR_FRAME_SIZE) and length == 8:
                sym, value = struct.unpack_from("<II", elf, at)
                f = figures.get(symbols.get(sym, ""))
                if f is not None:
                    f["regs" if attr == ATTR_REGCOUNT else "stack"] = value
            at += length
    return figures


def demangle(names):
    try:
        out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                             check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        out = names
    short = []
    for n in out:
        n = re.sub(r"\(anonymous namespace\)::|cuzk_gpu::", "", n)
        n = re.sub(r"^(void|static) ", "", n)
        short.append(re.sub(r"\((?:[^()]|\([^()]*\))*\)( \[clone.*)?$", "", n).replace(" ", ""))
    return short


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--update", action="store_true")
    ap.add_argument("record")
    ap.add_argument("objects", nargs="+")
    args = ap.parse_args()
    found = {}
    for path in args.objects:
        with open(path, "rb") as f:
            blob = f.read()
        images = list(cubins(blob))
        if not images and b".nv_fatbin" in blob:
            print(f"{path}: its device code is compressed; build with --no-compress",
                  file=sys.stderr)
            return 2
        for elf in images:
            figures = kernels(elf)
            names = [n for n in figures if "cub" not in n or "cuzk" in n.split("cub")[0]]
            for n, short in zip(names, demangle(names)):
                found[short] = figures[n]
    if not found:
        print("no kernels found", file=sys.stderr)
        return 2
    allowed = []
    try:
        with open(args.record) as f:
            kept = [line.rstrip("\n") for line in f if line.startswith(ALLOWED)]
    except FileNotFoundError:
        kept = []
    for line in kept:
        allowed += line[len(ALLOWED):].split()
    lines = kept + ["# kernel " + " ".join(COLUMNS)]
    for n in sorted(found):
        lines.append(n + " " + " ".join(str(found[n][c]) for c in COLUMNS))
    print("\n".join(lines))
    spilled = [n for n in sorted(found)
               if found[n]["hot"] and not n.startswith(tuple(allowed) or ("\0",))]
    for n in spilled:
        print(f"check_sass: {n}: {found[n]['hot']} local accesses in loops", file=sys.stderr)
    if args.update:
        with open(args.record, "w") as f:
            f.write("\n".join(lines) + "\n")
        return 1 if spilled else 0
    recorded = {}
    with open(args.record) as f:
        for line in f:
            parts = line.split()
            if parts and parts[0] != "#":
                recorded[parts[0]] = dict(zip(COLUMNS, map(int, parts[1:])))
    worse = len(spilled)
    for n, f in sorted(found.items()):
        if n not in recorded:
            print(f"check_sass: {n} is not recorded", file=sys.stderr)
            worse += 1
            continue
        for c in CHECKED:
            if f[c] > recorded[n][c]:
                print(f"check_sass: {n}: {c} {f[c]}, recorded {recorded[n][c]}", file=sys.stderr)
                worse += 1
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes the chain b[i] = b[i-1]^2 over BN254's scalar field as a .r1cs and a .wtns: a circuit whose
values are all of full size, the opposite of one made of bits.

usage: make_chain.py VALUES OUT.r1cs OUT.wtns

VALUES values, VALUES - 1 constraints, no public signal. `cuzk setup` makes a key from the .r1cs."""
import struct
import sys

R = 21888242871839275222246405745257275088548364400416034343698204186575808495617


def section(kind, body):
    return struct.pack("<IQ", kind, len(body)) + body


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    n = int(sys.argv[1])
    one = (1).to_bytes(32, "little")
    prime = struct.pack("<I", 32) + R.to_bytes(32, "little")
    wires = n + 1
    header = prime + struct.pack("<IIIIQI", wires, 0, 0, 1, wires, n - 1)
    term = [struct.pack("<II", 1, w) + one for w in range(wires)]
    rows = b"".join(term[i] + term[i] + term[i + 1] for i in range(1, n))
    labels = b"".join(struct.pack("<Q", w) for w in range(wires))
    with open(sys.argv[2], "wb") as f:
        f.write(b"r1cs" + struct.pack("<II", 1, 3))
        f.write(section(1, header) + section(2, rows) + section(3, labels))
    values, b = [one], 0x123456789ABCDEF0FEDCBA9876543210
    for _ in range(n):
        values.append(b.to_bytes(32, "little"))
        b = b * b % R
    with open(sys.argv[3], "wb") as f:
        f.write(b"wtns" + struct.pack("<II", 2, 2))
        f.write(section(1, prime + struct.pack("<I", wires)) + section(2, b"".join(values)))


if __name__ == "__main__":
    main()

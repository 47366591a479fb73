#!/usr/bin/env python3
"""Writes src/field/{bn254,bls12_381}_params.h: every constant of the two curves, from their
defining integers. `--check` compares with the files in the tree and fails on a difference.

Sources: BN254 (alt_bn128) from EIP-196/197, x = 4965661367192848881; BLS12-381 from the IETF
pairing-friendly-curves draft, x = -0xd201000000010000. Generators are those of EIP-197 and of
the ZCash specification.
"""
import math
import pathlib
import sys

CURVES = {
    "bn254": dict(
        p=21888242871839275222246405745257275088696311157297823662689037894645226208583,
        r=21888242871839275222246405745257275088548364400416034343698204186575808495617,
        b=3, limbs=4, adicity=28, nqr=5,
        g1=(1, 2),
        g2=((10857046999023057135944570762232829481370756359578518086990519993285655852781,
             11559732032986387107991004021392285783925812861821192530917403151452391805634),
            (8495653923123431417604973247489272438418190587263600148770280649306958101930,
             4082367875863433681332203403145435568316851327593401208105741076214120093531)),
        xi=(9, 1), twist="D", x=4965661367192848881, trace=lambda x: 6 * x * x + 1),
    "bls12_381": dict(
        p=0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab,
        r=0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001,
        b=4, limbs=6, adicity=32, nqr=5,
        g1=(0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb,
            0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1),
        g2=((0x024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8,
             0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e),
            (0x0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801,
             0x0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be)),
        xi=(1, 1), twist="M", x=-0xd201000000010000, trace=lambda x: x + 1),
}


def limbs(v, n):
    return "{" + ", ".join(f"0x{v >> (64 * i) & (2**64 - 1):016x}" for i in range(n)) + "}"


def fp2_mul(a, b, p):
    return ((a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p)


def fp2_inv(a, p):
    n = pow(a[0] * a[0] + a[1] * a[1], -1, p)
    return (a[0] * n % p, -a[1] * n % p)


def fp2_pow(a, e, p):
    r = (1, 0)
    for bit in bin(e)[2:]:
        r = fp2_mul(r, r, p)
        if bit == "1":
            r = fp2_mul(r, a, p)
    return r


def g1_mul(k, a, p):
    """k * a on y^2 = x^3 + b over Fp; a is no point of small order."""
    r = None
    for bit in bin(k)[2:]:
        if r:
            s = 3 * r[0] * r[0] * pow(2 * r[1], -1, p) % p
            x = (s * s - 2 * r[0]) % p
            r = (x, (s * (r[0] - x) - r[1]) % p)
        if bit == "1":
            if r:
                s = (a[1] - r[1]) * pow(a[0] - r[0], -1, p) % p
                x = (s * s - r[0] - a[0]) % p
                r = (x, (s * (r[0] - x) - r[1]) % p)
            else:
                r = a
    return r


def norm_of(f, trace, p):
    """Norm of f(X) (coefficients, constant first) in Z[X]/(X^2 - trace X + p)."""
    f = list(f)
    while len(f) > 2:
        top = f.pop()
        f[-1] += top * trace
        f[-2] -= top * p
    a, b = f
    return a * a + a * b * trace + b * b * p


def endomorphisms(out, up, c, mont, mont2):
    """Constants of the subgroup tests and of the pairing, with a proof that the tests are exact:
    psi satisfies X^2 - tX + p, so f(psi)(P) = 0 implies that norm(f) kills P, and then the order
    of P divides gcd(norm(f), #E'(Fp2)), which must be r."""
    p, r, x, xi = c["p"], c["r"], c["x"], c["xi"]
    t = c["trace"](x)
    n1 = p + 1 - t
    assert n1 % r == 0
    f = math.isqrt((4 * p - t * t) // 3)
    assert 3 * f * f == 4 * p - t * t
    # orders of the six twists over Fp2 are p^2 + 1 - u; ours is the one that r divides
    t2, f2 = t * t - 2 * p, t * f
    n2 = [p * p + 1 - u for u in ((t2 + 3 * f2) // 2, (t2 - 3 * f2) // 2, (-t2 + 3 * f2) // 2,
                                  (-t2 - 3 * f2) // 2) if (p * p + 1 - u) % r == 0]
    assert len(n2) == 1
    e3, e2 = fp2_pow(xi, (p - 1) // 3, p), fp2_pow(xi, (p - 1) // 2, p)
    if c["twist"] == "M":
        e3, e2 = fp2_inv(e3, p), fp2_inv(e2, p)
    out.append("/* |x|, the curve's parameter */")
    out.append(f"#define {up}_X 0x{abs(x):016x}u")
    out.append("/* psi(x, y) = (conj(x) PSI_X, conj(y) PSI_Y): the Frobenius seen on the twist */")
    out.append(f"#define {up}_PSI_X {mont2(e3)}")
    out.append(f"#define {up}_PSI_Y {mont2(e2)}")
    if up == "CUZK_BN254":
        assert n1 == r
        assert math.gcd(norm_of([x + 1, x, x, -2 * x], t, p), n2[0]) == r
        # w^p = w xi^((p-1)/6) with w^6 = xi: powers 1..5 for p, p^2 and p^3
        for k in (1, 2, 3):
            g = [fp2_pow(xi, i * (p**k - 1) // 6, p) for i in range(1, 6)]
            assert k != 2 or all(v[1] == 0 for v in g)
            out.append(f"/* xi^(i (p^{k}-1)/6), i = 1..5{', in Fp' if k == 2 else ''} */")
            out.append(f"#define {up}_FROB{k} {{" + ", ".join(
                "{" + mont(v[0]) + "}" if k == 2 else mont2(v) for v in g) + "}")
    else:
        # phi(x, y) = (beta x, y) has phi^2 + phi + 1 = 0, so norm(phi + x^2) = x^4 - x^2 + 1
        assert math.gcd(x**4 - x * x + 1, n1) == r and n1 // r % r
        assert math.gcd(norm_of([-x, 1], t, p), n2[0]) == r
        want = g1_mul(x * x, c["g1"], p)
        beta = want[0] * pow(c["g1"][0], -1, p) % p
        assert pow(beta, 3, p) == 1 and want[1] == p - c["g1"][1]
        out.append("/* (x, y) -> (BETA x, y) multiplies the points of order r by -x^2 */")
        out.append(f"#define {up}_G1_BETA {mont(beta)}")


def field_consts(out, prefix, m, n):
    big = 1 << (64 * n)
    out.append(f"#define {prefix}_MODULUS {limbs(m, n)}")
    out.append(f"#define {prefix}_MODULUS_X2 {limbs(2 * m, n)}")
    out.append(f"#define {prefix}_ONE {limbs(big % m, n)}")
    out.append(f"#define {prefix}_R2 {limbs(big * big % m, n)}")
    out.append(f"#define {prefix}_N0 0x{-pow(m, -1, 1 << 64) % (1 << 64):016x}u")
    out.append(f"#define {prefix}_BITS {m.bit_length()}")


def ifma_consts(out, prefix, m):
    """cuzk__ifma5 (field/ifma.h): numbers in five limbs of 52 bits, radix 2^260."""
    cut = lambda v: [v >> 52 * i & (1 << 52) - 1 for i in range(4)] + [v >> 208]
    row = lambda v: "{" + ", ".join(f"0x{x:x}" for x in v) + "}"
    down = ", ".join(row(cut(pow(1 << 52 * (4 - j), -1, m))) for j in range(4))
    out.append("/* fields of cuzk__ifma5 in their order */")
    out.append(f"#define {prefix}_IFMA {{{row(cut(m))}, {{{down}}}, {row(cut(6 * m))}, "
               + f"{row(cut(7 * m))}, 0x{-pow(m, -1, 1 << 52) % (1 << 52):x}, 0x{(1 << 300) // m:x}, {{"
               + ", ".join(row(x) for x in zip(*(cut(k * m) for k in range(16)))) + "}}")


def ifma_point_consts(out, prefix, m, words):
    """cuzk__ifma_fp5 or _fp8 (field/ifma.h), radix 2^(52 n) for n = 5 or 8 limbs."""
    n = (64 * words + 51) // 52
    cut = lambda v: [v >> 52 * i & (1 << 52) - 1 for i in range(n - 1)] + [v >> 52 * (n - 1)]
    row = lambda v: "{" + ", ".join(f"0x{x:x}" for x in v) + "}"
    signed = lambda v: "{" + ", ".join(f"{'-' if x < 0 else ''}0x{abs(x):x}" for x in v) + "}"
    unit = 1 << m.bit_length()
    # v in [k unit, (k + 1) unit) becomes v + fix(k) in [0, unit + m); the index is k mod 8
    fix = lambda k: -(k * unit // m)
    fixes = [fix(k if k < 4 else k - 8) for k in range(8)]
    cut_signed = lambda v: [x if v >= 0 else -x for x in cut(abs(v))]
    scale = pow(2, 52 * n + (52 * n - 64 * words) // 2, m)
    out.append(f"/* fields of cuzk__ifma_fp{n} in their order */")
    out.append(f"#define {prefix}_IFMA {{{row(cut(m))}, {row(cut(pow(1 << 52, -1, m)))}, "
               f"0x{-pow(m, -1, 1 << 52) % (1 << 52):x}, {{"
               + ", ".join(row(cut(k * m)) for k in range(8)) + "}, {"
               + ", ".join(signed(x) for x in zip(*(cut_signed(k * m) for k in fixes)))
               + f"}}, {row([scale >> 64 * i & (1 << 64) - 1 for i in range(words)])}}}")


def header(name, c):
    p, r, n = c["p"], c["r"], c["limbs"]
    up = f"CUZK_{name.upper()}"
    mont = lambda v: limbs(v * (1 << (64 * n)) % p, n)
    mont_r = lambda v: limbs(v * (1 << 256) % r, 4)
    mont2 = lambda v: "{{" + mont(v[0]) + "}, {" + mont(v[1]) + "}}"
    out = [f"/* Generated by tools/gen_params.py; do not edit. Constants of {name}: limbs are 64-bit, least",
           " * significant first; _MODULUS and _MODULUS_X2 (twice it) are plain, the rest Montgomery forms. */",
           f"#ifndef CUZK_FIELD_{name.upper()}_PARAMS_H", f"#define CUZK_FIELD_{name.upper()}_PARAMS_H", "",
           "/* clang-format off */"]
    out.append("/* base field */")
    field_consts(out, f"{up}_FP", p, n)
    ifma_point_consts(out, f"{up}_FP", p, n)
    out.append("/* scalar field */")
    field_consts(out, f"{up}_FR", r, 4)
    ifma_consts(out, f"{up}_FR", r)
    s = c["adicity"]
    assert (r - 1) % (1 << s) == 0 and (r - 1) >> s & 1
    for base in (5, 7):
        w = pow(base, (r - 1) >> s, r)
        assert pow(w, 1 << (s - 1), r) == r - 1
        out.append(f"/* {base}^((r-1)/2^{s}): a primitive 2^{s}-th root of unity */")
        out.append(f"#define {up}_FR_ROOT_{base} {mont_r(w)}")
    out.append(f"#define {up}_FR_ADICITY {s}")
    out.append("/* curve y^2 = x^3 + b, its twist y^2 = x^3 + b2 over Fp2 = Fp[u]/(u^2+1), generators */")
    out.append(f"#define {up}_G1_B {mont(c['b'])}")
    xi = c["xi"]
    b2 = (c["b"] * xi[0], c["b"] * xi[1]) if c["twist"] == "M" else \
        fp2_mul((c["b"], 0), fp2_inv(xi, p), p)
    b2 = (b2[0] % p, b2[1] % p)
    x, y = c["g1"]
    assert (y * y - x**3 - c["b"]) % p == 0
    x2, y2 = c["g2"]
    rhs = fp2_mul(fp2_mul(x2, x2, p), x2, p)
    lhs = fp2_mul(y2, y2, p)
    assert lhs == ((rhs[0] + b2[0]) % p, (rhs[1] + b2[1]) % p)
    out.append(f"#define {up}_G2_B {mont2(b2)}")
    out.append(f"#define {up}_G1_GEN {{{{{mont(x)}}}, {{{mont(y)}}}}}")
    out.append(f"#define {up}_G2_GEN {{{mont2(x2)}, {mont2(y2)}}}")
    endomorphisms(out, up, c, mont, mont2)
    out.append("/* clang-format on */")
    out += ["", "#endif", ""]
    return "\n".join(out)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    bad = 0
    for name, c in CURVES.items():
        path = root / "src" / "field" / f"{name}_params.h"
        text = header(name, c)
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text() != text:
                print(f"{path}: differs from what tools/gen_params.py makes")
                bad = 1
        else:
            path.write_text(text)
    return bad


if __name__ == "__main__":
    sys.exit(main())

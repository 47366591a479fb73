#!/usr/bin/env python3
"""usage: test_bench.py CUZK SOURCE_DIR"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CUZK = sys.argv[1]
ROOT = pathlib.Path(sys.argv[2])
KEYS = ["op", "curve", "group", "log2n", "device", "threads", "variant", "verified", "ms", "runs",
        "stages"]
CIRCUIT = ROOT / "tests/vectors/circom/bls12381/poseidon2"
CURVES = ("bn254", "bls12_381")
VARIANTS = ["forward_nr", "forward_rn", "inverse_nr", "inverse_rn", "to_coset"]


def bench(*args, fault=None, code=0):
    env = dict(os.environ)
    env.pop("CUZK_FAULT", None)
    if fault:
        env["CUZK_FAULT"] = fault
    done = subprocess.run([CUZK, "bench", *map(str, args)], env=env, capture_output=True, text=True)
    assert done.returncode == code, f"{args}: exit code {done.returncode}, {done.stderr}"
    return done


def results(*args, **kwargs):
    return json.loads(bench(*args, **kwargs).stdout)


class Form(unittest.TestCase):
    def check(self, document, command, n, more=()):
        """more: further members of rows whose op is ntt."""
        self.assertEqual(list(document), ["machine", "commit", "command", "results"])
        self.assertEqual(list(document["machine"]), ["cpu", "cores", "memory", "os", "compiler"])
        self.assertRegex(document["commit"], r"^([0-9a-f]{7,40}(-dirty)?|unknown|.+-g[0-9a-f]+.*)$")
        self.assertEqual(document["command"], "cuzk bench " + command)
        self.assertEqual(len(document["results"]), n)
        for row in document["results"]:
            self.assertEqual(list(row), KEYS + list(more if row["op"] == "ntt" else ()))
            self.assertIs(row["verified"], True)
            ms = row["ms"]
            self.assertLessEqual(0, ms["min"])
            self.assertLessEqual(ms["min"], ms["median"])
            self.assertLessEqual(ms["median"], ms["max"])

    def test_ntt(self):
        command = "ntt --log2 4..6 --threads 2 --runs 3"
        document = results(*command.split())
        self.check(document, command, 3 * len(VARIANTS))
        self.assertEqual([r["variant"] for r in document["results"]], VARIANTS * 3)
        self.assertEqual({r["curve"] for r in document["results"]}, {"bn254"})
        self.assertEqual({r["threads"] for r in document["results"]}, {2})

    def test_ntt_beside_blst(self):
        command = "ntt --curve bls12_381 --log2 5 --threads 1 --vs blst --impl portable --table"
        done = bench(*command.split())
        document = json.loads(done.stdout)
        self.check(document, command, 2 + len(VARIANTS), ("fr_mul_ns", "fr_mul_a_butterfly"))
        for row in document["results"][2:]:
            butterflies = 16 * 5 * (2 if row["variant"] == "to_coset" else 1)
            self.assertAlmostEqual(row["fr_mul_a_butterfly"] * row["fr_mul_ns"] * butterflies / 1e6,
                                   row["ms"]["min"], delta=row["ms"]["min"] * 0.02 + 1e-4)
        self.assertEqual([(r["op"], r["device"]) for r in document["results"][:2]],
                         [("fr_mul", "cpu"), ("fr_mul", "blst")])
        self.assertEqual(len(done.stderr.splitlines()), 2 + len(VARIANTS))
        self.assertIn("fr_mul of blst a butterfly", done.stderr)

    def test_msm(self):
        for pattern in ("uniform", "01", "equal", "half01", "u64"):
            command = f"msm --log2 3..4 --threads 1 --runs 1 --pattern {pattern}"
            self.check(results(*command.split()), command, 2)

    def test_msm_beside_blst(self):
        for group in ("g1", "g2"):
            command = f"msm --curve bls12_381 --group {group} --log2 5 --vs blst --threads 1"
            document = results(*command.split())
            self.check(document, command, 2)
            self.assertEqual([r["device"] for r in document["results"]], ["cpu", "blst"])
            self.assertEqual({r["group"] for r in document["results"]}, {group})

    def test_msm_all(self):
        rows = results(*"msm --all --log2 5..6 --threads 2 --runs 1".split())["results"]
        self.assertTrue(all(r["verified"] for r in rows))
        kinds = {(r["log2n"], r["curve"], r["group"], r["variant"]) for r in rows}
        patterns = ("uniform", "01", "equal", "half01", "u64")
        self.assertEqual(kinds, {(k, c, "g1", "uniform") for k in (5, 6) for c in CURVES} |
                         {(6, "bls12_381", "g1", p) for p in patterns} |
                         {(6, c, "g2", "uniform") for c in CURVES})
        for row in rows:
            one = row["device"] == "cpu" and row["threads"] == 1
            bls = row["curve"] == "bls12_381"
            self.assertEqual("times_blst" in row, one and bls)
            self.assertEqual("of_bls12_381" in row, one and not bls)
            self.assertEqual("times_one_thread" in row, row["threads"] == 2)
            for key in ("median_times_one_thread", "processors_times_one_thread",
                        "median_share_of_processors"):
                self.assertEqual(key in row, row["threads"] == 2)
                self.assertGreater(row.get(key, 1), 0)
            self.assertGreater(row["cpu_ms"], 0)
            self.assertEqual(row["statistic"], "least")
            self.assertIsInstance(row["confirmed"], bool)
            if row["confirmed"]:
                self.assertGreater(row["runs"], 1)
            if row["threads"] == 2:
                one = next(r for r in rows if r["threads"] == 1 and r["device"] == "cpu" and
                           all(r[k] == row[k] for k in ("log2n", "curve", "group", "variant")))
                self.assertEqual(one["runs"], row["runs"])
                self.assertAlmostEqual(row["times_one_thread"], one["ms"]["min"] / row["ms"]["min"],
                                       delta=0.02 * row["times_one_thread"] + 0.02)
        self.assertEqual({r["curve"] for r in rows if r["device"] == "blst"}, {"bls12_381"})

    def test_prove(self):
        zkey, wtns = CIRCUIT / "circuit_final.zkey", CIRCUIT / "witness.wtns"
        document = results("prove", zkey, wtns, "--runs", 2, "--threads", 1)
        self.check(document, f"prove {zkey} {wtns} --runs 2 --threads 1", 2)
        cold, warm = document["results"]
        self.assertEqual((cold["variant"], warm["variant"]), ("cold", "warm"))
        self.assertEqual(cold["curve"], "bls12_381")
        self.assertIn("load", cold["stages"])
        self.assertNotIn("load", warm["stages"])
        self.assertIn("msm_h", warm["stages"])
        self.assertLessEqual(sum(warm["stages"].values()), warm["ms"]["max"] * 1.01)


class CpuReport(unittest.TestCase):
    """bench/cpu.sh's other half: aims are judged by the worst figure."""

    def script(self, *args, code=0):
        done = subprocess.run([sys.executable, ROOT / "bench/cpu_report.py", *map(str, args)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)

    def judge(self, folder, code):
        out = pathlib.Path(folder) / "out"
        self.script("report", folder, out, code=code)
        return json.loads(out.read_text())

    def test_aims(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "witness.json"
            echo = [sys.executable, "-c", "import sys; print(sys.argv[1])"]
            for seconds, good in ((0.3, True), (0.31, False)):
                row = {"core_seconds": seconds, "verified": True}
                self.script("run", path, *echo, json.dumps({"results": [row]}))
                report = self.judge(folder, 0 if good else 1)
                self.assertEqual([line["met"] for line in report["aims"]], [good])
                self.assertEqual(report["aims"][0]["worst"], seconds)
                self.assertIs(report["all_met"], good)
            row = {"core_seconds": 0.1, "verified": False}
            self.script("run", path, *echo, json.dumps({"results": [row]}))
            self.assertIs(self.judge(folder, 1)["verified"], False)
            self.script("run", path, sys.executable, "-c", "raise SystemExit(3)", code=1)

    def test_sums(self):
        with tempfile.TemporaryDirectory() as folder:
            self.script("run", pathlib.Path(folder) / "msm.json", CUZK, "bench", "msm", "--all",
                        "--log2", "4", "--runs", "1", "--threads", "2")
            lines = {line["what"]: line for line in self.judge(folder, 1)["aims"]}
            self.assertEqual(set(lines["BLS12-381 G1 sums, times blst"]["figures"]), {"2^4"})
            self.assertEqual(set(lines["0/1, equal, half 0/1, 64-bit scalars, times blst"]
                                 ["figures"]),
                             {f"{p} 2^4" for p in ("01", "equal", "half01", "u64")})
            self.assertEqual(len([line for line in lines.values() if "aim" in line]), 5)


class Wrong(unittest.TestCase):
    """A result with a flipped bit is reported, and the command fails."""

    def check(self, *args):
        for fault in ("bench_result", "bench_result:1", "bench_result:2"):
            document = results(args[0], "--runs", 2, "--threads", 1, *args[1:], fault=fault, code=70)
            self.assertIn(False, [r["verified"] for r in document["results"]], fault)

    def test_ntt(self):
        self.check("ntt", "--log2", 5)

    def test_msm(self):
        self.check("msm", "--log2", 4)
        self.check("msm", "--all", "--log2", 4, "--runs", 1)

    def test_prove(self):
        self.check("prove", CIRCUIT / "circuit_final.zkey", CIRCUIT / "witness.wtns")


class Usage(unittest.TestCase):
    def test_refused(self):
        for args in ([], ["sort"], ["ntt", "msm"], ["ntt", "--log2", "0"], ["ntt", "--log2", "5..4"],
                     ["ntt", "--log2", "29"], ["ntt", "--log2", "3..x"], ["ntt", "--group", "g1"],
                     ["ntt", "--curve", "secp256k1"], ["ntt", "--runs", "0"], ["prove"],
                     ["msm", "--pattern", "none"], ["msm", "--group", "g3"], ["msm", "--frob"],
                     ["msm", "--vs", "blst"], ["ntt", "--all"],
                     ["msm", "--all", "--group", "g1"], ["msm", "--vs", "mcl"], ["ntt", "--threads", "-1"],
                     ["msm", "--impl", "fast"], ["prove", "a", "b", "--curve", "bn254"]):
            done = bench(*args, code=2)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"^cuzk bench: .*\nTry `cuzk bench --help`.\n$")

    def test_help(self):
        self.assertIn("usage: cuzk bench ntt", bench("--help").stdout)

    def test_files(self):
        bench("prove", "/nonexistent.zkey", CIRCUIT / "witness.wtns", code=4)
        bench("prove", CIRCUIT / "witness.wtns", CIRCUIT / "witness.wtns", code=3)


class Compare(unittest.TestCase):
    def row(self, median, device="cpu", variant="uniform", verified=True):
        return {"op": "msm", "curve": "bn254", "group": "g1", "log2n": 10, "device": device,
                "threads": 1, "variant": variant, "verified": verified,
                "ms": {"min": median, "median": median, "max": median}, "stages": {}}

    def compare(self, before, after, *options):
        with tempfile.TemporaryDirectory() as d:
            paths = []
            for name, rows in (("a", before), ("b", after)):
                path = pathlib.Path(d) / f"{name}.json"
                document = {"machine": {}, "commit": name, "command": "", "results": rows}
                path.write_text(rows if isinstance(rows, str) else json.dumps(document))
                paths.append(str(path))
            done = subprocess.run([sys.executable, ROOT / "bench/compare.py", *options, *paths],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_marks(self):
        self.assertEqual(self.compare([self.row(100)], [self.row(104)])[0], 0)
        code, text = self.compare([self.row(100)], [self.row(106)])
        self.assertEqual(code, 1)
        self.assertIn("+6.0 % slower", text)
        code, text = self.compare([self.row(100)], [self.row(90)])
        self.assertEqual(code, 0)
        self.assertIn("-10.0 % faster", text)
        self.assertEqual(self.compare([self.row(100)], [self.row(109)], "--threshold", "10")[0], 0)

    def test_rows(self):
        self.assertEqual(self.compare([self.row(1), self.row(1, variant="01")], [self.row(1)])[0], 1)
        self.assertEqual(self.compare([self.row(1)], [self.row(1), self.row(1, variant="01")])[0], 0)
        self.assertEqual(self.compare([self.row(1)], [self.row(1, verified=False)])[0], 1)
        self.assertEqual(self.compare([self.row(1, "blst")], [self.row(2, "blst")])[0], 0)

    def test_files(self):
        self.assertEqual(self.compare("{", [self.row(1)])[0], 3)
        self.assertEqual(self.compare("{}", [self.row(1)])[0], 3)
        done = subprocess.run([sys.executable, ROOT / "bench/compare.py", "/nonexistent", "/x"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

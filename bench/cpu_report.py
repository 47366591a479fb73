#!/usr/bin/env python3
"""The two halves of bench/cpu.sh.

usage: cpu_report.py run FILE COMMAND...   runs it; FILE: what it printed, and its times
       cpu_report.py report DIR FILE       from such files of DIR: figures, aims, and whether they
                                           are met

exit codes: run: 0, or 1 when the command fails; report: 0 every aim is met, 1 some are not; 2 usage
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import time


def run(path, command):
    """A command that prints no JSON leaves its times alone."""
    load = os.getloadavg()[0]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"cpu_report.py: exit code {done.returncode}: {' '.join(command)}")
    try:
        output = json.loads(done.stdout)
    except ValueError:
        output = None
    times = {"wall_seconds": round(wall, 3), "load_before": round(load, 2),
             "core_seconds": round(after.ru_utime - before.ru_utime + after.ru_stime -
                                   before.ru_stime, 3)}
    document = {"command": command, **times, "output": output}
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


class Report:
    def __init__(self, folder):
        self.parts = {p.stem: json.loads(p.read_text(encoding="utf-8"))
                      for p in sorted(pathlib.Path(folder).glob("*.json"))}
        self.lines = []

    def rows(self, name):
        part = self.parts.get(name)
        return part["output"]["results"] if part and part["output"] else []

    def add(self, what, figures, aim=None, most=False, goal=None):
        """figures: {at: value}. The worst of them has to be at least the aim, or with `most` at
        most; without an aim they are only told."""
        figures = {at: round(value, 4) for at, value in figures.items() if value is not None}
        if not figures:
            return
        worst = (max if most else min)(figures.values())
        line = {"what": what, "figures": figures, "worst": worst}
        if aim is not None:
            line["aim"] = ("at most " if most else "at least ") + f"{aim:g}"
            line["met"] = worst <= aim if most else worst >= aim
            if goal is not None:
                line["goal"] = goal
        self.lines.append(line)

    def msm(self, name, aims):
        rows = self.rows(name)

        def of(key, curve, group, variants, threads=1):
            return {(f"2^{r['log2n']}" if len(variants) == 1 else f"{r['variant']} 2^{r['log2n']}"):
                    r.get(key) for r in rows
                    if (r["curve"], r["group"], r["threads"], r["device"]) ==
                    (curve, group, threads, "cpu") and r["variant"] in variants}

        bls, bn, uniform = "bls12_381", "bn254", ("uniform",)
        others = ("01", "equal", "half01", "u64")
        tag = "" if aims else f"{name}: "
        self.add(tag + "BLS12-381 G1 sums, times blst", of("times_blst", bls, "g1", uniform),
                 aims and 6, goal=7.5)
        self.add(tag + "0/1, equal, half 0/1, 64-bit scalars, times blst",
                 of("times_blst", bls, "g1", others), aims and 4.4)
        self.add(tag + "BLS12-381 G2 sums, times blst", of("times_blst", bls, "g2", uniform),
                 aims and 5)
        self.add(tag + "BN254 G1 time, of BLS12-381's", of("of_bls12_381", bn, "g1", uniform),
                 aims and 0.55, most=True)
        self.add(tag + "two threads, times one, BLS12-381 G1",
                 of("times_one_thread", bls, "g1", uniform, 2), aims and 1.9)
        self.add(tag + "the same, median of turns",
                 of("median_times_one_thread", bls, "g1", uniform, 2))
        self.add(tag + "a sum on each processor at once, times one",
                 of("processors_times_one_thread", bls, "g1", uniform, 2))
        self.add(tag + "two threads' share of that, median of turns",
                 of("median_share_of_processors", bls, "g1", uniform, 2))
        self.add(tag + "two threads, times one, BN254 G1",
                 of("times_one_thread", bn, "g1", uniform, 2))
        for curve in (bls, bn):
            for group in ("g1", "g2"):
                self.add(f"{tag}{curve} {group}, microseconds a point",
                         of("us_a_point", curve, group, uniform), most=True)
                self.add(f"{tag}{curve} {group}, share of the port bound",
                         of("port_share", curve, group, uniform))

    def ntt(self, name, aims):
        product = [r["ms"]["min"] * 1e6 / 2 ** r["log2n"] for r in self.rows(name + "_bls12_381")
                   if (r["op"], r["device"]) == ("fr_mul", "blst")]
        if not product:
            return
        tag = "" if aims else f"{name}: "
        self.add(tag + "blst's fr_mul, nanoseconds", {"": product[0]}, most=True)
        for curve in ("bls12_381", "bn254"):
            figures = {}
            for r in self.rows(f"{name}_{curve}"):
                if r["op"] != "ntt":
                    continue
                butterflies = 2 ** (r["log2n"] - 1) * r["log2n"]
                butterflies *= 2 if r["variant"] == "to_coset" else 1
                figures[f"{r['variant']} 2^{r['log2n']}"] = r.get("fr_mul_a_butterfly") or (
                    r["ms"]["min"] * 1e6 / butterflies / product[0])
            self.add(f"{tag}{curve} transforms, fr_mul of blst a butterfly", figures,
                     0.2 if aims and curve == "bls12_381" else None, most=True)

    def prove(self):
        ratios = {r["circuit"]: r["ratio"]["median"] for r in self.rows("prove")}
        large = {k: v for k, v in ratios.items() if k in ("sha256_2048", "sha256_16384")}
        self.add("cold proofs, times snarkjs", large, 45, goal=60)
        self.add("cold proof of Semaphore, times snarkjs",
                 {k: v for k, v in ratios.items() if k == "semaphore20"}, 30)
        self.add("other cold proofs, times snarkjs",
                 {k: v for k, v in ratios.items() if k not in large and k != "semaphore20"})

    def filecoin(self):
        keys = self.parts.get("keys")
        if keys:
            self.add("keys of porep-2k on two cores, seconds", {"": keys["wall_seconds"]}, 15,
                     most=True)
            self.add("keys of porep-2k, core-seconds", {"": keys["core_seconds"]}, most=True)
        self.add("R of porep-2k", {"": r["r"] for r in self.rows("partition")}, 20, most=True,
                 goal=14)
        self.add("witness of a 32 GiB partition, core-seconds",
                 {"": r["core_seconds"] for r in self.rows("witness")}, 0.3, most=True)

    def document(self):
        for name in ("msm", "scalar_msm"):
            self.msm(name, name == "msm")
        for name in ("ntt", "scalar_ntt"):
            self.ntt(name, name == "ntt")
        self.prove()
        self.filecoin()
        met = [line["met"] for line in self.lines if "met" in line]
        wrong = [row for name in self.parts for row in self.rows(name)
                 if row.get("verified") is not True]
        first = next((p["output"] for p in self.parts.values() if p["output"]), {})
        return {"machine": first.get("machine"), "commit": first.get("commit"),
                "all_met": all(met) and not wrong, "verified": not wrong, "aims": self.lines,
                "measurements": self.parts}


def table(lines):
    for line in lines:
        mark = {True: "met", False: "MISSED"}.get(line.get("met"), "")
        print(f"{line['what']:52} {line['worst']:10.3f}  {line.get('aim', ''):15} {mark}",
              file=sys.stderr)
        if line.get("met") is False:
            print("    " + ", ".join(f"{at or 'it'} {value:g}" for at, value in
                                     line["figures"].items()), file=sys.stderr)


def main(args):
    if len(args) >= 3 and args[0] == "run":
        run(args[1], args[2:])
        return 0
    if len(args) == 3 and args[0] == "report":
        document = Report(args[1]).document()
        pathlib.Path(args[2]).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        table(document["aims"])
        return 0 if document["all_met"] else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

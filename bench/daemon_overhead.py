#!/usr/bin/env python3
"""What a proof costs through the daemon and through the one-shot command, in turn, on the CPU.

usage: bench/daemon_overhead.py [--build DIR] [--kind wpost|winning|snap|porep] [--count N] PARAMS

PARAMS holds development keys (cuzk setup --circuit KIND-2k --insecure-seed 00 PARAMS). Makes a 2 KiB
sector, starts cuzkd with the key loaded, proves once by each to warm up, then N (5) times by each, one
after the other. Prints JSON: wall and core seconds of each proof; a one-shot's include opening the
key, a daemon's are those of daemon, worker and client. On a machine that does other things only core
seconds say much. Exit code 1 when the daemon's median core seconds are more than 3 % above.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")


def of_children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def of_tree(pid):
    """Core seconds of a running process and its children."""
    sum_ = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it ended meanwhile
        if int(stat.parent.name) == pid or int(fields[1]) == pid:
            sum_ += (int(fields[11]) + int(fields[12])) / TICK
    return sum_


def main():
    ap = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    ap.add_argument("--build", default=str(ROOT / "build/release"))
    ap.add_argument("--kind", default="winning")
    ap.add_argument("--count", type=int, default=5)
    ap.add_argument("params")
    o = ap.parse_args()
    cuzk, cuzkd = (str(Path(o.build) / "bin" / name) for name in ("cuzk", "cuzkd"))
    with tempfile.TemporaryDirectory() as tmp:
        request, proof, addr = f"{tmp}/request.json", f"{tmp}/proof", f"unix://{tmp}/s"
        run = lambda *words: subprocess.run([cuzk, *words], check=True, capture_output=True)
        run("sector", f"{o.kind}-2k", "--seed", "00", request)
        keys = ["--params", o.params, "--allow-insecure-keys"]
        if o.kind != "porep":  # the same request again would be the same job
            text = json.loads(Path(request).read_text())
            text.pop("request_id", None)
            Path(request).write_text(json.dumps(text))
        daemon = subprocess.Popen([cuzkd] + [w for s in (
            f"daemon.listen={addr}", f"daemon.state_dir={tmp}/state", f"srs.param_cache={o.params}",
            "srs.allow_insecure_keys=true", f"srs.preload={o.kind}-2k", "gpus.devices=cpu",
        ) for w in ("--set", s)], stderr=subprocess.DEVNULL)
        while subprocess.run([cuzk, "status", "--addr", addr], capture_output=True).returncode:
            time.sleep(0.2)

        def measured(through):
            began, own, theirs = time.monotonic(), of_children(), of_tree(daemon.pid)
            where = ["--addr", addr] if through == "daemon" else keys
            run(o.kind, "prove", *where, request, proof)
            wall = time.monotonic() - began
            run_core = of_children() - own
            time.sleep(0.3)  # what the daemon does after its answer
            core = run_core + (of_tree(daemon.pid) - theirs if through == "daemon" else 0)
            run(o.kind, "verify", request, proof, *keys)
            return {"wall_seconds": round(wall, 3), "core_seconds": round(core, 3)}

        rows = {"one_shot": [], "daemon": []}
        for i in range(o.count + 1):
            for through, list_ in rows.items():
                row = measured(through)
                if i:
                    list_.append(row)
        daemon.terminate()
        if daemon.wait() != 0:
            sys.exit("cuzkd did not end well")
    median = {n: {k: round(statistics.median(r[k] for r in l), 3) for k in l[0]}
              for n, l in rows.items()}
    ratio = median["daemon"]["core_seconds"] / median["one_shot"]["core_seconds"]
    print(json.dumps({"command": " ".join(["bench/daemon_overhead.py", *sys.argv[1:]]),
                      "kind": o.kind, "cores": os.cpu_count(), "load_average": os.getloadavg()[0],
                      "median": median, "core_seconds_daemon_by_one_shot": round(ratio, 3),
                      "proofs": rows}, indent=1))
    sys.exit(1 if ratio > 1.03 else 0)


if __name__ == "__main__":
    main()

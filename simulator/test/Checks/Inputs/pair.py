#!/usr/bin/env python3
"""pair.py MX-SIM KERNEL.ptx LAUNCH.json KIND[|KIND...] [SEEDS [OPTION...]]

Runs two variants of a kernel with a minimal difference: lines that begin
with "//BAD " belong to the bad variant, lines with "//GOOD " to the good variant.
Under every seed the good variant must be clean, without a warning. The bad variant
must cause a finding or a warning of one of the kinds (the order of warps may affect
the kind), and a nonzero status unless all findings are warnings.
Prints the report of the bad variant under seed 0. Lines of the launch file that
begin with "//" are skipped."""

import json, os, pathlib, subprocess, sys

sim, kernel, launch, kinds = sys.argv[1:5]
seeds = int(sys.argv[5]) if len(sys.argv) > 5 else 8
kernel = pathlib.Path(kernel)
text = kernel.read_text()
json_lines = pathlib.Path(launch).read_text().splitlines()
launch = json.loads("\n".join(l for l in json_lines if not l.startswith("//")))


def run(variant, seed):
    where = kernel.parent / variant
    where.mkdir(exist_ok=True)
    path = where / kernel.name
    path.write_text(text.replace(f"//{variant.upper()} ", ""))
    report = where / (kernel.stem + ".json")
    report.unlink(missing_ok=True)
    launch_path = where / (kernel.stem + ".launch.json")
    launch_path.write_text(json.dumps(launch))
    command = [sim, str(path), str(launch_path), f"--seed={seed}", f"--report={report}", *sys.argv[6:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    findings = [
        finding
        for one in json.loads(report.read_text())["launches"]
        for finding in one["findings"]
    ]
    is_error = any(f["severity"] == "error" for f in findings)
    if is_error != (done.returncode != 0):
        sys.exit(f"{path}: status {done.returncode}\n{done.stderr}")
    return done.returncode, [f["kind"] for f in findings], done.stderr


for seed in range(seeds):
    status, found, said = run("good", seed)
    if status or found:
        sys.exit(f"{kernel.name}, good, seed {seed}: status {status}\n{said}")
    status, found, said = run("bad", seed)
    if not set(found) & set(kinds.split("|")):
        sys.exit(f"{kernel.name}, bad, seed {seed}: status {status}\n{said}")
    if seed == 0:
        print(said)

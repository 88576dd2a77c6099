"""Parses, verifies and prints the IR after every stage of a pipeline.

usage: reparse_stages.py MX_OPT FILE.mlir PIPELINE-OPTION...

Prints the names of the stages. Fails if the IR of a stage does not parse, does not verify
or prints differently.
"""

import re
import subprocess
import sys

mx_opt, path, *pipeline = sys.argv[1:]
HEAD = re.compile(r"^// -----// IR Dump After \w+ \(([\w-]+)\).* //----- //\n", re.M)


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    return done


dump = run(
    [mx_opt, path, *pipeline, "--mlir-print-ir-after-all", "--mlir-print-ir-module-scope"]
    + ["--mlir-disable-threading", "-o", "/dev/null"]
).stderr
_, *parts = HEAD.split(dump)
names, stages = parts[::2], [text.strip() for text in parts[1::2]]
if len(stages) < 3:
    sys.exit(f"expected the IR after several stages, found {len(stages)} stages")
if any("-----//" in stage for stage in stages):
    sys.exit("expected only known dump headers, found others")

separator = "\n// -----\n"
# Many stages change nothing.
different = list(dict.fromkeys(stages))
again = run([mx_opt, "--split-input-file", "-"], separator.join(different)).stdout
printed = [text.strip() for text in re.split(r"^// -----$", again, flags=re.M)]
if len(printed) != len(different):
    sys.exit(f"expected {len(different)} modules, found {len(printed)}")
for before, after in zip(different, printed):
    if before != after:
        sys.exit(f"{names[stages.index(before)]}: the module prints differently after it is parsed")
for name in names:
    print(name)

"""Checks scripts/compare-kernels: it finds an added instruction in a kernel of each set, for each chip, and no
difference between a build and itself. It also matches renamed kernels, and converts frozen programs for a build with
another structure.

RUN: %python %s %mx_src %mx_obj %t
TIER: slow
REQUIRES: compiler, numpy
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import shutil
import sys

sys.dont_write_bytecode = True
root, build, work = map(pathlib.Path, sys.argv[1:])
sys.path += [str(root / "scripts"), str(root / "test/Frozen")]
import ir_structure
import kernel_programs

path = str(root / "scripts/compare-kernels")
loader = importlib.machinery.SourceFileLoader("compare_kernels", path)
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare_kernels", loader))
loader.exec_module(compare)

# Planning runs the compiler for many schedules, so plan only once for each chip, with two values of each choice.
load_sweep, planned = kernel_programs.load_sweep, {}


def load_and_plan_once(chip):
    script = load_sweep(chip)
    for values in script.CHOICES.values():
        del values[2:]
    plan = script.plan_sample
    script.plan_sample = lambda *args: planned.get(chip) or planned.setdefault(chip, plan(*args))
    return script


kernel_programs.load_sweep = load_and_plan_once
shutil.rmtree(work, ignore_errors=True)


def run(old, new, *options):
    """Returns (exit status, lines)."""
    sys.argv = [path, str(old), str(new), *options]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = compare.main()
    return status, output.getvalue().splitlines()


def make_build(name, **tools):
    """Creates a build with the real tools, some wrapped by scripts that call the tool as `real`."""
    folder = work / name / "bin"
    folder.mkdir(parents=True)
    for tool in "mx-opt", "mx-translate", "mx-run":
        real = build / "bin" / tool
        if script := tools.get(tool.replace("-", "_")):
            (folder / tool).write_text(f"#!/bin/bash\nset -o pipefail\nreal={real}\n{script}\n")
            (folder / tool).chmod(0o755)
        else:
            (folder / tool).symlink_to(real)
    return work / name


# --- One added instruction -----------------------------------------------------

# For each set: a name pattern, and the number of selected programs per chip.
PROGRAMS = {
    "examples": (r"^matmul\.mlir$", 1),
    "quantizers": (r"^quantize \(1,\) f8E4M3FN bf16 sf_128x4$", 1),
    "grouped": (r"^grouped qwen30-ep1-fwd2$", 1),
    "schedules": (r": tile = ", 1),
    "formats": (r"^f8E4M3FN x f8E4M3FN by .* default$", 1),
    "frozen": (r"^frozen 1 (dense|grouped-rows|quantize-both)\.mlir$", 3),
}
options = ["--sample=1", "--filter=" + "|".join(pattern for pattern, _ in PROGRAMS.values())]


def count_programs(set_name, chip):
    """Returns the number of programs. sm_120a is newer than the frozen programs, so that set is empty."""
    return 0 if (set_name, chip) == ("frozen", "sm_120a") else PROGRAMS[set_name][1]


total = sum(count_programs(set_name, chip) for set_name in PROGRAMS for chip in compare.CHIPS)

status, lines = run(build, build, *options)
assert status == 0, lines
assert lines[-1] == f"{total} same, 0 no worse, 0 refused by both, 0 worse" or "no ptxas" in lines[-1], lines

# Insert before the first `ret`, which is in the first kernel.
planted = make_build("planted", mx_translate=r"""$real "$@" | sed '0,/^\tret;/s//\tnanosleep.u32 0;\n\tret;/'""")
status, lines = run(build, planted, *options)
assert status == 1, lines
found = set()
for line in lines:
    if not (match := re.match(r"worse: (.*) for (sm_\d+a): kernel (\w+) PTX instructions: (\d+) before, (\d+) now", line)):
        continue
    name, chip, kernel, before, after = match.groups()
    assert int(after) == int(before) + 1, line
    if "no ptxas" not in lines[-1]:
        code = re.search(rf"kernel {kernel} machine instructions: (\d+) before, (\d+) now", line)
        # ptxas reorders the other instructions and may then need fewer instructions in total.
        assert code and code[2] != code[1], line
    found |= {(name, chip)}
for set_name, (pattern, _) in PROGRAMS.items():
    for chip in compare.CHIPS:
        names = [name for name, of in found if of == chip and re.search(pattern, name)]
        assert len(names) == count_programs(set_name, chip), (set_name, chip, names, lines)
# A removed instruction is not a regression.
status, lines = run(planted, build, "--only=frozen", "--filter=^frozen 1 dense.mlir$")
assert status == 0 and "0 same, 2 no worse" in "".join(lines), lines

# --- Renamed kernels -----------------------------------------------------------

renamed = make_build("renamed", mx_translate='$real "$@" | sed s/main_matmul/main_gemm/')
options = ["--only=frozen", "--filter=^frozen 1 dense.mlir$", "--chips=sm_90a"]
status, lines = run(build, renamed, *options)
assert status == 1 and "kernel main_matmul is only in the old build; kernel main_gemm is only in the new build" in lines[0], lines
table = work / "Renamed.md"
header = "| done | kind | old | new | where it is used |\n|---|---|---|---|---|\n"
table.write_text(header + "| yes | kernel | `*_matmul` | `*_gemm` | |\n")
status, lines = run(build, renamed, *options, f"--table={table}")
assert status == 0 and "1 same" in lines[0], lines

# --- Structural changes -----------------------------------------------------------

cases = (  # fields of version 1, the chip, current fields
    ("tile = [128, 128, 128], stages = 2, accumulators = 1", "sm_100a", "tile = [128, 128, 128], stages = 2"),
    ("tile = [256, 256, 128], cta_pair, accumulators = 2, overlap = 64, l2 = [none,\n  none]", "sm_100a",
     "tile = [256, 256, 128], strategy = #mxgpu.tcgen05_block_scaled<ctas = 2, accumulators = 2, overlap = 64>, l2 = [none,\n  none]"),
    ("tile = [128, 64, 64], operand_stages = 3", "sm_100a",
     "tile = [128, 64, 64], strategy = #mxgpu.tcgen05_upcast_b<operand_stages = 3>"),
    ("tile = [128, 64, 64], stages = 4, operand_stages = 3, f16_window, pdl", "sm_90a",
     "tile = [128, 64, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<operand_stages = 3, f16_scale_range = true>, pdl"),
    ("tile = [256, 256, 64], cta_pair, workspace = ab", "sm_90a",
     "tile = [256, 256, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>, workspace = ab"),
    ("tile = [16, 64, 64], swap_ab", "sm_90a", "tile = [16, 64, 64], strategy = #mxgpu.wgmma_swap_ab"),
    ("tile = [16, 64, 64], swap_ab, split_k = 2, cluster_split, ctas = 2", "sm_90a",
     "tile = [16, 64, 64], strategy = #mxgpu.wgmma_swap_ab<cluster_split = true, ctas_per_sm = 2>, split_k = 2"),
)
for before, chip, after in cases:
    for form in ("a {{s = #mxgpu.schedule<{}>}} #mxgpu.quantize_schedule<ctas = 2>", "schedule(<{}>) {{"):
        old, new = form.format(before), form.format(after)
        assert ir_structure.rewrite(old, ir_structure.CHANGES, chip=chip)[0] == new, old
        assert ir_structure.rewrite(new, ir_structure.CHANGES, chip=chip)[0] == new, new

# Conversion preserves a frozen program except for the order of fields, which is irrelevant, and for a field that equals
# the default of version 1.
def fields(text):
    return re.sub(r"schedule<([^>]*)>", lambda m: str(sorted(
        field for field in ir_structure.split_fields(m[1]) if field not in ir_structure.DEFAULTS)), text)


programs = [program for chip in compare.CHIPS for program in kernel_programs.frozen(chip, None)]
changed = 0
for program in programs:
    forward, counts = ir_structure.rewrite(program.text, ir_structure.CHANGES, chip=program.chip)
    assert ir_structure.rewrite(forward, ir_structure.CHANGES, chip=program.chip)[0] == forward, program.name
    assert fields(ir_structure.rewrite(forward, ir_structure.CHANGES, back=True)[0]) == fields(program.text), program.name
    changed += any(count for _, count in counts)
assert changed > len(programs) / 2, (changed, len(programs))

# This build reads only the structure of version 1. It therefore gets frozen programs unchanged, and programs of this
# checkout after conversion to version 1. The other build gets converted frozen programs.
redo = work / "redo.py"
redo.write_text(f"""import sys
sys.path.append("{root}/test/Frozen")
import ir_structure
text = sys.stdin.read()
if "strategy = #mxgpu." in text:
    sys.exit("error: expected the structure of version 1")
sys.stdout.write(ir_structure.rewrite(text, ir_structure.CHANGES, chip="sm_90a")[0])
""")
redone = f'set -e\nt=$(mktemp -p {work})\n{sys.executable} {redo} < "$1" > $t\nshift\n$real $t "$@"'
older = make_build("older", mx_opt=redone, mx_run=redone)
options = ["--only=frozen", "--chips=sm_90a", "--filter=^frozen 1 (dense|swap-ab|quantize-rows).mlir$"]
status, lines = run(older, build, *options)
assert status == 0 and "3 same, 0 no worse, 0 refused" in lines[0], lines
change, ir_structure.CHANGES = ir_structure.CHANGES, ()
status, lines = run(older, build, *options)
assert status == 1 and "refused by the new build" in lines[0] and "expected tile, stages, strategy" in lines[0], lines
ir_structure.CHANGES = change

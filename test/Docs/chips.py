"""Checks the table in docs/reference/Chips.md and the limits in docs/reference/Limits.md against the compiler: every
chip that messages list, and each kind of operation on that chip.

REQUIRES: compiler
RUN: %python %s %mx_src mx-opt
"""

import re
import subprocess
import sys

source, mx_opt = sys.argv[1:]

QUANTIZER = """
func.func @main(%x: tensor<128x128xbf16>, %e: tensor<128x128xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU>)
    -> (tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>) {
  %q:2 = mx.quantize ins(%x : tensor<128x128xbf16>)
      outs(%e, %s : tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>)
      -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  return %q#0, %q#1 : tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
}
"""
MATMUL = """
!e = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%a: !e, %as: !s, %b: !e, %bs: !s, %y: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %r = mx.matmul ins(%a, %as, %b, %bs : !e, !s, !e, !s)
      outs(%y : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
"""


def compile_for(chip, program):
    return subprocess.run(
        [mx_opt, f"--mx-to-nvvm=chip={chip}", "-o", "/dev/null"],
        input=program,
        capture_output=True,
        text=True,
    )


def chips_of(text):
    return re.findall(r"\bsm_[0-9]+[a-z]?\b", text)


def listed(done):
    """Returns the list in a message, without the chip in the message."""
    assert done.returncode != 0 and "expected one of" in done.stderr, done.stderr
    return done.stderr.split("expected one of", 1)[1].splitlines()[0].strip()


page = open(f"{source}/docs/reference/Chips.md").read()
rows = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in page.splitlines()
    if line.startswith("| `sm_")
]
table = {chip.strip("`"): cells for chip, *cells in rows}
words = {"yes": True, "no": False}

everything = listed(compile_for("sm_1", QUANTIZER))
assert chips_of(everything) == list(table), (everything, list(table))
refusals = {everything}
for chip, (_, quantizers, matmuls) in table.items():
    for program, expected in ((QUANTIZER, quantizers), (MATMUL, matmuls)):
        done = compile_for(chip, program)
        assert (done.returncode == 0) == words[expected], (chip, expected, done.stderr)
        if done.returncode:
            refusals.add(listed(done))
for chip in ("sm_90", "sm_100", "sm_120"):
    for program in (QUANTIZER, MATMUL):
        refusals.add(listed(compile_for(chip, program)))
assert len(refusals) == 1, refusals

# A message lists the chips that support each kind of operation, in the order of the table. If all chips support both
# kinds, the message does not name the kinds.
groups = re.findall(r"((?:'sm_\w+'(?:, )?)+) \(([^)]*)\)", everything)
kinds = {chip: kind for chips, kind in groups for chip in chips_of(chips)}
kinds = kinds or dict.fromkeys(table, "quantizers and matmuls")
for chip, (_, quantizers, matmuls) in table.items():
    kind = " and ".join(
        k for k, cell in (("quantizers", quantizers), ("matmuls", matmuls)) if words[cell]
    )
    assert kinds[chip] == kind, (chip, kinds[chip], kind)

limits = open(f"{source}/docs/reference/Limits.md").read()
limit = re.search(r"^- Chips: (.*?)\n(?=- )", limits, re.DOTALL | re.MULTILINE).group(1)
assert chips_of(limit) == list(table), limit

"""Imports examples/transformer_block.mlir and runs it on the simulator. Each stage is compared with numpy in float64,
which computes the stage from the device's inputs (Inputs/transformer_block.py contains the stages and their bounds).
This test covers sm_100a, and transformer-block-sm_90a.test covers sm_90a.

RUN: %python %s mx-opt mx-run mx-compile mx-launch %examples %t sm_100a random:150:1
REQUIRES: compiler, numpy

usage: transformer-block.py MX_OPT MX_RUN MX_COMPILE MX_LAUNCH EXAMPLES DIRECTORY CHIP KIND:TOKENS:SEED... | faults

A case runs like a user's program, with --check=cpu, and as a launch plan from mx-compile. Then another version, which
also returns intermediate values, runs. The additional results prevent some fusions, but y must have the same bits, so
that findings about the stages apply to the original program. The first case also compares the whole block with float64.

In the mode `faults`, the test changes the program in one place at a time, and must name the wrong stage.
"""

import os
import re
import sys

import numpy as np
import transformer_block as block
from harness import Harness

test = Harness("mx_opt", "mx_run", "mx_compile", "mx_launch", "examples", "folder", "chip", "*given")
chip, example = test.chip, os.path.join(test.examples, "transformer_block.mlir")
IMPORT = ["--mx-import-scaled", "--mx-quantize-matmuls=recipe=mxfp8", "--cse", "--canonicalize"]


# Limits the number of schedules for each matmul; compiling all schedules would take a minute.
FEW = "--max-schedules=4"


def add_results(text, values):
    """Appends results to the results of @block."""
    head, body = text.split("func.func @block(", 1)
    names = "".join(f", {name}" for name, _ in values)
    types = "".join(f", {type_}" for _, type_ in values)
    body = re.sub(r"\) -> \(?([^{]*?)\)? \{\n", lambda m: f") -> ({m.group(1)}{types}) {{\n", body, count=1)
    at = body.rindex("return ")
    body, last = body[:at], body[at:]
    last = re.sub(r"return (.*?) : ([^\n]*)", lambda m: f"return {m.group(1)}{names} : {m.group(2)}{types}", last)
    return f"{head}func.func @block({body}{last}"


def import_program(text):
    text = test.rewrite(text, *IMPORT)
    expected = {" mx.matmul ": 2, " mx.grouped_matmul ": 2, " mx.quantize ": 1, " mx.dequantize ": 0, " gather(": 1,
                "scf.for": 0, "scaling_extf": 0, " linalg.matmul ": 1}
    counts = {word: text.count(word) for word in expected}
    test.require(f"{expected} in the imported program", counts == expected, counts)
    return text


def observe(text):
    """Returns the imported program with the results of stages as additional results; `text` is the example."""
    text = add_results(text, [("%" + value, type_) for value, type_ in block.OBSERVED.items()])
    text = import_program(text)
    quantizers = re.findall(r"^ +(%\w+):2 = mx\.(?:fused_)?quantize .* -> (.*)$", text, re.M)
    values = []
    for number, types in quantizers:
        elements, scales = re.match(r"(tensor<[^,]*>), (.*)$", types).groups()
        values += [(number + "#0", elements), (number + "#1", scales)]
    return add_results(text, values)


# Names of the device's results in order: y, the stages, and the elements and scales of quantizers.
NAMES = ["y", *("tokens_" if n == "tokens" else n for n in block.OBSERVED),
         *(f"{n}_{part}" for n in block.QUANTIZED for part in "es")]
BF16_VALUES = {"y", *(n for n, t in block.OBSERVED.items()
                      if t in ("!tokens", "!qkv", "!heads", "!probs", "!gu", "!h"))}


def find_stages(program, arguments):
    arrays = test.run(program, arguments.values(), len(NAMES), FEW, "--entry=block", chip=chip)
    found = {name: array.view(block.BF16) if name in BF16_VALUES else array for name, array in zip(NAMES, arrays)}
    wrong, used = block.find_wrong(arguments, found, chip)
    return found, wrong, used


def compare_whole(arguments, found):
    """Compares the tokens for which model and device choose the same experts. Expert matmuls add the noise of MXFP8,
    about 5 % of their contribution (docs/guide/MoE.md). A missing or wrong stage would change y by as much as the
    stage's result."""
    exact, choice = block.run_model(arguments)
    same = (choice == found["choice"]).all(1)
    noise = found["y"].astype(np.float64)[same] - exact[same]
    ratio = 10 * np.log10((exact[same] ** 2).sum() / (noise**2).sum())
    print(f"{chip}: the whole block, {ratio:.1f} dB, {same.mean():.1%} of the tokens have the same experts")
    test.require(f"{chip}: the whole block", ratio >= 25 and same.mean() >= 0.9)


def check(case, plain, observed, whole):
    kind, tokens, seed = case.split(":")
    arguments = block.make_arguments(int(tokens), int(seed), kind)
    done, (y,) = test.call(plain, arguments.values(), 1, FEW, "--entry=block", chip=chip, check=True)
    test.require("a check that passes", "check: passed" in done.stdout + done.stderr, done.stdout)
    y = np.load(y)
    found, wrong, used = find_stages(observed, arguments)
    launched, = test.launch(test.path("compiled"), arguments.values(), 1, None, "--entry=block")
    for way, bits in [("of the program as it is", y), ("of the launch plan", launched)]:
        test.expect(f"y {way}", bits, found["y"])
    for stage, text in wrong.items():
        test.fail(f"{chip}: {stage}: {text}")
    most = ", ".join(f"{stage} {part:.2f}" for stage, part in used.items())
    print(f"{chip} {case}: {len(wrong)} stages are wrong; fractions of the bounds: {most}")
    if whole:
        compare_whole(arguments, found)


# Each fault: the first stage that is wrong, the original text and its replacement.
FAULTS = [
    ("n1", "%size = arith.constant 256.0", "%size = arith.constant 255.0"),
    ("qkv", "ins(%n1, %wqkv,", "ins(%x, %wqkv,"),
    ("turned", "arith.select %first, %minus, %si", "arith.select %first, %si, %minus"),
    ("turned", "#angle = affine_map<(t, h, d) -> (t, d mod 32)>", "#angle = affine_map<(t, h, d) -> (t, d floordiv 2)>"),
    ("scores", "#s_k = affine_map<(h, g, i, j, d) -> (j, h, d)>", "#s_k = affine_map<(h, g, i, j, d) -> (j, g, d)>"),
    ("soft", "%eighth = arith.constant 0.125", "%eighth = arith.constant 0.126"),
    ("soft", "arith.cmpi ule, %j, %i", "arith.cmpi uge, %j, %c0"),
    ("soft", "linalg.softmax dimension(3)", "linalg.softmax dimension(2)"),
    ("context", "#c_v = affine_map<(i, h, g, d, j) -> (j, h, d)>", "#c_v = affine_map<(i, h, g, d, j) -> (j, g, d)>"),
    ("o", "ins(%context, %wo,", "ins(%n1, %wo,"),
    ("a", "%added = arith.addf %f, %sum", "%added = arith.subf %f, %sum"),
    ("n2", "@norm(%a, %expert_norm)", "@norm(%a, %attention_norm)"),
    ("logits", "ins(%n2, %router", "ins(%a, %router"),
    ("weights", "linalg.softmax dimension(1)", "linalg.softmax dimension(0)"),
    ("choice", "arith.cmpi ult, %f, %e", "arith.cmpi ugt, %f, %e"),
    ("chosen", "arith.select %is, %weight, %old", "arith.select %is, %old, %weight"),
    ("gates", "arith.divf %value, %sum", "arith.mulf %value, %sum"),
    ("places", "arith.andi %same, %earlier", "arith.andi %earlier, %earlier"),
    ("ends", "arith.cmpi ule, %expert, %ei", "arith.cmpi ult, %expert, %ei"),
    ("tokens_", "arith.select %is, %own, %token", "arith.select %is, %row, %token"),
    ("xq", "tensor.extract %n2[", "tensor.extract %a["),
    ("h", "%gu[0, 128] [%p, 128]", "%gu[0, 0] [%p, 128]"),
    ("h", "arith.divf %gf, %d", "arith.divf %uf, %d"),
    ("mixed", "arith.mulf %element, %prob", "arith.addf %element, %prob"),
    ("y", "ins(%a, %mixed", "ins(%x, %mixed"),
]


def check_faults(text):
    """Checks that each fault is reported in its stage. The fault in `choice` needs a router with equal scores."""
    arguments = {kind: block.make_arguments(24, 8, kind) for kind in ["random", "equal"]}
    for stage, old, new in FAULTS:
        if old not in text:
            sys.exit(f"expected {old} in {example}")
        kind = "equal" if stage == "choice" else "random"
        _, wrong, _ = find_stages(observe(text.replace(old, new, 1)), arguments[kind])
        first = next(iter(wrong), "none")
        test.require(f"{new} instead of {old}: the first wrong stage is {stage}", first == stage, first)
    print(f"{chip}: {len(FAULTS)} faults")


with open(example, encoding="utf-8") as file:
    text = file.read()
if test.given == ["faults"]:
    check_faults(text)
    test.finish(least=len(FAULTS))
plain, observed = import_program(text), observe(text)
test.compile(plain, "--entry=block", FEW, "--ptxas=none", chip=chip)
for case in test.select(test.given):
    check(case, plain, observed, whole=case == test.given[0] and case.startswith("random"))
test.finish(least=1000)

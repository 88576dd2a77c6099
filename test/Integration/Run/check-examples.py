"""mx-run --check=cpu runs every entry of every file in examples/ with fusion. The exit status must be 0, and each
operation must be compared or named. A new file or entry needs a line in SIZES. Separate tests cover the files in PARTS;
this test covers all other files.

REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
RUN: rm -rf %t && mkdir -p %t && %python %s %examples %t mx-run mx-opt others

usage: check-examples.py EXAMPLES DIRECTORY MX_RUN MX_OPT NAME, a name of PARTS or others
"""

import glob
import os
import re
import sys

import numpy as np
from harness import Harness

test = Harness("examples", "folder", "mx_run", "mx_opt", "part", seed=16)
part, random = test.part, test.rng
# The slowest files, covered by check-examples-NAME.test.
PARTS = ["moe_layer", "moe_linalg", "transformer_block"]

# Number of tokens, number of token-expert pairs, and capacity of a ragged reduction
# over the pairs in 8 groups.
T, P, CAPACITY = 24, 40, 1152
FORWARD = {"x": [T], "tokens": [P], "probs": [P]}
SAVED = {"xte": [CAPACITY], "xts": [CAPACITY // 32], "hte": [CAPACITY], "hts": [CAPACITY // 32]}
LAYER = {"dy": [T], "tokens": [P], "probs": [P], "gu": [P]}

# Extents of the dynamic dimensions of each argument, in order.
SIZES = {
    ("grouped_matmul", "main"): {"x": [P, 256], "w": [3, 128, 256], "offsets": [3]},
    ("grouped_schedule", "parts"): {"a": [P, 256], "as": [P, 8], "b": [256, 256], "bs": [256, 8]},
    ("grouped_schedule", "reduction"): {
        "a": [128, 512], "as": [128, 16], "b": [128, 512], "bs": [128, 16],
    },
    ("grouped_schedule", "rows"): {"a": [P, 256], "as": [P, 8], "b": [128, 256], "bs": [128, 8]},
    ("linalg_matmul", "main"): {},
    ("matmul", "main"): {"x": [40, 256], "w": [24, 256]},
    ("matmul_f32", "main"): {},
    ("matmul_schedule", "main"): {"x": [40, 256], "w": [24, 256]},
    ("moe_layer", "backward"): {**LAYER, **SAVED},
    ("moe_layer", "forward"): FORWARD,
    ("moe_layer", "quantize_weights"): {},
    ("moe_linalg", "backward"): {**LAYER, "x": [T]},
    ("moe_linalg", "forward"): FORWARD,
    ("transformer_block", "block"): {"x": [T], "cos": [T], "sin": [T]},
}


def parse(type_, dynamic):
    """Returns the element type, shape and encoding of a tensor type."""
    body, _, encoding = type_[len("tensor<") : -1].partition(", ")
    dims = re.match(r"((?:[0-9?]+x)*)(.*)", body)
    sizes, rest = [d for d in dims.group(1).split("x") if d], iter(dynamic)
    return dims.group(2), [next(rest) if d == "?" else int(d) for d in sizes], encoding


def physical(shape, encoding):
    """Returns the shape of scales in memory."""
    if "sf_128x4" not in encoding:
        return shape
    *batch, rows, blocks = shape
    groups = re.search(r"ragged = rows, groups = (\d+)", encoding)
    tiles = rows // 128 + int(groups.group(1)) if groups else -(-rows // 128)
    return [*batch, tiles, -(-blocks // 4), 32, 4, 4]


def make(name, type_, dynamic):
    element, shape, encoding = parse(type_, dynamic)
    if element == "i32":
        if name in ("ends", "offsets"):  # some expert groups without rows
            ends = np.sort(random.integers(0, P + 1, shape)).astype(np.int32)
            ends[-1] = P
            return ends
        return random.integers(0, T, shape).astype(np.int32)
    if element == "f8E8M0FNU":
        return random.integers(122, 130, physical(shape, encoding)).astype(np.uint8)
    if element == "f8E4M3FN":
        return (random.integers(0, 0x7F, shape) | random.integers(0, 2, shape) << 7).astype(np.uint8)
    numbers = random.standard_normal(shape).astype(np.float32)
    if element == "f32":
        return numbers
    assert element == "bf16", element
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def clear_padding(array, ends):
    """Clears the columns between the end of an expert group and the next multiple of 128, where the next group
    begins."""
    begin = first = 0
    for end in ends:
        last, following = first + end - begin, first + -(-(end - begin) // 128) * 128
        array[:, last:following] = 0
        first, begin = following, end


def prepare(path):
    """Returns the file, or the output of the command in its first comment."""
    head = open(path).read().split("\n\n", 1)[0]
    command = re.search(r"^//\s+mx-opt (--mx-.*)$", head, re.MULTILINE)
    return test.rewrite(path, *command.group(1).split()) if command else path


# Entries without an error bound: this entry's matmul has a quantized result.
UNCHECKED = {("grouped_schedule", "parts")}
# --check refuses programs of several ranks; layer-of-ranks.py compares this one.
RANKS = "moe_layer_ranks.mlir"


def is_chosen(stem):
    return stem == part or (part == "others" and stem not in PARTS)


if part not in (*PARTS, "others"):
    sys.exit(f"expected a name of {', '.join(PARTS)} or others, found {part}")
for name in PARTS:
    if not os.path.exists(os.path.join(os.path.dirname(__file__), f"check-examples-{name}.test")):
        sys.exit(f"expected check-examples-{name}.test next to this file")

seen = set()
for path in sorted(glob.glob(f"{test.examples}/*.mlir")):
    stem = os.path.basename(path)[: -len(".mlir")]
    if not is_chosen(stem):
        continue
    if os.path.basename(path) == RANKS:
        test.refuse("expected one rank with --check", path, [], 0, "--entry=forward", "--ranks=2", check=True)
        continue
    text = re.sub(r"//.*", "", open(path).read())
    for alias, type_ in re.findall(r"^(![\w.]+) = (tensor<.*>)$", text, re.MULTILINE):
        text = re.sub(re.escape(alias) + r"\b(?! =)", type_.replace("\\", "\\\\"), text)
    program = prepare(path)
    for entry, arguments in re.findall(
        r"func\.func @(\w+)\((.*?)\)\s*->[^{]*\{\n", text, re.DOTALL
    ):
        seen.add((stem, entry))
        if (stem, entry) not in SIZES:
            sys.exit(f"{stem}.mlir: entry {entry} has no line in SIZES")
        types = dict(
            re.match(r"%(\w+): (.*)", argument, re.DOTALL).groups()
            for argument in re.split(r",\s*(?=%)", arguments.strip())
        )
        arrays = {n: make(n, t, SIZES[stem, entry].get(n, [])) for n, t in types.items()}
        for name, array in arrays.items():
            if "#mx.ragged" in types[name]:
                clear_padding(array, arrays["ends"])
        test.case = f"{stem}.mlir, {entry}"
        status, says = (4, "nothing was compared") if (stem, entry) in UNCHECKED else (0, "passed")
        done, _ = test.call(program, arrays.values(), 0, f"--entry={entry}", check=True, status=status)
        print(f"{test.case}:\n{done.stdout}{done.stderr}")
        named = re.findall(r"^check: mx\.\w+ at ", done.stdout, re.MULTILINE)
        test.require(says, named and f"\ncheck: {says}" in done.stdout)

if missing := {(stem, entry) for stem, entry in SIZES if is_chosen(stem)} - seen:
    sys.exit(f"not in {test.examples}: {sorted(missing)}")
test.finish()

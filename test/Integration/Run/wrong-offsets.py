"""The result for decreasing, negative or out-of-bounds offsets equals the result for the normalized offsets
(docs/reference/Spec.md, Groups). Random invalid offsets are compared byte by byte with normalized offsets on the CPU
path, on both kinds of chips and in compiled programs, and the simulator must report no finding.

RUN: %python %s mx-run mx-compile mx-launch %t
REQUIRES: compiler, numpy
TIER: slow
"""

import numpy as np
from harness import Harness, to_array

test = Harness("mx_run", "mx_compile", "mx_launch", "folder", seed=1, rounds=2)
random = test.rng
G, T, K, N = 5, 200, 128, 128
CAPACITY = (T + 127 * G + 127) // 128 * 128

TYPES = f"""
!x = tensor<{T}x{K}xbf16>
!e = tensor<{T}x{K}xf8E4M3FN>
!s = tensor<{T}x{K // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = {G}>>
!te = tensor<{K}x{CAPACITY}xf8E4M3FN, #mx.ragged<groups = {G}, align = 128>>
!ts = tensor<{K}x{CAPACITY // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {G}>>
!b = tensor<{G}x{N}x{K}xf8E4M3FN>
!bs = tensor<{G}x{N}x{K // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!m = tensor<{G}x40x{K}xf8E4M3FN>
!ms = tensor<{G}x40x{K // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!o = tensor<{G}xINT>
!y = tensor<{T}x{N}xf32>
!tx = tensor<{K}x{CAPACITY}xbf16>
!my = tensor<{G}x40x{N}xf32>
!ry = tensor<{G}x{K}x{K}xf32>
!z = tensor<7x{N}xf32>
"""
QUANTIZE = """
  %0 = tensor.empty() : !e
  %1 = tensor.empty() : !s
  %q:2 = mx.quantize ragged = rows ins(%x : !x) offsets(%o : !o) outs(%0, %1 : !e, !s) -> !e, !s
"""
TRANSPOSED = """
  %2 = tensor.empty() : !te
  %3 = tensor.empty() : !ts
  %t:2 = mx.quantize ragged = rows ins(%x : !x) offsets(%o : !o) outs(%2, %3 : !te, !ts) axes = [0] -> !te, !ts
"""
ROWS = """
  %4 = tensor.empty() : !y
  %p = mx.grouped_matmul ragged = rows ins(%q#0, %q#1, %b, %bs : !e, !s, !b, !bs) offsets(%o : !o) outs(%4 : !y) -> !y
"""
PROGRAMS = {
    "quantize": ("%x: !x, %o: !o", QUANTIZE, ["%q#0 !e", "%q#1 !s"]),
    "transpose": ("%x: !x, %o: !o", TRANSPOSED, ["%t#0 !te", "%t#1 !ts"]),
    "dequantize": ("%x: !x, %o: !o", QUANTIZE + """
  %4 = tensor.empty() : !x
  %d = mx.dequantize ragged = rows ins(%q#0, %q#1 : !e, !s) offsets(%o : !o) outs(%4 : !x) -> !x
""", ["%d !x"]),
    "rows": ("%x: !x, %b: !b, %bs: !bs, %o: !o", QUANTIZE + ROWS, ["%p !y"]),
    "scatter": ("%x: !x, %b: !b, %bs: !bs, %o: !o, %r: tensor<200xi32>, %z: !z", QUANTIZE + ROWS + f"""
  %c = mx.combine ins(%p : !y) rows(%r : tensor<{T}xi32>) offsets(%o : !o) outs(%z : !z) -> !z
""", ["%c !z"]),
    "in order": ("%y: !y, %o: !o, %r: tensor<200xi32>, %z: !z", f"""
  %c = mx.combine ins(%y : !y) rows(%r : tensor<{T}xi32>) offsets(%o : !o) outs(%z : !z) order = fixed -> !z
""", ["%c !z"]),
    "reduction": ("%x: !x, %o: !o", TRANSPOSED + """
  %4 = tensor.empty() : !ry
  %p = mx.grouped_matmul ragged = reduction ins(%t#0, %t#1, %t#0, %t#1 : !te, !ts, !te, !ts) offsets(%o : !o) outs(%4 : !ry) -> !ry
""", ["%p !ry"]),
    "padded": ("%te: !te, %ts: !ts, %o: !o", """
  %4 = tensor.empty() : !tx
  %d = mx.dequantize ragged = reduction padded ins(%te, %ts : !te, !ts) offsets(%o : !o)
      outs(%4 : !tx) -> !tx
""", ["%d !tx"]),
    "masked": ("%m: !m, %ms: !ms, %b: !b, %bs: !bs, %o: !o", """
  %4 = tensor.empty() : !my
  %p = mx.grouped_matmul ragged = rows masked ins(%m, %ms, %b, %bs : !m, !ms, !b, !bs) offsets(%o : !o) outs(%4 : !my) -> !my
""", ["%p !my"]),
}


def source(name, integer):
    arguments, body, results = PROGRAMS[name]
    values, types = zip(*(result.split() for result in results))
    return TYPES.replace("INT", integer) + f"""
func.func @main({arguments}) -> ({', '.join(types)}) {{{body}
  return {', '.join(values)} : {', '.join(types)}
}}
"""


def meaning(offsets, total):
    """Normalizes invalid offsets to valid ends."""
    last = min(max(int(offsets[-1]), 0), total)
    return np.maximum.accumulate(np.clip(offsets.astype(np.int64), 0, last)).astype(offsets.dtype)


def defined(name, outputs, ends):
    """Returns the part of the results inside the groups. The rest is unspecified."""
    if name == "masked":
        return [outputs[0][g, :end] for g, end in enumerate(ends)]
    if name in ("reduction", "scatter", "in order"):
        return outputs
    sizes = np.diff(ends, prepend=0)
    used = int(((sizes + 127) // 128).sum())
    if name == "padded":
        return [outputs[0][:, :128 * used]]
    if name == "transpose":
        return [outputs[0][:, :128 * used], outputs[1][:, :used]]
    found = [outputs[0][:ends[-1]]]
    if name == "quantize":
        begins = (ends - sizes) // 128 + np.arange(G)
        found += [outputs[1][b:b + (n + 127) // 128] for b, n in zip(begins, sizes)]
    return found


def make_offsets(integer):
    limits = np.iinfo(integer.replace("i", "int"))
    kind = random.integers(4)
    offsets = random.integers(0, T + 1, G)
    if kind == 0:  # decreasing offsets within the tensor
        offsets[::-1].sort()
        offsets[random.integers(G)] = T
    elif kind == 1:  # offsets within the tensor, before and after it
        offsets = random.integers(-T, 3 * T, G)
    elif kind == 2:  # offsets alternate between both ends
        offsets[::2], offsets[1::2] = T, 0
    else:  # two offsets are far outside
        offsets[random.integers(G, size=2)] = [limits.max, limits.min]
    return offsets.astype(integer.replace("i", "int"))


def run(path, text, arrays, count):
    """Returns the results on one of the four paths, and checks that it prints nothing."""
    if path == "launch":
        return test.launch(test.path("compiled"), arrays, count, quiet=True)
    return test.run(text, arrays, count, chip=path, quiet=True)


arrays = {
    "x": to_array(random.integers(-4, 5, (T, K)), "bf16")[0],
    "b": random.integers(0x30, 0x40, (G, N, K)).astype(np.uint8),
    "bs": np.full((G, 1, 1, 32, 4, 4), 127, np.uint8),
    "m": random.integers(0x30, 0x40, (G, 40, K)).astype(np.uint8),
    "te": random.integers(0x30, 0x40, (K, CAPACITY)).astype(np.uint8),
    "ts": random.integers(120, 130, (1, CAPACITY // 128, 32, 4, 4)).astype(np.uint8),
    "ms": np.full((G, 1, 1, 32, 4, 4), 127, np.uint8),
    "r": random.integers(-2, 9, T).astype(np.int32), "z": np.zeros((7, N), np.float32),
    "y": random.standard_normal((T, N)).astype(np.float32),
}
for _ in range(test.rounds):
    for name, (arguments, _, results) in PROGRAMS.items():
        integer = ["i32", "i64"][random.integers(2)]
        offsets, text = make_offsets(integer), source(name, integer)
        if name == "reduction":  # its matmuls are not given T
            offsets[-1] = min(offsets[-1], T)
        ends = np.clip(offsets, 0, 40) if name == "masked" else meaning(offsets, CAPACITY if name == "padded" else T)
        names = [a.split(":")[0].strip(" %") for a in arguments.split(", ")]
        test.compile(text)
        for path in ("cpu", "sm_100a", "sm_90a", "launch"):
            outputs = [run(path, text, [{"o": use, **arrays}[i] for i in names], len(results))
                       for use in (offsets, ends.astype(offsets.dtype))]
            for own, array in zip(*(defined(name, output, ends) for output in outputs), strict=True):
                test.expect(f"{name} on {path}, {integer}, offsets {offsets.tolist()} for {ends.tolist()}", own, array)
test.finish(least=1800000)

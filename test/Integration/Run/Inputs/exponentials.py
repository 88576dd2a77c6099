"""Compares exp, sigmoid and silu on the simulator and the CPU with numpy, bit by bit, and with float64.

Covers all bf16 values, and random f32 values of all exponents and of the relevant range.
"""

import numpy as np
from chips import adapt_schedule
from exponentials_model import exp, sigmoid
from harness import Harness

SIZE = 256  # rows and columns of a square with all bf16 values

# Regions on a value %x with result %v.
BODIES = {
    "exp": "%v = math.exp %x : f32",
    "sigmoid": """%minus = arith.negf %x : f32
    %e = math.exp %minus : f32
    %d = arith.addf %e, %one : f32
    %v = arith.divf %one, %d : f32""",
    "silu": """%minus = arith.negf %x : f32
    %e = math.exp %minus : f32
    %d = arith.addf %one, %e : f32
    %v = arith.divf %x, %d : f32""",
}
MATMUL = """
  %{name} = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%none : !x)
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !x
  epilogue {{
  ^bb0(%acc: f32, %row: index, %col: index):
    %one = arith.constant 1.0 : f32
    %x = tensor.extract %input[%row, %col] : !x
    {body}
    mx.yield %v : f32
  }}"""
PROGRAM = """
!x = tensor<{size}x{size}xf32>
!a = tensor<{size}x32xf8E4M3FN>
!s = tensor<{size}x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%input: !x, %a: !a, %s: !s) -> (!x, !x, !x) {{
  %none = tensor.empty() : !x
{matmuls}
  return {results} : !x, !x, !x
}}
"""


MODELS = {"exp": exp, "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x)}
EXACT = {
    "exp": np.exp,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
# Error bounds in docs/reference/Math.md: units in the last place, and an additional absolute error.
# For silu, the absolute error is multiplied by |x|.
ULPS = {"exp": 1.1, "sigmoid": 3.5, "silu": 4.0}
ABSOLUTE = {"exp": 0.0, "sigmoid": 2.0**-125, "silu": 2.0**-125}


def make_inputs():
    rng = np.random.default_rng(7)
    count = SIZE * SIZE
    bits = rng.integers(0, 1 << 32, count, np.uint32)
    near = rng.uniform(-110, 110, count).astype(np.float32)
    edges = [0, 87, 88, 88.72283935546875, 88.7228469848632812, 104, 105, 103.97207641601562, np.inf]
    for value in edges:
        for one in (value, np.nextafter(np.float32(value), np.float32(0))):
            near[:2], near[2:] = np.float32([one, -one]), near[:-2].copy()
    return {
        "bf16": (np.arange(count, dtype=np.uint32) << 16).view(np.float32),
        "bits": bits.view(np.float32),
        "near": near,
    }


def get_bits(x):
    """Ignores the payload of a NaN, which depends on the device."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


def measure(name, x, found):
    """Returns the largest error in units in the last place."""
    x = x.astype(np.float64)
    exact = EXACT[name](x)
    assert np.array_equal(np.isnan(exact), np.isnan(found)), f"{name}: NaN"
    rounded = exact.astype(np.float32)
    finite = np.isfinite(exact) & np.isfinite(found)
    overflow = ~finite & ~np.isnan(exact)
    assert np.array_equal(rounded[overflow], found[overflow]), f"{name}: overflow"
    assert np.array_equal(np.signbit(exact[finite]), np.signbit(found[finite])), f"{name}: signs"
    x, exact, found = x[finite], exact[finite], found[finite].astype(np.float64)
    absolute = ABSOLUTE[name] * (np.abs(x) if name == "silu" else 1)
    ulp = np.ldexp(1.0, np.maximum(np.frexp(exact)[1] - 24, -149))
    return (np.maximum(np.abs(found - exact) - absolute, 0) / ulp).max()


matmuls = "".join(
    MATMUL.format(
        name=name, body=body,
        schedule=adapt_schedule(f"tile = [128, 128, 128], stages = 2, epilogue = {epilogue}"),
    )
    for (name, body), epilogue in zip(BODIES.items(), ["direct", "tma_store", "tma_store"])
)
program = PROGRAM.format(size=SIZE, matmuls=matmuls, results=", ".join("%" + n for n in BODIES))
zeros = np.zeros((SIZE, 32), np.uint8), np.zeros((SIZE // 128, 1, 32, 4, 4), np.uint8)

test = Harness("mx_run", "folder")
with np.errstate(all="ignore"):
    for kind, x in make_inputs().items():
        results = {device: dict(zip(BODIES, test.run(program, [x.reshape(SIZE, SIZE), *zeros], 3, device=device, sms=2)))
                   for device in ("cpu", "sim")}
        for name, model in MODELS.items():
            for device, found in results.items():
                test.expect(f"{kind}: {name} on {device}", get_bits(found[name].ravel()), get_bits(model(x)))
            error = measure(name, x, results["cpu"][name].ravel())
            print(f"{kind}: {name} is off by {error:.2f} ulp at most")
            if not error <= ULPS[name]:
                test.fail(f"{kind}: {name} is off by {error:.2f} ulp, expected at most {ULPS[name]}")
test.finish(least=3 * 3 * 2 * SIZE * SIZE)

"""Checks the errors for wrong function arguments, and that no kernel is launched. cpu.test passes "cpu".

TIER: slow
RUN: rm -rf %t && mkdir %t
RUN: env MX_CACHE_DIR=%t MX_CHIP= MX_PTXAS=none %python -W error %s | FileCheck %s
CHECK: all is well
"""

import sys

import ml_dtypes
import mx_compiler as mx
import numpy as np
from refuses import refuses

device = (sys.argv[1:] or ["sim"])[0]
mx.set_device(device)
rng = np.random.default_rng(7)


def matrix(*shape):
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)


x = matrix(64, 64)
q, w = mx.quantize(x), mx.quantize(matrix(2, 32, 64))
ends = np.array([3, 64], np.int32)
ends3 = np.array([1, 2, 64], np.int32)
other, nvfp4, mxint8 = mx.quantize(matrix(32, 96)), mx.quantize(x, "nvfp4"), mx.quantize(x, "mxint8")
grouped, grouped3 = mx.quantize(x, offsets=ends), mx.quantize(x, offsets=ends3)
columns = mx.quantize(x, axis=-2, offsets=ends)
launches = mx.simulator_counters()["launches"]

for kind, text, call in (
        (ValueError, "format: expected one of mxfp8, ", lambda: mx.quantize(x, "mxfp9")),
        (ValueError, "axis: expected -1, -2 or \\(-1, -2\\), found 0", lambda: mx.quantize(x, axis=0)),
        (ValueError, "layout: expected one of sf_128x4, linear, found 'rows'", lambda: mx.quantize(x, layout="rows")),
        (ValueError, "scale_rounding: expected one of ceil", lambda: mx.quantize(x, scale_rounding="up")),
        (TypeError, "x: expected an array of f32, bf16, f16, found i32", lambda: mx.quantize(np.zeros((4, 32), np.int32))),
        (TypeError, "x: expected an array of NumPy, .* found list", lambda: mx.quantize([[1.0]])),
        (ValueError, "x: expected 2 dimensions or more, found shape \\(64,\\)", lambda: mx.quantize(x[0])),
        (ValueError, "x: expected a multiple of 32 columns, .* found 48; pad to 64", lambda: mx.quantize(x[:, :48])),
        (ValueError, "x: expected a multiple of 32 rows, .* found 5; pad to 32", lambda: mx.quantize(x[:5], axis=-2)),
        (ValueError, "global_scale: expected None, .* found a global scale for mxfp8", lambda: mx.quantize(x, global_scale=1.0)),
        (TypeError, "offsets: expected an array of i32 or i64, found f32", lambda: mx.quantize(x, offsets=ends.astype(np.float32))),
        (ValueError, "x: expected 2 dimensions with expert groups", lambda: mx.quantize(matrix(2, 4, 32), offsets=ends)),
        (ValueError, "scale_rounding: expected ceil with nvfp4", lambda: mx.quantize(x, "nvfp4", scale_rounding="floor")),
        (TypeError, "a: expected an array of bf16, found f16: quantize the array with mx_compiler.quantize\\(a\\), or convert it to bfloat16$", lambda: mx.matmul(x.astype(np.float16), q)),
        (TypeError, "a: expected an array of bf16, found f32: quantize the array", lambda: mx.matmul(np.ones((64, 64), np.float32), q)),
        (TypeError, "b: expected an array of bf16, found f32: quantize the array with mx_compiler.quantize\\(b\\)", lambda: mx.matmul(x, np.ones((64, 64), np.float32))),
        (TypeError, "Quantized is not an array: mx_compiler.dequantize\\(q\\) returns its matrix", lambda: np.asarray(q)),
        (TypeError, "Quantized is not an array", lambda: np.array(q, dtype=np.float32)),
        (ValueError, "expected device auto, sim, sim:N, cuda, cuda:N or cpu, found 'gpu': a GPU is cuda or cuda:N", lambda: mx.set_device("gpu")),
        (TypeError, "expected an array of ml_dtypes.float4_e2m1fn, found float32", lambda: mx.pack_fp4(np.ones((1, 2), np.float32))),
        (TypeError, "expected a uint8 array of rank at least 1, found float32", lambda: mx.unpack_fp4(np.ones((1, 2), np.float32))),
        (ValueError, "x: expected at least 16 columns, found shape \\(4, 0\\)", lambda: mx.quantize(matrix(4, 0), "nvfp4")),
        (ValueError, "gate_up: expected at least 32 columns of gate and of up", lambda: mx.swiglu_quantize(matrix(4, 0))),
        (ValueError, "probs: expected f32 of shape \\(64,\\), one for each row of gate_up, found f32 of shape \\(9,\\)", lambda: mx.swiglu_quantize(x, probs=np.ones(9, np.float32))),
        (ValueError, "global_scale: expected a finite number above 0, found -1.0", lambda: mx.quantize(x, "nvfp4", global_scale=-1.0)),
        (ValueError, "global_scale: expected a finite number above 0, found inf", lambda: mx.quantize(x, "nvfp4", global_scale=float("inf"))),
        (ValueError, "global_scale: expected a number from 2\\^-127 to 2\\^127, found 1e-39", lambda: mx.quantize(x, "nvfp4", global_scale=1e-39)),
        (ValueError, "global_scale: expected a number from 2\\^-127 to 2\\^127, found 1e\\+39", lambda: mx.quantize(x, "nvfp4", global_scale=1e39)),
        (TypeError, "x: expected numbers in the byte order of this machine, found >f4", lambda: mx.quantize(np.ones((4, 64), ">f4"))),
        (TypeError, "dtype: expected a numeric dtype, found None", lambda: mx.dequantize(q, None)),
        (TypeError, "chip: expected a name such as \"sm_90a\", found 5", lambda: mx.compile("", chip=5)),
        (TypeError, "pipeline: expected text", lambda: mx.compile("", pipeline=7)),
        (TypeError, "expected entries to be a list of names, found 5", lambda: mx.compile("", entries=5)),
        (TypeError, "cache: expected True, False or a folder, found 3.5", lambda: mx.compile("", cache=3.5)),
        (TypeError, "name: expected auto, sim, sim:N, cpu, cuda or cuda:N, found None", lambda: mx.set_device(None)),
        (ValueError, "gate_up: expected gate and up side by side", lambda: mx.swiglu_quantize(matrix(4, 33))),
        (TypeError, "q: expected an mx_compiler.Quantized, found ndarray", lambda: mx.dequantize(x)),
        (ValueError, "offsets: expected None, unless q has expert groups of rows, found an array", lambda: mx.dequantize(q, offsets=ends)),
        (TypeError, "dtype: expected one of f32, bf16, f16, found i8", lambda: mx.dequantize(q, "int8")),
        (ValueError, "b: expected K = 64, the last dimension of a, found shape \\(32, 96\\)", lambda: mx.matmul(q, other)),
        (ValueError, "b: expected a format with scales of f8E8M0FNU, like mxfp8, found nvfp4", lambda: mx.matmul(q, nvfp4)),
        (TypeError, "b: expected an mx_compiler.Quantized if 'a' is quantized and mode is \"reduction\", found an array: quantize both operands or neither", lambda: mx.grouped_matmul(columns, x, ends, mode="reduction")),
        (ValueError, "b: expected the batch \\(\\) of a, found \\(2,\\)", lambda: mx.matmul(q, w)),
        (ValueError, "a: expected a format that supports matmuls, found mxint8", lambda: mx.matmul(mxint8, q)),
        (TypeError, "alpha: expected a number", lambda: mx.matmul(q, q, alpha=np.ones(2, np.float32))),
        (ValueError, "a: expected a matrix without expert groups, found 2 expert groups of rows", lambda: mx.matmul(grouped, q)),
        (ValueError, "mode: expected one of rows, masked, reduction, found 'row'", lambda: mx.grouped_matmul(q, w, ends, mode="row")),
        (ValueError, "a: expected an mx_compiler.Quantized with 2 expert groups of rows, .* found no expert groups", lambda: mx.grouped_matmul(q, w, ends)),
        (ValueError, "b: expected 3 dimensions with mode \"rows\", found shape \\(64, 64\\)", lambda: mx.grouped_matmul(grouped, q, ends)),
        (ValueError, "b: expected one matrix for each of 3 expert groups of offsets, found 2", lambda: mx.grouped_matmul(grouped3, w, ends3)),
        (ValueError, "hidden: expected a multiple of 32, at least 32, found 100", lambda: mx.MoELayer(2, 100, 64)),
        (ValueError, "weights: expected a format with blocks of 32 that supports matmuls, found nvfp4", lambda: mx.MoELayer(2, 96, 64, weights="nvfp4")),
        (TypeError, "experts: expected a number of at least 1, found float", lambda: mx.MoELayer(2.5, 96, 64)),
        (ValueError, "weight_gradients: expected f32 or bf16, found 'f16'", lambda: mx.MoELayer(2, 96, 64, weight_gradients="f16")),
        (ValueError, "results: expected f32 or bf16, found 'f16'", lambda: mx.RoutedMoELayer(2, 96, 64, 1, tokens=4, results="f16")),
        (TypeError, "ids: expected an array of i32, i64, found i16", lambda: mx.group_rows(np.zeros((4, 2), np.int16), 2)),
        (ValueError, "ids: expected \\[tokens, k\\], k at least 1, found shape \\(4, 0\\)", lambda: mx.group_rows(np.zeros((4, 0), np.int32), 2)),
        (ValueError, "experts: expected at least 1, found 0", lambda: mx.group_rows(np.zeros((4, 2), np.int32), 0)),
        (ValueError, "capacity: expected at least 1, found -3", lambda: mx.group_rows(np.zeros((4, 2), np.int32), 2, capacity=-3)),
        (ValueError, "chosen: expected experts from 0 to 1, or -1, found 0 to 2", lambda: mx.route([[0, 2]], [[1, 1]], 2)),
):
    refuses(kind, text, call)
if device == "sim":  # only sm_100a refuses this matmul
    refuses(mx.CompileError, "found .*f8E4M3FN.* and .*bf16.*: quantize 'b', or convert 'a' to "
            "bf16 with mx.dequantize", lambda: mx.matmul(q, x))
assert mx.simulator_counters()["launches"] == launches

# Missing linear scales are an error.
linear, rows = mx.quantize(x, layout="linear"), mx.quantize(x)
few = linear._replace(scales=linear.scales[:10])
for text, call in (("a.scales: expected shape \\(64, 2\\) for .*, found \\(10, 2\\)", lambda: mx.matmul(few, rows)),
                   ("q.scales: expected shape", lambda: mx.dequantize(few)),
                   ("b.elements: expected shape \\(64, 64\\)", lambda: mx.matmul(rows, rows._replace(elements=rows.elements[:5])))):
    refuses(ValueError, text, call)
assert mx.unpack_fp4(np.zeros((0, 3), np.uint8)).shape == (0, 6)
assert mx.quantize(x, axis=np.int64(-1)).shape == x.shape

# Names that PTX does not support.
for name in ('@"a b"', "@a.b", '@"1\\C3\\A9"'):
    text = "(%x: tensor<4xf32>) -> tensor<4xf32> { %y = arith.addf %x, %x : tensor<4xf32> return %y : tensor<4xf32> }"
    program = mx.compile(f"func.func {name}{text}")
    y, = next(iter(program.entries.values()))(np.ones(4, np.float32))
    assert (y == 2).all()

# These checks run at call time: dynamic sizes, and the number of expert groups.
layer = mx.MoELayer(2, 64, 64)
weights = layer.quantize_weights(matrix(2, 128, 64), matrix(2, 64, 64))
routing = mx.route([[0, 1]] * 4, np.ones((4, 2)), 2)
for kind, text, call in (
        (TypeError, "weights: expected the mx_compiler.MoEWeights of quantize_weights, found tuple", lambda: layer.forward(x, (), *routing)),
        (TypeError, "saved: expected the mx_compiler.MoESaved of forward, found list", lambda: layer.backward(x, weights, [], *routing)),
        (ValueError, "'x': expected .*64.*, found .*32", lambda: layer.forward(matrix(4, 32), weights, *routing)),
        (ValueError, "'ends': expected", lambda: layer.forward(matrix(4, 64), weights, *routing[:2], ends3)),
        (TypeError, "'w1': expected dtype bfloat16", lambda: layer.quantize_weights(np.zeros((2, 128, 64), np.float32), matrix(2, 64, 64))),
        (ValueError, "w1: expected \\[experts, 2 \\* intermediate, hidden\\], found shape", lambda: mx.moe_layer(x, matrix(128, 64), None, *routing)),
):
    refuses(kind, text, call)
print("all is well")

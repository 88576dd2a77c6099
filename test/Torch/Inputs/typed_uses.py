"""Uses of the public names for type-checker.py. Lines with a comment are errors, with mypy's code."""

import pathlib

import ml_dtypes
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import ScalingType, SwizzleType
from typing_extensions import assert_type

import mx_compiler as mx
import mx_compiler.torch as mxt
from mx_compiler.torch import ep, gpt_oss


def core(x: np.ndarray, w: np.ndarray, offsets: np.ndarray) -> None:
    mx.set_device("sim", target="sm_100a")
    mx.set_device(0)  # error: arg-type
    q = mx.quantize(x, mx.FORMATS["mxfp8"], axis=-2)
    assert_type(q, mx.Quantized)
    assert_type(mx.swiglu_quantize(x, axis=(-1, -2)), tuple[mx.Quantized, mx.Quantized])
    mx.quantize(x, axis="rows")  # error: call-overload
    mx.quantize(x, rounding="ceil")  # error: call-overload
    mx.matmul(q, mx.pack_weights(mx.quantize(w, "mxfp4")), alpha=2.0, dtype=ml_dtypes.bfloat16).numpy()
    mx.pack_weights(w)  # error: arg-type
    assert_type(mx.array(x).copy_from(x).numpy(dtype="u2"), np.ndarray)
    mx.empty((4, 4))  # error: call-arg
    program = mx.compile(pathlib.Path("layer.mlir"), chip="sm_90a", entries=["f"], tune=4, hidden=384)
    y, = program["f"](x, 3, stream=0)
    program[0]  # error: index
    program.save(b"folder")  # error: arg-type
    for name, entry in program.entries.items():
        assert_type(entry.workspace_bytes(x), int)
    layer = mx.MoELayer(8, 384, 256, weights="mxfp4")
    y, saved = layer.forward(x, layer.quantize_weights(w, w), *mx.route([[0]], [[1.0]], 8))
    assert_type(saved, mx.MoESaved)
    layer.backward(y, saved, saved, x, x, x)  # error: arg-type
    with mx.Group(0, 1) as group, mx.Stream() as stream:
        assert_type(group.status(), mx.GroupFailure | None)
        mx.RoutedMoELayer(8, 384, 256, 2, group)  # error: call-arg
        stream.wait()
    assert_type(mx.device_info().capability, tuple[int, int])
    assert_type(mx.__version__, str)
    mx.nothing  # error: attr-defined
    try:
        mx.compile(mx.Template("..."))
    except mx.CompileError as error:
        print(error.status + 1, error.diagnostics[0].line)


def tensors(x: Tensor, w: Tensor, offs: Tensor) -> Tensor:
    elements, scales = mxt.quantize_mxfp8(x, element="e5m2", offsets=offs)
    mxt.quantize_mxfp8(x, -1, "e5m2")  # error: call-arg
    y = mxt.mxfp8_mm(x, w, gradients="mxfp8_e5m2") + mxt.fp8_mm(x, w, quantized=mxt.fp8_quantize_weight(w))
    mxt.mxfp8_mm(x, w, gradients=mx.FORMATS["mxfp8"])  # error: arg-type
    gate, up = mxt.fp8_grouped_mm(x, (w, w), offs)
    assert_type(mxt.fp8_grouped_mm(x, w, offs), Tensor)
    mxt.weight_only_mm(x, elements, scales, "mxfp4", fp8=mxt.normalize_scales(elements, scales))
    mxt.scaled_mm(elements, elements, scales, ScalingType.BlockWise1x32, scales, ScalingType.BlockWise1x32,
                  SwizzleType.SWIZZLE_32_4_4, SwizzleType.SWIZZLE_32_4_4, output_dtype=torch.float32)
    mxt.scaled_mm(elements, elements, scales, "BlockWise1x32", scales, 3)  # error: arg-type
    padded, ends = mxt.pad_token_groups(x, offs)
    mxt.install("cuda", torchao=True)
    return mxt.moe_layer(x, w, w, *mxt.route(x, x, 8)) + y + gate


def modules(model: torch.nn.Module, x: Tensor) -> None:
    model = mxt.convert_(model, mxt.Recipe(weights="mxfp4"), filter=lambda module, name: name != "head")
    mxt.convert_(model, recipe=8)  # error: arg-type
    layer = mxt.MXLinear.from_linear(torch.nn.Linear(32, 32), "mxfp8")
    assert_type(layer, mxt.MXLinear)
    assert_type(layer.recipe.weights, str)
    assert_type(layer.forward(x), Tensor)
    assert_type(mxt.GroupedExperts(32, 32, 4).w1, torch.nn.Parameter)
    mxt.MXWeightOnlyLinear(64, 64, device="cpu", dtype=torch.bfloat16).refit(layer.weight)
    mxt.MXGroupedExperts(32, 32, 4, "mxfp8", batch_invariant=1)  # error: arg-type
    assert_type(mxt.MXWeightOnlyExperts(32, 32, 4).dequantized("w1"), Tensor)
    with mxt.quantize_weights_once(model):
        model(x)
    assert_type(mxt.fold_report(model).table(limit=8), str)
    group = ep.Group.alone(tokens=64)
    assert_type(ep.dispatch(x, x, x, 8, group).ends, Tensor)
    ep.MXRoutedExperts(32, 32, 8, mx.Group(0, 1))  # error: arg-type
    checkpoint = gpt_oss.Checkpoint(pathlib.Path("gpt-oss-20b"))
    experts = mxt.MXWeightOnlyGptOssExperts.from_checkpoint(checkpoint, 0, alpha=1.702)
    assert_type(gpt_oss.checkpoint_tensors(experts), dict[str, Tensor])
    gpt_oss.read_experts(0, 0)  # error: arg-type

# REQUIRES: torch, vllm
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s few
"""Tests the plugin for vLLM with the released classes of vLLM on the host: its choice of kernels, and its layers with
checkpoints of other tools and of mx, also for two ranks. Results are compared with the stored bytes in float64."""

import contextlib
import logging
import os
import sys
import tomllib
import types
from importlib import import_module, metadata
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from vllm.config import DeviceConfig, VllmConfig, set_current_vllm_config
from vllm.distributed import parallel_state
from vllm.model_executor.kernels import linear
from vllm.model_executor.layers import linear as layers
from vllm.model_executor.layers.fused_moe import RoutedExperts
from vllm.model_executor.layers.quantization import get_quantization_config, modelopt
from vllm.model_executor.layers.quantization.compressed_tensors import compressed_tensors
from vllm.model_executor.layers.quantization.fp8 import Fp8Config
from vllm.model_executor.layers.quantization.utils import quant_utils
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.model_executor.model_loader import reload
from vllm.platforms import PlatformEnum, current_platform
from vllm.platforms.interface import DeviceCapability
from vllm.utils.torch_utils import set_default_torch_dtype

import mx_compiler.torch as mxt
import mx_reference
import reference as ref
from mx_compiler.vllm import register
from reference import exact
from refuses import refuses

FEW = "few" in sys.argv
BF16 = torch.bfloat16
TABLES = [getattr(linear, f"_POSSIBLE_{kind}_KERNELS") for kind in ("MXFP8", "MXFP4", "NVFP4", "FP8_BLOCK")]
NAMES = ["MxMxfp8LinearKernel", "MxMxFp4LinearKernel", "MxNvFp4LinearKernel", "MxFp8BlockScaledMMLinearKernel"]
# Type of scales of x, or None. Batch-invariant matmuls with fp8_activations quantize any x.
STORED = {name: "e8m0" if recipe.fp8_activations else recipe.fp8_scales for name, recipe in mxt.RECIPES.items()
          if recipe.weight_only}


def pose_as(major):
    """Lets vLLM, which finds no GPU, find one with this compute capability."""
    platform = type(current_platform)
    platform._enum = PlatformEnum.CUDA
    platform.get_device_capability = classmethod(lambda cls, device_id=0: DeviceCapability(major, 0))


def rank(number, size):
    """Lets vLLM create and load the layers of a rank."""
    return mock.patch.object(parallel_state, "_TP", types.SimpleNamespace(rank_in_group=number, world_size=size))


def check(y, x, weight, bias=0, fp8=None):
    """Compares y with x weight^T + bias in float64. With `fp8`, x is first rounded with such scales."""
    wanted = (exact(x) if fp8 is None else rounded(x, fp8)) @ weight.T + bias
    assert y.dtype == x.dtype and y.shape == wanted.shape, (y.dtype, y.shape, wanted.shape)
    error = np.linalg.norm(exact(y) - wanted) / np.linalg.norm(wanted)
    assert error < 4e-3, (error, fp8)


def rounded(x, kind):
    """Quantizes x to E4M3 with a scale for 128 elements of a row. Returns float64."""
    x, quantize = exact(x), mx_reference.quantize_f32 if kind == "f32" else mx_reference.quantize
    codes, scales = quantize(x.reshape(-1, x.shape[-1]).astype(np.float32), "f8E4M3FN", size=128)
    scales = scales if kind == "f32" else mx_reference.decode_scale(scales)
    return (mx_reference.decode(codes, "f8E4M3FN") * scales.astype(np.float64).repeat(128, 1)).reshape(x.shape)


def squares(scales):
    """Returns the scale of each element of 128 x 128 blocks."""
    return exact(scales).repeat(128, 0).repeat(128, 1)


def load(layer, tensors, *shard):
    for name, value in tensors.items():
        param = layer.get_parameter(name)
        param.weight_loader(param, value, *shard)


def finish(layer, x, bias=None):
    layer.quant_method.process_weights_after_loading(layer)
    return layer.quant_method.apply(layer, x, bias)


def compressed(format, bits, group_size=32, scales="uint8", strategy="group", activations=None):
    weights = {"type": "float", "strategy": strategy, "group_size": group_size, "symmetric": True,
               "dynamic": False, "num_bits": bits, "scale_dtype": f"torch.{scales}"}
    return compressed_tensors.CompressedTensorsConfig.from_config({
        "quant_method": "compressed-tensors", "format": format, "ignore": [], "config_groups": {"group_0": {
            "targets": ["Linear"], "weights": weights,
            "input_activations": activations and {**weights, "dynamic": True}}}})


def others():
    """Yields a configuration of vLLM, its kernel, tensors, the weight, and the scales of x in FP8."""
    rows, columns, rng = 320, 384, np.random.default_rng(1)
    four = torch.from_numpy(rng.integers(0, 256, (rows, columns // 2), np.uint8))
    eight = torch.randn(rows, columns).to(torch.float8_e4m3fn)
    values = ref.codes(four, "mxfp4")
    e8m0 = torch.from_numpy(rng.integers(120, 128, (rows, columns // 32), np.uint8))
    e4m3 = (torch.rand(rows, columns // 16) * 4 + 0.5).to(torch.float8_e4m3fn)
    powers, factors = np.exp2(e8m0.double().numpy() - 127).repeat(32, 1), exact(e4m3).repeat(16, 1)
    yield (compressed("mxfp8-quantized", 8, activations=True), NAMES[0],
           {"weight": eight, "weight_scale": e8m0}, exact(eight) * powers, None)
    yield (compressed("mxfp4-pack-quantized", 4), NAMES[1],
           {"weight_packed": four, "weight_scale": e8m0}, values * powers, None)
    nvfp4 = "nvfp4-pack-quantized", 4, 16, "float8_e4m3fn", "tensor_group"
    yield (compressed(*nvfp4), NAMES[2], {"weight_packed": four, "weight_scale": e4m3,
                                          "weight_global_scale": torch.tensor([800.0])}, values * factors / 800, None)
    yield (modelopt.ModelOptNvFp4Config("NVFP4", True, None, []), NAMES[2],
           {"weight": four, "weight_scale": e4m3, "weight_scale_2": torch.tensor([0.003]),
            "input_scale": torch.tensor([0.01])}, values * factors * 0.003, None)
    blocks = torch.rand(3, columns // 128) + 0.5
    for is_e8m0 in False, True:
        config = Fp8Config(weight_block_size=[128, 128])
        config.is_scale_e8m0 = is_e8m0  # as of DeepSeek-V4
        blocks = torch.exp2(blocks.log2().round()).to(torch.float8_e8m0fnu) if is_e8m0 else blocks
        yield (config, NAMES[3], {"weight": eight, "weight_scale_inv": blocks},
               exact(eight) * squares(blocks)[:rows], "e8m0" if is_e8m0 else "f32")


def serve_others():
    for config, kernel, tensors, weight, fp8 in others():
        dtype = BF16 if FEW else torch.float16
        with set_default_torch_dtype(dtype):
            layer = layers.ReplicatedLinear(weight.shape[1], weight.shape[0], True, quant_config=config,
                                            prefix="model.q", return_bias=False)
        bias, x = torch.randn(weight.shape[0]).to(dtype), torch.randn(2, 5, weight.shape[1]).to(dtype)
        load(layer, {**tensors, "bias": bias})
        y = finish(layer, x, layer.bias)
        holder = getattr(layer, "scheme", layer.quant_method)
        assert type(getattr(holder, "fp8_linear", None) or holder.kernel).__name__ == kernel
        assert layer.weight.dim() == (4 if FEW and not fp8 else 2)  # packed on sm_90a
        check(y, x, weight, exact(bias), fp8)
        assert FEW or torch.equal(torch.compile(layer.forward, fullgraph=True, backend="eager")(x), layer(x))


def saved(recipe, rows, columns, size=1.0, bias=True):
    """Returns the state dict of a module, and its weight."""
    plain = torch.nn.Linear(columns, rows, bias, dtype=BF16)
    plain.weight.data.mul_(size)
    tensors = mxt.MXWeightOnlyLinear.from_linear(plain, recipe).state_dict()
    scales, recipe = tensors["weight_scales"], mxt.RECIPES[recipe]
    values = ref.codes(tensors["weight_elements"], recipe.weights)
    if recipe.fp8_scales:
        return tensors, values * squares(
            scales.view(torch.float32 if recipe.fp8_scales == "f32" else torch.float8_e8m0fnu))[:rows]
    block, dtype = (16, torch.float8_e4m3fn) if recipe.weights == "nvfp4" else (32, torch.float8_e8m0fnu)
    factor = exact(tensors["weight_global_scale"].view(torch.float32)) if block == 16 else 1
    return tensors, values * ref.scales(scales.view(dtype), rows, columns // block, True).repeat(block, 1) * factor


def configure(recipe, skipped=()):
    """Returns the configuration of a checkpoint, as mx writes it."""
    return get_quantization_config("mx").from_config({
        "quant_method": "mx", "recipe": recipe, "modules_to_not_convert": skipped, "batch_invariant": True})


def serve_own(recipe, ranks):
    """Serves fused and divided layers, with new weights in the memory of the former ones."""
    fp8, columns, x = STORED[recipe], 256, torch.randn(3, 256, dtype=BF16)
    unit = 128 if mxt.RECIPES[recipe].fp8_scales else 48
    down, weight = saved(recipe, 200, columns, bias=False)
    options = {"params_dtype": BF16, "quant_config": configure(recipe), "return_bias": False}
    for number in range(ranks):
        with rank(number, ranks):
            row = layers.RowParallelLinear(columns, 200, False, **options)
            load(row, down)
            part = x.chunk(ranks, 1)[number]
            check(finish(row, part), part, np.split(weight, ranks, 1)[number], fp8=fp8)
            qkv, places = layers.QKVParallelLinear(columns, unit, 4, 2, **options), []
            model = torch.nn.Sequential(qkv)
            reload.record_metadata_for_reloading(model)
            for is_again in False, True:
                if is_again:
                    reload.initialize_layerwise_reload(model)
                given = [saved(recipe, unit * heads, columns, size) for heads, size in ((4, 1), (2, 8), (2, 0.2))]
                for name, (tensors, _) in zip("qkv", given):
                    load(qkv, tensors, name)
                reload.finalize_layerwise_reload(model, None) if is_again else finish(qkv, x)
                weights, bias = (np.concatenate([np.split(own, ranks)[number] for own in of]) for of in (
                    [own for _, own in given], [exact(tensors["bias"]) for tensors, _ in given]))
                check(qkv(x), x, weights, bias, fp8)
                places.append({name: param.data_ptr() for name, param in qkv.named_parameters()})
            assert places[0] == places[1]
            assert "nvfp4" not in recipe or len(qkv.mx_parts) == 3  # a global scale for each
    assert FEW or torch.equal(torch.compile(qkv.forward, fullgraph=True, backend="eager")(x), qkv(x))


def serve_head():
    config = configure("mxfp8_weight_only", ["model", "proj"])
    tensors, weight = saved("mxfp8_weight_only", 300, 128, bias=False)
    x, found = torch.randn(3, 128, dtype=BF16), []
    for number in range(2):
        with rank(number, 2):
            head = ParallelLMHead(300, 128, params_dtype=BF16, quant_config=config, prefix="lm_head")
            load(head, tensors)
        found.append(finish(head, x))
    found = torch.cat(found, -1)
    assert found.shape == (3, 320) and not found[:, 300:].any()
    check(found[:, :300], x, weight)
    layer = layers.ReplicatedLinear(64, 64)
    config.packed_modules_mapping = {"qkv": ["q", "proj"], "up": ["a.proj"]}
    refuses(ValueError, "a.qkv: expected all matrices", lambda: config.get_quant_method(layer, "a.qkv"))
    for prefix, kind in ("model.q", "Unquantized"), ("a.proj", "Unquantized"), ("up", "Unquantized"), ("q", "Mx"):
        assert type(config.get_quant_method(layer, prefix)).__name__ == f"{kind}LinearMethod", prefix
        assert (config.get_quant_method(head, prefix) is None) is (kind != "Mx")
    layer.input_size = 48  # modules of mx need multiples of 32
    assert type(config.get_quant_method(layer, "q")) is layers.UnquantizedLinearMethod
    config.apply_vllm_mapper(types.SimpleNamespace(apply_list=lambda names: [f"vllm.{name}" for name in names]))
    assert config.skipped == ["vllm.model", "vllm.proj"]
    assert configure("mxfp8_weight_only", None).get_quant_method(head, "q") is None


def refuse():
    refuses(ValueError, ("quantization_config.recipe: expected one of mxfp8_weight_only, ", ", found 'mxfp8'"),
            lambda: configure("mxfp8"))

    def create(recipe="mxfp4_weight_only", columns=64, rows=128, kind=layers.ReplicatedLinear):
        return kind(columns, rows, False, quant_config=configure(recipe), prefix="q")

    with rank(0, 2):
        refuses(ValueError, "q: expected multiples of 32 as K on each rank, found [128] and 48",
                lambda: create(columns=96, kind=layers.RowParallelLinear))
        refuses(ValueError, "q: expected multiples of 128 as N and K on each rank, found [192] and 128",
                lambda: create("fp8_block_weight_only", 128, 384, layers.ColumnParallelLinear))
    for name, wrong, text in (
            ("weight_scales", torch.zeros(128, 2, dtype=torch.uint8), "[N, 4], found torch.uint8 of shape (128, 2)"),
            ("weight_elements", torch.zeros(128, 64), "[N, 32], found torch.float32 of shape (128, 64)"),
            ("weight", torch.zeros(128, 64), "mxfp4 as bytes, found torch.float32 [128, 64]"),
            ("weight", torch.tensor([*b"nvfp4"], dtype=torch.uint8), "mxfp4 as bytes, found nvfp4")):
        refuses(ValueError, (f"q.{name}: expected", text), lambda: load(create(), {name: wrong}))
    refuses(ValueError, "q: expected weight_elements and scales of mxfp4", lambda: finish(create(), None))
    config = configure("fp8_block_weight_only")
    refuses(ValueError, "lm_head: expected an unquantized head",
            lambda: ParallelLMHead(256, 128, quant_config=config, prefix="lm_head"))
    refuses(ValueError, "experts: expected unquantized experts",
            lambda: config.get_quant_method(RoutedExperts.__new__(RoutedExperts), "experts"))
    pose_as(10)
    refuses(ValueError, "q: mx: expected compute capability 9.0, found 10.0", create)
    pose_as(9)


def choices(a16):
    """Returns the kernels of mx that vLLM chooses. Choosing others may fail without a GPU."""
    found, keys = [], (quant_utils.kFp8Dynamic128Sym, quant_utils.kFp8Static128BlockSym)
    for make in (lambda: linear.init_mxfp8_linear_kernel(weight_shape=(64, 128)), linear.init_mxfp4_linear_kernel,
                 lambda: modelopt.init_nvfp4_linear_kernel(use_a16=a16),
                 lambda: linear.init_fp8_linear_kernel(*keys, BF16, BF16, (256, 128))):
        with contextlib.suppress(AttributeError, ImportError, ValueError):
            found.append(type(make()).__name__)
    return [name for name in found if name in NAMES]


def select(kernel_config):
    for a16 in False, True:
        for backend, ours in ("mx", NAMES), ("marlin", []), ("auto", NAMES):
            kernel_config.linear_backend = backend
            assert choices(a16) == ours, (backend, choices(a16))
        with mock.patch.dict(os.environ, VLLM_DISABLED_KERNELS=",".join(NAMES[::2])):
            assert choices(a16) == NAMES[1::2]
        pose_as(10)
        assert choices(a16) == []
        pose_as(9)
    ours = [table[PlatformEnum.CUDA][0] for table in TABLES]
    assert {kernel.is_supported(80)[1] for kernel in ours} == {"mx: expected compute capability 9.0, found 8.0"}
    about = types.SimpleNamespace(weight_shape=(128, 192), activation_quant_key=quant_utils.kFp8Dynamic128Sym,
                                  weight_quant_key=quant_utils.kFp8Static128BlockSym)
    assert ours[3].can_implement(about) == (False, "mx: expected a multiple of 128 as K, found 192")


def registers():
    """Checks that another interface of vLLM leaves vLLM unchanged, and that repeated calls do nothing."""
    def sizes():
        return [len(table[PlatformEnum.CUDA]) for table in TABLES]

    before, handler = sizes(), logging.Handler()
    with mock.patch.object(handler, "emit") as emit, mock.patch.object(linear, "_POSSIBLE_NVFP4_KERNELS", {}):
        logging.getLogger("vllm.mx_compiler").addHandler(handler)
        register()
        register()
    (record,), = [call.args for call in emit.call_args_list]  # a single warning
    assert record.getMessage().startswith(f"mx: expected vLLM 0.33, found {metadata.version('vllm')} (")
    assert sizes() == before and "mx" not in linear._LINEAR_BACKEND_KERNEL_MAP
    register.cache_clear()
    register()
    register()
    assert sizes() == [size + 1 for size in before]
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    (name, value), = project["entry-points"]["vllm.general_plugins"].items()
    assert metadata.EntryPoint(name, value, "vllm.general_plugins").load() is register


def main():
    torch.manual_seed(1)
    # vLLM imports all methods, and some query the GPU.
    get_quantization_config("fp8")
    import_module("vllm.model_executor.layers.quantization.online.fp8")
    pose_as(9)
    registers()
    vllm_config = VllmConfig(device_config=DeviceConfig("cpu"))
    vllm_config.model_config = types.SimpleNamespace(dtype=BF16, quantization_config=None)
    with set_current_vllm_config(vllm_config), rank(0, 1), torch.no_grad():
        serve_others()
        for recipe in ["w4a8"] if FEW else STORED:
            serve_own(recipe, 2)
        if not FEW:
            serve_own("nvfp4_weight_only", 1)
            select(vllm_config.kernel_config)
            serve_head()
            refuse()


main()

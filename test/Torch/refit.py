# REQUIRES: torch
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a %python_torch %s
"""refit writes the bytes of a new module into the memory of an old one: plain and packed weights, experts, blocks of
128 x 128, on the host and, in a CUDA graph, on a GPU."""

import torch
from torch import nn

import mx_compiler.torch as mxt
from reference import DEVICE
from refuses import refuses


def storage(module):
    return {name: buffer.data_ptr() for name, buffer in module.named_buffers()}


def equal(a, b):
    """Compares all bytes, also of packed elements."""
    return all(torch.equal(x, y) for x, y in zip(a.buffers(), b.buffers(), strict=True))


def check(make, change, names):
    """Refits a module to the weights of another."""
    module, other = make(1), make(2)
    before = storage(module)
    assert not equal(module, other)
    result = change(module, 2)
    assert result is None and equal(module, other), type(module)
    assert storage(module) == before
    refuses(ValueError, f"{names[0]}: expected shape", module.refit, **{names[0]: torch.zeros(2, 2)})
    refuses(TypeError, f"{names[0]}: expected float32", module.refit,
            **{names[0]: torch.zeros(2, 2, dtype=torch.int32)})
    refuses(ValueError, f"weights: expected one of {', '.join(names)}, found 'other'", module.refit, other=1)
    refuses(TypeError, "weights: expected", module.refit)
    assert equal(module, other)


def draw(seed, *shape, dtype=torch.bfloat16):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to(DEVICE)


def linear(recipe, outputs=128):
    def make(seed):
        layer = nn.Linear(256, outputs, bias=False, device=DEVICE)
        layer.weight.data = draw(seed, outputs, 256, dtype=torch.float32)
        return mxt.MXWeightOnlyLinear.from_linear(layer, recipe)

    check(make, lambda module, seed: module.refit(draw(seed, outputs, 256, dtype=torch.float32)), ["weight"])


def experts(recipe):
    shapes = dict(w1=(3, 128, 256), w2=(3, 256, 128), w3=(3, 128, 256))

    def weights(seed):
        return {name: draw(seed + i, *shape) for i, (name, shape) in enumerate(shapes.items())}

    def make(seed):
        module = mxt.GroupedExperts(256, 128, 3, device=DEVICE, dtype=torch.bfloat16)
        for name, weight in weights(seed).items():
            getattr(module, name).data = weight
        return mxt.MXWeightOnlyExperts.from_experts(module, recipe)

    check(make, lambda module, seed: module.refit(**weights(seed)), [*shapes])


def on_meta(recipe):
    """Tensors without memory are refused."""
    layers = [mxt.MXWeightOnlyLinear(256, 128, bias=False, recipe=recipe, device=device) for device in (DEVICE, "meta")]
    for layer, weight in zip(layers, (draw(1, 128, 256).to("meta"), draw(1, 128, 256))):
        refuses(ValueError, "weight: expected a tensor and a module with memory, found the device meta", layer.refit,
                weight)


def in_graph():
    """A graph with the call and a graph with the layer read the memory of new weights."""
    layer = mxt.MXWeightOnlyLinear.from_linear(nn.Linear(256, 128, bias=False, device=DEVICE), "mxfp4_weight_only")
    x, weight = draw(3, 8, 256), draw(4, 128, 256)
    with torch.no_grad():
        layer.refit(weight)
        layer(x)
        torch.cuda.synchronize()
        refits, multiplies = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(refits):
            layer.refit(weight)
        with torch.cuda.graph(multiplies):
            y = layer(x)
        weight.copy_(draw(5, 128, 256))
        refits.replay()
        multiplies.replay()
        expected = nn.Linear(256, 128, bias=False, device=DEVICE)
        expected.weight.data = weight.clone()
        assert torch.equal(y, mxt.MXWeightOnlyLinear.from_linear(expected, "mxfp4_weight_only")(x))


for recipe in ("mxfp4_weight_only", "mxfp8_weight_only", "mxfp6_weight_only", "mxfp8_fast_weight_only",
               "fp8_block_weight_only", "w4a8", "nvfp4_weight_only"):
    linear(recipe)
linear("mxfp4_weight_only", 80)
for recipe in "mxfp4_weight_only", "fp8_block_weight_only", "nvfp4_weight_only":
    experts(recipe)
    on_meta(recipe)
if DEVICE == "cuda":
    in_graph()

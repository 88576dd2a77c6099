# REQUIRES: torch
# RUN: %python_torch %s
"""Checks that errors name the argument, the expected and the actual value, for real tensors and during tracing."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import mx_compiler.torch as mxt
from reference import ends, tensor
from refuses import refuses

x, w, experts, offs = (tensor((64, 128)), tensor((64, 128)), tensor((4, 64, 128)),
                       ends(10, 20, 30, 64))
turned = experts.transpose(-2, -1)
q, s = mxt.quantize_mxfp4(w)
eq, es = mxt.quantize_mxfp4(experts)

WRONG = [
    (TypeError, "x: expected an array of f32, bf16, f16, found i32",
     lambda: mxt.quantize_mxfp8(x.to(torch.int32))),
    (ValueError, "x: expected a multiple of 32 columns, a whole number of blocks, found 100",
     lambda: mxt.quantize_mxfp8(x[:, :100])),
    (ValueError, "x: expected a multiple of 32 rows, a whole number of blocks, found 50",
     lambda: mxt.quantize_mxfp8(x[:50], -2)),
    (ValueError, "x: expected 2 dimensions or more, found shape (128,)",
     lambda: mxt.quantize_mxfp8(x[0])),
    (TypeError, "offsets: expected an array of i32 or i64, found f32",
     lambda: mxt.quantize_mxfp8(x, offsets=offs.float())),
    (ValueError, "K = 128, the last dimension of x, found K = 96",
     lambda: mxt.mxfp8_mm(x, w[:, :96])),
    (ValueError, "weight: expected a multiple of 32 outputs (N)",
     lambda: mxt.mxfp8_mm(x, w[:50])),
    (ValueError, "weight: expected 2 dimensions, found shape (4, 64, 128)",
     lambda: mxt.mxfp8_mm(x, experts)),
    (ValueError, "activations: expected a format with blocks of 32",
     lambda: mxt.mxfp8_mm(x, w, activations="nvfp4")),
    (ValueError, "offs: expected 4 ends, one for each matrix of B_t, found 3",
     lambda: mxt.mxfp8_grouped_mm(x, turned, offs[:3])),
    (ValueError, "A: expected 2 dimensions, found shape (4, 64, 128)",
     lambda: mxt.mxfp8_grouped_mm(experts, turned, offs)),
    (TypeError, "x: expected an array of bf16, found f32",
     lambda: mxt.weight_only_mm(x.float(), q, s, "mxfp4")),
    (ValueError, "elements: expected K = 96, the last dimension of x, found shape (64, 128)",
     lambda: mxt.weight_only_mm(x[:, :96], q, s, "mxfp4")),
    (ValueError, "w1: expected [experts, 2 * intermediate, 128], found shape (4, 64, 96)",
     lambda: mxt.moe_layer(x, experts[..., :96], experts, offs, offs.float(), offs)),
    (ValueError, "w2: expected shape (4, 128, 32), which matches w1, found (4, 64, 128)",
     lambda: mxt.moe_layer(x, experts, experts, offs, offs.float(), offs)),
    (ValueError, "probs: expected torch.float32 of shape (4,), found torch.float32 of shape",
     lambda: mxt.moe_layer(x, experts, tensor((4, 128, 32)), offs, offs.float()[:3], offs)),
    (ValueError, "alignment: expected at least 1, found 0",
     lambda: mxt.pad_token_groups(x, offs, 0)),
    (ValueError, "scale_rounding: expected one of ceil, floor, even, fit, found 'up'",
     lambda: mxt.quantize_mxfp8(x, scale_rounding="up")),
    (ValueError, "format: expected one of mxfp8",
     lambda: mxt.quantize(x, "fp8")),
    (ValueError, "x: expected [..., K] with K of at least 1, found shape ()",
     lambda: mxt.mxfp8_mm(x[0, 0], w)),
    (ValueError, "x: expected [..., K] with K of at least 1, found shape (64, 0)",
     lambda: mxt.weight_only_mm(x[:, :0], q, s, "mxfp4")),
    (ValueError, "bias: expected floating point of shape (64,), the outputs (N), found "
     "torch.bfloat16 of shape ()", lambda: mxt.mxfp8_mm(x, w, x[0, 0])),
    (ValueError, "bias: expected floating point of shape (64,), the outputs (N), found "
     "torch.bfloat16 of shape (1, 64)",
     lambda: mxt.weight_only_mm(x, q, s, "mxfp4", x[:1, :64])),
    (ValueError, "bias: expected floating point of shape (64,), the outputs (N), found "
     "torch.int32", lambda: mxt.mxfp8_mm(x, w, x[0, :64].int())),
    (ValueError, "global_scale: expected an array, because the format is nvfp4, found None",
     lambda: mxt.weight_only_mm(x, q, s, "nvfp4")),
    (ValueError, "global_scale: expected None, unless the format is nvfp4",
     lambda: mxt.weight_only_grouped_mm(x, eq, es, offs, "mxfp4",
                                        global_scale=x[0, 0].float())),
    (ValueError, "scales: expected shape (128, 4), of blocked scales of weights of shape "
     "(64, 128), found (127, 4)", lambda: mxt.weight_only_mm(x, q, s[:127], "mxfp4")),
    (TypeError, "scales: expected torch.float8_e8m0fnu or their bits, torch.uint8, found "
     "torch.float32", lambda: mxt.weight_only_mm(x, q, s.float(), "mxfp4")),
    (ValueError, "offs, elements: expected an end for each matrix, found 3 and elements "
     "of shape (4, 64, 128)",
     lambda: mxt.weight_only_grouped_mm(x, eq, es, offs[:3], "mxfp4")),
    (ValueError, "format: expected a format that supports matmuls, found mxint8",
     lambda: mxt.weight_only_mm(x, q, s, "mxint8")),
    (TypeError, "format: expected a name, found None",
     lambda: mxt.weight_only_mm(x, q, s, None)),
    (ValueError, "elements: expected packed weights of mxfp4, [..., N / 64, K / 64, 128, 16], "
     "found shape (64, 64): mx_compiler.torch.pack_weights returns them",
     lambda: mxt.weight_only_mm(x, q, s, "mxfp4", packed=True)),
    (TypeError, "elements: expected f8E5M2 for mxfp8_e5m2, or their bits as torch.uint8, "
     "found f4E2M1FN",
     lambda: mxt.unpack_weights(mxt.pack_weights(q, "mxfp4"), "mxfp8_e5m2")),
    (ValueError, "elements: expected K = 128, the last dimension of x, found shape (4, 1, 2, 128, "
     "32)", lambda: mxt.weight_only_grouped_mm(x, mxt.pack_weights(eq, "mxfp4"), es, offs, "mxfp4")),
    (TypeError, "packed: expected True or False, found 'yes'",
     lambda: mxt.weight_only_mm(x, q, s, "mxfp4", packed="yes")),
    (ValueError, "elements: expected multiples of 64 rows and 64 columns (N and K), "
     "found 50 and 128: pass the unpacked weights to matmuls",
     lambda: mxt.pack_weights(q[:50], "mxfp4")),
    (ValueError, "format: expected a format that supports matmuls, found mxint8",
     lambda: mxt.pack_weights(q, "mxint8")),
    (TypeError, "activations: expected a name, found 3",
     lambda: mxt.mxfp8_mm(x, w, activations=3)),
    (TypeError, "offs: expected an array of i32 or i64, found f32",
     lambda: mxt.mxfp8_grouped_mm(x, turned, offs.float())),
    (TypeError, "elements: expected f8E4M3FN for mxfp8, or their bits as torch.uint8, found f32",
     lambda: mxt.pack_weights(torch.zeros(64, 64), "mxfp8")),
    (TypeError, "wgrad_high_precision: expected True or False, found 'yes'",
     lambda: mxt.mxfp8_grouped_mm(x, turned, offs, wgrad_high_precision="yes")),
    (TypeError, "weight: expected no tangent, as operators of mx_compiler.torch have no "
     "derivatives in forward mode",
     lambda: torch.func.jvp(lambda w: mxt.mxfp8_mm(x, w), (w,), (w,))),
    (ValueError, "dim: expected a multiple of 8, at least 8, found 10",
     lambda: mxt.GroupedExperts(10, 8, 3)),
    (ValueError, "rows: expected at least 0, found -1",
     lambda: mxt.unpad_token_groups(x, offs, -1)),
    (TypeError, "rows: expected a number, found ",
     lambda: mxt.unpad_token_groups(x, offs, offs)),
    (TypeError, "weights: expected floating point, found torch.int32",
     lambda: mxt.route(offs[None], offs[None], 4)),
    (ValueError, "chosen: expected integers of [tokens, k], found torch.bool",
     lambda: mxt.route(offs[None] > 0, offs[None].float(), 4)),
    (ValueError, "tokens: expected 1 dimension, found shape ()",
     lambda: mxt.moe_layer(x, experts, tensor((4, 128, 32)), offs[0], offs.float(), offs)),
]

# A second-order gradient is an error for each operator with an operator as its backward pass.
SECOND = ("gradients: expected first-order gradients, as operators of mx_compiler.torch have no "
          "double backward, found a gradient of a gradient: omit create_graph=True")
leaf, w1, w2 = (t.detach().requires_grad_() for t in (x, experts, tensor((4, 128, 32))))
for call in (lambda: mxt.mxfp8_mm(leaf, w), lambda: mxt.mxfp8_grouped_mm(leaf, turned, offs),
             lambda: mxt.weight_only_grouped_mm(leaf, eq, es, offs, "mxfp4"),
             lambda: mxt.moe_layer(leaf, w1, w2, offs, offs.float(), offs)):
    gradient, = torch.autograd.grad(call().float().square().sum(), leaf, create_graph=True)
    refuses(RuntimeError, SECOND, lambda: gradient.float().sum().backward())

e4m3, plain = mxt.quantize_mxfp8(x, blocked=False)
for kind, text, recipe, others in (
        (TypeError, "contraction_dim: expected (), (-1, -2) or (1, 0), found 3", 3,
         {"contraction_dim": 3}),
        (ValueError, "scale_recipe_a, scale_recipe_b: expected BlockWise1x32", offs.cpu().numpy(),
         {}),
        (ValueError, "scale_recipe_a, scale_recipe_b: expected BlockWise1x32", "mx", {})):
    refuses(kind, text, mxt.scaled_mm, e4m3, e4m3.t(), plain, recipe, plain, recipe,
            **others)

# Arguments that are not tensors, in any position.
for name, call in (
        ("x", lambda bad: mxt.quantize_mxfp8(bad)),
        ("x", lambda bad: mxt.quantize_nvfp4(bad)),
        ("offsets", lambda bad: mxt.quantize_mxfp8(x, offsets=bad)),
        ("global_scale", lambda bad: mxt.quantize_nvfp4(x, global_scale=bad)),
        ("elements", lambda bad: mxt.dequantize(bad, s, "mxfp4")),
        ("scales", lambda bad: mxt.dequantize(q, bad, "mxfp4")),
        ("x", lambda bad: mxt.mxfp8_mm(bad, w)),
        ("weight", lambda bad: mxt.mxfp8_mm(x, bad)),
        ("bias", lambda bad: mxt.mxfp8_mm(x, w, bad)),
        ("A", lambda bad: mxt.mxfp8_grouped_mm(bad, turned, offs)),
        ("B_t", lambda bad: mxt.mxfp8_grouped_mm(x, bad, offs)),
        ("offs", lambda bad: mxt.mxfp8_grouped_mm(x, turned, bad)),
        ("x", lambda bad: mxt.weight_only_mm(bad, q, s, "mxfp4")),
        ("elements", lambda bad: mxt.weight_only_mm(x, bad, s, "mxfp4")),
        ("elements", lambda bad: mxt.pack_weights(bad, "mxfp4")),
        ("elements", lambda bad: mxt.unpack_weights(bad, "mxfp4")),
        ("scales", lambda bad: mxt.weight_only_grouped_mm(x, eq, bad, offs, "mxfp4")),
        ("offs", lambda bad: mxt.weight_only_grouped_mm(x, eq, es, bad, "mxfp4")),
        ("x", lambda bad: mxt.pad_token_groups(bad, offs)),
        ("offs", lambda bad: mxt.unpad_token_groups(x, bad, 3)),
        ("offsets", lambda bad: mxt.rearrange_scales(s, bad, "rows")),
        ("chosen", lambda bad: mxt.route(bad, x, 4)),
        ("weights", lambda bad: mxt.route(offs[None], bad, 4)),
        ("tokens", lambda bad: mxt.moe_layer(x, w, w, bad, x, offs)),
        ("mat_a", lambda bad: mxt.scaled_mm(bad, x, s, 3, s, 3)),
        ("mat_b", lambda bad: mxt.scaled_grouped_mm(x, bad, s, 3, s, 3))):
    for bad in ([1.0], 3, "x", x.float().cpu().numpy()):
        refuses(TypeError, f"{name}: expected a torch.Tensor, found "
                f"{type(bad).__name__}", call, bad)
    if name not in ("offsets", "global_scale", "bias"):
        refuses((TypeError, ValueError), "found None" if name == "offs" else
                f"{name}: expected", call, None)
    refuses(TypeError, f"{name}: expected a dense tensor, found torch.sparse_coo", call,
            x.float().to_sparse())

# A meta tensor among real tensors is an error.
for name, call in (
        ("weight", lambda to: mxt.mxfp8_mm(x, to(w))),
        ("B_t", lambda to: mxt.mxfp8_grouped_mm(x, to(turned), offs)),
        ("offs", lambda to: mxt.mxfp8_grouped_mm(x, turned, to(offs))),
        ("scales", lambda to: mxt.dequantize(q, to(s), "mxfp4")),
        ("scales", lambda to: mxt.weight_only_mm(x, q, to(s), "mxfp4")),
        ("offs", lambda to: mxt.weight_only_grouped_mm(x, eq, es, to(offs), "mxfp4")),
        ("offsets", lambda to: mxt.quantize_mxfp8(x, offsets=to(offs))),
        ("offs", lambda to: mxt.pad_token_groups(x, to(offs)))):
    refuses(ValueError, f"{name}: expected a tensor on {x.device}, like ", call,
            lambda given: given.to("meta"))

for kind, text, call in WRONG:
    refuses(kind, text, call)

if x.device.type == "cpu":  # ends are readable without synchronization
    refuses(ValueError, "offs: expected ends of at most 64, the rows of x, found 70",
            lambda: mxt.weight_only_grouped_mm(x, eq, es, ends(1, 2, 3, 70), "mxfp4"))
refuses(TypeError, "scales: expected a tensor of rank at least 2",
        lambda: mxt.rearrange_scales(s.view(torch.uint8).float()))
refuses(ValueError, "offsets: expected both offsets and a mode",
        lambda: mxt.rearrange_scales(s, offs))

# On meta tensors, the errors have the same text.
with FakeTensorMode() as mode:
    x, w, experts, offs, q, s, eq, es = map(mode.from_tensor,
                                            (x, w, experts, offs, q, s, eq, es))
    turned = experts.transpose(-2, -1)
    traced = 0
    for kind, text, call in WRONG:
        refuses(kind, text, call)
        traced += 1
assert traced == len(WRONG)

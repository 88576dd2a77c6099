# REQUIRES: torch
# RUN: %python_torch %s
"""Checks FlopCounterMode: each operator counts 2 M N K, and the forward and backward counts of a model equal the counts
of its bf16 version with torch.mm."""

import copy

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE

OPS = torch.ops.mx
T, K, N, G = 96, 64, 128, 4
E4M3, E2M1, BF16 = "mxfp8", "mxfp4", torch.bfloat16


def counted(call):
    """Returns the count of each operator."""
    with FlopCounterMode(display=False) as counter:
        call()
    found = counter.get_flop_counts().get("Global", {})
    return {str(packet): count for packet, count in found.items()}


def total(call):
    return sum(counted(call).values())


class Loop(nn.Module):
    """Computes experts in a loop of 2-D matmuls."""

    def __init__(self, experts):
        super().__init__()
        self.weights = [(experts.w1[g], experts.w3[g], experts.w2[g]) for g in range(G)]

    def forward(self, x, counts):
        parts = x.split(counts.tolist())
        return torch.cat([(nn.functional.silu(p @ w1.t()) * (p @ w3.t())) @ w2.t()
                          for p, (w1, w3, w2) in zip(parts, self.weights)])


def models():
    plain = nn.Sequential(nn.Linear(K, N), nn.GELU(), nn.Linear(N, 32)).to(DEVICE, BF16)
    for recipe, times in (("mxfp8", 3), ("mxfp8_wgrad_with_hp", 3), ("mxfp4_weight_only", 2)):
        # Quantized weights require no gradient, so each of them saves a matmul.
        other = mxt.convert_(copy.deepcopy(plain), recipe)
        for shape in ((T, K), (2, T // 2, K)):
            forward = 2 * T * (K * N + N * 32)
            counts = []
            for model in (plain, other):
                x = ref.tensor(shape).requires_grad_()
                counts.append((total(lambda: model(x)), total(
                    lambda: model(x).float().sum().backward())))
            assert counts[0] == (forward, 3 * forward), counts
            assert counts[1] == (forward, times * forward), (recipe, counts)


def first_gradient():
    """The gradient of an input that does not require one is neither computed nor counted."""
    layer, x = mxt.MXLinear(K, N, device=DEVICE), ref.tensor((T, K))
    found = counted(lambda: layer(x).sum().backward())
    assert found == {"mx.linear": 2 * T * K * N, "mx.linear_backward": 2 * T * K * N}, found


def experts():
    plain = mxt.GroupedExperts(K, N, G, device=DEVICE, dtype=BF16)
    numbers = torch.tensor([10, 40, 0, 46], device=DEVICE)
    forward = 3 * 2 * T * K * N
    x = ref.tensor((T, K)).requires_grad_()
    assert total(lambda: Loop(plain)(x, numbers)) == forward
    for recipe, times in ((None, 3), ("mxfp8", 3), ("mxfp8_wgrad_with_hp", 3),
                          ("mxfp4_weight_only", 2)):
        model = copy.deepcopy(plain) if recipe is None else mxt.convert_(
            copy.deepcopy(plain), recipe)
        assert total(lambda: model(x, numbers)) == forward, recipe
        found = total(lambda: model(x, numbers).backward(ref.tensor((T, K), 1)))
        assert found == times * forward, (recipe, found, forward)
        # The count depends neither on the division of rows among experts nor on rows without an expert.
        for others in ([T, 0, 0, 0], [1, 2, 3, 4]):
            again = total(lambda: model(x, torch.tensor(others, device=DEVICE)))
            assert again == forward, (recipe, others)


def moe_layer():
    x, w1, w2 = (ref.tensor(shape, spread=1).requires_grad_() for shape in (
        (T, K), (G, 2 * N, K), (G, K, N)))
    chosen = torch.arange(2 * T, device=DEVICE).reshape(T, 2) % (G + 1)
    routed = mxt.route(chosen, torch.ones(T, 2, device=DEVICE), G)
    forward = 2 * (2 * T) * (2 * N * K + K * N)
    found = counted(lambda: mxt.moe_layer(x, w1, w2, *routed).float().sum().backward())
    assert found == {"mx.moe_layer": forward, "mx.moe_layer_backward": 2 * forward}, found


def operators():
    x, w = ref.tensor((T, K)), ref.tensor((N, K), 1)
    experts, offs = ref.tensor((G, N, K), 2), ref.ends(10, 50, 50, T)
    x8, w8, w4 = mxt.quantize_mxfp8(x), mxt.quantize_mxfp8(w), mxt.quantize_mxfp4(w)
    x4, experts4 = mxt.quantize_mxfp4(x), mxt.quantize_mxfp4(experts)
    x8_rows, experts8 = mxt.quantize_mxfp8(x, offsets=offs), mxt.quantize_mxfp8(experts)
    y, by_rows = ref.tensor((T, N), 3), {"axis": -2, "offsets": offs}
    y_t, x_t = (mxt.quantize_mxfp8(m, **by_rows) for m in (y, x))
    slots, few = ref.tensor((G, 16, K), 4), ref.ends(1, 16, 0, 7)
    padded = x_t[0].shape[1]
    assert padded >= T + 127 * G
    one = 2 * T * N * K
    recipe = torch.nn.functional.ScalingType.BlockWise1x32
    for name, wanted, call in (
        ("matmul", one, lambda: OPS.matmul(x8[0], w8[0], x8[1], w8[1], E4M3, E4M3, BF16)),
        ("matmul", one, lambda: OPS.matmul(x4[0], w4[0], x4[1], w4[1], E2M1, E2M1, BF16)),
        ("matmul", one, lambda: OPS.matmul(x, w4[0], None, w4[1], None, E2M1, BF16)),
        ("matmul", one, lambda: OPS.matmul(
            x, w4[0], scale_a=None, scale_b=w4[1], format_a=None, format_b=E2M1, dtype=BF16)),
        ("grouped_matmul", one, lambda: OPS.grouped_matmul(
            x8_rows[0], experts8[0], x8_rows[1], experts8[1], offs, E4M3, E4M3, BF16)),
        ("grouped_matmul", 2 * G * 16 * N * K, lambda: OPS.grouped_matmul(
            slots, experts8[0], None, experts8[1], few, None, E4M3, BF16, "masked")),
        ("grouped_matmul", 2 * N * K * padded, lambda: OPS.grouped_matmul(
            y_t[0], x_t[0], y_t[1], x_t[1], offs, E4M3, E4M3, torch.float32, "reduction")),
        ("weight_only_mm", one, lambda: mxt.weight_only_mm(x, *w4, E2M1)),
        ("weight_only_mm", one, lambda: mxt.weight_only_mm(
            x, mxt.pack_weights(w4[0], E2M1), w4[1], E2M1, packed=True)),
        ("weight_only_grouped_mm", one, lambda: mxt.weight_only_grouped_mm(
            x, mxt.pack_weights(experts4[0], E2M1), experts4[1], offs, E2M1, packed=True)),
        ("weight_only_grouped_mm", one, lambda: mxt.weight_only_grouped_mm(
            x, *experts4, offs, E2M1)),
        ("scaled_grouped_matmul", one, lambda: mxt.scaled_grouped_mm(
            x4[0], experts4[0].transpose(-2, -1), mxt.quantize_mxfp4(
                x, offsets=offs)[1], recipe, experts4[1], recipe,
            swizzle_a=torch.nn.functional.SwizzleType.SWIZZLE_32_4_4,
            swizzle_b=torch.nn.functional.SwizzleType.SWIZZLE_32_4_4, offs=offs)),
    ):
        found = counted(call)
        assert found == {f"mx.{name}": wanted}, (name, found, wanted)
    # A matmul for each requested gradient.
    options = E4M3, E4M3, E4M3, "ceil", False
    for dx in (True, False):
        for dw in (True, False):
            found = total(lambda: OPS.linear_backward(y, x, w, dx, dw, *options))
            assert found == (dx + dw) * one
            found = total(lambda: OPS.grouped_linear_backward(
                y, x, experts, offs, dx, dw, *options))
            assert found == (dx + dw) * one
    assert not counted(lambda: mxt.dequantize(*mxt.quantize_mxfp8(x), E4M3))
    assert total(lambda: mxt.mxfp8_mm(x[:0], w)) == 0


def pytorchs():
    """Operators that install() serves have the same count whether mx's or PyTorch's kernels run."""
    F = torch.nn.functional
    a, b, offs = ref.tensor((T, K)), ref.tensor((G, K, N), 1), ref.ends(10, 50, 50, T)
    assert total(lambda: F.grouped_mm(a, b, offs=offs)) == 2 * T * K * N
    assert total(lambda: F.grouped_mm(a.t(), ref.tensor((T, N)), offs=offs)) == 2 * T * K * N
    mxt.install(devices=(DEVICE,))
    q, w = mxt.quantize_mxfp4(a), mxt.quantize_mxfp4(ref.tensor((N, K), 2))
    recipe, swizzle = F.ScalingType.BlockWise1x32, F.SwizzleType.SWIZZLE_32_4_4
    found = total(lambda: F.scaled_mm(q[0], w[0].t(), q[1], recipe, w[1], recipe, swizzle,
                                      swizzle))
    mxt.uninstall()
    assert found == 2 * T * K * N, found


def all_matmuls():
    """Every operator must be counted or be listed as an operator without a matmul."""
    names = {schema.name.partition("::")[2] for schema in torch._C._jit_get_all_schemas()
             if schema.name.startswith("mx::")}
    from torch.utils.flop_counter import flop_registry
    others = {name for name in names if getattr(OPS, name) not in flop_registry}
    assert others == {"quantize", "quantize_nvfp4", "dequantize", "group_rows", "pad_token_groups",
                      "unpad_token_groups", "pack_weights", "unpack_weights", "fp8_quantize_weight"}, others


for part in (models, first_gradient, experts, moe_layer, operators, pytorchs, all_matmuls):
    part()
    print(part.__name__, "right")

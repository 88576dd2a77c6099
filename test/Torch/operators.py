# REQUIRES: torch
# RUN: %python_torch %s
"""Runs PyTorch's own operator checks (schemas, fake kernels, gradients and tracing), and torch.compile without a graph
break."""

import torch
from torch.library import opcheck

import mx_compiler.torch as mxt
import reference as ref

FORMATS = ("mxfp8", "mxfp8", "mxfp8")
DENSE = (*FORMATS, "ceil", False)


def byte(*found):
    """Views tensors as bytes, because PyTorch's checks multiply and copy, which untyped bit dtypes do not support."""
    return [x.view(torch.uint8) for x in found]


x = ref.tensor((96, 128))
y = ref.tensor((96, 64), 1)
w = ref.tensor((64, 128), 2)
experts = ref.tensor((4, 64, 128), 3)
offs = ref.ends(10, 50, 50, 96)
OPS = torch.ops.mx

# Arguments of each operator. The tensors in the last list require gradients.
w_q = byte(*mxt.quantize_mxfp4(w))
experts_q = byte(*mxt.quantize_mxfp4(experts))
w_p, experts_p = ((OPS.pack_weights(q, "mxfp4"), scales) for q, scales in (w_q, experts_q))
x_q = byte(*mxt.quantize_mxfp8(x))
x_r = byte(*mxt.quantize_mxfp8(x, offsets=offs))
x_t = byte(*mxt.quantize_mxfp8(x, -2, offsets=offs))
x_whole = OPS.linear_saving(x, w, *DENSE[:-1])[1:]
x_saved = OPS.grouped_linear_saving(x, experts, offs, None, *DENSE[:-1])[1:]
y_t = byte(*mxt.quantize_mxfp8(y, -2, offsets=offs))
w8_q = byte(*mxt.quantize_mxfp8(w))
experts8_q = byte(*mxt.quantize_mxfp8(experts))
half = torch.bfloat16
e4m3, e2m1 = "mxfp8", "mxfp4"
tokens = torch.arange(96, dtype=torch.int32, device=ref.DEVICE)
probs = torch.ones(96, device=ref.DEVICE)
w1, w2 = ref.tensor((4, 128, 128), 4, spread=1), ref.tensor((4, 128, 64), 5, spread=1)
# 128 rows fill the blocks of the gradient of the weight.
long, square = ref.tensor((128, 128), 6, spread=1), ref.tensor((256, 128), 7, spread=1)
f32_parts = OPS.fp8_quantize_weight(square, "f32", True)
FP8 = (*f32_parts, *(None,) * 5, "f32", "mxfp8")
f32_x = OPS.fp8_multiply(long, None, square, *FP8, True, [])[2:4]
FLOATS = (*(None,) * 9, "e8m0", "mxfp8_e5m2")
CASES = [
    (OPS.fp8_quantize_weight, (square, "e8m0", True), ()),
    (OPS.fp8_multiply, (long, None, square, *FP8, True, []), (0, 2)),
    (OPS.fp8_multiply, (long, None, square, *FLOATS, True, [-1, -2]), (0, 2)),
    (OPS.fp8_multiply_backward, (long.repeat(1, 2), None, None, *f32_x, square, *f32_parts[2:], None, None, None,
                                 "f32", "mxfp8", True, True), ()),
    (OPS.quantize, (x, e4m3, 0, "ceil", True), ()),
    (OPS.quantize, (x, e4m3, 0, "ceil", True, offs), ()),
    (OPS.quantize, (experts, e2m1, -2, "floor", False), ()),
    (OPS.quantize, (x[:90], "mxfp6_e2m3", -1, "floor", True), ()),
    (OPS.quantize_nvfp4, (x, "nvfp4", 0, "ceil", True), ()),
    (OPS.dequantize, (*w_q, e2m1, torch.float32, True), ()),
    (OPS.matmul, (x_q[0], w8_q[0], x_q[1], w8_q[1], e4m3, e4m3, half), ()),
    (OPS.matmul, (x, w_q[0], None, w_q[1], None, e2m1, half), ()),
    (OPS.grouped_matmul, (x_r[0], experts8_q[0], x_r[1], experts8_q[1], offs, e4m3, e4m3,
                          half), ()),
    (OPS.grouped_matmul, (y_t[0], x_t[0], y_t[1], x_t[1], offs, e4m3, e4m3,
                          torch.float32, "reduction"), ()),
    (OPS.scaled_grouped_matmul, (x_q[0], experts8_q[0].transpose(-2, -1), x_r[1],
                                 experts8_q[1], offs, None, None, e4m3, e4m3, 1, 1, half),
     ()),
    (OPS.pack_weights, (experts8_q[0], e4m3), ()),
    (OPS.unpack_weights, (experts_p[0], e2m1), ()),
    (OPS.matmul, (x, w_p[0], None, w_p[1], None, e2m1, half, True, True, None, None, True), ()),
    (OPS.weight_only_mm, (x, *w_q, e2m1), (0,)),
    (OPS.weight_only_mm, (x, *w_p, e2m1, True, None, True), (0,)),
    (OPS.weight_only_grouped_mm, (x, *experts_q, offs, e2m1), (0,)),
    (OPS.weight_only_grouped_mm, (x, *experts_p, offs, e2m1, True, None, True), (0,)),
    (OPS.weight_only_grouped_mm, (x[:0], *experts_q, offs * 0, e2m1), (0,)),
    (OPS.weight_only_grouped_mm_backward, (y, *experts_q, offs, e2m1, True, None), ()),
    (OPS.weight_only_grouped_mm_backward, (y, *experts_p, offs, e2m1, True, None, True), ()),
    (OPS.pad_token_groups, (x, offs, 32), (0,)),
    (OPS.unpad_token_groups, (x, offs, 60, 1), (0,)),
    (OPS.linear, (x, w, *DENSE), (0, 1)),
    (OPS.linear, (x, w, *DENSE[:-1], True), (1,)),
    (OPS.linear_backward, (y, x, w, True, True, *DENSE), ()),
    (OPS.linear_backward, (y, x, w, True, False, *DENSE), ()),
    (OPS.linear_saving, (x, w, *DENSE[:-1]), (0, 1)),
    (OPS.linear_saving, (x[:90], w, *DENSE[:-1]), (1,)),
    (OPS.linear_saving_backward, (y, *x_whole, w, True, True, *DENSE[:-1]), ()),
    (OPS.grouped_linear, (x, experts, offs, *DENSE), (0, 1)),
    (OPS.grouped_linear_saving, (x, experts, offs, None, *DENSE[:-1]), (0, 1)),
    (OPS.grouped_linear_saving, (x, experts, offs, experts[:, :32], *DENSE[:-1]), (0, 1, 3)),
    (OPS.grouped_linear_saving, (x, experts, offs, experts[:, :32], *DENSE[:-1]), (3,)),
    (OPS.grouped_linear_saving_backward, (y, *x_saved, experts, offs, None, True, True, *DENSE[:-1]), ()),
    (OPS.grouped_linear_saving_backward, (y, *x_saved, experts[:, 32:], offs, experts[:, :32], True, True,
                                          *DENSE[:-1]), ()),
    (OPS.grouped_linear_backward, (y, x, experts, offs, True, True, *DENSE), ()),
    (OPS.grouped_linear_backward, (y, x, experts, offs, False, True, *DENSE), ()),
    (OPS.group_rows, (torch.randint(-1, 5, (24, 3), dtype=torch.int32, device=ref.DEVICE), 4), ()),
    (OPS.moe_layer, (x, w1, w2, tokens, probs, offs, *FORMATS), (0, 1, 2, 4)),
    (OPS.weight_only_experts, (x, tokens[:, None] % 5, probs[:, None], *byte(*mxt.quantize_mxfp4(w1)),
                               *byte(*mxt.quantize_mxfp4(w2)), *[None] * 4, e2m1, False, False, None, None, half), ()),
]


def given(arguments, differentiable):
    return tuple(a.detach().clone().requires_grad_() if i in differentiable else a
                 for i, a in enumerate(arguments))


names = {schema.name.partition("::")[2] for schema in torch._C._jit_get_all_schemas()
         if schema.name.startswith("mx::")}
checked = {op._qualified_op_name.partition("::")[2] for op, *_ in CASES}
# These backward operators take tensors that a forward operator saves. The forward operator's gradient check covers
# them.
assert names - checked == {"moe_layer_backward"}, names - checked
for op, arguments, differentiable in CASES:
    report = opcheck(op, given(arguments, differentiable))
    assert set(report.values()) == {"SUCCESS"}, (op, report)
print(len(CASES), "cases of", len(names), "operators")


# --- torch.compile: one graph, the same bits as without it, for any number of rows.

def everything(x, w, experts, w1, w2, offs, tokens, probs):
    q, s, _, _ = mxt.quantize_mxfp8(x, (-1, -2), offsets=offs)
    values = mxt.dequantize(q, s, "mxfp8", torch.float32, offsets=offs)
    padded, _ = mxt.pad_token_groups(x, offs)
    back = mxt.unpad_token_groups(padded, offs, x.shape[0])
    plain = mxt.quantize_mxfp8(x, blocked=False)[1]
    tiles = mxt.rearrange_scales(plain.view(torch.uint8), offs, "rows")
    y = mxt.mxfp8_mm(back, w) + mxt.mxfp8_grouped_mm(x, experts.transpose(-2, -1), offs)
    z = mxt.moe_layer(x, w1, w2, tokens, probs, offs)
    return y, z, values, tiles


for rows in (96, 128):

    arguments = [ref.tensor((rows, 128), 6), w, experts, w1, w2, ref.ends(10, 50, 50, rows),
                 torch.arange(rows, dtype=torch.int32, device=ref.DEVICE),
                 torch.ones(rows, device=ref.DEVICE)]
    results = []
    for function in (everything, torch.compile(everything, fullgraph=True,
                                               backend="aot_eager", dynamic=True)):
        leaves = given(arguments, (0, 1, 2, 3, 4, 7))
        y, z, *rest = function(*leaves)
        (y.float().sum() + z.float().pow(2).sum()).backward()
        results.append([y, z, *rest, *(a.grad for a in leaves if a.requires_grad)])
    for a, b in zip(*results):
        assert a.dtype == b.dtype and torch.equal(a, b)
print("compiled: the same")

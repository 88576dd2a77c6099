"""Cases of scaled_mm and scaled_grouped_mm for a device served by mx_compiler.torch.install."""

import os

import numpy as np
import torch
from blocks import Matrix, check, matmul, of_column_groups, of_row_groups, to_blocked
from refuses import refuses
from torch.nn.functional import ScalingType, SwizzleType
from torch.nn.functional import scaled_grouped_mm, scaled_mm

MX, NV = ScalingType.BlockWise1x32, ScalingType.BlockWise1x16
FACTOR = ScalingType.TensorWise
BLOCKED, PLAIN = SwizzleType.SWIZZLE_32_4_4, SwizzleType.NO_SWIZZLE
PAIRS = (("mxfp8", "mxfp8"), ("mxfp8_e5m2", "mxfp8"), ("mxfp4", "mxfp4"),
         ("mxfp8", "mxfp4"), ("nvfp4", "nvfp4"))


# Chips on which K must be a multiple of 64 if both operands are E2M1.
BY_64 = os.environ.get("MX_CHIP", "").startswith("sm_12")


def reduction(*formats):
    """Smallest K supported by the chip that is not a multiple of a tile."""
    return 192 if BY_64 and {*formats} <= {"mxfp4", "nvfp4"} else 160


def recipe(format):
    return NV if format == "nvfp4" else MX


def matrices(device):
    """Tests all formats, result dtypes and scale layouts, and a bias."""
    rng = np.random.default_rng(1)
    for left, right in PAIRS:
        k = reduction(left, right)
        a = Matrix(rng, 70, k, left, device)
        b = Matrix(rng, 48, k, right, device)
        wanted, bound = matmul(a.values, b.values)
        for dtype in (torch.bfloat16, torch.float32):
            y = scaled_mm(a.elements, b.elements.t(), a.blocked, recipe(left), b.blocked,
                          recipe(right), BLOCKED, BLOCKED, output_dtype=dtype)
            assert y.dtype == dtype and y.is_contiguous()
            check(f"{left} {right} {dtype}", y, wanted, bound)
        y = scaled_mm(a.elements, b.elements.t(), a.scales, recipe(left), b.blocked,
                      recipe(right), PLAIN, BLOCKED, output_dtype=torch.float32)
        check(f"{left} {right}, plain scales of mat_a", y, wanted, bound)
    bias = torch.randn(48, device=device, dtype=torch.bfloat16) * 1000
    a, b = (Matrix(rng, rows, 96, "mxfp8", device) for rows in (130, 48))
    wanted, bound = matmul(a.values, b.values)
    y = scaled_mm(a.elements, b.elements.t(), a.blocked, MX, b.blocked, MX, BLOCKED,
                  BLOCKED, bias=bias, output_dtype=torch.bfloat16)
    total = wanted + bias.double().cpu().numpy()
    check("a bias", y, total, bound + 2.0 ** -23 * np.abs(total))


def factors(device):
    """Tests NVFP4 with a global factor for each tensor."""
    rng = np.random.default_rng(2)
    a, b = (Matrix(rng, rows, 128, "nvfp4", device) for rows in (33, 80))
    wanted, bound = matmul(a.values, b.values)
    factor_a, factor_b = (torch.tensor([f], device=device) for f in (0.25, 3.0))
    y = scaled_mm(a.elements, b.elements.t(), [a.blocked, factor_a], [NV, FACTOR],
                  [b.blocked, factor_b], [NV, FACTOR], [BLOCKED, PLAIN],
                  [BLOCKED, PLAIN], output_dtype=torch.float32)
    check("factors", y, 0.75 * wanted, bound + 2.0 ** -22 * np.abs(wanted))


def older_operators(device):
    """Tests operators without recipes and operators with `out`."""
    rng = np.random.default_rng(3)
    a, b = (Matrix(rng, rows, 128, "mxfp8", device) for rows in (64, 96))
    wanted, bound = matmul(a.values, b.values)
    operands = a.elements, b.elements.t(), a.blocked, b.blocked
    y = torch._scaled_mm(*operands, out_dtype=torch.float32)
    check("_scaled_mm", y, wanted, bound)
    out = torch.empty(0, device=device)
    again = torch._scaled_mm(*operands, out_dtype=torch.float32, out=out)
    assert again is out and torch.equal(out, y)
    out = torch.full((64, 96), -1.0, device=device)
    torch.ops.aten._scaled_mm_v2.out(
        a.elements, b.elements.t(), [a.blocked], [MX.value], [BLOCKED.value],
        [b.blocked], [MX.value], [BLOCKED.value], None, torch.float32, out=out)
    assert torch.equal(out, y)


def groups_of_rows(device):
    """Tests 2-D x 3-D matmuls with empty groups, one-row groups, and rows after the last group."""
    rng = np.random.default_rng(4)
    for ends in ([3, 3, 131, 260], [0, 200, 201, 260], [128, 256, 256, 256]):
        for format in ("mxfp8", "mxfp4", "nvfp4"):
            rows, n, k = 300, 48, reduction(format)
            a = Matrix(rng, rows, k, format, device)
            b = [Matrix(rng, n, k, format, device) for _ in ends]
            offs = torch.tensor(ends, dtype=torch.int32, device=device)
            weights = torch.stack([m.elements.view(torch.uint8) for m in b]).view(
                b[0].elements.dtype).transpose(-2, -1)
            scales = b[0].scale_tensor(np.stack([to_blocked(m.scale_bits) for m in b]))
            parts = [matmul(a.values[s:e], m.values)
                     for s, e, m in zip([0, *ends[:-1]], ends, b)]
            wanted, bound = (np.concatenate(x) for x in zip(*parts))

            blocked = a.scale_tensor(of_row_groups(a.scale_bits[:ends[-1]], ends))
            plain = b[0].scale_tensor(np.stack([m.scale_bits for m in b]))
            for scale_a, scale_b, swizzle in ((blocked, scales, BLOCKED),
                                              (a.scales, plain, PLAIN)):
                y = scaled_grouped_mm(
                    a.elements, weights, scale_a, recipe(format), scale_b,
                    recipe(format), swizzle, swizzle, offs=offs,
                    output_dtype=torch.float32)
                assert y.shape == (rows, n)
                check(f"{format} rows {ends} {swizzle}", y[:ends[-1]], wanted, bound)
            if format == "mxfp8":
                y = torch._scaled_grouped_mm(a.elements, weights, blocked, scales,
                                             offs=offs)
                assert y.dtype == torch.bfloat16
                check("_scaled_grouped_mm", y[:ends[-1]], wanted, bound)


def groups_along_k(device):
    """Tests 2-D x 2-D matmuls. K is divided into segments: multiples of 32, some of them 0."""
    rng = np.random.default_rng(5)
    for ends in ([32, 32, 224, 384], [160, 320, 352, 416], [128, 256, 384, 512]):
        for format in ("mxfp8", "mxfp4", "nvfp4"):
            m, n, total = 130, 48, 512
            a = Matrix(rng, m, total, format, device)
            b = Matrix(rng, n, total, format, device)
            offs = torch.tensor(ends, dtype=torch.int32, device=device)
            parts = [matmul(a.values[:, s:e], b.values[:, s:e])
                     for s, e in zip([0, *ends[:-1]], ends)]
            wanted, bound = (np.stack(x) for x in zip(*parts))
            scales = [x.scale_tensor(of_column_groups(x.scale_bits, ends,
                                                      x.format.block)) for x in (a, b)]
            y = scaled_grouped_mm(a.elements, b.elements.t(), scales[0], recipe(format),
                                  scales[1], recipe(format), BLOCKED, BLOCKED, offs=offs,
                                  output_dtype=torch.float32)
            check(f"{format} along K {ends}", y, wanted, bound)
            moved = [at_odd_byte(x) for x in scales]
            again = scaled_grouped_mm(
                at_odd_byte(a.elements), b.elements.t(), moved[0], recipe(format),
                moved[1], recipe(format), BLOCKED, BLOCKED, offs=offs,
                output_dtype=torch.float32)
            assert torch.equal(again, y)


def at_odd_byte(x):
    """Returns the same tensor at an unaligned address."""
    bits = x.view(torch.uint8).flatten()
    return torch.cat([bits[:1], bits])[1:].view(x.dtype).view(x.shape)


def factors_of_groups(device):
    """Tests NVFP4 with a factor for each group."""
    rng = np.random.default_rng(6)
    ends = [5, 64]
    a = Matrix(rng, 64, 64, "nvfp4", device)
    b = [Matrix(rng, 32, 64, "nvfp4", device) for _ in ends]
    offs = torch.tensor(ends, dtype=torch.int32, device=device)
    weights = torch.stack([m.elements.view(torch.uint8) for m in b]).view(
        b[0].elements.dtype).transpose(-2, -1)
    scales = b[0].scale_tensor(np.stack([to_blocked(m.scale_bits) for m in b]))
    each = torch.tensor([0.5, 4.0], device=device)
    y = scaled_grouped_mm(
        a.elements, weights, [a.scale_tensor(of_row_groups(a.scale_bits, ends)), each],
        [NV, FACTOR], [scales, torch.ones(2, device=device)], [NV, FACTOR],
        [BLOCKED, PLAIN], [BLOCKED, PLAIN], offs=offs, output_dtype=torch.float32)
    parts = [matmul(a.values[s:e], m.values) for s, e, m in zip([0, 5], ends, b)]
    wanted = np.concatenate([parts[0][0] * 0.5, parts[1][0] * 4.0])
    bound = np.concatenate([parts[0][1] * 0.5, parts[1][1] * 4.0])
    check("a factor for each group", y, wanted, bound + 2.0 ** -22 * np.abs(wanted))


def sizes(device):
    """Tests empty matrices, single rows and columns, and rows with gaps between them."""
    rng = np.random.default_rng(8)
    a = Matrix(rng, 40, 64, "mxfp8", device)
    b = Matrix(rng, 48, 64, "mxfp8", device)
    offs = torch.tensor([0, 0], dtype=torch.int32, device=device)
    weights = torch.stack([b.elements.view(torch.uint8)] * 2).view(b.elements.dtype)
    scales = torch.stack([b.blocked] * 2)
    none, bias = a.blocked[:0], torch.ones(48, device=device, dtype=torch.bfloat16)

    def mm(x, w, scale_a=a.blocked, scale_b=b.blocked, **others):
        return scaled_mm(x, w.t(), scale_a, MX, scale_b, MX, BLOCKED, BLOCKED, **others)

    def grouped(x, w, scale_a, scale_b):
        return scaled_grouped_mm(x, w.transpose(-2, -1), scale_a, MX, scale_b, MX,
                                 BLOCKED, BLOCKED, offs=offs)
    y = mm(a.elements, b.elements)
    assert mm(a.elements[:0], b.elements, none).shape == (0, 48)
    assert mm(a.elements, b.elements[:0], scale_b=none).shape == (40, 0)
    y0 = mm(a.elements[:, :0], b.elements[:, :0], none, none, bias=bias)
    assert torch.equal(y0, torch.ones_like(y))
    assert grouped(a.elements[:0], weights, none, scales).shape == (0, 48)
    assert grouped(a.elements, weights, a.blocked, scales).shape == (40, 48)
    for rows in (0, 64):
        zeros = grouped(a.elements[:, :rows], b.elements[:, :rows], a.blocked, b.blocked)
        assert zeros.shape == (2, 40, 48) and not zeros.any()
    one = Matrix(rng, 1, 64, "mxfp8", device)
    for left, right in ((one, b), (a, one)):
        check("one", scaled_mm(left.elements, right.elements.t(), left.blocked, MX,
                               right.blocked, MX, BLOCKED, BLOCKED),
              *matmul(left.values, right.values))
    wide = torch.cat([a.elements.view(torch.uint8)] * 2, 1).view(a.elements.dtype)
    assert torch.equal(mm(wide[:, :64], b.elements), y)


def errors(device):
    """Checks that invalid block-scaled calls raise mx errors that name the argument."""
    rng = np.random.default_rng(7)
    a = Matrix(rng, 40, 96, "mxfp8", device)
    b = Matrix(rng, 48, 96, "mxfp8", device)
    offs = torch.tensor([40], dtype=torch.int32, device=device)

    def mm(mat_a=a.elements, mat_b=b.elements.t(), scale_a=a.blocked, scale_b=b.blocked,
           swizzle_a=BLOCKED, **others):
        return lambda: scaled_mm(mat_a, mat_b, scale_a, MX, scale_b, MX, swizzle_a,
                                 BLOCKED, **others)

    def grouped(mat_b=b.elements.t()[None], scale_b=b.blocked[None], offs=offs, **others):
        return lambda: scaled_grouped_mm(a.elements, mat_b, a.blocked, MX, scale_b, MX,
                                         BLOCKED, BLOCKED, offs=offs, **others)
    cases = (
        (mm(scale_a=a.blocked[:-1].clone()), "scale_a", "512 scales in all", "511"),
        (mm(scale_b=b.scales), "scale_b", "512 scales", "(48, 3)"),
        (mm(scale_a=a.blocked, swizzle_a=PLAIN), "scale_a", "(40, 3)", "(512,)"),
        (mm(mat_b=Matrix(rng, 48, 128, "mxfp8", device).elements.t()), "mat_b",
         "K = 96", "128"),
        (mm(mat_b=b.elements.t().contiguous()), "mat_b", "dense columns", "(48, 1)"),
        (mm(mat_a=a.elements[:, :48], mat_b=b.elements[:, :48].t()), "mat_a",
         "multiple of 32", "48"),
        (mm(bias=torch.zeros(40, device=device)), "bias", "(48,)", "(40,)"),
        (mm(contraction_dim=[0, 0]), "contraction_dim", "(-1, -2)", "(0, 0)"),
        (grouped(offs=None), "offs", "None"),
        (grouped(offs=torch.tensor([1, 40], dtype=torch.int32, device=device)), "mat_b",
         "2 expert groups", "found 1"),
        (grouped(bias=torch.zeros(48, device=device)), "bias", "None"),
    )
    for call, *words in cases:
        refuses(ValueError, words, call)
    refuses(TypeError, ("offs", "int32", "int64"), grouped(offs=offs.long()))


CASES = (matrices, factors, older_operators, groups_of_rows, groups_along_k,
         factors_of_groups, sizes, errors)


def run(device):
    for case in CASES:
        case(device)
        print("ok", case.__name__, flush=True)

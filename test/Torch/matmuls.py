# REQUIRES: torch
# RUN: %python_torch %s
"""Compares matmuls, their gradients, and the gradients of the expert layer with float64 results of quantized values."""

import contextlib

import numpy as np
import torch

import mx_compiler.torch as mxt
import reference as ref
from reference import blocked, exact, near_product as check, turn
from refuses import refuses

FORMATS = (dict(), dict(scale_rounding="floor", gradients="mxfp8_e5m2"),
           dict(weights="mxfp4", activations="mxfp6_e3m2"))


def formats(options):
    found = [options.get(name, "mxfp8")
             for name in ("activations", "weights", "gradients")]
    return *found, options.get("scale_rounding", "ceil")


def many_rows():
    """The gradient of a small weight is a sum over many rows. The rows may or may not fill whole blocks."""
    for seed, (rows, inputs, outputs) in enumerate(((2100, 64, 32), (8192, 32, 96), (8200, 64, 32))):
        for kind, saves in ((torch.bfloat16, False), (torch.float32, True)):
            x = ref.tensor((rows, inputs), seed, spread=2)
            w = ref.tensor((outputs, inputs), 3, kind).requires_grad_()
            dy = ref.tensor((rows, outputs), seed + 7, spread=2)
            mxt.mxfp8_mm(x, w, save_quantized=saves).backward(dy)
            format, rule = "mxfp8", "ceil"
            check(w.grad, blocked(turn(exact(dy)), format, rule),
                  blocked(turn(exact(x)), format, rule), w.dtype, (rows, kind))


def linear():
    for seed, (shape, outputs) in enumerate((((50, 96), 64), ((2, 33, 64), 96),
                                             ((256, 128), 32), ((0, 64), 32))):
        for options in FORMATS:
            for high in (False, True):
                kinds = torch.bfloat16 if seed < 2 else torch.float32
                x = ref.tensor(shape, seed, spread=2).requires_grad_()
                w = ref.tensor((outputs, shape[-1]), seed + 9, kinds,
                               spread=2).requires_grad_()
                bias = ref.tensor((outputs,), seed + 5).requires_grad_()
                y = mxt.mxfp8_mm(x, w, bias, wgrad_high_precision=high, **options)
                assert y.dtype == x.dtype and y.shape == (*shape[:-1], outputs)
                dy = ref.tensor(y.shape, seed + 7, spread=2)
                y.backward(dy)
                of_x, of_w, of_dy, rule = formats(options)
                X, W, DY = (exact(t).reshape(-1, t.shape[-1]) for t in (x, w, dy))
                plain = mxt.mxfp8_mm(x, w, **options)
                assert torch.equal(y, plain + bias)
                check(plain.reshape(len(X), outputs), blocked(X, of_x, rule),
                      blocked(W, of_w, rule), torch.bfloat16)
                check(x.grad.reshape(X.shape), blocked(DY, of_dy, rule),
                      blocked(turn(W), of_w, rule), torch.bfloat16, "dx")
                assert w.grad.dtype == w.dtype and bias.grad.dtype == bias.dtype
                if high:
                    check(w.grad, turn(DY), turn(X), torch.bfloat16, "dw")
                else:
                    check(w.grad, blocked(turn(DY), of_dy, rule),
                          blocked(turn(X), of_x, rule), w.dtype, "dw")


def grouped():
    for offsets in ((13, 13, 70, 200), (0, 64, 192, 200), (200, 200, 200, 200)):
        for options in FORMATS:
            x = ref.tensor((200, 64), 1, spread=2).requires_grad_()
            w = ref.tensor((4, 96, 64), 2, spread=2).requires_grad_()
            dy = ref.tensor((200, 96), 3, spread=2)
            y = mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), ref.ends(*offsets),
                                     **options)
            y.backward(dy)
            of_x, of_w, of_dy, rule = formats(options)
            X, W, DY, begin = exact(x), exact(w), exact(dy), 0
            for g, end in enumerate(offsets):
                rows = slice(begin, end)
                check(y[rows], blocked(X[rows], of_x, rule), blocked(W[g], of_w, rule),
                      torch.bfloat16, "y")
                check(x.grad[rows], blocked(DY[rows], of_dy, rule),
                      blocked(turn(W[g]), of_w, rule), torch.bfloat16, "dx")
                check(w.grad[g], blocked(turn(DY[rows]), of_dy, rule),
                      blocked(turn(X[rows]), of_x, rule), torch.bfloat16, "dw")
                begin = end


def long_offsets():
    """i64 offsets give the same results as i32 offsets, also in the backward pass."""
    x, w = ref.tensor((40, 64), 1, spread=2), ref.tensor((3, 96, 64), 2, spread=2)
    q, s = mxt.quantize_mxfp4(w)
    for call in (
            lambda x, offs: mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), offs),
            lambda x, offs: mxt.mxfp8_grouped_mm(
                x, w.requires_grad_().transpose(-2, -1), offs, wgrad_high_precision=True),
            lambda x, offs: mxt.weight_only_grouped_mm(x, q, s, offs, "mxfp4")):
        results = []
        for offs in (ref.ends(7, 7, 40), ref.ends(7, 7, 40).long()):
            given, w.grad = x.clone().requires_grad_(), None
            y = call(given, offs)
            y.square().sum().backward()
            results.append([t for t in (y, given.grad, w.grad) if t is not None])
        for a, b in zip(*results, strict=True):
            assert torch.equal(a, b)


def weights_alone():
    for format in ("mxfp4", "mxfp8", "nvfp4"):
        w = ref.tensor((3, 64, 96), 4, spread=2)
        x = ref.tensor((40, 96), 5, spread=2).requires_grad_()
        factor = None
        if format == "nvfp4":
            q, s, factor = mxt.quantize_nvfp4(w)
            values = mxt.dequantize(q, s, format, torch.float32, global_scale=factor)
            # The operand of the matmul is the element times its scale, in bf16.
            W = exact((values / factor).to(torch.bfloat16)) * float(factor)
        else:
            q, s = mxt.quantize(w, format)
            W = blocked(exact(w), format)
        y = mxt.weight_only_mm(x, q[1], s[1], format, global_scale=factor)
        check(y, exact(x), W[1], torch.bfloat16, format)
        y.sum().backward()
        assert np.allclose(exact(x.grad), W[1].sum(0), rtol=2e-2, atol=1e-1), format
        offsets = (7, 7, 40)
        y = mxt.weight_only_grouped_mm(x, q, s, ref.ends(*offsets), format,
                                       global_scale=factor)
        begin = 0
        for g, end in enumerate(offsets):
            check(y[begin:end], exact(x)[begin:end], W[g], torch.bfloat16, format)
            begin = end


def odd_outputs():
    """x gets a gradient for any number of outputs, although grouped_mm requires a multiple of 16 bytes."""
    x = ref.tensor((7, 64), 1, spread=1).requires_grad_()
    w = ref.tensor((2, 37, 64), 2, spread=1)
    y = mxt.weight_only_grouped_mm(x, *mxt.quantize_mxfp4(w), ref.ends(3, 7), "mxfp4")
    y.sum().backward()
    sums = blocked(exact(w), "mxfp4").sum(1)
    wanted = np.repeat(sums, (3, 4), axis=0)
    assert np.allclose(exact(x.grad), wanted, rtol=2**-7, atol=2**-4)


def large_halves():
    """Sums may overflow f16, so high-precision gradients are computed with bf16 matmuls."""
    for high in (False, True):
        x = torch.full((8192, 64), 10.0, dtype=torch.float16, device=ref.DEVICE)
        w = torch.zeros(32, 64, device=ref.DEVICE, requires_grad=True)
        dy = torch.full((8192, 32), 10.0, dtype=torch.float16, device=ref.DEVICE)
        mxt.mxfp8_mm(x, w, wgrad_high_precision=high).backward(dy)
        assert (w.grad == 819200).all()


def relative(found, wanted):
    return np.linalg.norm(exact(found) - wanted) / np.linalg.norm(wanted)


def experts():
    """Except for internal roundings, the layer matches the exact layer. Its error is about the error of four roundings
    to E4M3, 2^-4 / sqrt(3) each."""
    tokens, hidden, inner, groups = 50, 64, 96, 4
    x = ref.tensor((tokens, hidden), 1, spread=0).requires_grad_()
    w1 = (ref.tensor((groups, 2 * inner, hidden), 2, spread=0) / 8).requires_grad_()
    w2 = (ref.tensor((groups, hidden, inner), 3, spread=0) / 8).requires_grad_()
    weights = torch.rand((tokens, 2), generator=torch.Generator().manual_seed(1)
                         ).to(ref.DEVICE).requires_grad_()
    rng = np.random.default_rng(1)
    chosen = rng.integers(-1, groups, (tokens, 2))
    routed = mxt.route(torch.from_numpy(chosen).to(ref.DEVICE), weights, groups)
    y = mxt.moe_layer(x, w1, w2, *routed)
    dy = ref.tensor(y.shape, 6, spread=0)
    y.backward(dy)
    given = [t.detach().cpu().double().requires_grad_() for t in (x, w1, w2, weights)]
    X, W1, W2, P = given
    Y = torch.zeros(tokens, hidden, dtype=torch.float64)
    for t in range(tokens):
        for k in range(2):
            if chosen[t, k] >= 0:
                both = W1[chosen[t, k]] @ X[t]
                h = torch.nn.functional.silu(both[:inner]) * both[inner:] * P[t, k]
                Y[t] = Y[t] + W2[chosen[t, k]] @ h
    Y.backward(dy.cpu().double())
    assert relative(y, exact(Y)) < 0.08, relative(y, exact(Y))
    for name, a, b in zip("x w1 w2 weights".split(), (x, w1, w2, weights), given):
        assert a.grad.dtype == a.dtype
        error = relative(a.grad, b.grad.numpy())
        assert 0.005 < error < 0.09, (name, error)


def groups_of_rows():
    for alignment in (32, 128):
        for offsets in ((5, 5, 37, 60), (0, 0, 0, 0), (64, 128, 128, 130)):
            rows = 130
            x = ref.tensor((rows, 8), 3).requires_grad_()
            padded, places = mxt.pad_token_groups(x, ref.ends(*offsets), alignment)
            begin, start, X = 0, 0, exact(x)
            wanted = np.zeros(padded.shape)
            found = []
            for end in offsets:
                wanted[start:start + end - begin] = X[begin:end]
                start += -(-(end - begin) // alignment) * alignment
                begin = end
                found.append(start)
            assert padded.shape[0] % alignment == 0 and places.tolist() == found
            assert (exact(padded) == wanted).all()
            back = mxt.unpad_token_groups(padded, ref.ends(*offsets), rows, alignment)
            kept = np.arange(rows)[:, None] < offsets[-1]
            assert (exact(back) == np.where(kept, X, 0)).all()
            back.sum().backward()
            assert (exact(x.grad) == np.where(kept, np.ones_like(X), 0)).all()
    # Linear scales, rearranged, match the tiles of quantizers.
    x, offsets = ref.tensor((300, 160), 8), ref.ends(7, 7, 150, 300)
    for ends, mode in ((None, None), (offsets, "rows")):
        pair = [mxt.quantize_mxfp8(x, blocked=b, offsets=ends)[1].view(torch.uint8)
                for b in (True, False)]
        assert torch.equal(pair[0], mxt.rearrange_scales(pair[1], ends, mode))
    batch = ref.tensor((3, 40, 96), 2)
    pair = [mxt.quantize_mxfp8(batch, blocked=b)[1].view(torch.uint8) for b in (1, 0)]
    assert torch.equal(pair[0], mxt.rearrange_scales(pair[1]))
    x, offsets = ref.tensor((128, 96), 4), ref.ends(32, 32, 96, 128)
    wanted = mxt.quantize_mxfp8(x, -2, offsets=offsets)[1].view(torch.uint8)
    scales = mxt.quantize_mxfp8(x, -2, blocked=False)[1].view(torch.uint8)
    assert torch.equal(wanted, mxt.rearrange_scales(scales, offsets, "reduction"))


def frozen():
    """The gradient of one operand is the same whether or not the other operand requires a gradient."""
    x, w = ref.tensor((40, 64), 1, spread=1), ref.tensor((4, 96, 64), 2, spread=1)
    offs = ref.ends(5, 5, 30, 40)
    for call in (lambda a, b, high: mxt.mxfp8_mm(a, b[0], wgrad_high_precision=high),
                 lambda a, b, high: mxt.mxfp8_grouped_mm(
                     a, b.transpose(-2, -1), offs, wgrad_high_precision=high)):
        for high in (False, True):
            found = []
            for needs in ((True, True), (True, False), (False, True)):
                leaves = [t.clone().requires_grad_(need) for t, need in zip((x, w), needs)]
                call(*leaves, high).backward(ref.tensor((40, 96), 3, spread=1))
                found.append([t.grad for t in leaves])
            assert torch.equal(found[0][0], found[1][0]) and found[1][1] is None
            assert torch.equal(found[0][1], found[2][1]) and found[2][0] is None


def kept():
    """Only operands of the backward matmuls are saved and version-checked: x for the weight gradient, and the weight
    for the gradient of x."""
    offs = ref.ends(5, 40)
    for call, shape in ((mxt.mxfp8_mm, (96, 64)),
                        (lambda a, b, **o: mxt.mxfp8_grouped_mm(a, b.transpose(-2, -1), offs, **o),
                         (2, 96, 64))):
        for frozen in range(2):
            for saves in (False, True):
                pair = [ref.tensor((40, 64), 1, spread=1), ref.tensor(shape, 2, spread=1)]
                pair[1 - frozen].requires_grad_()
                sizes = []
                with torch.autograd.graph.saved_tensors_hooks(
                        lambda t: sizes.append(t.untyped_storage().nbytes()) or t, lambda t: t):
                    y = call(*pair, save_quantized=saves)
                assert sum(size >= pair[frozen].nbytes for size in sizes) <= 1, sizes
                pair[frozen].add_(1)
                y.sum().backward()


def beside():
    """Results with a pair of weights match results with their concatenation bit for bit, in every dtype and with any of
    the three tensors frozen. On a GPU, gradients of a saved x are excepted, because their sums use another order.
    Neither the concatenation nor x is saved."""
    offs, dy = ref.ends(5, 40), ref.tensor((40, 160), 3, spread=1)
    for saves in (False, True):
        for frozen in (None, 0, 1, 2):
            for dtype in (torch.float32, torch.bfloat16):
                x, first = ref.tensor((40, 64), 1, spread=1), ref.tensor((2, 96, 64), 2, spread=1)
                second = ref.tensor((2, 64, 64), 4, spread=1).to(dtype)
                leaves = [t.clone().requires_grad_(i != frozen) for i, t in enumerate((x, first, second))]
                joined = [t.clone().requires_grad_(i != frozen) for i, t in enumerate((x, first, second))]
                sizes = []
                with torch.autograd.graph.saved_tensors_hooks(
                        lambda t: sizes.append(t.untyped_storage().nbytes()) or t, lambda t: t):
                    y = mxt.mxfp8_grouped_mm(leaves[0], [w.transpose(-2, -1) for w in leaves[1:]], offs,
                                             save_quantized=saves)
                if saves and dtype == first.dtype:
                    assert max(sizes) <= first.nbytes, sizes
                y.backward(dy)
                z = mxt.mxfp8_grouped_mm(joined[0], torch.cat(joined[1:], 1).transpose(-2, -1), offs)
                z.backward(dy)
                assert torch.equal(y, z)
                for i, (a, b) in enumerate(zip(leaves, joined)):
                    assert (a.grad is None) == (b.grad is None) == (i == frozen)
                    if i == frozen:
                        continue
                    if saves and ref.DEVICE != "cpu":
                        bound = 2.0 ** -20 if a.dtype == torch.float32 else 2.0 ** -8
                        assert relative(a.grad, exact(b.grad)) <= bound, (frozen, dtype, i)
                    else:
                        assert torch.equal(a.grad, b.grad), (frozen, dtype, i)
    # With a single group, no gradient shares memory with another tensor. This includes calls through the dispatcher.
    for plain in (True, False):
        x, pair = ref.tensor((40, 64), 1, spread=1), [ref.tensor((1, n, 64), n, spread=1) for n in (96, 64)]
        leaves = [t.requires_grad_() for t in (x, *pair)]
        with contextlib.nullcontext() if plain else torch.utils.flop_counter.FlopCounterMode(display=False):
            y = mxt.mxfp8_grouped_mm(x, [w.transpose(-2, -1) for w in pair], ref.ends(40), save_quantized=True)
            y.sum().backward()
        assert len({t.grad.untyped_storage().data_ptr() for t in leaves}) == 3
    x, w = ref.tensor((40, 64), 1, spread=1), ref.tensor((2, 96, 64), 2, spread=1)
    for error, name, other in ((TypeError, "the second", w.int()), (TypeError, "the second", w.bool()),
                               (TypeError, "the second", w.to(torch.float8_e4m3fn)),
                               (ValueError, "the second", w[:, :40]), (ValueError, "the second", w.to("meta"))):
        for saves in (False, True):
            refuses(error, name, lambda: mxt.mxfp8_grouped_mm(
                x, [w.transpose(-2, -1), other.transpose(-2, -1)], offs, save_quantized=saves))
    for other in (w[:1], w[:, :, :32], w[0]):
        for saves in (False, True):
            pair = w.transpose(-2, -1).requires_grad_(), other.transpose(-2, -1)
            refuses(ValueError, "B_t: expected", lambda: mxt.mxfp8_grouped_mm(
                x, pair, offs, save_quantized=saves))
    # An exported program accepts another dtype, because it contains no PyTorch operators.
    class Layer(torch.nn.Module):
        def forward(self, x, w, offs):
            return mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), offs)

    graph = torch.export.export(Layer(), (x, w, offs)).graph
    assert {node.target.name() for node in graph.nodes if node.op == "call_function"} == {
        "aten::transpose.int", "mx::grouped_linear"}, graph
    refuses(ValueError, "B_t: expected a tensor or a pair of tensors, found 3",
            lambda: mxt.mxfp8_grouped_mm(x, [w] * 3, offs))


def routes():
    """Compares every integer type with a stable sort, even if the number of experts does not fit the type; also checks
    the gradient of the weights."""
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        for tokens, k, experts in ((40, 3, 5), (1, 1, 1), (0, 3, 4), (5, 0, 4), (300, 2, 300)):
            least = 0 if dtype == torch.uint8 else -2
            chosen = torch.from_numpy(np.random.default_rng(tokens).integers(
                least, min(experts + 2, 120), (tokens, k))).to(dtype).to(ref.DEVICE)
            weights = torch.rand(tokens, k, device=ref.DEVICE).requires_grad_()
            rows, probs, ends = mxt.route(chosen, weights, experts)
            flat = chosen.flatten().long().cpu().numpy()
            flat = np.where((flat >= 0) & (flat < experts), flat, experts)
            order = np.argsort(flat, kind="stable")
            assert np.array_equal(rows.cpu(), order // max(k, 1))
            assert np.array_equal(ends.cpu(), np.searchsorted(flat[order], np.arange(experts), side="right"))
            assert np.array_equal(probs.detach().cpu(), weights.detach().cpu().numpy().flatten()[order])
            probs.sum().backward()
            assert (weights.grad == 1).all()


def misaligned():
    """Operands are parts of other tensors, such as gradients of a concatenation."""
    def part(x):
        return torch.cat([x.flatten()[:1], x.flatten()])[1:].view(x.shape)

    x, w = ref.tensor((40, 64), 1, spread=1), ref.tensor((4, 96, 64), 2, spread=1)
    offs, dy = ref.ends(5, 5, 30, 40), ref.tensor((40, 96), 3, spread=1)
    found = []
    for view in (lambda t: t, part):
        a, b = (view(t).detach().requires_grad_() for t in (x, w))
        mxt.mxfp8_grouped_mm(a, b.transpose(-2, -1), view(offs)).backward(view(dy))
        found.append((a.grad, b.grad))
    assert all(torch.equal(*pair) for pair in zip(*found))


for part in (linear, many_rows, frozen, kept, beside, routes, misaligned, grouped, long_offsets, weights_alone, odd_outputs,
             large_halves, experts, groups_of_rows):
    part()
    print(part.__name__, "right")

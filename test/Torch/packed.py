# REQUIRES: torch
# RUN: %python_torch %s operators layouts
# RUN: env MX_DEVICE=sim MX_CHIP=sm_120a MX_PTXAS=none %python_torch %s operators layouts
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s
"""Tests packed weights from operators and in modules on sm_90a. Compares every byte with the formula in
docs/reference/Spec.md, and results and gradients with float64. Copies, moves and state dicts must preserve the bytes of
a checkpoint."""

import copy
import io
import os
import pickle
import sys
import tempfile

import numpy as np
import torch
import torch.distributed.checkpoint as dcp

import mx_compiler as mx
import mx_compiler.torch as mxt
import reference as ref
from mx_compiler.torch._modules.weight_layout import weight_layout
from reference import DEVICE, blocked, exact, near
from refuses import refuses

BF16, F32 = torch.bfloat16, torch.float32
RECIPE = "mxfp4_weight_only"


def place(format):
    """Returns, for each packed byte, the row and byte of its source in a tile, and the bytes per tile row (Spec.md)."""
    per_byte = 2 if format in ("mxfp4", "nvfp4") else 1
    t, e = np.meshgrid(np.arange(128), np.arange(0, 32, per_byte), indexing="ij")
    rows = 16 * (t // 32) + 2 * (t % 32 // 4) + e // 2 % 2
    columns = 2 * (t % 4) + e % 2 + 8 * (e // 4 % 2) + 16 * (e // 8)
    return rows, columns // per_byte, 64 // per_byte


def packed_bytes(plain, format):
    rows, columns, width = place(format)
    bits = plain.view(torch.uint8).cpu().numpy()
    *batch, n, last = bits.shape
    tiles = bits.reshape(*batch, n // 64, 64, last // width, width).swapaxes(-3, -2)
    return tiles[..., rows, columns]


def quantized(shape, format, seed=1):
    """Returns elements, scales, the global scale if the format is NVFP4, and the matrix in float64."""
    w = ref.tensor(shape, seed, spread=2)
    if format != "nvfp4":
        q = mxt.quantize(w, format)
        return *q, None, blocked(exact(w), format)
    elements, scales, factor = mxt.quantize_nvfp4(w, blocked=False)
    codes = ref.codes(elements, format).reshape(*shape[:-1], -1, 16)
    values = codes * scales.float().cpu().double().numpy()[..., None] * float(factor)
    return elements, scales, factor, values.reshape(shape)


def check(found, a, b, what):
    near(found, a @ b.T, np.abs(a) @ np.abs(b).T, BF16, what=what)


def operators():
    for format in ("mxfp4", "nvfp4", "mxfp6_e2m3", "mxfp8", "mxfp8_e5m2"):
        for shape in ((64, 128), (3, 128, 64), (0, 64), (2, 2, 64, 64)):
            kind = torch.uint8
            plain = torch.randint(0, 256, (*shape[:-1], shape[-1] // (
                2 if "fp4" in format else 1)), dtype=kind, device=DEVICE)
            p = mxt.pack_weights(plain, format)
            assert p.dtype == kind and (p.cpu().numpy() == packed_bytes(plain, format)).all()
            assert torch.equal(mxt.unpack_weights(p, format), plain), (format, shape)
    for format in ("mxfp4", "nvfp4"):
        elements, scales, factor, w = quantized((128, 64), format)
        p = mxt.pack_weights(elements, format)
        assert p.dtype == elements.dtype
        options = dict(global_scale=factor, blocked=format != "nvfp4")
        for rows in (1, 7, 17, 130):
            x = ref.tensor((rows, 64), 2, spread=2).requires_grad_()
            y = mxt.weight_only_mm(x, p, scales, format, packed=True, **options)
            check(y, exact(x), w, (format, rows))
            dy = ref.tensor(y.shape, 3)
            y.backward(dy)
            # The gradient multiplies by bf16 weights, and bf16 cannot represent all NVFP4 values.
            check(x.grad, exact(dy), exact(torch.from_numpy(w).to(BF16)).T, (format, rows))
    elements, scales, factor, w = quantized((3, 128, 64), "mxfp4")
    p = mxt.pack_weights(elements, "mxfp4")
    for ends in ((1, 1, 2), (3, 40, 70)):
        x = ref.tensor((ends[-1], 64), 4, spread=2).requires_grad_()
        y = mxt.weight_only_grouped_mm(x, p, scales, ref.ends(*ends), "mxfp4", packed=True)
        dy = ref.tensor(y.shape, 5)
        y.backward(dy)
        for g, (begin, end) in enumerate(zip((0, *ends), ends)):
            check(y[begin:end], exact(x)[begin:end], w[g], ends)
            check(x.grad[begin:end], exact(dy)[begin:end], w[g].T, ends)


def layouts():
    """Modules pack weights depending on the device, the chip, the format and the size."""
    before = {name: os.environ.get(name) for name in ("MX_CHIP", "MX_DEVICE")}
    for device, chip, on, name, shape, wanted in (
            ("sim", "sm_90a", "cpu", "mxfp4", (64, 128), "packed"),
            ("sim", "sm_90a", "cpu", "nvfp4", (5, 128, 64), "packed"),
            ("sim", "sm_90a", "cpu", "mxfp8", (64, 64), "packed"),
            ("sim", "sm_90a", "cpu", "mxint8", (64, 128), "plain"),
            ("sim", "sm_90a", "cpu", "mxfp4", (96, 128), "plain"),
            ("sim", "sm_90a", "cpu", "mxfp4", (128, 96), "plain"),
            ("sim", "sm_90a", "meta", "mxfp4", (64, 128), "plain"),
            ("sim", "sm_100a", "cpu", "mxfp4", (64, 128), "plain"),
            ("sim", "", "cpu", "mxfp4", (64, 128), "plain"),
            ("cpu", "sm_90a", "cpu", "mxfp4", (64, 128), "plain")):
        mx.set_device(device)
        os.environ["MX_CHIP"] = chip
        found = weight_layout(torch.device(on), mx.FORMATS[name], shape)
        assert found == wanted, (device, chip, on, name, shape, found)
    mx.set_device(before["MX_DEVICE"] or "auto")
    os.environ["MX_CHIP"] = before["MX_CHIP"] or ""


# --- Modules, on devices with packed weights -------------------------------------------


def linear_of(rows, columns, bias=True):
    linear = torch.nn.Linear(columns, rows, bias, device=DEVICE)
    with torch.no_grad():
        linear.weight.copy_(ref.tensor((rows, columns), 1, F32, spread=2))
    return linear


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype and torch.equal(a[name], b[name]), name


def rows_of_modules():
    given = linear_of(128, 64, bias=False)
    layer = mxt.MXWeightOnlyLinear.from_linear(given, RECIPE)
    assert "packed=weight" in repr(layer) and layer.weight_elements.shape == (2, 1, 128, 16)
    W = blocked(exact(given.weight.to(BF16)), "mxfp4")
    assert (exact(layer.dequantized(dtype=F32)) == W).all()
    for rows in (1, 2, 7, 16, 17, 64, 65, 129, 300):
        x = ref.tensor((rows, 64), rows, spread=2).requires_grad_()
        y = layer(x)
        check(y, exact(x), W, rows)
        dy = ref.tensor(y.shape, 3)
        y.backward(dy)
        check(x.grad, exact(dy), W.T, rows)
    # Sizes that do not fill tiles.
    for rows, columns in ((96, 64), (64, 96)):
        layer = mxt.MXWeightOnlyLinear(columns, rows, device=DEVICE)
        assert "packed" not in repr(layer) and layer.weight_elements.dim() == 2
    compiled = torch.compile(mxt.MXWeightOnlyLinear.from_linear(given, RECIPE), fullgraph=True,
                             backend="aot_eager", dynamic=True)
    x = ref.tensor((17, 64), spread=2)
    check(compiled(x), exact(x), W, "compiled")
    layer = mxt.MXWeightOnlyLinear.from_linear(given, RECIPE)
    program = torch.export.export(layer, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    check(program.module()(x[:7]), exact(x)[:7], W, "exported")


def rows_of_experts():
    given = mxt.GroupedExperts(64, 128, 3, device=DEVICE)
    layer = mxt.MXWeightOnlyExperts.from_experts(given, RECIPE)
    assert "packed=w1+w2+w3" in repr(layer)
    assert (layer.dim, layer.hidden_dim, layer.num_experts) == (64, 128, 3)
    w1, w2, w3 = (blocked(exact(w.to(BF16)), "mxfp4") for w in (given.w1, given.w2, given.w3))
    for counts in ((1, 0, 1), (7, 16, 41), (0, 129, 1)):
        x = ref.tensor((sum(counts), 64), 2, spread=1)
        y = layer(x, torch.tensor(counts, device=DEVICE))
        parts = np.split(exact(x), np.cumsum(counts)[:-1])
        wanted = np.concatenate([
            (a / (1 + np.exp(-a)) * (part @ w3[g].T)) @ w2[g].T
            for g, part in enumerate(parts) for a in (part @ w1[g].T,)])
        distance = np.linalg.norm(exact(y) - wanted) / np.linalg.norm(wanted)
        assert distance < 0.01, (counts, distance)


def state_dicts():
    """State dicts of packed and unpacked modules are equal and load in both directions."""
    experts = mxt.GroupedExperts(64, 128, 2, device=DEVICE)
    for plain, from_plain, make in (
            (linear_of(128, 64), mxt.MXWeightOnlyLinear.from_linear,
             lambda device: mxt.MXWeightOnlyLinear(64, 128, True, RECIPE, device)),
            (experts, mxt.MXWeightOnlyExperts.from_experts,
             lambda device: mxt.MXWeightOnlyExperts(64, 128, 2, RECIPE, device))):
        packed = from_plain(copy.deepcopy(plain), RECIPE)
        own = packed.state_dict()
        for name in packed._weights:
            elements, scales = mxt.quantize_mxfp4(getattr(plain, name).detach().to(BF16))
            assert torch.equal(own[f"{name}_elements"], elements.view(torch.uint8))
            assert torch.equal(own[f"{name}_scales"], scales.view(torch.uint8))
            kept = getattr(packed, f"{name}_elements")
            assert (kept.cpu().numpy() == packed_bytes(elements, "mxfp4")).all()
        older = {name: x for name, x in own.items() if name not in packed._weights}
        for state in (own, plain.state_dict(), older):
            for device, assign in ((DEVICE, False), (DEVICE, True), ("meta", True)):
                loaded = make(device)
                assert ("packed" in repr(loaded)) == (device != "meta")
                at = {name: x.data_ptr() for name, x in loaded.named_buffers()}
                given = dict(state)
                loaded.load_state_dict(given, strict=True, assign=assign)
                assert_same(loaded.state_dict(), own)
                assert_same(dict(loaded.named_buffers()), dict(packed.named_buffers()))
                if not assign:          # a CUDA graph reads them at the same address
                    assert at == {name: x.data_ptr() for name, x in loaded.named_buffers()}
                assert given.keys() == state.keys() and all(given[n] is state[n] for n in state)
        # Weights on meta are not packed, but memory created for them later is.
        empty = packed.to("meta")
        assert "packed" not in repr(empty)
        empty.to_empty(device=DEVICE).load_state_dict(own)
        assert "packed" in repr(empty)
        assert_same(empty.state_dict(), own)


def copies():
    layer = mxt.convert_(linear_of(128, 64), RECIPE)
    own, kept = layer.state_dict(), dict(layer.named_buffers())
    size = sum(x.nbytes for x in layer.buffers())
    assert size == 128 * 64 // 2 + 128 * 4 * 1  # elements, and one tile row of scales
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    for found in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)),
                  torch.load(file, weights_only=False), copy.deepcopy(layer).to(BF16)):
        assert_same(dict(found.named_buffers()), kept)
        assert_same({n: x for n, x in found.state_dict().items() if n != "bias"},
                    {n: x for n, x in own.items() if n != "bias"})
    model = torch.nn.Sequential(copy.deepcopy(layer))
    with tempfile.TemporaryDirectory() as folder:
        dcp.save(model.state_dict(), checkpoint_id=folder)
        other = torch.nn.Sequential(mxt.MXWeightOnlyLinear(64, 128, device=DEVICE))
        state = other.state_dict()
        dcp.load(state, checkpoint_id=folder)
        other.load_state_dict(state)
    assert_same(other[0].state_dict(), own)
    # Convert the weights back to floats.
    wanted = layer.dequantized(dtype=F32)
    back = mxt.convert_(layer, "bf16")
    assert type(back) is torch.nn.Linear and torch.equal(back.weight, wanted)


def moves():
    """Moves a module to a device without packed weights, and back."""
    layer = mxt.convert_(linear_of(128, 64), RECIPE)
    own, kept = layer.state_dict(), dict(layer.named_buffers())
    x = ref.tensor((5, 64), spread=2)
    y = layer(x)
    mx.set_device("cpu")
    loaded = pickle.loads(pickle.dumps(layer.cpu() if DEVICE != "cpu" else layer))
    if DEVICE == "cpu":     # the module did not move, so its weights stay packed; the reference path reads them
        assert torch.equal(loaded.weight_elements, kept["weight_elements"])
        assert torch.allclose(loaded(x), y, rtol=1e-2, atol=1e-2)
    loaded.to("cpu")
    assert "packed" not in repr(loaded) and loaded.weight_elements.shape == (128, 32)
    assert_same(loaded.state_dict(), {name: t.cpu() for name, t in own.items()})
    mx.set_device("auto" if DEVICE != "cpu" else "sim")
    loaded.to(DEVICE)
    assert_same(dict(loaded.named_buffers()), kept)
    assert torch.equal(loaded(x), y)


def errors():
    layer = mxt.MXWeightOnlyLinear(64, 128, device=DEVICE)
    own = layer.state_dict()
    for name, given in (("packed", dict(layer.named_buffers())["weight_elements"]),
                        ("of another shape", own["weight_elements"][:64]),
                        ("no bytes", own["weight_elements"].float())):
        refuses(RuntimeError, "size mismatch for weight_elements: expected bytes of shape "
                f"(128, 32), found {str(given.dtype)[6:]} of shape {tuple(given.shape)}",
                lambda: layer.load_state_dict({**own, "weight_elements": given}))
    refuses(RuntimeError, "While copying the parameter named \"weight_elements\"",
            lambda: layer.load_state_dict({**own, "weight_elements": [1]}))
    refuses(RuntimeError, "Missing key(s) in state_dict: \"weight_elements\"",
            lambda: layer.load_state_dict({n: x for n, x in own.items()
                                           if n != "weight_elements"}))


torch.manual_seed(0)
for part in (operators, layouts, rows_of_modules, rows_of_experts, state_dicts, copies, moves, errors):
    if part.__name__ in (sys.argv[1:] or part.__name__):
        part()
        print(part.__name__, "right")

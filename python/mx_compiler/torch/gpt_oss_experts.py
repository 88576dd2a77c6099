# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of gpt-oss for inference, with MXFP4 weights and bf16 activations:

    experts = MXFP4Experts.from_checkpoint("gpt-oss-20b", layer=0, device="cuda")
    y = experts(x, indices, weights)

For comparison, BF16Experts computes the same with weights dequantized to bf16. Neither class waits
for the device, so a CUDA graph can capture their calls.
"""

import torch
import torch.nn.functional as F
from torch import nn

from .._ops import checks as check
from .._ops.formats import find_format
from . import gpt_oss
from ._modules.parameters import Replacement, find_save_pretrained
from ._ops.checks import check_tensor
from ._modules.weight_layout import arrange
from ._ops.token_groups import from_tiles, rearrange_scales
from ._ops.pack_weights import pack_weights, unpack_weights
from ._ops.quantize import dequantize
from ._ops.weight_only_mm import weight_only_grouped_mm

FORMAT = "mxfp4"


def clamped_swiglu(gate_up, alpha=1.702, limit=7.0):
    """Returns gate * sigmoid(alpha * gate) * (up + 1). The gate is clamped to at most `limit`, and up
    is clamped to [-limit, limit].

    gate_up: [..., 2 I]; columns 0, 2, ... are the gate, and columns 1, 3, ... are up. The result is
    [..., I].
    """
    gate, up = gate_up[..., ::2], gate_up[..., 1::2]
    gate = gate.clamp(max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up.clamp(-limit, limit) + 1)


class _Experts(nn.Module):
    """Base class of MXFP4Experts and BF16Experts. They implement the matmuls."""

    def __init__(self, sizes, alpha, limit, device):
        super().__init__()
        if not isinstance(sizes, gpt_oss.Sizes):
            raise TypeError(f"sizes: expected a gpt_oss.Sizes, found {type(sizes).__name__}")
        for name, number in (("alpha", alpha), ("limit", limit)):
            if isinstance(number, bool) or not isinstance(number, (int, float)) or number <= 0:
                raise ValueError(f"{name}: expected a number above 0, found {number!r}")
        self.sizes, self.alpha, self.limit = sizes, alpha, limit
        for projection in gpt_oss.PROJECTIONS:
            rows, _ = sizes.matrix(projection)
            bias = torch.zeros(sizes.experts, rows, dtype=torch.bfloat16, device=device)
            self.register_buffer(f"{projection}_bias", bias)
        self.register_buffer("_numbers", None, persistent=False)
        _number_experts(self)
        # A state dict does not contain the numbers, so they are set again after to_empty or a move
        # from the meta device.
        self.register_load_state_dict_post_hook(_number_experts)

    def matmul(self, projection, x, ends):
        """Multiplies the rows of x by the weights of their experts in bf16, without the bias."""
        raise NotImplementedError

    def forward(self, x, indices, weights):
        """Returns the weighted sum over each token's experts, bf16, [T, hidden].

        x is bf16, [T, hidden]. indices, int32 or int64, [T, k], are the experts of each token, and
        weights, floating point, [T, k], are the weights of these experts. All tensors must be on the
        device of the module.

        Raises TypeError or ValueError for a wrong dtype or shape. The host does not read indices, so
        an index outside [0, experts) causes a device error.
        """
        self._check(x, indices, weights)
        tokens, k = indices.shape
        experts, order = indices.reshape(-1).int().sort(stable=True)
        ends = torch.searchsorted(experts, self._numbers, right=True, out_int32=True)
        rows = x.index_select(0, order // k)
        gate_up = self._layer("gate_up_proj", rows, experts, ends)
        inner = clamped_swiglu(gate_up, self.alpha, self.limit).to(x.dtype)
        y = self._layer("down_proj", inner, experts, ends)
        y = y * weights.reshape(-1, 1).float().index_select(0, order)
        unsorted = torch.empty_like(y).index_copy_(0, order, y)
        return unsorted.view(tokens, k, self.sizes.hidden).sum(1).to(x.dtype)

    def _layer(self, projection, x, experts, ends):
        # index_select rejects invalid experts, while indexing would accept negative numbers.
        bias = getattr(self, f"{projection}_bias").index_select(0, experts)
        return self.matmul(projection, x, ends).float() + bias

    def _check(self, x, indices, weights):
        for name, tensor in (("x", x), ("indices", indices), ("weights", weights)):
            check_tensor(name, tensor)
        if x.dtype != torch.bfloat16:
            raise TypeError(f"x: expected bfloat16, found {x.dtype}")
        if x.dim() != 2 or x.shape[1] != self.sizes.hidden:
            raise ValueError(f"x: expected the shape [tokens, {self.sizes.hidden}], "
                             f"found {list(x.shape)}")
        if indices.dtype not in (torch.int32, torch.int64):
            raise TypeError(f"indices: expected int32 or int64, found {indices.dtype}")
        if not weights.is_floating_point():
            raise TypeError(f"weights: expected a type of floating point, found {weights.dtype}")
        if indices.dim() != 2 or indices.shape[0] != x.shape[0]:
            raise ValueError(f"indices: expected the shape [{x.shape[0]}, experts of a token], "
                             f"a row for each row of x, found {list(indices.shape)}")
        if weights.shape != indices.shape:
            raise ValueError(f"weights: expected the shape {list(indices.shape)} of indices, "
                             f"found {list(weights.shape)}")
        for name, tensor in (("x", x), ("indices", indices), ("weights", weights)):
            if tensor.device != self._numbers.device:
                raise ValueError(f"{name}: expected a tensor on {self._numbers.device}, like the "
                                 f"experts, found a tensor on {tensor.device}")

    def weight_bytes(self):
        """Returns the memory of the weights in bytes."""
        return sum(x.numel() * x.element_size() for x in self.buffers())

    def extra_repr(self):
        return ", ".join(f"{name}={value}" for name, value in vars(self.sizes).items())


def _number_experts(module, *_):
    """Sets the buffer _numbers to 0 ... experts - 1 on the device of the other buffers."""
    module._numbers = torch.arange(module.sizes.experts, dtype=torch.int32,
                                   device=module.down_proj_bias.device)


class MXFP4Experts(Replacement, _Experts):
    """Layer of gpt-oss experts with MXFP4 weights. Matmuls read the weights directly or convert them
    on the fly.

    sizes: a `gpt_oss.Sizes`. alpha, limit: as for `clamped_swiglu`.

    A state dict has the tensors, names and layout of a checkpoint (`mx_compiler.torch.gpt_oss`), so
    tensors can be loaded from one into the other. The module stores scales in tiles, and packs
    elements if matmuls read packed elements faster (docs/guide/TorchTraining.md).
    """

    def __init__(self, sizes, *, alpha=1.702, limit=7.0, device=None):
        super().__init__(sizes, alpha, limit, device)
        for name, (shape, dtypes) in gpt_oss.expert_tensors(sizes).items():
            if dtypes is gpt_oss.BITS:
                bits = torch.zeros(shape, dtype=torch.uint8, device=device)
                self.register_buffer(name, to_tiles(bits) if name.endswith("_scales") else bits)
        self.register_state_dict_post_hook(_save_plain)
        self.register_load_state_dict_pre_hook(_load_plain)
        self.register_load_state_dict_post_hook(_arrange)
        _arrange(self)

    @classmethod
    def from_checkpoint(cls, checkpoint, layer, *, device=None, **options):
        """Creates the experts of a layer from a `gpt_oss.Checkpoint` or the path of a checkpoint.
        Raises the errors of `gpt_oss.read_experts`."""
        if not isinstance(checkpoint, gpt_oss.Checkpoint):
            checkpoint = gpt_oss.Checkpoint(checkpoint)
        experts = cls(checkpoint.sizes(layer), device=device, **options)
        device = experts._numbers.device
        # Tensors are assigned, so an f32 bias stays f32.
        experts.load_state_dict(gpt_oss.read_experts(checkpoint, layer, device), assign=True)
        return experts

    def to_plain(self):
        """Returns BF16Experts with the dequantized weights."""
        return BF16Experts(self).train(self.training)

    def weight(self, projection):
        """Returns the elements (float4_e2m1fn_x2, [experts, rows, columns / 2]) and the blocked
        scales (float8_e8m0fnu) of a projection, which matmuls of mx_compiler.torch accept. The
        scales are a view, and so are the elements unless they are packed."""
        check.one_of("projection", projection, gpt_oss.PROJECTIONS)
        elements, is_packed = self._elements(projection)
        if is_packed:
            elements = unpack_weights(elements, FORMAT)
        scales = getattr(self, f"{projection}_scales")
        return elements.view(torch.float4_e2m1fn_x2), scales.view(torch.float8_e8m0fnu)

    def matmul(self, projection, x, ends):
        elements, is_packed = self._elements(projection)
        scales = getattr(self, f"{projection}_scales")
        return weight_only_grouped_mm(x, elements, scales, ends, FORMAT, packed=is_packed)

    def _elements(self, projection):
        """Returns the elements for matmuls, and True if they are packed. Packed elements have one
        dimension more than the elements in a checkpoint."""
        blocks = getattr(self, f"{projection}_blocks")
        return (blocks, True) if blocks.dim() == 5 else (blocks.flatten(2), False)

    def _apply(self, fn, *args, **kwargs):
        super()._apply(fn, *args, **kwargs)
        _arrange(self)
        return self

    def extra_repr(self):
        packed = [name for name in gpt_oss.PROJECTIONS if self._elements(name)[1]]
        return super().extra_repr() + (f", packed={'+'.join(packed)}" if packed else "")


class BF16Experts(_Experts):
    """Experts with the weights of `experts`, an MXFP4Experts, dequantized to bf16. The dequantized
    values are exact unless scales exceed the range of bf16."""

    def __init__(self, experts):
        if not isinstance(experts, MXFP4Experts):
            raise TypeError("experts: expected an MXFP4Experts, found "
                            f"{type(experts).__name__}")
        super().__init__(experts.sizes, experts.alpha, experts.limit, experts._numbers.device)
        for projection in gpt_oss.PROJECTIONS:
            elements, scales = experts.weight(projection)
            self.register_buffer(projection, dequantize(elements, scales, FORMAT, torch.bfloat16))
            setattr(self, f"{projection}_bias", getattr(experts, f"{projection}_bias"))

    def matmul(self, projection, x, ends):
        return F.grouped_mm(x, getattr(self, projection).transpose(-2, -1), offs=ends)


# --- Conversion of scales and elements between checkpoints and matmuls -------------------


def to_tiles(scales):
    """Rearranges the bits of plain scales, [experts, rows, blocks], to tiles."""
    return rearrange_scales(scales.view(torch.float8_e8m0fnu)).view(torch.uint8)


def _arrange(module, *_):
    """Brings elements into the order selected by weight_layout for their device."""
    for projection in gpt_oss.PROJECTIONS:
        elements, was_packed = module._elements(projection)
        found = arrange(elements, find_format(FORMAT), was_packed)
        if found is not elements:
            shape = found.shape if found.dim() == 5 else _shapes(module)[f"{projection}_blocks"]
            setattr(module, f"{projection}_blocks", found.view(shape))


def _shapes(module):
    """Returns the shapes of the elements and scales in checkpoints, keyed by name."""
    tensors = gpt_oss.expert_tensors(module.sizes)
    return {name: shape for name, (shape, dtypes) in tensors.items() if dtypes is gpt_oss.BITS}


def _save_plain(module, state, prefix, _):
    saving = find_save_pretrained()
    config = saving and getattr(saving.f_locals.get("self"), "config", None)
    if saving and not getattr(config, "quantization_config", None):
        raise ValueError(f"{prefix}gate_up_proj: expected floats, which from_pretrained reads "
                         f"without a quantization_config of the model's config, found {FORMAT}: "
                         f"set quantization_config to {{'quant_method': '{FORMAT}'}}, or call "
                         "safetensors.torch.save_file(model.state_dict(), ...)")
    for name, shape in _shapes(module).items():
        found = state[prefix + name]
        if name.endswith("_scales"):
            state[prefix + name] = from_tiles(found, *shape[1:]).contiguous()
        elif found.dim() == 5:
            state[prefix + name] = unpack_weights(found, FORMAT).view(shape)


def _load_plain(module, state, prefix, *_):
    for name, shape in _shapes(module).items():
        bits = state.get(prefix + name)
        is_scales = name.endswith("_scales")
        if not isinstance(bits, torch.Tensor) or not (
                is_scales or getattr(module, name).dim() == 5):
            # load_state_dict reports missing tensors, values that are not tensors, and wrong shapes.
            continue
        dtypes = (torch.uint8, torch.float8_e8m0fnu) if is_scales else (torch.uint8,)
        if bits.dtype not in dtypes or bits.shape != shape:
            raise ValueError(f"{prefix}{name}: expected plain {'scales' if is_scales else 'elements'}, "
                             f"uint8 of the shape {list(shape)}, found {bits.dtype} of the "
                             f"shape {list(bits.shape)}")
        state[prefix + name] = (to_tiles(bits.view(torch.uint8)) if is_scales else
                                pack_weights(bits.flatten(2), FORMAT))


# Modules that earlier versions pickled refer to the hooks by these names.
_save_plain_scales, _load_plain_scales = _save_plain, _load_plain

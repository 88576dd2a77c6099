# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with weights quantized once and multiplied by bf16 activations, and the linear layer
of this kind."""

import functools
import itertools

import torch
from torch import Tensor
from torch.types import Device

from ..._ops import checks as check
from ..._ops import scale_tiles
from ..._ops.formats import find_format
from ..._ops.fp8_text import weight_format
from ..._ops.refit import quantize_into
from ..._runtime.internal import internal
from .._ops import fp8_mm, tensors
from .._ops.checks import add_bias, as_rows, check_tensor, like_rows
from .._ops.normalize_scales import normalize_scales
from .._ops.pack_weights import pack_weights, unpack_weights
from .._ops.quantize import dequantize, quantize, quantize_nvfp4
from .._ops.token_groups import rearrange_scales
from .._ops.weight_only_mm import multiply_grouped, weight_only_mm
from .linear import check_linear
from .parameters import (FLOATS, Replacement, adopt, check_last,
                         check_parameter, check_plain, dtype_name, forget_state_hooks,
                         in_save_pretrained, result_dtype, to_bf16, without)
from .recipes import Recipe, weight_only_recipe
from .weight_layout import arrange, multiplies_fp8


_PARTS = ("elements", "scales")
_FP8_PARTS = ("fp8_scales", "fp8_factors")


def _is_name(x):
    """Returns True if the value in a state dict is a format name instead of a weight."""
    return isinstance(x, torch.Tensor) and x.dtype == torch.uint8 and x.dim() == 1


class Quantized(Replacement, torch.nn.Module):
    """Module with quantized weights. The weight NAME is stored in byte buffers: NAME_elements,
    NAME_scales (blocked) and, for NVFP4, NAME_global_scale, the bits of f32 factors, [..., S]. Each of
    S sections of rows has a factor (`_sections`). The buffers are bytes, because Module.to(dtype) would convert 8-bit
    floats. `float_dtype` is the dtype of dequantized weights, and the parameter NAME is None.

    A float matrix NAME in a state dict is quantized when loaded. In a state dict of bytes, NAME is a
    one-dimensional tensor with the format's name, for two reasons. The bytes of MXFP6 and MXFP8 have
    equal shapes, and float modules reject such a NAME even if they ignore unknown keys
    (strict=False).

    NAME_elements may be packed (`weight_layout`), and then has more dimensions. State dicts always
    contain unpacked elements. With fp8_activations, the buffers NAME_fp8_scales and NAME_fp8_factors
    contain normalized scales, outside of state dicts, unless weights would be rounded."""

    float_dtype = None
    # The config of the model, which save_pretrained stores, describes the weights.
    has_config = False

    def _add(self, name, shape, device):
        # Distributed checkpoints access each key of a state dict as an attribute.
        self.register_parameter(name, None)
        for part, dims in zip(self.part_names, self.part_shapes(name, shape)):
            # Zero bytes represent a matrix of zeros.
            self.register_buffer(f"{name}_{part}", torch.zeros(
                dims, dtype=torch.uint8, device=device))

    @internal
    def part_shapes(self, name, shape):
        """Returns the shapes of the parts of a weight of `shape`, in bytes."""
        if self.recipe.fp8_scales:
            return fp8_mm.stored_shapes(shape, self.recipe.fp8_scales)
        shapes = tensors.shapes(shape, self._format, True)
        if self._format.has_global_scale:
            shapes = *shapes, (*shape[:-2], 4 * len(self._sections(name, shape[-2])))
        return shapes

    def _take(self, names):
        """Quantizes the parameters with these names, and removes the parameters."""
        for name in names:
            check_parameter(self, name)
        for name in names:
            self.hold(name, lambda weight: self._quantize(name, weight))
        return self

    @internal
    def hold(self, name, make_parts):
        """Replaces the parameter `name` by its parts, which `make_parts` returns for the weight."""
        weight = self._k_major(self._parameters[name])
        self.float_dtype = weight.dtype
        self._add(name, weight.shape, "meta")
        for part, value in zip(self.part_names, make_parts(weight)):
            setattr(self, f"{name}_{part}", value)
        self._arrange(name)
        return forget_state_hooks(self)

    def _give(self, cls):
        """Creates a `cls` with dequantized weights as parameters."""
        new = adopt(cls, self)
        weights = {}
        for name in self._weights:
            floats = self._k_major(self.dequantized(name, self.float_dtype))
            weights[name] = torch.nn.Parameter(floats.contiguous())
            for part in self.part_names + _FP8_PARTS * self.recipe.fp8_activations:
                del new._buffers[f"{name}_{part}"]
                new._non_persistent_buffers_set.discard(f"{name}_{part}")
        new.__dict__["_parameters"] = {**new._parameters, **weights}
        return without(forget_state_hooks(new), "recipe", "plain_class", "float_dtype")

    def _sections(self, name, rows):
        """Returns slices of a weight's rows with separate global scales."""
        return [slice(None)]

    def _k_major(self, weight):
        """Converts a weight between its float layout and its quantized layout, in both
        directions."""
        return weight

    def _apply(self, fn, *args, **kwargs):
        """Implements Module.to and similar methods. They do not convert byte buffers, so the new
        dtype is recorded in `float_dtype`."""
        self.float_dtype = fn(torch.empty(0, dtype=self.float_dtype)).dtype
        super()._apply(fn, *args, **kwargs)
        return self._arrange(*self._weights)

    @property
    def _format(self):
        format = find_format(self.recipe.weights)
        scales = self.recipe.fp8_scales
        return weight_format(format.elements, scales) if scales else format

    @property
    @internal
    def part_names(self):
        return _PARTS + ("global_scale",) * self._format.has_global_scale

    def _factors(self, name):
        """Returns the global scales of NVFP4, [..., S] in f32, or None."""
        factors = self._buffers.get(f"{name}_global_scale")
        return factors if factors is None else factors.view(torch.float32)

    def _row_factors(self, name):
        """Returns the global scale of each row, [..., N]."""
        factors, shape = self._factors(name), self._shape(name)
        rows = factors.new_empty(shape[:-1])
        for number, section in enumerate(self._sections(name, shape[-2])):
            rows[..., section] = factors[..., number, None]
        return rows

    def _parts(self, name):
        buffers = self._buffers  # attributes of modules are slow
        return buffers[f"{name}_elements"], buffers[f"{name}_scales"]

    def _is_packed(self, name):
        """Returns True if the elements are packed. Packed elements have two dimensions more than the
        matrix, and scales have as many dimensions as the matrix."""
        elements, scales = self._parts(name)
        return elements.dim() > scales.dim()

    def _arrange(self, *names):
        """Brings elements into the order selected by weight_layout for their device. Processes one
        weight at a time to limit peak memory."""
        for name in names:
            fp8 = None
            if self.recipe.fp8_activations:
                fp8 = self._normalize(name)
                for part, value in zip(_FP8_PARTS, fp8 or (None, None)):
                    self.register_buffer(f"{name}_{part}", value, persistent=False)
            setattr(self, f"{name}_elements", arrange(
                self._parts(name)[0], self._format, self._is_packed(name), fp8 is not None))
        return self

    def _normalize(self, name):
        """Returns normalized scales and factors, or None if matmuls cannot use them."""
        elements, scales = self._parts(name)
        if elements.is_meta or not multiplies_fp8(elements.device, self._shape(name)):
            return None
        return normalize_scales(*self._plain_parts(name))

    def _fp8(self, name):
        """Returns the argument `fp8` of matmuls."""
        scales, factors = (self._buffers.get(f"{name}_{part}") for part in _FP8_PARTS)
        return None if scales is None else (scales, factors)

    def _plain_parts(self, name):
        elements, scales = self._parts(name)
        return (unpack_weights(elements, self.recipe.weights) if self._is_packed(name)
                else elements), scales

    def _quantize(self, name, weight):
        """Quantizes a matrix. Returns the bytes of its parts on the module's device."""
        elements, scales = self._parts(name)
        to = weight.device if elements.is_meta else elements.device
        weight = to_bf16(name, weight.detach()).to(to)
        if self.recipe.fp8_scales:
            return fp8_mm.quantize_stored(weight, self.recipe.fp8_scales)
        if self._format.has_global_scale:
            return self._quantize_sections(name, weight)
        q = quantize(weight, self.recipe.weights, scale_rounding=self.recipe.scale_rounding)
        return tuple(part.contiguous().view(torch.uint8) for part in q)

    def _quantize_sections(self, name, weight):
        """Quantizes each matrix and each section of its rows to NVFP4 as quantize_nvfp4 does."""
        *outer, rows, _ = weight.shape
        sections = self._sections(name, rows)
        elements, scales = (weight.new_empty(dims, dtype=torch.uint8) for dims in tensors.shapes(
            weight.shape, self._format, False))
        factors = weight.new_empty((*outer, len(sections)), dtype=torch.float32)
        for place in itertools.product(*map(range, outer)):
            for number, section in enumerate(sections):
                part = quantize_nvfp4(weight[place][section], blocked=False)
                elements[place][section], scales[place][section] = (x.view(torch.uint8) for x in part[:2])
                factors[place][number] = part[2]
        return elements, rearrange_scales(scales), factors.view(torch.uint8)

    def refit(self, *weights: Tensor, **named: Tensor) -> None:
        """Quantizes new weights into the memory of the present weights, so CUDA graphs that contain
        the module multiply by the new weights. A graph may contain the call itself.

        weights  float32, bfloat16 or float16 tensors of the shapes of the original parameters: the
                 weight of a linear layer; for experts by name, such as w1=..., w2=..., w3=...
                 Other weights stay

        Equal weights give the bytes that creating the module gives. With fp8_activations the call
        waits for the device and is refused if weights would be rounded in FP8. Raises TypeError or
        ValueError, and then changes nothing. Errors name the argument."""
        if len(weights) > (len(self._weights) == 1):
            raise TypeError(f"weights: expected {' and '.join(self._weights)} by name, found "
                            f"{len(weights)} without a name")
        given = {**dict(zip(self._weights, weights)), **named}
        if not given:
            raise TypeError(f"weights: expected {' or '.join(self._weights)}, found none")
        for name in given:
            check.one_of("weights", name, self._weights)
        # All weights are checked before any buffer changes.
        for write in [self._prepare_refit(name, weight) for name, weight in given.items()]:
            write()

    def _prepare_refit(self, name, weight):
        """Checks a new weight. Returns a function that writes the quantized weight to the buffers."""
        wanted = tuple(self._k_major(torch.empty(self._shape(name), device="meta")).shape)
        check_plain(name, weight)
        check_tensor(name, weight)
        if weight.dtype not in FLOATS:
            raise TypeError(f"{name}: expected float32, bfloat16 or float16, found "
                            f"{dtype_name(weight)}")
        if tuple(weight.shape) != wanted:
            raise ValueError(f"{name}: expected shape {wanted}, found {tuple(weight.shape)}")
        elements, scales = self._parts(name)
        if weight.is_meta or elements.is_meta:
            raise ValueError(f"{name}: expected a tensor and a module with memory, found the device meta: "
                             "create both on another device, or call to_empty(device=...)")
        weight, fp8 = self._k_major(weight.detach()), self._fp8(name)
        if elements.is_cuda and not fp8 and not self._format.has_global_scale:
            return functools.partial(self._quantize_into, name, weight)
        values = self._quantize(name, weight)
        normalized = normalize_scales(*values) if fp8 else ()
        if normalized is None:
            raise ValueError(f"{name}: expected weights with scales that span at most 14 powers of two "
                             "in a row, as fp8_activations requires, found others: create a new "
                             "module")
        if self._is_packed(name):
            values = pack_weights(values[0], self._format.name), *values[1:]
        buffers = *(self._buffers[f"{name}_{part}"] for part in self.part_names), *(fp8 or ())
        return lambda: [buffer.copy_(value) for buffer, value in zip(
            buffers, (*values, *normalized), strict=True)]

    def _quantize_into(self, name, weight):
        """Quantizes a matrix into the buffers of a GPU without other results, which graphs can capture."""
        elements, scales = self._parts(name)
        weight = to_bf16(name, weight).to(elements.device).contiguous()
        quantize_into(weight, *self._typed(elements, scales), self._is_packed(name),
                      functools.partial(elements.new_empty, dtype=torch.uint8))

    def _typed(self, elements, scales):
        """Returns the format, the rounding of scales, and the arrays of a program."""
        format, f32 = self._format, self.recipe.fp8_scales == "f32"
        if format.layout == "sf_128x4":
            *batch, rows, columns = scales.shape
            scales = scales.view(*batch, *scale_tiles.tiles_shape(rows, columns))
        elif f32:
            scales = scales.view(torch.float32)
        return (format, None if f32 else self.recipe.scale_rounding,
                tensors.typed(elements, format.elements), tensors.typed(scales, format.scales))

    def dequantized(self, name: str = "weight", dtype: torch.dtype = torch.bfloat16) -> Tensor:
        """Returns the dequantized weight `name`."""
        check.one_of("name", name, self._weights)
        parts, scales = self._plain_parts(name), self.recipe.fp8_scales
        if scales:
            return fp8_mm.dequantize_stored(*parts, scales, dtype)
        if self._format.has_global_scale:
            one = torch.ones((), dtype=torch.float32, device=parts[0].device)
            floats = dequantize(*parts, self.recipe.weights, torch.float32, global_scale=one)
            return floats.mul_(self._row_factors(name)[..., None]).to(dtype)
        return dequantize(*parts, self.recipe.weights, dtype)

    def _matmul(self, name, x, ends=None):
        """Multiplies x, [T, K] in bf16, by the weight. With `ends`, rows have experts, and results for
        NVFP4 are f32, the bf16 sums multiplied by the global scales."""
        parts, recipe = self._parts(name), self.recipe
        if recipe.fp8_scales:
            return fp8_mm.multiply_stored(x, *parts, ends, recipe.fp8_scales)
        factors, packed, fp8 = self._factors(name), parts[0].dim() > parts[1].dim(), self._fp8(name)
        if ends is None:
            return weight_only_mm(x, *parts, recipe.weights, packed=packed, fp8=fp8,
                                  global_scale=None if factors is None else factors[0],
                                  batch_invariant=recipe.batch_invariant)
        y = multiply_grouped(x, *parts, ends, recipe.weights, True, None, packed, *(fp8 or (None, None)),
                             recipe.batch_invariant)
        if factors is None:
            return y
        places = torch.arange(len(x), device=x.device, dtype=ends.dtype)
        experts = torch.searchsorted(ends, places, right=True).clamp(max=len(ends) - 1)
        return y.float() * self._row_factors(name)[experts]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        if not self.has_config and in_save_pretrained():
            raise ValueError(
                f"{prefix}{self._weights[0]}: expected floats, which from_pretrained reads, "
                f"found {self._format.name}: load the model with mx_compiler.transformers.MXConfig "
                "instead of convert_, save the result of mx_compiler.torch.convert_("
                'model, "bf16"), or save the bytes with torch.save(model.state_dict(), ...) '
                f"and load them into a new model that is converted to {self.recipe}")
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._weights:
            if self._is_packed(name):
                destination[f"{prefix}{name}_elements"] = self._plain_parts(name)[0]
            destination[prefix + name] = torch.tensor(
                [*self._format.name.encode()], dtype=torch.uint8, device="cpu")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        for name in self._weights:
            self._check_format(prefix + name, state_dict, args[-1])
            self._quantize_loaded(name, prefix, state_dict, args[-1])
            if self._is_packed(name):
                self._pack_loaded(name, f"{prefix}{name}_elements", state_dict, args[-1],
                                  local_metadata)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)
        self._arrange(*self._weights)   # tensors may be on another device if assign=True

    def _quantize_loaded(self, name, prefix, state_dict, errors):
        weight = state_dict.pop(prefix + name, None)
        if weight is None:
            return
        shape = tuple(self._k_major(torch.empty(self._shape(name), device="meta")).shape)
        if not isinstance(weight, torch.Tensor):
            errors.append(f"{prefix}{name}: expected a torch.Tensor, found {type(weight).__name__}")
        elif tuple(weight.shape) == shape and weight.dtype in FLOATS:
            for part, value in zip(self.part_names, self._quantize(name, self._k_major(weight))):
                state_dict[f"{prefix}{name}_{part}"] = value
        else:
            errors.append(f"size mismatch for {prefix}{name}: expected floats of shape "
                          f"{shape}, to quantize, found {dtype_name(weight)} of shape "
                          f"{tuple(weight.shape)}")

    def _pack_loaded(self, name, key, state_dict, errors, local_metadata):
        """Packs the elements in `state_dict`. load_state_dict copies them to the packed elements of
        the module, or assigns them if assign=True."""
        given = state_dict.get(key)
        if not isinstance(given, torch.Tensor):
            return                      # load_state_dict reports the error
        wanted = tensors.shapes(self._shape(name), self._format, True)[0]
        if tuple(given.shape) != wanted or given.element_size() != 1:
            errors.append(f"size mismatch for {key}: expected bytes of shape {wanted}, found "
                          f"{dtype_name(given)} of shape {tuple(given.shape)}")
            del state_dict[key]
            return
        if not local_metadata.get("assign_to_params_buffers", False):
            given = given.to(self._parts(name)[0].device)
        state_dict[key] = pack_weights(given, self.recipe.weights)

    def _check_format(self, key, state_dict, errors):
        """Checks the name of the format in a state dict, if it is present."""
        if not _is_name(state_dict.get(key)):
            return
        found = state_dict.pop(key)
        if found.is_meta:
            return
        found = bytes(found.tolist()).decode(errors="replace")
        if found != self._format.name:
            errors.append(f"{key}: expected {self._format.name}, the format of the module's "
                          f"recipe, found {found}")

    def _shape(self, name):
        """Returns the shape of the weight `name` in elements."""
        return tensors.matrix_shape(self._parts(name)[0].shape, self._format,
                                    self._is_packed(name))

    def _describe_layout(self):
        kinds = {"packed": [name for name in self._weights if self._is_packed(name)],
                 "fp8": [name for name in self._weights if self._fp8(name)]}
        return "".join(f", {kind}={'+'.join(names)}" for kind, names in kinds.items() if names)


class MXWeightOnlyLinear(Quantized):
    """nn.Linear with a quantized weight in the buffers weight_elements and
    weight_scales. The bias is a parameter. Differentiable in x and bias.

    in_features  a multiple of 32; out_features may be any number
    recipe    an mx_compiler.torch.Recipe with weight_only, or its name
    device    device of the buffers and of the bias
    dtype     dtype of the bias

    The weight is zero until a state dict is loaded. A state dict of nn.Linear is quantized when
    loaded, and a state dict of this class is loaded directly. On "sm_90a", elements are packed if
    both sizes are multiples of 64 (docs/guide/TorchTraining.md). x and the result are as in
    MXLinear.

    Raises TypeError or ValueError. Errors name the argument."""

    _weights = ("weight",)

    def __init__(self, in_features: int, out_features: int, bias: bool = True,
                 recipe: str | Recipe = "mxfp4_weight_only", device: Device = None,
                 dtype: torch.dtype | None = None, *, batch_invariant: bool = False) -> None:
        recipe = weight_only_recipe(recipe, "MXWeightOnlyLinear", "MXLinear", batch_invariant)
        check.size("in_features", in_features, recipe.block)
        check.size("out_features", out_features, 1)
        super().__init__()
        self.recipe, self.float_dtype = recipe, dtype or torch.get_default_dtype()
        self.in_features, self.out_features = in_features, out_features
        self._add("weight", (out_features, in_features), device)
        self.register_parameter("bias", torch.nn.Parameter(torch.zeros(
            out_features, device=device, dtype=dtype)) if bias else None)
        self._arrange("weight")

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, recipe: str | Recipe = "mxfp4_weight_only", *,
                    batch_invariant: bool = False) -> "MXWeightOnlyLinear":
        """Creates the module from an nn.Linear and quantizes its weight. The modules share the bias,
        and forward and backward hooks are kept."""
        recipe = weight_only_recipe(recipe, "MXWeightOnlyLinear", "MXLinear", batch_invariant)
        check_linear(linear, recipe)
        for name in ("weight", "bias"):
            check_parameter(linear, name)
        new = adopt(cls, linear)
        new.recipe = recipe
        return new._take(cls._weights)

    def to_plain(self) -> torch.nn.Linear:
        """Returns an nn.Linear with the dequantized weight and the same bias."""
        return self._give(torch.nn.Linear)

    def forward(self, x: Tensor) -> Tensor:
        operand = to_bf16("x", x)
        check_last("x", x, self.in_features, "in_features of the layer")
        y = like_rows(self._matmul("weight", as_rows(operand)), operand)
        return add_bias(y, self.bias).to(result_dtype(x))

    def extra_repr(self) -> str:
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}, recipe={self.recipe}{self._describe_layout()}")

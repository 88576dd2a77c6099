# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of the tensors of a quantized weight in other tools."""

from typing import Any, NamedTuple

from ..._ops.formats import find_format
from ..._ops.fp8_text import weight_format
from ..._runtime.internal import internal
from .._modules.recipes import RECIPES
from .files import read_json

_E4M3, _E8M0, _U8, _I8 = "F8_E4M3", "F8_E8M0", "U8", "I8"
_FLOATS = "BF16", "F16", "F32", "F64"


class Layout(NamedTuple):
    """Tensors of a weight. Their names are a name of the weight and a suffix.

    recipe     recipe of modules with such weights
    elements, scales   suffix and dtypes, the first of which is written
    factor     suffix of the global scale of NVFP4, or ""
    is_divisor  the global scale divides, instead of multiplying
    kept       suffixes of tensors without use in matmuls
    """
    name: str
    recipe: str
    elements: tuple[str, ...]
    scales: tuple[str, ...]
    factor: str = ""
    is_divisor: bool = False
    kept: tuple[str, ...] = ()

    @property
    @internal
    def format(self):
        """Format of the weight. Scales have its block and rows."""
        recipe = RECIPES[self.recipe]
        format = find_format(recipe.weights)
        return weight_format(format.elements, recipe.fp8_scales) if recipe.fp8_scales else format

    @property
    @internal
    def is_stacked(self):
        """True if a tensor contains the matrices of all experts."""
        return not self.elements[0].startswith(".")

    @internal
    def shapes(self, shape):
        """Returns the shapes of elements and scales for a weight of `shape`, [..., N, K]."""
        format, (*outer, rows, columns) = self.format, shape
        blocks = (*outer, -(-rows // format.rows), columns // format.block)
        if self.is_stacked:
            return (*blocks, format.block // format.per_byte), blocks
        return (*outer, rows, columns // format.per_byte), blocks


_MX_SCALES = _U8, _E8M0
LAYOUTS = {layout.name: layout for layout in (
    Layout("compressed-tensors mxfp8-quantized", "mxfp8_weight_only", (".weight", _E4M3), (".weight_scale", *_MX_SCALES)),
    Layout("compressed-tensors mxfp4-pack-quantized", "mxfp4_weight_only",
           (".weight_packed", _U8), (".weight_scale", *_MX_SCALES)),
    Layout("compressed-tensors nvfp4-pack-quantized", "nvfp4_weight_only",
           (".weight_packed", _U8), (".weight_scale", _E4M3), ".weight_global_scale", True, (".input_global_scale",)),
    Layout("modelopt MXFP8", "mxfp8_weight_only", (".weight", _E4M3), (".weight_scale", *_MX_SCALES)),
    Layout("modelopt NVFP4", "nvfp4_weight_only",
           (".weight", _U8), (".weight_scale", _E4M3), ".weight_scale_2", False, (".input_scale",)),
    Layout("fp8 f32", "fp8_block_weight_only", (".weight", _E4M3), (".weight_scale_inv", "F32")),
    Layout("fp8 ue8m0", "mxfp8_fast_weight_only", (".weight", _E4M3), (".weight_scale_inv", _E8M0, _U8)),
    Layout("fp8 fp4", "mxfp4_weight_only", (".weight", _I8, _U8), (".weight_scale_inv", _E8M0, _U8)),
    Layout("mxfp8", "mxfp8_weight_only", (".weight", _E4M3), (".weight_scale_inv", *_MX_SCALES)),
    Layout("mxfp4", "mxfp4_weight_only", ("_blocks", _U8), ("_scales", _U8)),
    Layout("torchao MXFP8", "mxfp8_weight_only", ("._weight_qdata", _E4M3), ("._weight_scale", _E8M0)),
    Layout("torchao MXFP4", "mxfp4_weight_only", ("._weight_qdata", _U8), ("._weight_scale", _E8M0)),
    Layout("torchao NVFP4", "nvfp4_weight_only",
           ("._weight_qdata", _U8), ("._weight_scale", _E4M3), "._weight_per_tensor_scale", False,
           ("._weight_act_per_tensor_scale",)),
)}
"""Layouts by name: the name of a tool, or of its quant_method, and of its format."""

# Methods with configs without a format.
_WITHOUT_FORMAT = {"fp8": ("fp8 f32", "fp8 ue8m0", "fp8 fp4"), "mxfp8": ("mxfp8",), "mxfp4": ("mxfp4",),
                   "torchao": ("torchao MXFP8", "torchao MXFP4", "torchao NVFP4")}
# Required block sizes in the configs of methods.
_BLOCKS = {"fp8": [128, 128], "mxfp8": [1, 32]}


MODELOPT = "hf_quant_config.json"   # beside a config.json without a quantization config


def read_modelopt(file):
    """Returns the quantization config in a file of ModelOpt, which omits the method. Raises ValueError."""
    found = read_json(file).get("quantization")
    if not isinstance(found, dict):
        raise ValueError(f"{file}: expected an object quantization, found {type(found).__name__}")
    return {"quant_method": "modelopt", **found}


def find_config(checkpoint) -> tuple[dict[str, Any], str]:
    """Returns the quantization config of a checkpoint and the path of its file. Raises ValueError."""
    folder = checkpoint.path if checkpoint.path.is_dir() else checkpoint.path.parent
    file, places = folder / "config.json", [checkpoint.config, checkpoint.config.get("text_config")]
    found = [place[name] for place in places if isinstance(place, dict)
             for name in ("quantization_config", "compression_config") if place.get(name)]
    if not found and (folder / MODELOPT).is_file():
        file = folder / MODELOPT
        found = [read_modelopt(file)]
    if not found or not isinstance(found[0], dict):
        raise ValueError(f"{file}: expected an object quantization_config, found "
                         f"{type(found[0]).__name__ if found else 'none'}")
    return found[0], str(file)


def declared(checkpoint) -> tuple[Layout, ...]:
    """Returns the layouts in the config of a checkpoint. Raises ValueError."""
    config, file = find_config(checkpoint)
    method = config.get("quant_method")
    formats = _formats(config, method)
    unknown = [name for name in formats if name not in LAYOUTS]
    if unknown or not formats:
        raise ValueError(f"{file}: expected a quantization of {', '.join(LAYOUTS)}, found "
                         f"{', '.join(unknown) or f'quant_method {method!r}'}: "
                         + ("from_pretrained reads this method after import mx_compiler.transformers" if method == "mx"
                            else "dequantize the weights with the tool that wrote them"))
    if (wanted := _BLOCKS.get(method)) and (found := config.get("weight_block_size", wanted)) != wanted:
        raise ValueError(f"{file}: expected weight_block_size {wanted}, found {found!r}")
    return tuple(LAYOUTS[name] for name in formats)


def _formats(config, method):
    if method == "compressed-tensors":
        groups = config.get("config_groups")
        groups = [group for group in groups.values() if isinstance(group, dict)] if isinstance(groups, dict) else []
        formats = [group.get("format") for group in groups if group.get("format")] or [config.get("format")]
    elif method == "modelopt":
        layers = config.get("quantized_layers")
        layers = layers.values() if isinstance(layers, dict) else ()
        formats = ([layer.get("quant_algo") for layer in layers if isinstance(layer, dict)]
                   if config.get("quant_algo") == "MIXED_PRECISION" else [config.get("quant_algo")])
    else:
        return _WITHOUT_FORMAT.get(method if isinstance(method, str) else None, ())
    return tuple(dict.fromkeys(f"{method} {format}" for format in formats))


def find_weights(checkpoint) -> dict[str, Layout]:
    """Returns the layouts of the quantized weights by name. Raises ValueError for a tensor outside
    of the declared layouts. The error names the file, the weight, and the expected and found dtypes."""
    known = declared(checkpoint)
    names = {}
    for layout in known:
        for key in checkpoint.keys():
            for suffix, *_ in (layout.elements, layout.scales):
                if key.endswith(suffix) and (suffix != ".weight" or checkpoint.header(key)[1] not in _FLOATS):
                    names.setdefault(key.removesuffix(suffix), []).append(layout)
    return {name: _choose(checkpoint, name, dict.fromkeys(layouts)) for name, layouts in names.items()}


def _choose(checkpoint, name, layouts):
    """Returns the layout with the dtypes of a weight's tensors."""
    found = {}
    for layout in layouts:
        for suffix, *dtypes in (layout.elements, layout.scales):
            key = name + suffix
            found[key] = checkpoint.header(key)[1] if key in checkpoint.keys() else "no file"
        if all(found[name + suffix] in dtypes for suffix, *dtypes in (layout.elements, layout.scales)):
            return layout
    wanted = "; or ".join(", ".join(f"{suffix.lstrip('._')} in {' or '.join(dtypes)}"
                                    for suffix, *dtypes in (layout.elements, layout.scales)) + f" ({layout.name})"
                          for layout in layouts)
    file = next(checkpoint.file(key) for key in found if key in checkpoint.keys())
    raise ValueError(f"{file}: {name}: expected {wanted}, as the config declares, found "
                     + ", ".join(f"{key} in {dtype}" for key, dtype in found.items()))

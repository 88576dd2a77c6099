"""Writes checkpoints in the layouts of other tools byte by byte, from tables of the formats."""

import json

import ml_dtypes
import numpy as np
import torch
from safetensors.torch import save_file

import mx_compiler.torch as mxt
from mx_compiler.torch import checkpoints

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
DTYPES = {"F8_E4M3": torch.float8_e4m3fn, "F8_E8M0": torch.float8_e8m0fnu, "U8": torch.uint8, "I8": torch.int8}
COMPRESSED = {"quant_method": "compressed-tensors", "config_groups": {}}
CONFIGS = {
    "compressed-tensors mxfp8-quantized": COMPRESSED | {"format": "mxfp8-quantized"},
    "compressed-tensors mxfp4-pack-quantized": COMPRESSED | {"format": "mxfp4-pack-quantized"},
    "compressed-tensors nvfp4-pack-quantized": COMPRESSED | {"format": "nvfp4-pack-quantized"},
    "modelopt MXFP8": {"quant_method": "modelopt", "quant_algo": "MXFP8"},
    "modelopt NVFP4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "fp8 f32": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    "fp8 ue8m0": {"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"},
    "fp8 fp4": {"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"},
    "mxfp8": {"quant_method": "mxfp8", "weight_block_size": [1, 32]},
    "mxfp4": {"quant_method": "mxfp4"},
    **{f"torchao {format}": {"quant_method": "torchao"} for format in ("MXFP8", "MXFP4", "NVFP4")}}
assert CONFIGS.keys() == checkpoints.LAYOUTS.keys()


class Writer:
    """Draws the tensors of matrices in a layout, and computes their values."""

    def __init__(self, name, seed=0):
        self.layout, self.draw, self.tensors, self.values = checkpoints.LAYOUTS[name], np.random.default_rng(seed), {}, {}
        self.name = name

    def add(self, base, *shape):
        """Adds a matrix, [rows, columns], or or the matrices of all experts, [experts, rows, columns]."""
        *outer, rows, columns = shape
        layout, draw = self.layout, self.draw
        is_fp4 = any(word in self.name for word in ("fp4", "FP4"))
        side = 16 if "nvfp4" in layout.recipe else 128 if "fp8 " in self.name and not is_fp4 else 32
        if is_fp4:
            codes = draw.integers(0, 16, shape)
            values, elements = E2M1[codes], (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)
        else:
            elements = draw.integers(0, 255, shape).astype(np.uint8)
            elements[(elements & 127) > 120] = 5
            values = E4M3[elements]
        blocks = (*outer, -(-rows // side) if side == 128 else rows, columns // side)
        kind = layout.scales[1]
        if kind == "F32":
            scales = draw.uniform(0.001, 0.01, blocks).astype(np.float32)
            factors = scales.astype(np.float64)
        elif kind == "F8_E4M3":
            scales = draw.integers(40, 90, blocks).astype(np.uint8)
            factors = E4M3[scales]
        else:
            scales = draw.integers(115, 121, blocks).astype(np.uint8)
            factors = 2.0 ** (scales.astype(np.float64) - 127)
        factors = np.repeat(factors, side, -1)
        if side == 128:
            factors = np.repeat(factors, side, -2)[..., :rows, :]
        stored = torch.from_numpy(scales)
        if layout.name.startswith("torchao "):
            stored = mxt.rearrange_scales(stored)
            stored = stored.reshape(stored.shape[0] // 4, stored.shape[1] * 4)
        if layout.is_stacked:
            elements = elements.reshape(*blocks, 16)
        self.tensors[base + layout.elements[0]] = torch.from_numpy(elements).view(DTYPES[layout.elements[1]])
        self.tensors[base + layout.scales[0]] = stored if kind == "F32" else stored.view(DTYPES[kind])
        if layout.factor:
            number = torch.tensor(draw.uniform(0.3, 0.7), dtype=torch.float32)
            self.tensors[base + layout.factor] = number.reshape(1) if layout.is_divisor else number
            values = values * (float(1 / number) if layout.is_divisor else float(number))
        for suffix in layout.kept:
            self.tensors[base + suffix] = torch.tensor([1.25])
        self.values[base] = values * factors
        return self

    def write(self, folder, config={}):
        folder.mkdir(exist_ok=True)
        save_file(self.tensors, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps({**config, "quantization_config": CONFIGS[self.name]}))
        return folder

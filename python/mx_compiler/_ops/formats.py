# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled formats of the OCP MX specification, with its names, and NVFP4."""

from typing import NamedTuple


class Format(NamedTuple):
    """Block-scaled format. `elements` and `scales` are MLIR types, and `block` elements of `rows` rows
    share a scale. `bits` is the width of an element, and `per_byte` is the number of elements in a
    byte of an array."""
    name: str
    elements: str
    scales: str
    block: int
    bits: int
    has_matmul: bool = True
    rows: int = 1

    @property
    def layout(self) -> str:
        """Layout of the scales that matmuls read."""
        if self.rows > 1:
            return "linear"
        return "mn_major" if self.scales == "f32" else "sf_128x4"

    @property
    def per_byte(self) -> int:
        return 2 if self.bits == 4 else 1

    @property
    def has_global_scale(self) -> bool:
        """True if a tensor needs a global scale in addition to the block scales."""
        return self.scales == "f8E4M3FN"


# test/Package/formats.py --update generates this table.
FORMATS = {format.name: format for format in (
    Format("mxfp8", "f8E4M3FN", "f8E8M0FNU", 32, 8),
    Format("mxfp8_e5m2", "f8E5M2", "f8E8M0FNU", 32, 8),
    Format("mxfp6_e3m2", "f6E3M2FN", "f8E8M0FNU", 32, 6),
    Format("mxfp6_e2m3", "f6E2M3FN", "f8E8M0FNU", 32, 6),
    Format("mxfp4", "f4E2M1FN", "f8E8M0FNU", 32, 4),
    Format("nvfp4", "f4E2M1FN", "f8E4M3FN", 16, 4),
    Format("mxint8", "i8", "f8E8M0FNU", 32, 8, has_matmul=False),
)}
"""Formats by name: mxfp8, mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4, nvfp4, mxint8."""


def find_format(format, what="format"):
    """Returns the Format with that name. Raises ValueError."""
    if isinstance(format, Format):
        return format
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f"{what}: expected one of {', '.join(FORMATS)}, found {format!r}")
    return FORMATS[format]

"""Arguments and results of corpus programs in block formats: codes, scales, and their values."""

import os
import sys

import ml_dtypes
import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import mx_reference as ref
from intervals import Interval, round_to


class Codes:
    """Elements of a narrow type, stored as one code each."""

    def __init__(self, codes, element):
        self.codes, self.element = codes, element

    def array(self):
        return ref.pack(self.codes, self.element)

    def __getitem__(self, places):
        return Codes(self.codes[places], self.element)

    def read(self, array):
        """Returns the codes in a result array."""
        return ref.unpack(array, self.element)

    def check(self, found):
        return found != self.codes

    def describe(self, place):
        return f"code {self.codes[place]}"


class Scales:
    """Block scales in tiles or in linear order."""

    def __init__(self, bytes_, tiled=True, nvfp4=False):
        self.bytes, self.tiled, self.nvfp4 = bytes_, tiled, nvfp4

    def array(self):
        return ref.tile(self.bytes) if self.tiled else self.bytes

    def read(self, array):
        """Returns the scales in a result array, without padding rows and blocks."""
        if not self.tiled:
            return array
        *batch, r, c, _, _, _ = array.shape
        n = len(batch)
        # Dimensions: tile row, tile column, row % 32, row / 32 % 4, column.
        order = [*range(n), n, n + 3, n + 2, n + 1, n + 4]
        full = array.transpose(order).reshape(*batch, r * 128, c * 4)
        rows, blocks = self.bytes.shape[-2:]
        return full[..., :rows, :blocks]

    def check(self, found):
        return found != self.bytes

    def describe(self, place):
        return f"byte {self.bytes[place]}"


def numbers(codes, scales):
    """Dequantizes codes with scales along their last dimension."""
    size = codes.codes.shape[-1] // scales.bytes.shape[-1]
    wide = np.repeat(ref.decode_scale(scales.bytes, scales.nvfp4), size, axis=-1)
    return Interval("f32", ref.decode(codes.codes, codes.element) * wide)


class Quantized:
    """The results of mx.quantize along the last dimension of the interval x. `codes` and `scales` check the actual
    results, and `real` is the interval of the dequantized values."""

    def __init__(self, x, element="f8E4M3FN", rounding="ceil", tiled=True, factor=None):
        self.x, self.element, self.rounding, self.tiled, self.factor = x, element, rounding, tiled, factor
        nvfp4 = factor is not None
        self.size = 16 if nvfp4 else 32
        blocks = lambda a: a.reshape(*a.shape[:-1], -1, self.size)
        largest = np.maximum(np.abs(x.lo), np.abs(x.hi))
        least = np.where(x.lo * x.hi < 0, 0.0, np.minimum(np.abs(x.lo), np.abs(x.hi)))
        low, high = (self.scale_of(round_to(blocks(a).max(axis=-1), "f32").astype(np.float32)) for a in (least, largest))
        self.scales = ScaleRange(low, high, tiled, nvfp4)
        ends = [self.ends_with(scale) for scale in ([low] if np.array_equal(low, high) else [low, high])]
        self.real = Interval("f32", np.min([each[0] for each in ends], axis=0), np.max([each[1] for each in ends], axis=0))
        if np.any(high.astype(int) - low > 1):
            raise ValueError("the interval is too wide for a quantization")
        self.codes = CodeRange(self)

    def scale_of(self, a):
        if self.factor is None:
            return ref.block_scale(a, self.element, self.rounding)
        return ref.encode(a * (np.float32(1) / np.float32(6)) * np.float32(self.factor), "f8E4M3FN")

    def codes_with(self, x, scales):
        wide = np.repeat(scales, self.size, axis=-1)
        if self.factor is None:
            y = (round_to(x, "f32") * np.exp2(127.0 - wide)).astype(np.float32)
        else:
            value = wide.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
            with np.errstate(divide="ignore"):
                inverse = np.where(value == 0, np.float32(0), np.minimum(np.float32(self.factor) / value, np.finfo(np.float32).max))
            y = round_to(x, "f32").astype(np.float32) * inverse
        return ref.encode(y, self.element)

    def ends_with(self, scales):
        """Returns the smallest and the largest value of each element with these scales."""
        factor = np.repeat(ref.decode_scale(scales, self.factor is not None), self.size, axis=-1)
        return [ref.decode(self.codes_with(end, scales), self.element) * factor for end in (self.x.lo, self.x.hi)]


class ScaleRange(Scales):
    def __init__(self, low, high, tiled, nvfp4):
        super().__init__(low, tiled, nvfp4)
        self.high = high

    def check(self, found):
        return (found < self.bytes) | (found > self.high)

    def describe(self, place):
        return f"byte {self.bytes[place]} to {self.high[place]}"


class CodeRange(Codes):
    """Accepted codes. If two scales are accepted, the range of codes depends on the actual scale."""

    def __init__(self, quantized):
        super().__init__(np.zeros(quantized.x.shape, np.uint8), quantized.element)
        self.quantized = quantized
        self.ends = [quantized.codes_with(end, quantized.scales.bytes) for end in (quantized.x.lo, quantized.x.hi)]
        self.other = [quantized.codes_with(end, quantized.scales.high) for end in (quantized.x.lo, quantized.x.hi)]

    def check(self, found):
        def inside(ends):
            value, low, high = (ref.decode(codes, self.element) for codes in (found, *ends))
            same_zero = (found == ends[0]) | (found == ends[1]) | (low < high)
            return (low <= value) & (value <= high) & same_zero

        return ~(inside(self.ends) | inside(self.other))

    def describe(self, place):
        return f"code {self.ends[0][place]} to {self.ends[1][place]}"

"""A stand-in for another package called mx, with the names that microxcaling's has: the
function mx.matmul, and modules that the compiler's package has under the same names."""

from . import formats, quantize
from .matmul import matmul

"""Stand-in for another package called mx, with the names of microxcaling: the function mx.matmul, and modules with the
same names as modules of the compiler's package."""

from . import formats, quantize
from .matmul import matmul

"""The examples of layers are the package's templates in one size.

RUN: %python %s %mx_src
"""

import pathlib
import sys

from mx_compiler._ops import moe_layer, routed_moe_layer

examples = pathlib.Path(sys.argv[1], "examples")
assert routed_moe_layer.template_text(2, 64, 8, 384, 256, 2) == (examples / "moe_layer_ranks.mlir").read_text()
assert moe_layer.template_text(8, 384, 256) == (examples / "moe_layer.mlir").read_text()

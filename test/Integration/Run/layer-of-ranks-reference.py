"""Runs the layer of examples/moe_layer_ranks.mlir on the reference path. On 2, 4 and 8 ranks, its rows, operands,
matmuls and gradients equal those of a single rank with all tokens, byte for byte, and token sums follow the order of
docs/reference/Spec.md, for routings of every kind.

RUN: %python %s mx-run %examples/moe_layer_ranks.mlir %t
TIER: slow
REQUIRES: compiler, numpy
"""

import functools
import os
import pathlib
import sys

from work_folder import enter

import ranks_layer

mx_run, example, work = sys.argv[1:]
text = pathlib.Path(example).read_text()
enter(work)
make = functools.partial(ranks_layer.ReferenceLayer, mx_run)
seed = int(os.environ.get("MX_RANKS_SEED", 1))
failures = sum(ranks_layer.run_all(make, text, ranks, choices, kinds, seed + ranks)
               for ranks, choices, kinds in ((2, 2, 9), (4, 3, 3), (8, 8, 2)))
sys.exit(failures != 0)

"""Runs the layer of examples/moe_layer_ranks.mlir on several ranks, for routings of every kind: RANKS/CHOICES/ROUTINGS...
On the reference path (cpu), rows, operands, matmuls and gradients equal a single rank's with all tokens, byte for byte,
and token sums follow the order of docs/reference/Spec.md. On a chip, each rank is a simulated device.

RUN: env MX_SIM_DEVICES=8 MX_CUDA_DRIVER=none MX_QUIET=1 %python %s mx-compile %examples/moe_layer_ranks.mlir %t sm_90a 2/2/3
REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
"""

import functools
import os
import pathlib
import sys

from work_folder import enter

import ranks_layer

tool, example, work, chip, *cases = sys.argv[1:]
text = pathlib.Path(example).read_text()
enter(work)
make = functools.partial(*(ranks_layer.ReferenceLayer, tool) if chip == "cpu" else (ranks_layer.DeviceLayer, tool, chip))
seed = int(os.environ.get("MX_RANKS_SEED", 1))
failures = sum(ranks_layer.run_all(make, text, ranks, choices, routings, seed + ranks)
               for ranks, choices, routings in (map(int, case.split("/")) for case in cases))
sys.exit(failures != 0)

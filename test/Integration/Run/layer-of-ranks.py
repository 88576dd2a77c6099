"""Runs the layer of examples/moe_layer_ranks.mlir on 2 ranks, each with a simulated device, and performs the checks of
layer-of-ranks-reference.py.

RUN: env MX_SIM_DEVICES=8 MX_CUDA_DRIVER=none MX_QUIET=1 %python %s mx-compile %examples/moe_layer_ranks.mlir %t sm_90a 2
REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
"""

import os
import pathlib
import sys

from work_folder import enter

import ranks_layer

mx_compile, example, work, chip, *ranks = sys.argv[1:]
text = pathlib.Path(example).read_text()
enter(work)
seed = int(os.environ.get("MX_RANKS_SEED", 1))
kinds = int(os.environ.get("MX_RANKS_KINDS", 3))
failures = sum(ranks_layer.run_all(lambda program, count: ranks_layer.DeviceLayer(mx_compile, program, count, chip),
                                   text, count, min(count, 4), kinds, seed + count) for count in map(int, ranks))
sys.exit(failures != 0)

"""Compares the tile order of kernels with the order that unittests/Target/Raster.h defines.

RUN: %python %s mx-opt mx-translate mx-sim %mx_obj/unittests/mx-raster-dump %t
REQUIRES: compiler, numpy

One thread iterates over the work tiles of a grid and records each of them.
"""

import json
import os
import random
import subprocess
import sys

import numpy as np

mx_opt, mx_translate, mx_sim, dump, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)

RASTERS = {"linear": "linear", "hilbert": "hilbert"}
RASTERS.update({str(n): f"group_m({n})" for n in (1, 3, 8, 100)})
# Tiles are 4 x 6; the numbers of rows and columns are not multiples of these sizes.
KERNEL = """
    mxgpu.kernel @order_{0}(%order: memref<?x2xi32>, %count: memref<1xi64>, %rows: index, %columns: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %work = mxgpu.tile_scheduler static raster = {1} tile [4, 6] of(%rows, %columns, %c0)
      mxgpu.role @write warps(1) elected {{
        mxgpu.for_each_work_tile (%slice, %row, %column, %start, %end) in %work {{
          %old = memref.load %count[%c0] : memref<1xi64>
          %at = arith.index_cast %old : i64 to index
          %r = arith.index_cast %row : index to i32
          %c = arith.index_cast %column : index to i32
          memref.store %r, %order[%at, %c0] : memref<?x2xi32>
          memref.store %c, %order[%at, %c1] : memref<?x2xi32>
          %next = arith.addi %at, %c1 : index
          %new = arith.index_cast %next : index to i64
          memref.store %new, %count[%c0] : memref<1xi64>
        }}
      }}
    }}"""


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


module = "module attributes {gpu.container_module} {\n  gpu.module @kernels [#nvvm.target<chip = \"sm_100a\">] {"
module += "".join(KERNEL.format(name, raster) for name, raster in RASTERS.items())
module += "\n  }\n}\n"
lowered = run([mx_opt, "-", "--mx-to-nvvm"], module)
with open(f"{directory}/order.ptx", "w") as file:
    file.write(run([mx_translate, "--mx-to-ptx"], lowered))

random.seed(5)
grids = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 40), (40, 1), (2, 3), (3, 2), (16, 16), (7, 40), (40, 7)]
grids += [(random.randint(1, 24), random.randint(1, 24)) for _ in range(20)]
launch = {"format": 1, "buffers": {}, "launches": [], "outputs": {}}
expected = {}
for rows, columns in dict.fromkeys(grids):
    for name in RASTERS:
        key = f"{name}_{rows}_{columns}"
        launch["buffers"][key] = {"bytes": 8 * rows * columns, "fill": "ff"}
        launch["buffers"]["n" + key] = {"bytes": 8, "fill": "zero"}
        launch["launches"].append({
            "kernel": "order_" + name, "grid": [1], "block": [32],
            "args": [{"buffer": key}, {"u64": rows * columns}, {"buffer": "n" + key},
                     {"u64": 4 * rows - random.randint(0, 3)},
                     {"u64": 6 * columns - random.randint(0, 5)}]})
        launch["outputs"][key] = {"file": f"{key}.npy", "dtype": "u32", "shape": [rows * columns, 2]}
        expected[key] = np.fromstring(run([dump, str(rows), str(columns), name]), np.uint32, sep=" ")
with open(f"{directory}/order.json", "w") as file:
    json.dump(launch, file)
run([mx_sim, f"{directory}/order.ptx", f"{directory}/order.json"])
for key, order in expected.items():
    found = np.load(f"{directory}/{key}.npy")
    if not np.array_equal(found, order.reshape(-1, 2) * np.uint32([4, 6])):
        sys.exit(f"{key}: expected\n{order.reshape(-1, 2).tolist()}\nfound\n{found.tolist()}")
print(f"{len(expected)} orders are equal")

"""Compiles long chains of operations for the CPU path. The run time of LLVM 22's loop vectorizer doubles with each
operation, because each operation reads its predecessor twice.

REQUIRES: compiler, numpy
RUN: %python %s mx-run %t
"""

import numpy as np
from harness import Harness

LENGTH = 60
COLUMNS = 64

test = Harness("mx_run", "folder", device="cpu")
body = "\n".join(f"    %v{i + 1} = arith.addf %v{i}, %v{i} : f32" for i in range(LENGTH))
text = f"""
#first = affine_map<(i) -> (0)>
#same = affine_map<(i) -> (i)>
func.func @main(%a: tensor<{COLUMNS}xf32>) -> tensor<{COLUMNS}xf32> {{
  %empty = tensor.empty() : tensor<{COLUMNS}xf32>
  %r = linalg.generic {{indexing_maps = [#first, #same], iterator_types = ["parallel"]}}
      ins(%a : tensor<{COLUMNS}xf32>) outs(%empty : tensor<{COLUMNS}xf32>) {{
  ^bb0(%v0: f32, %old: f32):
{body}
    linalg.yield %v{LENGTH} : f32
  }} -> tensor<{COLUMNS}xf32>
  return %r : tensor<{COLUMNS}xf32>
}}
"""
a = np.random.default_rng(1).standard_normal(COLUMNS).astype(np.float32)
found, = test.run(text, [a], 1)
test.expect_numbers("chain", found, np.full(COLUMNS, np.float64(a[0]) * 2.0**LENGTH))
test.finish(least=COLUMNS)

"""--check=cpu derives its bound for a matmul on sm_90a from the number of steps: four for 32 elements of K. Each step
may lose almost one unit of the sum; a larger loss is an error. If a GPU truncates sums, a subnormal operand is treated
as 2^-126, so the other terms lose more bits than the operand's magnitude implies.

RUN: rm -rf %t && mkdir %t
RUN: %python %s %t
RUN: mx-run %t/program.mlir --device=sim --chip=sm_90a --arg %t/a.npy --arg %t/s.npy --arg %t/b.npy --arg %t/s.npy --result %t/y.npy --check=cpu
RUN: %python -c "import numpy as np; assert np.load(r'%t/y.npy')[0, 0] == 2.0**16"
RUN: env MX_SIM_TENSOR_SUMS=truncated mx-run %t/small.mlir --device=sim --chip=sm_90a --arg %t/c.npy --arg %t/d.npy --arg %t/ds.npy --result %t/z.npy --check=cpu
RUN: %python -c "import numpy as np; assert 2.0**-28 < np.load(r'%t/z.npy')[0, 0] < 2.0**-28 + 1.75 * 17 * 2.0**-47"
RUN: env MX_SIM_TENSOR_SUMS=truncated mx-run %t/small.mlir --device=sim --chip=sm_100a --arg %t/c.npy --arg %t/d.npy --arg %t/ds.npy --result %t/z100.npy --check=cpu
RUN: %python -c "import numpy as np; assert (np.load(r'%t/z100.npy') == np.load(r'%t/z.npy')).all()"
REQUIRES: compiler, numpy
"""

import sys

import numpy as np

directory = sys.argv[1]
import mx_reference as ref

PROGRAM = """
!e = tensor<1x32xf8E4M3FN>
!s = tensor<1x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%a: !e, %as: !s, %b: !e, %bs: !s) -> tensor<1x1xf32> {
  %init = tensor.empty() : tensor<1x1xf32>
  %y = mx.matmul ins(%a, %as, %b, %bs : !e, !s, !e, !s) outs(%init : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
"""
with open(f"{directory}/program.mlir", "w", encoding="utf-8") as file:
    file.write(PROGRAM)
# The last bit of 2^16 is 2^-7, and the 31 other terms are just below 2^-10.
for name, other in (("a", 1.75 * 2.0**-5), ("b", 1.125 * 2.0**-6)):
    values = np.full((1, 32), other, np.float32)
    values[0, 0] = 2.0**8
    codes = ref.encode(values, "f8E4M3FN")
    assert np.array_equal(ref.decode(codes, "f8E4M3FN"), values)
    np.save(f"{directory}/{name}.npy", codes)
np.save(f"{directory}/s.npy", ref.tile(np.full((1, 1), 127, np.uint8)))

# 2^-133 * 2^105 is treated as 2^-21, and the 31 other terms are just below 2^-46. The terms added in the same
# step as the first one are lost. bf16 operands without scales are not rounded.
with open(f"{directory}/small.mlir", "w", encoding="utf-8") as file:
    file.write(PROGRAM.replace("%as, ", "").replace("!e, !s, !e, !s", "!x, !e, !s")
               .replace("%a: !e, %as: !s", "%a: !x").replace("E4M3FN", "E5M2")
               .replace("!s = ", "!x = tensor<1x32xbf16>\n!s = "))
x, w = np.full((1, 32), 1.75 * 2.0**-121, np.float32), np.full((1, 32), 2.0**-16, np.float32)
x[0, 0], w[0, 0] = 2.0**-133, 2.0**15
np.save(f"{directory}/c.npy", (x.view(np.uint32) >> 16).astype(np.uint16))
np.save(f"{directory}/d.npy", ref.encode(w, "f8E5M2"))
np.save(f"{directory}/ds.npy", ref.tile(np.full((1, 1), 127 + 90, np.uint8)))

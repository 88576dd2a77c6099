"""Checks that programs are compiled for the compute capability of the present GPU, and that the package's table of
chips matches the compiler's. The GPU is a fake that launches nothing.

RUN: env MX_DEVICE= MX_CHIP= MX_PTXAS=none MX_CACHE_DIR=%t MX_CUDA_DRIVER=%mx_obj/unittests/libMXFakeCuda%shlibext MX_FAKE_CUDA_READS_PTX=1 %python %s mx-opt
"""

import os
import re
import subprocess
import sys

from mx_compiler._runtime.chips import CHIPS

PROGRAM = """
import sys
import mx_compiler as mx, numpy as np
from mx_compiler._compile.compile import default_chip
mx.set_device("cuda")
print(mx.device_info().capability, default_chip())
try:
    program = mx.compile('''
!m = tensor<128x128xbf16>
!e = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x: !m) -> !m {
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty() : !m
  %y = mx.matmul ins(%q#0, %q#1, %q#0, %q#1 : !e, !s, !e, !s) outs(%y0 : !m) -> !m
  return %y : !m
}
''')
    import ml_dtypes
    program["main"](mx.array(np.zeros((128, 128), ml_dtypes.bfloat16)))
    print("launched")
except mx.CompileError as error:
    print(error)
"""


def run_on(capability):
    environment = {**os.environ, "MX_FAKE_CUDA_CAPABILITY": "{}.{}".format(*capability)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


for capability, chip in CHIPS.items():
    assert run_on(capability) == [f"{capability} {chip}", "launched"], run_on(capability)

# A GPU without kernels in mx: one line names the supported GPUs.
found = run_on((11, 0))
assert found[0] == "(11, 0) sm_110a" and len(found) == 2, found
assert "unknown chip 'sm_110a': expected one of 'sm_100a'" in found[1], found

done = subprocess.run([sys.argv[1], "--mx-to-nvvm=chip=sm_1", "-o", os.devnull],
                      input="func.func @main() { return }", capture_output=True, text=True)
compilers = re.findall(r"'(sm_\d+a)'", done.stderr)
assert sorted(compilers) == sorted(CHIPS.values()), (compilers, CHIPS)
print("all is well")

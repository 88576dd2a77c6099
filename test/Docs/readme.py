"""The commands that README.md shows for its example run as they stand there.

REQUIRES: compiler, numpy
RUN: rm -rf %t && mkdir -p %t
RUN: ln -s %examples %t/examples
RUN: %python %mx_src/scripts/demo_arrays.py make %t/x.npy %t/w.npy --m 96 --n 160 --k 256
RUN: %python %s %mx_src/README.md > %t/commands.sh
RUN: cd %t && sh -ex commands.sh
RUN: %python %mx_src/scripts/demo_arrays.py snr %t/x.npy %t/w.npy %t/y.npy | FileCheck %s
RUN: FileCheck %s --check-prefix=PTX < %t/matmul.ptx

CHECK: SNR against the unquantized product (float64): {{[2-9][0-9]}}.{{[0-9]}} dB
PTX-DAG: .target sm_100a
PTX-DAG: tcgen05.mma
"""

import re
import sys

text = open(sys.argv[1]).read()
example = text.split("## An example", 1)[1].split("\n## ", 1)[0]
blocks = re.findall(r"```sh\n(.*?)```", example, re.DOTALL)
if not blocks:
    sys.exit("README.md: no commands below 'An example'")
print("\n".join(blocks))

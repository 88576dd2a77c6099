"""Runs the commands of docs/guide/Embedding.md and WritePass.md verbatim, with an installation that was moved to
another prefix. The commands build and test the template, load the plugin in stock mlir-opt, and use the compiler as a
library in C and Python programs. No installed file may refer to the source or build tree.

REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
RUN: rm -rf %t && mkdir %t
RUN: env DESTDIR= %cmake --install %mx_obj --prefix %t/first > %t/install.log
RUN: mv %t/first %t/prefix
RUN: not grep -r -e %mx_src/ -e %t/first %t/prefix/lib/cmake %t/prefix/share

RUN: ln -s %examples %t/examples
RUN: %python %s %mx_src/docs/guide/Embedding.md %mx_src/docs/guide/WritePass.md > %t/commands.sh
RUN: cd %t && env -u MX_RUNTIME -u PYTHONPATH -u FILECHECK_OPTS PREFIX=%t/prefix MX_DEVICE=sim PATH=%python_dir:/usr/bin:/bin sh -ex commands.sh > %t/output
RUN: FileCheck %s < %t/output
RUN: FileCheck %s --check-prefix=KERNELS < %t/kernels.mlir
RUN: cmp %t/kernels.mlir %t/same.mlir
RUN: not %t/my-compiler/build/bin/my-compiler-opt --load-pass-plugin=%t/prefix/lib/MXPlugin%shlibext /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE

CHECK-DAG: PASS: MyCompiler :: choose-recipes.mlir
CHECK-DAG: PASS: MyCompiler :: fuse-relu.mlir
CHECK-DAG: PASS: MyCompiler :: layers.mlir
CHECK-DAG: PASS: MyCompiler :: tosa.mlir
CHECK: Passed: 4 (100.00%)
CHECK: main(x: tensor<?x?xbf16>, w: tensor<?x?xbf16>)
CHECK: right
CHECK: epilogue {
CHECK: arith.maximumf

TWICE: error: this program already contains the passes or dialects of mx

KERNELS: gpu.launch_func
KERNELS: nvvm.tcgen05.mma.block_scale
"""

import re
import sys

pages = [open(path).read() for path in sys.argv[1:]]
blocks = [re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for page in pages]
if len(blocks[0]) < 4 or not blocks[1]:
    sys.exit(f"expected the commands of four uses and of a pass, found {list(map(len, blocks))}")
print("\n".join(sum(blocks, [])))

"""Runs the quickstarts verbatim, from the first block to the last, on the simulator. test/Torch/quickstart.py runs the
PyTorch quickstart.

REQUIRES: compiler, numpy
RUN: rm -rf %t && mkdir -p %t && ln -s %examples %examples/../simulator %t
DEFINE: %{run} = cd %t && env PATH=%python_dir:%env_path MX_DEVICE= MX_CHIP= %python %S/Inputs/run_page.py
RUN: %{run} %mx_src/docs/guide/Quickstart/MLIR.md sh
RUN: %{run} %mx_src/simulator/docs/Quickstart.md sh
RUN: %{run} %mx_src/docs/guide/Quickstart/Python.md python
RUN: FileCheck %s < %t/matmul.ptx
CHECK: .target sm_100a

The location of a failing command or program is reported.
RUN: printf 'a\n```sh\ntrue\nfalse\n```\n' > %t/fails.md
RUN: not %python %S/Inputs/run_page.py %t/fails.md sh 2>&1 | FileCheck %s --check-prefix=SH
SH: .md:3: expected status 0, found 1 of
RUN: printf 'a\n```python\n1 / 0\n```\n' > %t/fails.md
RUN: not %python %S/Inputs/run_page.py %t/fails.md python 2>&1 | FileCheck %s --check-prefix=PYTHON
PYTHON: .md", line 3
RUN: not %python %S/Inputs/run_page.py %t/fails.md sh 2>&1 | FileCheck %s --check-prefix=NONE
NONE: .md: expected blocks of sh, found none
RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

# Every block of a page is run, compared or written to a file.
for page in sorted(pathlib.Path(sys.argv[1]).glob("docs/guide/Quickstart/*.md")):
    text = page.read_text()
    for block in re.finditer(r"^```(\w*)\n.*?^```$", text, re.M | re.S):
        before = text[:block.start()].rstrip("\n").rsplit("\n", 1)[-1]
        known = block[1] in ("sh", "python") or re.match(r"<!-- (output of|text of|file): ", before)
        if not known:
            sys.exit(f"{page}: expected blocks that are run or compared, found one of '{block[1]}'")

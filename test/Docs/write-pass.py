"""Compares the code in docs/guide/WritePass.md with the template, line by line.

RUN: %python %s %mx_src/docs/guide/WritePass.md %examples/template
"""

import pathlib
import re
import sys

page = pathlib.Path(sys.argv[1]).read_text()
template = [path.read_text() for path in pathlib.Path(sys.argv[2]).iterdir() if path.is_file()]
blocks = re.findall(r"```(?:cpp|tablegen)\n(.*?)```", page, re.DOTALL)
if len(blocks) < 5:
    sys.exit(f"expected the blocks of a pass, found {len(blocks)}")
for block in blocks:
    if not any(block in text for text in template):
        sys.exit(f"expected code of {sys.argv[2]}, found:\n{block}")

"""Checks that the names of passes and pipelines, including their C++ names, follow docs/guide/Embedding.md.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
PASS = re.compile(r"(convert-mx(gpu)?-(host-)?to-[a-z]+|mx(gpu)?-[a-z]+(-[a-z]+)*)")
# In C++, mx-fuse-epilogues is MXFuseEpilogues, created by createMXFuseEpilogues.
UPPER = {word: word.upper() for word in ("mx", "mxgpu", "cpu", "gpu", "nvvm")}
PIPELINE = re.compile(r"mx(-host)?-to-[a-z]+")


def check(style, names, of):
    names = list(names)
    if not names:
        sys.exit(f"found no {of}")
    wrong = [name for name in names if not style.fullmatch(name)]
    if wrong:
        sys.exit(f"expected {of} as {style.pattern}, found {', '.join(wrong)}")


tables = "".join(path.read_text() for path in root.glob("include/mx/**/Passes.td"))
definitions = re.findall(r'def (\w+)\s*:\s*\w*Pass<\s*"([^"]+)"', tables)
check(PASS, [name for _, name in definitions], "passes")
for cpp, name in definitions:
    expected = "".join(UPPER.get(word, word.capitalize()) for word in name.split("-"))
    if cpp != expected:
        sys.exit(f"expected the pass {name} to be defined as {expected}, found {cpp}")
pipelines = "".join(path.read_text() for path in root.glob("lib/Pipelines/*.cpp"))
check(PIPELINE, re.findall(r'PassPipelineRegistration<[^>]*>\w*\s*\(\s*"([^"]+)"', pipelines),
      "pipelines")

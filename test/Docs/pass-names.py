"""Names of passes and pipelines have one style, that of docs/Embedding.md.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
PASS = re.compile(r"(convert-mx(gpu)?-(host-)?to-[a-z]+|mx(gpu)?-[a-z]+(-[a-z]+)*)")
PIPELINE = re.compile(r"mx(-host)?-to-[a-z]+")


def check(style, names, of):
    names = list(names)
    if not names:
        sys.exit(f"found no {of}")
    wrong = [name for name in names if not style.fullmatch(name)]
    if wrong:
        sys.exit(f"expected {of} as {style.pattern}, found {', '.join(wrong)}")


tables = "".join(path.read_text() for path in root.glob("include/mx/**/Passes.td"))
check(PASS, re.findall(r'Pass<\s*"([^"]+)"', tables), "passes")
pipelines = "".join(path.read_text() for path in root.glob("lib/Pipelines/*.cpp"))
check(PIPELINE, re.findall(r'PassPipelineRegistration<[^>]*>\w*\s*\(\s*"([^"]+)"', pipelines),
      "pipelines")

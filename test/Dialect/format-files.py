"""Checks that few files name a scale format or depend on a block size. Other code should
query mx::BlockFormat.

Comments, string literals, summaries and descriptions are ignored. Importers are listed
separately because they recognize the types of other dialects.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

IMPORTERS = {
    "lib/Dialect/MX/Transforms/Import/Expressions.cpp",  # arith.scaling_extf, arith.extf
}
MOST = 12
NAMES = r"E8M0|NVFP4|ScaleFormat"
BLOCKS = (r"[bB]lock(?:Size)?(?:\(\))?\s*(?:==|!=|[<>]=?)\s*(?:8|16|32)\b"
          r"|k\w*Block\w*\s*=\s*(?:16|32)\b|\bblock(?:Size)?\s*=\s*(?:16|32)\b")
COMMENT = r"//[^\n]*"
STRING = r'"(?:[^"\\\n]|\\.)*"'
LITERAL = r"\[\{.*?\}\]"  # a description or code in TableGen


def code_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".td":
        text = re.sub(r"(?:summary|description)\s*=\s*(?:%s|%s)" % (LITERAL, STRING), "", text,
                      flags=re.S)
    return re.sub(f"{COMMENT}|{STRING}", "", text)


source = pathlib.Path(sys.argv[1])
found = {}
for root in ("lib", "include"):
    for path in sorted((source / root).rglob("*")):
        if path.suffix in (".cpp", ".h", ".td", ".def"):
            hits = re.findall(f"{NAMES}|{BLOCKS}", code_of(path))
            if hits:
                found[str(path.relative_to(source))] = hits
stale = IMPORTERS - set(found)
assert not stale, f"these files no longer name a format: {stale}"
others = {path: hits for path, hits in found.items() if path not in IMPORTERS}
listed = "\n".join(f"  {path}: {', '.join(hits[:3])}" for path, hits in others.items())
print(f"{len(others)} files\n{listed}")
assert len(others) <= MOST, f"expected at most {MOST} files, found {len(others)}:\n{listed}"

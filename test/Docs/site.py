"""Checks scripts/docs-site: the site contains every page, and pages with faults are refused.

REQUIRES: compiler, docs-tools
RUN: rm -rf %t && mkdir -p %t
RUN: env MX_LLVM_PREFIX=%mlir_tools/.. %python %s %mx_src %t
"""

import os
import pathlib
import shutil
import subprocess
import sys

root, work = map(pathlib.Path, sys.argv[1:])
environment = {**os.environ, "MX_PYTHON": sys.executable}


def build(tree, site):
    return subprocess.run([tree / "scripts/docs-site", site], env=environment, capture_output=True, text=True)


done = build(root, work / "site")
assert done.returncode == 0, done.stdout + done.stderr
for page in root.glob("docs/**/*.md"):
    name = page.relative_to(root / "docs").with_suffix(".html")
    name = name.with_name("index.html") if name.name == "README.html" else name
    assert (work / "site" / name).is_file(), name
index = (work / "site/index.html").read_text()
for title in ("Everyone", "PyTorch", "Compilers", "Kernels", "Changing mx"):
    assert title in index, title
# The reference is part of the site, and links to .td files become links to the reference.
for name, word in ("MX", "mx.quantize"), ("Passes", "mx-tile-scales"), ("PythonAPI", "set_device"), ("TorchAPI", "convert"):
    assert word in (work / "site/reference" / f"{name}.html").read_text(), name
assert 'href="Passes.html#-mx-tile-scales"' in (work / "site/reference/Formats.html").read_text()
assert (work / "site/simulator/docs/Simulator.html").is_file()
# Linked files outside docs/ are part of the site.
assert (work / "site/source/examples/matmul.mlir.txt").read_bytes() == (root / "examples/matmul.mlir").read_bytes()

# A separate tree for pages with faults.
tree = work / "tree"
tree.mkdir()
for entry in root.iterdir():
    if entry.name in ("docs", "scripts"):
        shutil.copytree(entry, tree / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
    elif not entry.name.startswith((".", "build")):
        (tree / entry.name).symlink_to(entry)
page = tree / "docs/reference/Limits.md"
text = page.read_text()


def refused(message, add="", name=page):
    name.write_text((text if name == page else "# A page\n") + add)
    done = build(tree, work / "broken")
    assert done.returncode == 1 and message in done.stderr, (message, done.stdout + done.stderr)
    assert "error: the site has faults" in done.stderr, done.stderr
    name.unlink() if name != page else page.write_text(text)


refused("Nowhere.md", "[a](Nowhere.md)\n")
refused("#no-such-heading", "[a](Spec.md#no-such-heading)\n")
refused("no-such-program.mlir", "[a](../../examples/no-such-program.mlir)\n")
refused("InNoIndex.md", name=tree / "docs/InNoIndex.md")

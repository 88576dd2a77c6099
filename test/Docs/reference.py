"""Checks the reference of scripts/gen_docs.py: every operation, pass and public name is listed, and a public name
without a docstring is an error.

REQUIRES: compiler
RUN: rm -rf %t && mkdir %t
RUN: %python %s %mx_src %t --tblgen=%mlir_tools/mlir-tblgen --include=%mlir_include --include=%mx_obj/include
"""

import pathlib
import re
import shutil
import subprocess
import sys

root, work = map(pathlib.Path, sys.argv[1:3])


def generate(tree):
    return subprocess.run([sys.executable, "-B", tree / "scripts/gen_docs.py", f"--out={work / 'reference'}",
                           *sys.argv[3:]], capture_output=True, text=True)


done = generate(root)
assert done.returncode == 0 and not done.stderr, done
pages = {path.stem: path.read_text() for path in (work / "reference").glob("*.md")}
assert pages.keys() == {"MX", "MXBar", "MXGPU", "MXPlan", "Passes", "PythonAPI", "TorchAPI"}, pages.keys()
for name, text in pages.items():
    assert "[TOC]" not in text and "<!--" not in text, name

tables = [path.read_text() for path in root.glob("include/mx/**/Passes.td")]
passes = {name for table in tables for name in re.findall(r'Pass<\s*"([^"]+)"', table)}
assert len(passes) > 50 and set(re.findall(r"^### `-([\w-]+)`", pages["Passes"], re.M)) == passes
kernel_ops = []
for dialect in ("MX", "MXBar", "MXGPU", "MXPlan"):
    sources = "".join(path.read_text() for path in (root / f"include/mx/Dialect/{dialect}/IR").glob("*.td"))
    for name in re.findall(r"^def \w+ *: *\w*Op<\s*\"(\w+)\"", sources, re.M):
        assert f"`{dialect.lower()}.{name}`" in pages[dialect], f"{dialect}.md has no {name}"
        kernel_ops += [name] * (dialect in ("MXBar", "MXGPU"))
# The two kernel dialects together are at their limit of operations, so a new operation must replace another.
assert len(kernel_ops) <= 80, f"{len(kernel_ops)} operations of kernels"

# A tree with an undocumented public name in its package.
tree = work / "tree"
for folder in ("scripts", "include", "python"):
    shutil.copytree(root / folder, tree / folder)
path = tree / "python/mx_compiler/_runtime/device.py"
text = path.read_text()
described = '    """Returns the DeviceInfo of the current device."""\n'
assert described in text
path.write_text(text.replace(described, ""))
done = generate(tree)
assert done.returncode == 1 and "expected a docstring of the public name device_info" in done.stderr, done

"""Checks every row of test/Frozen/Renamed.md: the rename is in effect, and scripts/rename-ir applies it in both
directions.

RUN: %python %s %mx_src
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
root = pathlib.Path(sys.argv[1])
loader = importlib.machinery.SourceFileLoader("rename_ir", str(root / "scripts/rename-ir"))
rename = importlib.util.module_from_spec(importlib.util.spec_from_loader("rename_ir", loader))
loader.exec_module(rename)

table = root / "test/Frozen/Renamed.md"
rows = rename.read_table(table)
full = {row.old: row.new for row in rows if row.kind in ("op", "type")}
lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
assert len(rows) == len([line for line in lines if not line.startswith("| done")]), "a row is not marked as done"


def write(row, name, where):
    """Returns a text that contains the name of a row in one of its listed places."""
    if row.kind == "op":
        return f"func.func @f() {{\n  {name} %x : index\n}}\n"
    if row.kind == "type":
        return f"func.func @f(%x: {name}<2>)\n"
    if row.kind in ("pass", "option"):
        command = "// " + "RUN" + ": mx-opt %s --"  # split, so lit does not run it
        return f"{command}{name if row.kind == 'pass' else f'{where}={name}'}\n"
    if row.kind == "name":
        name = name.replace("*", "in")
        if name.startswith("!"):
            return f"{name} = {where}<2>\n"
        if "for_each" in where:
            return f"func.func @f() {{\n  {where}({name}, %row) in %s {{\n  }}\n}}\n"
        return f"func.func @f() {{\n  {name} = {where} %x : index\n}}\n"
    if where[0] in "#!":
        return f"func.func @f(%x: index {{a = {where}<{name} = 1>}})\n"
    return f"func.func @f() {{\n  {where} %x {name} = 1 : index\n}}\n"


forward, back = rename.Rules(rows), rename.Rules(rows, back=True)
for row in rows:
    if row.kind in ("C++", "kernel", "Python"):
        continue
    for where in row.where or ("",):
        old, new = write(row, row.old, where), write(row, row.new, full.get(where, where))
        for rules, before, after in (forward, old, new), (forward, new, new), (back, new, old):
            found = rename.Renamer(before, rules).run()
            assert found == after, f"{row}: expected\n{after}found\n{found}"

# Operations replaced by upstream operations.
for old, new in (
    ("%m = mxgpu.warp_max %x", "%m = gpu.subgroup_reduce maxui %x uniform : (i32) -> i32"),
    ("%b = mxgpu.atomic_add %n to %m[%i] : memref<?xi32>",
     "%b = memref.atomic_rmw addi %n, %m[%i] : (i32, memref<?xi32>) -> i32"),
):
    for rules, is_back, before, after in (forward, False, old, new), (forward, False, new, new), (back, True, new, old):
        found = rename.rewrite(before, rules, is_back)[0]
        assert found == after, f"expected\n{after}\nfound\n{found}"
print(f"{len(rows)} rows")

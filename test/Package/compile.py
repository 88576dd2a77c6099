r"""Tests mx.compile in one process: templates with sizes and types, program runs, messages and their locations. The
first example of the page runs verbatim.

RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE= MX_CHIP= MX_PTXAS= %python -W error %s %t | FileCheck %s
CHECK: all is well
RUN: env MX_DEVICE= MX_CHIP= MX_PTXAS=none %python -c "import re; exec(re.search('```python\n(.*?)```', open('%mx_src/docs/guide/Python.md').read(), re.DOTALL)[1] + 'print(y.dtype, y.shape, (y == 2).all())')" | FileCheck %s --check-prefix=PAGE
PAGE: bfloat16 (7, 384) True
"""

import logging
import os
import pathlib
import sys
import warnings

import ml_dtypes
import mx_compiler as mx
import numpy as np
from refuses import refuses

folder = pathlib.Path(sys.argv[1])
mx.set_device("sim")
TEXT = """
func.func @scale(%x: tensor<${rows}x${hidden}x${dtype}>) -> tensor<${rows}x${hidden}x${dtype}> {
  %y = arith.addf %x, %x : tensor<${rows}x${hidden}x${dtype}>
  return %y : tensor<${rows}x${hidden}x${dtype}>
}
func.func @same(%x: tensor<${hidden}xi32>) -> tensor<${hidden}xi32> {
  return %x : tensor<${hidden}xi32>
}
"""

# --- Templates ------------------------------------------------------------------

template = mx.Template(TEXT)
assert template.names == ("rows", "hidden", "dtype")
assert repr(template) == "<mx_compiler.Template template(rows, hidden, dtype)>"
text = template.substitute(rows="?", hidden=np.int64(48), dtype="bf16")
assert "tensor<?x48xbf16>" in text and "$" not in text
for name, expected in [(np.float32, "f32"), (ml_dtypes.float8_e4m3fn, "f8E4M3FN"),
                       (np.dtype("f2"), "f16"), ("float8_e8m0fnu", "f8E8M0FNU"),
                       ("f4E2M1FN", "f4E2M1FN"), (ml_dtypes.float4_e2m1fn, "f4E2M1FN"),
                       ("float6_e3m2fn", "f6E3M2FN"), ("int32", "i32"), (bool, "i1")]:
    assert mx.Template("${t}").substitute(t=name) == expected, name
if "torch" in sys.modules or __import__("importlib.util").util.find_spec("torch"):
    import torch
    assert mx.Template("${t}").substitute(t=torch.bfloat16) == "bf16"
# Only braces are substituted: `$` occurs in MLIR names.
assert mx.Template("@a$b $0 $$ ${n}").substitute(n=2) == "@a$b $0 $$ 2"
refuses(TypeError, r"expected values for \[rows, hidden, dtype\], found no value for "
        "hidden, dtype and the unknown inner", lambda: template.substitute(rows=1, inner=2))
refuses(TypeError, "template: hidden: expected a size, .* or a dtype, found 1.5",
        lambda: template.substitute(rows=1, hidden=1.5, dtype="f32"))
refuses(TypeError, "rows: expected a size, .* found True",
        lambda: template.substitute(rows=True, hidden=1, dtype="f32"))
refuses(ValueError, "rows: expected a size of at least 1, or .*, found 0",
        lambda: template.substitute(rows=0, hidden=1, dtype="f32"))
refuses(TypeError, "dtype: expected .* found 'f33'",
        lambda: template.substitute(rows=1, hidden=1, dtype="f33"))
refuses(TypeError, "to be text or a pathlib.Path, found int", lambda: mx.Template(3))

# --- Programs ---------------------------------------------------------------------

options = {"ptxas": "none", "cache": folder / "cache"}
program = mx.compile(template, rows="?", hidden=40, dtype="f32", **options)
assert set(program.entries) == {"scale", "same"}
for rows in (1, 7, 64):  # compiled once, because each call passes the sizes of "?" dimensions
    x = np.arange(rows * 40, dtype=np.float32).reshape(rows, 40)
    assert np.array_equal(program["scale"](x)[0], x + x)
assert len(list((folder / "cache").iterdir())) == 1
half = mx.compile(TEXT, rows=3, hidden=8, dtype="bf16", entries=["scale"], **options)
assert set(half.entries) == {"scale"}
x = np.arange(24).reshape(3, 8).astype(ml_dtypes.bfloat16)
y, = half["scale"](x)
assert y.dtype == ml_dtypes.bfloat16 and np.array_equal(y, x + x)

path = folder / "same.mlir"
path.write_text(TEXT.partition("func.func @same")[1] + TEXT.partition("func.func @same")[2])
same = mx.compile(path, hidden=5, **options)
# The program is loaded on first use; then two handles share it.
again = mx.compile(path, hidden=5, **options)
assert np.array_equal(same["same"](np.arange(5, dtype=np.int32))[0], range(5))
same.close()
assert np.array_equal(again["same"](np.arange(5, dtype=np.int32))[0], range(5))
refuses(ValueError, "the program was closed", lambda: same["same"])
again.save(folder / "saved")
with mx.Program(folder / "saved") as saved:
    assert np.array_equal(saved["same"](np.arange(5, dtype=np.int32))[0], range(5))
    refuses(ValueError, "found a program loaded from a directory", lambda: saved.save(folder / "other"))
x = np.ones((2, 64), ml_dtypes.bfloat16)
linalg = """
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %c: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}"""
quantized = mx.compile(linalg, pipeline="builtin.module(mx-quantize-matmuls)", cache=False, ptxas="none")
y, = quantized["f"](x, np.ones((32, 64), ml_dtypes.bfloat16), np.full((2, 32), 3, np.float32))
assert (y == 67).all()

# --- Errors -------------------------------------------------------------------

error = refuses(mx.CompileError, "^text:3:3: error: ", lambda: mx.compile(
    "func.func @f() {\n  return\n} func.func @f() {\n return }", **options))
assert isinstance(error, mx.Error) and error.status == 2
first, *others = error.diagnostics
assert (first.severity, first.file, first.line, first.column) == ("error", "text", 3, 3)
assert [d.severity for d in others] == ["note"] and others[0].line == 1
assert str(error) == "\n".join(map(str, error.diagnostics))
path.write_text("func.func @f() { return 1 }")
error = refuses(mx.CompileError, "same.mlir:1:24: error: ", lambda: mx.compile(path, **options))
assert error.diagnostics[0].file == str(path)
refuses(mx.CompileError, "error: .*sm_12", lambda: mx.compile(linalg, chip="sm_12", **options))
refuses(mx.CompileError, "error: .*nowhere", lambda: mx.compile(linalg, entries=["nowhere"], **options))
refuses(mx.CompileError, "error: .*no-such-pass",
        lambda: mx.compile(linalg, pipeline="builtin.module(no-such-pass)", **options))
refuses(mx.CompileError, "/no/ptxas", lambda: mx.compile(TEXT, rows=1, hidden=8, dtype="f32", ptxas="/no/ptxas"))
refuses(TypeError, r"expected values for \[rows, hidden, dtype\], found no value for rows, hidden, dtype",
        lambda: mx.compile(TEXT, **options))
refuses(TypeError, r"expected values for \[\], found the unknown rows", lambda: mx.compile(linalg, rows=3, **options))
refuses(TypeError, "expected a source to be text, .* found bytes", lambda: mx.compile(b"module {}", **options))
refuses(TypeError, "expected entries to be a list of names, found 'f'", lambda: mx.compile(linalg, entries="f", **options))
refuses(FileNotFoundError, "none.mlir", lambda: mx.compile(folder / "none.mlir", **options))
refuses(TypeError, "template: expected names that are not arguments of mx_compiler.compile, found chip",
        lambda: mx.compile(mx.Template("// ${chip}"), **options))
assert mx.compile(mx.Template("// ${chip}\n" + linalg).substitute(chip=3), **options)
assert len(list((folder / "cache").iterdir())) == 4  # failed compilations are not cached

# --- Remarks and warnings ---------------------------------------------------------

from mx_compiler._compile import compile as compilation

found = []
handler = logging.Handler()
handler.emit = lambda record: found.append(record.getMessage())
logging.getLogger("mx_compiler.compile").addHandler(handler)
logging.getLogger("mx_compiler.compile").setLevel(logging.INFO)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    compilation._tell([mx.Diagnostic("warning", "a.mlir", 1, 2, "slow"),
                       mx.Diagnostic("remark", None, None, None, "fused")])
assert [str(w.message) for w in caught] == ["a.mlir:1:2: warning: slow"]
assert caught[0].category is mx.CompileWarning and found == ["remark: fused"]

# The package searches for the compiler next to the runtime.
os.environ["MX_COMPILER"] = str(folder / "none.so")
refuses(ImportError, "expected the compiler of mx in .*none.so, found no file: set MX_COMPILER",
        lambda: mx.compile(linalg, **options))
print("all is well")

"""Prints a kernel for each function of docs/reference/Math.md.

usage: functions.py (epilogue | prologue)

Each thread of the epilogue holds 32 columns. The quantizer needs registers for both
its prologue and the quantization.
"""

import sys

import math_oracle

SECOND = {"atan2": ", %p", "powf": ", %p", "fpowi": ", %i"}
EPILOGUE = """
func.func @{name}(%a: memref<512x512xf8E4M3FN>, %s: memref<4x4x32x4x4xf8E8M0FNU>, %y: memref<512x512xf32>, %bias: memref<512xf32>) {{
  mx.matmul ins(%a, %s, %a, %s : memref<512x512xf8E4M3FN>, memref<4x4x32x4x4xf8E8M0FNU>, memref<512x512xf8E4M3FN>, memref<4x4x32x4x4xf8E8M0FNU>) outs(%y : memref<512x512xf32>)
      {{mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128], stages = 2, epilogue = tma_store>}} epilogue {{
  ^bb0(%x: f32, %row: index, %col: index):
    %p = memref.load %bias[%col] : memref<512xf32>
{body}
    mx.yield %v : f32
  }}
  return
}}"""
PROLOGUE = """
func.func @{name}(%input: !x, %e: !e, %s: !s) -> (!e, !s) {{
  %q:2 = mx.fused_quantize ins(%input, %input : !x, !x) outs(%e, %s : !e, !s) -> !e, !s prologue {{
  ^bb0(%x0: bf16, %p0: bf16, %row: index, %col: index):
    %x = arith.extf %x0 : bf16 to f32
    %p = arith.extf %p0 : bf16 to f32
{body}
    %o = arith.truncf %v : f32 to bf16
    mx.yield %o : bf16
  }}
  return %q#0, %q#1 : !e, !s
}}"""
BODY = """    %i = arith.fptosi %p : f32 to i32
    %v = math.{name} %x{second} : f32{integer}"""

print("!x = tensor<?x?xbf16>\n!e = tensor<?x?xf8E4M3FN>\n!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>")
for name in sorted(math_oracle.FUNCTIONS):
    body = BODY.format(name=name, second=SECOND.get(name, ""), integer=", i32" * (name == "fpowi"))
    print({"epilogue": EPILOGUE, "prologue": PROLOGUE}[sys.argv[1]].format(name=name, body=body))

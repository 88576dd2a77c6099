"""Tests the number of parts that mx-decompose-groups selects for the columns of a collect.

RUN: %python %s mx-opt
REQUIRES: compiler
"""

import subprocess
import sys

PROGRAM = """
mx.group @ep size = {ranks} tokens = {tokens}{slots}
func.func @main(%a: tensor<?x{k}xbf16>, %b: tensor<8x{n}x{k}xbf16>, %o: tensor<8xi32>, %z0: tensor<?x{n}xbf16>,
                %ids: tensor<?x8xi32>, %s: tensor<?xi32>, %y0: tensor<?x{n}xf32>) -> tensor<?x{n}xf32> {{
  %z = mx.grouped_matmul ragged = rows ins(%a, %b : tensor<?x{k}xbf16>, tensor<8x{n}x{k}xbf16>)
      offsets(%o : tensor<8xi32>) outs(%z0 : tensor<?x{n}xbf16>) -> tensor<?x{n}xbf16>
  %y = mx.collect @ep experts = {experts} wire = {wire}{parts} ids(%ids : tensor<?x8xi32>) ins(%z : tensor<?x{n}xbf16>)
      slots(%s : tensor<?xi32>) outs(%y0 : tensor<?x{n}xf32>) -> tensor<?x{n}xf32>
  return %y : tensor<?x{n}xf32>
}}
"""


def count(chip, ranks, tokens, n=7168, k=2048, wire="bf16", slots="", parts=""):
    text = PROGRAM.format(ranks=ranks, experts=8 * ranks, tokens=tokens, n=n, k=k, wire=wire, slots=slots, parts=parts)
    option = f"--mx-decompose-groups=chip={chip}" if chip else "--mx-decompose-groups"
    output = subprocess.run([sys.argv[1], option], input=text, capture_output=True, text=True, check=True).stdout
    return output.count("mx.all_to_all")


for expected, *case in [
        # The wire takes 0.4 ms for 2 ranks of an H200, and the more parts hide it.
        (4, "sm_90a", 2, 8192), (7, "sm_90a", 4, 8192), (8, "sm_90a", 8, 8192), (3, "sm_100a", 2, 8192),
        (5, "sm_100a", 4, 8192), (8, "sm_100a", 8, 8192), (8, "sm_120a", 2, 8192),
        (6, "sm_90a", 2, 8192, 7168, 2048, "f32"), (4, "sm_90a", 8, 8192, 7168, 2048, "bf16", " slots = 1024"),
        # The latency of a collective is longer than the wire takes.
        (1, "sm_90a", 2, 512), (1, "sm_90a", 2, 64, 384, 256), (1, "sm_100a", 8, 128),
        # A part has at least 256 columns. A single rank and the CPU path exchange nothing meanwhile.
        (3, "sm_90a", 8, 65536, 640), (1, "sm_90a", 1, 65536), (1, "", 8, 65536),
        (2, "", 2, 8, 300, 64, "bf16", "", " parts = 7"), (1, "sm_90a", 8, 8192, 7168, 2048, "bf16", "", " parts = 1")]:
    assert count(*case) == expected, (case, count(*case), expected)

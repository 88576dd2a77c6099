"""Regions that compute SwiGLU or its gradients from bf16 %gate and %up, the f32 row weight %p and, for gradients,
%dh."""

SILU = """
  %one = arith.constant 1.0 : f32
  %gf = arith.extf %gate : bf16 to f32
  %uf = arith.extf %up : bf16 to f32
  %minus = arith.negf %gf : f32
  %exp = math.exp %minus : f32
  %d = arith.addf %one, %exp : f32
  %silu = arith.divf %gf, %d : f32"""
# Yields %y.
FORWARD = SILU + """
  %h = arith.mulf %silu, %uf : f32
  %w = arith.mulf %h, %p : f32
  %y = arith.truncf %w : f32 to bf16"""
# Yields the gradients of %gate and %up: %dg and %du (f32), or %x and %y (bf16).
BACKWARD = SILU + """
  %sigma = arith.divf %one, %d : f32
  %dhf = arith.extf %dh : bf16 to f32
  %dhp = arith.mulf %dhf, %p : f32
  %left = arith.subf %one, %sigma : f32
  %slope = arith.mulf %silu, %left : f32
  %dsilu = arith.addf %sigma, %slope : f32
  %dg0 = arith.mulf %dhp, %uf : f32
  %dg = arith.mulf %dg0, %dsilu : f32
  %du = arith.mulf %dhp, %silu : f32
  %x = arith.truncf %dg : f32 to bf16
  %y = arith.truncf %du : f32 to bf16"""


def prologue(body, yielded, weights="%ps[%row] : tensor<?xf32>"):
    """Returns the region of mx.quantize."""
    return f"""
  %p = tensor.extract {weights}{body}
  mx.yield {yielded}"""

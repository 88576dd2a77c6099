// silu on the sum of a matmul; test/Pipelines/silu.test counts its
// instructions.

!a = memref<256x64xf8E4M3FN>
!s = memref<2x1x32x4x4xf8E8M0FNU>
func.func @silu(%a: !a, %s: !s, %y: memref<256x256xf32>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : memref<256x256xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, epilogue = tma_store>} epilogue {
  ^bb0(%x: f32, %row: index, %col: index):
    %one = arith.constant 1.0 : f32
    %minus = arith.negf %x : f32
    %e = math.exp %minus : f32
    %d = arith.addf %one, %e : f32
    %v = arith.divf %x, %d : f32
    mx.yield %v : f32
  }
  return
}

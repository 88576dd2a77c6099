// RUN: mx-compile %s --entry=fixed -o %t --ptxas=none --mx-explain 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: mx-compile %s --entry=any -o %t --ptxas=none --mx-explain 2>&1 | FileCheck %s --check-prefix=ANY
// RUN: mx-compile %s --entry=twice -o %t --ptxas=none --fuse=false --mx-explain 2>&1 | FileCheck %s --check-prefix=UNFUSED
// RUN: %python -c "import numpy as np; np.save('%t.x.npy', np.zeros((256, 512), np.uint16)); np.save('%t.p.npy', np.zeros(256, np.float32))"
// RUN: mx-run %s --entry=any --device=sim --arg=%t.x.npy --arg=%t.x.npy --arg=%t.p.npy --mx-explain 2>&1 | FileCheck %s --check-prefix=SIZES
// REQUIRES: compiler, numpy

// Reports the bytes read and written by launches. Sizes are constants, values from
// a run, or expressions. The report also lists the byte count without fusion.

#all = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// X and Y take 262144 bytes each, elements 131072 and scales 4096, tiled or not.
// The intermediate bf16 tensor is not written, and X is read only once.
// FIXED:      memory of fixed: 1 launch
// FIXED-NEXT:       zeros reads nothing, writes 4 B
// FIXED-NEXT:    1  fixed_quantize reads 0.524 MB, writes 0.270 MB
// FIXED-NEXT:       sum reads 0.524 MB, writes 0.270 MB
// FIXED-NEXT:       unfused, 3 operations reads 1.049 MB, writes 0.532 MB
// FIXED-NEXT:       50.3 % of the bytes without fusion
func.func @fixed(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>)
    -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
  %e = tensor.empty() : tensor<256x512xbf16>
  %p = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<256x512xbf16>, tensor<256x512xbf16>) outs(%e : tensor<256x512xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %c: bf16):
    %0 = arith.mulf %a, %b : bf16
    linalg.yield %0 : bf16
  } -> tensor<256x512xbf16>
  %e0 = tensor.empty() : tensor<256x512xf8E4M3FN>
  %s0 = tensor.empty() : tensor<256x16xf8E8M0FNU>
  %0:2 = mx.quantize ins(%p : tensor<256x512xbf16>) outs(%e0, %s0 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  %e1 = tensor.empty() : tensor<512x256xf8E4M3FN>
  %s1 = tensor.empty() : tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %1:2 = mx.quantize ins(%p : tensor<256x512xbf16>) outs(%e1, %s1 : tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      axes = [0] -> tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %0#0, %0#1, %1#0, %1#1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}

// A slice counts only its own bytes. Accumulators are also read. The first
// result is computed in the memory of its accumulator argument, and copied
// from there.
// ANY:      memory of any: 2 launches
// ANY-NEXT:    1  any_reduce reads arg1[0] * 512 + arg2[0] * 4 B, writes arg2[0] * 4 B
// ANY-NEXT:       zeros reads nothing, writes arg0[0] * 4 B
// ANY-NEXT:    2  any_reduce_0 reads arg0[0] * 1028 B, writes arg0[0] * 4 B
// ANY-NEXT:       copy reads arg2[0] * 4 B, writes arg2[0] * 4 B
// ANY-NEXT:       sum reads arg1[0] * 512 + arg2[0] * 8 + arg0[0] * 1028 B, writes arg2[0] * 8 + arg0[0] * 8 B
// ANY-NEXT:       unfused, 3 operations reads arg1[0] * 512 + arg2[0] * 4 + arg0[0] * 1028 B, writes arg2[0] * 4 + arg0[0] * 8 B
// ANY-NOT:        %
// SIZES:      memory of any: 2 launches
// SIZES-NEXT:    1  any_reduce reads 0.132 MB, writes 1024 B
// SIZES-NEXT:       zeros reads nothing, writes 1024 B
// SIZES-NEXT:    2  any_reduce_0 reads 0.263 MB, writes 1024 B
// SIZES-NEXT:       copy reads 1024 B, writes 1024 B
// SIZES-NEXT:       sum reads 0.396 MB, writes 4096 B
// SIZES-NEXT:       unfused, 3 operations reads 0.395 MB, writes 3072 B
// SIZES-NEXT:       100.5 % of the bytes without fusion
func.func @any(%x: tensor<?x512xbf16>, %y: tensor<?x512xbf16>, %p: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %y, %c0 : tensor<?x512xbf16>
  %half = tensor.extract_slice %y[0, 256] [%n, 256] [1, 1] : tensor<?x512xbf16> to tensor<?x256xbf16>
  %0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%half : tensor<?x256xbf16>) outs(%p : tensor<?xf32>) {
  ^bb0(%a: bf16, %s: f32):
    %a32 = arith.extf %a : bf16 to f32
    %1 = arith.addf %a32, %s : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x512xbf16>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%a: bf16, %s: f32):
    %a32 = arith.extf %a : bf16 to f32
    %1 = arith.addf %a32, %s : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  return %0, %2 : tensor<?xf32>, tensor<?xf32>
}

// Without fusion (mx-compile --fuse=false), the sum over the launches equals
// the sum over the operations.
// UNFUSED:      memory of twice: 2 launches
// UNFUSED:         1  twice_quantize reads 0.131 MB
// UNFUSED:         2  twice_quantize_0 reads 0.131 MB
// UNFUSED:            sum reads 0.262 MB, writes 0.135 MB
// UNFUSED-NEXT:       unfused, 2 operations reads 0.262 MB, writes 0.135 MB
// UNFUSED-NEXT:       100.0 % of the bytes without fusion
func.func @twice(%x: tensor<256x256xbf16>)
    -> (tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>, tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>) {
  %e = tensor.empty() : tensor<256x256xf8E4M3FN>
  %s = tensor.empty() : tensor<256x8xf8E8M0FNU>
  %0:2 = mx.quantize ins(%x : tensor<256x256xbf16>) outs(%e, %s : tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>)
      -> tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>
  %1:2 = mx.quantize ins(%x : tensor<256x256xbf16>) outs(%e, %s : tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>)
      axes = [0] -> tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>
  return %0#0, %0#1, %1#0, %1#1 : tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>, tensor<256x256xf8E4M3FN>, tensor<256x8xf8E8M0FNU>
}

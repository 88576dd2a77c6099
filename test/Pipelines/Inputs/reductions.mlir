// Row reductions: plain sums, sums weighted by row and column, and the gradient
// of a row's router probability in a mixture-of-experts layer.

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>

func.func @sum(%x: tensor<?x?xf32>, %first: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.reduce ins(%x : tensor<?x?xf32>) outs(%first : tensor<?xf32>) dimensions = [1]
    (%a: f32, %acc: f32) {
      %s = arith.addf %a, %acc : f32
      linalg.yield %s : f32
    }
  return %r : tensor<?xf32>
}

func.func @product(%x: tensor<?x?xf16>, %p: tensor<?xf32>, %w: tensor<?xf32>, %first: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {indexing_maps = [#matrix, #row, #column, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %p, %w : tensor<?x?xf16>, tensor<?xf32>, tensor<?xf32>) outs(%first : tensor<?xf32>) {
  ^bb0(%a: f16, %b: f32, %c: f32, %acc: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.mulf %0, %b : f32
    %2 = arith.mulf %1, %c : f32
    %3 = arith.maximumf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

func.func @gradient(%gu: tensor<?x512xbf16>, %dh: tensor<?x256xbf16>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %gu, %c0 : tensor<?x512xbf16>
  %gate = tensor.extract_slice %gu[0, 0] [%n, 256] [1, 1] : tensor<?x512xbf16> to tensor<?x256xbf16>
  %up = tensor.extract_slice %gu[0, 256] [%n, 256] [1, 1] : tensor<?x512xbf16> to tensor<?x256xbf16>
  %e = tensor.empty(%n) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix, #row], iterator_types = ["parallel", "reduction"]}
      ins(%dh, %gate, %up : tensor<?x256xbf16>, tensor<?x256xbf16>, tensor<?x256xbf16>) outs(%init : tensor<?xf32>) {
  ^bb0(%d: bf16, %g: bf16, %u: bf16, %acc: f32):
    %0 = arith.extf %d : bf16 to f32
    %1 = arith.extf %g : bf16 to f32
    %2 = arith.extf %u : bf16 to f32
    %3 = arith.negf %1 : f32
    %4 = math.exp %3 : f32
    %5 = arith.addf %4, %one : f32
    %6 = arith.divf %1, %5 : f32
    %7 = arith.mulf %6, %2 : f32
    %8 = arith.mulf %7, %0 : f32
    %9 = arith.addf %acc, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

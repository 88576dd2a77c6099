// --mx-statistics prints the counters of passes, because LLVM's release packages omit the counters from
// --mlir-pass-statistics. The installed tools do not contain the passes of the tests.

// RUN: mx-opt %s --mx-to-mxgpu --mx-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=GPU
// GPU-DAG: 1 mx-fuse-prologues - Operations computed where results are quantized
// GPU-DAG: 1 convert-mx-to-mxgpu {{.*}}- Kernels made
// RUN: mx-opt %s --mx-materialize-layouts --mx-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=LAYOUTS
// LAYOUTS: 2 mx-materialize-layouts - Tensors whose layout became explicit
// RUN: mx-opt %s --mx-to-mxgpu -o /dev/null 2>&1 | count 0

// RUN: mx-opt --help-hidden | FileCheck %s --check-prefix=HELP --implicit-check-not=--test-mx
// HELP: --mx-statistics
// RUN: mx-test-opt --help-hidden | FileCheck %s --check-prefix=TESTS
// TESTS: --test-mxgpu-break

!x = tensor<?x128xf32>
!e = tensor<?x128xf8E4M3FN>
!s = tensor<?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func @main(%x: !x) -> (!e, !s) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : !x
  %i = tensor.empty(%m) : !x
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%x : !x) outs(%i : !x) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %a : f32
    linalg.yield %c : f32
  } -> !x
  %e = tensor.empty(%m) : !e
  %s = tensor.empty(%m) : !s
  %q:2 = mx.quantize ins(%y : !x) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

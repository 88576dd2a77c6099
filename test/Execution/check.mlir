// --check=cpu names every operation of the entry, whether its operands are
// arguments, constants or results of called functions.
//
// REQUIRES: numpy
// RUN: %python %S/Inputs/make_arrays.py %t x:u2:40x64 w:u1:24x64 s:u1:24x2 acc:f4:40x24
// RUN: mx-run %s --device=cpu --arg %t/x.npy --arg %t/w.npy --arg %t/s.npy --arg %t/acc.npy \
// RUN:   --check=cpu --check-report=%t/report.json | FileCheck %s
// RUN: %python -c "import json, sys; print(json.load(open(sys.argv[1])))" %t/report.json | FileCheck %s --check-prefix=JSON

// CHECK:      check: mx.fused_quantize at {{.*}}check.mlir:[[@LINE+20]]:{{.*}}, result 0: 2560 elements, 0 bytes unequal
// CHECK-NEXT: check: mx.fused_quantize at {{.*}}, result 1: 512 elements, 0 bytes unequal
// CHECK-NEXT: check: mx.relayout at {{.*}}, result 0: 512 elements, 0 bytes unequal
// CHECK-NEXT: check: mx.matmul at {{.*}}, result 0: 960 elements, largest deviation {{.*}} of the bound
// CHECK-NEXT: check: mx.dequantize at {{.*}}, result 0: 1536 elements, 0 bytes unequal
// CHECK-NEXT: check: result 0 against the reference from end to end: no deviation
// CHECK-NEXT: check: result 1 against the reference from end to end: no deviation
// CHECK-NEXT: check: passed, 4 stages

// JSON: 'passed': True

!elements = tensor<40x64xf8E4M3FN>
!tiled = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<24x64xf8E4M3FN>
!linear = tensor<24x2xf8E8M0FNU>
!w_tiled = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func private @quantize(%x: tensor<40x64xbf16>) -> (!elements, !tiled) {
  %e = tensor.empty() : !elements
  %s = tensor.empty() : !tiled
  %q:2 = mx.quantize ins(%x : tensor<40x64xbf16>) outs(%e, %s : !elements, !tiled)
      -> !elements, !tiled
  return %q#0, %q#1 : !elements, !tiled
}

func.func @main(%x: tensor<40x64xbf16>, %w: !w, %s: !linear, %acc: tensor<40x24xf32>)
    -> (tensor<40x24xf32>, tensor<24x64xf32>) {
  %q:2 = call @quantize(%x) : (tensor<40x64xbf16>) -> (!elements, !tiled)
  %t = tensor.empty() : !w_tiled
  %st = mx.relayout ins(%s : !linear) outs(%t : !w_tiled) -> !w_tiled
  %y = mx.matmul ins(%q#0, %q#1, %w, %st : !elements, !tiled, !w, !w_tiled)
      outs(%acc : tensor<40x24xf32>) accumulate -> tensor<40x24xf32>
  %d = tensor.empty() : tensor<24x64xf32>
  %wide = mx.dequantize ins(%w, %s : !w, !linear) outs(%d : tensor<24x64xf32>)
      -> tensor<24x64xf32>
  return %y, %wide : tensor<40x24xf32>, tensor<24x64xf32>
}

// RUN: mx-opt %s --mx-to-cpu \
// RUN:   | mlir-runner -e main -entry-point-result=void \
// RUN:       -shared-libs=%mlir_libs/libmlir_runner_utils%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext \
// RUN:   | FileCheck %s

// Stock mlir-runner executes the output of the pipeline.

!x = tensor<2x32xf32>
!e = tensor<2x32xf8E4M3FN>
!s = tensor<2x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!c = tensor<2x2xf32>

func.func private @printMemrefF32(tensor<*xf32>)
    attributes {llvm.emit_c_interface}

// Row 0 contains 448, 1 and zeros; all elements of row 1 are 0.3.
func.func @input() -> !x {
  %y = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %top = arith.constant 448.0 : f32
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %third = arith.constant 0.3 : f32
    %is_first = arith.cmpi eq, %j, %c0 : index
    %is_second = arith.cmpi eq, %j, %c1 : index
    %in_row_0 = arith.cmpi eq, %i, %c0 : index
    %tail = arith.select %is_second, %one, %zero : f32
    %row_0 = arith.select %is_first, %top, %tail : f32
    %value = arith.select %in_row_0, %row_0, %third : f32
    tensor.yield %value : f32
  } : !x
  return %y : !x
}

func.func @main() {
  %x = call @input() : () -> !x
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e, %s : !e, !s) -> !e, !s

  // 0.3 * 2^10 = 307.2 rounds to 320 and is
  // dequantized to 0.3125.
  %d = tensor.empty() : !x
  %back = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%d : !x) -> !x
  %part = tensor.extract_slice %back[0, 0] [2, 3] [1, 1] : !x to tensor<2x3xf32>
  %unranked = tensor.cast %part : tensor<2x3xf32> to tensor<*xf32>
  // CHECK:      sizes = [2, 3]
  // CHECK:      [448, 1, 0],
  // CHECK-NEXT: [0.3125, 0.3125, 0.3125]
  call @printMemrefF32(%unranked) : (tensor<*xf32>) -> ()

  // The expected elements are 448^2 + 1, 449 * 0.3125 and 32 * 0.3125^2.
  %init = tensor.empty() : !c
  %c = mx.matmul ins(%q#0, %q#1, %q#0, %q#1 : !e, !s, !e, !s)
      outs(%init : !c) -> !c
  %unranked_c = tensor.cast %c : !c to tensor<*xf32>
  // CHECK:      sizes = [2, 2]
  // CHECK:      [200705, 140.312],
  // CHECK-NEXT: [140.312, 3.125]
  call @printMemrefF32(%unranked_c) : (tensor<*xf32>) -> ()
  return
}

// RUN: mx-opt %s --mx-to-cpu | FileCheck %s
// RUN: mx-opt %s --mx-to-cpu > %t.1
// RUN: mx-opt %s --mx-to-cpu > %t.2
// RUN: cmp %t.1 %t.2
// RUN: mx-opt %S/../../../examples/matmul.mlir --mx-to-cpu | FileCheck %s --check-prefix=EXAMPLE

// Layouts become explicit, a public function with a body gets a C interface,
// and every function returns buffers of its own.
// CHECK-LABEL: llvm.func @relayout(
// CHECK:         llvm.call @malloc
// CHECK:       llvm.func @_mlir_ciface_relayout(
// CHECK-NOT:   _mlir_ciface_other
// CHECK:       llvm.func @other(
// CHECK-NOT:   _mlir_ciface_other
// CHECK-NOT:   unrealized_conversion_cast
func.func @relayout(%x: tensor<200x6xf8E8M0FNU>)
    -> tensor<200x6xf8E8M0FNU, #mx.scale_layout<sf_128x4>> {
  %init = tensor.empty() : tensor<200x6xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %y = mx.relayout ins(%x : tensor<200x6xf8E8M0FNU>)
      outs(%init : tensor<200x6xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<200x6xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %y : tensor<200x6xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}
func.func private @other(memref<4xf32>)

// Arithmetic on bf16 calls no library functions, because a JIT in another
// process may not resolve them.
// CHECK-LABEL: llvm.func @halves(
// CHECK:         llvm.fadd %{{.*}}, %{{.*}} : f32
// CHECK:         llvm.call @__mx_round_f64_to_bf16
// CHECK:         llvm.return
func.func @halves(%x: bf16, %y: bf16) -> bf16 {
  %z = arith.addf %x, %y : bf16
  return %z : bf16
}

// EXAMPLE: llvm.func @_mlir_ciface_main(
// EXAMPLE-NOT: {{(mx|arith|memref|scf|cf|func|vector)\.[a-z]+ }}

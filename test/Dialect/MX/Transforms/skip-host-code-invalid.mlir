// RUN: mx-opt %s --split-input-file --verify-diagnostics --mx-to-nvvm=chip=sm_90a
// RUN: not mx-opt %s --mx-skip-host-code="pipeline=builtin.module(nonsense)" 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: 'nonsense' does not refer to a registered pass or pass pipeline

// The host code declares a runtime function with another type than mx.
// expected-error @below {{expected the declaration of 'mxLoadConstant' to match the declaration that mx functions call, found a different declaration}}
// expected-note @below {{declaration that mx functions call: llvm.func @mxLoadConstant(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr}}
llvm.func @mxLoadConstant(i32)
llvm.func @host(%n: i32) {
  llvm.call @mxLoadConstant(%n) : (i32) -> ()
  llvm.return
}
memref.global "private" constant @weights : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @add(%x: memref<4xf32>) {
  %w = memref.get_global @weights : memref<4xf32>
  // expected-remark @below {{runs as a simple kernel}}
  linalg.add ins(%x, %w : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

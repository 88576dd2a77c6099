// RUN: mx-opt %s -verify-diagnostics --convert-mx-to-mxgpu=chip=sm_90a

func.func @main(%p: memref<2x3x64x4xi8>, %o: memref<2x3x2xi32>) {
  // expected-error @below {{expected matrices, or a batch in one dimension, on the GPU, found 'memref<2x3x64x4xi8>'}}
  mx.row_classes ins(%p : memref<2x3x64x4xi8>) outs(%o : memref<2x3x2xi32>) axes = [1] limit = 8
  return
}

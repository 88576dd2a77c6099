// RUN: mx-opt %s --convert-mx-to-mxgpu=chip=sm_90a --canonicalize --cse | FileCheck %s

// A lane loads the spreads of a row, 8 at once if they divide the row. The kernel overlaps the previous kernel and the
// next.

// CHECK-LABEL: mxgpu.kernel @main_row_classes(
// CHECK-SAME:    %[[P:[^:]*]]: memref<64x56xi8>, %[[Q:[^:]*]]: memref<3x96xi8>,
// CHECK:         mxgpu.wait_dependencies
// CHECK-NEXT:    mxgpu.launch_dependents
// CHECK:             vector.load %[[P]]{{.*}} : memref<64x56xi8>, vector<8xi8>
// CHECK:             vector.load %[[Q]]{{.*}} : memref<3x96xi8>, vector<1xi8>
func.func @main(%p: memref<64x56xi8>, %q: memref<3x96xi8>, %o: memref<2xi32>, %r: memref<3xi32>) {
  mx.row_classes ins(%p, %q : memref<64x56xi8>, memref<3x96xi8>) outs(%o, %r : memref<2xi32>, memref<3xi32>) axes = [1, 0] limit = 8
  return
}

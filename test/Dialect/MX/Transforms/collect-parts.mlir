// RUN: mx-opt %s -mx-decompose-groups=chip=sm_90a -canonicalize -cse --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mx-opt %s -mx-decompose-groups -split-input-file --verify-diagnostics | FileCheck %s --check-prefix=NONE

// Each part is sent before the matmul computes the next part. The final sums follow at the end.
// CHECK-LABEL: @three
// CHECK: %[[Z1:.*]] = mx.grouped_matmul {{.*}} outs(%{{.*}}) columns = [0, 256] -> tensor<?x700xbf16>
// CHECK: %[[C1:.*]] = tensor.extract_slice %[[Z1]][0, 0] [%[[P:.*]], 256] [1, 1]
// CHECK: %[[S1:.*]] = mx.combine ins(%[[C1]] : tensor<?x256xbf16>) rows(%[[ROWS:.*]] : tensor<?xi32>) outs(%{{.*}} : tensor<8x256xbf16>)
// CHECK: %[[R1:.*]] = mx.all_to_all @ep ins(%[[S1]]
// CHECK: %[[Z2:.*]] = mx.grouped_matmul {{.*}} outs(%[[Z1]] : tensor<?x700xbf16>) columns = [256, 512]
// CHECK: %[[C2:.*]] = tensor.extract_slice %[[Z2]][0, 256] [%[[P]], 256] [1, 1]
// CHECK: %[[R2:.*]] = mx.all_to_all
// CHECK: mx.grouped_matmul {{.*}} outs(%[[Z2]] : tensor<?x700xbf16>) columns = [512, 700]
// CHECK: %[[R3:.*]] = mx.all_to_all @ep ins(%{{.*}} : tensor<8x188xbf16>)
// CHECK-NOT: mx.grouped_matmul
// CHECK: %[[Y1:.*]] = tensor.extract_slice %[[Y0:.*]][0, 0] [%[[T:.*]], 256] [1, 1]
// CHECK: %[[F1:.*]] = mx.combine ins(%[[R1]] : tensor<8x256xbf16>) rows(%[[TOKENS:.*]] : tensor<8xi32>) outs(%[[Y1]] : tensor<?x256xf32>)
// CHECK: tensor.insert_slice %[[F1]] into %[[Y0]][0, 0] [%[[T]], 256] [1, 1]
// CHECK: mx.combine ins(%[[R2]] : tensor<8x256xbf16>) rows(%[[TOKENS]]
// CHECK: mx.combine ins(%[[R3]] : tensor<8x188xbf16>) rows(%[[TOKENS]]
// NONE-LABEL: @three
// NONE-COUNT-3: mx.all_to_all
mx.group @ep size = 2 tokens = 4
func.func @three(%a: tensor<?x64xbf16>, %b: tensor<2x700x64xbf16>, %o: tensor<2xi32>, %z0: tensor<?x700xbf16>,
                 %ids: tensor<?x2xi32>, %slots: tensor<?xi32>, %y0: tensor<?x700xf32>) -> tensor<?x700xf32> {
  %z = mx.grouped_matmul ragged = rows ins(%a, %b : tensor<?x64xbf16>, tensor<2x700x64xbf16>) offsets(%o : tensor<2xi32>)
      outs(%z0 : tensor<?x700xbf16>) -> tensor<?x700xbf16>
  %y = mx.collect @ep experts = 4 wire = bf16 parts = 3 ids(%ids : tensor<?x2xi32>) ins(%z : tensor<?x700xbf16>)
      slots(%slots : tensor<?xi32>) outs(%y0 : tensor<?x700xf32>) -> tensor<?x700xf32>
  return %y : tensor<?x700xf32>
}

// -----

// Another use needs the whole result before the collect.
// CHECK-LABEL: @used
// CHECK: mx.grouped_matmul
// CHECK-NOT: columns
mx.group @ep size = 2 tokens = 4
func.func @used(%a: tensor<?x64xbf16>, %b: tensor<2x700x64xbf16>, %o: tensor<2xi32>, %z0: tensor<?x700xbf16>,
                %ids: tensor<?x2xi32>, %slots: tensor<?xi32>, %y0: tensor<?x700xf32>) -> (tensor<?x700xf32>, tensor<?x700xbf16>) {
  %z = mx.grouped_matmul ragged = rows ins(%a, %b : tensor<?x64xbf16>, tensor<2x700x64xbf16>) offsets(%o : tensor<2xi32>)
      outs(%z0 : tensor<?x700xbf16>) -> tensor<?x700xbf16>
  // expected-remark @below {{parts = 2 has no effect: expected as input the result of an mx.grouped_matmul ragged = rows that nothing else uses}}
  %y = mx.collect @ep experts = 4 wire = bf16 parts = 2 ids(%ids : tensor<?x2xi32>) ins(%z : tensor<?x700xbf16>)
      slots(%slots : tensor<?xi32>) outs(%y0 : tensor<?x700xf32>) -> tensor<?x700xf32>
  return %y, %z : tensor<?x700xf32>, tensor<?x700xbf16>
}

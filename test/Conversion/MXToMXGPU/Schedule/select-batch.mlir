// RUN: mx-opt %s --mx-select-schedule=chip=sm_90a | mx-opt --mx-to-nvvm=chip=sm_90a | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule=chip=sm_100a | mx-opt --mx-to-nvvm=chip=sm_100a | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule=chip=sm_120a | mx-opt --mx-to-nvvm=chip=sm_120a | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule=chip=sm_90a --mx-expand-schedules | FileCheck %s --check-prefix=CASES

// A batch is scheduled like the expert groups built by mx-group-batches. A single matrix of this
// size would get 16-row tiles and a split reduction.

// CHECK-NOT: error
// CHECK:     gpu.launch_func
!s = tensor<2x64x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @weights(%a: tensor<2x4x4096xbf16>, %b: tensor<2x64x4096xf8E4M3FN>, %bs: !s, %c: tensor<2x4x64xf32>) -> tensor<2x4x64xf32> {
  %y = mx.matmul ins(%a, %b, %bs : tensor<2x4x4096xbf16>, tensor<2x64x4096xf8E4M3FN>, !s) outs(%c : tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  return %y : tensor<2x4x64xf32>
}

!t = tensor<2x3x16x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @several(%a: tensor<2x3x16x4096xf8E4M3FN>, %s: !t, %c: tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32> {
  %y = mx.matmul ins(%a, %s, %a, %s : tensor<2x3x16x4096xf8E4M3FN>, !t, tensor<2x3x16x4096xf8E4M3FN>, !t) outs(%c : tensor<2x3x16x16xf32>) -> tensor<2x3x16x16xf32>
  return %y : tensor<2x3x16x16xf32>
}

// Limits on M apply to the rows of all matrices together, and limits on groups apply to the number
// of matrices.
// CASES-LABEL: func.func @dynamic
// CASES-DAG:     %[[N:.*]] = tensor.dim %arg0, %c0
// CASES-DAG:     %[[M:.*]] = tensor.dim %arg0, %c1
// CASES:         arith.muli %[[N]], %[[M]]
// CASES:         scf.index_switch
!d = tensor<?x4096x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @dynamic(%a: tensor<?x?x4096xbf16>, %b: tensor<?x4096x4096xf8E4M3FN>, %bs: !d, %c: tensor<?x?x4096xf32>) -> tensor<?x?x4096xf32> {
  %y = mx.matmul ins(%a, %b, %bs : tensor<?x?x4096xbf16>, tensor<?x4096x4096xf8E4M3FN>, !d) outs(%c : tensor<?x?x4096xf32>) -> tensor<?x?x4096xf32>
  return %y : tensor<?x?x4096xf32>
}

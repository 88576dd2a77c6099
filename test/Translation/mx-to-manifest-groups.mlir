// RUN: mx-opt %s --mx-to-plan=chip=sm_90a | mx-translate --mx-to-manifest | FileCheck %s

// The manifest lists each multi-rank group used by a plan, even if the plan uses no window of the group.

// CHECK:      "groups": [
// CHECK-NEXT:   {"name": "ep", "size": 2, "tokens": 4}
// CHECK-NEXT: ],
// CHECK:      {"all_gather": "arg0", "group": 0, "bytes": 1024}
mx.group @other size = 2 tokens = 4
mx.group @alone size = 1 tokens = 4
mx.group @ep size = 2 tokens = 4

func.func @gather(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = mx.all_gather @ep outs(%x : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

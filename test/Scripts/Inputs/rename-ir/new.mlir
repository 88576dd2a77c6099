// RUN: zoo-opt %s --zoo-fuse-epilogues -zoo-fuse-more --zoo-quantize="layout=sf_128x4 other=tiles" \
// RUN:   --pass-pipeline='builtin.module(zoo-fuse-epilogues,zoo-quantize{layout=sf_128x4})' | FileCheck %s
// The pass --zoo-fuse-epilogues makes zoo.load of zoo.fetch_all and !zoo.stage. A producer is shared.

#plan = #zoo.plan<tiles = 8, grouped, raster = grouped(4)>
!in_stage = !zoo.stage<4 x (a: zoo<128xf8>), producer = shared>
!in_stage1 = !zoo.stage<2 x (a: zoo<128xf8>), producer = shared>
!shared = !zoo.other<shared>

// CHECK-LABEL: func @producer
// CHECK: %[[A:.*]], %in_stage = zoo.load "zoo.fetch" grouped %{{.*}}grouped : !zoo.stage<{{.*}}> prologue {
// CHECK-SAME: grouped = #zoo.plan<grouped>
// CHECK: #zoo.layout<sf_128x4, tensor<8x
// CHECK: prologue grouped : !out_stage, !other_cage {{shared|tiles}}
// A plan shared by #zoo.plan<raster = grouped(2), by = zoo.load>, tiles of #zoo.layout<sf_128x4>.
func.func @producer(%a_cage: !in_stage, %shared: tensor<8xf8, #zoo.layout<sf_128x4, groups = 2>>) -> tensor<8xf8, #zoo.layout<linear, sf_128x4 = 1>> {
  %in_stage = zoo.load @zoo.fetch "zoo.fetch" grouped
      (%a_cage, %shared : !in_stage, !shared) {grouped = 1, zoo.unit} -> !zoo.shared
      prologue {
      ^bb0(%slice: index):
        zoo.other producer shared %slice
      }
  "zoo.load"(%in_stage) <{grouped}> : (!in_stage) -> () // after zoo.load: !zoo.stage
  %out_cage = zoo.other shared %in_stage : !in_stage
  scf.if %c { zoo.load grouped %in_stage : !in_stage } else { zoo.later producer }
  %x = zoo.other %a_cage : !other_cage
  zoo.say "zoo.fetch shared // \" shared"
  zoo.later : !in_stage1
  return %in_stage : !in_stage
}
func.func @walk(%plan: index) {
  zoo.for_each (%group_0, %row) in %plan shared : index {
    %first_stage, %last_cage:2 = zoo.load %group_0 : !in_stage
    %last_stage = zoo.other %first_stage, %last_cage#1
  }
}

// RUN: zoo-opt %s --zoo-fuse -zoo-fuse-more --zoo-quantize="layout=tiles other=tiles" \
// RUN:   --pass-pipeline='builtin.module(zoo-fuse,zoo-quantize{layout=tiles})' | FileCheck %s
// The pass --zoo-fuse makes zoo.fetch of zoo.fetch_all and !zoo.cage. A producer is shared.

#plan = #zoo.plan<tiles = 8, shared, raster = shared(4)>
!in_cage = !zoo.cage<4 x (a: zoo<128xf8>), producer = shared>
!in_cage1 = !zoo.cage<2 x (a: zoo<128xf8>), producer = shared>
!shared = !zoo.other<shared>

// CHECK-LABEL: func @producer
// CHECK: %[[A:.*]], %in_cage = zoo.fetch "zoo.fetch" shared %{{.*}}shared : !zoo.cage<{{.*}}> producer {
// CHECK-SAME: shared = #zoo.plan<shared>
// CHECK: #zoo.layout<tiles, tensor<8x
// CHECK: producer shared : !out_cage, !other_cage {{shared|tiles}}
// A plan shared by #zoo.plan<raster = shared(2), by = zoo.load>, tiles of #zoo.layout<tiles>.
func.func @producer(%a_cage: !in_cage, %shared: tensor<8xf8, #zoo.layout<tiles, groups = 2>>) -> tensor<8xf8, #zoo.layout<linear, tiles = 1>> {
  %in_cage = zoo.fetch @zoo.fetch "zoo.fetch" shared
      (%a_cage, %shared : !in_cage, !shared) {shared = 1, zoo.unit} -> !zoo.shared
      producer {
      ^bb0(%slice: index):
        zoo.other producer shared %slice
      }
  "zoo.fetch"(%in_cage) <{shared}> : (!in_cage) -> () // after zoo.fetch: !zoo.cage
  %out_cage = zoo.other shared %in_cage : !in_cage
  scf.if %c { zoo.load shared %in_cage : !in_cage } else { zoo.later producer }
  %x = zoo.other %a_cage : !other_cage
  zoo.say "zoo.fetch shared // \" shared"
  zoo.later : !in_cage1
  return %in_cage : !in_cage
}
func.func @walk(%plan: index) {
  zoo.walk (%slice_0, %row) in %plan shared : index {
    %first_cage, %last_cage:2 = zoo.load %slice_0 : !in_cage
    %last_stage = zoo.other %first_cage, %last_cage#1
  }
}

// RUN: mx-opt %s --mx-select-schedule="chip=sm_90a explain" -o /dev/null 2>&1 | FileCheck %s

// Selection offers wgmma_fp8 only, without splits or workspaces. A tile of 256 columns takes two MMAs per step, as many
// cycles as the tensor cores need for the products.

!a = tensor<8192x8192xf8E4M3FN>
!as = tensor<8192x64xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<8192x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<8192x8192xbf16>

// CHECK-LABEL: mx.matmul in @dense: 8192 x 8192 x 8192, e4m3 x e4m3 in blocks of 128 (wgmma.mma_async) to bf16
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [128, 256, 128], stages = 3, strategy = #mxgpu.wgmma_fp8, raster
// CHECK-NEXT:  chosen from 40 candidates
// CHECK:       {{^}}1  128x256x128 {{.*}} 65536
// CHECK-NOT:   workspace
// CHECK-NOT:   split_k
// CHECK:       {{^[0-9]}}  192x128x128 {{.*}} 49152
func.func @dense(%a: !a, %as: !as, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %a, %bs : !a, !as, !a, !bs) outs(%y : !y)
      block_size = 128 b_block_size = row promote = 128 -> !y
  return %0 : !y
}

// With blocks of both operands the steps take longer, so the CTAs of a pair wait less for each other, and rings hold the
// scales of intervals and their values in f32.

// CHECK-LABEL: mx.matmul in @gradient: 8192 x 8192 x 8192, e4m3 x e4m3 in blocks of 128 (wgmma.mma_async) to bf16
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [256, 256, 128], stages = 3, strategy = #mxgpu.wgmma_fp8<ctas = 2>,
// CHECK:       {{^}}1  256x256x128 {{.*}} 65536 17280
// CHECK:       tile_scales.sfa: 512
// CHECK:       factors.fa: 512
// CHECK:       factors.fb: 1024
func.func @gradient(%a: !a, %as: !as, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%y : !y)
      block_size = 128 promote = 128 -> !y
  return %0 : !y
}

!k = tensor<4096x17280xf8E4M3FN, #mx.ragged<groups = 7, align = 128>>
!ks = tensor<4096x135xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 7>>
!w = tensor<7x4096x4096xf32>

// CHECK-LABEL: mx.grouped_matmul in @groups: 4096 x 4096 x 17280
// CHECK-NEXT:  schedule: #mxgpu.schedule<{{.*}} strategy = #mxgpu.wgmma_fp8
// CHECK-NOT:   192x128x128
// CHECK:       factors.fa
func.func @groups(%a: !k, %as: !ks, %ends: tensor<7xi32>, %y: !w) -> !w {
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %a, %as : !k, !ks, !k, !ks) offsets(%ends : tensor<7xi32>)
      outs(%y : !w) block_size = 128 promote = 128 accumulate -> !w
  return %0 : !w
}

// RUN: mx-opt %s --mx-select-schedule --mx-explain -o /dev/null 2>&1 | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule=explain -o /dev/null 2>&1 | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule -o /dev/null 2>&1 | count 0

!scales = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// An explicit schedule determines every number below.
// CHECK-LABEL: mx.matmul in @by_hand: 1024 x 1024 x 512, e4m3 x e4m3 in blocks of 32 (mxf8f6f4) to f32, sm_100a with 148 SMs
// CHECK-NEXT:    schedule: #mxgpu.schedule<tile = [128, 256, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled, raster = linear, epilogue = direct>
// CHECK-NEXT:    written at the operation; all cycles are modelled, none is measured
// CHECK-NEXT:    modelled: {{[0-9]+}} cycles, {{[0-9]+\.[0-9]}} % of the tensor cores' rate; 32 work tiles in 1 wave, limited by latency
// CHECK:       as written:
// CHECK-NEXT:     candidate MMAs    steps     port     fill     ring    store  exposed    waves       L2      HBM     ends      sum    total  limit
// CHECK-NEXT:  1  128x256x128 s4 a1 f1 {{.*}} latency
// CHECK-NEXT:  the model's own:
// CHECK-NEXT:     candidate
// CHECK-NEXT:  1  {{[0-9]+x[0-9]+x[0-9]+}}
// CHECK:         2 {{loses by [0-9]+ modelled cycles, most by .+|takes as long and is less simple}}
// CHECK:       shared memory of a CTA, bytes: 204820 of 232448
// CHECK-NEXT:          0 +------------------------------+
// CHECK-NEXT:            | in.a: 16384                 |
// CHECK-NEXT:      16384 +------------------------------+
// CHECK-NEXT:            | in.b: 32768                 |
// CHECK-NEXT:      49152 +------------------------------+
// CHECK-NEXT:            | in.sfa: 512                 |
// CHECK-NEXT:      49664 +------------------------------+
// CHECK-NEXT:            | in.sfb: 1024                |
// CHECK-NEXT:      50688 +------------------------------+
// CHECK-NEXT:            | barriers of in: 16          |
// CHECK-NEXT:      50704 +------------------------------+
// CHECK-NEXT:            | alignment: 496              |
// CHECK-NEXT:      51200 +------------------------------+
// CHECK-NEXT:            | more stages of in: 3 x 51200 |
// CHECK-NEXT:     204800 +------------------------------+
// CHECK-NEXT:            | barriers of acc: 16         |
// CHECK-NEXT:     204816 +------------------------------+
// CHECK-NEXT:            | address of tensor memory: 4 |
// CHECK-NEXT:     204820 +------------------------------+
// CHECK-NEXT:            | free: 27628                 |
// CHECK-NEXT:     232448 +------------------------------+
// CHECK:       tensor memory, columns of 128 lanes: 268 of 512, 512 allocated
// CHECK-NEXT:          0 +---------------+
// CHECK-NEXT:            | acc.d: 256    |
// CHECK-NEXT:        256 +---------------+
// CHECK-NEXT:            | scales sfa: 4 |
// CHECK-NEXT:        260 +---------------+
// CHECK-NEXT:            | scales sfb: 8 |
// CHECK-NEXT:        268 +---------------+
// CHECK-NEXT:            | free: 244     |
// CHECK-NEXT:        512 +---------------+
// CHECK:       threads of a CTA: 192, of up to 255 registers
func.func @by_hand(%a: tensor<1024x512xf8E4M3FN>, %as: !scales, %y: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<1024x512xf8E4M3FN>, !scales, tensor<1024x512xf8E4M3FN>, !scales) outs(%y : tensor<1024x1024xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128]>} -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// The model chooses the best candidate. TMA stores are excluded, because TMA cannot write rows of
// 1000 bytes.
// CHECK-LABEL: mx.matmul in @odd: 512 x 500 x 256,
// CHECK-NEXT:    schedule: #mxgpu.schedule<tile = [{{.*}}epilogue = direct>
// CHECK-NEXT:    chosen from {{[0-9]+}} candidates by the model; all cycles are modelled, none is measured
// CHECK-NEXT:    tma_store is not possible: expected the row length to be a multiple of 16 bytes, found 1000; pad the result to 1008 bytes per row
// CHECK-NEXT:    modelled: [[TOTAL:[0-9]+]] cycles
// CHECK:       {{^ *}}candidate
// CHECK-NEXT:  1  {{.*}} [[TOTAL]]  {{[a-zA-Z2 ]+$}}
func.func @odd(%a: tensor<512x256xf8E4M3FN>, %as: !scales, %b: tensor<500x256xf8E4M3FN>, %y: tensor<512x500xbf16>) -> tensor<512x500xbf16> {
  %0 = mx.matmul ins(%a, %as, %b, %as : tensor<512x256xf8E4M3FN>, !scales, tensor<500x256xf8E4M3FN>, !scales) outs(%y : tensor<512x500xbf16>) -> tensor<512x500xbf16>
  return %0 : tensor<512x500xbf16>
}

// An explicit schedule with TMA stores falls back, and the figures describe the fallback.
// CHECK-LABEL: mx.matmul in @falls_back:
// CHECK-NEXT:    schedule: {{.*}} epilogue = tma_store, staging = 3>
// CHECK-NEXT:    written at the operation;
// CHECK-NEXT:    tma_store is not possible: expected the row length to be a multiple of 16 bytes, found 1000; pad the result to 1008 bytes per row; epilogue = direct is used instead
// CHECK:       as written:
// CHECK-NEXT:     candidate
// CHECK-NEXT:  1  128x128x128 s3 a1 f1  {{.*}}
// CHECK-NOT:   tma3
// CHECK:       shared memory of a CTA, bytes: 104468 of 232448
// CHECK-NOT:   staging.c
func.func @falls_back(%a: tensor<512x256xf8E4M3FN>, %as: !scales, %b: tensor<500x256xf8E4M3FN>, %y: tensor<512x500xbf16>) -> tensor<512x500xbf16> {
  %0 = mx.matmul ins(%a, %as, %b, %as : tensor<512x256xf8E4M3FN>, !scales, tensor<500x256xf8E4M3FN>, !scales) outs(%y : tensor<512x500xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 3, epilogue = tma_store, staging = 3>} -> tensor<512x500xbf16>
  return %0 : tensor<512x500xbf16>
}

// CHECK-LABEL: mx.matmul in @dynamic: ? x ? x ?,
// CHECK:         unknown rows: modelled as 8192
// CHECK-NEXT:    unknown columns: modelled as 8192
// CHECK-NEXT:    unknown reduction: modelled as 8192
// CHECK-NEXT:    tma_store is not considered: it needs result rows of a multiple of 16 bytes, which unknown sizes do not guarantee
func.func @dynamic(%a: tensor<?x?xf8E4M3FN>, %as: !scales, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<?x?xf8E4M3FN>, !scales, tensor<?x?xf8E4M3FN>, !scales) outs(%y : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

// An explicit schedule is allowed with unknown sizes.
// CHECK-LABEL: mx.matmul in @trusted:
// CHECK:         unknown columns: modelled as 8192
// CHECK-NEXT:    tma_store needs result rows of a multiple of 16 bytes, which the launch checks
// CHECK:         staging.c: 4096
// CHECK:         more stages of staging: 7 x 4096
func.func @trusted(%a: tensor<512x256xf8E4M3FN>, %as: !scales, %b: tensor<?x256xf8E4M3FN>, %y: tensor<512x?xbf16>) -> tensor<512x?xbf16> {
  %0 = mx.matmul ins(%a, %as, %b, %as : tensor<512x256xf8E4M3FN>, !scales, tensor<?x256xf8E4M3FN>, !scales) outs(%y : tensor<512x?xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 3, epilogue = tma_store>} -> tensor<512x?xbf16>
  return %0 : tensor<512x?xbf16>
}

// Rejects a schedule that splits the reduction into more parts than there are reduction tiles.
// CHECK-LABEL: mx.matmul in @parts:
// CHECK:         this schedule is refused: expected split_k to be at most 2, the number of reduction tiles, found 3
// CHECK-NOT:     candidate
func.func @parts(%a: tensor<512x256xf8E4M3FN>, %as: !scales, %y: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<512x256xf8E4M3FN>, !scales, tensor<512x256xf8E4M3FN>, !scales) outs(%y : tensor<512x512xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], split_k = 3>} -> tensor<512x512xbf16>
  return %0 : tensor<512x512xbf16>
}

// CHECK-LABEL: mx.matmul in @refused:
// CHECK:         this schedule is refused: expected at most 232448 bytes of shared memory on sm_100a, found 2048020
// CHECK-NOT:     candidate
func.func @refused(%a: tensor<?x?xf8E4M3FN>, %as: !scales, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<?x?xf8E4M3FN>, !scales, tensor<?x?xf8E4M3FN>, !scales) outs(%y : tensor<?x?xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 40>} -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

// A raster with grouped rows is printed as in the schedule.
// CHECK-LABEL: mx.matmul in @by_groups:
// CHECK:          candidate {{ *}}MMAs
// CHECK:       {{^[1-8]}}  {{[^ ]+}} {{.*}} group_m({{[0-9]+}}){{( tma[0-9])? +[0-9]+ +[0-9]+}}
!rows = tensor<16384x4096xf8E4M3FN>
!row_scales = tensor<16384x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!square = tensor<16384x16384xbf16>
func.func @by_groups(%a: !rows, %sa: !row_scales, %b: !rows, %sb: !row_scales) -> !square {
  %init = tensor.empty() : !square
  %y = mx.matmul ins(%a, %sa, %b, %sb : !rows, !row_scales, !rows, !row_scales)
      outs(%init : !square) -> !square
  return %y : !square
}

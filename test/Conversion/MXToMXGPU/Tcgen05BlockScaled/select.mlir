// RUN: mx-opt %s --mx-select-schedule="chip=sm_100a" | FileCheck %s
// RUN: mx-opt %s --mx-select-schedule="chip=sm_100a" | mx-opt --mx-select-schedule="chip=sm_103a" | FileCheck %s
// RUN: not mx-opt %s --mx-select-schedule="chip=sm_1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown chip 'sm_1': expected one of 'sm_100a', 'sm_100f', 'sm_103a', 'sm_90a'
// UNKNOWN-NOT: error:

!scales = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// Tests of the model cover the best schedule by shape; this test only checks
// that each operation gets a complete schedule.
// CHECK-LABEL: func.func @small
// CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [{{128|256}}, {{[0-9]+}}, {{[0-9]+}}], stages = {{[1-9][0-9]*}}, strategy = #mxgpu.tcgen05_block_scaled{{.*}}, {{.*}}raster = linear, epilogue = {{.+}}>
func.func @small(%a: tensor<1024x512xf8E4M3FN>, %as: tensor<1024x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %y: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<1024x512xf8E4M3FN>, tensor<1024x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<1024x512xf8E4M3FN>, tensor<1024x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%y : tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  return %0 : tensor<1024x1024xbf16>
}

// CHECK-LABEL: func.func @large
// CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [{{128|256}}, {{128|192|256}}, {{[0-9]+}}], stages = {{[1-9][0-9]*}}, strategy = #mxgpu.tcgen05_block_scaled{{.*}}, {{.*}}>
func.func @large(%a: tensor<8192x512xf8E4M3FN>, %as: tensor<8192x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %y: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<8192x512xf8E4M3FN>, tensor<8192x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<8192x512xf8E4M3FN>, tensor<8192x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%y : tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
}

// TMA stores are not selected for rows of unknown length.
// CHECK-LABEL: func.func @dynamic
// CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [{{128|256}}, {{64|128|192|256}}, {{128|256}}], {{.*}}epilogue = direct>
func.func @dynamic(%a: tensor<?x?xf8E4M3FN>, %as: !scales, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<?x?xf8E4M3FN>, !scales, tensor<?x?xf8E4M3FN>, !scales) outs(%y : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

// CHECK-LABEL: func.func @empty
// CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [128,
func.func @empty(%a: tensor<0x512xf8E4M3FN>, %as: tensor<0x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %y: tensor<0x0xbf16>) -> tensor<0x0xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<0x512xf8E4M3FN>, tensor<0x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<0x512xf8E4M3FN>, tensor<0x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%y : tensor<0x0xbf16>) -> tensor<0x0xbf16>
  return %0 : tensor<0x0xbf16>
}

// An existing schedule is kept, whichever fields it sets.
// CHECK-LABEL: func.func @by_hand
// CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 40, strategy = #mxgpu.tcgen05_block_scaled, raster = linear, epilogue = direct>
func.func @by_hand(%a: tensor<?x?xf8E4M3FN>, %as: !scales, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<?x?xf8E4M3FN>, !scales, tensor<?x?xf8E4M3FN>, !scales) outs(%y : tensor<?x?xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 40, strategy = #mxgpu.tcgen05_block_scaled, raster = linear, epilogue = direct>} -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

// The number of stages is filled in if the schedule omits it.
// CHECK-LABEL: func.func @open
// CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 6, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>
func.func @open(%a: tensor<?x?xf8E4M3FN>, %as: !scales, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %0 = mx.matmul ins(%a, %as, %a, %as : tensor<?x?xf8E4M3FN>, !scales, tensor<?x?xf8E4M3FN>, !scales) outs(%y : tensor<?x?xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>>} -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

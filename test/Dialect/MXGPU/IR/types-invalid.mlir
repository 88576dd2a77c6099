// RUN: mx-opt %s -split-input-file -verify-diagnostics

// Every type and attribute that does not exist is refused where it is written.

// expected-error @below {{expected at least 1 dimension, found none}}
func.func private @f(!mxgpu.tensor_map<bf16>)

// -----

// expected-error @below {{expected dimensions of at least 1, found 0}}
func.func private @f(!mxgpu.tensor_map<16x0xi8>)

// -----

// expected-error @below {{expected elements of whole bytes, found 'i4'}}
func.func private @f(!mxgpu.tensor_map<16x128xi4>)

// -----

// expected-error @below {{expected elements of whole bytes, found 'index'}}
func.func private @f(!mxgpu.tensor_map<16x128xindex>)

// -----

// expected-error @below {{expected at most 1073741824 bytes, found more}}
func.func private @f(!mxgpu.buffer<smem<65536x65536xi8>>)

// -----

// expected-error @below {{expected at most 1073741824 bytes, found more}}
func.func private @f(!mxgpu.buffer<smem<4294967296x4294967296x4294967296xi8>>)

// -----

// expected-error @below {{expected rows of at most 128 bytes under swizzle sw128, found 256}}
func.func private @f(!mxgpu.tensor_map<16x128xbf16, sw128>)

// -----

// expected-error @below {{expected rows of at most 32 bytes under swizzle sw32, found 64}}
func.func private @f(!mxgpu.tensor_map<16x64xi8, sw32>)

// -----

// expected-error @below {{expected a box of at most 5 dimensions, found 6}}
func.func private @f(!mxgpu.tensor_map<1x1x1x1x1x16xi8>)

// -----

// expected-error @below {{expected box dimensions of at most 256, found 257}}
func.func private @f(!mxgpu.tensor_map<257x16xi8>)

// -----

// expected-error @below {{expected box rows of a multiple of 16 bytes, found 24}}
func.func private @f(!mxgpu.tensor_map<16x24xi8>)

// -----

// expected-error @below {{expected one of [none, sw32, sw64, sw128] for permutation of 16-byte chunks in shared memory (PTX ISA, Swizzling modes), got: sw64x}}
func.func private @f(!mxgpu.tensor_map<16x128xi8, sw64x>)

// -----

// expected-error @below {{expected no swizzle in tensor memory, found sw128}}
func.func private @f(!mxgpu.buffer<tmem<128x32xf32, sw128>>)

// -----

// expected-error @below {{expected f32 in tensor memory, found 'bf16'}}
func.func private @f(!mxgpu.buffer<tmem<128x128xbf16>>)

// -----

// expected-error @below {{expected 128 lanes and a number of columns in tensor memory, found shape [64, 128]}}
func.func private @f(!mxgpu.buffer<tmem<64x128xf32>>)

// -----

// expected-error @below {{expected 128 lanes and a number of columns in tensor memory, found shape [128]}}
func.func private @f(!mxgpu.buffer<tmem<128xf32>>)

// -----

// expected-error @below {{expected 1 to 1024 stages, found 0}}
func.func private @f(!mxgpu.ring<0 x (a: smem<128xi8>), producer = tma, consumer = mma>)

// -----

// expected-error @below {{expected 1 to 1024 stages, found 1025}}
func.func private @f(!mxgpu.ring<1025 x (a: smem<128xi8>), producer = tma, consumer = mma>)

// -----

// expected-error @below {{expected at least 1 buffer in a stage, found none}}
func.func private @f(!mxgpu.ring<1 x (), producer = tma, consumer = mma>)

// -----

// expected-error @below {{expected different names, found "a" twice}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>, a: smem<128xi8>), producer = tma, consumer = mma>)

// -----

// expected-error @below {{expected 1 to 1024 threads, found 0}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(0)>)

// -----

// expected-error @below {{expected 1 to 1024 threads, found 1025}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(1025)>)

// -----

// expected-error @below {{expected a producer that can write tmem with scope = cta, found tma}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = tma, consumer = threads(128)>)

// -----

// expected-error @below {{expected a producer that can write smem with scope = cta, found mma}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>), producer = mma, consumer = mma>)

// -----

// expected-error @below {{expected a producer that can write smem with scope = pair, found threads}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>), producer = threads(128), consumer = tma_store, scope = pair>)

// -----

// expected-error @below {{expected a consumer that can read smem filled by tma, found tma}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>), producer = tma, consumer = tma>)

// -----

// expected-error @below {{expected a consumer that can read smem filled by clc, found threads}}
func.func private @f(!mxgpu.ring<1 x (a: smem<16xi8>), producer = clc, consumer = threads(128)>)

// -----

// expected-error @below {{expected a consumer that can read tmem filled by mma, found mma}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma, consumer = mma>)

// -----

// expected-error @below {{expected an overlap only of 2 stages of one buffer in tensor memory, found 1 stages of 1 buffers}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x256xf32>), producer = mma, consumer = threads(128), overlap = 64>)

// -----

// expected-error @below {{expected an overlap of 1 to 128 columns, found 129}}
func.func private @f(!mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma, consumer = threads(128), overlap = 129>)

// -----

// expected-error @below {{expected a producer that can write smem with scope = warp, found tma}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = tma, consumer = mma, scope = warp>)

// -----

// expected-error @below {{expected a consumer that can read smem filled by threads, found mma}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(32), consumer = mma, scope = warp>)

// -----

// A warp's stages have no barriers.
// expected-error @below {{expected a consumer that can read smem filled by threads, found threads}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(32), consumer = threads(32), scope = warp>)

// -----

// expected-error @below {{expected 3 tile sizes (rows, columns, reduction), found 2}}
#schedule = #mxgpu.schedule<tile = [128, 128], stages = 4, accumulators = 2, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected a tile of 128 rows without a CTA pair, found 256}}
#schedule = #mxgpu.schedule<tile = [256, 128, 128], stages = 4, accumulators = 2, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected a tile of 64, 128, 192 or 256 columns, or fewer in multiples of 16, found 72}}
#schedule = #mxgpu.schedule<tile = [128, 72, 128], stages = 4, accumulators = 2, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected a tile of 128 or 256 reduction elements, found 64}}
#schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, accumulators = 2, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected 1 to 1024 stages, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 0, accumulators = 2, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected 1 to 1024 accumulators, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, accumulators = 0, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected 1 to 1024 stages, found 9223372036854775807}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 9223372036854775807, accumulators = 2, raster = linear, epilogue = direct>

// -----

// expected-error @below {{expected a tile of 256 rows of a CTA pair, found 128}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], cta_pair>

// -----

// expected-error @below {{expected a tile of 64, 128, 192 or 256 columns, or fewer in multiples of 32, found 48}}
#schedule = #mxgpu.schedule<tile = [256, 48, 128], cta_pair>

// -----

// expected-error @below {{expected a tile, found none}}
#schedule = #mxgpu.schedule<stages = 4>

// -----

// expected-error @below {{expected each field once, found 'stages' twice}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, stages = 4>

// -----

// expected-error @below {{expected tile, cta_pair, stages, accumulators, overlap, scale_stages, split_k, tile_loop, raster, epilogue, staging, registers, l2 or pdl, found 'stage'}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stage = 4>

// -----

// expected-error @below {{expected an overlap of 64 or 128 columns, found 32}}
#schedule = #mxgpu.schedule<tile = [128, 256, 128], accumulators = 2, overlap = 32>

// -----

// expected-error @below {{expected an overlap only of 2 accumulators of 256 columns, found 2 of 128}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], accumulators = 2, overlap = 64>

// -----

// expected-error @below {{expected group_m(n) with n from 1 to 1048576, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], raster = group_m(0)>

// -----

// expected-error @below {{expected 1 to 1024 splits of the reduction, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], split_k = 0>

// -----

// expected-error @below {{expected staging buffers only with epilogue = tma_store, found epilogue = direct}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], staging = 3>

// -----

// expected-error @below {{expected registers of the epilogue and of the other roles, found 1 numbers}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], registers = [200]>

// -----

// expected-error @below {{expected registers in multiples of 8 from 24 to 256, found 20}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], registers = [200, 20]>

// -----

// expected-error @below {{'func.func' op expected mxgpu.schedule only on mx.matmul and mx.grouped_matmul}}
func.func private @f() attributes {mxgpu.schedule = 1}

// -----

// expected-error @below {{'func.func' op has unknown attribute "mxgpu.shedule"}}
func.func private @f() attributes {mxgpu.shedule = 1}

// -----

func.func @f(%a: tensor<128x128xf8E4M3FN>, %s: tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %y: tensor<128x128xf32>) -> tensor<128x128xf32> {
  // expected-error @below {{'mx.matmul' op expected mxgpu.schedule to be #mxgpu.schedule, found 1 : i64}}
  %0 = mx.matmul ins(%a, %s, %a, %s : tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%y : tensor<128x128xf32>) {mxgpu.schedule = 1} -> tensor<128x128xf32>
  return %0 : tensor<128x128xf32>
}

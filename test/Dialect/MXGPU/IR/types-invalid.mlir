// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Rejects invalid types and attributes when they are parsed.

// -----

// CASES
// shared C28
// expected-error @below {{expected at least 1 dimension, found none}}
func.func private @f(!mxgpu.tensor_map<bf16>)

// shared C29
// expected-error @below {{expected dimensions of at least 1, found 0}}
func.func private @f(!mxgpu.tensor_map<16x0xi8>)

// shared C31
// expected-error @below {{expected elements that fill whole bytes, found 'i4'}}
func.func private @f(!mxgpu.tensor_map<16x128xi4>)

// shared C31
// expected-error @below {{expected elements that fill whole bytes, found 'index'}}
func.func private @f(!mxgpu.tensor_map<16x128xindex>)

// shared C32
// expected-error @below {{expected at most 1073741824 bytes, found more}}
func.func private @f(!mxgpu.buffer<smem<65536x65536xi8>>)

// shared C32
// expected-error @below {{expected at most 1073741824 bytes, found more}}
func.func private @f(!mxgpu.buffer<smem<4294967296x4294967296x4294967296xi8>>)

// shared C35
// expected-error @below {{expected rows of at most 128 bytes with swizzle sw128, found 256}}
func.func private @f(!mxgpu.tensor_map<16x128xbf16, sw128>)

// shared C35
// expected-error @below {{expected rows of at most 32 bytes with swizzle sw32, found 64}}
func.func private @f(!mxgpu.tensor_map<16x64xi8, sw32>)

// tensor_map C1
// expected-error @below {{expected a box of at most 5 dimensions, found 6}}
func.func private @f(!mxgpu.tensor_map<1x1x1x1x1x16xi8>)

// tensor_map C2
// expected-error @below {{expected box dimensions of at most 256, found 257}}
func.func private @f(!mxgpu.tensor_map<257x16xi8>)

// tensor_map C5
// expected-error @below {{expected the size of box rows to be a multiple of 16 bytes, found 24}}
func.func private @f(!mxgpu.tensor_map<16x24xi8>)

// expected-error @below {{expected one of [none, sw32, sw64, sw128] for permutation of 16-byte chunks in shared memory (PTX ISA, Swizzling modes), got: sw64x}}
func.func private @f(!mxgpu.tensor_map<16x128xi8, sw64x>)

// buffer C1
// expected-error @below {{expected no swizzle in tensor memory, found sw128}}
func.func private @f(!mxgpu.buffer<tmem<128x32xf32, sw128>>)

// buffer C2
// expected-error @below {{expected f32 in tensor memory, found 'bf16'}}
func.func private @f(!mxgpu.buffer<tmem<128x128xbf16>>)

// buffer C3
// expected-error @below {{expected 128 lanes by any number of columns in tensor memory, found shape [64, 128]}}
func.func private @f(!mxgpu.buffer<tmem<64x128xf32>>)

// buffer C3
// expected-error @below {{expected 128 lanes by any number of columns in tensor memory, found shape [128]}}
func.func private @f(!mxgpu.buffer<tmem<128xf32>>)

// ring C1
// expected-error @below {{expected 1 to 1024 stages, found 0}}
func.func private @f(!mxgpu.ring<0 x (a: smem<128xi8>), producer = bulk_copy, consumer = mma_commit>)

// ring C1
// expected-error @below {{expected 1 to 1024 stages, found 1025}}
func.func private @f(!mxgpu.ring<1025 x (a: smem<128xi8>), producer = bulk_copy, consumer = mma_commit>)

// ring C2
// expected-error @below {{expected at least 1 buffer in a stage, found none}}
func.func private @f(!mxgpu.ring<1 x (), producer = bulk_copy, consumer = mma_commit>)

// ring C3
// expected-error @below {{expected buffers with different names, found "a" twice}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>, a: smem<128xi8>), producer = bulk_copy, consumer = mma_commit>)

// ring C4
// expected-error @below {{expected 1 to 1024 threads, found 0}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(0)>)

// ring C4
// expected-error @below {{expected 1 to 1024 threads, found 1025}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(1025)>)

// ring C5
// expected-error @below {{expected a producer that can write tmem with scope = cta, found bulk_copy}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = bulk_copy, consumer = threads(128)>)

// ring C5
// expected-error @below {{expected a producer that can write smem with scope = cta, found mma_commit}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>), producer = mma_commit, consumer = mma_commit>)

// ring C5
// expected-error @below {{expected a consumer that can read smem filled by threads, found bulk_store}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>), producer = threads(128), consumer = bulk_store, scope = pair>)

// ring C6
// expected-error @below {{expected a consumer that can read smem filled by bulk_copy, found bulk_copy}}
func.func private @f(!mxgpu.ring<1 x (a: smem<128xi8>), producer = bulk_copy, consumer = bulk_copy>)

// ring C6
// expected-error @below {{expected a consumer that can read smem filled by clc, found threads}}
func.func private @f(!mxgpu.ring<1 x (a: smem<16xi8>), producer = clc, consumer = threads(128)>)

// ring C6
// expected-error @below {{expected a consumer that can read tmem filled by mma_commit, found mma_commit}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = mma_commit>)

// ring C8
// expected-error @below {{'overlap' requires a ring of 2 stages with one buffer in tensor memory, found 1 stages of 1 buffers}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 64>)

// ring C9
// expected-error @below {{expected an overlap of 1 to 128 columns, found 129}}
func.func private @f(!mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 129>)

// ring C5
// expected-error @below {{expected a producer that can write smem with scope = warp, found bulk_copy}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = bulk_copy, consumer = mma_commit, scope = warp>)

// ring C6
// expected-error @below {{expected a consumer that can read smem filled by threads, found mma_commit}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(32), consumer = mma_commit, scope = warp>)

// Rejects a pair ring filled by threads, unless the leader's tensor core consumes the stages.
// ring C6
// expected-error @below {{expected a consumer that can read smem filled by threads, found threads}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(128), consumer = threads(128), scope = pair>)

// ring C6
// expected-error @below {{expected a consumer that can read smem filled by threads, found async_threads}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(128), consumer = async_threads(128), scope = pair>)

// Rejects a warp ring read by threads, because the stages of a warp have no barriers.
// ring C6
// expected-error @below {{expected a consumer that can read smem filled by threads, found threads}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(32), consumer = threads(32), scope = warp>)

// ring C6
// expected-error @below {{expected a consumer that can read smem filled by clc, found async_threads}}
func.func private @f(!mxgpu.ring<1 x (a: smem<16xi8>), producer = clc, consumer = async_threads(128)>)

// ring C6
// expected-error @below {{expected a consumer that can read tmem filled by mma_commit, found async_threads}}
func.func private @f(!mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = async_threads(128)>)

// ring C6
// expected-error @below {{expected a consumer that can read smem filled by threads, found async_threads}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = threads(32), consumer = async_threads(128), scope = warp>)

// ring C5
// expected-error @below {{expected a producer that can write smem with scope = cta, found async_threads}}
func.func private @f(!mxgpu.ring<2 x (a: smem<128xi8>), producer = async_threads(128), consumer = threads(128)>)

// schedule C1
// expected-error @below {{expected 3 tile sizes (rows, columns, reduction), found 2}}
#schedule = #mxgpu.schedule<tile = [128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>

// schedule C2
// expected-error @below {{expected tile sizes from 8 to 256 in steps of 8, found 260}}
#schedule = #mxgpu.schedule<tile = [128, 260, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>

// schedule C2
// expected-error @below {{expected tile sizes from 8 to 256 in steps of 8, found 512}}
#schedule = #mxgpu.schedule<tile = [128, 128, 512], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>

// schedule C3
// expected-error @below {{expected 1 to 1024 stages, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 0, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>

// schedule C3
// expected-error @below {{expected 1 to 1024 stages, found 9223372036854775807}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 9223372036854775807, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>

// expected-error @below {{expected a tile, found none}}
#schedule = #mxgpu.schedule<stages = 4>

// expected-error @below {{expected each field once, found 'stages' twice}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, stages = 4>

// expected-error @below {{expected tile, stages, strategy, workspace, split_k, raster, epilogue, staging, registers, l2 or pdl, found 'stage'}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], stage = 4>

// expected-error @below {{expected a strategy such as #mxgpu.tcgen05_block_scaled, found #mxgpu.raster<linear>}}
#schedule = #mxgpu.schedule<tile = [128, 256, 128], strategy = #mxgpu.raster<linear>>

// Rejects a field of another strategy.
// expected-error @below {{duplicate or unknown struct parameter name: overlap}}
#strategy = #mxgpu.wgmma_upcast_b<overlap = 64>

// tcgen05_block_scaled C1
// expected-error @below {{expected 1 or 2 CTAs that share a tile, found 3}}
#strategy = #mxgpu.tcgen05_block_scaled<ctas = 3>

// tcgen05_block_scaled C2
// expected-error @below {{expected 1 to 1024 accumulators, found 0}}
#strategy = #mxgpu.tcgen05_block_scaled<accumulators = 0>

// tcgen05_block_scaled C2
// expected-error @below {{expected 1 to 1024 scale stages, found 9223372036854775807}}
#strategy = #mxgpu.tcgen05_block_scaled<scale_stages = 9223372036854775807>

// tcgen05_block_scaled C3
// expected-error @below {{expected 0, 64 or 128 overlap columns, found 32}}
#strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 32>

// tcgen05_upcast_b C1
// expected-error @below {{expected 1 or 2 CTAs that share a tile, found 0}}
#strategy = #mxgpu.tcgen05_upcast_b<ctas = 0>

// tcgen05_upcast_b C2
// expected-error @below {{expected 1 to 1024 operand stages, found 1025}}
#strategy = #mxgpu.tcgen05_upcast_b<operand_stages = 1025>

// wgmma_upcast_b C1
// expected-error @below {{expected 1 to 1024 operand stages, found -1}}
#strategy = #mxgpu.wgmma_upcast_b<operand_stages = -1>

// wgmma_swap_ab C1
// expected-error @below {{expected 1 to 1024 CTAs per SM, found 0}}
#strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 0>

// wgmma_bf16 C1
// expected-error @below {{expected 1 or 2 CTAs that share a tile, found 4}}
#strategy = #mxgpu.wgmma_bf16<ctas = 4>

// wgmma_fp8 C1
// expected-error @below {{expected 1 or 2 CTAs that share a tile, found 4}}
#strategy = #mxgpu.wgmma_fp8<ctas = 4>

// schedule C10
// expected-error @below {{'cluster_split' requires split_k from 2 to 8, the number of CTAs in a cluster, found 9}}
#schedule = #mxgpu.schedule<tile = [128, 128, 64], strategy = #mxgpu.wgmma_upcast_b<cluster_split = true>, split_k = 9>

// fragment_64x64 C1
// expected-error @below {{expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN in order #mxgpu.fragment_64x64, found 'bf16'}}
!packed = tensor<128x64xbf16, #mxgpu.fragment_64x64>

// k_order C1
// expected-error @below {{expected blocks of 32 or 64 columns, found 16}}
#order = #mxgpu.k_order<16>

// k_order C2
// expected-error @below {{expected bf16 elements in order #mxgpu.k_order<32>, found 'f16'}}
!ordered = tensor<128x96xf16, #mxgpu.k_order<32>>

// raster C1
// expected-error @below {{expected group_m(n) with n from 1 to 1048576, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], raster = group_m(0)>

// schedule C4
// expected-error @below {{expected 1 to 1024 splits of the reduction, found 0}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], split_k = 0>

// schedule C7
// expected-error @below {{'staging' requires epilogue = tma_store, found epilogue = direct}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], staging = 3>

// schedule C8
// expected-error @below {{expected register counts for 2 or 3 kinds of roles, found 1 counts}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], registers = [200]>

// schedule C9
// expected-error @below {{expected a register count that is a multiple of 8 from 24 to 256, found 20}}
#schedule = #mxgpu.schedule<tile = [128, 128, 128], registers = [200, 20]>

// carried_attributes C2
// expected-error @below {{'func.func' op expected mxgpu.schedule only on mx.matmul and mx.grouped_matmul}}
func.func private @f() attributes {mxgpu.schedule = 1}

// carried_attributes C2
// expected-error @below {{'func.func' op expected mxgpu.expected_rows only on mx.grouped_matmul, mx.quantize and mx.fused_quantize}}
func.func private @f() attributes {mxgpu.expected_rows = 1}

// carried_attributes C1
// expected-error @below {{'func.func' op has unknown attribute "mxgpu.shedule"}}
func.func private @f() attributes {mxgpu.shedule = 1}

// schedule_case C1
// expected-error @below {{expected max_n to be at least 0, found -1}}
#case = #mxgpu.schedule_case<max_n = -1, schedule = #mxgpu.schedule<tile = [128, 128, 128]>>

// shared C30
// expected-error @below {{'padded' requires 4-bit or 6-bit elements, found 'i8'}}
func.func private @f(!mxgpu.buffer<smem<128x16xi8, padded>>)

// shared C33
// expected-error @below {{expected rows that fill whole bytes, found 3 elements of 'f4E2M1FN'}}
func.func private @f(!mxgpu.buffer<smem<128x3xf4E2M1FN>>)

// shared C34
// expected-error @below {{expected the length of padded rows to be a multiple of 16 elements, found 24}}
func.func private @f(!mxgpu.buffer<smem<128x24xf4E2M1FN, padded>>)

// tensor_map C3
// expected-error @below {{6-bit elements require 'padded'}}
func.func private @f(!mxgpu.tensor_map<128x128xf6E2M3FN>)

// tensor_map C4
// expected-error @below {{expected padded box rows of 128 elements, found 64}}
func.func private @f(!mxgpu.tensor_map<128x64xf4E2M1FN, padded>)

// Rejects sw64 for padded rows, because padded rows take 128 bytes.
// shared C35
// expected-error @below {{expected rows of at most 64 bytes with swizzle sw64, found 128}}
func.func private @f(!mxgpu.tensor_map<128x128xf4E2M1FN, sw64, padded>)

// scales C2
// expected-error @below {{expected 1 to 1024 tiles, found 1025}}
func.func private @f(!mxgpu.scales<128x1025>)

// scales C3
// expected-error @below {{expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'f32'}}
func.func private @f(!mxgpu.scales<128, f32>)

// -----

// TEMPLATE matmul
// SET attributes = none
!a = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<128x128xf32>
func.func @f(%a: !a, %s: !s, %y: !y) -> !y {
  // BLOCK error
  // END
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) {${attributes}} -> !y
  return %0 : !y
}

// -----

// CASES matmul error
// SET attributes = mxgpu.schedule = 1
// carried_attributes C3
// expected-error @below {{'mx.matmul' op expected mxgpu.schedule to be #mxgpu.schedule, found 1 : i64}}

// SET attributes = mxgpu.schedules = 1
// carried_attributes C3
// expected-error @below {{'mx.matmul' op expected mxgpu.schedules to be an array of #mxgpu.schedule_case, found 1 : i64}}

// SET attributes = mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128]>, mxgpu.schedules = [#mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [128, 128, 128]>>]
// carried_attributes C4
// expected-error @below {{'mx.matmul' op expected mxgpu.schedule or mxgpu.schedules, found both}}

// SET attributes = mxgpu.schedules = [#mxgpu.schedule_case<max_m = 4, schedule = #mxgpu.schedule<tile = [128, 128, 128]>>]
// carried_attributes C5
// expected-error @below {{'mx.matmul' op expected the last case of mxgpu.schedules to have no limit}}

// SET attributes = mxgpu.schedules = []
// carried_attributes C5
// expected-error @below {{'mx.matmul' op expected the last case of mxgpu.schedules to have no limit}}

// SET attributes = mxgpu.schedules = [#mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [128, 128, 128]>>, #mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [128, 128, 128]>>]
// carried_attributes C6
// expected-error @below {{'mx.matmul' op expected each case of mxgpu.schedules except the last to have a limit, found #mxgpu.schedule_case}}

// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE role
// SET map = 128x128xf8E4M3FN, sw128
// SET ring = producer = bulk_copy, consumer = mma_commit
// SET elected = elected
!map = !mxgpu.tensor_map<${map}>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), ${ring}>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    %in2 = mxgpu.ring "in2" : !in
    mxgpu.role @role warps(1) ${elected} {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
%stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
// shared C2
// expected-error @below {{'mxgpu.tma_load' op expected a buffer of mxgpu.producer_acquire, found a buffer of mxgpu.consumer_wait}}
mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage

%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C3
// expected-error @below {{'mxgpu.tma_load' op expected at most 2 coordinates, found 3}}
mxgpu.tma_load %map[%n, %n, %n] into %a for %stage : !map, !a, !in_stage

%stage, %d = mxgpu.producer_acquire %acc : !acc
// tma_load C1
// expected-error @below {{'mxgpu.tma_load' op expected a buffer in shared memory, found '!mxgpu.buffer<tmem<128x128xf32>>'}}
mxgpu.tma_load %map[%n, %n] into %d for %stage : !map, !d, !acc_stage

// SET ring = producer = threads(32), consumer = threads(32)
// SET elected = 
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C4
// expected-error @below {{'mxgpu.tma_load' op expected a ring with producer bulk_copy, found threads}}
mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage

// Rejects a buffer of another stage, a buffer without a stage, and the stage of a consumer.
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
%t, %t_a, %t_b, %t_sfa, %t_sfb = mxgpu.producer_acquire %in2 : !in
// tma_load C2
// expected-error @below {{'mxgpu.tma_load' op expected a buffer of the 'stage' operand}}
mxgpu.tma_load %map[%n, %n] into %s_a for %t : !map, !a, !in_stage

%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
%other = ub.poison : !a
// tma_load C2
// expected-error @below {{'mxgpu.tma_load' op expected a buffer of the 'stage' operand}}
mxgpu.tma_load %map[%n, %n] into %other for %stage : !map, !a, !in_stage

%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
%t, %t_a, %t_b, %t_sfa, %t_sfb = mxgpu.consumer_wait %in : !in
// tma_load C2
// expected-error @below {{'mxgpu.tma_load' op expected a buffer of the 'stage' operand}}
mxgpu.tma_load %map[%n, %n] into %s_a for %t : !map, !a, !in_stage

// SET map = 128x128xf8E4M3FN
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C5
// expected-error @below {{'mxgpu.tma_load' op expected a map with swizzle sw128, found none}}
mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage

// SET map = 64x128xf8E4M3FN, sw128
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C7
// expected-error @below {{'mxgpu.tma_load' op expected a box of 16384 bytes, found 8192}}
mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage

// SET map = 128x128xf8E5M2, sw128
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C6
// expected-error @below {{'mxgpu.tma_load' op expected a map with the element type of '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>', found '!mxgpu.tensor_map<128x128xf8E5M2, sw128>'}}
mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage

// SET map = 96x128xf8E4M3FN, sw128
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C8
// expected-error @below {{'mxgpu.tma_load' op expected a box size that divides 16384 bytes, found 12288}}
mxgpu.tma_load %map[%n, %n] into %a box(%n) for %stage : !map, !a, !in_stage

// SET map = 64x128xf8E4M3FN, sw128
%c2 = arith.constant 2 : index
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// tma_load C10
// expected-error @below {{'mxgpu.tma_load' op expected a box index from 0 to 1, found 2}}
mxgpu.tma_load %map[%n, %n] into %a box(%c2) for %stage : !map, !a, !in_stage

// -----

// TEMPLATE function
// SET arguments = %a: memref<?x?xf8E4M3FN, strided<[1, ?]>>
!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// encode_tensor_map C1
// expected-error @below {{'mxgpu.encode_tensor_map' op expected a memref with adjacent elements in the default memory space, found 'memref<?x?xf8E4M3FN, strided<[1, ?]>>'}}
%m = mxgpu.encode_tensor_map %a : memref<?x?xf8E4M3FN, strided<[1, ?]>> -> !map

// SET arguments = %a: memref<?x?xf8E4M3FN, 3>
// encode_tensor_map C1
// expected-error @below {{'mxgpu.encode_tensor_map' op expected a memref with adjacent elements in the default memory space, found 'memref<?x?xf8E4M3FN, 3>'}}
%m = mxgpu.encode_tensor_map %a : memref<?x?xf8E4M3FN, 3> -> !map

// SET arguments = %a: memref<?xf8E4M3FN>
// encode_tensor_map C2
// expected-error @below {{'mxgpu.encode_tensor_map' op expected a box of rank 1, found rank 2}}
%m = mxgpu.encode_tensor_map %a : memref<?xf8E4M3FN> -> !map

// SET arguments = %a: memref<?x?xf8E5M2>
// encode_tensor_map C3
// expected-error @below {{'mxgpu.encode_tensor_map' op expected a map with element type 'f8E5M2', found 'f8E4M3FN'}}
%m = mxgpu.encode_tensor_map %a : memref<?x?xf8E5M2> -> !map

// RUN: %expand_cases %s %t.mlir
// RUN: mx-test-opt %t.mlir --split-input-file --verify-diagnostics

// TEMPLATE registers
// SET consumer = threads(32)
!a = !mxgpu.fragment<16x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 4: 32 columns]>>
!b = !mxgpu.fragment<8x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 32 columns]>>
!sfa = !mxgpu.fragment<16x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 8 rows, 1: 4 columns]>>
!sfb = !mxgpu.fragment<8x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [1: 4 columns]>>
!registers = !mxgpu.fragment<16x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 1: 8 columns]>>
!in = !mxgpu.ring<2 x (a: smem<16x128xf8E4M3FN, sw128>, b: smem<8x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = ${consumer}>
!a_tile = !mxgpu.buffer<smem<16x128xf8E4M3FN, sw128>>
!b_tile = !mxgpu.buffer<smem<8x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(1) {
      %a = mxgpu.zero_fragment : !a
      %b = mxgpu.zero_fragment : !b
      %sfa = mxgpu.zero_fragment : !sfa
      %sfb = mxgpu.zero_fragment : !sfb
      %zero = mxgpu.zero_fragment : !registers
      %stage, %at, %bt, %sf = mxgpu.consumer_wait %in : !in
      // BLOCK use
      // END
    }
  }
}

// -----

// CASES registers use
// Rejects A in shared memory for an instruction with register operands.
// mma C1
// expected-error @below {{'mxgpu.mma' op expected 'a' in registers, because #mx_test.mma<registers> requires it there, found '!mxgpu.buffer<smem<16x128xf8E4M3FN, sw128>>'}}
%d = mxgpu.mma #mx_test.mma<registers> %at, %b scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a_tile, !b, !registers -> !registers

// Rejects B in shared memory for an instruction with register operands.
// mma C1
// expected-error @below {{'mxgpu.mma' op expected 'b' in registers, because #mx_test.mma<registers> requires it there, found '!mxgpu.buffer<smem<8x128xf8E4M3FN, sw128>>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %bt scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a, !b_tile, !registers -> !registers

// Rejects B in registers for an instruction with operands in shared memory.
// mma C1
// expected-error @below {{'mxgpu.mma' op expected 'b' in shared memory, because #mx_test.mma<shared> requires it there, found '!mxgpu.fragment<8x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 32 columns]>>'}}
%d = mxgpu.mma #mx_test.mma<shared> %at, %b scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a_tile, !b, !registers -> !registers

// Rejects scales of A in tensor memory for an instruction with register operands.
// SET consumer = mma_commit
%copy = mxgpu.copy_scales %sf : !sf -> !mxgpu.scales<128>
// mma C1
// expected-error @below {{'mxgpu.mma' op expected scales of 'a' in registers, because #mx_test.mma<registers> requires them there, found '!mxgpu.scales<128>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%copy, %copy : !mxgpu.scales<128>, !mxgpu.scales<128>) into %zero : !a, !b, !registers -> !registers

// Rejects scales of B in tensor memory for an instruction with register operands.
// SET consumer = mma_commit
%copy = mxgpu.copy_scales %sf : !sf -> !mxgpu.scales<128>
// mma C1
// expected-error @below {{'mxgpu.mma' op expected scales of 'b' in registers, because #mx_test.mma<registers> requires them there, found '!mxgpu.scales<128>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%sfa, %copy : !sfa, !mxgpu.scales<128>) into %zero : !a, !b, !registers -> !registers

// Rejects an instruction without its scales.
// mma C1
// expected-error @below {{'mxgpu.mma' op expected scales of 'a' in registers, because #mx_test.mma<registers> requires them there, found none}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %b into %zero : !a, !b, !registers -> !registers

// -----

// Rejects an accumulator in tensor memory for an instruction with register operands.
!a = !mxgpu.fragment<16x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 4: 32 columns]>>
!b = !mxgpu.fragment<8x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 32 columns]>>
!sfa = !mxgpu.fragment<16x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 8 rows, 1: 4 columns]>>
!sfb = !mxgpu.fragment<8x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [1: 4 columns]>>
!registers = !mxgpu.fragment<16x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 1: 8 columns]>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(1) {
      %a = mxgpu.zero_fragment : !a
      %b = mxgpu.zero_fragment : !b
      %sfa = mxgpu.zero_fragment : !sfa
      %sfb = mxgpu.zero_fragment : !sfb
      %zero = mxgpu.zero_fragment : !registers
      %acc_stage, %t = mxgpu.producer_acquire %acc : !acc
      // mma C1
      // expected-error @below {{'mxgpu.mma' op expected the accumulator in registers, because #mx_test.mma<registers> requires it there, found '!mxgpu.buffer<tmem<128x128xf32>>'}}
      mxgpu.mma #mx_test.mma<registers> %a, %b scales(%sfa, %sfb : !sfa, !sfb) into %t : !a, !b, !d
    }
  }
}

// -----

// CASES registers use
// Rejects B in registers without the instruction's layout.
// mma C10
// expected-error @below {{'mxgpu.mma' op expected 'b' of type '!mxgpu.fragment<8x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 32 columns]>>', found '!mxgpu.fragment<16x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 4: 32 columns]>>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %a scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a, !a, !registers -> !registers

// Rejects scales in registers without the instruction's layout.
// mma C10
// expected-error @below {{'mxgpu.mma' op expected scales of 'b' of type '!mxgpu.fragment<8x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [1: 4 columns]>>', found '!mxgpu.fragment<16x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 8 rows, 1: 4 columns]>>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%sfa, %sfa : !sfa, !sfa) into %zero : !a, !b, !registers -> !registers

// Rejects scales of an unsupported type.
// mma C9
// expected-error @below {{'mxgpu.mma' op expected scales of 'a' with an element count and type that #mx_test.mma<registers> supports in registers, found '!mxgpu.fragment<16x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 1: 8 columns]>>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%zero, %sfb : !registers, !sfb) into %zero : !a, !b, !registers -> !registers

// Rejects a ring with consumer async_threads for a synchronous instruction.
// SET consumer = async_threads(32)
// mma C11
// expected-error @below {{'mxgpu.mma' op expected 'a' in a ring with consumer threads(n), found async_threads}}
%d = mxgpu.mma #mx_test.mma<shared> %at, %bt scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a_tile, !b_tile, !registers -> !registers

// Rejects a column of B if B is in registers.
// mma C2
// expected-error @below {{'mxgpu.mma' op 'column' requires 'a' in registers and 'b' in shared memory, found '!mxgpu.fragment<16x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 4: 32 columns]>>' and '!mxgpu.fragment<8x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 32 columns]>>'}}
%d = mxgpu.mma #mx_test.mma<registers> %a, %b column(0) scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a, !b, !registers -> !registers

// Rejects a wait for a synchronous instruction.
%d = mxgpu.mma #mx_test.mma<registers> %a, %b scales(%sfa, %sfb : !sfa, !sfb) into %zero : !a, !b, !registers -> !registers
// mma_wait C2
// expected-error @below {{'mxgpu.mma_wait' op expected the accumulator of an instruction whose completion is a wait group, found synchronous of #mx_test.mma<registers>}}
%e = mxgpu.mma_wait %d pending(0) : !registers

// -----

// expected-error @below {{expected shared or registers, found tensor_memory}}
#mma = #mx_test.mma<tensor_memory>

//===- MXGPUPipelineOps.td - Rings, loads, tensor core -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUPIPELINEOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUPIPELINEOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

def MXGPU_RingOp : MXGPU_Op<"ring", [MXGPU_NamesResult]> {
  let summary = "create a ring of buffers between two roles";
  let description = [{
    The type determines the memory and the barriers of the stages.
    `mxgpu-lower-rings` assigns the addresses of both (`mxbar.placed_ring`).

    Example:

    ```mlir
    %in = mxgpu.ring "in" : !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>),
                                   producer = bulk_copy, consumer = mma_commit>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs MXGPU_RingType:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

/// Operation that returns a token for the next stage and views of the stage's
/// buffers.
class MXGPU_TakeStageOp<string mnemonic> : MXGPU_Op<mnemonic, [
    MXGPU_NamesResult,
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface, ["getEffects"]>]> {
  let arguments = (ins MXGPU_RingType:$ring);
  let results = (outs MXGPU_StageType:$stage,
                      Variadic<MXGPU_BufferType>:$buffers);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
  let extraClassDeclaration = [{
    /// Returns the view of the buffer named `name` in the ring's type.
    ::mlir::Value getBuffer(::llvm::StringRef name) {
      return getBuffers()[getRing().getType().getFieldIndex(name)];
    }
  }];
}

class MXGPU_GiveStageOp<string mnemonic> : MXGPU_Op<mnemonic, [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface, ["getEffects"]>]> {
}

def MXGPU_ProducerAcquireOp : MXGPU_TakeStageOp<"producer_acquire"> {
  let summary = "wait until the next stage of a ring is empty";
  let description = [{
    Returns a token that allows filling the stage, and views of the stage's
    buffers.

    Example: a ring with buffers `a` and `b`.

    ```mlir
    %stage, %a, %b = mxgpu.producer_acquire %in : !in_ring
    mxgpu.tma_load %map[%row, %k] into %a for %stage : !map, !a, !stage
    mxgpu.producer_commit %stage : !stage
    ```
  }];
}

def MXGPU_ProducerCommitOp : MXGPU_GiveStageOp<"producer_commit"> {
  let summary = "pass a filled stage to the consumer";
  let description = [{
    The stage becomes full once the asynchronous operations of the producer have
    completed. If `empty` is true, no operations were started, so the stage is
    full at once and the consumer must not read it. With producer `clc`, the op
    requests a work tile, and the response fills the stage.
  }];
  let arguments = (ins MXGPU_StageType:$stage, Optional<I1>:$empty);
  let assemblyFormat = "$stage (`empty` `(` $empty^ `)`)? attr-dict `:` type($stage)";
}

def MXGPU_ConsumerWaitOp : MXGPU_TakeStageOp<"consumer_wait"> {
  let summary = "wait until the next stage of a ring is full";
  let description = [{
    Returns a token that allows emptying the stage, and views of the stage's
    buffers.

    Example:

    ```mlir
    %stage, %d = mxgpu.consumer_wait %acc : !acc_ring
    %x = mxgpu.load_accumulator %d column(%c) : !d -> !fragment
    mxgpu.consumer_release %stage : !stage
    ```
  }];
}

def MXGPU_ConsumerReleaseOp : MXGPU_GiveStageOp<"consumer_release"> {
  let summary = "return an emptied stage to the producer";
  let description = [{
    The stage becomes empty once the consumer's asynchronous reads complete.

    With `deferred(n)` the op releases the stage acquired n stages earlier, if
    any, so that matrix instructions can still read the current stage while the
    next ones start. `mxgpu.consumer_tail` releases the last n stages after the
    loop.
  }];
  let arguments = (ins MXGPU_StageType:$stage,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$deferred);
  let assemblyFormat = "$stage (`deferred` `(` $deferred^ `)`)? attr-dict `:` type($stage)";
  let builders = [OpBuilder<(ins "::mlir::Value":$stage), [{
    build($_builder, $_state, stage, /*deferred=*/0);
  }]>];
}

def MXGPU_ConsumerTailOp : MXGPU_Op<"consumer_tail", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface, ["getEffects"]>]> {
  let summary = "release the stages with a deferred release";
  let description = [{
    Follows a loop with a deferred `mxgpu.consumer_release` of the ring and
    releases the remaining stages, oldest first.

    Example: an MMA runs while the next one is prepared.

    ```mlir
    %sum = mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 64
        iter_args(%d = %zero : !accumulator) {
      %stage, %a, %b = mxgpu.consumer_wait %in : !in_ring
      %started = mxgpu.mma #wgmma %a, %b into %d
          : !a, !b, !accumulator -> !accumulator
      %last = mxgpu.mma_wait %started pending(1) : !accumulator
      mxgpu.consumer_release %stage deferred(1) : !stage
      mxgpu.yield %last : !accumulator
    }
    %finished = mxgpu.mma_wait %sum pending(0) : !accumulator
    mxgpu.consumer_tail %in : !in_ring
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

//===----------------------------------------------------------------------===//
// Loads and the tensor core
//===----------------------------------------------------------------------===//

def MXGPU_TmaLoadOp : MXGPU_Op<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "copy a box of a tensor into a buffer";
  let description = [{
    `coords` is the first element of the box, outermost dimension first; missing
    trailing coordinates are 0. The stage that contains the buffer becomes full
    once all copies into it have completed. A buffer with several boxes is
    filled one `box` at a time. `cache` sets the L2 eviction priority. With
    `multicast` both CTAs of a pair receive each box, and each CTA loads the box
    whose index is the rank of the CTA.

    Example:

    ```mlir
    mxgpu.tma_load %a_map[%row, %k] into %a for %stage : !map, !a, !stage
    mxgpu.tma_load %b_map[%column, %k] into %b box(%c1) for %stage cache = evict_last : !map, !b, !stage
    ```
  }];
  let arguments = (ins MXGPU_TensorMapType:$map, Variadic<Index>:$coords,
                       Arg<MXGPU_BufferType, "", [MemWrite<MXGPU_SharedMemory>]>:$buffer,
                       MXGPU_StageType:$stage,
                       Optional<Index>:$box, UnitAttr:$multicast,
                       DefaultValuedAttr<MXGPU_CacheHintAttr, "::mx::mxgpu::CacheHint::None">:$cache);
  let assemblyFormat = [{
    $map `` `[` $coords `]` `into` $buffer (`box` `(` $box^ `)`)?
    `for` $stage (`multicast` $multicast^)? (`cache` `=` $cache^)? attr-dict
    `:` type($map) `,` type($buffer) `,` type($stage)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$map, "::mlir::ValueRange":$coords,
                   "::mlir::Value":$buffer, "::mlir::Value":$stage), [{
      build($_builder, $_state, map, coords, buffer, stage, ::mlir::Value(),
            /*multicast=*/false);
    }]>
  ];
  let extraClassDeclaration = [{
    int64_t getNumBoxes();
  }];
}

def MXGPU_CopyScalesOp : MXGPU_NamedOp<"copy_scales", "scales"> {
  let summary = "copy scale factors from shared to tensor memory";
  let description = [{
    The buffer holds tiles of 128 rows by 4 scales. All tiles of a 128-row block
    precede the tiles of the next block.

    Copies and MMAs of a thread execute in order (PTX ISA, tcgen05 pipelined
    instructions), so a single location in tensor memory suffices for all
    stages, and all copies of a ring buffer use this location. With `stages(n)`,
    successive stages use n locations in turn. If each stage has its own
    location, no copy depends on that order.

    Example:

    ```mlir
    %scales = mxgpu.copy_scales %sfa stages(2) : !sfa -> !mxgpu.scales<128>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       DefaultValuedAttr<I64Attr, "1">:$stages);
  let results = (outs Res<MXGPU_ScalesType, "", [MemWrite<MXGPU_TensorMemory>]>:$result);
  let assemblyFormat = [{
    $buffer (`stages` `(` $stages^ `)`)? attr-dict
    `:` type($buffer) `->` qualified(type($result))
  }];
}

def MXGPU_BufferOrFragment
    : AnyTypeOf<[MXGPU_BufferType, MXGPU_FragmentType]>;
def MXGPU_ScalesOrFragment
    : AnyTypeOf<[MXGPU_ScalesType, MXGPU_FragmentType]>;

def MXGPU_MmaOp : MXGPU_Op<"mma", [
    AttrSizedOperandSegments, MXGPU_NamesResult,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface, ["getEffects"]>]> {
  let summary = "multiply a tile of A by a tile of B";
  let description = [{
    Computes `d (+)= (a * a_scales) * (b * b_scales)^T` with the instruction
    that the attribute names. The attribute determines the location of each
    operand. A and B are buffers in shared memory or fragments in registers.
    Scales are in tensor memory or in fragments, or are absent. `d` is a buffer
    in tensor memory or a fragment; for a fragment the op returns the new
    accumulator.

    The attribute also defines how the instruction completes, and therefore the
    `consumer` of the ring that supplies A or B:

    - commit: completion is signaled at a barrier; the consumer is `mma_commit`;
    - wait group: the instruction is only started. Its result is either the `d`
      of another op or the operand of `mxgpu.mma_wait`, and the stage is
      released after that wait. Fragments stay in use until then. The consumer
      is `async_threads(n)`;
    - synchronous: the instruction completes before the next op begins. The
      consumer is `threads(n)`.

    Only the instructions that cover the first `extent` elements of the tile's
    reduction are issued. Other elements are never used. Unless `accumulate` is
    true, the old accumulator is not read. If several warpgroups divide an A in
    shared memory, `thread` is the number of the thread within its role. An A in
    registers may cover part of the reduction; `column` is then the start of
    that part in a B in shared memory.
    wgmma adds to the old accumulator without `accumulate`, and overwrites it
    with a constant `false`; `row` is the first row that wgmma reads of B.

    `b_offset`, 0 (default) or 64, is the row of `b_scales` that belongs to row
    0 of B.

    Examples:

    ```mlir
    mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b
        scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>)
        into %d accumulate(%more) extent(%n) : !a, !b, !d
    %next = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %accumulator
        : !a, !b, !accumulator -> !accumulator
    %more = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %held, %b into %accumulator
        : !a_fragment, !b, !accumulator -> !accumulator
    %last = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %half, %b column(64)
        into %accumulator : !half_of_a, !b, !accumulator -> !accumulator
    ```
  }];
  let arguments = (ins
    MXGPU_MmaAttrInterface:$kind,
    MXGPU_BufferOrFragment:$a, MXGPU_BufferOrFragment:$b,
    Optional<MXGPU_ScalesOrFragment>:$a_scales,
    Optional<MXGPU_ScalesOrFragment>:$b_scales,
    MXGPU_BufferOrFragment:$d, Optional<Index>:$b_offset,
    Optional<I1>:$accumulate, Optional<Index>:$extent,
    Optional<Index>:$thread, OptionalAttr<I64Attr>:$column,
    OptionalAttr<I64Attr>:$row);
  let results = (outs Optional<MXGPU_FragmentType>:$accumulator);
  let assemblyFormat = [{
    $kind $a `,` $b (`column` `(` $column^ `)`)? (`row` `(` $row^ `)`)?
    (`scales` `(` $a_scales^ `,` $b_scales `:` qualified(type($a_scales)) `,`
                  qualified(type($b_scales)) `)`)?
    (`b_offset` `(` $b_offset^ `)`)? `into` $d
    (`accumulate` `(` $accumulate^ `)`)? (`extent` `(` $extent^ `)`)?
    (`thread` `(` $thread^ `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($d) (`->` type($accumulator)^)?
  }];
  let extraClassDeclaration = [{
    /// Returns the reduction elements of the tile.
    int64_t getReduction();
    /// Return the type of an operand in shared memory, or null for a fragment.
    ::mx::mxgpu::BufferType getABuffer();
    ::mx::mxgpu::BufferType getBBuffer();
  }];
}

def MXGPU_MmaWaitOp : MXGPU_Op<"mma_wait", [
    AllTypesMatch<["accumulator", "result"]>,
    MemoryEffects<[MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_Barriers>]>]> {
  let summary = "wait for asynchronous matrix instructions";
  let description = [{
    Waits until at most `pending` MMAs of the warpgroup are in flight and
    returns the accumulator (PTX ISA, wgmma.wait_group). The accumulator is
    complete if `pending` is 0, or if at least `pending` MMAs were started after
    the `mxgpu.mma` that computes it, in this block or the previous iteration.
    For the result of `mxgpu.from_rows`, the op emits no wait: it keeps the
    computation of the fragment before later MMAs.

    Example: the first of two MMAs is complete.

    ```mlir
    %started = mxgpu.mma #wgmma %a, %b into %accumulator
        : !a, !b, !accumulator -> !accumulator
    %others = mxgpu.mma #wgmma %c, %b into %more
        : !a, !b, !accumulator -> !accumulator
    %finished = mxgpu.mma_wait %started pending(1) : !accumulator
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$accumulator, I64Attr:$pending);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $accumulator `pending` `(` $pending `)` attr-dict `:` type($accumulator)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUPIPELINEOPS_TD

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
  let summary = "make a ring of buffers between two roles";
  let description = [{
    Memory and barriers of the stages follow from the type; `mxgpu-lower-rings`
    places them (`mxbar.placed_ring`).

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

/// Gives the ring's next stage: a token, and a view of each buffer in it.
class MXGPU_TakeStageOp<string mnemonic> : MXGPU_Op<mnemonic, [
    MXGPU_NamesResult,
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface, ["getEffects"]>]> {
  let arguments = (ins MXGPU_RingType:$ring);
  let results = (outs MXGPU_StageType:$stage,
                      Variadic<MXGPU_BufferType>:$buffers);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
  let extraClassDeclaration = [{
    /// The view of the buffer that the ring calls `name`.
    ::mlir::Value getBuffer(::llvm::StringRef name) {
      return getBuffers()[getRing().getType().getFieldIndex(name)];
    }
  }];
}

class MXGPU_GiveStageOp<string mnemonic> : MXGPU_Op<mnemonic, [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface, ["getEffects"]>]> {
}

def MXGPU_ProducerAcquireOp : MXGPU_TakeStageOp<"producer_acquire"> {
  let summary = "wait until the ring's next stage is empty";
  let description = [{
    Gives the right to fill the stage, and views of its buffers.

    Example: a ring of buffers `a` and `b`.

    ```mlir
    %stage, %a, %b = mxgpu.producer_acquire %in : !in_ring
    mxgpu.tma_load %map[%row, %k] into %a for %stage : !map, !a, !stage
    mxgpu.producer_commit %stage : !stage
    ```
  }];
}

def MXGPU_ProducerCommitOp : MXGPU_GiveStageOp<"producer_commit"> {
  let summary = "hand a filled stage to the consumer";
  let description = [{
    The stage becomes full when what the producer started has completed. With
    `empty` true nothing was started: the stage is full at once and the
    consumer must not read it. What a stage of cluster launch control waits for
    is the answer to a request that is made here.
  }];
  let arguments = (ins MXGPU_StageType:$stage, Optional<I1>:$empty);
  let assemblyFormat = "$stage (`empty` `(` $empty^ `)`)? attr-dict `:` type($stage)";
}

def MXGPU_ConsumerWaitOp : MXGPU_TakeStageOp<"consumer_wait"> {
  let summary = "wait until the ring's next stage is full";
  let description = [{
    Gives the right to empty the stage, and views of its buffers.

    Example:

    ```mlir
    %stage, %d = mxgpu.consumer_wait %acc : !acc_ring
    %x = mxgpu.load_accumulator %d column(%c) : !d -> vector<32xf32>
    mxgpu.consumer_release %stage : !stage
    ```
  }];
}

def MXGPU_ConsumerReleaseOp : MXGPU_GiveStageOp<"consumer_release"> {
  let summary = "hand an emptied stage back to the producer";
  let description = [{
    The stage becomes empty when what the consumer started on it has completed.

    With `deferred(n)` the stage goes back later: here, the one that the role took
    n stages before it does, if there was one. So matrix instructions that read it
    may still be under way when the next ones start. After the loop
    `mxgpu.consumer_tail` releases the last n.
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
  let summary = "hand back the stages whose release is deferred";
  let description = [{
    Stands after a loop with a deferred `mxgpu.consumer_release` of the ring,
    and gives back the stages that it left, oldest first, if the loop took any.

    Example: an instruction is under way while the next is prepared.

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
    `coords` are the box's first element, outermost dimension first; missing
    trailing coordinates are 0. The stage that has the buffer is full when the
    copy, with the others into it, has completed. A buffer that holds several
    boxes is filled one `box` at a time. `cache` says what the L2 cache should
    keep. With `multicast` both CTAs of a pair receive the box: each loads the
    box that has its number.

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
    /// Boxes that the buffer holds.
    int64_t getNumBoxes();
  }];
}

def MXGPU_CopyScalesOp : MXGPU_NamedOp<"copy_scales", "scales"> {
  let summary = "copy scale factors from shared to tensor memory";
  let description = [{
    The buffer holds tiles of 128 rows by 4 scales, all those of one group of
    128 rows before those of the next.

    Copies and MMAs of a thread execute in order, so that one place in tensor
    memory serves all stages (PTX ISA, tcgen05 pipelined instructions), and
    copies of one buffer of a ring share their columns. With `stages(n)` there
    are n places, which the stages that a role consumes take in turn: with as
    many places as stages, no copy needs that order.

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
    `d (+)= (a * a_scales) * (b * b_scales)^T` by the instruction that the
    attribute names. The attribute says where each operand lies: A and B are
    buffers in shared memory or fragments in registers, scales are in tensor
    memory or fragments, or there are none, and `d` is a buffer in tensor memory
    or a fragment. Of a fragment `d` the operation gives the new one.

    The attribute also says how the instruction completes, and so what the
    consumer of a ring is whose stage has A or B:

    - commit: it arrives at a barrier; the consumer is `mma_commit`;
    - wait group: it has only been started. Its result may be another's `d`, or
      go to `mxgpu.mma_wait`, and the stage is given back after that. Fragments
      are in use until that wait. The consumer is `async_threads(n)`;
    - synchronous: it is done when the next operation begins. The consumer is
      `threads(n)`.

    Only the first `extent` elements of the tile's reduction dimension are
    multiplied, a multiple of what one instruction multiplies; elements beyond
    are not, whatever they hold. Without `accumulate` true the old accumulator is
    not read. Where several warpgroups divide an A in shared memory, `thread` is
    the thread's number within its role. An A in registers may have part of the
    reduction only: `column` is where that begins in a B in shared memory.

    `b_offset` is the row of `b_scales` that belongs to the first row of B: 0,
    the default, or 64.

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
    Optional<Index>:$thread, OptionalAttr<I64Attr>:$column);
  let results = (outs Optional<MXGPU_FragmentType>:$accumulator);
  let assemblyFormat = [{
    $kind $a `,` $b (`column` `(` $column^ `)`)?
    (`scales` `(` $a_scales^ `,` $b_scales `:` qualified(type($a_scales)) `,`
                  qualified(type($b_scales)) `)`)?
    (`b_offset` `(` $b_offset^ `)`)? `into` $d
    (`accumulate` `(` $accumulate^ `)`)? (`extent` `(` $extent^ `)`)?
    (`thread` `(` $thread^ `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($d) (`->` type($accumulator)^)?
  }];
  let extraClassDeclaration = [{
    /// Elements of the reduction that the tile has.
    int64_t getReduction();
    /// What A and B are in shared memory; null of one in registers.
    ::mx::mxgpu::BufferType getABuffer();
    ::mx::mxgpu::BufferType getBBuffer();
  }];
}

def MXGPU_MmaWaitOp : MXGPU_Op<"mma_wait", [
    AllTypesMatch<["accumulator", "result"]>,
    MemoryEffects<[MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_Barriers>]>]> {
  let summary = "wait for matrix instructions that this thread has issued";
  let description = [{
    Waits until at most `pending` of the `mxgpu.mma` that the threads of the
    warpgroup have started are under way, and gives the accumulator as it is
    then (PTX ISA, wgmma.wait_group). They are finished with none pending, or
    if as many have been started after the `mxgpu.mma` that computes them, in this
    block or in the iteration before.

    Example: the first of two is finished.

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

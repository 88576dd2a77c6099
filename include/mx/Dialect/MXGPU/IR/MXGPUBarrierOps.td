//===- MXGPUBarrierOps.td - Rings as barriers and parities -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The operations that `mxgpu-lower-rings` creates for acquires and releases of
// stages. Loops carry a stage and the parity of the phase to wait for next.
// Whatever NVVM can express without a ring (fences, elections, groups of bulk
// stores) is NVVM.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUBARRIEROPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUBARRIEROPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Stages and their contents
//===----------------------------------------------------------------------===//

def MXGPU_GetStageOp : MXGPU_Op<"get_stage", [
    Pure, MXGPU_NamesResult,
    TypesMatchWith<"stage belongs to the ring", "ring", "stage",
                   "::mx::mxgpu::StageType::get($_self.getContext(), ::llvm::cast<::mx::mxgpu::RingType>($_self))">]> {
  let summary = "the stage of a ring with a given number";
  let description = [{
    A number equal to the number of stages stands for the end, after the last
    stage.

    Example:

    ```mlir
    %first = mxgpu.get_stage %in[0] : !in_ring
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$number);
  let results = (outs MXGPU_StageType:$stage);
  let assemblyFormat = "$ring `` `[` $number `]` attr-dict `:` type($ring)";
}

def MXGPU_OtherStageOp : MXGPU_NamedOp<"other_stage", "other", [
    Pure, SameOperandsAndResultType]> {
  let summary = "the other of two stages";
  let description = [{
    Used where overlapping accumulators wait for each other.
  }];
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs MXGPU_StageType:$other);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
}

def MXGPU_StageNumberOp : MXGPU_Op<"stage_number", [Pure]> {
  let summary = "the number (i32) of a stage in tensor memory or of a ring for stores";
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs I32:$number);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
}

def MXGPU_AdvanceOp : MXGPU_Op<"advance", [
    Pure, MXGPU_NamesResult,
    AllTypesMatch<["stage", "first", "end", "next_stage"]>]> {
  let summary = "the next stage, and the parity to wait for there";
  let description = [{
    After the last stage comes `first`, and the parity flips (CUTLASS,
    PipelineState). `first` and `end` are values, so that a role keeps them in
    registers.

    Example:

    ```mlir
    %next, %next_parity = mxgpu.advance %stage, %parity in(%first, %end) : !stage
    ```
  }];
  let arguments = (ins MXGPU_StageType:$stage, I32:$parity,
                       MXGPU_StageType:$first, MXGPU_StageType:$end);
  let results = (outs MXGPU_StageType:$next_stage, I32:$next_parity);
  let assemblyFormat = [{
    $stage `,` $parity `in` `(` $first `,` $end `)` attr-dict `:` type($stage)
  }];
}

def MXGPU_NextStageOp : MXGPU_NamedOp<"next_stage", "next", [
    Pure, SameOperandsAndResultType]> {
  let summary = "the next stage of a ring without barriers";
  let description = [{
    After the last stage comes stage 0. As many steps as there are stages lead
    back to the start: a region or a loop with a multiple of that many steps ends
    at the stage with which it began. Steps on the way stay: folded to its first
    name, a stage would keep its addresses in registers until it comes back.
  }];
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs MXGPU_StageType:$next);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 0;
}

def MXGPU_StageBuffersOp : MXGPU_Op<"stage_buffers", [
    Pure, MXGPU_NamesResult, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>]> {
  let summary = "views of the buffers of a stage";
  let description = [{
    `tensor_memory` is the first column of the kernel's tensor memory, given if
    the ring is in tensor memory; `warp` is the number of the warp in its role,
    given if each warp has its own stages.

    Example:

    ```mlir
    %a, %b = mxgpu.stage_buffers %in, %stage : !in_ring, !in_stage
    %d = mxgpu.stage_buffers %acc, %stage tensor_memory(%base) : !acc_ring, !acc_stage
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring, MXGPU_StageType:$stage,
                       Optional<I32>:$tensor_memory, Optional<I32>:$warp);
  let results = (outs Variadic<MXGPU_BufferType>:$buffers);
  let assemblyFormat = [{
    $ring `,` $stage (`tensor_memory` `(` $tensor_memory^ `)`)?
    (`warp` `(` $warp^ `)`)? attr-dict `:` type($ring) `,` type($stage)
  }];
}

def MXGPU_BufferAddressOp : MXGPU_Op<"buffer_address", [Pure]> {
  let summary = "address of a buffer in shared memory";
  let arguments = (ins MXGPU_BufferType:$buffer);
  let results = (outs AnyType:$pointer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($pointer)";
}

def MXGPU_TensorMemoryOp : MXGPU_NamedOp<"tensor_memory", "tmem", [
    Pure, HasParent<"KernelOp">]> {
  let summary = "first column (i32) of the tensor memory that the kernel allocates";
  let results = (outs I32:$column);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 0;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def MXGPU_StageBarriersOp : MXGPU_Op<"stage_barriers", [
    Pure, MXGPU_NamesResult]> {
  let summary = "the barriers of a stage";
  let description = [{
    A phase of the first barrier completes when the stage is full, a phase of
    the second when it is empty (PTX ISA, mbarrier).

    Example:

    ```mlir
    %full, %empty = mxgpu.stage_barriers %in, %stage : !in_ring, !in_stage
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring, MXGPU_StageType:$stage);
  let results = (outs MXGPU_LocalBarrier:$full, MXGPU_LocalBarrier:$empty);
  let assemblyFormat = [{
    $ring `,` $stage attr-dict `:` type($ring) `,` type($stage)
  }];
}

def MXGPU_LeaderBarrierOp : MXGPU_Op<"leader_barrier", [Pure]> {
  let summary = "the corresponding barrier in the leading CTA of the pair";
  let arguments = (ins MXGPU_LocalBarrier:$barrier);
  let results = (outs MXGPU_PairBarrier:$leader);
  let assemblyFormat = "$barrier attr-dict";
  let hasVerifier = 0;
}

def MXGPU_InitBarriersOp : MXGPU_Op<"init_barriers", [
    HasParent<"KernelOp">,
    MemoryEffects<[MemWrite<MXGPU_Barriers>]>]> {
  let summary = "set the arrival counts of a ring's barriers";
  let description = [{
    Done once per CTA, before any of its threads waits or arrives: the lowering
    of kernels moves it to the set-up. `full` and `empty` are the numbers of
    arrivals at the two barriers of each stage. If the CTAs of a pair have
    different numbers, `other_empty` is that of the CTA that is not the leader.

    Example:

    ```mlir
    mxgpu.init_barriers %in full(2) empty(1) : !in_ring
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring,
                       ConfinedAttr<I64Attr, [IntPositive]>:$full,
                       ConfinedAttr<I64Attr, [IntPositive]>:$empty,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$other_empty);
  let assemblyFormat = [{
    $ring `full` `(` $full `)` `empty` `(` $empty `)`
    (`other_empty` `(` $other_empty^ `)`)? attr-dict `:` type($ring)
  }];
}

/// Waits and arrivals order accesses to the memory that a barrier guards.
class MXGPU_BarrierOp<string mnemonic, list<Trait> traits = []>
    : MXGPU_Op<mnemonic, traits # [MemoryEffects<[
        MemRead<MXGPU_Barriers>, MemWrite<MXGPU_Barriers>,
        MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_SharedMemory>,
        MemRead<MXGPU_TensorMemory>, MemWrite<MXGPU_TensorMemory>]>]> {
  let hasVerifier = 0;
}

def MXGPU_WaitOp : MXGPU_BarrierOp<"wait"> {
  let summary = "wait until the phase with a given parity has completed";
  let description = [{
    A parity (i32) of 1 stands for the phase before the first, which counts as
    complete. With `pair`, what both CTAs of a pair did before they arrived is
    visible afterwards (PTX ISA, mbarrier.try_wait).

    Example:

    ```mlir
    mxgpu.wait %full parity(%parity)
    ```
  }];
  let arguments = (ins MXGPU_LocalBarrier:$barrier, I32:$parity, UnitAttr:$pair);
  let assemblyFormat = "$barrier `parity` `(` $parity `)` (`pair` $pair^)? attr-dict";
}

def MXGPU_ArriveOp : MXGPU_BarrierOp<"arrive"> {
  let summary = "arrive at a barrier";
  let description = [{
    It arrives `count` times, by default once. With `expect` the phase also
    waits for that many bytes of asynchronous copies (PTX ISA,
    mbarrier.arrive.expect_tx).

    Examples:

    ```mlir
    mxgpu.arrive %empty : !mxgpu.barrier
    mxgpu.arrive %full expect(33792) : !mxgpu.barrier<pair>
    ```
  }];
  let arguments = (ins MXGPU_BarrierType:$barrier,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$bytes,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$count);
  let assemblyFormat = [{
    $barrier (`expect` `(` $bytes^ `)`)? (`count` `(` $count^ `)`)? attr-dict
    `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
}

def MXGPU_ArriveBothOp : MXGPU_BarrierOp<"arrive_both"> {
  let summary = "arrive at the corresponding barriers of both CTAs of a pair";
  let description = [{
    With `of_async` only for copies and matrix instructions, which waits for
    them have ordered: what threads themselves read and wrote is then ordered
    for this CTA alone. (Order for a cluster is a fence of the whole GPU in
    machine code.)
  }];
  let arguments = (ins MXGPU_LocalBarrier:$barrier, UnitAttr:$of_async);
  let assemblyFormat = "$barrier (`of_async` $of_async^)? attr-dict";
}

def MXGPU_CommitOp : MXGPU_BarrierOp<"commit"> {
  let summary = "arrive when the MMAs and copies that this thread started have completed";
  let description = [{
    With `pair` it arrives at the barriers of both CTAs (PTX ISA,
    tcgen05.commit).
  }];
  let arguments = (ins MXGPU_LocalBarrier:$barrier, UnitAttr:$pair);
  let assemblyFormat = "$barrier (`pair` $pair^)? attr-dict";
}

def MXGPU_RequestWorkTileOp : MXGPU_BarrierOp<"request_work_tile"> {
  let summary = "ask cluster launch control for a work tile";
  let description = [{
    The answer is written to `buffer` and completes on `barrier`, which expects
    its bytes; with `pair` in both CTAs (PTX ISA,
    clusterlaunchcontrol.try_cancel).
  }];
  let arguments = (ins MXGPU_BufferType:$buffer, MXGPU_LocalBarrier:$barrier,
                       UnitAttr:$pair);
  let assemblyFormat = [{
    $buffer `,` $barrier (`pair` $pair^)? attr-dict `:` type($buffer)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUBARRIEROPS_TD

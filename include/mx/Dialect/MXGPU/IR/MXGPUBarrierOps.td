//===- MXGPUBarrierOps.td - Rings as barriers and parities -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `mxgpu-lower-rings` makes of the takes and gives of stages. Loops carry
// a stage and the parity of the phase that is waited for next; what NVVM can
// say without a ring (fences, elections, groups of bulk stores) is NVVM.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUBARRIEROPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUBARRIEROPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Stages and what lies in them
//===----------------------------------------------------------------------===//

def MXGPU_GetStageOp : MXGPU_Op<"get_stage", [
    Pure, MXGPU_NamesResult,
    TypesMatchWith<"stage belongs to the ring", "ring", "stage",
                   "::mx::mxgpu::StageType::get($_self.getContext(), ::llvm::cast<::mx::mxgpu::RingType>($_self))">]> {
  let summary = "a stage of a ring by its number";
  let description = [{
    The number of stages stands for the end, which follows the last one.

    Example:

    ```mlir
    %first = mxgpu.get_stage %in[0] : !in_ring
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$number);
  let results = (outs MXGPU_StageType:$stage);
  let assemblyFormat = "$ring `` `[` $number `]` attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def MXGPU_OtherStageOp : MXGPU_Op<"other_stage", [
    Pure, MXGPU_NamesResult, SameOperandsAndResultType]> {
  let summary = "the other one of two stages";
  let description = [{
    Accumulators that overlap wait for each other so.
  }];
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs MXGPU_StageType:$other);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
  let hasVerifier = 1;
}

def MXGPU_StageNumberOp : MXGPU_Op<"stage_number", [Pure]> {
  let summary = "the number (i32) of a stage in tensor memory, or for stores";
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs I32:$number);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
  let hasVerifier = 1;
}

def MXGPU_AdvanceOp : MXGPU_Op<"advance", [
    Pure, MXGPU_NamesResult,
    AllTypesMatch<["stage", "first", "end", "next_stage"]>]> {
  let summary = "the stage that follows, and the parity to wait for there";
  let description = [{
    `first` follows the last stage, and the parity then changes (CUTLASS,
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
  let hasVerifier = 1;
}

def MXGPU_NextStageOp : MXGPU_Op<"next_stage", [
    Pure, MXGPU_NamesResult, SameOperandsAndResultType]> {
  let summary = "the stage that follows, of a ring without barriers";
  let description = [{
    Stage 0 follows the last one. As many steps as there are stages lead back: a
    region or a loop with such a number of steps ends at the stage with which it
    began. Steps on the way stay: known by its first name, a stage would keep
    its addresses in registers until it comes back.
  }];
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs MXGPU_StageType:$next);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def MXGPU_StageBuffersOp : MXGPU_Op<"stage_buffers", [
    Pure, MXGPU_NamesResult, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>]> {
  let summary = "views of the buffers of a stage";
  let description = [{
    `tensor_memory` is the first column of the kernel's, where the ring lies
    there; `warp` is the number of the warp in its role, where stages are a
    warp's own.

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
  let hasVerifier = 1;
}

def MXGPU_BufferAddressOp : MXGPU_Op<"buffer_address", [Pure]> {
  let summary = "address of a buffer in shared memory";
  let arguments = (ins MXGPU_BufferType:$buffer);
  let results = (outs AnyType:$pointer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($pointer)";
  let hasVerifier = 1;
}

def MXGPU_TensorMemoryOp : MXGPU_Op<"tensor_memory", [
    Pure, HasParent<"KernelOp">, MXGPU_NamesResult]> {
  let summary = "first column (i32) of the tensor memory that the kernel allocates";
  let results = (outs I32:$column);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def MXGPU_StageBarriersOp : MXGPU_Op<"stage_barriers", [
    Pure, MXGPU_NamesResult]> {
  let summary = "the barriers of a stage";
  let description = [{
    A phase of the first one completes when the stage is full, one of the second
    when it is empty (PTX ISA, mbarrier).

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
  let hasVerifier = 1;
}

def MXGPU_LeaderBarrierOp : MXGPU_Op<"leader_barrier", [Pure]> {
  let summary = "the barrier at the same place in the leading CTA of the pair";
  let arguments = (ins MXGPU_LocalBarrier:$barrier);
  let results = (outs MXGPU_PairBarrier:$leader);
  let assemblyFormat = "$barrier attr-dict";
}

def MXGPU_InitBarriersOp : MXGPU_Op<"init_barriers", [
    HasParent<"KernelOp">,
    MemoryEffects<[MemWrite<MXGPU_Barriers>]>]> {
  let summary = "set how many arrivals complete the phases of a ring's barriers";
  let description = [{
    Done once for a CTA, before any of its threads waits or arrives: the lowering
    of kernels puts it into the set-up. `full` and `empty` are arrivals at the two
    barriers of each stage; where the CTAs of a pair have different ones,
    `other_empty` are those of the CTA that does not lead.

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
  let hasVerifier = 1;
}

/// Waits and arrivals order accesses to the memory that a barrier guards.
class MXGPU_BarrierOp<string mnemonic, list<Trait> traits = []>
    : MXGPU_Op<mnemonic, traits # [MemoryEffects<[
        MemRead<MXGPU_Barriers>, MemWrite<MXGPU_Barriers>,
        MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_SharedMemory>,
        MemRead<MXGPU_TensorMemory>, MemWrite<MXGPU_TensorMemory>]>]>;

def MXGPU_WaitOp : MXGPU_BarrierOp<"wait"> {
  let summary = "wait until the phase of a parity has completed";
  let description = [{
    A parity (i32) of 1 is that of the phase before the first, which is complete
    from the start. With `pair` what both CTAs of a pair did before they arrived
    is visible (PTX ISA, mbarrier.try_wait).

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
    `count` times, which is 1 by default. With `expect` the phase also waits for
    so many bytes of asynchronous copies (PTX ISA, mbarrier.arrive.expect_tx).

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
  let summary = "arrive at the barriers at one place in both CTAs of a pair";
  let arguments = (ins MXGPU_LocalBarrier:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def MXGPU_CommitOp : MXGPU_BarrierOp<"commit"> {
  let summary = "arrive when the tensor core has done what this thread started";
  let description = [{
    With `pair` at the barriers of both CTAs (PTX ISA, tcgen05.commit).
  }];
  let arguments = (ins MXGPU_LocalBarrier:$barrier, UnitAttr:$pair);
  let assemblyFormat = "$barrier (`pair` $pair^)? attr-dict";
}

def MXGPU_RequestUnitOp : MXGPU_BarrierOp<"request_unit"> {
  let summary = "ask cluster launch control for a unit of work";
  let description = [{
    The answer comes to `buffer`, and to `barrier`, which expects its bytes; with
    `pair` to both CTAs (PTX ISA, clusterlaunchcontrol.try_cancel).
  }];
  let arguments = (ins MXGPU_BufferType:$buffer, MXGPU_LocalBarrier:$barrier,
                       UnitAttr:$pair);
  let assemblyFormat = [{
    $buffer `,` $barrier (`pair` $pair^)? attr-dict `:` type($buffer)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUBARRIEROPS_TD

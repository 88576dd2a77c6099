//===- MXBarOps.td - The mxbar dialect ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXBAR_IR_MXBAROPS_TD
#define MX_DIALECT_MXBAR_IR_MXBAROPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

def MXBar_Dialect : Dialect {
  let name = "mxbar";
  let cppNamespace = "::mx::mxbar";
  let summary = "Rings as memory addresses, barriers and parities";
  let description = [{
    `mxgpu-lower-rings` lowers `mxgpu` to this dialect. An acquire or wait
    becomes an `mxbar.wait` for the parity of a phase; a commit or release
    becomes an arrival. Loops carry the stage and the parity. Rings, scales and
    partial accumulators have explicit offsets. Kernels, roles, fragments,
    `mxgpu.mma` and stores remain operations of `mxgpu`.

    Operations without a ring or stage, such as fences, elections and groups of
    bulk stores, are NVVM operations. docs/design/Rings.md explains why mxbar
    defines its own operations for rings and stages.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mx::mxgpu::MXGPUDialect"];
  let useDefaultTypePrinterParser = 1;
}

class MXBar_Op<string mnemonic, list<Trait> traits = []>
    : Op<MXBar_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

/// Operation with the result printed as `%result`.
class MXBar_NamedOp<string mnemonic, string result, list<Trait> traits = []>
    : MXBar_Op<mnemonic, traits # [MXGPU_NamesResult]> {
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      setName(getResult(), "}] # result # [{");
    }
  }];
}

def MXBar_BarrierType : TypeDef<MXBar_Dialect, "Barrier"> {
  let mnemonic = "barrier";
  let summary = "barrier in shared memory (PTX ISA, mbarrier)";
  let description = [{
    A barrier of this CTA or, with `pair`, of the leading CTA of the pair.

    Examples: `!mxbar.barrier`, `!mxbar.barrier<pair>`.
  }];
  let parameters = (ins DefaultValuedParameter<"::mx::mxgpu::Scope",
                                               "::mx::mxgpu::Scope::Cta">:$scope);
  let assemblyFormat = "(`<` $scope^ `>`)?";
  let genVerifyDecl = 1;
}

class MXBar_BarrierOf<string scope, string what>
    : Type<CPred<"::llvm::cast<::mx::mxbar::BarrierType>($_self).getScope() == "
                 "::mx::mxgpu::Scope::" # scope>, what, "::mx::mxbar::BarrierType">,
      BuildableType<"::mx::mxbar::BarrierType::get($_builder.getContext(), ::mx::mxgpu::Scope::" # scope # ")">;
def MXBar_LocalBarrier : MXBar_BarrierOf<"Cta", "a barrier of this CTA">;
def MXBar_PairBarrier : MXBar_BarrierOf<"Pair", "a barrier of the leading CTA">;

//===----------------------------------------------------------------------===//
// Placed memory
//===----------------------------------------------------------------------===//

def MXBar_PlacedRingOp : MXBar_Op<"placed_ring", [
    ParentOneOf<["::mx::mxgpu::KernelOp", "::mlir::LLVM::LLVMFuncOp"]>,
    MXGPU_NamesResult, MemoryEffects<[MemWrite<MXGPU_Barriers>]>]> {
  let summary = "create a ring at given addresses, with barrier arrival counts";
  let description = [{
    `offsets` lists the location of each field of the first stage: a byte of
    shared memory, or a column of tensor memory. `stride` is the distance
    between stages in bytes of shared memory. `barriers` is the byte offset of
    the first stage's full barrier, which is followed by the empty barrier;
    `full` and `empty` are the arrivals per phase of these barriers. If the CTAs
    of a pair have different counts, `other_empty` applies to the CTA that is
    not the leader. Barriers are initialized in the set-up of the kernel.

    A stage in shared memory contains its fields and its barriers, so a role
    needs a single address per stage. If `bulk_copy` fills and `async_threads`
    empty the stages, the barriers are stored after all stages, and a right
    shift converts the stride of stages to the stride of barriers. Stages for
    bulk stores have no barriers.

    Example:

    ```mlir
    %in = mxbar.placed_ring "in" offsets [0, 16384] stride(17408)
        barriers(16896) full(1) empty(1) : !in_ring
    ```
  }];
  let arguments = (ins StrAttr:$name,
    ConfinedAttr<DenseI64ArrayAttr, [DenseArrayNonNegative<DenseI64ArrayAttr>]>:$offsets,
    ConfinedAttr<I64Attr, [IntPositive]>:$stride,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$barriers,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$full,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$empty,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$other_empty);
  let results = (outs MXGPU_RingType:$result);
  let assemblyFormat = [{
    $name `offsets` $offsets `stride` `(` $stride `)`
    (`barriers` `(` $barriers^ `)` `full` `(` $full `)` `empty` `(` $empty `)`)?
    (`other_empty` `(` $other_empty^ `)`)? attr-dict `:` type($result)
  }];
}

def MXBar_TensorMemoryOp : MXBar_NamedOp<"tensor_memory", "tmem", [
    HasParent<"::mx::mxgpu::KernelOp">,
    MemoryEffects<[MemWrite<MXGPU_TensorMemory>]>]> {
  let summary = "return the first column (i32) of the kernel's tensor memory";
  let description = [{
    Before the roles, `warp` allocates `columns` columns and stores their
    address at byte `slot` of shared memory. After the roles, the same warp
    frees them (PTX ISA, tcgen05.alloc and tcgen05.dealloc).

    Example:

    ```mlir
    %tmem = mxbar.tensor_memory columns(256) slot(58400) warp(5)
    ```
  }];
  let arguments = (ins I64Attr:$columns,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$slot,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$warp);
  let results = (outs I32:$result);
  let assemblyFormat = [{
    `columns` `(` $columns `)` `slot` `(` $slot `)` `warp` `(` $warp `)` attr-dict
  }];
}

def MXBar_BufferAddressOp : MXBar_Op<"buffer_address", [Pure]> {
  let summary = "return the address of a buffer in shared memory";
  let arguments = (ins MXGPU_BufferType:$buffer);
  let results = (outs AnyType:$pointer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($pointer)";
}

//===----------------------------------------------------------------------===//
// Stages and their contents
//===----------------------------------------------------------------------===//

def MXBar_GetStageOp : MXBar_Op<"get_stage", [
    Pure, MXGPU_NamesResult,
    TypesMatchWith<"stage belongs to the ring", "ring", "stage",
                   "::mx::mxgpu::StageType::get($_self.getContext(), ::llvm::cast<::mx::mxgpu::RingType>($_self))">]> {
  let summary = "return a ring's stage with a given number";
  let description = [{
    A number equal to the number of stages denotes the end of the ring, after
    the last stage.

    Example:

    ```mlir
    %first = mxbar.get_stage %in[0] : !in_ring
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$number);
  let results = (outs MXGPU_StageType:$stage);
  let assemblyFormat = "$ring `` `[` $number `]` attr-dict `:` type($ring)";
}

def MXBar_AdvanceOp : MXBar_Op<"advance", [
    Pure, MXGPU_NamesResult,
    AllTypesMatch<["stage", "first", "end", "next_stage"]>]> {
  let summary = "return the next stage and its parity";
  let description = [{
    The last stage is followed by `first`, with the parity flipped (CUTLASS,
    PipelineState). Roles keep the operands `first` and `end` in registers.

    Example:

    ```mlir
    %next, %next_parity = mxbar.advance %stage, %parity in(%first, %end) : !stage
    ```
  }];
  let arguments = (ins MXGPU_StageType:$stage, I32:$parity,
                       MXGPU_StageType:$first, MXGPU_StageType:$end);
  let results = (outs MXGPU_StageType:$next_stage, I32:$next_parity);
  let assemblyFormat = [{
    $stage `,` $parity `in` `(` $first `,` $end `)` attr-dict `:` type($stage)
  }];
}

def MXBar_PreviousStageOp : MXBar_Op<"previous_stage", [
    Pure, MXGPU_NamesResult, AllTypesMatch<["stage", "previous"]>]> {
  let summary = "return the previous stage and its parity";
  let description = [{
    Inverse of `mxbar.advance` for a ring of two stages: the predecessor of
    stage 0 is stage 1 of the previous round. The producer of overlapping
    accumulators waits for the release of the previous stage.

    Example:

    ```mlir
    %previous, %its_parity = mxbar.previous_stage %stage, %parity : !stage
    ```
  }];
  let arguments = (ins MXGPU_StageType:$stage, I32:$parity);
  let results = (outs MXGPU_StageType:$previous, I32:$previous_parity);
  let assemblyFormat = "$stage `,` $parity attr-dict `:` type($stage)";
}

def MXBar_NextStageOp : MXBar_NamedOp<"next_stage", "next", [
    Pure, SameOperandsAndResultType]> {
  let summary = "return the next stage of a ring without barriers";
  let description = [{
    The last stage is followed by stage 0, so a region or loop ends at its
    initial stage if its number of steps is a multiple of the ring size. Folding
    removes such full rounds. Partial rounds are kept, because folding a stage
    to an earlier value would keep the stage's addresses in registers until
    their next use.
  }];
  let arguments = (ins MXGPU_StageType:$stage);
  let results = (outs MXGPU_StageType:$next);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 0;
}

def MXBar_StageBuffersOp : MXBar_Op<"stage_buffers", [
    Pure, MXGPU_NamesResult, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>]> {
  let summary = "return views of the buffers of a stage";
  let description = [{
    `tensor_memory` is the first column of the kernel's tensor memory, for a
    ring in tensor memory. `warp` is the index of the warp within its role, for
    a ring with private stages for each warp.

    Example:

    ```mlir
    %a, %b = mxbar.stage_buffers %in, %stage : !in_ring, !in_stage
    %d = mxbar.stage_buffers %acc, %stage tensor_memory(%base) : !acc_ring, !acc_stage
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

def MXBar_StageBarriersOp : MXBar_Op<"stage_barriers", [
    Pure, MXGPU_NamesResult]> {
  let summary = "return the barriers of a stage";
  let description = [{
    A phase of the first barrier completes when the stage is full, and a phase
    of the second barrier when the stage is empty (PTX ISA, mbarrier).

    Example:

    ```mlir
    %full, %empty = mxbar.stage_barriers %in, %stage : !in_ring, !in_stage
    ```
  }];
  let arguments = (ins MXGPU_RingType:$ring, MXGPU_StageType:$stage);
  let results = (outs MXBar_LocalBarrier:$full, MXBar_LocalBarrier:$empty);
  let assemblyFormat = [{
    $ring `,` $stage attr-dict `:` type($ring) `,` type($stage)
  }];
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def MXBar_LeaderBarrierOp : MXBar_Op<"leader_barrier", [Pure]> {
  let summary = "return the corresponding barrier of the pair's leading CTA";
  let arguments = (ins MXBar_LocalBarrier:$barrier);
  let results = (outs MXBar_PairBarrier:$leader);
  let assemblyFormat = "$barrier attr-dict";
  let hasVerifier = 0;
}

/// Wait or arrival, which orders accesses to the memory guarded by a barrier.
class MXBar_BarrierOp<string mnemonic, list<Trait> traits = []>
    : MXBar_Op<mnemonic, traits # [MemoryEffects<[
        MemRead<MXGPU_Barriers>, MemWrite<MXGPU_Barriers>,
        MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_SharedMemory>,
        MemRead<MXGPU_TensorMemory>, MemWrite<MXGPU_TensorMemory>]>]> {
  let hasVerifier = 0;
}

def MXBar_WaitOp : MXBar_BarrierOp<"wait"> {
  let summary = "wait for the completion of a phase with a given parity";
  let description = [{
    Until the first phase completes, a wait for parity 1 (i32) returns
    immediately. With `pair`, writes that both CTAs issue before they arrive are
    visible after the wait (PTX ISA, mbarrier.try_wait).

    Example:

    ```mlir
    mxbar.wait %full parity(%parity)
    ```
  }];
  let arguments = (ins MXBar_LocalBarrier:$barrier, I32:$parity, UnitAttr:$pair);
  let assemblyFormat = "$barrier `parity` `(` $parity `)` (`pair` $pair^)? attr-dict";
}

def MXBar_ArriveOp : MXBar_BarrierOp<"arrive"> {
  let summary = "arrive at a barrier";
  let description = [{
    Arrives `count` times, once by default. With `expect` the phase also waits
    for that many bytes of asynchronous copies (PTX ISA,
    mbarrier.arrive.expect_tx). With `both` the op arrives at the corresponding
    barriers of both CTAs of a pair.

    With `of_async`, an arrival at both barriers orders only copies and matrix
    instructions for which the thread has waited. Accesses by threads are
    ordered only within this CTA, because ordering them for the cluster compiles
    to a GPU-wide fence.

    Examples:

    ```mlir
    mxbar.arrive %empty : !mxbar.barrier
    mxbar.arrive %full expect(33792) : !mxbar.barrier<pair>
    mxbar.arrive %empty both of_async : !mxbar.barrier
    ```
  }];
  let arguments = (ins MXBar_BarrierType:$barrier,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$bytes,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$count,
                       UnitAttr:$both, UnitAttr:$of_async);
  let assemblyFormat = [{
    $barrier (`expect` `(` $bytes^ `)`)? (`count` `(` $count^ `)`)?
    (`both` $both^)? (`of_async` $of_async^)? attr-dict
    `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
}

def MXBar_CommitOp : MXBar_BarrierOp<"commit"> {
  let summary = "arrive upon completion of this thread's MMAs and copies";
  let description = [{
    With `pair` the op arrives at both CTAs' barriers (PTX ISA, tcgen05.commit).
  }];
  let arguments = (ins MXBar_LocalBarrier:$barrier, UnitAttr:$pair);
  let assemblyFormat = "$barrier (`pair` $pair^)? attr-dict";
}

def MXBar_RequestWorkTileOp : MXBar_BarrierOp<"request_work_tile"> {
  let summary = "request a work tile from cluster launch control";
  let description = [{
    The response is written to `buffer` and counted by `barrier`, which must
    expect its bytes. With `pair` this happens in both CTAs (PTX ISA,
    clusterlaunchcontrol.try_cancel).
  }];
  let arguments = (ins MXGPU_BufferType:$buffer, MXBar_LocalBarrier:$barrier,
                       UnitAttr:$pair);
  let assemblyFormat = [{
    $buffer `,` $barrier (`pair` $pair^)? attr-dict `:` type($buffer)
  }];
}

def MXBar_LoadBoxOp : MXBar_Op<"load_box", [AttrSizedOperandSegments]> {
  let summary = "copy a box of a tensor into a buffer and count its bytes at a barrier";
  let description = [{
    Lowered form of `mxgpu.tma_load`. `barrier` counts the copied bytes (PTX
    ISA, cp.async.bulk.tensor). Coordinates, `box`, `multicast` and `cache` are
    defined as in `mxgpu.tma_load`.

    Example:

    ```mlir
    mxbar.load_box %map[%row, %k] into %a at %full : !map, !a, !mxbar.barrier
    ```
  }];
  let arguments = (ins MXGPU_TensorMapType:$map, Variadic<Index>:$coords,
                       Arg<MXGPU_BufferType, "", [MemWrite<MXGPU_SharedMemory>]>:$buffer,
                       MXBar_BarrierType:$barrier,
                       Optional<Index>:$box, UnitAttr:$multicast,
                       DefaultValuedAttr<MXGPU_CacheHintAttr, "::mx::mxgpu::CacheHint::None">:$cache);
  let assemblyFormat = [{
    $map `` `[` $coords `]` `into` $buffer (`box` `(` $box^ `)`)?
    `at` $barrier (`multicast` $multicast^)? (`cache` `=` $cache^)? attr-dict
    `:` type($map) `,` type($buffer) `,` qualified(type($barrier))
  }];
}

def MXBar_CopyToColumnsOp : MXBar_NamedOp<"copy_to_columns", "scales"> {
  let summary = "copy scale factors to columns of tensor memory";
  let description = [{
    Lowered form of `mxgpu.copy_scales`. Writes columns of `tensor_memory`,
    starting at `column`. If there are several locations, `place` (i32) selects
    a location. With `pair` the copy is written to the tensor memories of both
    CTAs (PTX ISA, tcgen05.cp).

    Example:

    ```mlir
    %scales = mxbar.copy_to_columns %sfa tensor_memory(%tmem) column(4)
        place(%place) : !sfa -> !mxgpu.scales<128>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       I32:$tensor_memory, Optional<I32>:$place,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$column,
                       UnitAttr:$pair);
  let results = (outs Res<MXGPU_ScalesType, "", [MemWrite<MXGPU_TensorMemory>]>:$result);
  let assemblyFormat = [{
    $buffer `tensor_memory` `(` $tensor_memory `)` `column` `(` $column `)`
    (`place` `(` $place^ `)`)? (`pair` $pair^)? attr-dict
    `:` type($buffer) `->` qualified(type($result))
  }];
}

def MXBar_ExchangePartialsOp : MXBar_NamedOp<"exchange_partials", "added", [
    AllTypesMatch<["accumulator", "result"]>,
    MemoryEffects<[MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_SharedMemory>]>]> {
  let summary = "add the partial accumulators of a cluster through shared memory";
  let description = [{
    Lowered form of `mxgpu.add_partials`, with partial accumulators at byte
    `offset` of the shared memory of each CTA.

    Example:

    ```mlir
    %all = mxbar.exchange_partials %accumulator thread(%thread) offset(4096) : !accumulator
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$accumulator, Index:$thread,
                       UnitAttr:$distributed,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$offset);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $accumulator `thread` `(` $thread `)` (`distributed` $distributed^)?
    `offset` `(` $offset `)` attr-dict `:` type($accumulator)
  }];
  let hasVerifier = 0;
}

#endif // MX_DIALECT_MXBAR_IR_MXBAROPS_TD

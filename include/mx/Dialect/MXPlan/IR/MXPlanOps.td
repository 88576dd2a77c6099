//===- MXPlanOps.td - The mxplan dialect -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXPLAN_IR_MXPLANOPS_TD
#define MX_DIALECT_MXPLAN_IR_MXPLANOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mx/Dialect/MXGPU/IR/MXGPUAttrs.td"
include "mx/Dialect/MXGPU/IR/MXGPUTypes.td"

def MXPlan_Dialect : Dialect {
  let name = "mxplan";
  let cppNamespace = "::mx::mxplan";
  let summary = "Host code between kernels";
  let description = [{
    The `mxplan` dialect represents the host part of a program: kernel launches
    in order, and their memory. A plan is a `func.func`. Sizes are `arith` on
    `index`; other numbers are `arith` and `math` on integers of up to 64 bits,
    f16, bf16, f32 and f64. Control flow is `scf.if`, `scf.index_switch`,
    `scf.for`, `scf.while` and `func.call`, and checks are `mxgpu.require`. The
    dialect adds device memory without a shape, launches with the kernel's
    parameters, and reads of numbers from the device.

    Functions that can be called from outside describe their interface in
    `mxplan.arguments` and `mxplan.results`. `mx-translate --mx-to-manifest`
    writes such functions as a manifest, which the runtime executes.

    ```mlir
    func.func @scale(%x: !mxplan.buffer, %n: index, %rounds: index)
        -> (!mxplan.buffer, index) {
      %bytes = arith.muli %n, %c4 : index
      %y = mxplan.alloc %bytes
      mxplan.copy %x to %y bytes(%bytes)
      scf.for %i = %c0 to %rounds step %c1 {
        mxplan.launch @kernels::@scale grid(%n) args(%y : !mxplan.buffer)
      }
      return %y, %n : !mxplan.buffer, index
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::scf::SCFDialect",
                           "::mx::mxgpu::MXGPUDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

def MXPlan_Buffer : TypeDef<MXPlan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "device memory without a shape";
}

def MXPlan_Token : TypeDef<MXPlan_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "collective beside later operations";
}

def MXPlan_ValueAttr : AttrDef<MXPlan_Dialect, "Value"> {
  let mnemonic = "value";
  let summary = "argument or result of a plan, for callers";
  let description = [{
    `type` is the type in the plan, a memref or a scalar. A memref is passed as
    a buffer followed by an `index` for each dynamic extent. `source` is the
    type in the program.

    Example: `#mxplan.value<"x", memref<?x256xi8>, tensor<?x256xf8E4M3FN>>`
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::Type":$type,
                        "::mlir::Type":$source);
  let assemblyFormat = "`<` $name `,` $type `,` $source `>`";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class MXPlan_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MXPlan_Dialect, opMnemonic, traits>;

def MXPlan_AllocOp : MXPlan_Op<"alloc"> {
  let summary = "allocate memory for an intermediate result";
  let description = [{
    The memory lives until no value refers to it; there is no operation to free
    it. If its size depends only on the arguments, it is part of the caller's
    workspace; otherwise it is allocated during the run. In a loop, each
    execution returns memory to which no loop-carried value refers.
  }];
  let arguments = (ins Index:$bytes);
  let results = (outs Res<MXPlan_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "$bytes attr-dict";
}

def MXPlan_ConstantOp : MXPlan_Op<"constant", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "constant array of the program";
  let description = [{
    `global` names a constant `memref.global` with a value. Its read-only bytes
    are copied to the device when the program is loaded and freed when it is
    unloaded.

    ```mlir
    memref.global "private" constant @bias : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
    %bias = mxplan.constant @bias
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs MXPlan_Buffer:$buffer);
  let assemblyFormat = "$global attr-dict";
}

/// Operation on an `mx.group` of the same module.
class MXPlan_OfRankGroup<string opMnemonic, list<Trait> traits = []>
    : MXPlan_Op<opMnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verifySymbolUses(
        ::mlir::SymbolTableCollection &symbolTable) {
      return verifyGroup(*this, getGroupAttr(), symbolTable);
    }
  }];
}

def MXPlan_RankOp : MXPlan_OfRankGroup<"rank", [Pure]> {
  let summary = "index of this rank in a rank group";
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "$group attr-dict";
}

def MXPlan_PeersOp : MXPlan_OfRankGroup<"peers", [Pure]> {
  let summary = "the address of `mx.peers`, or 0";
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "$group attr-dict";
}

def MXPlan_BarrierOp : MXPlan_OfRankGroup<"barrier"> {
  let summary = "wait for all ranks";
  let arguments = (ins FlatSymbolRefAttr:$group);
  let assemblyFormat = "$group attr-dict";
}

def MXPlan_WindowOp : MXPlan_OfRankGroup<"window"> {
  let summary = "memory of a rank group that receives segments of all ranks";
  let description = [{
    Each operation returns a slice of the rank group's memory on this rank. The
    memory lives as long as the rank group. All executions of an operation
    return the same slice.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
                       ConfinedAttr<I64Attr, [IntMinValue<0>]>:$bytes);
  let results = (outs Res<MXPlan_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "$group `bytes` `(` $bytes `)` attr-dict";
}

def MXPlan_AllGatherOp : MXPlan_OfRankGroup<"all_gather"> {
  let summary = "gather the segments of all ranks";
  let description = [{
    `buffer` contains a segment of `bytes` bytes for each rank of the group.
    Segment r is replaced by segment r of rank r. An operation with a token runs
    beside the operations up to the `mxplan.wait` on the token.

    ```mlir
    %sent = mxplan.all_gather @ep %window bytes(%bytes) : !mxplan.token
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
                       Arg<MXPlan_Buffer, "", [MemRead, MemWrite]>:$buffer,
                       Index:$bytes);
  let results = (outs Optional<MXPlan_Token>:$token);
  let assemblyFormat = [{
    $group $buffer `bytes` `(` $bytes `)` attr-dict (`:` type($token)^)?
  }];
}

def MXPlan_AllToAllOp : MXPlan_OfRankGroup<"all_to_all"> {
  let summary = "exchange a segment with each rank";
  let description = [{
    Both buffers contain a segment of `bytes` bytes for each rank of the group.
    Segment d of `target` is replaced by segment r of the `source` of rank d,
    with r the index of this rank. `mxplan.all_gather` describes tokens.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
                       Arg<MXPlan_Buffer, "", [MemRead]>:$source,
                       Arg<MXPlan_Buffer, "", [MemWrite]>:$target,
                       Index:$bytes);
  let results = (outs Optional<MXPlan_Token>:$token);
  let assemblyFormat = [{
    $group $source `to` $target `bytes` `(` $bytes `)` attr-dict
    (`:` type($token)^)?
  }];
}

def MXPlan_WaitOp : MXPlan_Op<"wait"> {
  let summary = "order a collective before later operations";
  let description = [{
    Earlier collectives of the rank group complete as well. The collective is in
    the same block. Operations between the two must not use its buffers.
  }];
  let arguments = (ins Arg<MXPlan_Token, "", [MemFree]>:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

def MXPlan_AddressOp : MXPlan_Op<"address", [Pure]> {
  let summary = "device address of a buffer";
  let arguments = (ins MXPlan_Buffer:$buffer);
  let results = (outs Index:$result);
  let assemblyFormat = "$buffer attr-dict";
}

def MXPlan_SliceOp : MXPlan_Op<"slice", [Pure]> {
  let summary = "buffer at an offset, as a kernel parameter";
  let description = [{
    Kernels receive the address of the buffer plus `offset` bytes.
  }];
  let arguments = (ins MXPlan_Buffer:$buffer, Index:$offset);
  let results = (outs MXPlan_Buffer:$result);
  let assemblyFormat = "$buffer `from` $offset attr-dict";
  let hasVerifier = 1;
}

def MXPlan_FillOp : MXPlan_Op<"fill"> {
  let summary = "set the first bytes of a buffer to a value";
  let arguments = (ins Arg<MXPlan_Buffer, "", [MemWrite]>:$buffer,
                       ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<255>]>:$byte,
                       Index:$bytes);
  let assemblyFormat = "$buffer `,` $byte `bytes` `(` $bytes `)` attr-dict";
}

def MXPlan_CopyOp : MXPlan_Op<"copy"> {
  let summary = "copy the first bytes of a buffer to another buffer";
  let description = [{
    Writes to the target, starting at byte `offset` or, without `offset`, at
    byte 0. Copying a buffer to itself has no effect.
  }];
  let arguments = (ins Arg<MXPlan_Buffer, "", [MemRead]>:$source,
                       Arg<MXPlan_Buffer, "", [MemWrite]>:$target,
                       Optional<Index>:$offset, Index:$bytes);
  let assemblyFormat = [{
    $source `to` $target (`[` $offset^ `]`)? `bytes` `(` $bytes `)` attr-dict
  }];
}

def MXPlan_ReadOp : MXPlan_Op<"read"> {
  let summary = "wait for the device and read a number from its memory";
  let description = [{
    Earlier operations have completed on the device when the number is read, so
    an error that is found later cannot prevent their launches. `offset` is in
    bytes.
  }];
  let arguments = (ins Arg<MXPlan_Buffer, "", [MemRead]>:$buffer, Index:$offset);
  let results = (outs AnyTypeOf<[AnySignlessInteger, Index, AnyFloat]>:$result);
  let assemblyFormat = "$buffer `[` $offset `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MXPlan_EncodeTensorMapOp : MXPlan_Op<"encode_tensor_map", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "encode a tensor map for TMA";
  let description = [{
    Takes the arguments of the driver's `cuTensorMapEncodeTiled`: the tensor
    starts `offset` bytes into the buffer; `dims` are in elements, innermost
    first; `strides` are in bytes, starting with dimension 1. The result type
    contains the element type, the box and the swizzle.
  }];
  let arguments = (ins MXPlan_Buffer:$buffer, Index:$offset,
    Variadic<Index>:$dims, Variadic<Index>:$strides,
    DefaultValuedAttr<MXGPU_L2PromotionAttr,
                      "::mx::mxgpu::L2Promotion::B256">:$l2_promotion);
  let results = (outs MXGPU_TensorMapType:$result);
  let assemblyFormat = [{
    $buffer `offset` `(` $offset `)` `dims` `(` $dims `)`
    `strides` `(` $strides `)` (`l2_promotion` `=` $l2_promotion^)?
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def MXPlan_LaunchOp : MXPlan_Op<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launch a kernel with its parameters";
  let description = [{
    An empty grid launches nothing. The parameters represent the arguments of
    the kernel. A memref is passed as its buffer, followed by an i64 for each
    dynamic size, stride and offset. An index is passed as an i64.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Index:$grid,
                       Variadic<AnyType>:$args);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` `args` `(` ($args^ `:` type($args))? `)` attr-dict
  }];
}

#endif // MX_DIALECT_MXPLAN_IR_MXPLANOPS_TD

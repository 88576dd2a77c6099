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
  let summary = "What the host does between kernels";
  let description = [{
    The `mxplan` dialect says what the host does: which kernels are launched in
    which order, on which memory. A plan is a `func.func`; sizes are `arith` on
    `index`, other numbers are `arith` and `math` on integers of up to 64 bits,
    f16, bf16, f32 and f64, control flow is `scf.if`, `scf.index_switch`,
    `scf.for`, `scf.while` and `func.call`, and checks are `mxgpu.require`. The
    dialect adds what upstream lacks: device memory without a shape, launches
    with the parameters that the kernel takes, and numbers that are read from
    the device.

    A function that can be called from outside describes its interface in
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
  let summary = "bytes of device memory, without a shape";
}

def MXPlan_ValueAttr : AttrDef<MXPlan_Dialect, "Value"> {
  let mnemonic = "value";
  let summary = "an argument or result of a plan as callers see it";
  let description = [{
    `type` is its type in the plan, a memref or a scalar: a memref is a buffer
    followed by an `index` for each dynamic extent. `source` is its type in the
    program.

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
    it. If its size follows from the arguments, it is part of the caller's
    workspace; otherwise it is allocated during the run. In a loop, each
    execution returns memory that none of the loop-carried values refers to.
  }];
  let arguments = (ins Index:$bytes);
  let results = (outs Res<MXPlan_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "$bytes attr-dict";
}

def MXPlan_ConstantOp : MXPlan_Op<"constant", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "an array that the program brings";
  let description = [{
    The symbol is a `memref.global` that is constant and has a value. Its bytes
    are copied to the device when the program is loaded, and stay there as long
    as it is; nothing may write them.

    ```mlir
    memref.global "private" constant @bias : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
    %bias = mxplan.constant @bias
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs MXPlan_Buffer:$buffer);
  let assemblyFormat = "$global attr-dict";
}

/// An operation that names an `mx.group` of the module.
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
  let summary = "the number of this rank in a rank group";
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "$group attr-dict";
}

def MXPlan_WindowOp : MXPlan_OfRankGroup<"window"> {
  let summary = "memory of a rank group in which segments of all ranks arrive";
  let description = [{
    Each operation is a slice of the memory that the group has on this rank. It
    is there as long as the group is; each execution gives the same memory.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
                       ConfinedAttr<I64Attr, [IntMinValue<0>]>:$bytes);
  let results = (outs Res<MXPlan_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "$group `bytes` `(` $bytes `)` attr-dict";
}

def MXPlan_AllGatherOp : MXPlan_OfRankGroup<"all_gather"> {
  let summary = "gather the segments of all ranks";
  let description = [{
    `buffer` has as many segments of `bytes` bytes as the group has ranks. Segment r
    becomes what it is on rank r.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
                       Arg<MXPlan_Buffer, "", [MemRead, MemWrite]>:$buffer,
                       Index:$bytes);
  let assemblyFormat = "$group $buffer `bytes` `(` $bytes `)` attr-dict";
}

def MXPlan_AllToAllOp : MXPlan_OfRankGroup<"all_to_all"> {
  let summary = "exchange a segment with each rank";
  let description = [{
    Both buffers have as many segments of `bytes` bytes as the group has ranks. Segment d
    of `target` becomes segment r of the `source` of rank d, where r is this rank.
  }];
  let arguments = (ins FlatSymbolRefAttr:$group,
                       Arg<MXPlan_Buffer, "", [MemRead]>:$source,
                       Arg<MXPlan_Buffer, "", [MemWrite]>:$target,
                       Index:$bytes);
  let assemblyFormat = [{
    $group $source `to` $target `bytes` `(` $bytes `)` attr-dict
  }];
}

def MXPlan_AddressOp : MXPlan_Op<"address", [Pure]> {
  let summary = "the address of a buffer on the device";
  let arguments = (ins MXPlan_Buffer:$buffer);
  let results = (outs Index:$result);
  let assemblyFormat = "$buffer attr-dict";
}

def MXPlan_SliceOp : MXPlan_Op<"slice", [Pure]> {
  let summary = "a buffer from some byte on, as a parameter of kernels";
  let description = [{
    Kernels are given the address `offset` bytes after that of the buffer.
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
  let summary = "copy the first bytes of a buffer to another one";
  let description = [{
    They go to the bytes of the target from `offset` on, without one to the first.
    Nothing happens if both are the same memory.
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
    Everything before this operation has completed on the device when the number
    is read; `offset` is in bytes. Errors that are found afterwards can no
    longer prevent the launches before it.
  }];
  let arguments = (ins Arg<MXPlan_Buffer, "", [MemRead]>:$buffer, Index:$offset);
  let results = (outs AnyTypeOf<[AnySignlessInteger, Index, AnyFloat]>:$result);
  let assemblyFormat = "$buffer `[` $offset `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MXPlan_EncodeTensorMapOp : MXPlan_Op<"encode_tensor_map", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "describe a tensor in a buffer to the copy engine";
  let description = [{
    The arguments are those of the driver's `cuTensorMapEncodeTiled`: the tensor
    begins `offset` bytes into the buffer; `dims` are in elements, innermost
    first; `strides` are in bytes, starting with dimension 1. The element type,
    box and swizzle come from the result's type.
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
    the kernel: a memref is its buffer followed by an i64 for each dynamic size,
    stride and offset; an index is an i64.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Index:$grid,
                       Variadic<AnyType>:$args);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` `args` `(` ($args^ `:` type($args))? `)` attr-dict
  }];
}

#endif // MX_DIALECT_MXPLAN_IR_MXPLANOPS_TD

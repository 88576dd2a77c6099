//===- MXGPUBase.td - Base classes of mxgpu operations -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUBASE_TD
#define MX_DIALECT_MXGPU_IR_MXGPUBASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mx/Dialect/MXGPU/IR/MXGPUAttrs.td"
include "mx/Dialect/MXGPU/IR/MXGPUMma.td"
include "mx/Dialect/MXGPU/IR/MXGPUTypes.td"

/// Base class of operations. Most constraints exceed types and traits.
class MXGPU_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MXGPU_Dialect, opMnemonic, traits> {
  let hasVerifier = 1;
}

/// Side-effect resources besides the memory of memrefs. Acquiring or releasing
/// a stage transfers ownership of the ring's buffers, so no access moves across
/// it.
def MXGPU_SharedMemory : Resource<"::mx::mxgpu::SharedMemory">;
def MXGPU_TensorMemory : Resource<"::mx::mxgpu::TensorMemory">;
def MXGPU_Barriers : Resource<"::mx::mxgpu::Barriers">;

/// Interfaces that make printed kernels readable by naming results or block
/// arguments.
def MXGPU_NamesResult
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
def MXGPU_NamesBlockArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

/// Operation with the result printed as `%result`.
class MXGPU_NamedOp<string mnemonic, string result, list<Trait> traits = []>
    : MXGPU_Op<mnemonic, traits # [MXGPU_NamesResult]> {
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      setName(getResult(), "}] # result # [{");
    }
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUBASE_TD

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

/// Base class of operations. Types and traits cannot express most constraints,
/// so all operations have a verifier.
class MXGPU_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MXGPU_Dialect, opMnemonic, traits> {
  let hasVerifier = 1;
}

/// Side-effect resources in addition to the memory of memrefs. Acquiring or
/// releasing a stage transfers the ownership of its buffers, so passes must not
/// move accesses across these operations.
def MXGPU_SharedMemory : Resource<"::mx::mxgpu::SharedMemory">;
def MXGPU_TensorMemory : Resource<"::mx::mxgpu::TensorMemory">;
def MXGPU_Barriers : Resource<"::mx::mxgpu::Barriers">;

/// Interfaces that name results or block arguments in printed kernels.
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

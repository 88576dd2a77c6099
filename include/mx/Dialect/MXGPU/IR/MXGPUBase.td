//===- MXGPUBase.td - What all operations of mxgpu share ---*- tablegen -*-===//
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

class MXGPU_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MXGPU_Dialect, opMnemonic, traits>;

/// What operations read and write besides memory that memrefs describe. A take
/// or give of a stage changes hands of what the ring's buffers hold: nothing
/// moves across it.
def MXGPU_SharedMemory : Resource<"::mx::mxgpu::SharedMemory">;
def MXGPU_TensorMemory : Resource<"::mx::mxgpu::TensorMemory">;
def MXGPU_Barriers : Resource<"::mx::mxgpu::Barriers">;

/// Operations that give their results, or their bodies' arguments, names that
/// make a printed kernel readable.
def MXGPU_NamesResult
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
def MXGPU_NamesBlockArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

#endif // MX_DIALECT_MXGPU_IR_MXGPUBASE_TD

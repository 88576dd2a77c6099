//===- MXGPUToNVVM.h - Lower kernels to NVVM --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the lowering of mxgpu kernels and their host code.
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXGPUTONVVM_MXGPUTONVVM_H
#define MX_CONVERSION_MXGPUTONVVM_MXGPUTONVVM_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"

namespace mx::mxgpu {

#define GEN_PASS_DECL
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"

/// Makes convert-to-llvm lower unsupported float types to same-width integers.
void registerConvertFloatsToLLVMInterface(mlir::DialectRegistry &registry);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXGPUTONVVM_MXGPUTONVVM_H

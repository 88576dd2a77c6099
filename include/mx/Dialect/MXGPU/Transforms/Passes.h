//===- Passes.h - Passes on mxgpu -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the passes that check and complete a kernel before it is lowered.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_TRANSFORMS_PASSES_H
#define MX_DIALECT_MXGPU_TRANSFORMS_PASSES_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/TargetInfo.h"

namespace mx::mxgpu {

#define GEN_PASS_DECL
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"

/// The chip of the `gpu.module` around `op`, or null after an error that names
/// the chips that are known and have tcgen05.
const target::TargetInfo *getTargetInfo(mlir::Operation *op);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_TRANSFORMS_PASSES_H

//===- Passes.h - Passes on mxgpu -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Returns the chip of the `gpu.module` around `op`. Reports an error and
/// returns null if there is no chip, or if mx does not generate kernels for the
/// chip.
const target::TargetInfo *getTargetInfo(mlir::Operation *op);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_TRANSFORMS_PASSES_H

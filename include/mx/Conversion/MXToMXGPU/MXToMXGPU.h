//===- MXToMXGPU.h - Build kernels for mx operations ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declares the choice of schedules and the construction of kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_MXTOMXGPU_H
#define MX_CONVERSION_MXTOMXGPU_MXTOMXGPU_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mx/Target/TargetInfo.h"

namespace mlir::linalg {
class LinalgOp;
} // namespace mlir::linalg

namespace mx::mxgpu {

#define GEN_PASS_DECL
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"

/// Makes `--mx-explain` an option of the tool: it has every run of
/// mx-select-schedule print its choices to stderr.
void registerExplainOption();

/// Bits of shared memory that the smallest tile of a quantizer has on a chip
/// for each of its elements, all values and destinations together.
int64_t getQuantizeTileBits(llvm::StringRef chip);

/// Whether an operation adds up rows as the kernel of reductions does, in an
/// order of its own.
bool isRowSum(mlir::linalg::LinalgOp op);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_MXTOMXGPU_H

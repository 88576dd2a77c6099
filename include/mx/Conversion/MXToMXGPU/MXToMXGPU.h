//===- MXToMXGPU.h - Build kernels for mx operations ---------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Registers `--mx-explain`, which makes every run of mx-select-schedule print
/// the selected schedules to stderr.
void registerExplainOption();

/// Returns the shared memory for the values and all destinations of the
/// smallest quantizer tile on a chip, in bits per tile element.
int64_t getQuantizeTileBits(llvm::StringRef chip);

/// Returns true if `op` is a row sum that the reduction kernel may reorder.
bool isRowSum(mlir::linalg::LinalgOp op);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_MXTOMXGPU_H

//===- Bufferization.h - From tensors to buffers ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The step that all pipelines share.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PIPELINES_BUFFERIZATION_H
#define MX_LIB_PIPELINES_BUFFERIZATION_H

#include "mlir/Pass/PassManager.h"

namespace mx {

/// Functions on tensors -> functions on memrefs with identity layouts, whose
/// scale tensors have the shapes that they have in memory.
void addBufferization(mlir::OpPassManager &pm);

} // namespace mx

#endif // MX_LIB_PIPELINES_BUFFERIZATION_H

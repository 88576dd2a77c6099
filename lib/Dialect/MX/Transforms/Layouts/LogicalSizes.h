//===- LogicalSizes.h - Logical sizes of tensors with layouts ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_LAYOUTS_LOGICALSIZES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_LAYOUTS_LOGICALSIZES_H

#include "mlir/IR/BuiltinOps.h"

namespace mx::detail {

/// Replaces tensor.dim of rows and blocks of sf_128x4 tensors, and of rows and
/// columns of packed weights, because physical tensors lack these sizes.
llvm::LogicalResult resolveSizes(mlir::ModuleOp module);

} // namespace mx::detail

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_LAYOUTS_LOGICALSIZES_H

//===- RowReduction.h - linalg operations that reduce rows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Which linalg operations have a kernel, and what a kernel sees of them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_REDUCE_ROWREDUCTION_H
#define MX_LIB_CONVERSION_MXTOMXGPU_REDUCE_ROWREDUCTION_H

#include "../KernelBuilder.h"

namespace mx::mxgpu {

/// Says at `op` what a kernel reduces where it is something else.
llvm::LogicalResult verifyRowReduction(mlir::linalg::GenericOp op);

/// Whether there is such a kernel for it.
bool hasReductionKernel(mlir::linalg::GenericOp op);

struct RowReduction {
  ReduceKind kind;
  llvm::SmallVector<mlir::Value> matrices;
};

/// Makes of the operation's body, in place, a region whose arguments are the
/// elements of matrices, the row and the column, and which yields what is
/// combined.
RowReduction makeRowReduction(mlir::linalg::GenericOp op);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_REDUCE_ROWREDUCTION_H

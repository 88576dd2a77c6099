//===- Linalg.h - Kernels of linalg operations ---------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of rows have a dedicated kernel. Other operations become parallel
// loops and then simple kernels, with a thread for each element.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_LINALG_LINALG_H
#define MX_LIB_CONVERSION_MXTOMXGPU_LINALG_LINALG_H

#include "../Builder/KernelBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mx::mxgpu {

//===----------------------------------------------------------------------===//
// Reductions of rows
//===----------------------------------------------------------------------===//

/// Emits an error at `op` unless it is a reduction of rows.
llvm::LogicalResult verifyRowReduction(mlir::linalg::GenericOp op);

/// Returns true if the reduction kernel supports `op`.
bool hasReductionKernel(mlir::linalg::GenericOp op);

struct RowReduction {
  ReduceKind kind;
  llvm::SmallVector<mlir::Value> matrices;
};

/// Converts the body of `op` in place to a region that takes the elements of
/// the matrices, the row and the column, and yields the value to combine.
RowReduction makeRowReduction(mlir::linalg::GenericOp op);

/// Returns true if the runtime can perform the fill: zeros, in bytes not shared
/// with other memrefs.
bool isMemset(mlir::linalg::FillOp op);

//===----------------------------------------------------------------------===//
// Simple kernels
//===----------------------------------------------------------------------===//

/// Emits an error for operands or body operations that a thread cannot process.
llvm::LogicalResult verifySimple(mlir::linalg::GenericOp op);

/// Requires at run time that all accesses are in bounds, as on the CPU path.
void requireAccesses(mlir::Operation *op);

/// Requires at run time that the operand sizes match the loops of an operation.
void requireSizes(mlir::linalg::GenericOp op);

/// Replaces an operation by parallel loops over the dimensions that index every
/// result, with the other loops nested inside.
void emitLoops(mlir::linalg::GenericOp op, llvm::StringRef name);

/// Creates parallel loops, or a single iteration, to be outlined to a kernel
/// named `name`. Moves the insertion point into the body.
mlir::scf::ParallelOp createSimpleLoop(KernelBuilder &host,
                                       mlir::ValueRange sizes,
                                       llvm::StringRef name);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_LINALG_LINALG_H

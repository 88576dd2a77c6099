//===- Linalg.h - Kernels of linalg operations ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Reductions of rows have a kernel. Every other operation becomes parallel
// loops, and these become a simple kernel, with one thread for each element.
// Both steps leave IR that prints.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_LINALG_LINALG_H
#define MX_LIB_CONVERSION_MXTOMXGPU_LINALG_LINALG_H

#include "../Builder/KernelBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mx::mxgpu {

//===----------------------------------------------------------------------===//
// Reductions of rows
//===----------------------------------------------------------------------===//

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

/// Returns true if the runtime can fill the result: with zeros, in bytes of its
/// own.
bool isMemset(mlir::linalg::FillOp op);

//===----------------------------------------------------------------------===//
// Simple kernels
//===----------------------------------------------------------------------===//

/// Says at the operation, or in its body, what no thread can compute.
llvm::LogicalResult verifySimple(mlir::linalg::GenericOp op);

/// Requires at run time, as the CPU path does, that an operation reads and
/// writes only what is there.
void requireAccesses(mlir::Operation *op);

/// The same of the sizes of an operation's operands, which its loops follow.
void requireSizes(mlir::linalg::GenericOp op);

/// Replaces the operation by parallel loops, over what every result has an
/// index for; all else is loops in a thread, in the operation's order.
void emitLoops(mlir::linalg::GenericOp op, llvm::StringRef name);

/// Parallel loops, or a single iteration, that become a kernel of this name.
/// The insertion point moves into them.
mlir::scf::ParallelOp createSimpleLoop(KernelBuilder &host,
                                       mlir::ValueRange sizes,
                                       llvm::StringRef name);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_LINALG_LINALG_H

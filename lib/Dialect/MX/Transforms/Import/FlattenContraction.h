//===- FlattenContraction.h - Contractions as matmuls -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_FLATTENCONTRACTION_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_FLATTENCONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::import {

/// A contraction of matrices, or of a batch of them, and its result in the
/// shape of the contraction that it stands for.
struct FlatContraction {
  mlir::linalg::LinalgOp op;
  mlir::Value result;
  /// That sizes of dimensions that were put together are the same.
  llvm::SmallVector<mxgpu::RequireOp, 0> requirements;
};

/// The same contraction with one dimension each for a batch, rows, columns and
/// the reduction, beside `op`, which stays as it is. Nothing if its dimensions
/// cannot be put together, or if they are so already.
std::optional<FlatContraction> flattenContraction(mlir::linalg::LinalgOp op);

/// Erases a flat contraction that was not used.
void eraseContraction(const FlatContraction &flat);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_FLATTENCONTRACTION_H

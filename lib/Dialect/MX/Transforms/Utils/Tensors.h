//===- Tensors.h - Utilities for tensors around matmuls ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_TENSORS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_TENSORS_H

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Returns true for tensors of f32, bf16 or f16 without encoding.
bool isFloatTensor(mlir::Value tensor);

/// Returns true if a value is provably filled with zeros.
bool isZeros(mlir::Value tensor);

/// Returns the only user of `value` if it only rounds an f32 tensor to bf16 or
/// f16; else null.
mlir::Operation *getRounding(mlir::Value value);

//===----------------------------------------------------------------------===//
// Reshaping
//===----------------------------------------------------------------------===//

/// Returns the reassociation that expands the non-empty groups of `counts` to
/// all groups; empty groups become unit dimensions.
llvm::SmallVector<mlir::ReassociationIndices>
getUnitReassociation(llvm::ArrayRef<int64_t> counts);

/// Expands each dimension of `tensor` to a group of `sizes`.
mlir::Value expandToSizes(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor,
                          llvm::ArrayRef<mlir::ReassociationIndices> groups,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Exchanges the last two dimensions.
mlir::Value transposeLast(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor);

/// Permutes dimensions: dimension i of the result is `order[i]`.
mlir::Value transposeTensor(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value tensor, llvm::ArrayRef<int64_t> order);

/// Returns an uninitialized tensor of the given sizes.
mlir::Value makeEmpty(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::OpFoldResult> sizes,
                      mlir::Type element, mlir::Attribute encoding = {});

/// Converts linear scales to the layout that matmuls read.
mlir::Value relayoutScales(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value scales, ScaleLayoutKind layout);

/// Converts a tensor of rank 1 to a matrix with a single row.
mlir::Value addRow(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value tensor);
/// Reverses addRow for a tensor of the given rank.
mlir::Value dropRow(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value tensor, int64_t rank);

/// Casts `tensor` to `type`, which may have other static sizes or no rank.
mlir::Value castTensor(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value tensor, mlir::Type type);

/// Erases dead operations of `ops`, and operations that become dead.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_TENSORS_H

//===- Tensors.h - Tensors around matmuls -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_TENSORS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_TENSORS_H

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Whether a value is a tensor of f32, bf16 or f16 without encoding.
bool isFloatTensor(mlir::Value tensor);

/// Whether a value is known to be filled with zeros.
bool isZeros(mlir::Value tensor);

/// The only user of `value`, if that rounds an f32 tensor to bf16 or f16 and
/// does nothing else.
mlir::Operation *getRounding(mlir::Value value);

//===----------------------------------------------------------------------===//
// Tensors of another shape
//===----------------------------------------------------------------------===//

/// Which dimensions of a tensor of `counts.size()` groups, of which some have
/// no dimension, are beside each dimension of the groups that have one.
llvm::SmallVector<mlir::ReassociationIndices>
getUnitReassociation(llvm::ArrayRef<int64_t> counts);

/// A tensor with `sizes`, of which each group is a dimension of `tensor`.
mlir::Value expandToSizes(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor,
                          llvm::ArrayRef<mlir::ReassociationIndices> groups,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// The last two dimensions exchanged.
mlir::Value transposeLast(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor);

/// The dimension i of the result is dimension `order[i]`.
mlir::Value transposeTensor(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value tensor, llvm::ArrayRef<int64_t> order);

/// A tensor of the given sizes without contents.
mlir::Value makeEmpty(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::OpFoldResult> sizes,
                      mlir::Type element, mlir::Attribute encoding = {});

/// Linear scales in the layout that matmuls read.
mlir::Value relayoutScales(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value scales, ScaleLayoutKind layout);

/// A matrix of one row, if `tensor` has rank 1.
mlir::Value addRow(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value tensor);
/// The reverse, for a tensor of the given rank.
mlir::Value dropRow(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value tensor, int64_t rank);

/// `tensor` as `type`, which may know other sizes, or no rank.
mlir::Value castTensor(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value tensor, mlir::Type type);

/// Erases operations without effects and users, from `ops` backwards.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_UTILS_TENSORS_H

//===- Import.h - The forms that mx-import-scaled takes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each form has a function that rewrites an operation, or says why it does not.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_IMPORT_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_IMPORT_H

#include "../Utils/Tensors.h"
#include "Trace.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::import {

struct Options {
  ScaleLayoutKind layout = ScaleLayoutKind::Sf128x4;
  bool dynamicBlocks = false;
  bool wideF16 = false;
  /// Operations that may have lost their last user.
  llvm::SetVector<mlir::Operation *> *dead = nullptr;
};

/// Why an operation stays as it is; empty if it is none of the form.
using Reason = std::string;

//===----------------------------------------------------------------------===//
// Matmuls (Matmul.cpp)
//===----------------------------------------------------------------------===//

/// A matmul, in terms of loops.
struct Matmul {
  mlir::Operation *root = nullptr;
  /// In the order of the operands of `root`.
  Factor left, right;
  /// The dimensions of the result.
  Indices out;
  /// Loops that are summed over.
  llvm::SmallSetVector<unsigned, 8> reductions;
  mlir::Value result;
  /// What is added to, or null.
  mlir::Value init;
  /// The sizes of the result.
  std::function<llvm::SmallVector<mlir::OpFoldResult>(mlir::OpBuilder &)>
      getSizes;
};

/// Replaces a matmul by mx.matmul. Without scales both operands are bf16.
mlir::LogicalResult rewriteMatmul(const Matmul &matmul, const Options &options,
                                  Reason &why);

//===----------------------------------------------------------------------===//
// Scales (Blocks.cpp)
//===----------------------------------------------------------------------===//

/// The scales of an operand along its last dimension.
struct Blocks {
  /// Their digits.
  Index index;
  /// How many blocks of mx share one.
  int64_t repeats = 1;
};

/// The blocks of `columns`, along which the scales of `factor` belong to
/// blocks; the digits before are `rows`. Says why they do not.
Reason findBlocks(const Factor &factor, llvm::ArrayRef<Index> rows,
                  const Index &columns, const Options &options, Blocks &blocks);

/// A tensor with a scale for each block of mx.
mlir::Value arrangeScales(mlir::OpBuilder &builder, mlir::Location loc,
                          const Leaf &scales, llvm::ArrayRef<Index> rows,
                          const Blocks &blocks);

/// Numbers of an mx.dequantize.
mlir::Value dequantize(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value elements, mlir::Value scales,
                       mlir::Type result);

/// `columns` without the last `block` values.
mlir::FailureOr<Index> dropBlock(const Index &columns, int64_t block);

/// Whether numbers of `type` can have block scales in mx.
bool isElementType(mlir::Type type);

/// Why a tensor of `type` is no result of mx; empty if it is one.
Reason checkResult(mlir::Type type);

/// `type` in a message.
std::string printType(mlir::Type type);

//===----------------------------------------------------------------------===//
// Sizes of dimensions that are put together (Shapes.cpp)
//===----------------------------------------------------------------------===//

/// Requires at run time that `leaf`, called `name`, has the sizes that `other`
/// has along the same loops, where two or more that may differ are part of one
/// of `groups`: the matmul compares their numbers of elements alone, for which
/// 2 x 3 matrices would pass for 3 x 2. Adds what it makes to `requirements`.
void requireSameSizes(
    mlir::OpBuilder &builder, mlir::Location loc, const Leaf &leaf,
    const llvm::Twine &name, const Leaf &other, llvm::ArrayRef<Index> groups,
    llvm::SmallVectorImpl<mxgpu::RequireOp> *requirements = nullptr);

//===----------------------------------------------------------------------===//
// Tensors of another shape (Shapes.cpp)
//===----------------------------------------------------------------------===//

/// `leaf` with a dimension for each of `groups`: transposed, if its order is
/// another, and reshaped. Null if that cannot be.
mlir::Value arrangeTensor(mlir::OpBuilder &builder, mlir::Location loc,
                          const Leaf &leaf, llvm::ArrayRef<Index> groups);

/// The reverse, for a result whose dimensions have the order of `groups`.
mlir::Value expandTensor(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value tensor, llvm::ArrayRef<Index> dims,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes,
                         llvm::ArrayRef<Index> groups);

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// Matmuls of linalg (Matmul.cpp).
mlir::LogicalResult importContraction(mlir::Operation *op, const Options &,
                                      Reason &why);
/// Numbers with their scales that no matmul took (Dequantizations.cpp).
mlir::LogicalResult importDequantization(mlir::Operation *op, const Options &,
                                         Reason &why);
/// Conversions with scales that no other form takes (Dequantizations.cpp).
mlir::LogicalResult refuseRest(mlir::Operation *op, const Options &,
                               Reason &why);
/// Operations of TOSA (Tosa.cpp).
mlir::LogicalResult importTosaMatmul(mlir::Operation *op, const Options &,
                                     Reason &why);
mlir::LogicalResult importTosaCastFrom(mlir::Operation *op, const Options &,
                                       Reason &why);
mlir::LogicalResult importTosaCastTo(mlir::Operation *op, const Options &,
                                     Reason &why);

/// `tensor` as i8, if its elements are !tosa.mxint8 (Tosa.cpp).
mlir::Value getAsInt8(mlir::OpBuilder &builder, mlir::Value tensor);
/// The reverse.
mlir::Value getAsTosaInt8(mlir::OpBuilder &builder, mlir::Value tensor);
/// Makes i8 of arguments and results of !tosa.mxint8.
void convertInt8Signatures(mlir::Operation *module);

//===----------------------------------------------------------------------===//
// Contractions of matrices (FlattenContraction.cpp)
//===----------------------------------------------------------------------===//

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

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_IMPORT_H

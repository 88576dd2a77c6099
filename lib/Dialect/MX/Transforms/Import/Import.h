//===- Import.h - Forms of mx-import-scaled ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each form is a function for one kind of source operation. The function
// rewrites the operation, or returns the reason why it cannot.
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

/// Reason why an operation is not rewritten, or empty for unrelated operations.
using Reason = std::string;

//===----------------------------------------------------------------------===//
// Matmuls (Matmul.cpp)
//===----------------------------------------------------------------------===//

/// Matmul with dimensions in terms of loops.
struct Matmul {
  mlir::Operation *root = nullptr;
  /// Operands in the order of `root`.
  Factor left, right;
  /// Dimensions of the result.
  Indices out;
  llvm::SmallSetVector<unsigned, 8> reductions;
  mlir::Value result;
  /// Initial value of the accumulator, or null.
  mlir::Value init;
  std::function<llvm::SmallVector<mlir::OpFoldResult>(mlir::OpBuilder &)>
      getSizes;
};

/// Replaces a matmul by mx.matmul. Without scales both operands are bf16.
mlir::LogicalResult rewriteMatmul(const Matmul &matmul, const Options &options,
                                  Reason &why);

//===----------------------------------------------------------------------===//
// Scales (Blocks.cpp)
//===----------------------------------------------------------------------===//

/// Scales of an operand along its last dimension.
struct Blocks {
  /// Digits of the scales.
  Index index;
  /// Number of mx blocks that share a scale.
  int64_t repeats = 1;
};

/// Finds the blocks of `columns` to which the scales of `factor` belong. `rows`
/// are the preceding digits. Returns a reason if the scales do not form blocks.
Reason findBlocks(const Factor &factor, llvm::ArrayRef<Index> rows,
                  const Index &columns, const Options &options, Blocks &blocks);

/// Returns a tensor with a scale per mx block.
mlir::Value arrangeScales(mlir::OpBuilder &builder, mlir::Location loc,
                          const Leaf &scales, llvm::ArrayRef<Index> rows,
                          const Blocks &blocks);

mlir::Value dequantize(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value elements, mlir::Value scales,
                       mlir::Type result);

/// Returns `columns` without the last `block` values.
mlir::FailureOr<Index> dropBlock(const Index &columns, int64_t block);

/// Returns true if mx supports block scales for elements of `type`.
bool isElementType(mlir::Type type);

/// Returns a reason if no mx operation supports results of `type`.
Reason checkResult(mlir::Type type);

/// Returns the spelling of `type` in messages.
std::string printType(mlir::Type type);

//===----------------------------------------------------------------------===//
// Sizes of collapsed dimensions (Shapes.cpp)
//===----------------------------------------------------------------------===//

/// Requires at run time that `leaf` and `other` have the same sizes along the
/// same loops, if several dynamic dimensions are collapsed within a group.
/// Messages call `leaf` by `name`. The matmul compares only collapsed sizes,
/// which are equal for 2 x 3 and 3 x 2. Appends created operations to
/// `requirements`.
void requireSameSizes(
    mlir::OpBuilder &builder, mlir::Location loc, const Leaf &leaf,
    const llvm::Twine &name, const Leaf &other, llvm::ArrayRef<Index> groups,
    llvm::SmallVectorImpl<mxgpu::RequireOp> *requirements = nullptr);

//===----------------------------------------------------------------------===//
// Reshaping (Shapes.cpp)
//===----------------------------------------------------------------------===//

/// Transposes and reshapes `leaf` to one dimension per group. Returns null on
/// failure.
mlir::Value arrangeTensor(mlir::OpBuilder &builder, mlir::Location loc,
                          const Leaf &leaf, llvm::ArrayRef<Index> groups);

/// Reverses arrangeTensor for a result with dimensions ordered as `groups`.
mlir::Value expandTensor(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value tensor, llvm::ArrayRef<Index> dims,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes,
                         llvm::ArrayRef<Index> groups);

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// linalg matmuls (Matmul.cpp).
mlir::LogicalResult importContraction(mlir::Operation *op, const Options &,
                                      Reason &why);
/// Scaled values outside matmuls (Dequantizations.cpp).
mlir::LogicalResult importDequantization(mlir::Operation *op, const Options &,
                                         Reason &why);
/// Remaining scaled conversions, which get a remark (Dequantizations.cpp).
mlir::LogicalResult refuseRest(mlir::Operation *op, const Options &,
                               Reason &why);
/// TOSA operations (Tosa.cpp).
mlir::LogicalResult importTosaMatmul(mlir::Operation *op, const Options &,
                                     Reason &why);
mlir::LogicalResult importTosaCastFrom(mlir::Operation *op, const Options &,
                                       Reason &why);
mlir::LogicalResult importTosaCastTo(mlir::Operation *op, const Options &,
                                     Reason &why);

/// Casts `tensor` to i8 if its elements are !tosa.mxint8 (Tosa.cpp).
mlir::Value getAsInt8(mlir::OpBuilder &builder, mlir::Value tensor);
/// Reverses getAsInt8.
mlir::Value getAsTosaInt8(mlir::OpBuilder &builder, mlir::Value tensor);
/// Converts !tosa.mxint8 arguments and results of functions to i8.
void convertInt8Signatures(mlir::Operation *module);

//===----------------------------------------------------------------------===//
// Contractions of matrices (FlattenContraction.cpp)
//===----------------------------------------------------------------------===//

/// Contraction of matrices or a batch, and its result in the original shape.
struct FlatContraction {
  mlir::linalg::LinalgOp op;
  mlir::Value result;
  /// Run-time checks that collapsed dimensions have equal sizes.
  llvm::SmallVector<mxgpu::RequireOp, 0> requirements;
};

/// Creates an equivalent contraction with a single dimension each for batch,
/// rows, columns and reduction, without erasing `op`. Returns none if the
/// dimensions cannot be collapsed, or if they are already collapsed.
std::optional<FlatContraction> flattenContraction(mlir::linalg::LinalgOp op);

void eraseContraction(const FlatContraction &flat);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_IMPORT_H

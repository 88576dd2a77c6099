//===- Trace.h - Where the elements of a tensor come from -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Follows a tensor through reshapes, transpositions, broadcasts and
// conversions to what they read, and looks there for elements with scales.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H

#include "Places.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mx::import {

/// A tensor, the loops that its dimensions follow, and what its bits are, if
/// its type is an integer that is only their container.
struct Leaf {
  mlir::Value tensor;
  Indices dims;
  mlir::Type element;
};

/// Numbers, with or without scales.
struct Factor {
  Leaf elements;
  std::optional<Leaf> scales;
  /// Has f16 between the scales and the matmul: large and small scales would
  /// have been lost there.
  bool throughF16 = false;
};

/// The number of steps of each loop.
llvm::SmallVector<int64_t> getLoopSizes(mlir::linalg::LinalgOp op);
/// Loops of more than one step that are summed over.
llvm::SmallSetVector<unsigned, 8> getReductions(mlir::linalg::LinalgOp op,
                                                llvm::ArrayRef<Index> loops);

/// The dimensions of an operand of `op` in terms of its loops. Fails where the
/// loops do not reach all elements of the tensor.
mlir::FailureOr<Indices> evaluateOperand(mlir::linalg::LinalgOp op,
                                         mlir::OpOperand &operand,
                                         llvm::ArrayRef<Index> loops);

/// The operands of `elements * scales` in a body or on tensors.
struct ScaledValue {
  mlir::Value elements, scales;
  mlir::Type elementType, scaleType;
};

/// Whether a value, in the body of an operation or a tensor, is the product of
/// a narrow number with its scale: arith.scaling_extf, or what it is expanded
/// to. An empty reason says that it is something else.
std::optional<ScaledValue> matchScaled(mlir::Value value, std::string &why);

/// One side of a product: what it reads, and the format of that.
struct Side {
  mlir::Value read;
  mlir::Type type;
};

/// The narrow number that `value`, in a body or a tensor, is.
std::optional<Side> matchSide(mlir::Value value);

/// Whether one of two formats is the scale of the other, and which: of
/// f8E8M0FNU anything else, and of f8E4M3FN f4E2M1FN (NVFP4). True if it is the
/// first.
std::optional<bool> isFirstScale(mlir::Type first, mlir::Type second);

/// `value` before conversions between f32, bf16 and f16.
mlir::Value skipConversions(mlir::Value value, bool &throughF16);

/// Where the elements of `tensor` come from, if its dimensions follow `dims`:
/// through operations that move elements. A conversion from bf16 or f16 to f32
/// is skipped with `skipExtensions`.
Leaf traceLeaf(mlir::Value tensor, Indices dims, bool skipExtensions = false);

/// The same up to a product with scales, and what that reads. Without scales if
/// there is no such product; `why` then tells of what was almost one.
Factor traceFactor(mlir::Value tensor, Indices dims, std::string &why);

/// A factor whose operands are those of `op`, arguments of its body.
mlir::FailureOr<Factor> traceBody(mlir::linalg::LinalgOp op, mlir::Value value,
                                  llvm::ArrayRef<Index> loops,
                                  std::string &why);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H

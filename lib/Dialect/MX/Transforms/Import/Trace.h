//===- Trace.h - Tracing of tensors to scaled elements ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows a tensor through reshapes, transpositions, broadcasts and conversions
// to its source, and matches elements with scales.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H

#include "Places.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mx::import {

/// Tensor with the loops of its dimensions. `element` is the format of its bits
/// if the tensor type is an integer container.
struct Leaf {
  mlir::Value tensor;
  Indices dims;
  mlir::Type element;
};

/// Values with or without scales.
struct Factor {
  Leaf elements;
  std::optional<Leaf> scales;
  /// A conversion to f16 follows the scaling: large and small scales would be
  /// lost.
  bool throughF16 = false;
};

/// Returns the number of steps of each loop.
llvm::SmallVector<int64_t> getLoopSizes(mlir::linalg::LinalgOp op);
/// Returns the reduction loops of several steps.
llvm::SmallSetVector<unsigned, 8> getReductions(mlir::linalg::LinalgOp op,
                                                llvm::ArrayRef<Index> loops);

/// Returns the dimensions of an operand of `op` in terms of its loops. Fails
/// unless the loops cover the whole tensor.
mlir::FailureOr<Indices> evaluateOperand(mlir::linalg::LinalgOp op,
                                         mlir::OpOperand &operand,
                                         llvm::ArrayRef<Index> loops);

/// Operands of `elements * scales` in a body or on tensors.
struct ScaledValue {
  mlir::Value elements, scales;
  mlir::Type elementType, scaleType;
};

/// Matches a value (in a body, or a tensor) that is a narrow element times its
/// scale: arith.scaling_extf or an expansion. An empty reason means something
/// else.
std::optional<ScaledValue> matchScaled(mlir::Value value, std::string &why);

/// Factor of a product: the value read, and its format.
struct Side {
  mlir::Value read;
  mlir::Type type;
};

/// Matches a narrow element, in a body or as a tensor.
std::optional<Side> matchSide(mlir::Value value);

/// Returns true if the first format is the scale of the second, false if the
/// reverse, else none. f8E8M0FNU scales any other format, f8E4M3FN scales
/// f4E2M1FN (NVFP4).
std::optional<bool> isFirstScale(mlir::Type first, mlir::Type second);

/// Returns `value` before conversions between f32, bf16 and f16.
mlir::Value skipConversions(mlir::Value value, bool &throughF16);

/// Traces `tensor`, with dimensions `dims`, through operations that move
/// elements. `skipExtensions` also skips a conversion from bf16 or f16 to f32.
Leaf traceLeaf(mlir::Value tensor, Indices dims, bool skipExtensions = false);

/// Traces a tensor to a product with scales and its operands. Without a product
/// there are no scales, and `why` describes a near match.
Factor traceFactor(mlir::Value tensor, Indices dims, std::string &why);

/// Returns a factor of operands of `op`, given arguments of the body.
mlir::FailureOr<Factor> traceBody(mlir::linalg::LinalgOp op, mlir::Value value,
                                  llvm::ArrayRef<Index> loops,
                                  std::string &why);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H

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

/// Tensor, with its dimensions in terms of loops. If the tensor type is an
/// integer container, `element` is the format of the bits.
struct Leaf {
  mlir::Value tensor;
  Indices dims;
  mlir::Type element;
};

/// Values with or without scales.
struct Factor {
  Leaf elements;
  std::optional<Leaf> scales;
  /// True if the scaled value is converted to f16, which has a smaller range.
  bool throughF16 = false;
};

llvm::SmallVector<int64_t> getLoopSizes(mlir::linalg::LinalgOp op);
/// Returns the reduction loops with more than one iteration.
llvm::SmallSetVector<unsigned, 8> getReductions(mlir::linalg::LinalgOp op,
                                                llvm::ArrayRef<Index> loops);

/// Returns the dimensions of an operand of `op` in terms of its loops. Fails
/// unless the loops cover the whole tensor.
mlir::FailureOr<Indices> evaluateOperand(mlir::linalg::LinalgOp op,
                                         mlir::OpOperand &operand,
                                         llvm::ArrayRef<Index> loops);

/// Operands of `elements * scales`, in a body or on tensors.
struct ScaledValue {
  mlir::Value elements, scales;
  mlir::Type elementType, scaleType;
};

/// Matches a value (in a body, or a tensor) that is a narrow element times its
/// scale, computed by arith.scaling_extf or an expansion. On failure `why` is
/// the reason, or empty if the value is unrelated.
std::optional<ScaledValue> matchScaled(mlir::Value value, std::string &why);

/// Factor of a multiplication, and its format.
struct Side {
  mlir::Value read;
  mlir::Type type;
};

/// Matches a narrow element, in a body or as a tensor.
std::optional<Side> matchSide(mlir::Value value);

/// Returns true if the first format is the scale type of the second, false if
/// the second is the scale type of the first, else none. f8E8M0FNU scales any
/// other format; f8E4M3FN scales f4E2M1FN (NVFP4).
std::optional<bool> isFirstScale(mlir::Type first, mlir::Type second);

/// Returns the source of the conversions between f32, bf16 and f16 that compute
/// `value`. Sets `throughF16` if any of the converted values is an f16.
mlir::Value skipConversions(mlir::Value value, bool &throughF16);

/// Traces `tensor`, with dimensions `dims`, through operations that move
/// elements. `skipExtensions` also skips a conversion from bf16 or f16 to f32.
Leaf traceLeaf(mlir::Value tensor, Indices dims, bool skipExtensions = false);

/// Traces a tensor to a multiplication of elements and scales. Without such a
/// multiplication, the result has no scales, and `why` describes a near match.
Factor traceFactor(mlir::Value tensor, Indices dims, std::string &why);

/// Traces `value` in the body of `op` to elements and scales outside `op`.
mlir::FailureOr<Factor> traceBody(mlir::linalg::LinalgOp op, mlir::Value value,
                                  llvm::ArrayRef<Index> loops,
                                  std::string &why);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TRACE_H

//===- MXChecks.h - Checks shared by the mx verifiers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each check reports a violated rule as "expected X, found Y" with a note at
// the operand.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_IR_MXCHECKS_H
#define MX_LIB_DIALECT_MX_IR_MXCHECKS_H

#include "mx/Dialect/MX/IR/MX.h"

namespace mx::detail {

/// An operand with its name in messages.
struct Named {
  mlir::Value value;
  llvm::StringRef name;
  /// Replaces the shape of the type unless empty, for operands in tiles.
  llvm::SmallVector<int64_t, 0> logicalShape = {};

  mlir::ShapedType type() const {
    return llvm::cast<mlir::ShapedType>(value.getType());
  }
  llvm::ArrayRef<int64_t> shape() const {
    return logicalShape.empty() ? type().getShape()
                                : llvm::ArrayRef<int64_t>(logicalShape);
  }
  int64_t dim(int64_t i) const { return shape()[i]; }
  int64_t rank() const { return shape().size(); }
  mlir::Type elementType() const { return type().getElementType(); }
};

/// Starts an error of `op` with a note at the operand.
mlir::InFlightDiagnostic errorAt(mlir::Operation *op, const Named &operand);

/// Fails if tensors and memrefs are mixed, or if sizes could overflow.
llvm::LogicalResult verifyForm(mlir::Operation *op);

llvm::LogicalResult verifyOneOut(mlir::Operation *op, mlir::OperandRange outs);

llvm::LogicalResult verifyMinRank(mlir::Operation *op, const Named &operand);

llvm::LogicalResult verifyRank(mlir::Operation *op, const Named &operand,
                               int64_t rank);

llvm::LogicalResult verifyDim(mlir::Operation *op, const Named &operand,
                              int64_t dim, int64_t expected);

llvm::LogicalResult verifyShape(mlir::Operation *op, const Named &operand,
                                llvm::ArrayRef<int64_t> expected);

llvm::LogicalResult verifyMultiple(mlir::Operation *op, const Named &operand,
                                   int64_t dim, int64_t divisor);

/// Fails if an operand without a layout has an encoding.
llvm::LogicalResult verifyNoEncoding(mlir::Operation *op, const Named &operand);

/// Fails unless elements have no encoding, or that of a ragged reduction.
llvm::LogicalResult verifyElementEncoding(mlir::Operation *op,
                                          const Named &operand,
                                          RaggedKind ragged, int64_t groups);

/// Checks the shape of a scale tensor, logical or materialized.
llvm::LogicalResult verifyScaleShape(mlir::Operation *op, const Named &scales,
                                     llvm::ArrayRef<int64_t> logical,
                                     RaggedKind ragged, int64_t groups);

/// Checks that the encoding of a scale tensor matches the operation's expert
/// groups. Linear layouts may omit them.
llvm::LogicalResult verifyScaleLayout(mlir::Operation *op, const Named &scales,
                                      int64_t logicalRank, RaggedKind ragged,
                                      int64_t groups);

/// Checks shape and layout of the scales of elements with the given shape. The
/// block size must be verified.
llvm::LogicalResult verifyScales(mlir::Operation *op, const Named &scales,
                                 llvm::ArrayRef<int64_t> elements,
                                 int64_t blockSize, RaggedKind ragged,
                                 int64_t groups);

/// Fails unless an operand in `order` has the stored shape without encoding, or
/// the logical shape with the encoding.
llvm::LogicalResult verifyOrder(mlir::Operation *op, const Named &operand,
                                OperandOrderAttrInterface order,
                                llvm::ArrayRef<int64_t> logical);

/// Fails unless the format of the scales allows the block size and element
/// type.
llvm::LogicalResult verifyBlock(mlir::Operation *op, const Named &elements,
                                mlir::Type scaleType, int64_t blockSize);

/// Checks that `ragged` and `offsets` are both present or both absent. Fails
/// for 0 groups unless `mayBeEmpty`.
llvm::LogicalResult verifyRagged(mlir::Operation *op,
                                 std::optional<RaggedKind> ragged,
                                 mlir::Value offsets, bool mayBeEmpty = false);

/// Fails unless there is at most a single region `name`, with arguments of the
/// element types, then row and column.
llvm::LogicalResult verifyRegion(mlir::Operation *op, llvm::StringRef name,
                                 llvm::MutableArrayRef<mlir::Region> regions,
                                 llvm::ArrayRef<mlir::Type> elements);

/// Returns the terminator of the region.
mlir::FailureOr<YieldOp>
verifyYield(mlir::Operation *op, llvm::StringRef name,
            llvm::MutableArrayRef<mlir::Region> regions);

/// Verifies the signature of an epilogue or, with `terminator`, its results.
llvm::LogicalResult verifyEpilogue(mlir::Operation *op,
                                   llvm::MutableArrayRef<mlir::Region> epilogue,
                                   mlir::Type outElement, bool terminator);

} // namespace mx::detail

#endif // MX_LIB_DIALECT_MX_IR_MXCHECKS_H

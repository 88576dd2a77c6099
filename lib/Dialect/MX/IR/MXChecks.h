//===- MXChecks.h - Checks shared by the mx verifiers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each check reports a violated rule as "expected X, found Y" with a note at
// the operand.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_IR_MXCHECKS_H
#define MX_LIB_DIALECT_MX_IR_MXCHECKS_H

#include "mx/Dialect/MX/IR/MX.h"

namespace mx::detail {

/// An operand and its name in messages.
struct Named {
  mlir::Value value;
  llvm::StringRef name;
  /// Logical shape of an operand that is stored in tiles. If empty, the shape
  /// of the type is the logical shape.
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

/// Emits an error at `op`, and a note at the operand's definition.
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

/// Fails if elements have an encoding other than `#mx.ragged`.
llvm::LogicalResult verifyElementEncoding(mlir::Operation *op,
                                          const Named &operand,
                                          RaggedKind ragged, int64_t groups);

/// Checks the shape of a scale tensor, logical or materialized.
llvm::LogicalResult verifyScaleShape(mlir::Operation *op, const Named &scales,
                                     llvm::ArrayRef<int64_t> logical,
                                     RaggedKind ragged, int64_t groups);

/// Checks that the encoding of a scale tensor matches the operation's expert
/// groups. The encoding of a linear layout need not contain expert groups.
llvm::LogicalResult verifyScaleLayout(mlir::Operation *op, const Named &scales,
                                      int64_t logicalRank, RaggedKind ragged,
                                      int64_t groups);

/// Checks the shape and layout of the scales that belong to elements of the
/// given shape. Requires a verified block size.
llvm::LogicalResult verifyScales(mlir::Operation *op, const Named &scales,
                                 llvm::ArrayRef<int64_t> elements,
                                 BlockShape block, RaggedKind ragged,
                                 int64_t groups);

/// Fails unless spreads are bytes without encoding, in the logical shape of the
/// scales of `elements`, transposed along axis 0.
llvm::LogicalResult verifySpreads(mlir::Operation *op, mlir::Value spreads,
                                  llvm::ArrayRef<int64_t> elements,
                                  BlockShape blockSize, int64_t axis);

/// Checks an operand in `order`. A tensor encoded with `order` must have the
/// logical shape; an operand without encoding must have the stored shape.
llvm::LogicalResult verifyOrder(mlir::Operation *op, const Named &operand,
                                OperandOrderAttrInterface order,
                                llvm::ArrayRef<int64_t> logical);

/// Fails unless the scale format allows the block size and element type.
llvm::LogicalResult verifyBlock(mlir::Operation *op, const Named &elements,
                                mlir::Type scaleType, BlockShape blockSize);

/// Checks that `ragged` and `offsets` are both present or both absent. Fails
/// for 0 groups unless `mayBeEmpty`.
llvm::LogicalResult verifyRagged(mlir::Operation *op,
                                 std::optional<RaggedKind> ragged,
                                 mlir::Value offsets, bool mayBeEmpty = false);

/// Fails if there is more than one region `name`, or if its arguments are not
/// elements of the given types, the row and the column.
llvm::LogicalResult verifyRegion(mlir::Operation *op, llvm::StringRef name,
                                 llvm::MutableArrayRef<mlir::Region> regions,
                                 llvm::ArrayRef<mlir::Type> elements);

/// Returns the terminator of the region, or reports an error if the region
/// does not end with mx.yield.
mlir::FailureOr<YieldOp>
verifyYield(mlir::Operation *op, llvm::StringRef name,
            llvm::MutableArrayRef<mlir::Region> regions);

/// Verifies an epilogue's arguments or, with `terminator`, its yielded types.
llvm::LogicalResult verifyEpilogue(mlir::Operation *op,
                                   llvm::MutableArrayRef<mlir::Region> epilogue,
                                   mlir::Type outElement, bool terminator);

} // namespace mx::detail

#endif // MX_LIB_DIALECT_MX_IR_MXCHECKS_H

//===- MXChecks.h - Checks shared by the mx verifiers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each check reports one violated rule with what it expected and found, and a
// note that leads to the operand.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_IR_MXCHECKS_H
#define MX_LIB_DIALECT_MX_IR_MXCHECKS_H

#include "mx/Dialect/MX/IR/MX.h"

namespace mx::detail {

/// An operand with the name that messages give it.
struct Named {
  mlir::Value value;
  llvm::StringRef name;
  /// In place of the type's, unless empty: of an operand in tiles.
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

/// Starts an error of `op` that a note leads from to the operand.
mlir::InFlightDiagnostic errorAt(mlir::Operation *op, const Named &operand);

/// Tensors and memrefs do not mix, and sizes are such that products of them
/// can be computed.
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

/// Only layouts of this dialect may be in an encoding, and only where an
/// operand can have them.
llvm::LogicalResult verifyNoEncoding(mlir::Operation *op, const Named &operand);

/// Elements have no encoding, but for a ragged reduction they may say so.
llvm::LogicalResult verifyElementEncoding(mlir::Operation *op,
                                          const Named &operand,
                                          RaggedKind ragged, int64_t groups);

/// The shape of a scale tensor, logical or materialized.
llvm::LogicalResult verifyScaleShape(mlir::Operation *op, const Named &scales,
                                     llvm::ArrayRef<int64_t> logical,
                                     RaggedKind ragged, int64_t groups);

/// The layout in the encoding of a scale tensor must be that of the operation's
/// groups; a linear layout need not mention them.
llvm::LogicalResult verifyScaleLayout(mlir::Operation *op, const Named &scales,
                                      int64_t logicalRank, RaggedKind ragged,
                                      int64_t groups);

/// Verifies shape and layout of the scales of elements of a shape in blocks of
/// a verified size.
llvm::LogicalResult verifyScales(mlir::Operation *op, const Named &scales,
                                 llvm::ArrayRef<int64_t> elements,
                                 int64_t blockSize, RaggedKind ragged,
                                 int64_t groups);

/// An operand in `order`, which has this logical shape: the stored shape
/// without encoding, or the logical shape with the encoding.
llvm::LogicalResult verifyOrder(mlir::Operation *op, const Named &operand,
                                OperandOrderAttrInterface order,
                                llvm::ArrayRef<int64_t> logical);

/// Fails unless the format of the scales has the block size and the type of
/// elements.
llvm::LogicalResult verifyBlock(mlir::Operation *op, const Named &elements,
                                mlir::Type scaleType, int64_t blockSize);

/// `ragged` and `offsets` go together. Fails for 0 groups unless `mayBeEmpty`.
llvm::LogicalResult verifyRagged(mlir::Operation *op,
                                 std::optional<RaggedKind> ragged,
                                 mlir::Value offsets, bool mayBeEmpty = false);

/// There is at most one region called `name`, with arguments of the types of
/// the elements, then row and column.
llvm::LogicalResult verifyRegion(mlir::Operation *op, llvm::StringRef name,
                                 llvm::MutableArrayRef<mlir::Region> regions,
                                 llvm::ArrayRef<mlir::Type> elements);

/// The terminator of the one region.
mlir::FailureOr<YieldOp>
verifyYield(mlir::Operation *op, llvm::StringRef name,
            llvm::MutableArrayRef<mlir::Region> regions);

/// The signature of an epilogue or, with `terminator`, what it yields.
llvm::LogicalResult verifyEpilogue(mlir::Operation *op,
                                   llvm::MutableArrayRef<mlir::Region> epilogue,
                                   mlir::Type outElement, bool terminator);

} // namespace mx::detail

#endif // MX_LIB_DIALECT_MX_IR_MXCHECKS_H

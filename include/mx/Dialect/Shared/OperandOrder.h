//===- OperandOrder.h - Storage orders of operands --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef MX_DIALECT_SHARED_OPERANDORDER_H
#define MX_DIALECT_SHARED_OPERANDORDER_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TensorEncoding.h"

namespace mx {

/// Tiles of a stored operand.
struct OperandTiles {
  int64_t rows, columns;
  llvm::SmallVector<int64_t> stored; ///< shape of a stored tile, or empty
  /// Map from a stored position to the row and column within the tile.
  mlir::AffineMap map;
};

} // namespace mx

#include "mx/Dialect/Shared/OperandOrder.h.inc"

namespace mx {

/// Returns the order in the encoding of a tensor type, or null.
OperandOrderAttrInterface getOrder(mlir::Type type);

} // namespace mx

#endif // MX_DIALECT_SHARED_OPERANDORDER_H

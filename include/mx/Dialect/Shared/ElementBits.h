//===- ElementBits.h - Bits of elements in arrays ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// MLIR knows no width of an index. In arrays it has that of NumPy's int64.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_ELEMENTBITS_H
#define MX_DIALECT_SHARED_ELEMENTBITS_H

#include "mlir/IR/TypeUtilities.h"

namespace mx {

/// Of a number, or of an element of an array.
inline unsigned getElementBits(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

} // namespace mx

#endif // MX_DIALECT_SHARED_ELEMENTBITS_H

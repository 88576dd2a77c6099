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
#include "llvm/Support/MathExtras.h"

namespace mx {

/// Of a number, or of an element of an array.
inline unsigned getElementBits(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// Of an element of an array in memory: two f4 share a byte, and any other
/// number that is narrower has a byte of its own.
inline unsigned getMemoryBits(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  unsigned bits = getElementBits(element);
  if (llvm::isa<mlir::Float4E2M1FNType>(element))
    return bits;
  return std::max<unsigned>(8, llvm::PowerOf2Ceil(bits));
}

} // namespace mx

#endif // MX_DIALECT_SHARED_ELEMENTBITS_H

//===- ElementBits.h - Bits of elements in arrays ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// MLIR knows no width of an index. In arrays it has that of NumPy's int64.
// Arrays of f4 and f6 elements are stored as bytes: f4 two to a byte, the first
// in the low nibble; f6 one to a byte.
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

/// The type that elements narrower than a byte are stored as, or null.
mlir::IntegerType getStorageType(mlir::Type element);
/// The integer for a float of a dialect, which LLVM does not support; null for
/// other types.
mlir::IntegerType getBitsOfForeignFloat(mlir::Type element);
/// The memref of bytes that holds one of `type`; null where f4 elements do not
/// fill whole bytes, or their rows do not begin at one.
mlir::MemRefType getStorageType(mlir::MemRefType type);
/// Strides and offset of rows of f4 elements, in bytes; null where rows begin
/// within a byte or have gaps.
mlir::MemRefLayoutAttrInterface getHalvedLayout(mlir::MemRefType type);

} // namespace mx

#endif // MX_DIALECT_SHARED_ELEMENTBITS_H

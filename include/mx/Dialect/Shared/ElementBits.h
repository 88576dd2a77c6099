//===- ElementBits.h - Element sizes in arrays ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index is stored as 64 bits, like NumPy's int64. Arrays of f4 and f6
// elements are stored as bytes: two f4 per byte, low nibble first, or one f6
// per byte.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_ELEMENTBITS_H
#define MX_DIALECT_SHARED_ELEMENTBITS_H

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

namespace mx {

/// Returns the size of a number or of an array element, in bits.
inline unsigned getElementBits(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// Returns the size of an array element in memory, in bits: 4 for f4, else at
/// least 8.
inline unsigned getMemoryBits(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  unsigned bits = getElementBits(element);
  if (llvm::isa<mlir::Float4E2M1FNType>(element))
    return bits;
  return std::max<unsigned>(8, llvm::PowerOf2Ceil(bits));
}

/// Returns the storage type of elements narrower than a byte, or null.
mlir::IntegerType getStorageType(mlir::Type element);
/// Returns the integer type that replaces a float type from a dialect, because
/// LLVM does not support such types. Returns null for other types.
mlir::IntegerType getBitsOfForeignFloat(mlir::Type element);
/// Returns the memref of bytes that stores `type`. Returns null if rows of f4
/// elements do not start and end at byte boundaries.
mlir::MemRefType getStorageType(mlir::MemRefType type);
/// Returns the strides and offset, in bytes, of rows of f4 elements. Returns
/// null if rows start within a byte or contain gaps.
mlir::MemRefLayoutAttrInterface getHalvedLayout(mlir::MemRefType type);

} // namespace mx

#endif // MX_DIALECT_SHARED_ELEMENTBITS_H

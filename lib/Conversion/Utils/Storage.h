//===- Storage.h - Arrays of elements narrower than a byte ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The bytes of arrays of f4 and f6 elements, the same on the host and on a GPU:
// f4 two to a byte, the first in the low nibble; f6 one to a byte.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_STORAGE_H
#define MX_LIB_CONVERSION_UTILS_STORAGE_H

#include "mlir/Transforms/DialectConversion.h"

namespace mx {

/// The type that elements narrower than a byte are stored as, or null.
mlir::IntegerType getStorageType(mlir::Type element);
/// The memref of bytes that holds one of `type`; null where f4 elements do not
/// fill whole bytes, or their rows do not begin at one.
mlir::MemRefType getStorageType(mlir::MemRefType type);

/// Fails with an error where packed elements cannot be stored as bytes.
llvm::LogicalResult verifyStorage(mlir::Operation *root);

/// Gives memrefs of f4 and f6 elements a storage type of i8.
void addStorageConversions(mlir::TypeConverter &converter);
/// Converts the operations on arrays that do not look at the elements.
void populateStoragePatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns,
                             mlir::ConversionTarget &target);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_STORAGE_H

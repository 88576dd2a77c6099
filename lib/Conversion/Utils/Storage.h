//===- Storage.h - Arrays of elements narrower than a byte ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Arrays of f4 and f6 elements become arrays of bytes (ElementBits.h), the same
// on the host and on a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_STORAGE_H
#define MX_LIB_CONVERSION_UTILS_STORAGE_H

#include "mlir/Transforms/DialectConversion.h"
#include "mx/Dialect/Shared/ElementBits.h"

namespace mx {

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

//===- Storage.h - Storage of sub-byte elements -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays of f4 and f6 elements become arrays of bytes (ElementBits.h), with the
// same layout on hosts and GPUs.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_STORAGE_H
#define MX_LIB_CONVERSION_UTILS_STORAGE_H

#include "mlir/Transforms/DialectConversion.h"
#include "mx/Dialect/Shared/ElementBits.h"

namespace mx {

/// Fails if packed elements cannot be stored as bytes.
llvm::LogicalResult verifyStorage(mlir::Operation *root);

/// Adds conversions from f4 and f6 memrefs to i8 memrefs.
void addStorageConversions(mlir::TypeConverter &converter);
/// Adds patterns for operations that do not access elements.
void populateStoragePatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns,
                             mlir::ConversionTarget &target);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_STORAGE_H

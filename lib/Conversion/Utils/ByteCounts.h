//===- ByteCounts.h - How much memory an array takes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Extents come from users: their product may have more than 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_BYTECOUNTS_H
#define MX_LIB_CONVERSION_UTILS_BYTECOUNTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mx {

/// That the extents which are known leave room for an array of this type; if
/// not, an error of `op`.
llvm::LogicalResult verifyByteCount(mlir::Operation *op, mlir::MemRefType type);

/// Whether an array of this type, with these dynamic extents, has a size that
/// an address space may have room for, as an i1 computed at run time. Extents
/// below 0 have not.
mlir::Value createFitsAddressSpace(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::MemRefType type,
                                   mlir::ValueRange sizes);

/// Calls `each` for every dynamic extent of the array that may be below 0, with
/// the i1 that it is not and a printf format for it.
void forEachDoubtfulExtent(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
    mlir::ValueRange sizes,
    llvm::function_ref<void(mlir::Value size, mlir::Value isValid,
                            const std::string &format)>
        each);

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_BYTECOUNTS_H

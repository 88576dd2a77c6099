//===- VectorSizes.h - Limits of vector sizes -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowerings and code generators emit at least one operation per vector element,
// so the sizes of vectors in the source are limited up front.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_VECTORSIZES_H
#define MX_DIALECT_SHARED_VECTORSIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mx {

/// Maximum number of elements of a vector in a kernel. A thread uses at most
/// 255 32-bit registers.
inline constexpr int64_t kMaxKernelVector = 1024;
/// Maximum number of elements of a vector on the host.
inline constexpr int64_t kMaxHostVector = 1 << 16;

/// Returns true if a vector has more than `most` elements, without overflow.
bool hasMoreElements(mlir::VectorType type, int64_t most);

llvm::LogicalResult verifyVectorSize(mlir::Operation *op, mlir::Type type,
                                     int64_t most = kMaxKernelVector);

/// Applies verifyVectorSize to all results and block arguments in `root`.
llvm::LogicalResult verifyVectorSizes(mlir::Operation *root, int64_t most);

} // namespace mx

#endif // MX_DIALECT_SHARED_VECTORSIZES_H

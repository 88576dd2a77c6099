//===- VectorSizes.h - How large a vector can be ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Vectors are values in registers: lowering and code generators make an
// operation or more of each element. A size in the source is bounded
// before anything counts to it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_VECTORSIZES_H
#define MX_DIALECT_SHARED_VECTORSIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mx {

/// Elements of a vector in a kernel, whose threads have 255 registers of 32
/// bits.
inline constexpr int64_t kMaxKernelVector = 1024;
/// And of one on the host.
inline constexpr int64_t kMaxHostVector = 1 << 16;

/// Whether a vector has more than `most` elements, however many that are.
bool hasMoreElements(mlir::VectorType type, int64_t most);

/// Fails, with a message, if a type has.
llvm::LogicalResult verifyVectorSize(mlir::Operation *op, mlir::Type type,
                                     int64_t most = kMaxKernelVector);

/// The same for all results and block arguments in `root`.
llvm::LogicalResult verifyVectorSizes(mlir::Operation *root, int64_t most);

} // namespace mx

#endif // MX_DIALECT_SHARED_VECTORSIZES_H

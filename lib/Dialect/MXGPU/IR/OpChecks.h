//===- OpChecks.h - Checks shared by verifiers ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common checks of operations and schedules. Comments such as "shared
// C1" refer to constraints in docs/reference/KernelSpec.md.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H
#define MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H

#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Dialect/Shared/VectorSizes.h"

namespace mx::mxgpu {

/// Fails unless the stage is a result of `TakeOp`.
template <typename TakeOp>
llvm::LogicalResult verifyTakenBy(mlir::Operation *op, mlir::Value stage) {
  if (stage.getDefiningOp<TakeOp>())
    return mlir::success();
  // shared C1
  return op->emitOpError("expected a stage of ") << TakeOp::getOperationName();
}

/// Returns the ring of `buffer`, or null if no acquire or wait returned it.
RingType findRing(mlir::Value buffer);

/// Fails unless `buffer` comes from the matching acquire (producer) or wait
/// (consumer).
template <typename TakeOp>
llvm::LogicalResult verifyBufferOf(mlir::Operation *op, mlir::Value buffer) {
  mlir::Operation *take = buffer.getDefiningOp();
  if (!mlir::isa_and_present<ProducerAcquireOp, ConsumerWaitOp>(take) ||
      mlir::isa<TakeOp>(take))
    return mlir::success();
  return op->emitOpError("expected a buffer of ") // shared C2
         << TakeOp::getOperationName() << ", found a buffer of "
         << take->getName();
}

/// Fails if `buffer` belongs to a known ring and bulk stores do not consume it.
llvm::LogicalResult verifyStaged(mlir::Operation *op, mlir::Value buffer);

/// Fails unless a type is legal for elements with E4M3 (NVFP4) or E8M0 scales.
llvm::LogicalResult verifyNarrow(mlir::Operation *op, mlir::Type element,
                                 const BlockFormat &format);

/// Fails unless a type is a 1-D vector whose elements fill whole bytes.
llvm::LogicalResult verifyBlock(mlir::Operation *op, mlir::Type type);

/// Fails unless the enclosing role has the number of threads of a fragment.
llvm::LogicalResult verifyHolders(mlir::Operation *op,
                                  FragmentLayoutAttr layout);

/// Fails unless the shape of a fragment divides `buffer` (a matrix, or panels
/// of a matrix) into boxes that threads can access.
llvm::LogicalResult verifyBox(mlir::Operation *op, BufferType buffer,
                              FragmentType type);

/// Fails unless rows of a swizzled buffer are as long as the swizzle.
llvm::LogicalResult verifySwizzledRows(mlir::Operation *op, BufferType buffer);

/// Returns the rows and columns of a matrix in shared memory, with panels side
/// by side. Columns count fragment elements; a byte may hold two.
llvm::SmallVector<int64_t, 2> getMatrixShape(BufferType buffer,
                                             mlir::Type element);

/// Fails unless a type is a 1-D vector that fills 32-bit words.
llvm::LogicalResult verifyWords(mlir::Operation *op, mlir::Type type);

/// Fails unless the parent of an operation is a kernel or a lowered kernel.
llvm::LogicalResult verifyInKernel(mlir::Operation *op);

/// Fails if an operation in a kernel is outside the kernel's roles. Lowered
/// kernels contain no roles.
llvm::LogicalResult verifyInRole(mlir::Operation *op);

/// Fails unless a field of a schedule is from 1 to kMaxStages.
llvm::LogicalResult
verifyCount(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
            int64_t value, llvm::StringRef what);
/// Fails unless a field is one of the choices. Requires at least two choices.
llvm::LogicalResult
verifyChoice(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
             int64_t value, llvm::ArrayRef<int64_t> choices,
             llvm::StringRef what);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H

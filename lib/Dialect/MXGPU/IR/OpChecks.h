//===- OpChecks.h - Checks that verifiers share -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the verifiers of operations on stages and their buffers have in common.
// Numbers beside checks, here and in all of mxgpu, are those of
// docs/reference/KernelSpec.md.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H
#define MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H

#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Dialect/Shared/VectorSizes.h"

namespace mx::mxgpu {

/// A stage is a linear token: whoever gives it away must have taken it.
template <typename TakeOp>
llvm::LogicalResult verifyTakenBy(mlir::Operation *op, mlir::Value stage) {
  if (stage.getDefiningOp<TakeOp>())
    return mlir::success();
  // shared C1
  return op->emitOpError("expected a stage of ") << TakeOp::getOperationName();
}

/// The ring whose stage has `buffer`, where that is known: null for a view
/// that no take of a stage gave.
RingType findRing(mlir::Value buffer);

/// Who fills a stage writes its buffers, who empties it reads them. Fails where
/// the other one gave `buffer`.
template <typename TakeOp>
llvm::LogicalResult verifyBufferOf(mlir::Operation *op, mlir::Value buffer) {
  mlir::Operation *take = buffer.getDefiningOp();
  if (!mlir::isa_and_present<ProducerAcquireOp, ConsumerWaitOp>(take) ||
      mlir::isa<TakeOp>(take))
    return mlir::success();
  // shared C2
  return op->emitOpError("expected a buffer of ")
         << TakeOp::getOperationName() << ", found one of " << take->getName();
}

/// Fails if `buffer` is known to be one of a ring that others than bulk stores
/// empty.
llvm::LogicalResult verifyStaged(mlir::Operation *op, mlir::Value buffer);

/// Fails unless a type is that of quantized elements, with E4M3 scales (NVFP4)
/// or with E8M0 ones.
llvm::LogicalResult verifyNarrow(mlir::Operation *op, mlir::Type element,
                                 const BlockFormat &format);

/// Fails unless a type is a vector of one dimension with elements of whole
/// bytes, as one thread reads or writes them.
llvm::LogicalResult verifyBlock(mlir::Operation *op, mlir::Type type);

/// Fails where the threads of the role that an operation is in are not those of
/// a fragment.
llvm::LogicalResult verifyHolders(mlir::Operation *op,
                                  FragmentLayoutAttr layout);

/// Fails unless threads can move a fragment to or from `buffer` as boxes of its
/// shape, and the buffer is a matrix or panels of one.
llvm::LogicalResult verifyBox(mlir::Operation *op, BufferType buffer,
                              FragmentType type);

/// Fails unless rows of a buffer are as long as its swizzle, if it has one.
llvm::LogicalResult verifySwizzledRows(mlir::Operation *op, BufferType buffer);

/// Rows and columns of a matrix in shared memory, panels side by side; columns
/// count elements of a fragment, of which a byte may hold two.
llvm::SmallVector<int64_t, 2> getMatrixShape(BufferType buffer,
                                             mlir::Type element);

/// Fails unless a type is a vector of one dimension that fills 32-bit words.
llvm::LogicalResult verifyWords(mlir::Operation *op, mlir::Type type);

/// Fails unless an operation stands directly in a kernel, or in the function
/// that it becomes.
llvm::LogicalResult verifyInKernel(mlir::Operation *op);

/// Fails where an operation of a kernel stands outside its roles. Functions
/// that kernels become have none.
llvm::LogicalResult verifyInRole(mlir::Operation *op);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H

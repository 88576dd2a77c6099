//===- OpChecks.h - Checks that verifiers share -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the verifiers of operations on slots have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H
#define MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Dialect/Shared/VectorSizes.h"

namespace mx::mxgpu {

/// A slot is a linear token: whoever gives it away must have taken it.
template <typename TakeOp>
llvm::LogicalResult verifyTakenBy(mlir::Operation *op, mlir::Value slot) {
  if (slot.getDefiningOp<TakeOp>())
    return mlir::success();
  return op->emitOpError("expected a slot of ") << TakeOp::getOperationName();
}

/// The buffer `field` of `slot`, or null.
BufferType findField(mlir::Value slot, llvm::StringRef field);
/// The same, null after an error at `op`.
BufferType lookUpField(mlir::Operation *op, mlir::Value slot,
                       llvm::StringRef field);

/// Fails unless the slot is one of a ring that bulk stores empty.
llvm::LogicalResult verifyStaged(mlir::Operation *op,
                                 mlir::TypedValue<SlotType> slot);

/// Fails unless a type is that of quantized elements, with E4M3 scales (NVFP4)
/// or with E8M0 ones.
llvm::LogicalResult verifyNarrow(mlir::Operation *op, mlir::Type element,
                                 bool nvfp4);

/// Fails unless a type is a vector of one dimension with elements of whole
/// bytes, as one thread reads or writes them.
llvm::LogicalResult verifyBlock(mlir::Operation *op, mlir::Type type);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_IR_OPCHECKS_H

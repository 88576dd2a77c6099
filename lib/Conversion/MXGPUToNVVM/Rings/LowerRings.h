//===- LowerRings.h - Lowering of rings -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LowerRings.cpp and LowerStages.cpp lower rings with barriers.
// LowerStaging.cpp lowers rings for bulk stores with bulk groups instead.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Returns the number of arrivals of a role with `threads` threads. Usually one
/// lane of each warp arrives, after a syncwarp. If both producer and consumer
/// are threads, every thread arrives. The syncwarp may compile to no
/// instruction, and race detectors would then miss the ordering.
int64_t getArrivals(RingType type, int64_t threads);

/// Lowers the operations of `role` on a ring with barriers. The acquires of a
/// producer and the waits of a consumer use the stages in turn.
llvm::LogicalResult lowerStages(RingOp ring, RoleOp role, bool isProducer);

/// Lowers the operations of `role` on a ring for bulk stores.
llvm::LogicalResult lowerStaging(RingOp ring, RoleOp role);

/// Replaces the results of `take`, an acquire or wait, with `stage` and
/// `buffers` (empty if unused), and erases the operation.
void replaceTake(mlir::Operation *take, mlir::Value stage,
                 mlir::ValueRange buffers);

/// Builds `body` for an elected thread of each warp. All calls elect the same
/// thread.
void byElected(NVVMBuilder &builder, llvm::function_ref<void()> body);

/// Describes how operations change values that a role carries, such as its
/// position in a ring. carryThrough makes these values arguments and results of
/// loops and branches. `isChange` recognizes operations that change the values,
/// and `change` returns the values after such an operation.
struct Changes {
  llvm::function_ref<bool(mlir::Operation *)> isChange;
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation *,
                                                    mlir::ValueRange)>
      change;
};

/// Carries `values` through `block` and its scf.for, scf.if and scf.while, and
/// returns the final values. Fails if any other operation contains changes.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
carryThrough(mlir::Block &block, mlir::ValueRange values,
             const Changes &changes);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H

//===- LowerRings.h - Lowering of rings -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rings with barriers (LowerRings.cpp, LowerStages.cpp), and rings for bulk
// stores, guarded by bulk groups (LowerStaging.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Returns the number of arrivals of a role with `threads` threads: a thread of
/// each warp, or all. Between threads every thread arrives, because a syncwarp
/// before the arrival of a single lane may leave no instruction, and race
/// detectors would miss the ordering.
int64_t getArrivals(RingType type, int64_t threads);

/// Lowers the uses of a ring with barriers by `role`, as its producer or
/// consumer. All acquires use the stages in turn.
llvm::LogicalResult lowerStages(RingOp ring, RoleOp role, bool isProducer);

/// Lowers the uses of a ring for bulk stores in `role`. All takes share the
/// sequence of stages.
llvm::LogicalResult lowerStaging(RingOp ring, RoleOp role);

/// Replaces the results of `take` and erases it. `buffers` may be empty if
/// unused.
void replaceTake(mlir::Operation *take, mlir::Value stage,
                 mlir::ValueRange buffers);

/// Builds `body` for an elected thread of each warp, the same in all calls.
void byElected(NVVMBuilder &builder, llvm::function_ref<void()> body);

/// Changes of mutable values of a role, such as its position in a ring, which
/// become arguments and results of loops and branches: the operations that
/// change them, and the values afterwards.
struct Changes {
  llvm::function_ref<bool(mlir::Operation *)> isChange;
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation *,
                                                    mlir::ValueRange)>
      change;
};

/// Carries `values` through `block` and its scf.for, scf.if and scf.while, and
/// returns the final values. Fails at other operations that contain changes.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
carryThrough(mlir::Block &block, mlir::ValueRange values,
             const Changes &changes);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H

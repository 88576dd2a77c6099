//===- LowerRings.h - What lowers the rings of a role -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rings with barriers (LowerRings.cpp, LowerStages.cpp) and those for bulk
// stores, which groups of copies guard (LowerStaging.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// How many of the `threads` of a role arrive at a stage's barriers: one of
/// each warp, or all. Where threads fill stages for threads each arrives for
/// itself: a warp's barrier before the arrival of one lane may leave no
/// instruction, and tools that look for races would not see what orders its
/// accesses.
int64_t getArrivals(RingType type, int64_t threads);

/// Lowers how `role` uses the stages of a ring with barriers, as its producer
/// or as its consumer. All its acquires take the stages in turn.
llvm::LogicalResult lowerStages(RingOp ring, RoleOp role, bool isProducer);

/// Lowers what `role` does with a ring for bulk stores. All places take the
/// stages in turn.
llvm::LogicalResult lowerStaging(RingOp ring, RoleOp role);

/// Replaces the stage and the buffers that `take` gives, and erases it; no
/// buffers where theirs have no uses any more.
void replaceTake(mlir::Operation *take, mlir::Value stage,
                 mlir::ValueRange buffers);

/// Calls `body` where one thread of each warp stands, the same one each time.
void byElected(NVVMBuilder &builder, llvm::function_ref<void()> body);

/// A role keeps a few values that change as it runs, like its place in a ring.
/// They are made arguments and results of the loops and branches on the way.
/// This says which operations change the values, and what the values are after
/// one.
struct Changes {
  llvm::function_ref<bool(mlir::Operation *)> isChange;
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Operation *,
                                                    mlir::ValueRange)>
      change;
};

/// Carries `values` through `block` and the scf.for, scf.if and scf.while in
/// it; returns what they are at its end. Fails with an error at any other
/// operation that has a change in it.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
carryThrough(mlir::Block &block, mlir::ValueRange values,
             const Changes &changes);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_LOWERRINGS_H

//===- Pipelines.h - Uses of rings by roles ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Facts that mxgpu-verify-pipelines collects from a kernel, and its checks.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H
#define MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/MapVector.h"

namespace mx::mxgpu {

/// A take of a ring's stage in a role, with the matching give.
struct Port {
  RoleOp role;
  mlir::Operation *take = nullptr; // acquire or wait
  mlir::Operation *give = nullptr; // commit or release
};

/// Ports of a ring: producers fill stages, consumers empty them.
struct Sides {
  llvm::SmallVector<Port, 1> producers, consumers;
};

/// Returns the distinct roles of a side.
llvm::SmallVector<RoleOp> getRoles(llvm::ArrayRef<Port> ports);

using RingSides = llvm::MapVector<mlir::Operation *, Sides>;

/// Returns true for matrix instructions completed by mxgpu.mma_wait.
bool isAsyncMma(mlir::Operation *op);

/// Returns the loops around `op` within its role, outermost first.
llvm::SmallVector<mlir::Operation *> getLoops(mlir::Operation *op);

/// Returns the trip count of a loop, if known.
std::optional<int64_t> getTripCount(mlir::Operation *loop);

/// Agreement of the takes on both sides of a ring: in the same loops, only in
/// known numbers, or none.
enum class TakesOfSides { Same, SameNumber, Different };
TakesOfSides compareTakes(RingOp ring, RoleOp producer, RoleOp consumer);

/// Returns true if the computation of a value shows that all threads of a role
/// agree on it.
bool isUniform(mlir::Value value);

/// Fails unless each stage of a staging ring is filled, copied and released in
/// this order.
llvm::LogicalResult verifyStaging(RingOp ring);

/// Fails unless the required CTAs of a pair produce and consume the stages of a
/// ring equally often.
llvm::LogicalResult verifyPair(RingOp ring, const Sides &sides);

/// Fails unless uses of stages precede their release, and deferred releases are
/// completed.
llvm::LogicalResult verifyReleases(RingOp ring, const Sides &sides);

/// Returns true if `op` reads columns of an accumulator that are not shared
/// with the next, which the release does not cover.
bool isReadOfRest(mlir::Operation *op);

/// Fails if a load reads beyond its accumulator, or if threads may disagree on
/// the column.
llvm::LogicalResult verifyColumns(LoadAccumulatorOp load);

/// Fails unless every buffer is written before it is read.
llvm::LogicalResult verifyFilled(RingOp ring, const Sides &sides);

/// Fails unless uses of an accumulator and releases of stages follow the wait
/// for the MMA.
llvm::LogicalResult verifyMmas(KernelOp kernel);

/// Fails unless warps and registers that are assigned to roles go together.
llvm::LogicalResult verifyWarps(KernelOp kernel);

/// Fails if a role waits for something that happens only after the wait. All
/// known numbers of iterations count with `countsIterations`, else loops of two
/// roles are the same.
llvm::LogicalResult verifyLiveness(const RingSides &rings,
                                   bool countsIterations);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H

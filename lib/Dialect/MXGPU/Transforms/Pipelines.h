//===- Pipelines.h - Uses of rings by roles ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts that mxgpu-verify-pipelines collects from a kernel, and its checks.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H
#define MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/MapVector.h"

namespace mx::mxgpu {

/// Use of a ring by a role: a take (acquire or wait of a stage), and the
/// matching give (commit or release).
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

/// Returns true for matrix instructions that mxgpu.mma_wait completes.
bool isAsyncMma(mlir::Operation *op);

/// Returns the loops around `op` within its role, outermost first.
llvm::SmallVector<mlir::Operation *> getLoops(mlir::Operation *op);

std::optional<int64_t> getTripCount(mlir::Operation *loop);

/// Result of comparing producer and consumer. They take stages in the same
/// loops, take only the same number of stages (computed from known trip
/// counts), or differ.
enum class TakesOfSides { Same, SameNumber, Different };
TakesOfSides compareTakes(RingOp ring, RoleOp producer, RoleOp consumer);

/// Returns true if a value is provably the same in all threads of a role.
bool isUniform(mlir::Value value);

/// Fails unless each stage of a staging ring (emptied by bulk stores) is
/// filled, copied and released in this order.
llvm::LogicalResult verifyStaging(RingOp ring);

/// Fails unless the stages of a ring are produced and consumed by the required
/// CTAs of a pair, equally often in both CTAs.
llvm::LogicalResult verifyPair(RingOp ring, const Sides &sides);

/// Fails unless all uses of a stage precede its release, and a tail releases
/// the stages left by deferred releases.
llvm::LogicalResult verifyReleases(RingOp ring, const Sides &sides);

/// Returns true if `op` reads columns that the accumulator does not share with
/// the next accumulator. Such reads may follow the release of the stage.
bool isReadOfRest(mlir::Operation *op);

/// Fails if a load reads beyond its accumulator, or if the column may differ
/// between threads.
llvm::LogicalResult verifyColumns(LoadAccumulatorOp load);

/// Fails unless every buffer is written before it is read.
llvm::LogicalResult verifyFilled(RingOp ring, const Sides &sides);

/// Fails unless the wait for an MMA precedes the uses of its accumulator and
/// the releases of the stages that it reads.
llvm::LogicalResult verifyMmas(KernelOp kernel);

/// Fails unless the assigned warps and registers of all roles are compatible.
llvm::LogicalResult verifyWarps(KernelOp kernel);

/// Fails if the roles can deadlock. With `countsIterations` the check executes
/// all iterations of loops with known trip counts; otherwise both sides of each
/// ring use the same loops, and a bounded number of iterations suffices.
llvm::LogicalResult verifyLiveness(const RingSides &rings,
                                   bool countsIterations);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H

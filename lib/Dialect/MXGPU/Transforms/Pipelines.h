//===- Pipelines.h - Which role does what with which ring -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mxgpu-verify-pipelines collects from a kernel, and the check of it that
// stands in a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H
#define MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/MapVector.h"

namespace mx::mxgpu {

/// A place where a role takes stages of a ring, and where it gives them back.
struct Port {
  RoleOp role;
  mlir::Operation *take = nullptr; // acquire or consume
  mlir::Operation *give = nullptr; // publish or release
};

/// The two sides of a ring: places of the role that fills stages, and of the
/// role or roles that empty them.
struct Sides {
  llvm::SmallVector<Port, 1> producers, consumers;
};

/// The roles of a side, each once.
llvm::SmallVector<RoleOp> getRoles(llvm::ArrayRef<Port> ports);

using RingSides = llvm::MapVector<mlir::Operation *, Sides>;

/// Whether `op` starts a matrix instruction that an mxgpu.mma_wait finishes.
bool isAsyncMma(mlir::Operation *op);

/// The loops around `op` inside its role, outermost first.
llvm::SmallVector<mlir::Operation *> getLoops(mlir::Operation *op);

/// How often a loop runs, where that is known.
std::optional<int64_t> getTripCount(mlir::Operation *loop);

/// Whether a ring's sides take stages equally often: in the same loops, or
/// only by the numbers of iterations, which are known then.
enum class TakesOfSides { Same, SameNumber, Different };
TakesOfSides compareTakes(RingOp ring, RoleOp producer, RoleOp consumer);

/// Whether a value is the same in all threads of a role, as far as one can tell
/// from how it was computed.
bool isUniform(mlir::Value value);

/// Fails unless each stage of a warp's own ring is filled, copied and given
/// away in this order.
llvm::LogicalResult verifyStaging(RingOp ring);

/// Fails unless the right CTAs of a pair produce and consume the stages of a
/// ring, equally often.
llvm::LogicalResult verifyPair(RingOp ring, const Sides &sides);

/// Fails unless stages are used before they are released, and those whose
/// release is deferred are released in the end.
llvm::LogicalResult verifyReleases(RingOp ring, const Sides &sides);

/// Whether `op` reads columns of an accumulator that are not shared with the
/// next one: its release does not speak of them.
bool isReadOfRest(mlir::Operation *op);

/// Fails if a load is known to read beyond its accumulator, or if threads may
/// not agree on where.
llvm::LogicalResult verifyColumns(LoadAccumulatorOp load);

/// Fails unless every buffer that is read has been written.
llvm::LogicalResult verifyFilled(RingOp ring, const Sides &sides);

/// Fails unless accumulators that are waited for are used after the wait, and
/// stages are given back after it.
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

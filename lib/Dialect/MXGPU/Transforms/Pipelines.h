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

/// One role's use of one ring: where it takes stages and gives them back.
struct Port {
  RoleOp role;
  mlir::Operation *take = nullptr; // acquire or consume
  mlir::Operation *give = nullptr; // publish or release
};

/// The two sides of a ring. `others` are further consumers, of a ring for all
/// roles.
struct Sides {
  Port producer, consumer;
  llvm::SmallVector<Port, 0> others;

  llvm::SmallVector<Port> getConsumers() const {
    llvm::SmallVector<Port> consumers = {consumer};
    consumers.append(others.begin(), others.end());
    return consumers;
  }
};

using RingSides = llvm::MapVector<mlir::Operation *, Sides>;

/// Whether `op` starts a matrix instruction that an mxgpu.mma_wait finishes.
bool isAsyncMma(mlir::Operation *op);

/// The loops around `op` inside its role, outermost first.
llvm::SmallVector<mlir::Operation *> getLoops(mlir::Operation *op);

/// Whether two loop nests run the same number of iterations.
bool isSameNest(llvm::ArrayRef<mlir::Operation *> loopsA,
                llvm::ArrayRef<mlir::Operation *> loopsB);

/// Whether a value is the same in all threads of a role, as far as one can tell
/// from how it was computed.
bool isUniform(mlir::Value value);

/// Fails unless each stage of a warp's own ring is filled, copied and given
/// away in this order.
llvm::LogicalResult verifyStaging(RingOp ring);

/// Fails unless the right CTAs of a pair produce and consume the stages of a
/// ring, equally often.
llvm::LogicalResult verifyPair(RingOp ring, const Sides &sides);

/// Whether `op` reads columns of an accumulator that are not shared with the
/// next one: its release does not speak of them.
bool isReadOfRest(mlir::Operation *op);

/// Fails if a load is known to read beyond its accumulator, or if threads may
/// not agree on where.
llvm::LogicalResult verifyColumns(LoadAccumulatorOp load);

/// Fails unless every buffer that is read has been written.
llvm::LogicalResult verifyFilled(RingOp ring, const Sides &sides);

/// Fails unless sums that are waited for are used after the wait, and stages
/// are given back after it.
llvm::LogicalResult verifyMmas(KernelOp kernel);

/// Fails if a role waits for something that happens only after the wait.
llvm::LogicalResult verifyLiveness(const RingSides &rings);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_TRANSFORMS_PIPELINES_H

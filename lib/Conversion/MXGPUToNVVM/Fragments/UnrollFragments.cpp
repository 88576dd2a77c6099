//===- UnrollFragments.cpp - Columns of the epilogue as immediates --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The loops over a tile's columns run a few times. Without them columns, and
// the stages that staged rows take, are constants. Loops that quantize keep a
// few rounds where a thread has many blocks: their code would grow with the
// blocks, and what a round takes of constants is little beside a block.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/Shared/VectorSizes.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUUNROLLFRAGMENTS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

static bool isWide(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isF64();
}

/// Whether an operation takes so many instructions, for random numbers or as
/// part of a function of math, that one round is long as it is.
static bool isLong(Operation &op) {
  if (auto block = dyn_cast<QuantizeBlockOp>(op))
    return bool(block.getSeed());
  if (auto columns = dyn_cast<QuantizeColumnsOp>(op))
    return bool(columns.getSeed());
  return op
      .walk([](Operation *inner) {
        return llvm::any_of(inner->getResultTypes(), isWide)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether columns of a fragment are taken, for which they must be constants.
static bool needsConstants(scf::ForOp loop) {
  return llvm::any_of(loop.getOps<ExtractColumnsOp>(), [&](auto op) {
    return !loop.isDefinedOutsideOfLoop(op.getColumn());
  });
}

/// The short way that most tiles take. The way of tiles at the edge of the
/// matrix is long as it is. Loads of all rounds at once would take more
/// registers than there are.
static bool isShort(scf::ForOp loop) {
  if (llvm::any_of(*loop.getBody(), isLong))
    return false;
  if (!loop.getBody()->getOps<LoadBlockOp>().empty())
    return false;
  for (auto store : loop.getBody()->getOps<StoreFragmentOp>())
    if (!store.getAlignment())
      return false;
  for (Operation &op : *loop.getBody())
    if (isa<StoreFragmentOp, StoreSharedOp>(op))
      return true;
  return false;
}

/// Elements that a thread quantizes in straight-line code. Code of more costs
/// room in the instruction cache and saves a branch.
static constexpr int64_t kMostQuantized = 128;

/// Elements that a round of a loop quantizes, in all blocks of a thread.
static int64_t countQuantized(scf::ForOp loop) {
  int64_t count = 0;
  for (Operation &op : *loop.getBody())
    if (isa<QuantizeBlockOp, QuantizeColumnsOp>(op))
      count += cast<VectorType>(op.getOperand(0).getType()).getNumElements();
  return count;
}

/// Rounds that become one: all, or a divisor of them whose elements are few.
static int64_t getUnrollFactor(scf::ForOp loop) {
  int64_t rounds = loop.getStaticTripCount()->getSExtValue();
  int64_t quantized = countQuantized(loop), factor = rounds;
  while (factor > 1 &&
         (rounds % factor != 0 || factor * quantized > kMostQuantized))
    --factor;
  return factor;
}

namespace {
struct UnrollFragmentsPass final
    : mx::mxgpu::impl::MXGPUUnrollFragmentsBase<UnrollFragmentsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (failed(mx::verifyVectorSizes(kernel, mx::kMaxKernelVector)))
        return signalPassFailure();
      unroll(kernel);
    }
  }

  static void unroll(KernelOp kernel) {
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if ((needsConstants(loop) || isShort(loop)) && loop.getStaticTripCount())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      (void)loopUnrollByFactor(loop, getUnrollFactor(loop));
    // What was a loop's counter is a constant now.
    if (!loops.empty())
      (void)applyPatternsGreedily(kernel,
                                  RewritePatternSet(kernel.getContext()));
  }
};
} // namespace

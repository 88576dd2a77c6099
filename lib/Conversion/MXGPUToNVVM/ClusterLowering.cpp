//===- ClusterLowering.cpp - Clusters and dependent kernels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers CTA ranks, the addition of accumulators in a cluster, and programmatic
// dependent launch.
//
// To add accumulators, each CTA writes its own accumulator to its shared
// memory. Then either the first CTA reads all other accumulators, or each CTA
// reads its share of the registers from all other CTAs.
//===----------------------------------------------------------------------===//

#include "Common/Lowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx::mxbar;

namespace {

/// Shared-memory layout of a partial accumulator. Chunk `i` of all threads
/// precedes chunk `i + 1`, so adjacent threads access adjacent words.
class PartialWords {
public:
  PartialWords(NVVMBuilder &builder, ExchangePartialsOp op, Value thread,
               int64_t words)
      : builder(builder), chunk(words % kPartialChunk ? 1 : kPartialChunk),
        count(words / chunk),
        stride(chunk * 4 * op.getType().getLayout().getNumThreads()) {
    Value bytes = builder.mul(thread, builder.i32(chunk * 4));
    own = builder.offset(builder.shared(op.getOffset()), bytes);
  }

  void store(ArrayRef<Value> words) {
    for (int64_t i = 0; i < count; ++i)
      builder.storeShared(builder.offset(own, i * stride),
                          words.slice(i * chunk, chunk));
  }

  /// Adds the partials of the other CTAs to words `first` to `end`, the share
  /// of CTA `rank`. Every word is summed in the order of CTA ranks.
  void add(MutableArrayRef<Value> words, int64_t rank, int64_t ctas,
           int64_t first, int64_t end) {
    // Keeps LLVM from hoisting these addresses out of the loop into registers.
    Value here = builder.keep(own);
    SmallVector<Value> others;
    for (int64_t other = 0; other < ctas; ++other)
      others.push_back(other == rank ? Value() : builder.inCta(here, other));
    for (int64_t i = first; i < end; i += chunk) {
      SmallVector<Value> sum;
      for (Value other : others) {
        SmallVector<Value> term(words.slice(i, chunk));
        if (other)
          term = builder.loadShared(builder.offset(other, i / chunk * stride),
                                    chunk);
        if (!sum.empty())
          for (auto [word, before] : llvm::zip_equal(term, sum))
            word = add(before, word);
        sum = term;
      }
      llvm::copy(sum, words.begin() + i);
    }
  }

private:
  Value add(Value x, Value y) {
    Type f32 = builder.getF32Type();
    Value sum = arith::AddFOp::create(builder, builder.bitcast(f32, x),
                                      builder.bitcast(f32, y));
    return builder.bitcast(builder.getI32Type(), sum);
  }

  NVVMBuilder &builder;
  int64_t chunk, count, stride;
  Value own;
};

} // namespace

/// Emits a branch for each rank, starting at `rank`, because registers cannot
/// be indexed dynamically.
static Value addShares(NVVMBuilder &builder, PartialWords &words,
                       ArrayRef<Value> partial, int64_t ctas, VectorType type,
                       int64_t rank = 0) {
  auto add = [&] {
    SmallVector<Value> sum(partial);
    int64_t count = sum.size();
    words.add(sum, rank, ctas, getFirstOfShare(count, rank, ctas),
              getFirstOfShare(count, rank + 1, ctas));
    return joinWords(builder, sum, type);
  };
  if (rank == ctas - 1)
    return add();
  Value isIt = builder.isEqual(builder.ctaRank(), builder.i32(rank));
  auto ifOp = scf::IfOp::create(builder, TypeRange(type), isIt,
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, add());
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(
      builder, addShares(builder, words, partial, ctas, type, rank + 1));
  return ifOp.getResult(0);
}

static std::optional<int64_t> getClusterSize(Operation *op) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  auto size = function ? function->getAttrOfType<DenseI32ArrayAttr>(
                             NVVM::NVVMDialect::getClusterDimAttrName())
                       : DenseI32ArrayAttr();
  if (!size)
    return std::nullopt;
  return size[0];
}

/// Adds the partials after a cluster barrier, when all of them are complete.
static LogicalResult
lowerExchangePartials(ExchangePartialsOp op,
                      ExchangePartialsOp::Adaptor adaptor,
                      ConversionPatternRewriter &rewriter) {
  std::optional<int64_t> ctas = getClusterSize(op);
  if (!ctas)
    return rewriter.notifyMatchFailure(op, "not in a lowered kernel");
  NVVMBuilder builder(op.getLoc(), rewriter);
  auto type = cast<VectorType>(adaptor.getAccumulator().getType());
  Value own = adaptor.getAccumulator();
  PartialWords words(builder, op, builder.toI32(adaptor.getThread()),
                     type.getNumElements());
  SmallVector<Value> partial = splitWords(builder, own);
  words.store(partial);
  builder.syncCluster();
  if (op.getDistributed()) {
    rewriter.replaceOp(op, addShares(builder, words, partial, *ctas, type));
    return success();
  }
  auto ifOp = scf::IfOp::create(builder, TypeRange(type), builder.isLeader(),
                                /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(builder, own);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    words.add(partial, /*rank=*/0, *ctas, /*first=*/0, partial.size());
    scf::YieldOp::create(builder, joinWords(builder, partial, type));
  }
  rewriter.replaceOp(op, ifOp.getResult(0));
  return success();
}

static Values lowerEndPartials(NVVMBuilder &builder, EndPartialsOp,
                               EndPartialsOp::Adaptor) {
  builder.syncCluster();
  return {};
}

static Values lowerCtaRank(NVVMBuilder &builder, CtaRankOp,
                           CtaRankOp::Adaptor) {
  return {arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                       builder.ctaRank())};
}

static Values lowerLaneId(NVVMBuilder &builder, gpu::LaneIdOp,
                          gpu::LaneIdOp::Adaptor) {
  return {arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                       builder.laneId())};
}

static Values lowerWaitDependencies(NVVMBuilder &builder, WaitDependenciesOp,
                                    WaitDependenciesOp::Adaptor) {
  builder.waitForGrids();
  return {};
}

static Values lowerLaunchDependents(NVVMBuilder &builder, LaunchDependentsOp,
                                    LaunchDependentsOp::Adaptor) {
  builder.launchDependentGrids();
  return {};
}

void mx::mxgpu::populateClusterPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter) {
  addPatterns<lowerExchangePartials, lowerEndPartials, lowerCtaRank,
              lowerLaneId, lowerWaitDependencies, lowerLaunchDependents>(
      converter, patterns);
}

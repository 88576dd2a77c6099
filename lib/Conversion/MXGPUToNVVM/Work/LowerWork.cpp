//===- LowerWork.cpp - Loops over work tiles ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers loops over work tiles and over the reduction to scf. Each role visits
// the same work tiles, identified by 32-bit numbers, and computes their 64-bit
// coordinates once.
//
// Rings are lowered later. Until then, the address of a stage's buffer gives
// access to the work tile in the stage.
//===----------------------------------------------------------------------===//

#include "WorkTiles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPULOWERWORK
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

namespace {

Value getAddress(NVVMBuilder &builder, Value buffer) {
  return mxbar::BufferAddressOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext(), 3), buffer);
}

/// Tests whether `number` is the number of a work tile, rather than -1.
Value isNumber(NVVMBuilder &builder, Value number) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, number,
                               builder.i32(-1));
}

class WorkLowering {
public:
  explicit WorkLowering(KernelOp kernel)
      : kernel(kernel), rewriter(kernel.getContext()) {}

  void run() {
    SmallVector<ForEachWorkTileOp> loops;
    SmallVector<ForEachKOp> reductions;
    kernel.walk([&](Operation *op) {
      if (auto loop = dyn_cast<ForEachWorkTileOp>(op))
        loops.push_back(loop);
      else if (auto loop = dyn_cast<ForEachKOp>(op))
        reductions.push_back(loop);
    });
    for (ForEachKOp loop : reductions)
      lower(loop);
    for (ForEachWorkTileOp loop : loops)
      lower(loop);
    for (auto source : llvm::make_early_inc_range(
             kernel.getBody().getOps<TileSchedulerOp>())) {
      tellWorkTiles(source);
      source.erase();
    }
  }

private:
  NVVMBuilder at(Operation *op) {
    rewriter.setInsertionPoint(op);
    return NVVMBuilder(op->getLoc(), rewriter);
  }

  void lower(ForEachKOp op);
  void lower(ForEachWorkTileOp op);
  void lowerSingle(NVVMBuilder &builder, ForEachWorkTileOp op,
                   TileSchedulerOp source);
  void lowerExperts(NVVMBuilder &builder, ForEachWorkTileOp op,
                    TileSchedulerOp source);
  void lowerAtomicCounter(NVVMBuilder &builder, ForEachWorkTileOp op,
                          const Problem &problem);
  void lowerStatic(NVVMBuilder &builder, ForEachWorkTileOp op,
                   const Problem &problem);
  void lowerClc(NVVMBuilder &builder, ForEachWorkTileOp op,
                const Problem &problem);
  void lowerToLoop(
      NVVMBuilder &builder, ForEachWorkTileOp op, ValueRange first,
      function_ref<SmallVector<Value>(Block::BlockArgListType)> getArguments);
  void fillCondition(NextWorkTileOp next, scf::WhileOp loop);
  void tellWorkTiles(TileSchedulerOp source);
  static Value drawFromCounter(NVVMBuilder &builder, TileSchedulerOp source);

  KernelOp kernel;
  IRRewriter rewriter;
  /// The only work tile of each scheduler of kind `single`.
  DenseMap<Operation *, SingleWorkTile> workTiles;
  /// The first work tile of each scheduler over expert groups.
  DenseMap<Operation *, ExpertWorkTile> firstWorkTiles;
};

} // namespace

/// Lowers to an scf.for of 32 bits. K fits 32 bits, because the coordinates of
/// bulk copies are 32-bit numbers.
void WorkLowering::lower(ForEachKOp op) {
  NVVMBuilder builder = at(op);
  Value start = builder.toI32(op.getStart());
  Value end = builder.toI32(op.getEnd());
  Value step = builder.i32(op.getStep());
  auto loop = scf::ForOp::create(builder, start, end, step, op.getInits());
  Block *body = loop.getBody();
  if (op.getInits().empty())
    body->getTerminator()->erase();
  builder.setInsertionPointToStart(body);
  Value k = loop.getInductionVar();
  Value left = builder.sub(end, k);
  Value extent = builder.min(left, step);
  Value first = builder.isEqual(k, start);
  SmallVector<Value> arguments = {toIndex(builder, k), toIndex(builder, extent),
                                  first};
  llvm::append_range(arguments, loop.getRegionIterArgs());
  auto yield = op.getYield();
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield.getValues());
  rewriter.mergeBlocks(&op.getBody().front(), body, arguments);
  uint64_t unroll = op.getUnroll();
  rewriter.replaceOp(op, loop.getResults());
  if (unroll > 1)
    (void)loopUnrollByFactor(loop, unroll);
}

void WorkLowering::lower(ForEachWorkTileOp op) {
  auto source = op.getWork().getDefiningOp<TileSchedulerOp>();
  NVVMBuilder builder = at(op);
  if (source.getSingle())
    lowerSingle(builder, op, source);
  else if (source.getOffsets())
    lowerExperts(builder, op, source);
  else if (source.getCounter())
    lowerAtomicCounter(builder, op, getProblem(builder, source));
  else if (source.getWorkTiles())
    lowerClc(builder, op, getProblem(builder, source));
  else
    lowerStatic(builder, op, getProblem(builder, source));
  rewriter.eraseOp(op);
}

/// Builds a loop that processes a work tile before the next work tile is known.
/// `first` describes the first work tile, and `getArguments` derives the
/// arguments of the body from the carried description.
void WorkLowering::lowerToLoop(
    NVVMBuilder &builder, ForEachWorkTileOp op, ValueRange first,
    function_ref<SmallVector<Value>(Block::BlockArgListType)> getArguments) {
  auto loop = scf::WhileOp::create(
      builder, first.getTypes(), first,
      [](OpBuilder &, Location, ValueRange) {},
      [](OpBuilder &nested, Location loc, ValueRange workTile) {
        scf::YieldOp::create(nested, loc, workTile);
      });
  Block *body = loop.getBeforeBody();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments = getArguments(body->getArguments());
  auto condition = scf::ConditionOp::create(builder, builder.i1(false), first);
  NextWorkTileOp next = *op.getBody().getOps<NextWorkTileOp>().begin();
  rewriter.inlineBlockBefore(&op.getBody().front(), condition, arguments);
  fillCondition(next, loop);
}

/// Reads the next work tile, or an end marker, from the buffer of the stage.
void WorkLowering::fillCondition(NextWorkTileOp next, scf::WhileOp loop) {
  NVVMBuilder builder = at(next);
  auto wait = next.getBuffer().getDefiningOp<ConsumerWaitOp>();
  Value address = getAddress(builder, next.getBuffer());
  SmallVector<Value> answer;
  Value isWorkTile;
  switch (wait.getRing().getType().getProducer()) {
  case AsyncKind::AtomicCounter:
    answer = builder.loadShared(address, 1);
    isWorkTile = isNumber(builder, answer.back());
    break;
  case AsyncKind::Groups:
    answer = loadExpertWorkTile(builder, address).getWords();
    isWorkTile = isNumber(builder, answer.back());
    break;
  case AsyncKind::Clc:
    answer = {builder.loadAnswer(address)};
    isWorkTile = builder.isCluster(answer[0]);
    break;
  default:
    llvm_unreachable("verified: no other producer writes work tiles");
  }
  scf::ConditionOp condition = loop.getConditionOp();
  condition.getConditionMutable().assign(isWorkTile);
  condition.getArgsMutable().assign(answer);
  rewriter.eraseOp(next);
}

void WorkLowering::lowerSingle(NVVMBuilder &builder, ForEachWorkTileOp op,
                               TileSchedulerOp source) {
  auto [known, isNew] = workTiles.try_emplace(source);
  if (isNew)
    known->second = getSingleWorkTile(builder, source);
  const SingleWorkTile &workTile = known->second;
  Block *block = op->getBlock();
  Block::iterator place = op->getIterator();
  if (workTile.exists) {
    auto ifOp = scf::IfOp::create(builder, workTile.exists, /*withElse=*/false);
    block = ifOp.thenBlock();
    place = ifOp.thenYield()->getIterator();
  }
  rewriter.inlineBlockBefore(&op.getBody().front(), block, place,
                             workTile.arguments);
}

/// Computes the first work tile of a CTA or pair before the loop. All other
/// work tiles are read from the ring.
void WorkLowering::lowerExperts(NVVMBuilder &builder, ForEachWorkTileOp op,
                                TileSchedulerOp source) {
  auto [known, isNew] = firstWorkTiles.try_emplace(source);
  if (isNew) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(source);
    known->second = findFirstExpertWorkTile(builder, source);
  }
  const ExpertWorkTile &first = known->second;
  auto ifOp = scf::IfOp::create(builder, isNumber(builder, first.number),
                                /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  lowerToLoop(builder, op, first.getWords(), [&](auto words) {
    return llvm::map_to_vector(words.drop_back(), [&](Value word) -> Value {
      return toIndex(builder, word);
    });
  });
}

/// Starts CTA i with work tile i, and then draws work tile numbers from the
/// atomic counter.
void WorkLowering::lowerAtomicCounter(NVVMBuilder &builder,
                                      ForEachWorkTileOp op,
                                      const Problem &problem) {
  lowerToLoop(builder, op, ValueRange(builder.ctaId()), [&](auto workTile) {
    return getWorkTile(builder, problem, workTile[0]);
  });
}

/// Emits a loop over the work tiles of a CTA or pair: CTA or pair c of n
/// processes work tiles c, c + n, c + 2 n and so on. An scf.for would compare
/// signed numbers, but the first number past the last work tile may be 2^31 or
/// more.
void WorkLowering::lowerStatic(NVVMBuilder &builder, ForEachWorkTileOp op,
                               const Problem &problem) {
  Value first = getFirstWorkTile(builder, op);
  Value count = getWorkTileStep(builder, op);
  auto loop = scf::WhileOp::create(
      builder, TypeRange(builder.getI32Type()), ValueRange(first),
      [&](OpBuilder &nested, Location loc, ValueRange workTile) {
        Value isWorkTile =
            arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult,
                                  workTile[0], problem.workTiles);
        scf::ConditionOp::create(nested, loc, isWorkTile, workTile);
      },
      [](OpBuilder &, Location, ValueRange) {});
  Block *body = loop.getAfterBody();
  builder.setInsertionPointToStart(body);
  Value workTile = body->getArgument(0);
  SmallVector<Value> arguments = getWorkTile(builder, problem, workTile);
  Value next = builder.add(workTile, count);
  scf::YieldOp::create(builder, next);
  rewriter.inlineBlockBefore(&op.getBody().front(), next.getDefiningOp(),
                             arguments);
}

/// Starts CTA or pair i with work tile i, and continues with the work tiles of
/// cancelled clusters. Decodes an answer only if it contains a cluster.
void WorkLowering::lowerClc(NVVMBuilder &builder, ForEachWorkTileOp op,
                            const Problem &problem) {
  bool pair = isInPair(op);
  Type answerType = builder.getIntegerType(128);
  auto loop = scf::WhileOp::create(
      builder, TypeRange(answerType), ValueRange(getFirstWorkTile(builder, op)),
      [](OpBuilder &, Location, ValueRange) {},
      [&](OpBuilder &nested, Location loc, ValueRange answer) {
        NVVMBuilder after(loc, nested);
        Value workTile = after.getFirstCta(answer[0]);
        if (pair)
          workTile = arith::ShRUIOp::create(after, workTile, after.i32(1));
        scf::YieldOp::create(nested, loc, workTile);
      });
  Block *body = loop.getBeforeBody();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments =
      getWorkTile(builder, problem, body->getArgument(0));
  Value nothing =
      arith::ConstantOp::create(builder, builder.getIntegerAttr(answerType, 0));
  auto condition =
      scf::ConditionOp::create(builder, builder.i1(false), nothing);
  NextWorkTileOp next = *op.getBody().getOps<NextWorkTileOp>().begin();
  rewriter.inlineBlockBefore(&op.getBody().front(), condition, arguments);
  fillCondition(next, loop);
}

/// Lets the distributing role write work tiles to the stages of a ring.
void WorkLowering::tellWorkTiles(TileSchedulerOp source) {
  if (!source.getWorkTiles())
    return;
  auto ring = source.getWorkTiles().getDefiningOp<RingOp>();
  AsyncKind asyncKind = ring.getType().getProducer();
  if (asyncKind != AsyncKind::AtomicCounter && asyncKind != AsyncKind::Groups)
    return;
  SmallVector<ProducerCommitOp> commits;
  for (Operation *user : ring->getUsers())
    if (auto acquire = dyn_cast<ProducerAcquireOp>(user))
      for (Operation *give : acquire.getStage().getUsers())
        if (auto commit = dyn_cast<ProducerCommitOp>(give))
          commits.push_back(commit);
  for (ProducerCommitOp commit : commits) {
    NVVMBuilder builder = at(commit);
    auto acquire = commit.getStage().getDefiningOp<ProducerAcquireOp>();
    Value buffer = acquire.getBuffers().front();
    if (asyncKind == AsyncKind::AtomicCounter) {
      Value workTile = drawFromCounter(builder, source);
      builder.storeShared(getAddress(builder, buffer), workTile);
      continue;
    }
    // All lanes compute the next work tile, and a single lane writes it.
    ExpertWorkTile workTile = findNextExpertWorkTile(
        builder, source, commit->getParentOfType<scf::WhileOp>());
    auto ifOp =
        scf::IfOp::create(builder, builder.isFirstLane(), /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    storeExpertWorkTile(builder, workTile, getAddress(builder, buffer));
  }
}

/// Draws the number of a work tile from the counter, or -1 if none is left. All
/// CTAs together draw as many numbers as there are work tiles. A CTA does not
/// draw its first work tile, but its last draw finds no work tile. The last
/// draw of all CTAs resets the counter to 0.
Value WorkLowering::drawFromCounter(NVVMBuilder &builder,
                                    TileSchedulerOp source) {
  Value workTiles = getNumWorkTiles(builder, source);
  Value last = builder.sub(workTiles, 1);
  Value drawn = builder.drawFromCounter(
      getGlobalAddress(builder, source.getCounter(), builder.index(0)), last);
  Value workTile = builder.add(drawn, builder.ctaCount());
  Value isWorkTile = builder.isBelow(workTile, workTiles);
  return builder.select(isWorkTile, workTile, builder.i32(-1));
}

namespace {
struct LowerWorkPass final
    : mx::mxgpu::impl::MXGPULowerWorkBase<LowerWorkPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      WorkLowering(kernel).run();
  }
};
} // namespace

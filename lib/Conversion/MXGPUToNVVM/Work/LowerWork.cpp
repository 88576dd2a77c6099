//===- LowerWork.cpp - Loops over work tiles ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Lowers loops over work tiles and over the reduction to scf. Each role visits
// the same work tiles, identified by 32-bit numbers, and computes their 64-bit
// coordinates once.
//
// Rings remain. The pass accesses the contents of a work tile's stage by the
// address of its buffer.
//
//===----------------------------------------------------------------------===//

#include "WorkTiles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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

/// Returns true for the number of a work tile, false for -1 (none).
Value isNumber(NVVMBuilder &builder, Value number) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, number,
                               builder.i32(-1));
}

/// Lowers the loops of a kernel.
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
  /// Work tiles of `single` schedulers.
  DenseMap<Operation *, SingleWorkTile> workTiles;
  /// First work tiles of schedulers over expert groups.
  DenseMap<Operation *, ExpertWorkTile> firstWorkTiles;
};

} // namespace

/// K fits 32 bits, as do coordinates of bulk copies.
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
  rewriter.replaceOp(op, loop.getResults());
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

/// Builds a loop whose body visits a work tile before the next is known.
/// `first` describes the first work tile and determines the arguments of the
/// body.
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

/// Reads the next work tile, or its absence, from the buffer of the stage.
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
    llvm_unreachable("the verifier lets no other ring tell of work tiles");
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

/// Computes the first work tile of a CTA or pair before the loop; the others
/// come from the ring.
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

/// Starts a CTA with the work tile of its own number and draws further numbers
/// from the atomic counter.
void WorkLowering::lowerAtomicCounter(NVVMBuilder &builder,
                                      ForEachWorkTileOp op,
                                      const Problem &problem) {
  lowerToLoop(builder, op, ValueRange(builder.ctaId()), [&](auto workTile) {
    return getWorkTile(builder, problem, workTile[0]);
  });
}

/// CTA c, or pair c, visits work tiles c, c + number of CTAs or pairs, ... An
/// scf.for would compare signed, but the number after the last work tile may be
/// 2^31 or more.
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

/// Starts a CTA or pair with the work tile of its own number and continues with
/// the work tiles of cancelled clusters. An answer is decoded only if it
/// contains a cluster.
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

/// Writes work tiles into stages, in the role that distributes them.
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

/// Draws the number of a work tile, or -1. All CTAs together draw as many
/// numbers as there are work tiles: a CTA starts without a draw and draws once
/// more at its end. The last draw resets the counter to 0.
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

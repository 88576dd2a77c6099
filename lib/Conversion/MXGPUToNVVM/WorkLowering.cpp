//===- WorkLowering.cpp - A CTA's units of work ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every role walks through the same units by itself: it knows them by a number
// of 32 bits and computes the tile of each once. Places in the problem are 64
// bits wide.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "Raster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// What a role knows about the work before its first unit.
struct Problem {
  WorkSourceOp source;
  Tiles grid;
  Value tiles, units;
};

/// Tiles of packed rows that suffice for any groups.
Value getPackedTiles(NVVMBuilder &builder, Value rows, Value offsets,
                     int64_t tile) {
  Value whole = arith::DivUIOp::create(builder, rows, builder.index(tile));
  Value groups = memref::DimOp::create(builder, offsets, 0);
  return builder.toI32(builder.add(whole, groups));
}

Problem getProblem(NVVMBuilder &builder, WorkSourceOp source) {
  Value rows = source.getRows(), offsets = source.getOffsets();
  int64_t tile = source.getTile()[0];
  Tiles grid = {offsets ? getPackedTiles(builder, rows, offsets, tile)
                        : getTiles(builder, rows, tile),
                getTiles(builder, source.getColumns(), source.getTile()[1])};
  Value tiles = builder.mul(grid.rows, grid.columns);
  Value units = tiles;
  if (source.getNumParts() > 1)
    units = builder.mul(tiles, builder.i32(source.getNumParts()));
  return {source, grid, tiles, units};
}

Value toIndex(NVVMBuilder &builder, Value number) {
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
}

/// Where part number `part` of the reduction begins, or the one before it ends.
Value getPartStart(NVVMBuilder &builder, WorkSourceOp source, Value part) {
  Value step = builder.index(*source.getPartStep());
  Value parts = builder.index(source.getNumParts());
  Value steps = toIndex(
      builder, getTiles(builder, source.getReduction(), *source.getPartStep()));
  Value before =
      arith::DivUIOp::create(builder, builder.mul(steps, part), parts);
  return builder.mul(before, step);
}

/// The arguments of the body that visits `unit`. Parts of the reduction come
/// one after the other, so that units at one time share rows of A and B.
SmallVector<Value> getUnit(NVVMBuilder &builder, const Problem &problem,
                           Value unit) {
  WorkSourceOp source = problem.source;
  Value slice = builder.index(0), start = slice, end = source.getReduction();
  if (source.getNumParts() > 1) {
    Value part = arith::DivUIOp::create(builder, unit, problem.tiles);
    unit =
        arith::SubIOp::create(builder, unit, builder.mul(part, problem.tiles));
    slice = toIndex(builder, part);
    start = getPartStart(builder, source, slice);
    Value next =
        getPartStart(builder, source, builder.add(slice, builder.index(1)));
    end = arith::MinUIOp::create(builder, next, end);
  }
  Tiles tile = buildTile(builder, source.getRaster(), problem.grid, unit);
  Value row = builder.mul(toIndex(builder, tile.rows),
                          builder.index(source.getTile()[0]));
  Value column = builder.mul(toIndex(builder, tile.columns),
                             builder.index(source.getTile()[1]));
  return {slice, row, column, start, end};
}

/// A CTA's only unit, found where the source stands: for all roles at once, and
/// by whole warps.
SingleUnit getSingleUnit(NVVMBuilder &builder, WorkSourceOp source) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(source);
  Problem problem = getProblem(builder, source);
  SmallVector<Value> arguments = getUnit(builder, problem, builder.ctaId());
  Value offsets = source.getOffsets();
  if (!offsets)
    return {arguments, Value()};
  int64_t tileRows = source.getTile()[0];
  Value tile =
      arith::DivUIOp::create(builder, arguments[1], builder.index(tileRows));
  GroupTile found = findGroupTile(builder, offsets, source.getRows(),
                                  builder.toI32(tile), tileRows);
  arguments[0] = toIndex(builder, found.group);
  arguments[3] = toIndex(builder, found.start);
  arguments[4] = toIndex(builder, found.end);
  return {arguments, found.exists};
}

/// A loop whose body visits a unit before it knows whether there is another
/// one: that is what NextUnitLowering fills in. `first` is what it knows of the
/// first one, from which follow the arguments of the body of `op`.
void lowerToLoop(
    NVVMBuilder &builder, ForEachWorkOp op, ValueRange first,
    ConversionPatternRewriter &rewriter,
    function_ref<SmallVector<Value>(Block::BlockArgListType)> getArguments) {
  auto loop = scf::WhileOp::create(
      builder, first.getTypes(), first,
      [](OpBuilder &, Location, ValueRange) {},
      [](OpBuilder &nested, Location loc, ValueRange unit) {
        scf::YieldOp::create(nested, loc, unit);
      });
  Block *body = loop.getBeforeBody();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments = getArguments(body->getArguments());
  auto condition = scf::ConditionOp::create(builder, builder.i1(false), first);
  rewriter.inlineBlockBefore(&op.getBody().front(), condition, arguments);
}

struct ForEachWorkLowering final : KernelPattern<ForEachWorkOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ForEachWorkOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = op.getWork().getDefiningOp<WorkSourceOp>();
    if (!source)
      return rewriter.notifyMatchFailure(op, "expected a work source");
    NVVMBuilder builder(op.getLoc(), rewriter);
    if (source.getSingle()) {
      lowerSingle(builder, op, source, rewriter);
      rewriter.eraseOp(op);
      return success();
    }
    if (source.getOffsets()) {
      lowerGroups(builder, op, source, rewriter);
      rewriter.eraseOp(op);
      return success();
    }
    Problem problem = getProblem(builder, source);
    if (source.getCounter())
      lowerTickets(builder, op, problem, rewriter);
    else if (source.getUnits())
      lowerClc(builder, op, problem, rewriter);
    else
      lowerStatic(builder, op, problem, rewriter);
    rewriter.eraseOp(op);
    return success();
  }

  void lowerSingle(NVVMBuilder &builder, ForEachWorkOp op, WorkSourceOp source,
                   ConversionPatternRewriter &rewriter) const {
    auto [known, isNew] = kernel.units.try_emplace(source);
    if (isNew)
      known->second = getSingleUnit(builder, source);
    const SingleUnit &unit = known->second;
    Block *block = op->getBlock();
    Block::iterator place = op->getIterator();
    if (unit.exists) {
      auto ifOp = scf::IfOp::create(builder, unit.exists, /*withElse=*/false);
      block = ifOp.thenBlock();
      place = ifOp.thenYield()->getIterator();
    }
    rewriter.inlineBlockBefore(&op.getBody().front(), block, place,
                               unit.arguments);
  }

  /// A CTA, or a pair, visits the units of groups of which the ring tells, but
  /// knows of the first one, if there is one, before.
  void lowerGroups(NVVMBuilder &builder, ForEachWorkOp op, WorkSourceOp source,
                   ConversionPatternRewriter &rewriter) const {
    auto [known, isNew] = kernel.firstUnits.try_emplace(source);
    if (isNew) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(source);
      known->second = findFirstGroupUnit(builder, source);
    }
    const GroupUnit &first = known->second;
    Value exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                         first.number, builder.i32(-1));
    auto ifOp = scf::IfOp::create(builder, exists, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    lowerToLoop(builder, op, first.getWords(), rewriter, [&](auto words) {
      return llvm::map_to_vector(words.drop_back(), [&](Value word) -> Value {
        return toIndex(builder, word);
      });
    });
  }

  /// A CTA begins with the unit of its own number; further ones are those of
  /// its tickets.
  static void lowerTickets(NVVMBuilder &builder, ForEachWorkOp op,
                           const Problem &problem,
                           ConversionPatternRewriter &rewriter) {
    lowerToLoop(builder, op, ValueRange(builder.ctaId()), rewriter,
                [&](auto unit) { return getUnit(builder, problem, unit[0]); });
  }

  /// CTA c, or pair c, visits units c, c + their number, ... Not scf.for, which
  /// compares with sign: the step behind the last unit may be 2^31 or more.
  static void lowerStatic(NVVMBuilder &builder, ForEachWorkOp op,
                          const Problem &problem,
                          ConversionPatternRewriter &rewriter) {
    Value first = getFirstUnit(builder, op);
    Value count = getUnitStep(builder, op);
    auto loop = scf::WhileOp::create(
        builder, TypeRange(builder.getI32Type()), ValueRange(first),
        [&](OpBuilder &nested, Location loc, ValueRange unit) {
          Value isUnit = arith::CmpIOp::create(
              nested, loc, arith::CmpIPredicate::ult, unit[0], problem.units);
          scf::ConditionOp::create(nested, loc, isUnit, unit);
        },
        [](OpBuilder &, Location, ValueRange) {});
    Block *body = loop.getAfterBody();
    builder.setInsertionPointToStart(body);
    Value unit = body->getArgument(0);
    SmallVector<Value> arguments = getUnit(builder, problem, unit);
    Value next = builder.add(unit, count);
    scf::YieldOp::create(builder, next);
    rewriter.inlineBlockBefore(&op.getBody().front(), next.getDefiningOp(),
                               arguments);
  }

  /// A CTA, or a pair, begins with the unit of its own number, and goes on with
  /// those of clusters that it was given in place of their launch. It asks
  /// nothing about an answer before it knows that there is one: that part of
  /// the loop only runs then. NextUnitLowering fills in the condition.
  static void lowerClc(NVVMBuilder &builder, ForEachWorkOp op,
                       const Problem &problem,
                       ConversionPatternRewriter &rewriter) {
    bool pair = isInPair(op);
    Type answerType = builder.getIntegerType(128);
    auto loop = scf::WhileOp::create(
        builder, TypeRange(answerType), ValueRange(getFirstUnit(builder, op)),
        [](OpBuilder &, Location, ValueRange) {},
        [&](OpBuilder &nested, Location loc, ValueRange answer) {
          NVVMBuilder after(loc, nested);
          Value unit = after.getFirstCta(answer[0]);
          if (pair)
            unit = arith::ShRUIOp::create(after, unit, after.i32(1));
          scf::YieldOp::create(nested, loc, unit);
        });
    Block *body = loop.getBeforeBody();
    builder.setInsertionPointToStart(body);
    SmallVector<Value> arguments =
        getUnit(builder, problem, body->getArgument(0));
    Value no = builder.i1(false);
    Value nothing = arith::ConstantOp::create(
        builder, builder.getIntegerAttr(answerType, 0));
    auto condition = scf::ConditionOp::create(builder, no, nothing);
    rewriter.inlineBlockBefore(&op.getBody().front(), condition, arguments);
  }
};

struct NextUnitLowering final : KernelPattern<NextUnitOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(NextUnitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto loop = dyn_cast<scf::WhileOp>(op->getParentOp());
    if (!loop)
      return rewriter.notifyMatchFailure(op, "expected a lowered loop");
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    StringRef field = ring.getType().getNames().front();
    Value address = getFieldAddress(builder, ring, field, adaptor.getSlot());
    SmallVector<Value> answer;
    Value isUnit;
    switch (ring.getType().getProducer()) {
    case Agent::Tickets:
      answer = builder.loadShared(address, 1);
      isUnit = isNumber(builder, answer.back());
      break;
    case Agent::Groups:
      answer = loadGroupUnit(builder, address).getWords();
      isUnit = isNumber(builder, answer.back());
      break;
    default:
      answer = {builder.loadAnswer(address)};
      isUnit = builder.isCluster(answer[0]);
      break;
    }
    scf::ConditionOp condition = loop.getConditionOp();
    rewriter.modifyOpInPlace(condition, [&] {
      condition.getConditionMutable().assign(isUnit);
      condition.getArgsMutable().assign(answer);
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value isNumber(NVVMBuilder &builder, Value number) {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, number,
                                 builder.i32(-1));
  }
};

} // namespace

bool mx::mxgpu::isInPair(Operation *op) {
  return op->getParentOfType<LLVM::LLVMFuncOp>()->hasAttr(
      NVVM::NVVMDialect::getClusterDimAttrName());
}

Value mx::mxgpu::getFirstUnit(NVVMBuilder &builder, Operation *op) {
  return isInPair(op) ? builder.clusterId() : builder.ctaId();
}

Value mx::mxgpu::getUnitStep(NVVMBuilder &builder, Operation *op) {
  return isInPair(op) ? builder.clusterCount() : builder.ctaCount();
}

Value mx::mxgpu::getTiles(NVVMBuilder &builder, Value size, int64_t tile) {
  Value rounded = builder.add(size, builder.index(tile - 1));
  return builder.toI32(
      arith::DivUIOp::create(builder, rounded, builder.index(tile)));
}

Value mx::mxgpu::getNumUnits(NVVMBuilder &builder, WorkSourceOp source) {
  return getProblem(builder, source).units;
}

void mx::mxgpu::populateWorkPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelContext &kernel) {
  patterns.add<ForEachWorkLowering, NextUnitLowering>(
      converter, patterns.getContext(), kernel);
}

//===- WorkTiles.cpp - Coordinates of work tiles --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Numbers of work tiles have 32 bits, coordinates in the problem have 64.
//
//===----------------------------------------------------------------------===//

#include "WorkTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx::mxgpu;

/// The number of tiles of packed rows that suffices for any groups.
static Value getPackedTiles(NVVMBuilder &builder, Value rows, Value offsets,
                            int64_t tile) {
  Value whole = arith::DivUIOp::create(builder, rows, builder.index(tile));
  Value groups = memref::DimOp::create(builder, offsets, 0);
  return builder.toI32(builder.add(whole, groups));
}

Problem mx::mxgpu::getProblem(NVVMBuilder &builder, TileSchedulerOp source) {
  Value rows = source.getRows(), offsets = source.getOffsets();
  int64_t tile = source.getTile()[0];
  Tiles grid = {offsets ? getPackedTiles(builder, rows, offsets, tile)
                        : getTiles(builder, rows, tile),
                getTiles(builder, source.getColumns(), source.getTile()[1])};
  Value tiles = builder.mul(grid.rows, grid.columns);
  Value units = tiles;
  if (source.getNumSplits() > 1 && getParts(source) == 1)
    units = builder.mul(tiles, builder.i32(source.getNumSplits()));
  return {source, grid, tiles, units};
}

Value mx::mxgpu::toIndex(NVVMBuilder &builder, Value number) {
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
}

/// Where split number `part` of the reduction begins, and the one before it
/// ends.
static Value getPartStart(NVVMBuilder &builder, TileSchedulerOp source,
                          Value part) {
  Value step = builder.index(*source.getSplitStep());
  Value splits = builder.index(source.getNumSplits());
  Value steps = toIndex(builder, getTiles(builder, source.getReduction(),
                                          *source.getSplitStep()));
  Value before =
      arith::DivUIOp::create(builder, builder.mul(steps, part), splits);
  return builder.mul(before, step);
}

SmallVector<Value> mx::mxgpu::getUnit(NVVMBuilder &builder,
                                      const Problem &problem, Value unit) {
  TileSchedulerOp source = problem.source;
  Value slice = builder.index(0), start = slice, end = source.getReduction();
  if (source.getNumSplits() > 1) {
    Value part;
    if (getParts(source) > 1) {
      part = builder.ctaRank();
    } else {
      part = arith::DivUIOp::create(builder, unit, problem.tiles);
      unit = arith::SubIOp::create(builder, unit,
                                   builder.mul(part, problem.tiles));
    }
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

/// Of groups of a reduction: all have the same tiles.
static SingleWorkTile getWorkTileOfReduction(NVVMBuilder &builder,
                                             TileSchedulerOp source) {
  GroupWorkTile found = findFirstGroupWorkTile(builder, source);
  SingleWorkTile unit;
  for (Value word : found.arguments)
    unit.arguments.push_back(toIndex(builder, word));
  unit.exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                      found.number, builder.i32(-1));
  return unit;
}

SingleWorkTile mx::mxgpu::getSingleWorkTile(NVVMBuilder &builder,
                                            TileSchedulerOp source) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(source);
  if (source.getOverReduction())
    return getWorkTileOfReduction(builder, source);
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

/// Whether the CTAs of a cluster have the same unit.
static bool isOfCluster(Operation *op) {
  return isInPair(op) || getParts(op) > 1;
}

Value mx::mxgpu::getFirstUnit(NVVMBuilder &builder, Operation *op) {
  return isOfCluster(op) ? builder.clusterId() : builder.ctaId();
}

Value mx::mxgpu::getUnitStep(NVVMBuilder &builder, Operation *op) {
  return isOfCluster(op) ? builder.clusterCount() : builder.ctaCount();
}

Value mx::mxgpu::getTiles(NVVMBuilder &builder, Value size, int64_t tile) {
  Value rounded = builder.add(size, builder.index(tile - 1));
  return builder.toI32(
      arith::DivUIOp::create(builder, rounded, builder.index(tile)));
}

Value mx::mxgpu::getNumUnits(NVVMBuilder &builder, TileSchedulerOp source) {
  return getProblem(builder, source).units;
}

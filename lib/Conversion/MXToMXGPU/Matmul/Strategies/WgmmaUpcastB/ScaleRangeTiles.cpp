//===- ScaleRangeTiles.cpp - Which tiles a table of ranges has ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ScaleRangeTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Elements of a row whose scales a tile has, in blocks of 32.
static constexpr int64_t kColumnsOfScaleTile = 32 * kScaleTileBlocks;
static_assert(kColumnsOfScaleTile == kRaggedReductionAlign,
              "segments of a reduction have whole tiles of scales");

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

/// Expert groups of a reduction have a row for each tile, the others have as
/// many as there are tiles of scales.
Value ScaleRangeTiles::allocateTable(KernelBuilder &host,
                                     int64_t columns) const {
  auto getType = [](Value memref) {
    return cast<MemRefType>(memref.getType());
  };
  int64_t size = getType(operand.scales).getDimSize(0);
  Value rows = host.dim(operand.scales, 0);
  if (operand.dividesReduction) {
    int64_t groups = getType(operand.offsets).getDimSize(0);
    bool isKnown =
        !ShapedType::isDynamic(size) && !ShapedType::isDynamic(groups);
    size = isKnown ? size * groups : ShapedType::kDynamic;
    rows = host.mul(rows, host.dim(operand.offsets, 0));
  }
  SmallVector<Value> sizes;
  if (ShapedType::isDynamic(size))
    sizes.push_back(rows);
  return memref::AllocOp::create(
      host, MemRefType::get({size, columns}, host.getI32Type()), sizes);
}

SmallVector<Value> ScaleRangeTiles::getArguments() const {
  SmallVector<Value> arguments = {operand.elements, operand.scales};
  if (operand.offsets)
    arguments.push_back(operand.offsets);
  if (auto rows = dyn_cast_if_present<Value>(operand.matrixRows))
    arguments.push_back(rows);
  return arguments;
}

//===----------------------------------------------------------------------===//
// In the kernel
//===----------------------------------------------------------------------===//

void ScaleRangeTiles::enter(KernelBuilder &body, ValueRange arguments) {
  operand.elements = arguments[0];
  operand.scales = arguments[1];
  if (operand.offsets)
    operand.offsets = arguments[2];
  if (auto rows = dyn_cast_if_present<Attribute>(operand.matrixRows))
    operand.matrixRows = body.index(cast<IntegerAttr>(rows).getInt());
  else if (operand.matrixRows)
    operand.matrixRows = arguments.back();
}

Value ScaleRangeTiles::createScheduler(KernelBuilder &body) const {
  Value one = body.index(1), tiles = body.dim(operand.scales, 0);
  auto raster = RasterAttr::get(body.getContext(), RasterOrder::Linear, 1);
  if (operand.dividesReduction)
    return TileSchedulerOp::create(
        body, tiles, one, body.dim(operand.elements, 1),
        ArrayRef<int64_t>{1, 1}, raster, /*single=*/true,
        /*work_tiles=*/Value(), /*counter=*/Value(), operand.offsets,
        /*stride=*/Value(), /*overReduction=*/true);
  if (hasRowsOfExperts())
    return TileSchedulerOp::create(
        body, body.dim(operand.elements, 0), one, /*reduction=*/body.index(0),
        ArrayRef<int64_t>{kScaleTileRows, 1}, raster, /*single=*/true,
        /*work_tiles=*/Value(), /*counter=*/Value(), operand.offsets);
  return TileSchedulerOp::create(body, tiles, one, /*reduction=*/body.index(0),
                                 ArrayRef<int64_t>{1, 1}, raster);
}

/// Those of one of several matrices, each of which has whole tiles of scales.
void ScaleRangeTiles::setRowsOfMatrix(KernelBuilder &body,
                                      ScaleRangeTile &tile) const {
  Value rows = cast<Value>(operand.matrixRows);
  Value tiles = body.ceilDiv(rows, kScaleTileRows);
  Value matrix = arith::DivUIOp::create(body, tile.scales, tiles);
  Value inMatrix = body.mul(arith::RemUIOp::create(body, tile.scales, tiles),
                            body.index(kScaleTileRows));
  Value first = body.mul(matrix, rows), count = rows;
  if (operand.offsets) {
    Value found = memref::LoadOp::create(body, operand.offsets, matrix);
    found = arith::IndexCastOp::create(body, body.getIndexType(), found);
    count = arith::MinSIOp::create(body, found, rows);
    count = arith::MaxSIOp::create(body, count, body.index(0));
  }
  tile.row = body.add(first, inMatrix);
  tile.rowEnd = body.add(first, count);
}

void ScaleRangeTiles::setRows(KernelBuilder &body, ForEachWorkTileOp workTile,
                              ScaleRangeTile &tile) const {
  if (hasRowsOfExperts()) {
    tile.row = workTile.getStart();
    tile.rowEnd = workTile.getEnd();
    return;
  }
  if (operand.matrixRows)
    return setRowsOfMatrix(body, tile);
  tile.row = body.mul(tile.scales, body.index(kScaleTileRows));
  int64_t rows = cast<MemRefType>(operand.elements.getType()).getDimSize(0);
  if (ShapedType::isDynamic(rows) || rows % kScaleTileRows)
    tile.rowEnd = body.dim(operand.elements, 0);
}

ScaleRangeTile ScaleRangeTiles::getTile(KernelBuilder &body,
                                        ForEachWorkTileOp workTile) const {
  ScaleRangeTile tile;
  tile.scales = workTile.getRow();
  if (hasRowsOfExperts()) // which begin with a tile of their own
    tile.scales = body.add(body.div(workTile.getStart(), kScaleTileRows),
                           workTile.getGroup());
  setRows(body, workTile, tile);
  tile.entry = tile.scales;
  tile.kTile = body.index(0);
  tile.kTilesEnd = body.dim(operand.scales, 1);
  if (operand.dividesReduction) {
    Value end = body.div(workTile.getEnd(), kColumnsOfScaleTile);
    tile.entry = body.add(tile.scales, body.mul(workTile.getGroup(),
                                                body.dim(operand.scales, 0)));
    tile.kTile = body.div(workTile.getStart(), kColumnsOfScaleTile);
    tile.kTilesEnd = arith::MinUIOp::create(body, end, tile.kTilesEnd);
    return tile;
  }
  int64_t columns = cast<MemRefType>(operand.elements.getType()).getDimSize(1);
  if (ShapedType::isDynamic(columns) || columns % kColumnsOfScaleTile)
    tile.columns = body.dim(operand.elements, 1);
  return tile;
}

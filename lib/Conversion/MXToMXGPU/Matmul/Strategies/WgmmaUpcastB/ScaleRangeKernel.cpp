//===- ScaleRangeKernel.cpp - Scale ranges of operand tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA processes the scales of 128 rows. Each of its four warps processes
// every fourth scale tile. A lane processes 16 scales of each tile, which are 4
// blocks of 4 rows. A block of zeros has the smallest scale but must not extend
// the range. The kernel therefore reads the elements of blocks with this scale.
//
// A table row (mxgpu.load_scale_range) describes a tile of 128 operand rows and
// the reduction of a work tile. The rows are aligned to scale tiles. The tile
// depends on the expert groups:
//
//   none            rows of a matrix and the whole reduction
//   reduction       rows of a matrix and one segment, with table rows in the
//                   order of the groups
//   rows            rows of a group, which start anywhere
//   with matrices   rows of one of the stacked matrices
//===----------------------------------------------------------------------===//

#include "F16ScaleRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Warps per CTA, and scale tiles that a lane loads before the first use. Each
/// warp writes a table column.
static constexpr int64_t kRangeWarps = 4, kRangeLoads = 4;
static constexpr int64_t kBlocksOfTile = 4, kRowsOfLane = 4;
static constexpr int64_t kScalesOfLane = kBlocksOfTile * kRowsOfLane;

/// Number of elements of a row per scale tile.
static constexpr int64_t kColumnsOfScaleTile =
    kPowerOfTwoBlockSize * kScaleTileBlocks;
static_assert(kColumnsOfScaleTile == kRaggedReductionAlign,
              "segments of a reduction have whole tiles of scales");

namespace {

/// Work of a CTA.
struct ScaleRangeTile {
  mlir::Value entry;            ///< table row
  mlir::Value scales;           ///< scale tile
  mlir::Value row, rowEnd;      ///< element rows, end null if all 128 exist
  mlir::Value kTile, kTilesEnd; ///< reduction, in scale tiles
  mlir::Value columns;          ///< reduction size, null if tiles are whole
};

/// Tiles of an operand. Its scales have the shape row tile x reduction tile x
/// scale in tile.
class ScaleRangeTiles {
public:
  explicit ScaleRangeTiles(const ScaleRangeOperand &operand)
      : operand(operand) {}

  // Host code.

  /// Allocates a table with `columns` entries per row. The caller frees it.
  mlir::Value allocateTable(KernelBuilder &host, int64_t columns) const;
  llvm::SmallVector<mlir::Value> getArguments() const;

  // Kernel code, in a kernel with the arguments of getArguments.

  void enter(KernelBuilder &body, mlir::ValueRange arguments);
  /// Creates the scheduler, which assigns a CTA to each tile.
  mlir::Value createScheduler(KernelBuilder &body) const;
  ScaleRangeTile getTile(KernelBuilder &body, ForEachWorkTileOp workTile) const;

private:
  bool hasRowsOfExperts() const {
    return operand.offsets && !operand.matrixRows && !operand.dividesReduction;
  }
  void setRows(KernelBuilder &body, ForEachWorkTileOp workTile,
               ScaleRangeTile &tile) const;
  void setRowsOfMatrix(KernelBuilder &body, ScaleRangeTile &tile) const;

  ScaleRangeOperand operand;
};

class ScaleRangeKernel {
public:
  ScaleRangeKernel(KernelOp kernel, KernelBuilder &body, ScaleRangeTiles tiles)
      : body(body), tiles(std::move(tiles)),
        elements(kernel.getBody().getArgument(0)),
        scales(kernel.getBody().getArgument(1)),
        table(kernel.getBody().getArguments().back()),
        bytes(VectorType::get({kScalesOfLane}, body.getI8Type())) {}

  void build();

private:
  /// Values that a lane accumulates: the maximum of its scales, and the minimum
  /// and maximum of its scales minus 1. The subtraction wraps 0 to 255.
  using Seen = SmallVector<Value>;

  Value number(int64_t value) {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  }
  Value splat(int64_t value) {
    return arith::ConstantOp::create(
        body,
        DenseElementsAttr::get(
            bytes,
            body.getI8IntegerAttr(static_cast<int8_t>(value)).getValue()));
  }
  Value reduce(vector::CombiningKind kind, Value numbers) {
    return arith::ExtUIOp::create(
        body, body.getI32Type(),
        vector::ReductionOp::create(body, kind, numbers));
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, a, b);
  }
  Value getRow(Value ofLane);
  Value getMask(ArrayRef<Value> words);
  Value getRowsPresent();
  Value getBlocksPresent(Value kTile);
  Value getPresent(Value kTile);
  Value loadScales(Value kTile);
  Seen look(Seen seen, Value loaded, Value present);
  Value getTileOfLoad(Value first, Value load);
  Seen lookAtSome(Seen seen, Value first);
  Seen lookAtAll();
  Value hasZero(const Seen &seen);
  Value isZero(Value row, Value column);
  Value findNumbers(Value kTile);
  Value findNumbersInSome(Value first);

  KernelBuilder &body;
  ScaleRangeTiles tiles;
  Value elements, scales, table;
  VectorType bytes;
  ScaleRangeTile tile;
  Value warp, lane;
  /// Byte mask of the lane's existing rows, or null if all exist.
  Value rowsPresent;
};

} // namespace

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

/// Allocates a table row for each row tile of the scales, or for each tile of
/// each expert group if groups divide the reduction.
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
// Kernel
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
  return body.scheduleTiles(tiles, one, {1, 1});
}

/// Sets the rows of a stacked matrix. Matrices occupy whole scale tiles.
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
  if (hasRowsOfExperts()) // the scales of each group start a new tile
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

//===----------------------------------------------------------------------===//
// Scales of a tile
//===----------------------------------------------------------------------===//

/// Returns the element row for index `ofLane` of the lane's rows.
Value ScaleRangeKernel::getRow(Value ofLane) {
  return body.add(tile.row, body.add(body.mul(ofLane, body.index(32)), lane));
}

/// Converts a mask word for each of the lane's rows to a mask of scale bytes.
Value ScaleRangeKernel::getMask(ArrayRef<Value> words) {
  Value vector = vector::FromElementsOp::create(
      body, VectorType::get({kRowsOfLane}, body.getI32Type()), words);
  return vector::BitCastOp::create(body, bytes, vector);
}

Value ScaleRangeKernel::getRowsPresent() {
  if (!tile.rowEnd)
    return {};
  SmallVector<Value> words;
  for (int64_t i = 0; i < kRowsOfLane; ++i)
    words.push_back(arith::SelectOp::create(
        body, isBelow(getRow(body.index(i)), tile.rowEnd), number(-1),
        number(0)));
  return getMask(words);
}

/// Returns the byte mask of a tile's existing blocks, or null if all exist.
Value ScaleRangeKernel::getBlocksPresent(Value kTile) {
  if (!tile.columns)
    return {};
  Value before = body.mul(kTile, body.index(kBlocksOfTile));
  Value left = arith::SubIOp::create(
      body, body.div(tile.columns, kPowerOfTwoBlockSize), before);
  Value bits = body.mul(
      arith::MinUIOp::create(body, left, body.index(kBlocksOfTile - 1)),
      body.index(8));
  Value some = arith::ShLIOp::create(
      body, number(1),
      arith::IndexCastOp::create(body, body.getI32Type(), bits));
  Value word = arith::SelectOp::create(
      body, isBelow(left, body.index(kBlocksOfTile)),
      arith::SubIOp::create(body, some, number(1)), number(-1));
  return getMask(SmallVector<Value>(kRowsOfLane, word));
}

/// Returns the byte mask of the existing scales, or null if all exist.
Value ScaleRangeKernel::getPresent(Value kTile) {
  Value blocks = getBlocksPresent(kTile);
  if (!blocks || !rowsPresent)
    return blocks ? blocks : rowsPresent;
  return arith::AndIOp::create(body, rowsPresent, blocks);
}

Value ScaleRangeKernel::loadScales(Value kTile) {
  auto type = VectorType::get(
      {kScalesOfLane}, cast<MemRefType>(scales.getType()).getElementType());
  Value first = body.mul(lane, body.index(kScalesOfLane));
  return arith::BitcastOp::create(
      body, bytes,
      vector::LoadOp::create(body, type, scales,
                             ValueRange{tile.scales, kTile, first}));
}

ScaleRangeKernel::Seen ScaleRangeKernel::look(Seen seen, Value loaded,
                                              Value present) {
  Value less = arith::SubIOp::create(body, loaded, splat(1)), least = less;
  if (present) {
    loaded = arith::AndIOp::create(body, loaded, present);
    least = arith::OrIOp::create(
        body, less, arith::XOrIOp::create(body, present, splat(255)));
    less = arith::AndIOp::create(body, less, present);
  }
  return {arith::MaxUIOp::create(body, seen[0], loaded),
          arith::MinUIOp::create(body, seen[1], least),
          arith::MaxUIOp::create(body, seen[2], less)};
}

Value ScaleRangeKernel::hasZero(const Seen &seen) {
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                               reduce(vector::CombiningKind::MAXUI, seen[2]),
                               number(255));
}

/// Returns the scale tile of a warp's load `load`, clamped to the last tile.
Value ScaleRangeKernel::getTileOfLoad(Value first, Value load) {
  Value kTile = body.add(first, body.mul(load, body.index(kRangeWarps)));
  return arith::MinUIOp::create(body, kTile, body.add(tile.kTilesEnd, -1));
}

ScaleRangeKernel::Seen ScaleRangeKernel::lookAtSome(Seen seen, Value first) {
  SmallVector<Value> kTiles, loaded;
  for (int64_t i = 0; i < kRangeLoads; ++i) {
    kTiles.push_back(getTileOfLoad(first, body.index(i)));
    loaded.push_back(loadScales(kTiles.back()));
  }
  for (auto [kTile, each] : llvm::zip(kTiles, loaded))
    seen = look(seen, each, getPresent(kTile));
  return seen;
}

ScaleRangeKernel::Seen ScaleRangeKernel::lookAtAll() {
  OpBuilder::InsertionGuard guard(body);
  Seen seen = {splat(0), splat(255), splat(0)};
  auto loop =
      scf::ForOp::create(body, body.add(tile.kTile, warp), tile.kTilesEnd,
                         body.index(kRangeWarps * kRangeLoads), seen);
  body.setInsertionPointToStart(loop.getBody());
  seen.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  scf::YieldOp::create(body, lookAtSome(seen, loop.getInductionVar()));
  return Seen(loop.getResults());
}

/// Tests whether 16 elements are +0, -0 or missing (loaded as zeros).
Value ScaleRangeKernel::isZero(Value row, Value column) {
  auto type = cast<MemRefType>(elements.getType()).getElementType();
  Value codes = LoadBlockOp::create(
      body, VectorType::get({kScalesOfLane}, type), elements, row, column);
  Value magnitudes = arith::AndIOp::create(
      body, arith::BitcastOp::create(body, bytes, codes), splat(0x7F));
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                               reduce(vector::CombiningKind::OR, magnitudes),
                               number(0));
}

/// Returns 255 if a lane's scale in a tile is 0 and the block of this scale
/// contains nonzero elements. Returns 0 otherwise.
Value ScaleRangeKernel::findNumbers(Value kTile) {
  OpBuilder::InsertionGuard guard(body);
  auto loop = scf::ForOp::create(body, body.index(0), body.index(kScalesOfLane),
                                 body.index(1), ValueRange{number(0)});
  body.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  Value place = body.add(body.mul(lane, body.index(kScalesOfLane)), i);
  Value scale = memref::LoadOp::create(body, scales,
                                       ValueRange{tile.scales, kTile, place});
  Value code = arith::BitcastOp::create(body, body.getI8Type(), scale);
  Value isLeast = arith::CmpIOp::create(
      body, arith::CmpIPredicate::eq, code,
      arith::ConstantOp::create(body, body.getI8IntegerAttr(0)));
  auto ifLeast =
      scf::IfOp::create(body, TypeRange{body.getI32Type()}, isLeast, true);
  {
    OpBuilder::InsertionGuard inIf(body);
    body.setInsertionPointToStart(ifLeast.thenBlock());
    Value row = getRow(body.div(i, kBlocksOfTile));
    if (tile.rowEnd) // move missing rows past the last row, to load zeros
      row = arith::SelectOp::create(body, isBelow(row, tile.rowEnd), row,
                                    body.dim(elements, 0));
    Value block =
        body.add(body.mul(kTile, body.index(kBlocksOfTile)),
                 arith::RemUIOp::create(body, i, body.index(kBlocksOfTile)));
    Value column = body.mul(block, body.index(kPowerOfTwoBlockSize));
    Value zero =
        arith::AndIOp::create(body, isZero(row, column),
                              isZero(row, body.add(column, kScalesOfLane)));
    scf::YieldOp::create(
        body, arith::SelectOp::create(body, zero, number(0), number(255))
                  .getResult());
    body.setInsertionPointToStart(ifLeast.elseBlock());
    scf::YieldOp::create(body, number(0));
  }
  scf::YieldOp::create(body,
                       arith::MaxUIOp::create(body, loop.getRegionIterArgs()[0],
                                              ifLeast.getResult(0))
                           .getResult());
  return loop.getResult(0);
}

/// Applies findNumbers to the kRangeLoads tiles of a warp, starting at `first`.
/// Reads elements only if the lane finds a scale of 0.
Value ScaleRangeKernel::findNumbersInSome(Value first) {
  OpBuilder::InsertionGuard guard(body);
  Seen seen = lookAtSome({splat(0), splat(255), splat(0)}, first);
  auto ifZero = scf::IfOp::create(body, TypeRange{body.getI32Type()},
                                  hasZero(seen), true);
  body.setInsertionPointToStart(ifZero.elseBlock());
  scf::YieldOp::create(body, number(0));
  body.setInsertionPointToStart(ifZero.thenBlock());
  auto loop = scf::ForOp::create(body, body.index(0), body.index(kRangeLoads),
                                 body.index(1), ValueRange{number(0)});
  scf::YieldOp::create(body, loop.getResult(0));
  body.setInsertionPointToStart(loop.getBody());
  Value found = findNumbers(getTileOfLoad(first, loop.getInductionVar()));
  scf::YieldOp::create(
      body, arith::MaxUIOp::create(body, loop.getRegionIterArgs()[0], found)
                .getResult());
  return ifZero.getResult(0);
}

void ScaleRangeKernel::build() {
  Value work = tiles.createScheduler(body);
  body.role("scale_range", kRangeWarps, /*elected=*/false);
  std::tie(warp, lane) = body.warpAndLane();
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  tile = tiles.getTile(body, workTile);
  rowsPresent = getRowsPresent();
  Seen seen = lookAtAll();
  Value most = reduce(vector::CombiningKind::MAXUI, seen[0]);
  Value least = reduce(vector::CombiningKind::MINUI, seen[1]);
  // 255 minus the smallest nonzero scale, or 0 if all scales are 0.
  Value rest = arith::SubIOp::create(body, number(254), least);
  rest = arith::MaxSIOp::create(body, rest, number(0));
  auto ifZero = scf::IfOp::create(body, TypeRange{body.getI32Type()},
                                  hasZero(seen), true);
  {
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(ifZero.thenBlock());
    auto loop = scf::ForOp::create(
        body, body.add(tile.kTile, warp), tile.kTilesEnd,
        body.index(kRangeWarps * kRangeLoads), ValueRange{rest});
    {
      OpBuilder::InsertionGuard inLoop(body);
      body.setInsertionPointToStart(loop.getBody());
      Value found = findNumbersInSome(loop.getInductionVar());
      scf::YieldOp::create(
          body, arith::MaxUIOp::create(body, loop.getRegionIterArgs()[0], found)
                    .getResult());
    }
    scf::YieldOp::create(body, loop.getResult(0));
    body.setInsertionPointToStart(ifZero.elseBlock());
    scf::YieldOp::create(body, rest);
  }
  most = body.warpMax(most);
  rest = body.warpMax(ifZero.getResult(0));
  Value both = arith::OrIOp::create(
      body, arith::ShLIOp::create(body, most, number(16)), rest);
  auto first =
      scf::IfOp::create(body, isBelow(lane, body.index(1)), /*withElse=*/false);
  body.setInsertionPointToStart(first.thenBlock());
  memref::StoreOp::create(body, both, table, ValueRange{tile.entry, warp});
}

Value mx::mxgpu::findScaleRanges(KernelBuilder &host, gpu::GPUModuleOp module,
                                 ScaleRangeOperand operand) {
  operand.scales = memref::CollapseShapeOp::create(
      host, operand.scales,
      ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
  ScaleRangeTiles tiles(operand);
  Value table = tiles.allocateTable(host, kRangeWarps);
  SmallVector<Value> arguments = tiles.getArguments();
  arguments.push_back(table);
  KernelOp kernel =
      host.kernel(module, "scale_range", ValueRange(arguments).getTypes());
  KernelBuilder body(host.getLoc(), host.getContext());
  body.setInsertionPointToStart(&kernel.getBody().front());
  tiles.enter(body, kernel.getBody().getArguments().drop_back());
  ScaleRangeKernel(kernel, body, tiles).build();
  host.launch(kernel, host.dim(table, 0), arguments);
  return table;
}

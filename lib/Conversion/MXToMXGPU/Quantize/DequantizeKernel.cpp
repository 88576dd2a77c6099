//===- DequantizeKernel.cpp - Kernels that write numbers as bf16 ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// As quantizers along rows (QuantizeKernel.cpp): threads hold pieces of rows,
// all of which they load before they use the first, and no memory is shared.
// mx.permute_reduction has the same kernel, whose lanes exchange elements
// before they store them. Two mx.dequantize that follow each other, as those of
// both operands of a product, are one kernel: the tiles of the second come
// after those of the first.
//
//===----------------------------------------------------------------------===//

#include "../KernelBuilder.h"
#include "QuantizeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/ReductionOrder.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

/// Pieces of a thread that are loaded before the first is used, where rows of a
/// tile may be missing.
static constexpr int64_t kPieces = 4;

std::optional<DequantizeOperands> DequantizeOperands::get(Operation *op) {
  if (auto dequantize = dyn_cast<DequantizeOp>(op))
    return DequantizeOperands{op,
                              dequantize.getInput(),
                              dequantize.getScales(),
                              dequantize.getGlobalScale(),
                              dequantize.getOffsets(),
                              dequantize.getOuts()[0],
                              int64_t(dequantize.getBlockSize()),
                              /*isPermuted=*/false};
  if (auto permute = dyn_cast<PermuteReductionOp>(op))
    return DequantizeOperands{op,
                              permute.getInput(),
                              permute.getScales(),
                              /*globalScale=*/Value(),
                              permute.getOffsets(),
                              permute.getOuts()[0],
                              int64_t(permute.getBlockSize()),
                              /*isPermuted=*/true};
  return std::nullopt;
}

namespace {

/// What a kernel dequantizes, on the host and in the kernel.
class DequantizedTensor {
public:
  DequantizedTensor(DequantizeOperands operands, QuantizeScheduleAttr schedule,
                    KernelBuilder &host, KernelBuilder &body)
      : operands(operands), schedule(schedule), host(host), body(body),
        batch(cast<MemRefType>(operands.input.getType()).getRank() - 2) {}

  void checkSizes();
  /// Tiles of rows: of all groups, whatever their sizes, or of all matrices.
  Value getRowTiles();
  Value getColumnTiles();
  void addArguments(SmallVectorImpl<Value> &arguments);

  // In the kernel.
  void takeArguments(Block::args_iterator &next);
  /// Rows that whole tiles have.
  Value getWorkRows();
  Value getRows() { return body.dim(out, 0); }
  Value getColumns() { return body.dim(out, 1); }
  Value getOffsets() { return offsets; }
  /// All that a CTA does of the tile that begins at `row` of these rows.
  void buildTile(TileThreads threads, ForEachWorkTileOp tile, Value row);

private:
  /// Where the tile of a CTA begins among the rows of elements and of scales,
  /// and where its elements end; null if where they all end.
  struct TileRows {
    Value elements, scales, end;
  };

  bool isTiled() {
    return operands.scales &&
           isMaterialized(cast<MemRefType>(operands.scales.getType()),
                          batch + 2);
  }
  int64_t getTileRows() { return schedule.getTile()[0]; }
  Value getBatchSize();
  Value roundUpRows(int64_t multiple);
  Value getScaleRow(ForEachWorkTileOp tile);
  int64_t getRun();
  Value getPermutedColumn(Value column);
  TileRows getTileRows(ForEachWorkTileOp tile, Value row);
  /// The pieces of such rows of it, `step` apart, that a thread has.
  void buildPieces(const TileRows &first, ArrayRef<int64_t> rows, Value column);

  DequantizeOperands operands;
  QuantizeScheduleAttr schedule;
  KernelBuilder &host, &body;
  int64_t batch; ///< dimensions before the matrix
  /// In the kernel. Of a batch the rows of a matrix, and how many there are.
  Value input, scales, out, decode, offsets, rows, batches;
};

} // namespace

void DequantizedTensor::checkSizes() {
  host.requireGroups(operands.offsets);
  Value input = operands.input, scales = operands.scales, out = operands.out;
  for (int64_t dim = 0; dim < batch + 2; ++dim)
    host.requireSize(host.dim(input, dim), host.dim(out, dim),
                     "dimension " + Twine(dim) + " of input");
  Value rows = host.dim(out, batch), columns = host.dim(out, batch + 1);
  host.requireMultiple(
      columns, operands.isPermuted ? kReductionMultiple : operands.blockSize,
      "dimension " + Twine(batch + 1) + " of input");
  if (scales) {
    for (int64_t dim = 0; dim < batch; ++dim)
      host.requireSize(host.dim(scales, dim), host.dim(out, dim),
                       "dimension " + Twine(dim) + " of scales");
    Value rowTiles;
    if (operands.offsets)
      rowTiles = host.packedTiles(rows, kScaleTileRows, operands.offsets);
    requireScaleSizes(host, scales, rows, columns, operands.blockSize, rowTiles,
                      "scales", batch);
  }
  auto type = cast<MemRefType>(input.getType());
  if (!type.getLayout().isIdentity())
    requireRows(host, input, schedule.getVector(), kLoadBytes, "the input");
}

Value DequantizedTensor::getBatchSize() {
  Value size = host.dim(operands.input, 0);
  for (int64_t dim = 1; dim < batch; ++dim)
    size = host.mul(size, host.dim(operands.input, dim));
  return size;
}

Value DequantizedTensor::getRowTiles() {
  Value rows = host.dim(operands.out, batch);
  if (operands.offsets)
    return host.packedTiles(rows, getTileRows(), operands.offsets);
  Value tiles = host.ceilDiv(rows, getTileRows());
  return batch ? host.mul(getBatchSize(), tiles) : tiles;
}

Value DequantizedTensor::getColumnTiles() {
  return host.ceilDiv(host.dim(operands.out, batch + 1), schedule.getTile()[1]);
}

/// Stacked matrices are one. With scales in tiles each has its own, so that the
/// kernel is told where they begin.
void DequantizedTensor::addArguments(SmallVectorImpl<Value> &arguments) {
  for (Value value :
       {toBytes(host, operands.input), operands.scales, operands.out})
    if (value)
      arguments.push_back(collapseLeading(host, value, batch + 1));
  if (Value scale = operands.globalScale)
    arguments.push_back(scale);
  if (Value offsets = operands.offsets)
    arguments.push_back(offsets);
  if (batch)
    llvm::append_values(arguments, host.dim(operands.input, batch),
                        getBatchSize());
}

void DequantizedTensor::takeArguments(Block::args_iterator &next) {
  input = *next++;
  if (operands.scales)
    scales = *next++;
  out = *next++;
  if (operands.globalScale)
    decode = *next++;
  if (operands.offsets)
    offsets = *next++;
  if (batch) {
    rows = *next++;
    batches = *next++;
  }
}

/// The rows of a matrix rounded up to a multiple.
Value DequantizedTensor::roundUpRows(int64_t multiple) {
  return body.mul(body.ceilDiv(batch ? rows : getRows(), multiple),
                  body.index(multiple));
}

Value DequantizedTensor::getWorkRows() {
  Value whole = roundUpRows(getTileRows());
  return batch ? body.mul(whole, batches) : whole;
}

/// Where the scales of a group's rows lie (docs/Spec.md, Groups).
Value DequantizedTensor::getScaleRow(ForEachWorkTileOp tile) {
  if (!isTiled())
    return tile.getStart();
  Value scaleTile = body.div(tile.getStart(), kScaleTileRows);
  return body.mul(body.add(scaleTile, tile.getGroup()),
                  body.index(kScaleTileRows));
}

/// The matrices of a batch lie below each other, each with whole tiles, also of
/// scales.
DequantizedTensor::TileRows
DequantizedTensor::getTileRows(ForEachWorkTileOp tile, Value row) {
  if (offsets)
    return {tile.getStart(), getScaleRow(tile), tile.getEnd()};
  if (!batches)
    return {row, row, Value()};
  Value padded = roundUpRows(getTileRows());
  Value matrix = arith::DivUIOp::create(body, row, padded);
  Value inMatrix = arith::RemUIOp::create(body, row, padded);
  Value first = body.mul(matrix, rows);
  Value elements = body.add(first, inMatrix), scaleRow = elements;
  if (isTiled())
    scaleRow =
        body.add(body.mul(matrix, roundUpRows(kScaleTileRows)), inMatrix);
  return {elements, scaleRow, body.add(first, rows)};
}

int64_t DequantizedTensor::getRun() {
  return getReductionRun(
      cast<MemRefType>(operands.out.getType()).getShape().back());
}

/// Where the elements lie that mxgpu.permute_block gives the thread that has
/// loaded those from `column` on: of runs that two lanes have, first those of
/// all first lanes.
Value DequantizedTensor::getPermutedColumn(Value column) {
  int64_t run = getRun(), block = run * kReductionLanes, half = run / 2;
  if (run == schedule.getVector())
    return column;
  Value in = arith::RemUIOp::create(body, column, body.index(block));
  Value lane = body.div(in, run);
  Value isSecond =
      body.div(arith::RemUIOp::create(body, in, body.index(run)), half);
  Value place = body.mul(isSecond, body.index(block / 2));
  place = body.add(place, body.mul(lane, body.index(half)));
  return body.add(arith::SubIOp::create(body, column, in), place);
}

void DequantizedTensor::buildPieces(const TileRows &first,
                                    ArrayRef<int64_t> rows, Value column) {
  int64_t vector = schedule.getVector();
  auto inputType =
      VectorType::get(vector, getElementTypeOrSelf(operands.input.getType()));
  auto outType = VectorType::get(vector, getElementTypeOrSelf(out.getType()));
  Value block = body.div(column, operands.blockSize);
  struct Piece {
    Value row, codes, scale;
  };
  SmallVector<Piece> pieces;
  for (int64_t i : rows) {
    Value row = body.add(first.elements, i);
    // A row past the end counts as past all rows, where there are no elements.
    if (first.end)
      row = arith::SelectOp::create(
          body,
          arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row,
                                first.end),
          row, getRows());
    Value codes = LoadBlockOp::create(body, inputType, input, row, column);
    Value scale;
    if (scales)
      scale = LoadScaleOp::create(body, getElementTypeOrSelf(scales.getType()),
                                  scales, body.add(first.scales, i), block);
    pieces.push_back({row, codes, scale});
  }
  Value place = operands.isPermuted ? getPermutedColumn(column) : column;
  for (const Piece &piece : pieces) {
    Value numbers = piece.codes;
    if (piece.scale)
      numbers = DequantizeBlockOp::create(body, outType, piece.codes,
                                          piece.scale, decode);
    if (operands.isPermuted)
      numbers =
          PermuteBlockOp::create(body, numbers.getType(), numbers, getRun());
    StoreBlockOp::create(body, numbers, out, piece.row, place);
  }
}

void DequantizedTensor::buildTile(TileThreads threads, ForEachWorkTileOp tile,
                                  Value row) {
  TileRows first = getTileRows(tile, row);
  Value begin = first.elements;
  first.elements = body.add(first.elements, threads.row);
  first.scales = body.add(first.scales, threads.row);
  Value column = body.add(tile.getColumn(), threads.column);
  SmallVector<int64_t> rows;
  for (int64_t i = 0; i < getTileRows(); i += threads.step)
    rows.push_back(i);
  int64_t passes = static_cast<int64_t>(rows.size()) / kPieces;
  if (!offsets || passes <= 1)
    return buildPieces(first, rows, column);
  // A group may have few rows of its tile.
  OpBuilder::InsertionGuard guard(body);
  Value present = arith::SubIOp::create(body, first.end, begin);
  auto loop = scf::ForOp::create(
      body, body.index(0),
      arith::MinUIOp::create(body, present, body.index(getTileRows())),
      body.index(kPieces * threads.step));
  body.setInsertionPointToStart(loop.getBody());
  first.elements = body.add(first.elements, loop.getInductionVar());
  first.scales = body.add(first.scales, loop.getInductionVar());
  buildPieces(first, ArrayRef(rows).take_front(kPieces), column);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Of one tensor, or of two, neither of which has groups.
static void buildBody(KernelBuilder &body, QuantizeScheduleAttr schedule,
                      MutableArrayRef<DequantizedTensor> tensors) {
  DequantizedTensor &first = tensors.front();
  bool isPair = tensors.size() > 1;
  // Groups have whole tiles of their own.
  Value firstRows = first.getOffsets() ? first.getRows() : first.getWorkRows();
  Value workRows =
      isPair ? body.add(firstRows, tensors[1].getWorkRows()) : firstRows;
  Value work = TileSchedulerOp::create(body, workRows, first.getColumns(),
                                       schedule.getTile(), schedule.getRaster(),
                                       /*single=*/true, /*workTiles=*/Value(),
                                       /*counter=*/Value(), first.getOffsets());
  body.role("dequantize", schedule.getThreads() / target::kWarpSize,
            /*elected=*/false);
  auto threads = TileThreads::get(body, schedule.getThreads(),
                                  schedule.getTile()[1], schedule.getVector());
  ForEachWorkTileOp tile = body.forEachWorkTile(work);
  if (!isPair)
    return first.buildTile(threads, tile, tile.getRow());
  Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::ult,
                                        tile.getRow(), firstRows);
  auto ifOp = scf::IfOp::create(body, isFirst, /*withElseRegion=*/true);
  body.setInsertionPointToStart(ifOp.thenBlock());
  first.buildTile(threads, tile, tile.getRow());
  body.setInsertionPointToStart(ifOp.elseBlock());
  tensors[1].buildTile(threads, tile,
                       arith::SubIOp::create(body, tile.getRow(), firstRows));
}

static void buildKernel(ArrayRef<DequantizeOperands> all,
                        QuantizeScheduleAttr schedule,
                        gpu::GPUModuleOp module) {
  const DequantizeOperands &last = all.back();
  KernelBuilder host(last.op->getLoc(), last.op);
  KernelBuilder body(last.op->getLoc(), host.getContext());
  SmallVector<DequantizedTensor, 2> tensors;
  SmallVector<Value> arguments;
  Value rowTiles;
  for (const DequantizeOperands &operands : all) {
    DequantizedTensor &tensor =
        tensors.emplace_back(operands, schedule, host, body);
    tensor.checkSizes();
    tensor.addArguments(arguments);
    Value tiles = tensor.getRowTiles();
    rowTiles = rowTiles ? host.add(rowTiles, tiles) : tiles;
  }
  KernelOp kernel =
      host.kernel(module, last.isPermuted ? "permute_reduction" : "dequantize",
                  ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(schedule.getCtas());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  // It may be launched while kernels before it end.
  WaitDependenciesOp::create(body);
  Block::args_iterator next = entry.args_begin();
  for (DequantizedTensor &tensor : tensors)
    tensor.takeArguments(next);
  buildBody(body, schedule, tensors);
  host.launch(kernel, host.mul(rowTiles, tensors.front().getColumnTiles()),
              arguments);
  for (const DequantizeOperands &operands : all)
    operands.op->erase();
}

//===----------------------------------------------------------------------===//
// Which operations
//===----------------------------------------------------------------------===//

static QuantizeScheduleAttr getSchedule(const DequantizeOperands &operands) {
  auto schedule = operands.op->getAttrOfType<QuantizeScheduleAttr>(
      kQuantizeScheduleAttrName);
  return schedule ? schedule : selectDequantizeSchedule(operands);
}

/// The next operation if it can be part of the kernel of `first`: it has tiles
/// of as many columns, and needs nothing that is between them.
static std::optional<DequantizeOperands>
findSecond(const DequantizeOperands &first) {
  Operation *next = first.op->getNextNode();
  while (isa_and_present<memref::AllocOp>(next) ||
         (next && !isa<DequantizeOp>(next) && isMemoryEffectFree(next)))
    next = next->getNextNode();
  if (!isa_and_present<DequantizeOp>(next))
    return std::nullopt;
  DequantizeOperands second = *DequantizeOperands::get(next);
  if (first.isPermuted || first.offsets || second.offsets ||
      getSchedule(first) != getSchedule(second))
    return std::nullopt;
  auto getColumns = [](Value out) {
    return cast<MemRefType>(out.getType()).getShape().back();
  };
  int64_t columns = getColumns(first.out);
  if (ShapedType::isDynamic(columns) || columns != getColumns(second.out) ||
      !first.out.getDefiningOp<memref::AllocOp>() ||
      llvm::is_contained(next->getOperands(), first.out))
    return std::nullopt;
  return second;
}

LogicalResult
mx::mxgpu::convertDequantize(DequantizeOperands operands,
                             gpu::GPUModuleOp module,
                             llvm::SmallPtrSetImpl<Operation *> &done) {
  QuantizeScheduleAttr schedule = getSchedule(operands);
  if (failed(verifyDequantizeSupport(operands, schedule)))
    return failure();
  SmallVector<DequantizeOperands, 2> all = {operands};
  if (std::optional<DequantizeOperands> second = findSecond(operands)) {
    if (failed(verifyDequantizeSupport(*second, schedule)))
      return failure();
    done.insert(second->op);
    all.push_back(*second);
  }
  buildKernel(all, schedule, module);
  return success();
}

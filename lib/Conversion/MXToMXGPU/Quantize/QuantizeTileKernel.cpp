//===- QuantizeTileKernel.cpp - Quantizer kernel through shared memory ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work tiles are input tiles. A single thread loads a tile with bulk copies, as
// a whole or in slabs of rows. A role for each axis reads the tile by rows or
// columns and writes elements and scales to shared memory, and bulk copies
// store them. Elements outside the tensor are read as zeros with scale 0 and
// are not written. Scale tiles are written whole.
//
// With a prologue or gather, threads instead of bulk copies fill the tiles
// (QuantizeTileStore.cpp). Each expert group starts a new tile. The rows of the
// next group are read as zeros, which also pad transposed groups.
//===----------------------------------------------------------------------===//

#include "QuantizeTile.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Stages, and bytes per stage, of the ring that broadcasts the next work tile
/// to the roles of a CTA.
static constexpr int64_t kCounterStages = 2, kCounterBytes = 16;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

static RingType getRing(ArrayRef<StringAttr> names,
                        ArrayRef<BufferType> buffers, int64_t stages,
                        AsyncKind producer, int64_t producers,
                        AsyncKind consumer, int64_t consumers) {
  return RingType::get(buffers[0].getContext(), stages, names, buffers,
                       producer, producers, consumer, consumers, Scope::Cta,
                       /*overlap=*/0);
}

/// Returns the buffer of a slab. A slab consists of adjacent panels. A panel is
/// as wide as a line of shared memory.
BufferType QuantizeTileBuilder::getSlabBuffer(Type type) {
  int64_t columns = getPanelColumns(type);
  return getBuffer({getColumns() / columns, getRowsPerStage(), columns}, type,
                   mxgpu::Swizzle::Sw128);
}

RingType QuantizeTileBuilder::getInputRing() {
  SmallVector<StringAttr> names;
  SmallVector<BufferType> buffers;
  for (auto [i, type] : llvm::enumerate(types)) {
    names.push_back(host.getStringAttr(getField(i)));
    buffers.push_back(getSlabBuffer(type));
  }
  bool produced = isProduced();
  return getRing(names, buffers, schedule.getStages(),
                 produced ? AsyncKind::Threads : AsyncKind::BulkCopy,
                 produced ? getProducingThreads() : 1, AsyncKind::Threads,
                 getReaders());
}

/// Returns the ring of prologue inputs, from bulk copies to computing threads.
RingType QuantizeTileBuilder::getSourceRing() {
  SmallVector<StringAttr> names;
  SmallVector<BufferType> buffers;
  for (const Copied &matrix : copied) {
    names.push_back(host.getStringAttr(matrix.field));
    buffers.push_back(getSlabBuffer(matrix.type));
  }
  return getRing(names, buffers, schedule.getInputStages(), AsyncKind::BulkCopy,
                 1, AsyncKind::Threads, getProducingThreads());
}

/// Creates the ring of the outputs of an axis that are stored by slab or by
/// tile. Returns null if there are no such outputs.
Value QuantizeTileBuilder::createOutputRing(int64_t axis, bool ofSlabs) {
  SmallVector<StringAttr> names;
  SmallVector<BufferType> buffers;
  auto add = [&](const std::string &name, BufferType buffer) {
    names.push_back(host.getStringAttr(name));
    buffers.push_back(buffer);
  };
  auto ofAxis = llvm::make_filter_range(
      destinations, [&](const Destination &dest) { return dest.axis == axis; });
  for (const Destination &dest : ofAxis) {
    if (isBySlabs(dest) != ofSlabs)
      continue;
    auto map = cast<TensorMapType>(dest.map.getType());
    SmallVector<int64_t> shape{dest.rows, map.getBox().back()};
    if (dest.panels > 1)
      shape.insert(shape.begin(), dest.panels);
    add(dest.getElementBuffer(),
        getBuffer(shape, map.getElementType(), map.getSwizzle()));
  }
  // Add all elements before all scales. Elements are aligned to the swizzle
  // period, so scales between the elements of two values would need padding.
  for (const Destination &dest : ofAxis)
    if (!ofSlabs && dest.isStaged())
      add(dest.getScaleBuffer(),
          getBuffer(
              {dest.scaleTileRows, dest.scaleTileColumns, kScaleTileBytes},
              dest.scaleType, mxgpu::Swizzle::None));
  if (names.empty())
    return Value();
  RingType type = getRing(names, buffers, /*stages=*/1, AsyncKind::Threads,
                          getAxisThreads(), AsyncKind::BulkStore, 1);
  if (ofSlabs)
    return body.ring(type, axis ? "slabs" : "column_slabs");
  return body.ring(type, axis ? "rows" : "columns");
}

RingType QuantizeTileBuilder::getNumberRing() {
  return getRing(
      host.getStringAttr("work_tile"),
      getBuffer({kCounterBytes}, host.getI8Type(), mxgpu::Swizzle::None),
      kCounterStages, AsyncKind::AtomicCounter, 1, AsyncKind::Roles, 1);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Creates a loop over slabs if a tile has several. Returns the first row of
/// the slab in its tile.
Value QuantizeTileBuilder::forEachSlab() {
  if (getRows() == getRowsPerStage())
    return body.index(0);
  return body.forEachK(body.index(0), body.index(getRows()), getRowsPerStage())
      .getK();
}

/// Creates the loop over tiles. The matrices of a batch are stacked, and each
/// occupies whole tiles.
ForEachWorkTileOp QuantizeTileBuilder::forEachTile() {
  ForEachWorkTileOp tile = body.forEachWorkTile(work);
  tileRow = tile.getRow();
  if (batches) {
    batch = body.div(tile.getRow(), paddedRows);
    tileRow = body.rem(tile.getRow(), paddedRows);
  }
  return tile;
}

void QuantizeTileBuilder::buildLoad(Value ring) {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkTileOp tile = forEachTile();
  Value row = body.add(getInputRow(tile), forEachSlab());
  auto stage = ProducerAcquireOp::create(body, ring);
  int64_t boxes = getRowBoxes();
  for (const Copied &matrix : copied) {
    int64_t columns = getPanelColumns(matrix.type);
    for (int64_t box = 0; box < getColumns() / columns * boxes; ++box) {
      int64_t column = box / boxes * columns;
      int64_t inStage = box % boxes * (getRowsPerStage() / boxes);
      TmaLoadOp::create(body, matrix.kernelMap,
                        getCoords(inStage ? body.add(row, inStage) : row,
                                  body.add(tile.getColumn(), column)),
                        stage.getBuffer(matrix.field), stage.getStage(),
                        body.index(box), /*multicast=*/false, CacheHint::None);
    }
  }
  ProducerCommitOp::create(body, stage.getStage(), Value());
}

/// Emits the role that draws the next work tile.
void QuantizeTileBuilder::buildSchedule() {
  OpBuilder::InsertionGuard guard(body);
  body.role("schedule", 1, /*elected=*/true);
  body.forEachWorkTile(work);
  Value stage = ProducerAcquireOp::create(body, numbers).getStage();
  ProducerCommitOp::create(body, stage, Value());
}

/// Returns the number of columns of all concatenated values.
Value QuantizeTileBuilder::getAllColumns() {
  int64_t count = op.getNumConcatenated();
  return count == 1 ? columns : body.mul(columns, body.index(count));
}

/// Updates amax. This is done last, because other threads wait for all earlier
/// work of this thread.
void QuantizeTileBuilder::raiseAmax() {
  for (auto [i, largest] : llvm::enumerate(maxima)) {
    unsigned number = op.getConcat() ? 0 : i;
    AtomicMaxOp::create(body, largest, known[number], magnitudes[number]);
  }
  maxima.clear();
  known.clear();
}

/// Processes an input stage.
void QuantizeTileBuilder::buildSlab(int64_t axis, ProducerAcquireOp ofTile,
                                    Value bySlabs) {
  OpBuilder::InsertionGuard guard(body);
  RowSlab slab;
  slab.first = forEachSlab();
  if (raises(axis))
    for (Value magnitude : magnitudes)
      known.push_back(LoadRelaxedOp::create(body, magnitude));
  if (!copies(axis))
    slab.source = ConsumerWaitOp::create(body, inputs);
  slab.ofTile = ofTile;
  if (bySlabs)
    slab.ofSlab = ProducerAcquireOp::create(body, bySlabs);
  if (offsets)
    slab.rows = body.sub(tile.getEnd(), body.add(tile.getStart(), slab.first));
  for (const Destination &dest : destinations)
    if (dest.axis == axis)
      buildPass(dest, slab);
  if (slab.source)
    ConsumerReleaseOp::create(body, slab.source.getStage());
  bool isPartial = getRows() != getRowsPerStage();
  for (const Destination &dest : destinations)
    if (dest.axis == axis && (!isPartial || isBySlabs(dest)))
      storeElements(dest, slab);
  if (bySlabs)
    ProducerCommitOp::create(body, slab.ofSlab.getStage(), Value());
  if (isPartial)
    raiseAmax();
}

/// Emits an axis's role. Separate roles do not wait for each other's stores.
void QuantizeTileBuilder::buildQuantize(int64_t axis) {
  OpBuilder::InsertionGuard guard(body);
  auto [byTiles, bySlabs] = outputs[axis];
  body.role(axis ? "quantize_rows" : "quantize_columns",
            getAxisThreads() / target::kWarpSize, /*elected=*/false);
  tile = forEachTile();
  ProducerAcquireOp staged;
  if (byTiles)
    staged = ProducerAcquireOp::create(body, byTiles);
  buildSlab(axis, staged, bySlabs);
  if (!staged) // a tile consists of several slabs
    return;
  for (const Destination &dest : destinations) {
    if (dest.axis != axis)
      continue;
    if (getRows() != getRowsPerStage() && !isBySlabs(dest))
      storeElements(dest, {body.index(0), /*rows=*/{}, /*source=*/{}, staged});
    if (dest.isStaged())
      storeScaleTiles(dest, staged);
  }
  ProducerCommitOp::create(body, staged.getStage(), Value());
  raiseAmax();
}

void QuantizeTileBuilder::buildKernel(Value rows, Value columns,
                                      Value counter) {
  this->rows = rows;
  this->columns = columns;
  Value isNeeded = isRequested(body, kernel, op);
  if (isProduced())
    pieces.begin();
  if (getReaders())
    inputs = body.ring(getInputRing(), "in");
  if (copiesSources())
    sources = body.ring(getSourceRing(), "sources");
  for (int64_t axis : op.getAxes())
    outputs[axis] = {createOutputRing(axis, /*ofSlabs=*/false),
                     createOutputRing(axis, /*ofSlabs=*/true)};
  if (counter)
    numbers = body.ring(getNumberRing(), "numbers");
  Value workRows = rows;
  if (batches) {
    paddedRows = body.mul(body.ceilDiv(rows, getRows()), body.index(getRows()));
    workRows = body.mul(batches, paddedRows);
  }
  Value workColumns = padColumns(body, columns), none = body.index(0);
  // If requested, resident CTAs quantize all tiles of groups.
  bool repeats = isNeeded && offsets;
  if (isNeeded) {
    Value &extent = repeats ? workRows : workColumns;
    extent = body.select(isNeeded, extent, none);
  }
  auto scheduler = TileSchedulerOp::create(
      body, workRows, workColumns,
      /*reduction=*/none, schedule.getTile(), schedule.getRaster(),
      /*single=*/!counter && (offsets || !isNeeded), numbers, counter, offsets,
      /*stride=*/{}, /*overReduction=*/false, repeats ? none : limit);
  if (repeats)
    repeat(scheduler);
  work = scheduler;
  if (!copied.empty())
    buildLoad(isProduced() ? sources : inputs);
  if (isProduced() && getReaders())
    buildProduce();
  if (numbers)
    buildSchedule();
  for (int64_t axis : op.getAxes())
    buildQuantize(axis);
}

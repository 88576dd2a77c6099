//===- QuantizeTileKernel.cpp - Quantizer kernel through shared memory ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Work tiles are input tiles. A single thread loads a tile with bulk copies, as
// a whole or in slabs of rows. A role for each axis reads the tile by rows or
// columns and writes elements and scales to shared memory, and bulk copies
// store them. Elements outside the tensor are read as zeros with scale 0 and
// are not written. Scale tiles are written whole.
//
// The fragments of a warp span all banks. They are either 32 rows of a block,
// each at a different swizzle position, or a 128-byte line.
//
// With a prologue or gather, threads instead of bulk copies fill the tiles
// (QuantizeTileStore.cpp). Each expert group starts a new tile. The rows of the
// next group are read as zeros, which also pad transposed groups.
//
//===----------------------------------------------------------------------===//

#include "QuantizeTile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Stages, and bytes per stage, of the ring that broadcasts the next work tile
/// to the roles of a CTA.
static constexpr int64_t kCounterStages = 2, kCounterBytes = 16;
/// Number of blocks that a thread copies at once. A block needs 8 registers.
static constexpr int64_t kCopiesAtOnce = 4;

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

RingType QuantizeTileBuilder::getCounterRing() {
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

/// Returns the linear index of a slab element in the quantized matrix. The
/// index selects the element's random number. Returns null without a seed.
Value QuantizeTileBuilder::getNumber(const Destination &dest, RowSlab slab,
                                     Value row, Value column) {
  if (!seed)
    return Value();
  row = getLine(body.add(body.add(getInputRow(tile), slab.first), row), rows);
  Value inRow = body.add(getColumn(dest), column);
  return body.add(body.mul(row, getAllColumns()), inRow);
}

/// Loads a block of a row, or of the columns that share a word in each row, or
/// a part of long blocks.
QuantizeTileBuilder::Fragment
QuantizeTileBuilder::loadFragment(const Destination &dest, RowSlab slab,
                                  Value item) {
  auto [fragment, part] = splitItem(item);
  Value row, column, block;
  VectorType type;
  if (dest.axis) {
    row = getLineOf(fragment, getRowsPerStage(), getColumns());
    block = getBlockOf(fragment, getRowsPerStage(), getColumns());
    column = getFirst(block, part);
    type = VectorType::get(getPart(), dest.sourceType);
  } else {
    int64_t inWord = getWordColumns(dest.sourceType);
    int64_t inRow = getColumns() / inWord;
    column = body.mul(getLineOf(fragment, inRow, getRowsPerStage()),
                      body.index(inWord));
    block = getBlockOf(fragment, inRow, getRowsPerStage());
    row = getFirst(block, part);
    type = VectorType::get({getPart(), inWord}, dest.sourceType);
  }
  Value x = LoadSharedOp::create(body, type, slab.source.getBuffer(dest.source),
                                 row, column, slab.rows, getParts());
  return {row, column, block, part, x};
}

/// Quantizes a block of a row, a part of a long block, or a row of a square.
/// Adjacent lanes process the other parts, or the other rows of the square.
/// Returns the source values.
Value QuantizeTileBuilder::buildRowFragment(const Destination &dest,
                                            RowSlab slab, Value item) {
  auto [row, column, block, part, x] = loadFragment(dest, slab, item);
  auto quantized = QuantizeBlockOp::create(
      body,
      TypeRange{VectorType::get(getPart(), dest.elementType), dest.scaleType},
      x, encode, seed, getNumber(dest, slab, row, column), blockAmax,
      op.getRounding(),
      /*lanes=*/
          isTall()     ? 1
      : op.getSquare() ? getBlock()
                       : getParts());
  Value scale = quantized.getScale();
  StoreSharedOp::create(
      body, getStored(dest, quantized.getElements(), scale),
      getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
      ValueRange{row, column});
  if (isTall())
    return x;
  row = body.add(slab.first, row);
  storeScale(dest, slab, clearBehindLines(dest, scale, row), row, block, part);
  storeSpread(dest, x, /*column=*/{}, row, block, part);
  return x;
}

/// Copies `count` quantized blocks of rows per thread, or parts of long blocks,
/// and issues all loads before the first use. Adjacent threads copy adjacent
/// blocks. Returns the maximum magnitude if needed.
Value QuantizeTileBuilder::buildCopies(const Destination &dest, RowSlab slab,
                                       Value item, int64_t count) {
  struct Copy {
    QuantizeInputLoader::Piece piece;
    Value row, block, part, column; // in the slab
  };
  QuantizeInputLoader blocks = pieces.withVector(getPart());
  int64_t inRow = getColumns() / getPart();
  SmallVector<Copy> copies;
  for (int64_t i = 0; i < count; ++i) {
    Value row = body.add(body.div(item, inRow), i * getAxisThreads() / inRow);
    Value place = body.rem(item, inRow);
    Value column = body.mul(place, body.index(getPart()));
    auto [block, part] = splitItem(place);
    Value rowInTensor = body.add(body.add(getInputRow(tile), slab.first), row);
    copies.push_back(
        {blocks.load(rowInTensor, body.add(tile.getColumn(), column),
                     offsets ? tile.getEnd() : rows),
         row, block, part, column});
  }
  Value largest;
  for (const Copy &copy : copies) {
    auto [elements, scale] = copy.piece.inputs[0];
    StoreSharedOp::create(
        body, getStored(dest, elements, scale),
        getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
        ValueRange{copy.row, copy.column});
    storeScale(dest, slab, scale, body.add(slab.first, copy.row), copy.block,
               copy.part);
    if (!raises(dest.axis))
      continue;
    Value next = findThreadAmax(body, op, blocks.produce(copy.piece)[0]);
    largest = largest
                  ? arith::MaximumFOp::create(body, largest, next).getResult()
                  : next;
  }
  return largest;
}

/// Quantizes the columns of a fragment by the scale of the tile.
void QuantizeTileBuilder::buildColumnsOfTall(const Destination &dest,
                                             RowSlab slab,
                                             const Fragment &fragment) {
  int64_t inWord = getWordColumns(dest.sourceType), size = getPart();
  Value flat = vector::ShapeCastOp::create(
      body, VectorType::get(size * inWord, dest.sourceType), fragment.x);
  for (int64_t i = 0; i < inWord; ++i) {
    auto places = llvm::map_to_vector(
        llvm::seq(size), [&](int64_t row) { return row * inWord + i; });
    auto quantized = QuantizeBlockOp::create(
        body,
        TypeRange{VectorType::get(size, dest.elementType), dest.scaleType},
        vector::ShuffleOp::create(body, flat, flat, places), encode,
        /*seed=*/Value(), /*first=*/Value(), blockAmax, op.getRounding(),
        /*lanes=*/1);
    Value line = i ? body.add(fragment.column, i) : fragment.column;
    StoreSharedOp::create(
        body, getStored(dest, quantized.getElements(), quantized.getScale()),
        getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
        ValueRange{line, fragment.row});
  }
}

/// Quantizes the columns of a block, or of a part of a long block, that share a
/// word in each row. Adjacent lanes process the other parts, or the other
/// columns of a square. Returns the source values.
Value QuantizeTileBuilder::buildColumnFragment(const Destination &dest,
                                               RowSlab slab, Value item) {
  int64_t inWord = getWordColumns(dest.sourceType);
  Fragment fragment = loadFragment(dest, slab, item);
  auto [row, column, block, part, x] = fragment;
  if (isTall()) {
    buildColumnsOfTall(dest, slab, fragment);
    return x;
  }
  Value rows;
  if (slab.rows)
    rows = body.sub(slab.rows, row);
  auto quantized = QuantizeColumnsOp::create(
      body,
      TypeRange{VectorType::get({inWord, getPart()}, dest.elementType),
                VectorType::get(inWord, dest.scaleType)},
      x, encode, rows, seed, getNumber(dest, slab, row, column),
      seed ? getAllColumns() : Value(), op.getRounding(),
      /*lanes=*/op.getSquare() ? getBlock() / inWord : getParts(),
      /*folded=*/getParts() > 1);
  StoreSharedOp::create(
      body, getStored(dest, quantized.getElements(), quantized.getScales()),
      getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
      ValueRange{column, isBySlabs(dest) ? row : body.add(slab.first, row)});
  block = body.add(body.div(slab.first, getBlock()), block);
  for (int64_t i = 0; i < inWord; ++i) {
    Value scale = vector::ExtractOp::create(body, quantized.getScales(),
                                            ArrayRef<int64_t>{i});
    Value line = i ? body.add(column, i) : column;
    storeScale(dest, slab, clearBehindLines(dest, scale, line), line, block,
               part);
    storeSpread(dest, x, body.getI64IntegerAttr(i), line, block, part);
  }
  return x;
}

/// Distributes the fragments of a slab over the threads, which process `atOnce`
/// at a time. Returns the maximum of the results of `build` if it `raises`.
Value QuantizeTileBuilder::forEachFragment(
    const Destination &dest, int64_t atOnce, bool raises,
    llvm::function_ref<Value(Value)> build) {
  Value thread = ThreadIdOp::create(body);
  int64_t rounds =
      getNumFragments(dest.axis, dest.sourceType) / getAxisThreads() / atOnce;
  if (rounds == 1)
    return build(thread);
  SmallVector<Value> soFar;
  if (raises)
    soFar.push_back(
        arith::ConstantOp::create(body, body.getF32FloatAttr(0.0f)));
  auto loop = scf::ForOp::create(body, body.index(0), body.index(rounds),
                                 body.index(1), soFar);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  Value first =
      body.mul(loop.getInductionVar(), body.index(atOnce * getAxisThreads()));
  Value next = build(body.add(first, thread));
  if (!raises)
    return Value();
  scf::YieldOp::create(body, ValueRange(arith::MaximumFOp::create(
                                 body, loop.getRegionIterArg(0), next)));
  return loop.getResult(0);
}

/// Processes the fragments of a slab. A tile that is a block is read twice,
/// first to find its largest magnitude.
void QuantizeTileBuilder::buildPass(const Destination &dest, RowSlab slab) {
  bool raises = this->raises(dest.axis);
  int64_t atOnce = 1;
  if (copies(dest.axis))
    atOnce =
        std::gcd(getNumFragments(dest.axis, dest.sourceType) / getAxisThreads(),
                 kCopiesAtOnce);
  if (isTall())
    blockAmax = findRoleMaximum(
        body, forEachFragment(dest, atOnce, /*raises=*/true, [&](Value item) {
          return findThreadAmax(body, op, loadFragment(dest, slab, item).x);
        }));
  Value largest = forEachFragment(
      dest, atOnce, raises && !isTall(), [&](Value item) -> Value {
        if (copies(dest.axis))
          return buildCopies(dest, slab, item, atOnce);
        Value x = dest.axis == 1 ? buildRowFragment(dest, slab, item)
                                 : buildColumnFragment(dest, slab, item);
        return raises && !isTall() ? findThreadAmax(body, op, x) : Value();
      });
  if (isTall())
    storeTallScale(dest);
  if (raises)
    maxima.push_back(isTall() ? blockAmax : largest);
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
    numbers = body.ring(getCounterRing(), "numbers");
  Value workRows = rows;
  if (batches) {
    paddedRows = body.mul(body.ceilDiv(rows, getRows()), body.index(getRows()));
    workRows = body.mul(batches, paddedRows);
  }
  work = TileSchedulerOp::create(
      body, workRows, padColumns(body, columns),
      /*reduction=*/body.index(0), schedule.getTile(), schedule.getRaster(),
      /*single=*/!counter, numbers, counter, offsets);
  if (!copied.empty())
    buildLoad(isProduced() ? sources : inputs);
  if (isProduced() && getReaders())
    buildProduce();
  if (counter)
    buildSchedule();
  for (int64_t axis : op.getAxes())
    buildQuantize(axis);
}

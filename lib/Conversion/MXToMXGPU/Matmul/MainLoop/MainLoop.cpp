//===- MainLoop.cpp - Main loops of matmul kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "../../Builder/HostChecks.h"
#include "../../Builder/KernelBuilder.h"
#include "../Work/SelectedWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Loads of B
//===----------------------------------------------------------------------===//

int64_t OperandB::getBoxRows() { return matmul.getBRows(); }

bool OperandB::sharesScales() const {
  return matmul.getCtas() > 1 && matmul.problem.mma.instruction->takesScales;
}

bool OperandB::sharesElements() const {
  return matmul.getCtas() > 1 && matmul.buffers.inputs.isFilledByBoth();
}

//===----------------------------------------------------------------------===//
// Consecutive rows
//===----------------------------------------------------------------------===//

void OperandB::loadRows(ProducerAcquireOp stage, Value row, Value k,
                        int64_t place) {
  if (matmul.problem.isPackedB)
    return loadPackedRows(stage, row, k, place);
  OperandBoxes boxes(arguments.get(Arg::BMap), *matmul.problem.mma.b,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "b", schedule.getL2B(), place,
             matmul.getBRows() / getBoxRows(),
             sharesElements() ? kernel.rank : Value());
}

SmallVector<int64_t> OperandB::getScaleShape() const {
  RingType inputs = matmul.buffers.tileScales;
  if (!inputs)
    inputs = matmul.buffers.getBInputs();
  BufferType scales = inputs.getBuffers()[inputs.getFieldIndex("sfb")];
  return SmallVector<int64_t>(scales.getShape());
}

OperandBoxes::OperandBoxes(Value map, const target::OperandForm &form,
                           int64_t tileK)
    : map(map) {
  auto type = cast<TensorMapType>(map.getType());
  columns = type.getBox().back();
  packed = type.getElementType().getIntOrFloatBitWidth() /
           target::getBits(form.type);
  panels = tileK / (columns * packed);
}

Value OperandBoxes::getColumn(KernelBuilder &body, Value k,
                              int64_t panel) const {
  Value column = packed > 1 ? body.div(k, packed) : k;
  return panel ? body.add(column, panel * columns) : column;
}

/// Returns the coordinates of a box. Permuted rows are described by several map
/// dimensions, the outermost of which counts the largest complete slices.
SmallVector<Value> OperandBoxes::getCoordinates(KernelBuilder &body, Value row,
                                                Value k, int64_t panel) const {
  ArrayRef<int64_t> box = cast<TensorMapType>(map.getType()).getBox();
  int64_t inner = 1;
  for (int64_t size : box.drop_front().drop_back())
    inner *= size;
  SmallVector<Value> coordinates = {inner > 1 ? body.div(row, inner) : row};
  for (size_t i = 2; i < box.size(); ++i)
    coordinates.push_back(body.index(0));
  coordinates.push_back(getColumn(body, k, panel));
  return coordinates;
}

void mx::mxgpu::loadPanels(KernelBuilder &body, const OperandBoxes &boxes,
                           Value row, Value k, ProducerAcquireOp stage,
                           StringRef field, CacheHint cache, int64_t first,
                           int64_t boxesOfPanel, Value rank) {
  assert((!rank || boxes.panels * boxesOfPanel == 1) && "a box for each CTA");
  for (int64_t panel = 0; panel < boxes.panels; ++panel) {
    Value box = rank;
    if (boxes.panels * boxesOfPanel > 1)
      box = body.index(panel * boxesOfPanel + first);
    TmaLoadOp::create(body, boxes.map,
                      boxes.getCoordinates(body, row, k, panel),
                      stage.getBuffer(field), stage.getStage(), box,
                      /*multicast=*/rank != nullptr, cache);
  }
}

/// In a pair, each CTA loads half of B's scales for both CTAs.
SmallVector<int64_t> WholeB::getScaleBox() {
  SmallVector<int64_t> box = getScaleShape();
  if (!sharesScales())
    return box;
  // Halve the outermost dimension to keep halves contiguous in shared memory.
  for (int64_t &size : box)
    if (size > 1) {
      size /= 2;
      break;
    }
  return box;
}

void WholeB::begin(ForEachWorkTileOp, const OperandOrigin &origin) {
  column = origin.column;
  columnTile = origin.columnTile;
  if (!kernel.rank)
    return;
  column =
      body.add(column, body.mul(kernel.rank, body.index(matmul.getBRows())));
  // A CTA loads the scales of its own rows of B, or of a whole work tile.
  int64_t ownTiles = matmul.getBRows() / kScaleTileRows;
  if (!sharesScales() && !matmul.buffers.tileScales && ownTiles)
    columnTile =
        body.add(columnTile, body.mul(kernel.rank, body.index(ownTiles)));
}

void WholeB::loadElements(ProducerAcquireOp stage, Value k) {
  loadRows(stage, column, k, /*place=*/0);
}

void WholeB::loadScales(ProducerAcquireOp stage, Value kTile) {
  Value map = arguments.get(Arg::BScalesMap);
  Value rank = sharesScales() ? kernel.rank : Value();
  SmallVector<Value> coords = {columnTile, kTile};
  if (!rank) {
    TmaLoadOp::create(body, map, coords, stage.getBuffer("sfb"),
                      stage.getStage());
    return;
  }
  // Offset the halved dimension by the rank.
  SmallVector<int64_t> stageShape = getScaleShape(), box = getScaleBox();
  if (box[0] < stageShape[0])
    coords[0] = body.add(columnTile, rank);
  else if (box[1] < stageShape[1])
    coords[1] = body.add(kTile, body.mul(rank, body.index(box[1])));
  else
    coords.push_back(rank);
  TmaLoadOp::create(body, map, coords, stage.getBuffer("sfb"), stage.getStage(),
                    rank, /*multicast=*/true, CacheHint::None);
}

//===----------------------------------------------------------------------===//
// Rows of several matrices
//===----------------------------------------------------------------------===//

Value MatricesB::getResultColumns(Value rows) {
  requireMultiple(host, rows, matmul.problem.numB * kScaleTileRows,
                  "rows of a matrix of b");
  return host.div(rows, matmul.problem.numB);
}

/// Returns the rows of a single matrix if a CTA loads several matrices.
int64_t MatricesB::getBoxRows() {
  return std::min(matmul.getBRows(), matmul.getTileColumns());
}

SmallVector<int64_t> MatricesB::getScaleBox() {
  SmallVector<int64_t> box = getScaleShape();
  box[0] /= matmul.problem.numB / (sharesScales() ? 1 : matmul.getCtas());
  return box;
}

void MatricesB::forEachMatrix(
    llvm::function_ref<void(Value matrix, int64_t place)> load) {
  int64_t count = matmul.problem.numB / matmul.getCtas();
  for (int64_t place = 0; place < count; ++place) {
    Value matrix = body.index(place);
    if (kernel.rank)
      matrix = body.add(body.mul(kernel.rank, body.index(count)), place);
    load(matrix, place);
  }
}

void MatricesB::loadElements(ProducerAcquireOp stage, Value k) {
  Value columns = work.getResultColumns();
  Value first = body.mul(workTile.getGroup(), body.index(matmul.problem.numB));
  forEachMatrix([&](Value matrix, int64_t place) {
    Value row = body.add(workTile.getColumn(),
                         body.mul(body.add(first, matrix), columns));
    loadRows(stage, row, k, place);
  });
}

/// Loads the scales of all matrices, since with block-scaled MMAs both CTAs of
/// a pair need all scales.
void MatricesB::loadScales(ProducerAcquireOp stage, Value kTile) {
  Value tiles = body.div(work.getResultColumns(), kScaleTileRows);
  Value first = body.mul(workTile.getGroup(), body.index(matmul.problem.numB));
  Value tile = body.div(workTile.getColumn(), kScaleTileRows);
  Value rank = sharesScales() ? kernel.rank : Value();
  forEachMatrix([&](Value matrix, int64_t place) {
    Value row = body.add(tile, body.mul(body.add(first, matrix), tiles));
    TmaLoadOp::create(body, arguments.get(Arg::BScalesMap),
                      ValueRange{row, kTile}, stage.getBuffer("sfb"),
                      stage.getStage(), rank ? rank : body.index(place),
                      /*multicast=*/rank != nullptr, CacheHint::None);
  });
}

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

/// Views each row of tiles as lines of bytes.
static Value viewLines(KernelBuilder &host, Value matrix, int64_t lines) {
  OpFoldResult rows = getSize(host, matrix, 0),
               tiles = getSize(host, matrix, 1);
  Value bytes = toBytes(host, matrix);
  Value flat = memref::CollapseShapeOp::create(
      host, bytes, ArrayRef<ReassociationIndices>{{0}, {1, 2, 3}});
  SmallVector<int64_t> shape(cast<MemRefType>(flat.getType()).getShape());
  bool isDynamic = ShapedType::isDynamic(shape[1]);
  shape[1] = isDynamic ? shape[1] : shape[1] / kPackedLineBytes;
  shape.push_back(kPackedLineBytes);
  OpFoldResult inRow = host.getIndexAttr(shape[1]);
  if (isDynamic)
    inRow = host.mul(cast<Value>(tiles), host.index(lines));
  return memref::ExpandShapeOp::create(
      host, shape, flat, ArrayRef<ReassociationIndices>{{0}, {1, 2}},
      SmallVector<OpFoldResult>{rows, inRow,
                                host.getIndexAttr(kPackedLineBytes)});
}

Value OperandB::encodePacked() {
  Type element = matmul.problem.b;
  return EncodeTensorMapOp::create(
      host, getPackedMap(element, getBoxRows(), schedule.getTileK()),
      viewLines(host, matrices.b, getPackedLines(element)));
}

void OperandB::loadPackedRows(ProducerAcquireOp stage, Value row, Value k,
                              int64_t place) {
  Value line = body.mul(body.div(k, kWeightTileColumns),
                        body.index(getPackedLines(matmul.problem.b)));
  Value box;
  if (matmul.getBRows() > getBoxRows())
    box = body.index(place);
  TmaLoadOp::create(
      body, arguments.get(Arg::BMap),
      ValueRange{body.div(row, kWeightTileRows), line, body.index(0)},
      stage.getBuffer("b"), stage.getStage(), box, /*multicast=*/false,
      schedule.getL2B());
}

//===----------------------------------------------------------------------===//
// Main loops
//===----------------------------------------------------------------------===//

MainLoop::MainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
    : KernelComponent(kernel), work(work), b(b) {}

void MainLoop::checkSizes() {}
void MainLoop::freeTemporaries() {}
void MainLoop::enterWorkTile(ForEachWorkTileOp, bool) {}

/// Skips the reduction of work tiles without wide elements, so that no role
/// loads or multiplies.
std::pair<Value, Value> MainLoop::getReduction(ForEachWorkTileOp workTile) {
  auto [start, end] = work.getReduction(workTile);
  if (op.getWhere() == RowClass::Wide) {
    if (classified != workTile.getOperation()) {
      kernel.isNarrow = areAllNarrow(
          body, loadWords(kernel, work, workTile, /*byLane=*/false),
          /*byLane=*/false);
      classified = workTile;
    }
    end = body.select(kernel.isNarrow, start, end);
  }
  return {start, end};
}

Value MainLoop::finishAccumulator(Value accumulator) { return accumulator; }

Value MainLoop::getRowInScales(Value first, int64_t tile) {
  if (tile % kScaleTileRows == 0)
    return body.index(0);
  return arith::RemUIOp::create(body, first, body.index(kScaleTileRows));
}

BufferType MainLoop::getInput(RingType ring, StringRef field) {
  return ring.getBuffers()[ring.getFieldIndex(field)];
}

void MainLoop::addScales(KernelArguments &signature) {
  if (matrices.aScales) {
    BufferType aScales = getInput(matmul.buffers.inputs, "sfa");
    signature.add(Arg::AScalesMap,
                  encodeScales(matrices.aScales, aScales.getShape()));
  }
  if (matrices.bScales)
    signature.add(Arg::BScalesMap,
                  encodeScales(matrices.bScales, b.getScaleBox()));
}

/// Encodes a 32 x 4 x 4-byte tile as two 256-byte rows, because a box dimension
/// is limited to 256.
Value MainLoop::encodeScales(Value scales, ArrayRef<int64_t> box) {
  auto source = cast<MemRefType>(scales.getType());
  Value flat = memref::CollapseShapeOp::create(
      host, scales, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
  int64_t inLine = 64 * source.getShape().back();
  SmallVector<int64_t> shape = {source.getDimSize(0), source.getDimSize(1), 2,
                                inLine};
  SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(host.dim(scales, 0)),
                                     getAsOpFoldResult(host.dim(scales, 1)),
                                     host.getIndexAttr(2),
                                     host.getIndexAttr(inLine)};
  Value split = memref::ExpandShapeOp::create(
      host, shape, flat, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}},
      sizes);
  auto type = TensorMapType::get(op->getContext(), box, source.getElementType(),
                                 Swizzle::None);
  return EncodeTensorMapOp::create(host, type, split);
}

void MainLoop::buildEpilogue(EpiloguePolicy &epilogue, Value accumulators) {
  OpBuilder::InsertionGuard guard(body);
  body.role("epilogue", kEpilogueWarps, /*elected=*/false);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  TmemAccumulator accumulator(body, matmul, accumulators,
                              work.isEmpty(workTile));
  epilogue.store(workTile, accumulator);
}

Value MainLoop::isRank(int64_t rank) {
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                               CtaRankOp::create(body), body.index(rank));
}

void MainLoop::storeAccumulator(EpiloguePolicy &epilogue,
                                ForEachWorkTileOp workTile, Value multiplied,
                                Value empty, std::optional<int64_t> rank) {
  if (op.getWhere() == RowClass::Wide)
    body.beginIf(body.isNot(kernel.isNarrow));
  multiplied = relabel(multiplied, matmul.buffers.accumulatorLayout);
  RegisterAccumulator accumulator(body, matmul, finishAccumulator(multiplied),
                                  empty, rank);
  epilogue.store(workTile, accumulator);
}

/// Adds the partials of a cluster. Each CTA stores its share of the rows after
/// all CTAs have read their partials.
void MainLoop::storeShares(EpiloguePolicy &epilogue, ForEachWorkTileOp workTile,
                           Value multiplied, Value empty) {
  multiplied = AddPartialsOp::create(body, multiplied.getType(), multiplied,
                                     ThreadIdOp::create(body),
                                     /*distributed=*/true);
  EndPartialsOp::create(body);
  for (int64_t rank = 0; rank < schedule.getClusterSplits(); ++rank) {
    OpBuilder::InsertionGuard guard(body);
    auto ifOp = scf::IfOp::create(body, isRank(rank), /*withElse=*/false);
    body.setInsertionPointToStart(ifOp.thenBlock());
    storeAccumulator(epilogue, workTile, multiplied, empty, rank);
  }
}

/// Returns the sum of the partial accumulators of a cluster. Subsequent code
/// runs on CTA 0; the other CTAs wait for it.
Value MainLoop::addPartialsOfCluster(Value accumulator) {
  accumulator = AddPartialsOp::create(body, accumulator.getType(), accumulator,
                                      ThreadIdOp::create(body),
                                      /*distributed=*/false);
  auto ifOp = scf::IfOp::create(body, isRank(0), /*withElse=*/false);
  EndPartialsOp::create(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  return accumulator;
}

void MainLoop::buildMultiply(
    EpiloguePolicy &epilogue,
    llvm::function_ref<Value(ForEachWorkTileOp workTile)> multiply) {
  OpBuilder::InsertionGuard guard(body);
  body.role("multiply", matmul.buffers.epilogueWarps, /*elected=*/false);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(workTile);
  // Words are loaded before the reduction and first used after it.
  SmallVector<Value> words;
  if (op.getWhere() == RowClass::Narrow)
    words = loadWords(kernel, work, workTile, /*byLane=*/true);
  enterWorkTile(workTile, /*multiplies=*/true);
  Value multiplied = multiply(workTile);
  if (op.getWhere() == RowClass::Narrow)
    kernel.isNarrow = areAllNarrow(body, words, /*byLane=*/true);
  bool isSplitInCluster = schedule.getClusterSplits() > 1;
  if (isSplitInCluster && matmul.strategy.distributesPartials())
    return storeShares(epilogue, workTile, multiplied, empty);
  if (isSplitInCluster)
    multiplied = addPartialsOfCluster(multiplied);
  storeAccumulator(epilogue, workTile, multiplied, empty);
}

ForEachKOp MainLoop::forEachTile(ForEachWorkTileOp workTile,
                                 ValueRange initial) {
  auto [start, end] = getReduction(workTile);
  return body.forEachK(start, end, schedule.getTileK(), initial);
}

Value MainLoop::start(MmaAttrInterface mma, Value a, Value b, Value accumulator,
                      IntegerAttr column) {
  auto layout = cast<FragmentType>(accumulator.getType()).getLayout();
  bool divides = isa<BufferType>(a.getType()) &&
                 layout.getNumThreads() > mma.getRoles().threads;
  return MmaOp::create(body, accumulator.getType(), mma, a, b,
                       /*a_scales=*/Value(), /*b_scales=*/Value(), accumulator,
                       /*b_offset=*/Value(),
                       /*accumulate=*/Value(), /*extent=*/Value(),
                       divides ? ThreadIdOp::create(body, /*ofWarp=*/true)
                               : Value(),
                       column, /*row=*/IntegerAttr())
      .getAccumulator();
}

Value MainLoop::relabel(Value fragment, FragmentLayoutAttr layout) {
  Type element = cast<FragmentType>(fragment.getType()).getElementType();
  return RelabelFragmentOp::create(body, FragmentType::get(element, layout),
                                   fragment);
}

Value MainLoop::encodeElements(Value operand, RingType ring, StringRef field,
                               int64_t rows) {
  BufferType buffer = getInput(ring, field);
  auto type =
      TensorMapType::get(op->getContext(), {rows, buffer.getShape().back()},
                         buffer.getElementType(), buffer.getSwizzle());
  return EncodeTensorMapOp::create(host, type, toBytes(host, operand));
}

void MainLoop::loadBoxesOfA(ProducerAcquireOp stage, Value row, Value k,
                            ArrayRef<int64_t> firstRows) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *matmul.problem.mma.a,
                     schedule.getTileK());
  for (auto [number, first] : llvm::enumerate(firstRows))
    TmaLoadOp::create(body, boxes.map,
                      ValueRange{first ? body.add(row, first) : row,
                                 boxes.getColumn(body, k, 0)},
                      stage.getBuffer("a"), stage.getStage(),
                      firstRows.size() > 1
                          ? body.index(static_cast<int64_t>(number))
                          : Value(),
                      /*multicast=*/false, schedule.getL2A());
}

Value MainLoop::isAdded(ForEachKOp step) { return body.isNot(step.getFirst()); }

void MainLoop::buildScaledLoads(Value inputs) {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  OperandOrigin origin = work.getOperands(workTile);
  b.begin(workTile, origin);
  ForEachKOp step = forEachTile(workTile);
  Value k = step.getK(), kTile = body.div(k, matmul.problem.getScaleTileK());
  auto stage = ProducerAcquireOp::create(body, inputs);
  OperandBoxes a(arguments.get(Arg::AMap), *matmul.problem.mma.a,
                 schedule.getTileK());
  loadPanels(body, a, origin.row, k, stage, "a", schedule.getL2A());
  b.loadElements(stage, k);
  TmaLoadOp::create(body, arguments.get(Arg::AScalesMap),
                    ValueRange{origin.rowTile, kTile}, stage.getBuffer("sfa"),
                    stage.getStage());
  b.loadScales(stage, kTile);
  ProducerCommitOp::create(body, stage.getStage(), Value());
  launchDependents(workTile);
}

void MainLoop::launchDependents(ForEachWorkTileOp workTile) {
  if (!schedule.getPdl())
    return;
  body.setInsertionPointAfter(workTile);
  LaunchDependentsOp::create(body);
}

bool MainLoop::areTilesWhole() {
  int64_t multiple = work.getReductionMultiple();
  return !ShapedType::isDynamic(multiple) &&
         multiple % schedule.getTileK() == 0;
}

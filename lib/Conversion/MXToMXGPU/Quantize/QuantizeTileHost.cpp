//===- QuantizeTileHost.cpp - Launch of quantizers through shared memory --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks copy engine requirements and computes tensor maps and the grid.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "QuantizeChecks.h"
#include "QuantizeSchedule.h"
#include "QuantizeTile.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Bytes per row of the widest swizzle.
static constexpr int64_t kPanelBytes = 128;
/// Number of rows stored to a panel before rows of the next panel. The minimum
/// for the swizzle completes rows of several panels while DRAM pages are open.
static constexpr int64_t kStripRows = 8;
static constexpr int64_t kMaxThreads = 1024;
/// Maximum box dimension (CUDA Driver API, cuTensorMapEncodeTiled).
static constexpr int64_t kMaxBox = 256;

/// Requires at run time that rows are multiples of 16 bytes (CUDA Driver API,
/// cuTensorMapEncodeTiled) and that coordinates fit 32 bits. Both the copy
/// engine and threads that load inputs rely on this.
void QuantizeTileBuilder::checkInputs() {
  for (int64_t dim : {0, 1})
    requireAtMost(host, getQuantizedDim(host, op, dim), kMaxExtent,
                  dim ? "columns of input" : "rows of input");
  for (Value input : op.getInputs()) {
    Type type = getElementTypeOrSelf(input.getType());
    int64_t last = getBatchRank(op) + 1;
    requireMultiple(host, host.dim(input, last), getColumnStep(type),
                    "dimension " + Twine(last) + " of input");
  }
}

void QuantizeTileBuilder::setValue(Destination &dest, unsigned value) {
  dest.value = value;
  dest.name = dest.axis ? "rows" : "columns";
  if (types.size() > 1)
    dest.name += std::to_string(value);
  dest.source = getField(value);
  dest.sourceType = types[value];
}

QuantizeTileBuilder::Destination
QuantizeTileBuilder::getDestination(unsigned index) {
  Destination dest;
  dest.axis = op.getAxis(index);
  dest.index = index;
  setValue(dest, op.getValueOf(index));
  dest.elementType = op.getElementType(index);
  dest.scaleType = op.getScaleType(index);
  if (!op.isDequantized(index)) {
    dest.isMNMajor = isMNMajor(op.getScales(index), getBatchRank(op));
    dest.scales = viewScales(host, op.getScales(index), getBatchRank(op));
  }
  if (Value spreads = op.getSpreadsOf(index))
    dest.spreads = collapseLeading(host, spreads, getBatchRank(op) + 1);
  int64_t rows = getRows(), columns = getColumns();
  if (!dest.axis)
    std::swap(rows, columns);
  dest.scaleTileRows = rows / kScaleTileRows;
  dest.scaleTileColumns = columns / (kScaleTileBlocks * getBlock());
  setElements(dest);
  Type stored = getElementTypeOrSelf(dest.elements.getType());
  if (isBySlabs(dest))
    (dest.axis ? rows : columns) = getRowsPerStage();
  columns /= dest.getPacking();
  dest.panels = std::max<int64_t>(1, columns * getBytes(stored) / kPanelBytes);
  dest.rows = rows;
  dest.boxRows = dest.panels > 1 ? kStripRows : dest.rows;
  dest.map = EncodeTensorMapOp::create(
      host, getMap({dest.boxRows, columns / dest.panels}, stored),
      dest.elements);
  return dest;
}

/// Sets the memref for dequantized values or elements. The copy
/// engine treats elements narrower than a byte as bytes.
void QuantizeTileBuilder::setElements(Destination &dest) {
  Value stored = op.getElements(dest.index);
  int64_t last = getBatchRank(op) + 1;
  if (op.isDequantized(dest.index)) {
    dest.dequantizedType = getElementTypeOrSelf(stored);
  } else {
    // The copy engine moves 16 bytes, possibly more than a block.
    constexpr int64_t kCopyBits = 128;
    int64_t bits = op.getElementType(dest.index).getIntOrFloatBitWidth();
    if (getBlock() * bits < kCopyBits)
      requireMultiple(host, host.dim(stored, last), kCopyBits / bits,
                      "dimension " + Twine(last) + " of elements");
    stored = toBytes(host, stored);
  }
  dest.elements = collapseLeading(host, stored, getBatchRank(op));
}

/// Rounds columns up to whole scale tiles, so that narrower tiles write them.
Value QuantizeTileBuilder::padColumns(KernelBuilder &builder, Value columns) {
  if (getColumns() % kScaleTileRows == 0)
    return columns;
  return builder.mul(builder.ceilDiv(columns, kScaleTileRows),
                     builder.index(kScaleTileRows));
}

/// Returns the number of boxes along the rows of a stage.
int64_t QuantizeTileBuilder::getRowBoxes() {
  return llvm::divideCeil(getRowsPerStage(), kMaxBox);
}

/// Returns the L2 promotion that was fastest on an H200
/// (29571104fae6:docs/QuantizeSpeed.md). A panel row is 128 bytes, so a
/// promotion to 256 bytes also loads the neighboring panel. If rows are aligned
/// to 256 bytes, this panel belongs to the same tile. Otherwise it belongs to
/// another tile for every second row and is evicted from L2 before use.
L2Promotion QuantizeTileBuilder::getL2Promotion() {
  if (op.getAxes().size() == 2)
    return L2Promotion::B64;
  int64_t columns = op.getInput().getType().getShape().back();
  int64_t bits = types[0].getIntOrFloatBitWidth();
  bool areAligned =
      !ShapedType::isDynamic(columns) && columns * bits / 8 % 256 == 0;
  return areAligned ? L2Promotion::B256 : L2Promotion::B128;
}

/// Adds bulk copies of adjacent panels as wide as lines of shared memory.
void QuantizeTileBuilder::addCopied(Value matrix, std::string field) {
  Type type = getElementTypeOrSelf(matrix.getType());
  Value map = EncodeTensorMapOp::create(
      host,
      getMap({getRowsPerStage() / getRowBoxes(), getPanelColumns(type)}, type),
      collapseLeading(host, matrix, getBatchRank(op)), getL2Promotion());
  copied.push_back({type, std::move(field), map});
}

void QuantizeTileBuilder::buildHost() {
  if (!isProduced())
    addCopied(op.getInput(), getField(0));
  if (copiesSources())
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      addCopied(input, "input" + std::to_string(i));
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    destinations.push_back(getDestination(i));
}

/// Creates the destinations of each concatenated value from the first ones.
void QuantizeTileBuilder::splitDestinations() {
  SmallVector<Destination> first = destinations;
  for (int64_t value = 1; value < op.getNumConcatenated(); ++value)
    for (Destination dest : first) {
      setValue(dest, value);
      destinations.push_back(dest);
    }
}

/// Returns the number of row tiles of all matrices. This is an upper bound for
/// all possible sizes of expert groups.
Value QuantizeTileBuilder::getRowTiles(Value rows) {
  if (op.getOffsets())
    return host.packedTiles(rows, getRows(), op.getOffsets());
  Value tiles = host.ceilDiv(rows, getRows());
  return getBatchRank(op) ? host.mul(getBatchSize(), tiles) : tiles;
}

Value QuantizeTileBuilder::getBatchSize() {
  Value size = host.dim(op.getInput(), 0);
  for (int64_t dim = 1; dim < getBatchRank(op); ++dim)
    size = host.mul(size, host.dim(op.getInput(), dim));
  return size;
}

/// Allocates the work tile counter that all CTAs share.
Value QuantizeTileBuilder::createCounter() {
  Value counter =
      memref::AllocOp::create(host, MemRefType::get({1}, host.getI32Type()));
  Value zero = arith::ConstantOp::create(host, host.getI32IntegerAttr(0));
  gpu::MemsetOp::create(host, TypeRange(), ValueRange(), counter, zero);
  return counter;
}

SmallVector<Value> QuantizeTileBuilder::getArguments() {
  SmallVector<Value> arguments;
  if (isProduced())
    arguments = pieces.getArguments(host);
  for (const Copied &matrix : copied)
    arguments.push_back(matrix.map);
  for (const Destination &dest : destinations) {
    arguments.push_back(dest.map);
    if (writesRows(dest))
      arguments.push_back(dest.elements);
    if (!dest.dequantizedType)
      arguments.push_back(dest.scales);
    else if (Value decode = op.getDecodeFactor(dest.index))
      arguments.push_back(decode);
    if (dest.spreads)
      arguments.push_back(dest.spreads);
  }
  return arguments;
}

void QuantizeTileBuilder::takeArguments(Block::args_iterator &argument) {
  if (isProduced())
    pieces.takeArguments(argument);
  for (Copied &matrix : copied)
    matrix.kernelMap = *argument++;
  for (Destination &dest : destinations) {
    dest.kernelMap = *argument++;
    if (writesRows(dest))
      dest.kernelElements = *argument++;
    if (!dest.dequantizedType)
      dest.kernelScales = *argument++;
    else if (op.getDecodeFactor(dest.index))
      dest.kernelDecode = *argument++;
    if (dest.spreads)
      dest.kernelSpreads = *argument++;
  }
}

/// Lets each CTA compute several work tiles of `scheduler`, one after another.
void QuantizeTileBuilder::repeat(TileSchedulerOp scheduler) {
  scheduler.setRepeated(true);
  scheduler.setRasterAttr(
      RasterAttr::get(op.getContext(), RasterOrder::Linear, 1));
}

/// Launches a kernel for the row tiles beyond the limit, usually none. A few
/// CTAs find them in a loop, because CTAs without a tile would also take time.
void QuantizeTileBuilder::launchRest(Value rowTiles, Value columnTiles,
                                     ValueRange arguments) {
  auto rest = cast<KernelOp>(kernel->clone());
  rest.setSymName((kernel.getSymName() + "_rest").str());
  SymbolTable(module).insert(rest);
  repeat(*rest.getBody().getOps<TileSchedulerOp>().begin());
  host.launch(rest, limitGrid(host, schedule, host.mul(rowTiles, columnTiles)),
              arguments);
}

void QuantizeTileBuilder::build() {
  checkInputs();
  buildHost();
  bool usesAtomicCounter = schedule.getAtomicCounter();
  Value rows = getQuantizedDim(host, op, 0),
        columns = host.dim(op.getInput(), getBatchRank(op) + 1);
  if (getBatchRank(op))
    requireAtMost(host, host.mul(getRowTiles(rows), host.index(getRows())),
                  kMaxExtent, "rows of input in tiles");
  SmallVector<Value> arguments = getArguments();
  llvm::append_values(arguments, rows, columns);
  if (getBatchRank(op))
    arguments.push_back(getBatchSize());
  if (Value scale = op.getGlobalScale())
    arguments.push_back(checkPositive(host, scale));
  if (op.getSeed())
    arguments.push_back(op.getSeed());
  if (op.getOffsets())
    arguments.push_back(op.getOffsets());
  llvm::append_range(arguments, op.getAmaxOuts());
  Value rowTiles = getRowTiles(rows), first = rowTiles;
  auto expected = op->getAttrOfType<IntegerAttr>(kExpectedRowsAttrName);
  bool isLimited = expected && op.getOffsets() && op.getIfAny().empty();
  if (isLimited) {
    // Somewhat more rows than expected are common.
    int64_t most = std::min<int64_t>(expected.getInt(), kMaxExtent);
    first = host.min(rowTiles, getRowTiles(host.index(most + most / 8)));
    arguments.push_back(first);
  }
  Value counter = usesAtomicCounter ? createCounter() : Value();
  if (counter)
    arguments.push_back(counter);
  llvm::append_range(arguments, op.getIfAny());

  kernel =
      host.kernel(module, getKernelName(op), ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(schedule.getCtas());
  Block::args_iterator argument = kernel.getBody().args_begin();
  takeArguments(argument);
  splitDestinations();
  Value kernelRows = *argument++, kernelColumns = *argument++;
  if (getBatchRank(op))
    batches = *argument++;
  if (op.getGlobalScale())
    encode = *argument++;
  if (op.getSeed())
    seed = *argument++;
  if (op.getOffsets())
    offsets = *argument++;
  for (unsigned i = 0; i < op.getAmaxOuts().size(); ++i)
    magnitudes.push_back(*argument++);
  if (isLimited)
    limit = *argument++;
  body.setInsertionPointToStart(&kernel.getBody().front());
  buildKernel(kernelRows, kernelColumns, counter ? *argument : Value());

  Value columnTiles = host.ceilDiv(padColumns(host, columns), getColumns());
  Value grid = host.mul(first, columnTiles);
  if (op.getOffsets()) // a tensor map cannot have 0 rows
    grid = host.mul(grid, host.min(rows, 1));
  // With `if_any` each CTA reads all words.
  if (counter || !op.getIfAny().empty())
    grid = limitGrid(host, schedule, grid);
  host.launch(kernel, grid, arguments);
  if (isLimited)
    launchRest(host.sub(rowTiles, first), columnTiles, arguments);
  if (counter)
    memref::DeallocOp::create(host, counter);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Fails unless the threads of an axis form whole warps and the thread count
/// divides the fragment count of a slab.
static LogicalResult verifyThreads(FusedQuantizeOp op, int64_t fragments,
                                   int64_t threads) {
  if (threads % target::kWarpSize == 0 && fragments % threads == 0)
    return success();
  return op.emitOpError("expected a schedule whose threads per axis are a "
                        "multiple of 32 and a divisor of the ")
         << fragments << " fragments of a stage, found " << threads;
}

/// Fails if the static row length is not a multiple of `step`.
static LogicalResult verifyRows(FusedQuantizeOp op, Value matrix, int64_t step,
                                StringRef what) {
  ArrayRef<int64_t> shape = cast<MemRefType>(matrix.getType()).getShape();
  int64_t columns = shape.back();
  if (ShapedType::isDynamic(columns) || columns % step == 0)
    return success();
  return op.emitOpError("expected dimension ")
         << shape.size() - 1 << " of " << what << " to be a multiple of "
         << step << " with axes [" << op.getAxes() << "] on the GPU, found "
         << columns << ": pad it to " << roundUp(columns, step);
}

/// Returns the number of columns in 16 bytes of elements.
static int64_t getElementStep(Value elements) {
  int64_t bits = cast<MemRefType>(elements.getType()).getElementTypeBitWidth();
  return 128 / (bits == 6 ? 8 : bits);
}

LogicalResult QuantizeTileBuilder::verifyBlocks() {
  if (isTall() && !holdsBlocks(op, schedule))
    return op.emitOpError("expected a schedule with tiles and stages of one "
                          "block, ")
           << getBlockRows() << " x " << getBlock() << ", found " << schedule;
  // mxgpu.quantize_block numbers the elements of a row.
  if (isTall() && op.getSeed() && llvm::is_contained(op.getAxes(), 0))
    return op.emitOpError("expected no seed along axis 0 with blocks of ")
           << getBlockRows() << " x " << getBlock()
           << " elements on the GPU: quantize the transposed input";
  for (int64_t axis : op.getAxes())
    if (int64_t size = axis ? getColumns() : getRowsPerStage();
        size % getBlock())
      return op.emitOpError("expected blocks that divide the ")
             << size << (axis ? " columns of a tile" : " rows of a stage")
             << " along axis " << axis << " on the GPU, found blocks of "
             << getBlock()
             << ": choose shorter blocks, or quantize on the host";
  return success();
}

LogicalResult QuantizeTileBuilder::verifyCopies() {
  if (!copiesSources() || canCopyInputs(op))
    return success();
  return op.emitOpError(
             "expected a schedule without input_stages, which require a "
             "prologue and exclude input scales, gather and ragged rows, "
             "found ")
         << schedule;
}

/// Fails if the kernel needs more threads than a CTA may have. The number of
/// computing threads need not be checked against the pieces of a slab, because
/// fragments are larger than pieces.
LogicalResult QuantizeTileBuilder::verifyPrologues() {
  int64_t others = (copiesSources() ? 2 : 1) * target::kWarpSize;
  int64_t all = getProducingThreads() + schedule.getThreads() + others;
  if (all <= kMaxThreads)
    return success();
  int64_t warps = (kMaxThreads - others) / target::kWarpSize / 3;
  return op.emitOpError("expected a schedule with at most ")
         << warps * target::kWarpSize
         << " threads, because the prologue needs twice as many more, "
            "found "
         << schedule.getThreads();
}

LogicalResult QuantizeTileBuilder::verify() {
  constexpr int64_t kMostRows = 512;
  if (getRows() > kMostRows || getColumns() > kMaxBox)
    return op.emitOpError("expected a schedule with a tile of at most 512 rows "
                          "and 256 columns for axes [")
           << op.getAxes() << "], found [" << schedule.getTile() << "]";
  if (op.getOffsets() &&
      (getRows() != kScaleTileRows || getColumns() != kScaleTileRows ||
       schedule.getStages() > 1 || schedule.getAtomicCounter()))
    return op.emitOpError(
               "expected a schedule with tiles of [128, 128], stages = 1 and "
               "no atomic_counter for ragged rows, found ")
           << schedule;
  // Only scales that are stored directly cover half a scale tile.
  if (getColumns() % kScaleTileRows != 0 &&
      (!llvm::equal(op.getAxes(), ArrayRef<int64_t>{0}) ||
       getRows() >= kScaleTileBlocks * getBlock()))
    return op.emitOpError("expected a schedule with a tile of a multiple of ")
           << kScaleTileRows << " columns, or of fewer than "
           << kScaleTileBlocks * getBlock() << " rows for axes [0], found ["
           << schedule.getTile() << "]";
  if (failed(verifyBlocks()))
    return failure();
  for (int64_t axis : op.getAxes())
    for (Type type : types)
      if (failed(
              verifyThreads(op, getNumFragments(axis, type), getAxisThreads())))
        return failure();
  if (failed(verifyCopies()))
    return failure();
  if (isProduced() && failed(verifyPrologues()))
    return failure();
  for (Value input : op.getInputs())
    if (failed(verifyRows(op, input,
                          getColumnStep(getElementTypeOrSelf(input.getType())),
                          "input")))
      return failure();
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    if (!op.isDequantized(i) &&
        failed(verifyRows(op, op.getElements(i),
                          getElementStep(op.getElements(i)), "elements")))
      return failure();
  return success();
}

LogicalResult mx::mxgpu::buildQuantizeTileKernel(FusedQuantizeOp op,
                                                 QuantizeScheduleAttr schedule,
                                                 gpu::GPUModuleOp module) {
  QuantizeTileBuilder builder(op, schedule, module);
  if (failed(builder.verify()))
    return failure();
  builder.build();
  return success();
}

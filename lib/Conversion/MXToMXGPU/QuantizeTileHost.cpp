//===- QuantizeTileHost.cpp - Launch a quantizer through shared memory ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the copy engine needs of input and outputs, and how many CTAs there are.
//
//===----------------------------------------------------------------------===//

#include "QuantizeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Bytes of a row that the widest swizzle takes.
static constexpr int64_t kPanelBytes = 128;
/// Rows and elements of a box (CUDA Driver API, cuTensorMapEncodeTiled).
static constexpr int64_t kMaxBox = 256;

/// The copy engine needs rows and data at multiples of 16 bytes (CUDA Driver
/// API, cuTensorMapEncodeTiled), and has 32-bit coordinates. The rows of
/// elements are as long as they need to be.
void QuantizeTileBuilder::checkInput() {
  for (int64_t dim : {0, 1})
    host.requireAtMost(host.dim(op.getInput(), dim), kMaxExtent,
                       dim ? "columns of the input" : "rows of the input");
  host.requireMultiple(host.dim(op.getInput(), 1), 16 / getInputBytes(),
                       "dimension 1 of the input");
  Value address =
      host.create<memref::ExtractAlignedPointerAsIndexOp>(op.getInput());
  host.requireMultiple(address, 16, "the address of the input");
}

QuantizeTileBuilder::Destination
QuantizeTileBuilder::getDestination(unsigned index) {
  Destination dest;
  dest.axis = op.getAxes()[index];
  dest.name = dest.axis ? "rows" : "columns";
  dest.elementType = getElementTypeOrSelf(op.getElements(index).getType());
  dest.scales = op.getScales(index);
  dest.scaleType = getElementTypeOrSelf(dest.scales.getType());
  int64_t rows = getRows(), columns = getColumns();
  if (!dest.axis)
    std::swap(rows, columns);
  dest.scaleTileRows = rows / kScaleTileRows;
  dest.scaleTileColumns = columns / (kScaleTileBlocks * getBlock());
  int64_t bytes = columns / dest.getPacking();
  dest.panels = std::max<int64_t>(1, bytes / kPanelBytes);
  // A block of NVFP4 is half of what the copy engine needs.
  if (getBlock() == 16)
    host.requireMultiple(host.dim(op.getElements(index), 1), 32,
                         "dimension 1 of the elements");
  // The copy engine moves elements that are no bytes as the bytes of memory.
  dest.elements = toBytes(host, op.getElements(index));
  int64_t boxRows = isByUnits(dest) ? getUnitRows() : rows;
  dest.map = host.create<EncodeTensorMapOp>(
      getMap({boxRows, bytes / dest.panels},
             getElementTypeOrSelf(dest.elements.getType())),
      dest.elements);
  return dest;
}

void QuantizeTileBuilder::buildHost() {
  inputMap = host.create<EncodeTensorMapOp>(
      getMap({getUnitRows(), getPanelColumns()}, getInputType()),
      op.getInput());
  for (unsigned i = 0; i < op.getAxes().size(); ++i)
    destinations.push_back(getDestination(i));
}

/// Rows of whole tiles that suffice for all groups, whatever their sizes.
Value QuantizeTileBuilder::getPackedRows() {
  Value rows = host.dim(op.getInput(), 0);
  if (!op.getOffsets())
    return rows;
  Value tiles =
      host.add(host.div(rows, getRows()), host.dim(op.getOffsets(), 0));
  return host.mul(tiles, host.index(getRows()));
}

/// Where CTAs draw the numbers of further units.
Value QuantizeTileBuilder::createCounter() {
  Value counter =
      host.create<memref::AllocOp>(MemRefType::get({1}, host.getI32Type()));
  Value zero = host.create<arith::ConstantOp>(host.getI32IntegerAttr(0));
  host.create<gpu::MemsetOp>(TypeRange(), ValueRange(), counter, zero);
  return counter;
}

void QuantizeTileBuilder::build() {
  checkInput();
  buildHost();
  bool drawsTickets = schedule.getStages() > 1;
  Value rows = getPackedRows(), columns = host.dim(op.getInput(), 1);
  SmallVector<Value> arguments = {inputMap};
  for (const Destination &dest : destinations)
    if (writesRows(dest))
      llvm::append_values(arguments, dest.map, dest.elements, dest.scales);
    else
      llvm::append_values(arguments, dest.map, dest.scales);
  llvm::append_values(arguments, rows, columns);
  if (Value scale = op.getGlobalScale()) {
    requirePositive(host, scale);
    arguments.push_back(scale);
  }
  if (op.getOffsets())
    arguments.push_back(op.getOffsets());
  Value counter = drawsTickets ? createCounter() : Value();
  if (counter)
    arguments.push_back(counter);

  kernel = host.kernel(module, "quantize", ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  auto *argument = kernel.getBody().args_begin();
  kernelInputMap = *argument++;
  for (Destination &dest : destinations) {
    dest.kernelMap = *argument++;
    if (writesRows(dest))
      dest.kernelElements = *argument++;
    dest.kernelScales = *argument++;
  }
  Value kernelRows = *argument++, kernelColumns = *argument++;
  if (op.getGlobalScale())
    encode = *argument++;
  if (op.getOffsets())
    offsets = *argument++;
  body.setInsertionPointToStart(&kernel.getBody().front());
  buildKernel(kernelRows, kernelColumns, counter ? *argument : Value());

  Value grid = host.mul(host.ceilDiv(rows, getRows()),
                        host.ceilDiv(columns, getColumns()));
  if (op.getOffsets()) { // Without rows there is no map to load them by.
    Value all = host.dim(op.getInput(), 0);
    grid = host.mul(grid, host.create<arith::MinUIOp>(all, host.index(1)));
  }
  if (counter)
    grid = host.create<arith::MinUIOp>(
        grid,
        host.mul(host.create<SmCountOp>(), host.index(schedule.getCtas())));
  host.launch(kernel, grid, arguments);
  if (counter)
    host.create<memref::DeallocOp>(counter);
  op.erase();
}

//===----------------------------------------------------------------------===//
// What is taken
//===----------------------------------------------------------------------===//

/// The threads take whole rounds of a unit's fragments.
static LogicalResult verifyThreads(QuantizeOp op, int64_t fragments,
                                   int64_t threads) {
  if (fragments % threads == 0)
    return success();
  return op.emitOpError("expected a schedule whose threads divide the ")
         << fragments << " fragments of a unit, found " << threads;
}

/// Rows of 16 bytes, as far as the type says how long they are.
static LogicalResult verifyRows(QuantizeOp op, Value matrix, StringRef what) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t columns = type.getDimSize(1);
  int64_t bits = type.getElementTypeBitWidth();
  int64_t step = 128 / (bits == 6 ? 8 : bits);
  if (ShapedType::isDynamic(columns) || columns % step == 0)
    return success();
  return op.emitOpError("expected dimension 1 of ")
         << what << " to be a multiple of " << step << " with axes ["
         << op.getAxes() << "] on the GPU, found " << columns << ": pad it to "
         << roundUp(columns, step);
}

LogicalResult QuantizeTileBuilder::verify() {
  if (op.getSeed())
    return op.emitOpError("expected a seed with axes [1] and without ragged "
                          "rows only on the GPU, found axes [")
           << op.getAxes() << "]";
  for (int64_t size : schedule.getTile())
    if (size > kMaxBox)
      return op.emitOpError("expected a schedule with a tile of at most 256 "
                            "rows and columns for axes [")
             << op.getAxes() << "], found [" << schedule.getTile() << "]";
  if (op.getOffsets() &&
      (getRows() != kScaleTileRows || getUnitRows() != getRows() ||
       schedule.getStages() > 1))
    return op.emitOpError("expected a schedule with tiles of 128 rows in 1 "
                          "unit and stage for ragged rows, found ")
           << schedule;
  for (int64_t axis : op.getAxes())
    if (failed(verifyThreads(op, getNumFragments(axis), schedule.getThreads())))
      return failure();
  if (failed(verifyRows(op, op.getInput(), "the input")))
    return failure();
  for (unsigned i = 0; i < op.getAxes().size(); ++i)
    if (failed(verifyRows(op, op.getElements(i), "the elements")))
      return failure();
  return success();
}

LogicalResult mx::mxgpu::buildQuantizeTileKernel(QuantizeOp op,
                                                 QuantizeScheduleAttr schedule,
                                                 gpu::GPUModuleOp module) {
  QuantizeTileBuilder builder(op, schedule, module);
  if (failed(builder.verify()))
    return failure();
  builder.build();
  return success();
}

//===- QuantizeTileKernel.cpp - mx.quantize by tiles in shared memory -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit of work is a tile of the input. One thread loads it by bulk copies;
// the others read it by rows, by columns or both, and leave elements and scales
// in shared memory, from which bulk copies store them. What lies outside the
// tensor is read as zeros, whose scale is 0, and not written; tiles of scales
// are written whole.
//
// Threads are given fragments such that those of a warp lie in all banks: 32
// rows of one block, each in another place of the swizzle, or a whole line of
// 128 bytes.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// A side of a tile: that of a tile of scales, and of 128 bytes of elements.
static constexpr int64_t kTile = 128, kBlock = 32, kLineBytes = 128;

namespace {

/// The elements and scales of one axis.
struct Destination {
  int64_t axis;
  Value elements, scales; // of the host
  Value map;              // of the host: how the elements are stored
  Value kernelMap, kernelScales;
  std::string name; // of its fields

  std::string getElementField() const { return name; }
  std::string getScaleField() const { return name + "_scales"; }
};

class QuantizeTileBuilder {
public:
  QuantizeTileBuilder(QuantizeOp op, gpu::GPUModuleOp module)
      : op(op), module(module), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()) {}

  void build();

private:
  void checkInput();
  void buildHost();
  void buildKernel();
  void buildLoad();
  void buildPass(const Destination &dest, Value source, Value staged);
  void buildFragment(const Destination &dest, Value source, Value staged,
                     Value item);
  void buildStores(const Destination &dest, Value staged);

  Type getInputType() { return getElementTypeOrSelf(op.getInput().getType()); }
  int64_t getInputBytes() { return getInputType().getIntOrFloatBitWidth() / 8; }
  /// Columns of the input in a line of shared memory.
  int64_t getPanelColumns() { return kLineBytes / getInputBytes(); }
  bool isOnlyTransposed() { return op.getAxes() == ArrayRef<int64_t>{0}; }

  RingType getInputRing();
  RingType getOutputRing();
  BufferType getBuffer(ArrayRef<int64_t> shape, Type type,
                       mxgpu::Swizzle swizzle) {
    return BufferType::get(op.getContext(), Space::Smem, shape, type, swizzle);
  }
  TensorMapType getMap(ArrayRef<int64_t> box, Type type) {
    return TensorMapType::get(op.getContext(), box, type,
                              mxgpu::Swizzle::Sw128);
  }
  /// Row and column of the input at which a unit's tile begins.
  std::pair<Value, Value> getStart(ForEachWorkOp unit) {
    if (isOnlyTransposed())
      return {unit.getColumn(), unit.getRow()};
    return {unit.getRow(), unit.getColumn()};
  }

  static constexpr int64_t kThreads = 256;

  QuantizeOp op;
  gpu::GPUModuleOp module;
  KernelBuilder host, body;
  SmallVector<Destination> destinations;
  Value inputMap, kernelInputMap;
  KernelOp kernel;
  Value inputs, outputs, work;
  ForEachWorkOp unit;
};

} // namespace

RingType QuantizeTileBuilder::getInputRing() {
  int64_t columns = getPanelColumns();
  return RingType::get(op.getContext(), /*stages=*/1, {host.getStringAttr("x")},
                       {getBuffer({kTile / columns, kTile, columns},
                                  getInputType(), mxgpu::Swizzle::Sw128)},
                       Agent::Tma, 1, Agent::Threads, kThreads, Scope::Cta,
                       /*overlap=*/0);
}

RingType QuantizeTileBuilder::getOutputRing() {
  SmallVector<StringAttr> names;
  SmallVector<BufferType> buffers;
  for (const Destination &dest : destinations) {
    auto map = cast<TensorMapType>(dest.map.getType());
    names.push_back(host.getStringAttr(dest.getElementField()));
    buffers.push_back(
        getBuffer(map.getBox(), map.getElementType(), map.getSwizzle()));
    names.push_back(host.getStringAttr(dest.getScaleField()));
    buffers.push_back(getBuffer({kScaleTileBytes},
                                getElementTypeOrSelf(dest.scales.getType()),
                                mxgpu::Swizzle::None));
  }
  return RingType::get(op.getContext(), /*stages=*/1, names, buffers,
                       Agent::Threads, kThreads, Agent::TmaStore, 1, Scope::Cta,
                       /*overlap=*/0);
}

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

void QuantizeTileBuilder::buildHost() {
  inputMap = host.create<EncodeTensorMapOp>(
      getMap({kTile, getPanelColumns()}, getInputType()), op.getInput());
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    Value elements = op.getElements(i);
    TensorMapType map =
        getMap({kTile, kTile}, getElementTypeOrSelf(elements.getType()));
    destinations.push_back({axis, elements, op.getScales(i),
                            host.create<EncodeTensorMapOp>(map, elements),
                            Value(), Value(), axis ? "rows" : "columns"});
  }
}

void QuantizeTileBuilder::buildLoad() {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  auto [row, column] = getStart(body.forEachWork(work));
  Value slot = body.create<AcquireOp>(inputs);
  int64_t columns = getPanelColumns();
  for (int64_t panel = 0; panel < kTile / columns; ++panel)
    body.create<TmaLoadOp>(
        kernelInputMap, ValueRange{row, body.add(column, panel * columns)},
        slot, "x", body.index(panel), /*multicast=*/false, CacheHint::None);
  body.create<PublishOp>(slot, Value());
}

/// Quantizes the fragment with the number `item`: a block of a row, or so many
/// columns that a row of them is a word.
void QuantizeTileBuilder::buildFragment(const Destination &dest, Value source,
                                        Value staged, Value item) {
  Type elementType = getElementTypeOrSelf(dest.elements.getType());
  Type scaleType = getElementTypeOrSelf(dest.scales.getType());
  auto rem = [&](Value value, int64_t by) -> Value {
    return body.create<arith::RemUIOp>(value, body.index(by));
  };
  if (dest.axis == 1) {
    Value row = rem(item, kTile), block = body.div(item, kTile);
    Value column = body.mul(block, body.index(kBlock));
    Value x = body.create<LoadSharedOp>(VectorType::get(kBlock, getInputType()),
                                        source, "x", row, column);
    auto quantized = body.create<QuantizeBlockOp>(
        TypeRange{VectorType::get(kBlock, elementType), scaleType}, x,
        op.getScaleRounding());
    body.create<StoreSharedOp>(quantized.getElements(), staged,
                               dest.getElementField(), ValueRange{row, column});
    body.create<StoreScaleOp>(quantized.getScale(), staged,
                              dest.getScaleField(), row, block);
    return;
  }
  int64_t columns = 4 / getInputBytes(), inLine = kTile / columns;
  Value column = body.mul(rem(item, inLine), body.index(columns));
  Value block = body.div(item, inLine);
  Value row = body.mul(block, body.index(kBlock));
  Value x = body.create<LoadSharedOp>(
      VectorType::get({kBlock, columns}, getInputType()), source, "x", row,
      column);
  auto quantized = body.create<QuantizeColumnsOp>(
      TypeRange{VectorType::get({columns, kBlock}, elementType),
                VectorType::get(columns, scaleType)},
      x, op.getScaleRounding());
  body.create<StoreSharedOp>(quantized.getElements(), staged,
                             dest.getElementField(), ValueRange{column, row});
  for (int64_t i = 0; i < columns; ++i) {
    Value scale = body.create<vector::ExtractOp>(quantized.getScales(),
                                                 ArrayRef<int64_t>{i});
    body.create<StoreScaleOp>(scale, staged, dest.getScaleField(),
                              i ? body.add(column, i) : column, block);
  }
}

/// All fragments of a tile, shared out among the threads.
void QuantizeTileBuilder::buildPass(const Destination &dest, Value source,
                                    Value staged) {
  Value thread = body.create<ThreadIdOp>();
  int64_t elements = dest.axis ? kBlock : kBlock * 4 / getInputBytes();
  int64_t rounds = kTile * kTile / elements / kThreads;
  if (rounds == 1)
    return buildFragment(dest, source, staged, thread);
  auto loop =
      body.create<scf::ForOp>(body.index(0), body.index(rounds), body.index(1));
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  Value first = body.mul(loop.getInductionVar(), body.index(kThreads));
  buildFragment(dest, source, staged, body.add(first, thread));
}

void QuantizeTileBuilder::buildStores(const Destination &dest, Value staged) {
  auto [row, column] = getStart(unit);
  if (dest.axis == 0)
    std::swap(row, column);
  body.create<TmaStoreOp>(staged, dest.getElementField(), dest.kernelMap,
                          ValueRange{row, column}, /*add=*/false);
  body.create<BulkStoreOp>(
      staged, dest.getScaleField(), dest.kernelScales,
      ValueRange{body.div(row, kTile), body.div(column, kTile)});
}

void QuantizeTileBuilder::buildKernel() {
  body.setInsertionPointToStart(&kernel.getBody().front());
  // The problem is that of the output which is written first: its rows are
  // those of the input, or its columns.
  Value rows = kernel.getBody().getArguments().end()[-2];
  Value columns = kernel.getBody().getArguments().back();
  inputs = body.create<RingOp>(getInputRing(), "in", DenseI64ArrayAttr(),
                               IntegerAttr(), IntegerAttr());
  outputs = body.create<RingOp>(getOutputRing(), "out", DenseI64ArrayAttr(),
                                IntegerAttr(), IntegerAttr());
  work = body.create<WorkSourceOp>(
      rows, columns, /*reduction=*/body.index(0),
      ArrayRef<int64_t>{kTile, kTile},
      RasterAttr::get(op.getContext(), RasterOrder::Linear, 1));
  buildLoad();
  body.role("quantize", kThreads / 32, /*elected=*/false);
  unit = body.forEachWork(work);
  Value staged = body.create<AcquireOp>(outputs);
  Value source = body.create<ConsumeOp>(inputs);
  for (const Destination &dest : destinations)
    buildPass(dest, source, staged);
  body.create<ReleaseOp>(source);
  for (const Destination &dest : destinations)
    buildStores(dest, staged);
  body.create<PublishOp>(staged, Value());
}

void QuantizeTileBuilder::build() {
  checkInput();
  buildHost();
  SmallVector<Value> arguments = {inputMap};
  for (const Destination &dest : destinations)
    llvm::append_values(arguments, dest.map, dest.scales);
  Value rows = host.dim(op.getInput(), 0), columns = host.dim(op.getInput(), 1);
  if (isOnlyTransposed())
    std::swap(rows, columns);
  llvm::append_values(arguments, rows, columns);
  kernel = host.kernel(module, "quantize", ValueRange(arguments).getTypes());
  auto *argument = kernel.getBody().args_begin();
  kernelInputMap = *argument++;
  for (Destination &dest : destinations) {
    dest.kernelMap = *argument++;
    dest.kernelScales = *argument++;
  }
  buildKernel();
  Value tiles =
      host.mul(host.ceilDiv(rows, kTile), host.ceilDiv(columns, kTile));
  host.launch(kernel, tiles, arguments);
  op.erase();
}

/// Rows of other formats than E4M3 with tiles of scales are QuantizeKernel's.
static LogicalResult checkSupport(QuantizeOp op) {
  if (op.getBlockSize() != kBlock)
    return op.emitOpError("expected blocks of 32 with axes [0] on the GPU, "
                          "found ")
           << op.getBlockSize();
  for (unsigned i = 0; i < op.getAxes().size(); ++i) {
    auto elements = cast<MemRefType>(op.getElements(i).getType());
    if (!isa<Float8E4M3FNType>(elements.getElementType()))
      return op.emitOpError("expected elements of f8E4M3FN with axes [0] on "
                            "the GPU, found ")
             << elements;
    auto scales = cast<MemRefType>(op.getScales(i).getType());
    if (scales.getRank() != 5)
      return op.emitOpError("expected scales in layout tcgen05 with axes [0] "
                            "on the GPU, found ")
             << scales;
  }
  return success();
}

LogicalResult mx::mxgpu::buildQuantizeTileKernel(QuantizeOp op,
                                                 gpu::GPUModuleOp module) {
  if (failed(checkSupport(op)))
    return failure();
  auto type = cast<MemRefType>(op.getInput().getType());
  int64_t columns = type.getDimSize(1);
  int64_t step = 16 * 8 / type.getElementTypeBitWidth();
  if (!ShapedType::isDynamic(columns) && columns % step)
    return op.emitOpError("expected dimension 1 of the input to be a multiple "
                          "of ")
           << step << " with axes [0] on the GPU, found " << columns
           << ": pad it to " << roundUp(columns, step);
  QuantizeTileBuilder(op, module).build();
  return success();
}

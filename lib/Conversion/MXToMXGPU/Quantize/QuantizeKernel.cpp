//===- QuantizeKernel.cpp - The kernel of mx.quantize along rows ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A work tile is a tile of the input. Adjacent threads hold adjacent pieces
// of a row, and each thread pieces of several rows, all of which it loads
// before it uses the first: nothing but registers stands between the memories.
// Rows and columns outside the tensor are read as zeros, and so are rows that a
// gather leaves out.
//
// What is quantized along columns goes through shared memory, see
// QuantizeTileKernel.cpp.
//
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"
#include "QuantizeChecks.h"
#include "QuantizeInputLoader.h"
#include "QuantizeSchedule.h"
#include "QuantizeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

StringRef mx::mxgpu::getKernelName(FusedQuantizeOp op) {
  return op.getDequantized() ? "quantize_dequantize" : "quantize";
}

/// Appends what a kernel is given to write a destination along rows.
static void addDestination(KernelBuilder &host, FusedQuantizeOp op,
                           unsigned index, SmallVectorImpl<Value> &arguments) {
  Value elements = op.getElements(index);
  if (!op.isDequantized(index)) {
    llvm::append_values(arguments, toBytes(host, elements),
                        op.getScales(index));
    return;
  }
  arguments.push_back(elements);
  if (Value factor = op.getDecodeFactor(index))
    arguments.push_back(factor);
}

namespace {

/// The kernel in the making.
class QuantizeRowsBuilder {
public:
  QuantizeRowsBuilder(FusedQuantizeOp op, QuantizeScheduleAttr schedule,
                      gpu::GPUModuleOp module)
      : op(op), schedule(schedule), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()), module(module),
        pieces(op, body, schedule.getVector(), schedule.getTile(),
               /*padded=*/false),
        destinations(op.getNumDestinations()) {}

  void build();

private:
  /// In the kernel: elements and scales, or the values that they are
  /// dequantized to in registers, and NVFP4's factor of those.
  struct Destination {
    Value elements, scales, decode;
  };

  SmallVector<Value> getArguments();
  void takeArguments();
  void buildBody();
  Value getColumn(const QuantizeInputLoader::Piece &piece, size_t value);
  void store(const QuantizeInputLoader::Piece &piece, ArrayRef<Value> values);

  VectorType getVector(Type element) {
    return VectorType::get(schedule.getVector(), element);
  }

  FusedQuantizeOp op;
  QuantizeScheduleAttr schedule;
  KernelBuilder host, body;
  gpu::GPUModuleOp module;
  QuantizeInputLoader pieces;
  KernelOp kernel;
  /// In the kernel.
  SmallVector<Destination> destinations;
  SmallVector<Value> magnitudes;
  Value encode, seed, columns, blocks;
};

} // namespace

SmallVector<Value> QuantizeRowsBuilder::getArguments() {
  SmallVector<Value> arguments = pieces.getArguments(host);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    addDestination(host, op, i, arguments);
  if (Value scale = op.getGlobalScale())
    arguments.push_back(checkPositive(host, scale));
  if (op.getSeed())
    arguments.push_back(op.getSeed());
  llvm::append_range(arguments, op.getAmaxOuts());
  return arguments;
}

void QuantizeRowsBuilder::takeArguments() {
  Block::args_iterator next = kernel.getBody().args_begin();
  pieces.takeArguments(next);
  for (auto [i, dest] : llvm::enumerate(destinations)) {
    dest.elements = *next++;
    if (!op.isDequantized(i))
      dest.scales = *next++;
    else if (op.getDecodeFactor(i))
      dest.decode = *next++;
  }
  if (op.getGlobalScale())
    encode = *next++;
  if (op.getSeed())
    seed = *next++;
  for (unsigned i = 0; i < op.getAmaxOuts().size(); ++i)
    magnitudes.push_back(*next++);
}

/// Where a piece of a value lies in what is quantized.
Value QuantizeRowsBuilder::getColumn(const QuantizeInputLoader::Piece &piece,
                                     size_t value) {
  if (!op.getConcat() || value == 0)
    return piece.column;
  return body.add(body.mul(pieces.getColumns(), body.index(value)),
                  piece.column);
}

void QuantizeRowsBuilder::store(const QuantizeInputLoader::Piece &piece,
                                ArrayRef<Value> values) {
  int64_t block = op.getBlockSize(), lanes = block / schedule.getVector();
  for (auto [number, value] : llvm::enumerate(values)) {
    unsigned i = op.getConcat() ? 0 : number;
    const Destination &dest = destinations[i];
    Value column = getColumn(piece, number), first;
    if (seed)
      first = body.add(body.mul(piece.row, columns), column);
    QuantizeInputLoader::Loaded stored = piece.inputs[0];
    if (!op.isCopied(i)) {
      auto quantized = QuantizeBlockOp::create(
          body, TypeRange{getVector(op.getElementType(i)), op.getScaleType(i)},
          value, encode, seed, first, op.getScaleRounding(), lanes);
      stored = {quantized.getElements(), quantized.getScale()};
    }
    if (op.isDequantized(i)) {
      Value dequantized = DequantizeBlockOp::create(
          body, getVector(getElementTypeOrSelf(dest.elements)), stored.elements,
          stored.scale, dest.decode);
      StoreBlockOp::create(body, dequantized, dest.elements, piece.row, column);
      continue;
    }
    StoreBlockOp::create(body, stored.elements, dest.elements, piece.row,
                         column);
    StoreScalesOp::create(body, stored.scale, dest.scales, piece.row,
                          body.div(column, block), pieces.getRows(), blocks,
                          lanes);
  }
}

void QuantizeRowsBuilder::buildBody() {
  body.setInsertionPointToStart(&kernel.getBody().front());
  pieces.begin();
  columns = pieces.getColumns();
  if (op.getConcat())
    columns = body.mul(columns, body.index(op.getNumConcatenated()));
  blocks = body.div(columns, op.getBlockSize());
  auto threads =
      forEachTile(body, "quantize", pieces.getRows(), pieces.getColumns(),
                  schedule.getTile(), schedule.getThreads(),
                  schedule.getVector(), schedule.getRaster());
  SmallVector<Value> known;
  for (Value magnitude : magnitudes)
    known.push_back(LoadRelaxedOp::create(body, magnitude));
  SmallVector<QuantizeInputLoader::Piece> loaded;
  for (int64_t i = 0; i < schedule.getTile()[0]; i += threads.step)
    loaded.push_back(pieces.load(body.add(threads.row, i), threads.column));
  // Found before a piece is quantized, which then leaves its registers.
  SmallVector<Value> maxima(magnitudes.size());
  for (const QuantizeInputLoader::Piece &piece : loaded) {
    SmallVector<Value> values = pieces.produce(piece);
    for (auto [i, value] : llvm::enumerate(values)) {
      if (maxima.empty())
        break;
      Value &maximum = maxima[op.getConcat() ? 0 : i];
      Value largest = findThreadAmax(body, op, value);
      maximum =
          maximum
              ? arith::MaximumFOp::create(body, maximum, largest).getResult()
              : largest;
    }
    store(piece, values);
  }
  for (auto [maximum, before, magnitude] :
       llvm::zip_equal(maxima, known, magnitudes))
    AtomicMaxOp::create(body, maximum, before, magnitude);
}

void QuantizeRowsBuilder::build() {
  SmallVector<Value> arguments = getArguments();
  kernel =
      host.kernel(module, getKernelName(op), ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(schedule.getCtas());
  takeArguments();
  buildBody();
  Value rowTiles =
      host.ceilDiv(getQuantizedDim(host, op, 0), schedule.getTile()[0]);
  Value columnTiles =
      host.ceilDiv(host.dim(op.getInput(), 1), schedule.getTile()[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
}

LogicalResult mx::mxgpu::convertQuantize(FusedQuantizeOp op,
                                         gpu::GPUModuleOp module,
                                         const target::TargetInfo &target) {
  if (failed(verifyQuantizeSupport(op)))
    return failure();
  auto schedule =
      op->getAttrOfType<QuantizeScheduleAttr>(kQuantizeScheduleAttrName);
  if (!schedule)
    schedule = selectQuantizeSchedule(op, target);
  if (failed(verifyQuantizeSchedule(op, schedule)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  checkQuantizeSizes(host, op, schedule);
  for (Value magnitude : op.getAmaxOuts())
    clearMemory(host, magnitude);
  if (isByTiles(op))
    return buildQuantizeTileKernel(op, schedule, module);
  QuantizeRowsBuilder(op, schedule, module).build();
  return success();
}

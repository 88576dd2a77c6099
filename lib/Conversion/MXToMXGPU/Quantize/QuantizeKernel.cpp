//===- QuantizeKernel.cpp - The kernel of mx.quantize along rows ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit of work is a tile of the input. Adjacent threads hold adjacent pieces
// of a row, and each thread pieces of several rows, all of which it loads
// before it uses the first: nothing but registers stands between the memories.
// Rows and columns outside the tensor are read as zeros, and so are rows that a
// gather leaves out.
//
// What is quantized along columns goes through shared memory, see
// QuantizeTileKernel.cpp; what both have in common is checked here.
//
//===----------------------------------------------------------------------===//

#include "QuantizeInputLoader.h"
#include "TileThreads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static int64_t getRowMultiple(MemRefType type) {
  return kLoadBytes * 8 / type.getElementTypeBitWidth();
}

/// A matrix, or columns of a wider one, or a batch of matrices. Elements that
/// share bytes are read as those.
static LogicalResult checkInput(QuantizeOp op, MemRefType input) {
  bool isWhole = input.getLayout().isIdentity();
  if (!isWhole && (input.getRank() != 2 || !mayHaveStride(input)))
    return op.emitOpError("expected a matrix whose rows are contiguous, those "
                          "of 4 and 6 bits and batches with identity layout, "
                          "on the GPU, found ")
           << input;
  return isWhole
             ? success()
             : verifyRowStride(op, input, getRowMultiple(input), "an input");
}

static LogicalResult checkSupport(QuantizeOp op) {
  if (op.getRagged() == RaggedKind::Reduction)
    return op.emitOpError("expected ragged = rows on the GPU, found ragged = "
                          "reduction: transpose the input");
  for (Value operand : op.getInputs())
    if (failed(checkInput(op, cast<MemRefType>(operand.getType()))))
      return failure();
  for (Value scales : op.getInputScales())
    if (auto type = cast<MemRefType>(scales.getType());
        !type.getLayout().isIdentity())
      return op.emitOpError("expected input_scales with identity layout on the "
                            "GPU, found ")
             << type;
  if (op.getGather() &&
      !cast<MemRefType>(op.getGather().getType()).getLayout().isIdentity())
    return op.emitOpError("expected gather with identity layout on the GPU, "
                          "found ")
           << op.getGather().getType();
  for (Value out : op.getOuts())
    if (auto type = cast<MemRefType>(out.getType());
        !type.getLayout().isIdentity())
      return op.emitOpError("expected destinations with identity layout on the "
                            "GPU, found ")
             << type;
  if (getBatchRank(op) && op.getPrologueBlock())
    return op.emitOpError("expected a matrix with a prologue on the GPU, "
                          "found ")
           << op.getInput().getType();
  return ElementRegion(op.getPrologueBlock()).verify();
}

LogicalResult mx::mxgpu::verifyRowSchedule(Operation *op, int64_t block,
                                           QuantizeScheduleAttr schedule) {
  int64_t rows = schedule.getTile()[0], columns = schedule.getTile()[1];
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  if (vector > block)
    return op->emitOpError("expected a schedule with vectors of at most ")
           << block << " elements, a block, found " << vector;
  if (threads % (columns / vector) || rows % (threads / (columns / vector)))
    return op->emitOpError("expected a schedule whose threads cover rows of ")
           << columns / vector << " vectors, and a tile of " << rows
           << " rows in whole passes, found " << threads << " threads";
  // Each element has instructions of its own.
  constexpr int64_t kMostElements = 256;
  if (int64_t elements = rows * columns / threads; elements > kMostElements)
    return op->emitOpError("expected a schedule with at most ")
           << kMostElements << " elements of a tile for each thread, found "
           << elements;
  if (schedule.getStages() != 1 || schedule.getStageRows() ||
      schedule.getAtomicCounter())
    return op->emitOpError(
               "expected a schedule with 1 stage and neither unit "
               "nor atomic_counter along rows, which needs no shared "
               "memory, found ")
           << schedule;
  return success();
}

/// Elements that share a scale, of the destinations and of all inputs.
static int64_t getSmallestBlock(QuantizeOp op) {
  int64_t block = op.getBlockSize();
  for (Value scales : op.getInputScales())
    block = std::min(block, getBlockSizeOf(getElementTypeOrSelf(scales)));
  return block;
}

/// No tile has columns of two values that lie side by side.
static LogicalResult verifyConcatenated(QuantizeOp op,
                                        QuantizeScheduleAttr schedule) {
  int64_t columns = op.getInput().getType().getDimSize(1);
  int64_t multiple = schedule.getTile()[1];
  if (!op.getConcat() || ShapedType::isDynamic(columns) ||
      columns % multiple == 0)
    return success();
  return op.emitOpError("expected dimension 1 of the input to be a multiple of "
                        "the ")
         << multiple << " columns of a tile with concat on the GPU, found "
         << columns;
}

static void checkInputs(KernelBuilder &host, QuantizeOp op,
                        QuantizeScheduleAttr schedule) {
  if (op.getConcat())
    host.requireMultiple(host.dim(op.getInput(), 1), schedule.getTile()[1],
                         "dimension 1 of the input with concat");
  for (Value input : op.getInputs().drop_front())
    for (int64_t dim : {0, 1})
      host.requireSize(host.dim(input, dim), host.dim(op.getInput(), dim),
                       "dimension " + Twine(dim) + " of an input");
  for (Value input : op.getInputs())
    if (auto type = cast<MemRefType>(input.getType());
        isByTiles(op) || !type.getLayout().isIdentity())
      requireRows(host, input, getRowMultiple(type), kLoadBytes, "an input");
  if (op.getPrologueBlock())
    ElementRegion(op.getPrologueBlock())
        .requireSizes(host, getQuantizedDim(host, op, 0),
                      getQuantizedDim(host, op, 1));
  for (const QuantizeSource &source : op.getSources()) {
    if (!source.scales)
      continue;
    Value rows = host.dim(op.getInput(), 0);
    Value columns = host.dim(op.getInput(), 1);
    int64_t block = source.getBlockSize();
    host.requireMultiple(columns, block, "dimension 1 of the input");
    requireScaleSizes(host, source.scales, rows, columns, block,
                      /*rowTiles=*/{}, "input_scales");
  }
}

void mx::mxgpu::requireScaleSizes(KernelBuilder &host, Value scales, Value rows,
                                  Value columns, int64_t block, Value rowTiles,
                                  StringRef name, int64_t batch) {
  if (cast<MemRefType>(scales.getType()).getRank() == batch + 2) {
    host.requireSize(host.dim(scales, batch), rows,
                     "dimension " + Twine(batch) + " of " + name);
    host.requireSize(host.dim(scales, batch + 1), host.div(columns, block),
                     "dimension " + Twine(batch + 1) + " of " + name);
    return;
  }
  if (!rowTiles)
    rowTiles = host.ceilDiv(rows, kScaleTileRows);
  host.requireSize(host.dim(scales, batch), rowTiles,
                   "tiles of rows of " + name);
  host.requireSize(host.dim(scales, batch + 1),
                   host.ceilDiv(columns, kScaleTileBlocks * block),
                   "tiles of blocks of " + name);
}

/// What the verifier could not see in dynamic shapes. The groups of ragged rows
/// have tiles of scales of their own, and, transposed, whole tiles of columns.
static void checkSizes(KernelBuilder &host, QuantizeOp op, unsigned index) {
  int64_t axis = op.getAxis(index);
  Value rows = getQuantizedDim(host, op, 1 - axis);
  Value columns = getQuantizedDim(host, op, axis);
  Value elements = op.getElements(index), scales = op.getScales(index);
  int64_t block = op.getBlockSize(), batch = getBatchRank(op);
  RaggedKind ragged = op.getRaggedOfAxis(axis);
  for (int64_t dim = 0; dim < batch; ++dim)
    for (auto [value, name] :
         {std::pair(elements, "the elements"), std::pair(scales, "the scales")})
      host.requireSize(host.dim(value, dim), host.dim(op.getInput(), dim),
                       "dimension " + Twine(dim) + " of " + name);
  if (ragged == RaggedKind::Reduction) {
    Value groups = host.dim(op.getOffsets(), 0);
    Value most = host.mul(groups, host.index(kRaggedReductionAlign - 1));
    columns =
        host.mul(host.ceilDiv(host.add(columns, most), kRaggedReductionAlign),
                 host.index(kRaggedReductionAlign));
  } else {
    host.requireMultiple(columns, block,
                         "dimension " + Twine(batch + axis) + " of the input");
  }
  for (auto [dim, size] :
       {std::pair(batch, rows), std::pair(batch + 1, columns)})
    host.requireSize(host.dim(elements, dim), size,
                     "dimension " + Twine(dim) + " of the elements");
  Value rowTiles;
  if (ragged == RaggedKind::Rows)
    rowTiles = host.packedTiles(rows, kScaleTileRows, op.getOffsets());
  requireScaleSizes(host, scales, rows, columns, block, rowTiles, "the scales",
                    batch);
}

/// By their bits, zero, negative numbers and NaN are refused alike.
void mx::mxgpu::requirePositive(KernelBuilder &host, Value scale) {
  Value bits = arith::BitcastOp::create(host, host.getI32Type(), scale);
  Value shown = arith::IndexCastUIOp::create(host, host.getIndexType(), bits);
  auto isAtMost = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(host, arith::CmpIPredicate::ule, a, b);
  };
  Value isAboveZero = isAtMost(host.index(1), shown);
  Value isPositive = arith::AndIOp::create(
      host, isAboveZero, isAtMost(shown, host.index(0x7F800000)));
  RequireOp::create(host, isPositive,
                    "expected a global_scale greater than 0, found the "
                    "bits %lld",
                    ValueRange(shown));
}

Value mx::mxgpu::toBytes(KernelBuilder &host, Value elements) {
  auto type = cast<MemRefType>(elements.getType());
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() >= 8)
    return elements;
  SmallVector<int64_t> shape(type.getShape());
  if (isa<Float4E2M1FNType>(element) && !ShapedType::isDynamic(shape.back()))
    shape.back() /= 2;
  return UnrealizedConversionCastOp::create(
             host, MemRefType::get(shape, host.getI8Type()), elements)
      .getResult(0);
}

namespace {

/// The kernel in the making.
class QuantizeRowsBuilder {
public:
  QuantizeRowsBuilder(QuantizeOp op, QuantizeScheduleAttr schedule,
                      gpu::GPUModuleOp module)
      : op(op), schedule(schedule), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()), module(module),
        pieces(op, body, schedule.getVector(), schedule.getTile(),
               /*padded=*/false) {}

  void build();

private:
  SmallVector<Value> getArguments();
  void takeArguments();
  void buildBody();
  Value getColumn(const QuantizeInputLoader::Piece &piece, size_t value);
  void store(const QuantizeInputLoader::Piece &piece, ArrayRef<Value> values);

  VectorType getVector(Type element) {
    return VectorType::get(schedule.getVector(), element);
  }

  QuantizeOp op;
  QuantizeScheduleAttr schedule;
  KernelBuilder host, body;
  gpu::GPUModuleOp module;
  QuantizeInputLoader pieces;
  KernelOp kernel;
  /// In the kernel.
  SmallVector<Value> elements, scales, magnitudes;
  Value encode, seed, columns, blocks;
};

} // namespace

SmallVector<Value> QuantizeRowsBuilder::getArguments() {
  SmallVector<Value> arguments = pieces.getArguments(host);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    llvm::append_values(arguments, toBytes(host, op.getElements(i)),
                        op.getScales(i));
  if (Value scale = op.getGlobalScale()) {
    requirePositive(host, scale);
    arguments.push_back(scale);
  }
  if (op.getSeed())
    arguments.push_back(op.getSeed());
  llvm::append_range(arguments, op.getAmaxOuts());
  return arguments;
}

void QuantizeRowsBuilder::takeArguments() {
  Block::args_iterator next = kernel.getBody().args_begin();
  pieces.takeArguments(next);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    elements.push_back(*next++);
    scales.push_back(*next++);
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
    Value column = getColumn(piece, number), first;
    if (seed)
      first = body.add(body.mul(piece.row, columns), column);
    Type element = getElementTypeOrSelf(op.getElements(i).getType());
    Type scale = getElementTypeOrSelf(op.getScales(i).getType());
    auto quantized = QuantizeBlockOp::create(
        body, TypeRange{getVector(element), scale}, value, encode, seed, first,
        op.getScaleRounding(), lanes);
    StoreBlockOp::create(body, quantized.getElements(), elements[i], piece.row,
                         column);
    StoreScalesOp::create(body, quantized.getScale(), scales[i], piece.row,
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
  kernel = host.kernel(module, "quantize", ValueRange(arguments).getTypes());
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

LogicalResult mx::mxgpu::convertQuantize(QuantizeOp op, gpu::GPUModuleOp module,
                                         const target::TargetInfo &target) {
  if (failed(checkSupport(op)))
    return failure();
  auto schedule =
      op->getAttrOfType<QuantizeScheduleAttr>(kQuantizeScheduleAttrName);
  if (!schedule)
    schedule = selectQuantizeSchedule(op, target.chip);
  if (failed(verifyConcatenated(op, schedule)))
    return failure();
  if (!isByTiles(op) &&
      failed(verifyRowSchedule(op, getSmallestBlock(op), schedule)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  checkInputs(host, op, schedule);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    checkSizes(host, op, i);
  for (Value magnitude : op.getAmaxOuts())
    clearMemory(host, magnitude);
  if (isByTiles(op))
    return buildQuantizeTileKernel(op, schedule, module);
  QuantizeRowsBuilder(op, schedule, module).build();
  return success();
}

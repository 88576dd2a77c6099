//===- QuantizeChecks.cpp - Verification of quantizer kernels -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies types and schedules before a kernel is built.
//===----------------------------------------------------------------------===//

#include "QuantizeChecks.h"
#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "QuantizeInputLoader.h"
#include "QuantizeSchedule.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

bool mx::mxgpu::hasLayout(FusedQuantizeOp op, ScaleLayoutKind kind) {
  return llvm::any_of(llvm::seq(op.getNumDestinations()), [&](unsigned i) {
    return !op.isDequantized(i) &&
           getLayoutKind(cast<MemRefType>(op.getScales(i).getType()),
                         getBatchRank(op) + 2) == kind;
  });
}

bool mx::mxgpu::isByTiles(FusedQuantizeOp op) {
  if (op.getAxes() != ArrayRef<int64_t>{1} || op.getSquare() ||
      getBatchRank(op))
    return true;
  // Expert groups affect only positions of scales and the rows in amax. They
  // move no f32 scales.
  bool hasScales =
      op.getNumDequantized() != op.getNumDestinations() &&
      !getBlockFormat(op.getScaleType(0), op.getBlockSize()).isExact;
  return op.getOffsets() && (hasScales || op.getAmax());
}

bool mx::mxgpu::holdsBlocks(FusedQuantizeOp op, QuantizeScheduleAttr schedule) {
  int64_t blockRows = getBlockRows(op.getScaleType(0), op.getBlockSize());
  return llvm::all_of(op.getAxes(), [&](int64_t axis) {
    int64_t block[] = {blockRows, op.getBlockSize()};
    if (blockRows > 1)
      return schedule.getTile()[0] == block[!axis] &&
             schedule.getTile()[1] == block[axis] &&
             schedule.getRowsPerStage() == block[!axis];
    int64_t size = axis ? schedule.getTile()[1] : schedule.getRowsPerStage();
    return size % op.getBlockSize() == 0;
  });
}

SmallVector<int64_t> mx::mxgpu::getTileShape(FusedQuantizeOp op,
                                             QuantizeScheduleAttr schedule) {
  SmallVector<int64_t> tile(schedule.getTile());
  if (op.getBlockSize() == BlockFormat::kWhole) {
    int64_t atOnce = schedule.getThreads() * schedule.getVector();
    int64_t rows =
        tile[1] >= atOnce ? 1 : schedule.getThreads() / target::kWarpSize;
    return {rows, atOnce / rows};
  }
  int64_t columns = kScaleTileBlocks * op.getBlockSize();
  // Adjacent sets of lanes write the scales of adjacent rows.
  if (hasLayout(op, ScaleLayoutKind::MNMajor) ||
      getBlockRows(op.getScaleType(0), op.getBlockSize()) > 1)
    columns = op.getBlockSize();
  if (isByTiles(op) || tile[1] >= columns)
    return tile;
  return {tile[0] * tile[1] / columns, columns};
}

static int64_t getRowMultiple(MemRefType type) {
  return kLoadBytes * 8 / type.getElementTypeBitWidth();
}

/// Fails unless the input is a matrix, possibly with strided rows, or a
/// contiguous batch. Elements narrower than a byte must be contiguous.
static LogicalResult checkInput(FusedQuantizeOp op, MemRefType input) {
  bool isWhole = isContiguous(input);
  if (!isWhole && (input.getRank() != 2 || !mayHaveStride(input)))
    return op.emitOpError("expected a matrix with contiguous rows on the GPU "
                          "(identity layout for batches and for 4- and 6-bit "
                          "elements), found ")
           << input;
  return isWhole
             ? success()
             : verifyRowStride(op, input, getRowMultiple(input), "an input");
}

LogicalResult mx::mxgpu::verifyQuantizeSupport(FusedQuantizeOp op) {
  if (op.getRagged() == RaggedKind::Reduction)
    return op.emitOpError("expected ragged = rows on the GPU, found ragged = "
                          "reduction: transpose the input");
  const BlockFormat &format =
      getBlockFormat(op.getScaleType(0), op.getBlockSize());
  bool isWhole = format.blockSize == BlockFormat::kWhole;
  if (isByTiles(op) && isWhole)
    return op.emitOpError("expected a matrix with blocks along rows, without "
                          "expert groups, for a scale for ")
           << format.describeBlock() << " on the GPU: quantize on the host";
  if (format.blockRows == BlockFormat::kWhole)
    return op.emitOpError("expected blocks of a known size or rows on the GPU, "
                          "found a scale for ")
           << format.describeBlock() << ": quantize on the host";
  if (int64_t columns = op.getInput().getType().getShape().back();
      isWhole && !ShapedType::isDynamic(columns) &&
      columns % kPowerOfTwoBlockSize)
    return op.emitOpError("expected whole rows of a multiple of ")
           << kPowerOfTwoBlockSize << " elements on the GPU, found " << columns
           << ": pad them to " << roundUp(columns, kPowerOfTwoBlockSize);
  if (op.getSquare() && op.getBlockSize() > kPowerOfTwoBlockSize)
    return op.emitOpError("expected squares of at most 32 x 32 elements on the "
                          "GPU, found ")
           << spellBlockSize(op.getBlockSize()) << " x "
           << spellBlockSize(op.getBlockSize()) << ": quantize on the host";
  for (Value operand : op.getInputs())
    if (failed(checkInput(op, cast<MemRefType>(operand.getType()))))
      return failure();
  SmallVector<Value> gather(op.getGather() ? 1 : 0, op.getGather());
  using Operands = std::pair<ValueRange, StringRef>;
  for (auto [values, name] :
       {Operands(op.getInputScales(), "input_scales"),
        Operands(gather, "gather"), Operands(op.getOuts(), "destinations")})
    for (Value value : values)
      if (!isContiguous(cast<MemRefType>(value.getType())))
        return op.emitOpError("expected ")
               << name << " with identity layout on the GPU, found "
               << value.getType();
  for (Value out : op.getAmaxOuts()) // the runtime clears these
    if (auto type = cast<MemRefType>(out.getType());
        !type.getLayout().isIdentity())
      return op.emitOpError("expected amax with identity layout on the GPU, "
                            "found ")
             << type;
  if (getBatchRank(op) && (op.getPrologueBlock() || op.isPassedOn()))
    return op.emitOpError("expected a matrix with ")
           << (op.isPassedOn() ? "input_scales" : "a prologue")
           << " on the GPU, found " << op.getInput().getType();
  return ElementRegion(op.getPrologueBlock()).verify();
}

/// Fails unless the rows of a square divide evenly among the lanes of a warp.
static LogicalResult verifySquares(FusedQuantizeOp op, int64_t vector) {
  int64_t block = op.getBlockSize(), inRow = block / vector;
  int64_t rows = getBlockRows(op.getScaleType(0), op.getBlockSize());
  if (rows == 1 || (inRow && target::kWarpSize % inRow == 0 &&
                    rows * inRow % target::kWarpSize == 0))
    return success();
  return op.emitOpError("expected blocks whose rows divide evenly among the "
                        "lanes of a warp, found ")
         << rows << " x " << block << ": quantize on the host";
}

static LogicalResult verifyRowSchedule(Operation *op, int64_t block,
                                       QuantizeScheduleAttr schedule,
                                       ArrayRef<int64_t> tile) {
  int64_t rows = tile[0], columns = tile[1];
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  if (int64_t size = schedule.getTile()[1]; size % kScaleTileRows)
    return op->emitOpError("expected a schedule with a tile of a multiple of ")
           << kScaleTileRows << " columns along rows, found " << size;
  if (vector > block)
    return op->emitOpError("expected a schedule with vectors of at most ")
           << block << " elements (one block), found " << vector;
  if (threads % (columns / vector) || rows % (threads / (columns / vector)))
    return op->emitOpError("expected a schedule whose threads cover whole "
                           "rows of ")
           << columns / vector << " vectors and process a tile of " << rows
           << " rows in whole passes, found " << threads << " threads";
  // The code is unrolled over the elements of a thread.
  constexpr int64_t kMostElements = 256;
  if (int64_t elements = rows * columns / threads; elements > kMostElements)
    return op->emitOpError("expected a schedule with at most ")
           << kMostElements << " elements of a tile per thread, found "
           << elements;
  if (schedule.getStages() != 1 || schedule.getStageRows() ||
      schedule.getAtomicCounter() || schedule.getInputStages())
    return op->emitOpError(
               "expected a schedule along rows with 1 stage and without "
               "stage_rows, atomic_counter and input_stages, because it "
               "uses no shared "
               "memory, found ")
           << schedule;
  return success();
}

/// Returns the smallest block size of the destinations and inputs.
static int64_t getSmallestBlock(FusedQuantizeOp op) {
  int64_t block = op.getBlockSize();
  for (const QuantizeSource &source : op.getSources())
    if (source.scales)
      block = std::min(block, int64_t(source.getBlockSize()));
  return block;
}

/// Fails if a tile would span two concatenated values.
static LogicalResult verifyConcatenated(FusedQuantizeOp op,
                                        QuantizeScheduleAttr schedule) {
  int64_t columns = op.getInput().getType().getDimSize(1);
  int64_t multiple = getTileShape(op, schedule)[1];
  if (!op.getConcat() || ShapedType::isDynamic(columns) ||
      columns % multiple == 0)
    return success();
  return op.emitOpError("expected dimension 1 of input to be a multiple of "
                        "the ")
         << multiple << " columns of a tile with concat on the GPU, found "
         << columns;
}

static void checkInputs(KernelBuilder &host, FusedQuantizeOp op,
                        QuantizeScheduleAttr schedule) {
  if (op.getConcat())
    requireMultiple(host, host.dim(op.getInput(), 1),
                    getTileShape(op, schedule)[1],
                    "dimension 1 of input with concat");
  for (Value input : op.getInputs().drop_front())
    for (int64_t dim : {0, 1})
      requireSize(host, host.dim(input, dim), host.dim(op.getInput(), dim),
                  "dimension " + Twine(dim) + " of input");
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
    BlockShape block = source.getBlockSize();
    requireMultiple(host, columns, block, "dimension 1 of input");
    requireScaleSizes(host, source.scales, rows, columns, block,
                      /*rowTiles=*/{}, "input_scales");
  }
}

/// Requires at run time that dynamic sizes match. With ragged rows, the scales
/// of each expert group start a new tile. If the destination is transposed,
/// each group occupies whole column tiles.
static void requireInputSizes(KernelBuilder &host, FusedQuantizeOp op,
                              unsigned index) {
  int64_t axis = op.getAxis(index);
  Value rows = getQuantizedDim(host, op, 1 - axis);
  Value columns = getQuantizedDim(host, op, axis);
  bool isDequantized = op.isDequantized(index);
  StringRef name = isDequantized ? "outs" : "elements";
  Value elements = op.getElements(index);
  BlockShape block = op.getBlockSize();
  int64_t batch = getBatchRank(op);
  RaggedKind ragged = op.getRaggedOfAxis(axis);
  auto requireBatch = [&](Value value, StringRef name, int64_t dim) {
    requireSize(host, host.dim(value, dim), host.dim(op.getInput(), dim),
                "dimension " + Twine(dim) + " of " + name);
  };
  for (int64_t dim = 0; dim < batch; ++dim) {
    requireBatch(elements, name, dim);
    if (!isDequantized)
      requireBatch(op.getScales(index), "scales", dim);
    if (Value spreads = op.getSpreadsOf(index))
      requireBatch(spreads, "spreads", dim);
  }
  if (ragged == RaggedKind::Reduction) {
    Value groups = host.dim(op.getOffsets(), 0);
    Value most = host.mul(groups, host.index(kRaggedReductionAlign - 1));
    columns =
        host.mul(host.ceilDiv(host.add(columns, most), kRaggedReductionAlign),
                 host.index(kRaggedReductionAlign));
  } else {
    requireMultiple(host, columns, getKernelMultiple(block),
                    "dimension " + Twine(batch + axis) + " of input");
  }
  for (auto [dim, size] :
       {std::pair(batch, rows), std::pair(batch + 1, columns)})
    requireSize(host, host.dim(elements, dim), size,
                "dimension " + Twine(dim) + " of " + name);
  if (isDequantized)
    return;
  Value rowTiles;
  if (ragged == RaggedKind::Rows)
    rowTiles = host.packedTiles(rows, kScaleTileRows, op.getOffsets());
  requireScaleSizes(host, op.getScales(index), rows, columns, block, rowTiles,
                    "scales", batch);
  if (Value spreads = op.getSpreadsOf(index)) {
    Value blocks =
        block == BlockFormat::kWhole ? host.index(1) : host.div(columns, block);
    for (auto [dim, size] : {std::pair(1 - axis, rows), {axis, blocks}})
      requireSize(host, host.dim(spreads, batch + dim), size,
                  "dimension " + Twine(batch + dim) + " of spreads");
  }
}

LogicalResult mx::mxgpu::verifyQuantizeSchedule(FusedQuantizeOp op,
                                                QuantizeScheduleAttr schedule) {
  if (failed(verifyConcatenated(op, schedule)))
    return failure();
  if (isByTiles(op))
    return success();
  if (failed(verifySquares(op, schedule.getVector())))
    return failure();
  int64_t least = op.getBlockSize() / target::kWarpSize;
  if (op.getBlockSize() != BlockFormat::kWhole &&
      getBlockRows(op.getScaleType(0), op.getBlockSize()) == 1 &&
      schedule.getVector() < least)
    return op.emitOpError("expected a schedule with vectors of at least ")
           << least << " elements, because a warp holds a block of "
           << spellBlockSize(op.getBlockSize()) << ", found "
           << schedule.getVector();
  return verifyRowSchedule(op, getSmallestBlock(op), schedule,
                           getTileShape(op, schedule));
}

void mx::mxgpu::checkQuantizeSizes(KernelBuilder &host, FusedQuantizeOp op,
                                   QuantizeScheduleAttr schedule) {
  requireExperts(host, op.getOffsets());
  checkInputs(host, op, schedule);
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    requireInputSizes(host, op, i);
}

//===----------------------------------------------------------------------===//
// Dequantizers
//===----------------------------------------------------------------------===//

/// Fails unless operands are matrices or batches with supported strides.
static LogicalResult verifyDequantizeForm(const DequantizeOperands &operands,
                                          QuantizeScheduleAttr schedule) {
  Operation *op = operands.op;
  if (auto dequantize = dyn_cast<DequantizeOp>(op);
      dequantize && dequantize.getRaggedOrNone() == RaggedKind::Reduction &&
      !dequantize.getPadded())
    return op->emitOpError("expected 'padded' with ragged = reduction on the "
                           "GPU: keep the segments at their positions, in a "
                           "result with the same number of columns");
  auto input = cast<MemRefType>(operands.input.getType());
  bool isWhole = isContiguous(input);
  if (!isWhole && (input.getRank() != 2 || !mayHaveStride(input)))
    return op->emitOpError("expected a matrix with contiguous rows on the GPU "
                           "(identity layout for batches and for 4- and 6-bit "
                           "elements), found ")
           << input;
  if (!isWhole &&
      failed(verifyRowStride(op, input, schedule.getVector(), "the input")))
    return failure();
  for (auto [value, name] : {std::pair(operands.scales, "scales"),
                             std::pair(operands.out, "the result")}) {
    if (!value)
      continue;
    // Row-major scales of a single matrix may be strided.
    if (auto type = cast<MemRefType>(value.getType());
        !isContiguous(type) &&
        (value != operands.scales || type.getRank() != 2))
      return op->emitOpError("expected ")
             << name << " with identity layout on the GPU, found " << type;
  }
  return success();
}

LogicalResult
mx::mxgpu::verifyDequantizeSupport(const DequantizeOperands &operands,
                                   QuantizeScheduleAttr schedule) {
  Operation *op = operands.op;
  if (failed(verifyDequantizeForm(operands, schedule)) ||
      failed(verifyRowSchedule(op, operands.blockSize, schedule,
                               schedule.getTile())))
    return failure();
  if (operands.ragged == RaggedKind::Rows &&
      schedule.getTile()[0] != kScaleTileRows)
    return op->emitOpError("expected a tile of ")
           << kScaleTileRows
           << " rows with expert groups, each of which has whole "
           << "tiles of scales, found " << schedule.getTile()[0];
  if (operands.ragged == RaggedKind::Reduction &&
      schedule.getTile()[1] != kRaggedReductionAlign)
    return op->emitOpError("expected a tile of ")
           << kRaggedReductionAlign << " columns with ragged = reduction, "
           << "whose segments begin at multiples of this number, found "
           << schedule.getTile()[1];
  // mxgpu.permute_block exchanges elements in this shape.
  constexpr int64_t kPermutedVector = 8,
                    kPermutedColumns = 2 * kReductionMultiple;
  if (!operands.permuted)
    return success();
  if (schedule.getVector() != kPermutedVector ||
      schedule.getTile()[1] % kPermutedColumns)
    return op->emitOpError("expected a schedule with vectors of ")
           << kPermutedVector << " elements and a multiple of "
           << kPermutedColumns << " columns, found vectors of "
           << schedule.getVector() << " and " << schedule.getTile()[1]
           << " columns";
  return success();
}

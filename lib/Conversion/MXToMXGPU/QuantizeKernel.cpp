//===- QuantizeKernel.cpp - The kernel of mx.quantize along rows ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit of work is a tile of the input. Adjacent threads hold adjacent pieces
// of a row, and each thread pieces of several rows, all of which it loads
// before it uses the first: nothing but registers stands between the memories.
// Rows and columns outside the tensor are read as zeros.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static LogicalResult checkSupport(QuantizeOp op) {
  if (op.getRagged() == RaggedKind::Reduction)
    return op.emitOpError("expected ragged = rows on the GPU, found ragged = "
                          "reduction: transpose the input");
  auto input = cast<MemRefType>(op.getInput().getType());
  if (input.getRank() != 2 || !input.getLayout().isIdentity() ||
      !isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return op.emitOpError("expected a matrix of bf16, f16 or f32 with identity "
                          "layout on the GPU, found ")
           << input;
  for (Value out : op.getOuts())
    if (auto type = cast<MemRefType>(out.getType());
        !type.getLayout().isIdentity())
      return op.emitOpError("expected destinations with identity layout on the "
                            "GPU, found ")
             << type;
  return success();
}

/// The tile is covered by whole passes of the threads over its rows.
static LogicalResult verifyQuantizeSchedule(QuantizeOp op,
                                            QuantizeScheduleAttr schedule) {
  int64_t rows = schedule.getTile()[0], columns = schedule.getTile()[1];
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t block = op.getBlockSize();
  if (vector > block)
    return op.emitOpError("expected a schedule with vectors of at most ")
           << block << " elements, a block, found " << vector;
  if (threads % (columns / vector) || rows % (threads / (columns / vector)))
    return op.emitOpError("expected a schedule whose threads cover rows of ")
           << columns / vector << " vectors, and a tile of " << rows
           << " rows in whole passes, found " << threads << " threads";
  if (schedule.getStages() != 1 || schedule.getUnit())
    return op.emitOpError("expected a schedule with 1 stage and no unit for "
                          "axes [1], which needs no shared memory, found ")
           << schedule;
  return success();
}

/// What the verifier could not see in dynamic shapes. The groups of ragged rows
/// have tiles of scales of their own, and, transposed, whole tiles of columns.
static void checkSizes(KernelBuilder &host, QuantizeOp op, unsigned index) {
  int64_t axis = op.getAxes()[index];
  Value rows = host.dim(op.getInput(), 1 - axis);
  Value columns = host.dim(op.getInput(), axis);
  Value elements = op.getElements(index), scales = op.getScales(index);
  int64_t block = op.getBlockSize();
  RaggedKind ragged = op.getRaggedOfAxis(axis);
  Value groups;
  if (op.getOffsets())
    groups = host.dim(op.getOffsets(), 0);
  if (ragged == RaggedKind::Reduction) {
    Value most = host.mul(groups, host.index(kRaggedReductionAlign - 1));
    columns =
        host.mul(host.ceilDiv(host.add(columns, most), kRaggedReductionAlign),
                 host.index(kRaggedReductionAlign));
  } else {
    host.requireMultiple(columns, block,
                         "dimension " + Twine(axis) + " of the input");
  }
  host.requireSize(host.dim(elements, 0), rows, "dimension 0 of the elements");
  host.requireSize(host.dim(elements, 1), columns,
                   "dimension 1 of the elements");
  if (cast<MemRefType>(scales.getType()).getRank() == 2) {
    host.requireSize(host.dim(scales, 0), rows, "dimension 0 of the scales");
    host.requireSize(host.dim(scales, 1), host.div(columns, block),
                     "dimension 1 of the scales");
    return;
  }
  Value rowTiles = ragged == RaggedKind::Rows
                       ? host.add(host.div(rows, kScaleTileRows), groups)
                       : host.ceilDiv(rows, kScaleTileRows);
  host.requireSize(host.dim(scales, 0), rowTiles,
                   "tiles of rows of the scales");
  host.requireSize(host.dim(scales, 1),
                   host.ceilDiv(columns, kScaleTileBlocks * block),
                   "tiles of blocks of the scales");
}

/// By their bits, zero, negative numbers and NaN are refused alike.
void mx::mxgpu::requirePositive(KernelBuilder &host, Value scale) {
  Value bits = host.create<arith::BitcastOp>(host.getI32Type(), scale);
  Value shown = host.create<arith::IndexCastUIOp>(host.getIndexType(), bits);
  auto isAtMost = [&](Value a, Value b) -> Value {
    return host.create<arith::CmpIOp>(arith::CmpIPredicate::ule, a, b);
  };
  Value isPositive = host.create<arith::AndIOp>(
      isAtMost(host.index(1), shown), isAtMost(shown, host.index(0x7F800000)));
  host.create<RequireOp>(isPositive,
                         "expected a global_scale greater than 0, found the "
                         "bits %lld",
                         ValueRange(shown));
}

/// The bytes that mx-store-as-bytes makes of elements of 4 and 6 bits.
Value mx::mxgpu::toBytes(KernelBuilder &host, Value elements) {
  auto type = cast<MemRefType>(elements.getType());
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() >= 8)
    return elements;
  SmallVector<int64_t> shape(type.getShape());
  if (isa<Float4E2M1FNType>(element) && !type.isDynamicDim(1))
    shape[1] /= 2;
  return host
      .create<UnrealizedConversionCastOp>(
          MemRefType::get(shape, host.getI8Type()), elements)
      .getResult(0);
}

static void buildKernel(KernelOp kernel, QuantizeOp op,
                        QuantizeScheduleAttr schedule) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), elements = entry.getArgument(1),
        scales = entry.getArgument(2);
  unsigned next = 3;
  Value encode = op.getGlobalScale() ? entry.getArgument(next++) : Value();
  Value seed = op.getSeed() ? entry.getArgument(next++) : Value();
  int64_t block = op.getBlockSize(), vector = schedule.getVector();
  int64_t lanesInRow = schedule.getTile()[1] / vector;
  int64_t rowsAtOnce = schedule.getThreads() / lanesInRow;
  auto inputType = VectorType::get(
      vector, cast<MemRefType>(input.getType()).getElementType());
  auto elementType =
      VectorType::get(vector, getElementTypeOrSelf(op.getOuts()[0].getType()));
  Type scaleType = cast<MemRefType>(scales.getType()).getElementType();
  Value rows = body.dim(input, 0), columns = body.dim(input, 1);
  Value blocks = body.div(columns, block);
  Value work =
      body.create<WorkSourceOp>(rows, columns, /*reduction=*/body.index(0),
                                schedule.getTile(), schedule.getRaster());

  body.role("quantize", schedule.getThreads() / 32, /*elected=*/false);
  Value thread = body.create<ThreadIdOp>();
  Value rowInTile = body.div(thread, lanesInRow);
  Value columnInTile =
      body.mul(body.create<arith::RemUIOp>(thread, body.index(lanesInRow)),
               body.index(vector));
  ForEachWorkOp unit = body.forEachWork(work);
  Value firstRow = body.add(unit.getRow(), rowInTile);
  Value column = body.add(unit.getColumn(), columnInTile);
  SmallVector<std::pair<Value, Value>> pieces;
  for (int64_t i = 0; i < schedule.getTile()[0]; i += rowsAtOnce) {
    Value row = body.add(firstRow, i);
    pieces.push_back(
        {row, body.create<LoadBlockOp>(inputType, input, row, column)});
  }
  for (auto [row, piece] : pieces) {
    Value first = seed ? body.add(body.mul(row, columns), column) : Value();
    auto quantized = body.create<QuantizeBlockOp>(
        TypeRange{elementType, scaleType}, piece, encode, seed, first,
        op.getScaleRounding(), block / vector);
    body.create<StoreBlockOp>(quantized.getElements(), elements, row, column);
    body.create<StoreScalesOp>(quantized.getScale(), scales, row,
                               body.div(column, block), rows, blocks,
                               block / vector);
  }
}

LogicalResult mx::mxgpu::convertQuantize(QuantizeOp op,
                                         gpu::GPUModuleOp module) {
  if (failed(checkSupport(op)))
    return failure();
  auto schedule =
      op->getAttrOfType<QuantizeScheduleAttr>(kQuantizeScheduleAttrName);
  if (!schedule)
    schedule = selectQuantizeSchedule(op);
  bool byTiles = op.getAxes() != ArrayRef<int64_t>{1} || op.getOffsets();
  if (!byTiles && failed(verifyQuantizeSchedule(op, schedule)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  for (unsigned i = 0; i < op.getAxes().size(); ++i)
    checkSizes(host, op, i);
  if (byTiles)
    return buildQuantizeTileKernel(op, schedule, module);
  Value elements = toBytes(host, op.getOuts()[0]);
  SmallVector<Value> arguments = {op.getInput(), elements, op.getOuts()[1]};
  if (Value scale = op.getGlobalScale()) {
    requirePositive(host, scale);
    arguments.push_back(scale);
  }
  if (op.getSeed())
    arguments.push_back(op.getSeed());
  KernelOp kernel =
      host.kernel(module, "quantize", ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  buildKernel(kernel, op, schedule);
  Value rowTiles =
      host.ceilDiv(host.dim(op.getInput(), 0), schedule.getTile()[0]);
  Value columnTiles =
      host.ceilDiv(host.dim(op.getInput(), 1), schedule.getTile()[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
  return success();
}

//===- DequantizeKernel.cpp - Kernels of mx.dequantize and mx.relayout ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// As quantizers along rows (QuantizeKernel.cpp): threads hold pieces of rows,
// all of which they load before they use the first, and no memory is shared.
// To relayout, a thread takes one scale of each row.
//
//===----------------------------------------------------------------------===//

#include "TileThreads.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Fails unless a tensor is a matrix, or tiles of the scales of one.
static LogicalResult verifyForm(Operation *op, StringRef what, Value value,
                                bool isScales) {
  auto type = cast<MemRefType>(value.getType());
  bool isMatrix = type.getRank() == 2 || (isScales && type.getRank() == 5);
  if (isMatrix && type.getLayout().isIdentity())
    return success();
  return op->emitOpError("expected ")
         << what << " to be " << (isScales ? "those of " : "")
         << "a matrix with identity layout on the GPU, found " << type;
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

static void buildKernel(KernelOp kernel, DequantizeOp op,
                        QuantizeScheduleAttr schedule) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), scales = entry.getArgument(1),
        out = entry.getArgument(2);
  Value decode = entry.getNumArguments() > 3 ? entry.getArgument(3) : Value();
  int64_t vector = schedule.getVector();
  auto inputType =
      VectorType::get(vector, getElementTypeOrSelf(op.getInput().getType()));
  Type scaleType = getElementTypeOrSelf(scales.getType());
  auto outType = VectorType::get(vector, getElementTypeOrSelf(out.getType()));
  Value rows = body.dim(out, 0), columns = body.dim(out, 1);
  auto threads =
      forEachTile(body, "dequantize", rows, columns, schedule.getTile(),
                  schedule.getThreads(), vector, schedule.getRaster());
  Value block = body.div(threads.column, op.getBlockSize());
  struct Piece {
    Value row, codes, scale;
  };
  SmallVector<Piece> pieces;
  for (int64_t i = 0; i < schedule.getTile()[0]; i += threads.step) {
    Value row = body.add(threads.row, i);
    Value codes =
        LoadBlockOp::create(body, inputType, input, row, threads.column);
    Value scale = LoadScaleOp::create(body, scaleType, scales, row, block);
    pieces.push_back({row, codes, scale});
  }
  for (const Piece &piece : pieces) {
    Value numbers = DequantizeBlockOp::create(body, outType, piece.codes,
                                              piece.scale, decode);
    StoreBlockOp::create(body, numbers, out, piece.row, threads.column);
  }
}

LogicalResult mx::mxgpu::convertDequantize(DequantizeOp op,
                                           gpu::GPUModuleOp module) {
  Value input = op.getInput(), scales = op.getScales(), out = op.getOuts()[0];
  if (op.getOffsets())
    return op.emitOpError("expected no offsets on the GPU, found offsets");
  if (failed(verifyForm(op, "the input", input, /*isScales=*/false)) ||
      failed(verifyForm(op, "scales", scales, /*isScales=*/true)) ||
      failed(verifyForm(op, "the result", out, /*isScales=*/false)))
    return failure();
  auto schedule =
      op->getAttrOfType<QuantizeScheduleAttr>(kQuantizeScheduleAttrName);
  if (!schedule)
    schedule = selectDequantizeSchedule(op);
  int64_t block = op.getBlockSize();
  if (failed(verifyRowSchedule(op, block, schedule)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  Value rows = host.dim(out, 0), columns = host.dim(out, 1);
  host.requireSize(host.dim(input, 0), rows, "dimension 0 of input");
  host.requireSize(host.dim(input, 1), columns, "dimension 1 of input");
  host.requireMultiple(columns, block, "dimension 1 of input");
  requireScaleSizes(host, scales, rows, columns, block);
  SmallVector<Value> arguments = {toBytes(host, input), scales, out};
  if (Value scale = op.getGlobalScale())
    arguments.push_back(scale);
  KernelOp kernel =
      host.kernel(module, "dequantize", ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(schedule.getCtas());
  buildKernel(kernel, op, schedule);
  Value rowTiles = host.ceilDiv(rows, schedule.getTile()[0]);
  Value columnTiles = host.ceilDiv(columns, schedule.getTile()[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Relayout
//===----------------------------------------------------------------------===//

/// Rows and columns of scales that 256 threads take at a time, one each of a
/// row of 32.
static constexpr int64_t kRelayoutTile[] = {kScaleTileRows, 32};
static constexpr int64_t kRelayoutThreads = 256;

static void buildKernel(KernelOp kernel, RelayoutOp op) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), out = entry.getArgument(1);
  Type type = getElementTypeOrSelf(out.getType());
  bool fromMatrix = cast<MemRefType>(input.getType()).getRank() == 2;
  Value matrix = fromMatrix ? input : out;
  Value rows = body.dim(matrix, 0), blocks = body.dim(matrix, 1);
  auto threads = forEachTile(
      body, "relayout", rows, blocks, kRelayoutTile, kRelayoutThreads,
      /*vector=*/1, RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  SmallVector<std::pair<Value, Value>> pieces;
  for (int64_t i = 0; i < kRelayoutTile[0]; i += threads.step) {
    Value row = body.add(threads.row, i);
    pieces.push_back(
        {row, LoadScaleOp::create(body, type, input, row, threads.column)});
  }
  for (auto [row, scale] : pieces)
    StoreScalesOp::create(body, scale, out, row, threads.column, rows, blocks,
                          /*lanes=*/1);
}

LogicalResult mx::mxgpu::convertRelayout(RelayoutOp op,
                                         gpu::GPUModuleOp module) {
  Value input = op.getInput(), out = op.getOuts()[0];
  if (op.getOffsets())
    return op.emitOpError("expected no offsets on the GPU, found offsets");
  if (failed(verifyForm(op, "scales", input, /*isScales=*/true)) ||
      failed(verifyForm(op, "scales", out, /*isScales=*/true)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  bool fromMatrix = cast<MemRefType>(input.getType()).getRank() == 2;
  if (fromMatrix == (rank == 2)) { // The layouts are the same.
    for (int64_t i = 0; i < rank; ++i)
      host.requireSize(host.dim(input, i), host.dim(out, i),
                       "dimension " + Twine(i) + " of input");
    memref::CopyOp::create(host, input, out);
    op.erase();
    return success();
  }
  Value matrix = fromMatrix ? input : out, tiles = fromMatrix ? out : input;
  Value rows = host.dim(matrix, 0), blocks = host.dim(matrix, 1);
  requireScaleSizes(host, tiles, rows, blocks, /*block=*/1);
  SmallVector<Value> arguments = {input, out};
  KernelOp kernel =
      host.kernel(module, "relayout", ValueRange(arguments).getTypes());
  buildKernel(kernel, op);
  Value rowTiles = host.ceilDiv(rows, kRelayoutTile[0]);
  Value columnTiles = host.ceilDiv(blocks, kRelayoutTile[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
  return success();
}

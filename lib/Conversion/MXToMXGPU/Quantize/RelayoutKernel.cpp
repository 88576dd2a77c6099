//===- RelayoutKernel.cpp - The kernel of mx.relayout ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread takes one scale of each of several rows, all of which it loads
// before it uses the first.
//
//===----------------------------------------------------------------------===//

#include "TileThreads.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

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

/// Fails unless scales are those of a matrix, as such or in tiles.
static LogicalResult verifyForm(RelayoutOp op, Value scales) {
  auto type = cast<MemRefType>(scales.getType());
  bool isMatrix = type.getRank() == 2 || type.getRank() == 5;
  if (isMatrix && isContiguous(type))
    return success();
  return op->emitOpError("expected scales to be those of a matrix with "
                         "identity layout on the GPU, found ")
         << type;
}

LogicalResult mx::mxgpu::convertRelayout(RelayoutOp op,
                                         gpu::GPUModuleOp module) {
  Value input = op.getInput(), out = op.getOuts()[0];
  if (op.getOffsets())
    return op.emitOpError("expected no offsets on the GPU, found offsets");
  if (failed(verifyForm(op, input)) || failed(verifyForm(op, out)))
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

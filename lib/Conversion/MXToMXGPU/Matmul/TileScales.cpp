//===- TileScales.cpp - Tiles of compact scales ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Kernels read scales in tiles of 128 rows of a word each (sf_128x4). A format
// without tiles has scales of 1, 2 or 4 bytes, which share words in the same
// way, and one for each row of a square.
//
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "BuildMatmul.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

bool mx::mxgpu::areTiles(MatmulOpInterface op, Value scales) {
  return getBlockFormat(getElementTypeOrSelf(scales), op.getBlockSize())
      .hasTiles;
}

/// Tiles of the scales of one matrix of `rows`, or of several.
static Value createTiles(MatmulKernel &kernel, Value scales, Value rows) {
  KernelBuilder &host = kernel.host;
  const MatmulProblem &problem = kernel.matmul.problem;
  int64_t batch = cast<MemRefType>(scales.getType()).getRank() - 2;
  int64_t inWord = kScaleTileBlocks / problem.getScaleBytes();
  Value rowTiles = host.ceilDiv(rows, kScaleTileRows), allTiles = rowTiles;
  if (batch)
    allTiles = host.mul(rowTiles, host.dim(scales, 0));
  Value columnTiles = host.ceilDiv(host.dim(scales, batch + 1), inWord);
  auto type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic,
                               kScaleTileShape[0], kScaleTileShape[1], inWord},
                              problem.scales);
  Value tiles =
      memref::AllocOp::create(host, type, ValueRange{allTiles, columnTiles});
  Value words = memref::CollapseShapeOp::create(
      host, tiles, ArrayRef<ReassociationIndices>{{0, 1, 2, 3}, {4}});
  Value count = host.mul(host.mul(allTiles, columnTiles), kScaleTileRows);
  KernelBuilder body(kernel.matmul.op->getLoc(), host.getContext());
  launchForEachElement(
      host, body, kernel.module, "tile_scales", count,
      {collapseLeading(host, scales, batch + 1), words, rowTiles, columnTiles,
       host.dim(scales, batch)},
      [&](Block::BlockArgListType arguments, Value word) {
        Value tile = body.div(word, kScaleTileRows);
        Value inTile = body.rem(word, kScaleTileRows);
        Value rowTile = body.div(tile, arguments[3]);
        // A tile has its words row 0, row 32, row 64, row 96, row 1 and so on.
        Value row = body.mul(body.rem(rowTile, arguments[2]), kScaleTileRows);
        row = body.add(row, body.div(inTile, kScaleTileShape[1]));
        row = body.add(row, body.mul(body.rem(inTile, kScaleTileShape[1]),
                                     kScaleTileShape[0]));
        int64_t blockRows = getBlockRows(problem.scales, problem.mma.blockSize);
        Value line =
            body.add(body.mul(body.div(rowTile, arguments[2]), arguments[4]),
                     body.div(row, blockRows));
        Value block = body.mul(body.rem(tile, arguments[3]), inWord);
        SmallVector<Value> found;
        for (int64_t i = 0; i < inWord; ++i)
          found.push_back(LoadScaleOp::create(
              body, problem.scales, arguments[0], line, body.add(block, i)));
        Value vector = vector::FromElementsOp::create(
            body, VectorType::get(inWord, problem.scales), found);
        StoreBlockOp::create(body, vector, arguments[1], word, body.index(0));
      });
  return tiles;
}

SmallVector<Value> mx::mxgpu::tileScales(MatmulKernel &kernel) {
  MatmulOpInterface op = kernel.matmul.op;
  KernelBuilder &host = kernel.host;
  SmallVector<Value> tiles;
  if (Value scales = op.getAScales(); scales && !areTiles(op, scales)) {
    int64_t rank = cast<MemRefType>(op.getA().getType()).getRank();
    kernel.matrices.aScales = tiles.emplace_back(
        createTiles(kernel, scales, host.dim(op.getA(), rank - 2)));
  }
  if (Value scales = op.getBScales(); scales && !areTiles(op, scales))
    kernel.matrices.bScales =
        tiles.emplace_back(createTiles(kernel, scales, getRowsOfB(kernel)));
  return tiles;
}

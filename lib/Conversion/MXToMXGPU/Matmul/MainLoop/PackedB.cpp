//===- PackedB.cpp - Tiles of packed weights ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Of a matrix of packed weights each row of tiles lies in one piece, of which
// the copy engine takes lines (PackedWeights.h). Tiles that the matrix does not
// have, below it or on its right, are zeros.
//
//===----------------------------------------------------------------------===//

#include "OperandB.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/WeightLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Rows of tiles, each as lines of bytes.
static Value viewLines(KernelBuilder &host, Value matrix, int64_t lines) {
  OpFoldResult rows = getSize(host, matrix, 0),
               tiles = getSize(host, matrix, 1);
  Value bytes = toBytes(host, matrix);
  Value flat = memref::CollapseShapeOp::create(
      host, bytes, ArrayRef<ReassociationIndices>{{0}, {1, 2, 3}});
  SmallVector<int64_t> shape(cast<MemRefType>(flat.getType()).getShape());
  bool isDynamic = ShapedType::isDynamic(shape[1]);
  shape[1] = isDynamic ? shape[1] : shape[1] / kPackedLineBytes;
  shape.push_back(kPackedLineBytes);
  OpFoldResult inRow = host.getIndexAttr(shape[1]);
  if (isDynamic)
    inRow = host.mul(cast<Value>(tiles), host.index(lines));
  return memref::ExpandShapeOp::create(
      host, shape, flat, ArrayRef<ReassociationIndices>{{0}, {1, 2}},
      SmallVector<OpFoldResult>{rows, inRow,
                                host.getIndexAttr(kPackedLineBytes)});
}

Value OperandB::encodePacked() {
  Type element = product.problem.b;
  return EncodeTensorMapOp::create(
      host, getPackedMap(element, getBoxRows(), schedule.getTileK()),
      viewLines(host, matrices.b, getPackedLines(element)));
}

void OperandB::loadPackedRows(ProducerAcquireOp stage, Value row, Value k,
                              int64_t place) {
  Value line = body.mul(body.div(k, kWeightTileColumns),
                        body.index(getPackedLines(product.problem.b)));
  Value box;
  if (product.getBRows() > getBoxRows())
    box = body.index(place);
  TmaLoadOp::create(
      body, arguments.get(Arg::BMap),
      ValueRange{body.div(row, kWeightTileRows), line, body.index(0)},
      stage.getBuffer("b"), stage.getStage(), box, /*multicast=*/false,
      schedule.getL2B());
}

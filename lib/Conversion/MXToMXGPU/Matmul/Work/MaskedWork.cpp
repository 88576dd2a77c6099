//===- MaskedWork.cpp - Units of groups with matrices ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "MaskedWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void MaskedWork::viewMatrices() {
  RowsWork::viewMatrices();
  matrices.a = stackRows(host, op.getA());
  if (op.getAScales())
    matrices.aScales = stackRows(host, op.getAScales());
  matrices.out = stackRows(host, op.getResultTensor());
  if (Value scales = op.getResultScales())
    matrices.outScales = stackRows(host, scales);
}

void MaskedWork::checkGroups() {
  Value groups = host.dim(op.getGroupOffsets(), 0);
  host.requireSize(host.dim(op.getA(), 0), groups, "dimension 0 of a");
  host.requireSize(host.dim(op.getResultTensor(), 0), groups,
                   "dimension 0 of outs");
  if (op.getAScales())
    host.requireSize(host.dim(op.getAScales(), 0), groups,
                     "dimension 0 of a_scales");
  RowsWork::checkGroups();
}

Value MaskedWork::getMatrixRow(ForEachWorkTileOp unit) {
  return body.mul(unit.getGroup(), arguments.get(Arg::MatrixRows));
}

Value MaskedWork::getRowInMatrix(ForEachWorkTileOp unit, Value row) {
  return arith::SubIOp::create(body, row, getMatrixRow(unit));
}

Value MaskedWork::getRowTile(ForEachWorkTileOp unit) {
  Value inMatrix = getRowInMatrix(unit, getFirstRow(unit));
  Value matrixRows = arguments.get(Arg::MatrixRows);
  return body.add(
      body.div(inMatrix, kScaleTileRows),
      body.mul(unit.getGroup(), body.ceilDiv(matrixRows, kScaleTileRows)));
}

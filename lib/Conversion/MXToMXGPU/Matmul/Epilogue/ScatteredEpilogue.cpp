//===- ScatteredEpilogue.cpp - Rows are added to others -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ScatteredEpilogue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void ScatteredEpilogue::checkRows(Value rows) {
  host.requireSize(host.dim(op.getScatterRows(), 0), rows,
                   "dimension 0 of scatter");
}

/// The list has an entry for each.
Value ScatteredEpilogue::getRows() {
  return body.dim(arguments.get(Arg::ScatterRows), 0);
}

void ScatteredEpilogue::redirectRow(ResultRow &row) {
  Value listed = memref::LoadOp::create(body, arguments.get(Arg::ScatterRows),
                                        row.clamped);
  row.own = arith::IndexCastOp::create(body, body.getIndexType(), listed);
  // As unsigned numbers, negative ones are beyond any row.
  Value exists = arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row.own,
                                       body.dim(getResult(), 0));
  row.isPresent = arith::AndIOp::create(body, row.isPresent, exists);
}

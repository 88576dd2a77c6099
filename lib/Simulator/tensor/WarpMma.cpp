//===- WarpMma.cpp - matrix products with accumulators in registers -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Matrix multiply-accumulate operation using mma instruction" and
// "Asynchronous Warpgroup Level Matrix Multiply-Accumulate".
//===----------------------------------------------------------------------===//

#include "mx/Simulator/tensor/WarpMma.h"
#include "MmaTile.h"

using namespace mx::sim;

namespace {

void multiply(const WarpMmaOp &op, const RawRows &a, const RawRows &b,
              Numerics numerics, uint32_t *cells) {
  InstrDesc desc;
  desc.m = op.rows;
  desc.n = op.columns;
  desc.k = op.k;
  desc.a = op.a;
  desc.b = op.b;
  desc.d = op.d;
  desc.negateA = op.negateA;
  desc.negateB = op.negateB;
  desc.saturate = op.saturate;
  MmaTile tile(desc);
  tile.rows = op.rows;
  tile.columns = op.columns;
  tile.a = &a;
  tile.b = &b;
  tile.enableInputD = op.enableInputD;
  tile.exclusiveOr = op.exclusiveOr;
  tile.model = op.model;
  std::vector<uint32_t *> rows(op.rows);
  for (unsigned row = 0; row < op.rows; ++row)
    rows[row] = cells + row * op.columns;
  tile.cells = rows.data();
  if (op.d == AccumulatorType::S32)
    runInteger(tile);
  else if (numerics == Numerics::Exact)
    runExact(tile);
  else
    runTruncated(tile);
}

RawRows wrap(const uint8_t *bytes, unsigned rows) {
  static_assert(warpRowBytes == stepBytes);
  RawRows raw;
  raw.bytes.assign(bytes, bytes + rows * stepBytes);
  return raw;
}

} // namespace

void mx::sim::multiplyRows(const WarpMmaOp &op, const uint8_t *a,
                           const uint8_t *b, Numerics numerics,
                           uint32_t *cells) {
  multiply(op, wrap(a, op.rows), wrap(b, op.columns), numerics, cells);
}

Fault mx::sim::wgmma(const WgmmaOp &op, const SharedMemory &shared,
                     Numerics numerics, uint32_t *cells) {
  const WarpMmaOp &product = op.product;
  SmemDesc smemA, smemB;
  if (Fault fault = decodeWgmmaDesc(op.bDesc, smemB))
    return {fault.kind, "B: " + fault.message};
  RawRows a, b;
  if (op.aInRegisters) {
    a = wrap(op.aRows.data(), product.rows);
  } else {
    if (Fault fault = decodeWgmmaDesc(op.aDesc, smemA))
      return {fault.kind, "A: " + fault.message};
    a.resize(product.rows);
    if (Fault fault = readShared(shared, smemA, op.transposeA, product.a,
                                 product.rows, "A", a, 0, op.firstRow))
      return fault;
  }
  b.resize(product.columns);
  if (Fault fault = readShared(shared, smemB, op.transposeB, product.b,
                               product.columns, "B", b, 0))
    return fault;
  multiply(product, a, b, numerics, cells);
  return {};
}

//===- WarpMma.cpp - MMAs with accumulators in registers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements PTX ISA, "Matrix multiply-accumulate operation using mma
// instruction" and "Asynchronous Warpgroup Level Matrix Multiply-Accumulate".
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/WarpMma.h"
#include "MmaSparse.h"
#include "MmaTile.h"
#include "mxsim/tensor/NumberFormats.h"

#include <algorithm>
#include <cstring>

using namespace mx;
using namespace mx::sim;

namespace {

std::vector<ScaleRow>
scaleRows(const std::vector<std::array<uint8_t, 4>> &scales) {
  std::vector<ScaleRow> rows(scales.size());
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy(scales[i].begin(), scales[i].end(), rows[i].bytes);
  return rows;
}

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
  desc.scale = op.scales.type;
  desc.scaleBlocks = op.scales.blocks;
  std::vector<ScaleRow> scaleA = scaleRows(op.scales.a),
                        scaleB = scaleRows(op.scales.b);
  MmaTile tile(desc);
  tile.packingA = packingInRegisters(op.a, op.isPacked);
  tile.packingB = packingInRegisters(op.b, op.isPacked);
  tile.scaleA = scaleA.data();
  tile.scaleB = scaleB.data();
  tile.rows = op.rows;
  tile.columns = op.columns;
  tile.a = &a;
  tile.b = &b;
  tile.enableInputD = op.enableInputD;
  tile.exclusiveOr = op.exclusiveOr;
  tile.sparsity = op.sparsity.kept.empty() ? nullptr : &op.sparsity;
  tile.model = op.model;
  std::vector<uint32_t *> rows(op.rows);
  for (unsigned row = 0; row < op.rows; ++row)
    rows[row] = cells + row * op.columns;
  tile.cells = rows.data();
  run(tile, op.d == AccumulatorType::S32  ? runInteger
            : numerics == Numerics::Exact ? runExact
                                          : runTruncated);
}

RawRows wrap(const uint8_t *bytes, unsigned rows,
             unsigned rowBytes = stepBytes) {
  static_assert(warpRowBytes == stepBytes);
  RawRows raw;
  raw.rowBytes = rowBytes;
  raw.bytes.assign(bytes, bytes + rows * rowBytes);
  return raw;
}

unsigned rowBytesOfB(const WarpMmaOp &op) {
  return op.sparsity.kept.empty() ? stepBytes : maxStepBytes;
}

/// Converts elements 4 i + 2 half and 4 i + 2 half + 1 of each row to f16, for
/// all i. Each register contains two such pairs, one for each `half`. All
/// conversions are exact.
std::vector<uint8_t> halvesOf(const uint8_t *bytes, unsigned rows, unsigned k,
                              ElementType type, bool negate, unsigned half) {
  std::vector<uint8_t> out(rows * warpRowBytes);
  double values[warpRowBytes];
  for (unsigned row = 0; row < rows; ++row) {
    decodeRow(bytes + row * warpRowBytes, type, Packing::Bytes, k, negate,
              values);
    for (unsigned i = 0; i < k / 2; ++i) {
      auto code = static_cast<uint16_t>(
          encodeF64(FloatFormat::F16, values[i / 2 * 4 + half * 2 + i % 2]));
      std::memcpy(&out[row * warpRowBytes + 2 * i], &code, sizeof(code));
    }
  }
  return out;
}

/// Emulates mma.sync with 8-bit floats. As observed on an H200, two chained f16
/// MMAs start from zero, and C is then added with rounding to nearest.
void multiplyViaF16(const WarpMmaOp &op, const uint8_t *a, const uint8_t *b,
                    uint32_t *cells) {
  WarpMmaOp part;
  part.d = op.d;
  part.rows = op.rows;
  part.columns = op.columns;
  part.k = op.k / 2;
  std::vector<uint32_t> sums(op.rows * op.columns);
  for (unsigned half = 0; half < 2; ++half) {
    part.enableInputD = half != 0;
    multiplyRows(part,
                 halvesOf(a, op.rows, op.k, op.a, op.negateA, half).data(),
                 halvesOf(b, op.columns, op.k, op.b, op.negateB, half).data(),
                 Numerics::Truncate25, sums.data());
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!op.enableInputD) {
      cells[i] = sums[i];
    } else if (op.d == AccumulatorType::F16) {
      double sum = widenF32(decode(FloatFormat::F16, sums[i])) +
                   widenF32(decode(FloatFormat::F16, cells[i] & 0xFFFF));
      cells[i] = static_cast<uint16_t>(encodeF64(FloatFormat::F16, sum));
    } else {
      float sum = floatFromBits(sums[i]) + floatFromBits(cells[i]);
      cells[i] = sum == sum ? bitsOf(sum) : kF32CanonicalNaN;
    }
  }
}

} // namespace

Fault mx::sim::setSparsity(WarpMmaOp &op, const uint32_t *metadata,
                           unsigned selector, bool isOrdered) {
  bool isTf32 = op.a == ElementType::TF32;
  bool isNibble = op.a == ElementType::U4 || op.a == ElementType::S4 ||
                  (op.a == ElementType::E2M1 && op.isPacked);
  Granularity unit = isTf32     ? Granularity{1, 2}
                     : isNibble ? Granularity{4, 8}
                                : Granularity{2, 4};
  // The metadata layout is the layout of the ISA figures and of the wgmma
  // ELayout in CUTLASS. For wide elements, a register contains 4 chunks of row
  // g and 4 chunks of row g + 8. For narrow elements, a register contains 8
  // chunks of a row.
  bool isWide = isTf32 || op.a == ElementType::F16 || op.a == ElementType::BF16;
  unsigned chunks = op.k / unit.length;
  unsigned threads = chunks * 8 / 32; // threads per quad with metadata
  if (selector >= 4 / threads)
    return {FaultKind::Descriptor,
            "the sparsity selector must be 0" +
                (threads < 4 ? " to " + std::to_string(4 / threads - 1) : "") +
                ", got " + std::to_string(selector)};
  op.sparsity.kept.reserve(op.rows * op.k / 2);
  Fault undefined;
  for (unsigned row = 0; row < op.rows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      unsigned thread = isWide ? chunk / 4 : chunk / 8 * 2 + row / 8;
      unsigned lane = row % 8 * 4 + selector * threads + thread;
      unsigned bit = isWide ? chunk % 4 * 4 + row / 8 * 16 : chunk % 8 * 4;
      unsigned code = metadata[lane] >> bit & 15;
      unsigned first = code & 3, second = code >> 2;
      bool isDefined = isTf32      ? code == 0b0100 || code == 0b1110
                       : isOrdered ? first < second
                                   : first != second;
      if (!undefined && !isDefined)
        undefined =
            undefinedCode(code, "at bit " + std::to_string(bit) + " of lane " +
                                    std::to_string(lane) + " (row " +
                                    std::to_string(row) + " of the warp)");
      addChunk(op.sparsity, unit, code, chunk, row);
    }
  return undefined;
}

void mx::sim::multiplyRows(const WarpMmaOp &op, const uint8_t *a,
                           const uint8_t *b, Numerics numerics,
                           uint32_t *cells) {
  if (op.viaF16 && numerics != Numerics::Exact)
    return multiplyViaF16(op, a, b, cells);
  multiply(op, wrap(a, op.rows), wrap(b, op.columns, rowBytesOfB(op)), numerics,
           cells);
}

Fault mx::sim::wgmma(const WgmmaOp &op, const SharedMemory &shared,
                     Numerics numerics, uint32_t *cells) {
  const WarpMmaOp &mma = op.mma;
  SmemDesc smemA, smemB;
  if (Fault fault = decodeWgmmaDesc(op.bDesc, smemB))
    return {fault.kind, "B: " + fault.message};
  RawRows a, b;
  if (op.aInRegisters) {
    a = wrap(op.aRows.data(), mma.rows);
  } else {
    if (Fault fault = decodeWgmmaDesc(op.aDesc, smemA))
      return {fault.kind, "A: " + fault.message};
    a.resize(mma.rows);
    if (Fault fault = readShared(shared, smemA, op.transposeA, mma.a, mma.rows,
                                 "A", a, 0, op.firstRow))
      return fault;
  }
  b.rowBytes = rowBytesOfB(mma);
  b.resize(mma.columns);
  if (Fault fault = readShared(shared, smemB, op.transposeB, mma.b, mma.columns,
                               "B", b, 0))
    return fault;
  multiply(mma, a, b, numerics, cells);
  return {};
}

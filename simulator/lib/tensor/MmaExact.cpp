//===- MmaExact.cpp - MMA tiles in exact arithmetic -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes D = RZ(C + sum of all products), with rounding of the result only.
// Products are summed in doubles if the exponents of a row of A and a column of
// B permit exact sums, and in a wide fixed-point number otherwise.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "MmaTile.h"
#include "mxsim/tensor/NumberFormats.h"

#include <algorithm>
#include <cstring>

using namespace mx;
using namespace mx::sim;

namespace {

constexpr unsigned doubleBits = 53;
constexpr unsigned blockRows = 8;

/// Returns the maximum number of significant bits of an element. If `ue4m3` is
/// true, the element is multiplied by a UE4M3 scale.
unsigned significantBits(ElementType type, bool ue4m3) {
  switch (type) {
  case ElementType::F16:
  case ElementType::TF32:
    return 11;
  case ElementType::BF16:
    return 8;
  case ElementType::E4M3:
  case ElementType::E2M3:
    return 4;
  case ElementType::E5M2:
  case ElementType::E3M2:
    return 3;
  default:
    return ue4m3 ? 6 : 2;
  }
}

/// Returns the number of bits from the highest to the lowest bit of any
/// element: the difference of the exponents plus the width of the significand.
unsigned measureRange(const double *values, unsigned k, unsigned significand) {
  uint64_t largest = 0, smallest = ~uint64_t{0};
  for (unsigned i = 0; i < k; ++i) {
    uint64_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    bits &= 0x7FFFFFFFFFFFFFFFu;
    largest = std::max(largest, bits);
    smallest = std::min(smallest, bits - 1); // zero wraps to the maximum
  }
  if (largest == 0)
    return 0;
  auto top = static_cast<unsigned>(largest >> 52);
  auto bottom = static_cast<unsigned>((smallest + 1) >> 52);
  return top - bottom + significand;
}

/// Operand as rows of doubles, multiplied by the scales.
struct Operand {
  std::vector<double> values;
  std::vector<unsigned> ranges;
  unsigned maxRange = 0;
};

/// Multiplies a row by its scales. The products are exact because scales have
/// few significant bits.
void applyScales(const InstrDesc &desc, const ScaleRow &row, double *values) {
  unsigned length = desc.k / desc.scaleBlocks;
  for (unsigned b = 0; b < desc.scaleBlocks; ++b) {
    double scale = decodeScale(desc.scale, row.bytes[b]);
    for (unsigned i = 0; i < length; ++i)
      values[b * length + i] *= scale;
  }
}

/// Decodes an operand. `range` is a bound on the range of every row, or 0 to
/// measure the range of each row.
template <typename DecodeRow>
void decodeOperand(const InstrDesc &desc, ElementType type, unsigned range,
                   unsigned count, const ScaleRow *scales, DecodeRow decodeRow,
                   Operand &out) {
  unsigned k = desc.k;
  unsigned significand =
      significantBits(type, desc.scaleBlocks && desc.scale == ScaleType::UE4M3);
  out.values.resize(count * k);
  out.ranges.resize(count);
  out.maxRange = 0;
  for (unsigned row = 0; row < count; ++row) {
    double *values = &out.values[row * k];
    decodeRow(row, values);
    if (desc.scaleBlocks)
      applyScales(desc, scales[row], values);
    // NaN and infinities need no special care, because any sum propagates them.
    out.ranges[row] = range ? range : measureRange(values, k, significand);
    out.maxRange = std::max(out.maxRange, out.ranges[row]);
  }
}

/// Packs columns of B into panels of eight for dotPanels.
void pack(const std::vector<double> &values, unsigned columns, unsigned k,
          std::vector<double> &panels) {
  panels.resize(columns * k);
  for (unsigned p = 0; p < columns / panelColumns; ++p)
    for (unsigned i = 0; i < panelColumns; ++i) {
      const double *source = &values[(p * panelColumns + i) * k];
      double *target = &panels[p * panelColumns * k + i];
      for (unsigned j = 0; j < k; ++j)
        target[j * panelColumns] = source[j];
    }
}

struct Scratch {
  Operand a, b;
  std::vector<double> panels;
};

double oldValue(const MmaTile &tile, uint32_t cell) {
  if (!tile.enableInputD)
    return 0;
  double value = tile.desc.d == AccumulatorType::F16
                     ? widenF32(decode(FloatFormat::F16, cell & 0xFFFF))
                     : widenF32(floatFromBits(cell));
  // scale-input-d is a power of two, so the product is exact.
  return value / (1u << tile.scaleInputD);
}

/// Computes each element separately by a sum that is exact for any operands.
void finishExactly(const MmaTile &tile, const Operand &a, const Operand &b,
                   unsigned row, unsigned budget, const double *sums,
                   uint32_t *cells) {
  unsigned k = tile.desc.k;
  for (unsigned n = 0; n < tile.columns; ++n) {
    double c = oldValue(tile, cells[n]);
    Truncated result =
        a.ranges[row] + b.ranges[n] <= budget
            ? addExact(sums[n], c)
            : dotExact(&a.values[row * k], &b.values[n * k], k, c);
    cells[n] = tile.desc.d == AccumulatorType::F16 ? roundToF16Bits(result)
                                                   : truncateToF32Bits(result);
  }
}

void finishRow(const MmaTile &tile, const double *sums, uint32_t *cells) {
  constexpr unsigned maxColumns = 256;
  float old[maxColumns], result[maxColumns];
  const float *c = nullptr;
  if (tile.enableInputD) {
    std::memcpy(old, cells, tile.columns * sizeof(float));
    c = old;
  }
  addTruncate(sums, c, 1.0 / (1u << tile.scaleInputD), tile.columns, result);
  std::memcpy(cells, result, tile.columns * sizeof(float));
}

} // namespace

void mx::sim::runExact(const MmaTile &tile) {
  thread_local Scratch scratch;
  const InstrDesc &desc = tile.desc;
  unsigned k = desc.k, logK = 0;
  while (1u << logK < k)
    ++logK;
  // A sum is exact if the ranges of A and B plus log2 K fit in a double.
  unsigned budget = doubleBits - logK;
  // A single scale does not widen the range of the row.
  unsigned rangeA = staticRange(desc.a), rangeB = staticRange(desc.b);
  if (desc.scaleBlocks > 1 || !rangeA || !rangeB || rangeA + rangeB > budget)
    rangeA = rangeB = 0;
  decodeOperand(
      desc, desc.a, rangeA, tile.rows, tile.scaleA,
      [&](unsigned row, double *values) { tile.decodeA(row, values); },
      scratch.a);
  decodeOperand(
      desc, desc.b, rangeB, tile.columns, tile.scaleB,
      [&](unsigned n, double *values) { tile.decodeB(n, values); }, scratch.b);
  pack(scratch.b.values, tile.columns, k, scratch.panels);

  double sums[blockRows * 256];
  for (unsigned first = 0; first < tile.rows; first += blockRows) {
    dotPanels(&scratch.a.values[first * k], blockRows, k, scratch.panels.data(),
              tile.columns / panelColumns, sums, tile.columns);
    for (unsigned i = 0; i < blockRows; ++i) {
      unsigned row = first + i;
      uint32_t *cells = tile.cells[row];
      if (!cells)
        continue;
      const double *rowSums = sums + i * tile.columns;
      bool simple = desc.d == AccumulatorType::F32 &&
                    scratch.a.ranges[row] + scratch.b.maxRange <= budget;
      if (simple)
        finishRow(tile, rowSums, cells);
      else
        finishExactly(tile, scratch.a, scratch.b, row, budget, rowSums, cells);
    }
  }
}

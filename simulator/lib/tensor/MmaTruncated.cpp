//===- MmaTruncated.cpp - MMA tiles in tensor-core arithmetic -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the fused sum of "MMA-Sim: Bit-Accurate Reference Model of Tensor
// Cores and Matrix Cores" (arXiv 2511.10909). The model was derived from
// hardware. With a correction for zero terms, it is bit-exact for mma.sync and
// wgmma on an H200, for all types and all kinds of operands.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "MmaTile.h"
#include "mxsim/tensor/NumberFormats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mx;
using namespace mx::sim;

namespace {

/// Exponent of zero, less than the exponent of any nonzero product.
constexpr int zeroExponent = -10000;
/// Exponent of a zero addend: too small to affect an f32, but large enough for
/// its powers of two to be normal doubles.
constexpr int leastExponent = -500;
constexpr int minExponentF32 = -126;
constexpr int minExponentF16 = -14;
constexpr int minExponentUE4M3 = -6;
constexpr int minExponentUE8M0 = -127;
constexpr unsigned maxColumns = 256;

/// The value significand * 2^exponent. The exponent is the exponent of the
/// format, so subnormals have significands below one.
struct Term {
  double significand = 0;
  int exponent = zeroExponent;
};

/// Returns 2^exponent; requires a normal double.
double powerOfTwo(int exponent) {
  return doubleFromBits(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// Splits a value. The value must be a normal double or zero.
Term split(double value, int minExponent) {
  if (value == 0)
    return {};
  int exponent = static_cast<int>(bitsOf(value) >> 52 & 0x7FF) - 1023;
  exponent = std::max(exponent, minExponent);
  return {value * powerOfTwo(-exponent), exponent};
}

/// Operand. Elements that are not finite become zeros, and their rows are
/// marked and recomputed by the rules of IEEE 754.
struct Rows {
  std::vector<double> values;
  std::vector<float> significands;
  std::vector<int32_t> exponents;
  std::vector<Term> scales;
  std::vector<uint8_t> isSpecial, isScaleNaN;

  void resize(unsigned count, unsigned k) {
    values.resize(count * k);
    significands.resize(count * k);
    exponents.resize(count * k);
    scales.assign(count * maxScaleBlocks, Term{1, 0});
    isSpecial.assign(count, 0);
    isScaleNaN.assign(count, 0);
  }
};

template <typename DecodeRow>
void decodeRows(const InstrDesc &desc, ElementType type, unsigned count,
                const ScaleRow *scales, DecodeRow decodeRow, Rows &out) {
  unsigned k = desc.k;
  out.resize(count, k);
  int least = minExponent(type);
  int leastScale =
      desc.scale == ScaleType::UE4M3 ? minExponentUE4M3 : minExponentUE8M0;
  for (unsigned row = 0; row < count; ++row) {
    double *values = &out.values[row * k];
    decodeRow(row, values);
    for (unsigned i = 0; i < k; ++i) {
      bool finite = std::isfinite(values[i]);
      Term term = split(finite ? values[i] : 0, least);
      out.significands[row * k + i] = static_cast<float>(term.significand);
      out.exponents[row * k + i] = term.exponent;
      out.isSpecial[row] |= !finite;
    }
    for (unsigned b = 0; b < desc.scaleBlocks; ++b) {
      double scale = decodeScale(desc.scale, scales[row].bytes[b]);
      if (std::isnan(scale))
        out.isScaleNaN[row] = true;
      else
        out.scales[row * maxScaleBlocks + b] = split(scale, leastScale);
    }
    out.isSpecial[row] |= out.isScaleNaN[row];
  }
}

/// Columns of B packed for FusedOperand, padded with zeros.
struct Panels {
  std::vector<float> significands;
  std::vector<int32_t> exponents;
  std::vector<int32_t> scales;

  void pack(const Rows &b, unsigned columns, unsigned k) {
    unsigned count = (columns + fusedColumns - 1) / fusedColumns;
    significands.assign(count * k * fusedColumns, 0);
    exponents.assign(count * k * fusedColumns, zeroExponent);
    scales.assign(count * fusedColumns, 0);
    for (unsigned n = 0; n < columns; ++n) {
      size_t at = n / fusedColumns * k * fusedColumns + n % fusedColumns;
      for (unsigned i = 0; i < k; ++i) {
        significands[at + i * fusedColumns] = b.significands[n * k + i];
        exponents[at + i * fusedColumns] = b.exponents[n * k + i];
      }
      scales[n] = b.scales[n * maxScaleBlocks].exponent;
    }
  }
};

/// Fused sums of a tile. All terms of a K step, including C, are aligned to the
/// largest exponent, truncated a fixed number of bits below it, added, and
/// rounded toward zero (to nearest for f16). Terms are not normalized before
/// their exponents are compared, so a subnormal keeps the smallest exponent of
/// its format, and the significand of a product may be almost four. As measured
/// on an H200, zero terms do not affect the largest exponent.
class Truncated25 {
public:
  explicit Truncated25(const MmaTile &tile)
      : tile(tile), desc(tile.desc), isHalf(desc.d == AccumulatorType::F16) {
    decodeRows(
        desc, desc.a, tile.rows, tile.scaleA,
        [&](unsigned row, double *values) { tile.decodeA(row, values); }, a);
    decodeRows(
        desc, desc.b, tile.columns, tile.scaleB,
        [&](unsigned n, double *values) { tile.decodeB(n, values); }, b);
    anySpecialB = std::find(b.isSpecial.begin(), b.isSpecial.end(), 1) !=
                  b.isSpecial.end();
  }

  void run() {
    if (tile.model.groupLength == 1)
      panels.pack(b, tile.columns, desc.k);
    for (unsigned row = 0; row < tile.rows; ++row) {
      uint32_t *cells = tile.cells[row];
      if (!cells)
        continue;
      loadAddends(cells);
      if (tile.model.groupLength == 1)
        sumProducts(row);
      else
        sumGroups(row);
      finish(row, cells);
    }
  }

private:
  const MmaTile &tile;
  const InstrDesc &desc;
  bool isHalf, anySpecialB = false, anySpecialC = false;
  Rows a, b;
  Panels panels;
  // Old accumulators, and new values of the current row.
  double addends[maxColumns];
  float addendSignificands[maxColumns] = {};
  int32_t addendExponents[maxColumns] = {};
  int32_t scales[maxColumns];
  int32_t exponents[maxColumns];
  double sums[maxColumns];

  void loadAddends(const uint32_t *cells) {
    int least = isHalf ? minExponentF16 : minExponentF32;
    double scale = powerOfTwo(-static_cast<int>(tile.scaleInputD));
    anySpecialC = false;
    for (unsigned n = 0; n < tile.columns; ++n) {
      double c = 0;
      if (tile.enableInputD)
        c = scale * (isHalf
                         ? widenF32(decode(FloatFormat::F16, cells[n] & 0xFFFF))
                         : widenF32(floatFromBits(cells[n])));
      addends[n] = c;
      anySpecialC |= !std::isfinite(c);
      Term term = split(std::isfinite(c) ? c : 0, least);
      addendSignificands[n] = static_cast<float>(term.significand);
      addendExponents[n] = std::max(term.exponent, leastExponent);
    }
  }

  void sumProducts(unsigned row) {
    unsigned k = desc.k;
    int32_t scale = a.scales[row * maxScaleBlocks].exponent;
    for (unsigned n = 0; n < tile.columns; ++n)
      scales[n] = panels.scales[n] + scale;
    for (unsigned n = tile.columns; n % fusedColumns; ++n)
      scales[n] = addendExponents[n] = 0;
    for (unsigned n = 0; n < tile.columns; n += fusedColumns)
      fusedSums({&a.significands[row * k], &a.exponents[row * k]},
                {&panels.significands[n * k], &panels.exponents[n * k]}, k,
                {addendSignificands + n, addendExponents + n, scales + n,
                 tile.model.fractionBits, sums + n, exponents + n});
    shiftSums();
  }

  /// Scales sums[n] by 2^(exponents[n] - bits).
  void shiftSums() {
    int bits = static_cast<int>(tile.model.fractionBits);
    for (unsigned n = 0; n < tile.columns; ++n)
      sums[n] *= powerOfTwo(exponents[n] - bits);
  }

  /// Adds the exact dot products of blocks, multiplied by their scales.
  void sumGroups(unsigned row) {
    unsigned k = desc.k, length = tile.model.groupLength;
    const double *x = &a.values[row * k];
    for (unsigned n = 0; n < tile.columns; ++n) {
      const double *y = &b.values[n * k];
      Term terms[maxK / 16 + 1];
      unsigned count = 0;
      int largest = addendExponents[n];
      for (unsigned first = 0; first < k; first += length) {
        double sum = 0;
        for (unsigned i = first; i < first + length; ++i)
          sum += x[i] * y[i];
        unsigned block = first * desc.scaleBlocks / k;
        const Term &sx = a.scales[row * maxScaleBlocks + block];
        const Term &sy = b.scales[n * maxScaleBlocks + block];
        Term &term = terms[count++];
        term = {sum * sx.significand * sy.significand,
                sx.exponent + sy.exponent};
        largest = std::max(largest, term.exponent);
      }
      int bits = static_cast<int>(tile.model.fractionBits);
      terms[count++] = {addendSignificands[n], addendExponents[n]};
      double sum = 0; // five integers below 2^48: exact
      for (unsigned i = 0; i < count; ++i)
        sum += cut(terms[i], bits - largest);
      sums[n] = sum;
      exponents[n] = largest;
    }
    shiftSums();
  }

  static double cut(const Term &term, int shift) {
    // Smaller powers of two also truncate every term to zero.
    int power = std::max(term.exponent + shift, -64);
    return static_cast<double>(
        static_cast<int64_t>(term.significand * powerOfTwo(power)));
  }

  void finish(unsigned row, uint32_t *cells) {
    if (isHalf) {
      for (unsigned n = 0; n < tile.columns; ++n)
        cells[n] = roundToF16Bits({sums[n], false});
    } else {
      float result[maxColumns];
      addTruncate(sums, nullptr, 1, tile.columns, result);
      std::memcpy(cells, result, tile.columns * sizeof(float));
      uint32_t keep = ~0u << (23 - tile.model.resultBits);
      if (tile.model.resultBits < 23)
        for (unsigned n = 0; n < tile.columns; ++n)
          cells[n] &= keep;
    }
    if (!a.isSpecial[row] && !anySpecialB && !anySpecialC)
      return;
    for (unsigned n = 0; n < tile.columns; ++n)
      if (a.isSpecial[row] || b.isSpecial[n] || !std::isfinite(addends[n]))
        finishSpecial(row, n, cells[n]);
  }

  /// Recomputes an element with NaN or infinite operands by IEEE rules.
  void finishSpecial(unsigned row, unsigned column, uint32_t &cell) {
    unsigned k = desc.k;
    double sum = std::isfinite(addends[column]) ? 0 : addends[column];
    bool finite = sum == 0;
    for (unsigned i = 0; i < k; ++i) {
      double product = a.values[row * k + i] * b.values[column * k + i];
      if (!std::isfinite(product)) {
        sum += product;
        finite = false;
      }
    }
    if (a.isScaleNaN[row] || b.isScaleNaN[column])
      sum = std::nan("");
    else if (finite)
      return;
    cell =
        isHalf ? roundToF16Bits({sum, false}) : truncateToF32Bits({sum, false});
  }
};

} // namespace

void mx::sim::runTruncated(const MmaTile &tile) { Truncated25(tile).run(); }

//===- MmaTruncated.cpp - tiles in the arithmetic of MMA-Sim --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model that MMA-Sim found to be bit-exact on B200 for the types it
// covers: all terms of a K step, C included, are aligned to the largest
// exponent, cut off 25 bits below it (35 for K = 64, where a term is the exact
// dot product of 16 elements), added, and rounded toward zero.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "MmaTile.h"
#include "mx/Support/FloatFormats.h"

#include <algorithm>
#include <cmath>

using namespace mx;
using namespace mx::sim;

namespace {

constexpr unsigned groupLength = 16;
constexpr int zeroExponent = -126;
constexpr int minExponentF32 = -126;
constexpr int minExponentUE4M3 = -6;

/// value = significand * 2^exponent with the exponent of the format, so that
/// subnormals have significands below one. Zero counts as 2^-126.
struct Term {
  double significand;
  int exponent;
};

Term split(double value, int minExponent) {
  if (value == 0)
    return {0, zeroExponent};
  int exponent = std::max(std::ilogb(value), minExponent);
  return {std::ldexp(value, -exponent), exponent};
}

/// The terms of one row, element by element or group by group.
struct Rows {
  std::vector<double> values;
  std::vector<Term> terms;
  std::vector<Term> scales;
  std::vector<bool> scaleNaN;
};

void decodeRows(const InstrDesc &desc, ElementType type, Packing packing,
                bool negate, const RawRows &raw, unsigned first, unsigned count,
                const std::vector<ScaleRow> &scales, Rows &out) {
  unsigned k = desc.k, blocks = desc.scaleBlocks;
  out.values.resize(count * k);
  out.terms.resize(count * k);
  out.scales.assign(count * maxScaleBlocks, Term{1, 0});
  out.scaleNaN.assign(count, false);
  for (unsigned row = 0; row < count; ++row) {
    double *values = &out.values[row * k];
    decodeRow(raw.row(first + row), type, packing, k, negate, values);
    for (unsigned i = 0; i < k; ++i)
      out.terms[row * k + i] = std::isfinite(values[i])
                                   ? split(values[i], minExponent(type))
                                   : Term{values[i], 0};
    for (unsigned b = 0; b < blocks; ++b) {
      double scale = decodeScale(desc.scale, scales[row].bytes[b]);
      if (std::isnan(scale)) {
        out.scaleNaN[row] = true;
        continue;
      }
      int least = desc.scale == ScaleType::UE4M3 ? minExponentUE4M3 : -127;
      out.scales[row * maxScaleBlocks + b] = split(scale, least);
    }
  }
}

/// Sum of the terms cut `bits` below the largest exponent.
double fusedSum(const Term *terms, unsigned count, int bits) {
  int largest = terms[0].exponent;
  for (unsigned i = 1; i < count; ++i)
    largest = std::max(largest, terms[i].exponent);
  double sum = 0; // a count of at most 65 integers below 2^45: exact
  for (unsigned i = 0; i < count; ++i)
    sum += std::trunc(
        std::ldexp(terms[i].significand, bits + terms[i].exponent - largest));
  return std::ldexp(sum, largest - bits);
}

/// NaN and infinities by IEEE rules; 0 when all is finite.
double specialSum(const double *a, const double *b, unsigned k, double c) {
  double sum = std::isfinite(c) ? 0 : c;
  for (unsigned i = 0; i < k; ++i) {
    double product = a[i] * b[i];
    if (!std::isfinite(product))
      sum += product;
  }
  return sum;
}

double dotAdd(const InstrDesc &desc, const Rows &a, const Rows &b, unsigned row,
              unsigned column, double c) {
  unsigned k = desc.k;
  if (a.scaleNaN[row] || b.scaleNaN[column])
    return std::nan("");
  double special = specialSum(&a.values[row * k], &b.values[column * k], k, c);
  if (special != 0 || std::isnan(special))
    return special;
  Term terms[maxK + 1];
  unsigned count = 0;
  terms[count++] = split(c, minExponentF32);
  const Term *scaleA = &a.scales[row * maxScaleBlocks];
  const Term *scaleB = &b.scales[column * maxScaleBlocks];
  if (k < maxK) {
    for (unsigned i = 0; i < k; ++i) {
      const Term &x = a.terms[row * k + i], &y = b.terms[column * k + i];
      terms[count++] = {x.significand * y.significand, x.exponent + y.exponent +
                                                           scaleA->exponent +
                                                           scaleB->exponent};
    }
    return fusedSum(terms, count, 25);
  }
  for (unsigned group = 0; group < k; group += groupLength) {
    double sum = 0;
    for (unsigned i = group; i < group + groupLength; ++i)
      sum += a.values[row * k + i] * b.values[column * k + i];
    unsigned block = group * desc.scaleBlocks / k;
    const Term &x = scaleA[block], &y = scaleB[block];
    terms[count++] = {sum * x.significand * y.significand,
                      x.exponent + y.exponent};
  }
  return fusedSum(terms, count, 35);
}

} // namespace

void mx::sim::runTruncated(const MmaContext &context, const MmaTile &tile) {
  const InstrDesc &desc = context.desc;
  Rows a, b;
  decodeRows(desc, desc.a, context.packingA, desc.negateA, tile.a, 0, tile.rows,
             tile.scaleA, a);
  decodeRows(desc, desc.b, context.packingB, desc.negateB, context.b,
             tile.firstB, tile.columns, tile.scaleB, b);
  bool half = desc.d == AccumulatorType::F16;
  for (unsigned row = 0; row < tile.rows; ++row) {
    unsigned lane = tile.lane(row);
    if (context.isDisabled(tile, lane))
      continue;
    uint32_t *cells = tile.cta->tensor->row(lane) + tile.column;
    for (unsigned n = 0; n < tile.columns; ++n) {
      double c = 0;
      if (context.op.enableInputD)
        c = (half ? widenF32(decode(FloatFormat::F16, cells[n] & 0xFFFF))
                  : widenF32(floatFromBits(cells[n]))) /
            (1u << context.op.scaleInputD);
      Truncated sum{dotAdd(desc, a, b, row, n, c), false};
      cells[n] = half ? roundToF16Bits(sum) : truncateToF32Bits(sum);
    }
    tile.cta->tensor->define(lane, tile.column, tile.columns);
  }
}

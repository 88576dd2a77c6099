//===- MmaKernels.h - Vectorized MMA arithmetic -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. Inner loops operate on doubles, so every product of
// two elements is exact. The sum over a K step is exact unless the exponents
// are far apart. Callers test for this.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_MMAKERNELS_H
#define MXSIM_LIB_TENSOR_MMAKERNELS_H

#include <cstdint>
#include <vector>

namespace mx::sim {

/// Columns per panel of B: panel[column / 8][k][column % 8].
constexpr unsigned panelColumns = 8;

/// Columns of B per call of fusedSums.
constexpr unsigned fusedColumns = 16;
/// Number of terms with a sum that always fits in 32 bits. Each term is less
/// than four, in units of 2^-25.
constexpr unsigned fusedTerms = 16;

/// Operand of truncated sums, with separate significands (less than two) and
/// exponents. B is packed as [k][fusedColumns].
struct FusedOperand {
  const float *significands;
  const int32_t *exponents;
};
/// Truncated sums of a row of A, fusedColumns columns of B and the addends C.
/// Every term is truncated `bits` (at most 25) below the largest exponent.
/// `scales` is added to the product exponents of each column.
struct FusedSums {
  const float *addends;
  const int32_t *addendExponents;
  const int32_t *scales;
  unsigned bits;
  /// Results: sums[n] * 2^(exponents[n] - bits).
  double *sums;
  int32_t *exponents;
};

/// A compiled variant of the inner loops. If a result is neither zero nor a
/// normal f32, `add` returns false and its output is invalid.
struct Kernels {
  const char *name;
  void (*dot)(const double *a, unsigned rows, unsigned k, const double *panels,
              unsigned numPanels, double *sums, unsigned stride);
  bool (*add)(const double *sums, const float *c, double scale, unsigned count,
              float *out);
  void (*fused)(const FusedOperand &a, const FusedOperand &b, unsigned k,
                const FusedSums &out);
};
/// Returns the variants that this processor supports, fastest first.
std::vector<Kernels> availableKernels();

/// Computes sums[i * stride + n] = sum over k of a[i * k_ + k] * panels(n, k),
/// for `rows` rows (a multiple of 8) and `panels` panels.
void dotPanels(const double *a, unsigned rows, unsigned k, const double *panels,
               unsigned numPanels, double *sums, unsigned stride);

/// Computes out[n] = RZ(sums[n] + scale * c[n]) in f32, with exact sums. `c`
/// may be null (zero) and may alias `out`. `scale` is a power of two.
void addTruncate(const double *sums, const float *c, double scale,
                 unsigned count, float *out);

void fusedSums(const FusedOperand &a, const FusedOperand &b, unsigned k,
               const FusedSums &out);

/// Real number as a double truncated toward zero, with an inexact flag. NaN and
/// infinities are exact.
struct Truncated {
  double value = 0;
  bool inexact = false;
};

/// Computes sum + c without rounding; both are exact.
Truncated addExact(double sum, double c);
/// Computes c + sum of a[i] * b[i] exactly for any exponents, with IEEE rules
/// for NaN and infinities. Products must be exact in a double.
Truncated dotExact(const double *a, const double *b, unsigned k, double c);

/// Rounds toward zero to f32. Overflow becomes infinity, and NaN becomes
/// 0x7FFFFFFF. As on an H200, underflow becomes +0 here and in the next
/// function.
uint32_t truncateToF32Bits(const Truncated &value);
/// Rounds to nearest even to f16; NaN becomes 0x7FFF.
uint16_t roundToF16Bits(const Truncated &value);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMAKERNELS_H

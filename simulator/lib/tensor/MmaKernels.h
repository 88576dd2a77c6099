//===- MmaKernels.h - the arithmetic of one MMA instruction ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. The inner loops work on operands that are already
// doubles: every product of two elements is exact in a double, and so is their
// sum over one K step unless exponents are far apart, which is tested for.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_MMAKERNELS_H
#define MXSIM_LIB_TENSOR_MMAKERNELS_H

#include <cstdint>
#include <vector>

namespace mx::sim {

/// Columns of B are packed in panels: panel[column / 8][k][column % 8].
constexpr unsigned panelColumns = 8;

/// Columns of B whose truncated sums are taken at a time.
constexpr unsigned fusedColumns = 16;
/// Terms of at most four times the unit at 25 bits that surely fit in 32 bits.
constexpr unsigned fusedTerms = 16;

/// Operands of truncated sums: significands below two and exponents, apart.
/// B is packed as [k][fusedColumns].
struct FusedOperand {
  const float *significands;
  const int32_t *exponents;
};
/// The truncated sums of one row of A, fusedColumns columns of B and the
/// addends C: all terms are cut off `bits` (at most 25) below the largest
/// exponent. `scales` is added to the exponents of the products of a column.
struct FusedSums {
  const float *addends;
  const int32_t *addendExponents;
  const int32_t *scales;
  unsigned bits;
  /// Results: sums[n] * 2^(exponents[n] - bits).
  double *sums;
  int32_t *exponents;
};

/// One compilation of the hot loops. `add` returns false, having written
/// nothing of use, when a result is neither zero nor a normal f32.
struct Kernels {
  const char *name;
  void (*dot)(const double *a, unsigned rows, unsigned k, const double *panels,
              unsigned numPanels, double *sums, unsigned stride);
  bool (*add)(const double *sums, const float *c, double scale, unsigned count,
              float *out);
  void (*fused)(const FusedOperand &a, const FusedOperand &b, unsigned k,
                const FusedSums &out);
};
/// Those that this processor can run, the fastest first.
std::vector<Kernels> availableKernels();

/// sums[i * stride + n] = sum over k of a[i * k_ + k] * panels(n, k), for
/// `rows` rows (a multiple of 8) and `panels` panels.
void dotPanels(const double *a, unsigned rows, unsigned k, const double *panels,
               unsigned numPanels, double *sums, unsigned stride);

/// out[n] = RZ(sums[n] + c[n]) in f32, where each sum is an exact value. c may
/// be null (zero) and may be out. `scale` multiplies c: a power of two.
void addTruncate(const double *sums, const float *c, double scale,
                 unsigned count, float *out);

/// Calls the best Kernels::fused.
void fusedSums(const FusedOperand &a, const FusedOperand &b, unsigned k,
               const FusedSums &out);

/// A real number as a double truncated toward zero and whether anything was
/// cut off. NaN and infinities have no remainder.
struct Truncated {
  double value = 0;
  bool inexact = false;
};

/// sum + c, both exact.
Truncated addExact(double sum, double c);
/// c + sum of a[i] * b[i] exactly, whatever the exponents are, with IEEE rules
/// for NaN and infinities. Products must be exact in a double.
Truncated dotExact(const double *a, const double *b, unsigned k, double c);

/// Rounds toward zero to f32; beyond the range to infinity; NaN to 0x7FFFFFFF.
/// What becomes zero is +0, here and below, as on an H200.
uint32_t truncateToF32Bits(const Truncated &value);
/// Rounds to nearest even to f16; NaN to 0x7FFF.
uint16_t roundToF16Bits(const Truncated &value);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMAKERNELS_H

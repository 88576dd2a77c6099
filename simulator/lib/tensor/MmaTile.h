//===- MmaTile.h - Arithmetic of MMA tiles ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. A tile multiplies rows of A by columns of B and adds
// the result to a rectangle of accumulators. tcgen05.mma uses one tile per half
// of the data path; wgmma and mma.sync use one per warp.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_MMATILE_H
#define MXSIM_LIB_TENSOR_MMATILE_H

#include "MmaOperands.h"
#include "mxsim/tensor/WarpMma.h"

namespace mx::sim {

/// Sources of a column of B as used by a row of a sparse A: for each K, the
/// index of the element, or of its two 16-bit halves for tf32.
struct SeenB {
  static constexpr uint8_t kNothing = 0xFF;
  uint8_t low[maxK], high[maxK];
};

struct MmaTile {
  explicit MmaTile(const InstrDesc &desc) : desc(desc) {}

  /// Types, K, negation, scaling and saturation. M and N are ignored.
  const InstrDesc &desc;
  Packing packingA = Packing::Bytes, packingB = Packing::Bytes;
  /// Multiples of 8, at most 128 and 256.
  unsigned rows = 0, columns = 0;
  const RawRows *a = nullptr, *b = nullptr;
  unsigned firstB = 0;
  const ScaleRow *scaleA = nullptr, *scaleB = nullptr;
  /// Null if A is dense.
  const Sparsity *sparsity = nullptr;
  /// Null if the columns of B are unmodified.
  const SeenB *seenB = nullptr;
  /// Accumulators of each row, with a word per element. Rows with a null
  /// pointer are skipped.
  uint32_t *const *cells = nullptr;
  bool enableInputD = false;
  /// D is multiplied by 2^-scaleInputD first.
  unsigned scaleInputD = 0;
  /// Single-bit products use xor instead of and.
  bool exclusiveOr = false;
  SumModel model;

  /// Decodes row `row` of A: K elements, including the zeros of a sparse
  /// matrix.
  void decodeA(unsigned row, double *values) const;
  void decodeB(unsigned column, double *values) const;
  void decodeA(unsigned row, int32_t *values) const;
  void decodeB(unsigned column, int32_t *values) const;
};

/// Runs one of the functions below on the tile. The functions substitute zeros
/// for the missing elements of a sparse A. If the zeros could change the result
/// of a row, the row is computed separately.
void run(const MmaTile &tile, void (*compute)(const MmaTile &));
/// Rounds the exact sum of all products and the accumulator once.
void runExact(const MmaTile &tile);
/// Sums according to MmaTile::model.
void runTruncated(const MmaTile &tile);
void runInteger(const MmaTile &tile);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMATILE_H

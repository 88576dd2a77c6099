//===- MmaTile.h - the arithmetic of one tile of an MMA ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. A tile is rows of A times columns of B added to a
// rectangle of accumulators, wherever these lie: tcgen05.mma has one per data
// path half, wgmma and mma.sync one per warp.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TENSOR_MMATILE_H
#define MX_LIB_SIMULATOR_TENSOR_MMATILE_H

#include "MmaOperands.h"

namespace mx::sim {

/// How much of a sum of products survives when it is not exact.
struct SumModel {
  /// Bits kept below the largest exponent of the terms.
  unsigned fractionBits = 25;
  /// Fraction bits of an f32 result; the others are cut off.
  unsigned resultBits = 23;
  /// Length of the groups whose dot products are exact terms; 1: every product
  /// is a term.
  unsigned groupLength = 1;
};

struct MmaTile {
  explicit MmaTile(const InstrDesc &desc) : desc(desc) {}

  /// Types, K, negation, scaling and saturation. M and N are not looked at.
  const InstrDesc &desc;
  Packing packingA = Packing::Bytes, packingB = Packing::Bytes;
  /// Multiples of 8, at most 128 and 256.
  unsigned rows = 0, columns = 0;
  const RawRows *a = nullptr, *b = nullptr;
  /// First column of B that this tile takes.
  unsigned firstB = 0;
  const ScaleRow *scaleA = nullptr, *scaleB = nullptr;
  /// Sparse A: for each row the K / 2 places of its stored elements in the K
  /// wide row. Null: dense.
  const uint8_t *kept = nullptr;
  /// The accumulators of each row, a word each; null: the row stays as it is.
  uint32_t *const *cells = nullptr;
  bool enableInputD = false;
  /// D is multiplied by 2^-scaleInputD first.
  unsigned scaleInputD = 0;
  SumModel model;

  /// Row `row` of A with the zeros of a sparse matrix, K elements.
  void decodeA(unsigned row, double *values) const;
  void decodeB(unsigned column, double *values) const;
  void decodeA(unsigned row, int32_t *values) const;
  void decodeB(unsigned column, int32_t *values) const;
};

/// One rounding, of the exact sum of all products and the accumulator.
void runExact(const MmaTile &tile);
/// The sum of MmaTile::model.
void runTruncated(const MmaTile &tile);
/// 32-bit integers.
void runInteger(const MmaTile &tile);

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_TENSOR_MMATILE_H

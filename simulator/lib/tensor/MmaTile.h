//===- MmaTile.h - the arithmetic of one tile of an MMA ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the engines. A tile is rows of A times columns of B added to a
// rectangle of accumulators, wherever these lie: tcgen05.mma has one per data
// path half, wgmma and mma.sync one per warp.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TENSOR_MMATILE_H
#define MXSIM_LIB_TENSOR_MMATILE_H

#include "MmaOperands.h"
#include "mxsim/tensor/WarpMma.h"

namespace mx::sim {

/// A column of B as one row of a sparse A sees it: from which element each of
/// the K comes; of tf32 from which halves of 16 bits.
struct SeenB {
  static constexpr uint8_t kNothing = 0xFF;
  uint8_t low[maxK], high[maxK];
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
  /// Null: A is dense.
  const Sparsity *sparsity = nullptr;
  /// Null: the columns of B are as they are.
  const SeenB *seenB = nullptr;
  /// The accumulators of each row, a word each; null: the row stays as it is.
  uint32_t *const *cells = nullptr;
  bool enableInputD = false;
  /// D is multiplied by 2^-scaleInputD first.
  unsigned scaleInputD = 0;
  /// Single bits: the product is xor, not and.
  bool exclusiveOr = false;
  SumModel model;

  /// Row `row` of A with the zeros of a sparse matrix, K elements.
  void decodeA(unsigned row, double *values) const;
  void decodeB(unsigned column, double *values) const;
  void decodeA(unsigned row, int32_t *values) const;
  void decodeB(unsigned column, int32_t *values) const;
};

/// Runs one of the functions below. What is dense sees zeros of A where a
/// sparse A has no element; rows for which that makes a difference are done
/// apart.
void run(const MmaTile &tile, void (*compute)(const MmaTile &));
/// One rounding, of the exact sum of all products and the accumulator.
void runExact(const MmaTile &tile);
/// The sum of MmaTile::model.
void runTruncated(const MmaTile &tile);
/// 32-bit integers.
void runInteger(const MmaTile &tile);

} // namespace mx::sim

#endif // MXSIM_LIB_TENSOR_MMATILE_H

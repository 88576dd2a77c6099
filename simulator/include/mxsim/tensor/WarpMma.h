//===- WarpMma.h - MMAs with accumulators in registers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one warp computes in mma.sync and in wgmma.mma_async: a few rows of A
// times columns of B. Operands come as rows of bytes, so nothing here knows how
// registers hold them; who calls takes fragments apart.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_WARPMMA_H
#define MXSIM_TENSOR_WARPMMA_H

#include "mxsim/tensor/Descriptors.h"
#include "mxsim/tensor/Fault.h"
#include "mxsim/tensor/Memory.h"
#include "mxsim/tensor/Tcgen05.h"

#include <array>
#include <vector>

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

/// Bytes of a row of A or B in one step: all the K elements fit.
constexpr unsigned warpRowBytes = 32;

/// Where the stored elements of a sparse A stand.
struct Sparsity {
  /// For each row the places of its K / 2 stored elements in the K wide row,
  /// all of them different. Empty: dense.
  std::vector<uint8_t> kept;
  /// A stored element that multiplies another element of B than the one at its
  /// place: metadata has named an element twice. Of tf32 each half of 16 bits
  /// has an index of its own, and `low` and `high` count halves.
  struct Detour {
    uint8_t row, place, low, high;
  };
  std::vector<Detour> detours;
};

/// A scale for each block of a row of A and of a column of B.
struct BlockScales {
  ScaleType type = ScaleType::UE8M0;
  /// Of a row or column: 1, 2 or 4; 0: nothing is scaled.
  unsigned blocks = 0;
  std::vector<std::array<uint8_t, 4>> a, b;
};

struct WarpMmaOp {
  ElementType a = ElementType::F16, b = ElementType::F16;
  AccumulatorType d = AccumulatorType::F32;
  /// Multiples of 8; N at most 256.
  unsigned rows = 16, columns = 8, k = 16;
  bool negateA = false, negateB = false;
  /// Integers: limit to the range of s32; of single bits: xor, not and.
  bool saturate = false, exclusiveOr = false;
  bool enableInputD = true;
  SumModel model;
  /// mma.sync has no circuits for 8-bit floats: when the sum is not exact, it
  /// is that of two MMAs of f16, and C is added last.
  bool viaF16 = false;
  /// Elements of 4 bits stand side by side, not in a byte each (bits 2 to 5;
  /// those of 6 bits have bits 0 to 5).
  bool isPacked = false;
  BlockScales scales;
  Sparsity sparsity;
};

/// Makes A sparse: `metadata` are the registers of 32 threads, of which the
/// selector picks some (PTX ISA, "Sparse matrix storage"). Indices that fall
/// are defined unless they are to be ordered. A Metadata fault is made all the
/// same.
Fault setSparsity(WarpMmaOp &op, const uint32_t *metadata, unsigned selector,
                  bool isOrdered);

/// cells[row * columns + n] += the dot product of row `row` of A and `n` of B.
/// A row has warpRowBytes, or one of B twice as many when A is sparse; the
/// first elements count. Products of scaled blocks are scaled. A cell is an
/// f32, an s32, or an f16 in the low half.
void multiplyRows(const WarpMmaOp &op, const uint8_t *a, const uint8_t *b,
                  Numerics numerics, uint32_t *cells);

/// One warp's share of wgmma.mma_async, with all operands captured: 16 rows of
/// A, all columns of B.
struct WgmmaOp {
  WarpMmaOp mma;
  bool transposeA = false, transposeB = false;
  /// Row 0 of the share in A: 16 times the warp's number in the warpgroup.
  unsigned firstRow = 0;
  bool aInRegisters = false;
  std::array<uint8_t, 16 * warpRowBytes> aRows;
  uint64_t aDesc = 0, bDesc = 0;
};
Fault wgmma(const WgmmaOp &op, const SharedMemory &shared, Numerics numerics,
            uint32_t *cells);

} // namespace mx::sim

#endif // MXSIM_TENSOR_WARPMMA_H

//===- WarpMma.h - MMAs with accumulators in registers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes one warp's part of mma.sync or wgmma.mma_async: some rows of A
// multiplied by columns of B. Operands are rows of bytes. Callers unpack
// register fragments.
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

/// Precision of a truncated sum of products.
struct SumModel {
  /// Bits kept below the largest exponent of the terms.
  unsigned fractionBits = 25;
  /// Fraction bits of an f32 result; lower bits are cut off.
  unsigned resultBits = 23;
  /// Number of products that are summed exactly before truncation; 1 truncates
  /// every product.
  unsigned groupLength = 1;
};

/// Bytes per row of A or B in a K step, enough for any K.
constexpr unsigned warpRowBytes = 32;

/// Positions of the stored elements of a sparse A.
struct Sparsity {
  /// For each row, the distinct positions of its K / 2 stored elements among
  /// the K positions of the row. Empty if dense.
  std::vector<uint8_t> kept;
  /// A stored element whose index repeats, so that it multiplies a different
  /// element of B than `place` implies. Each 16-bit half of a tf32 element has
  /// its own index; `low` and `high` count halves.
  struct Detour {
    uint8_t row, place, low, high;
  };
  std::vector<Detour> detours;
};

/// One scale for each block of a row of A, and of a column of B.
struct BlockScales {
  ScaleType type = ScaleType::UE8M0;
  /// Blocks per row or column: 1, 2 or 4; 0 if unscaled.
  unsigned blocks = 0;
  std::vector<std::array<uint8_t, 4>> a, b;
};

struct WarpMmaOp {
  ElementType a = ElementType::F16, b = ElementType::F16;
  AccumulatorType d = AccumulatorType::F32;
  /// Multiples of 8; N is at most 256.
  unsigned rows = 16, columns = 8, k = 16;
  bool negateA = false, negateB = false;
  /// Integers saturate to the range of s32; single-bit products use xor instead
  /// of and.
  bool saturate = false, exclusiveOr = false;
  bool enableInputD = true;
  SumModel model;
  /// mma.sync has no hardware for 8-bit floats: a truncated sum is computed by
  /// two f16 MMAs, and C is added last.
  bool viaF16 = false;
  /// True if 4-bit elements are packed two per byte. Otherwise they occupy bits
  /// 2 to 5 of a byte, and 6-bit elements bits 0 to 5.
  bool isPacked = false;
  BlockScales scales;
  Sparsity sparsity;
};

/// Makes A sparse. `metadata` contains the registers of 32 threads; `selector`
/// picks the active threads (PTX ISA, "Sparse matrix storage"). Descending
/// indices are undefined only if `isOrdered`. Sets the sparsity even if the
/// fault is Metadata.
Fault setSparsity(WarpMmaOp &op, const uint32_t *metadata, unsigned selector,
                  bool isOrdered);

/// Computes cells[row * columns + n] += the dot product of row `row` of A and
/// column `n` of B. Rows are warpRowBytes apart (twice that for B if A is
/// sparse); only the first K elements are used. Applies block scales. A cell is
/// an f32, an s32, or an f16 in the low half.
void multiplyRows(const WarpMmaOp &op, const uint8_t *a, const uint8_t *b,
                  Numerics numerics, uint32_t *cells);

/// One warp's part of wgmma.mma_async, with all operands captured: 16 rows of A
/// and all columns of B.
struct WgmmaOp {
  WarpMmaOp mma;
  bool transposeA = false, transposeB = false;
  /// First row of A: 16 times the warp index in the warpgroup.
  unsigned firstRow = 0;
  bool aInRegisters = false;
  std::array<uint8_t, 16 * warpRowBytes> aRows;
  uint64_t aDesc = 0, bDesc = 0;
};
Fault wgmma(const WgmmaOp &op, const SharedMemory &shared, Numerics numerics,
            uint32_t *cells);

} // namespace mx::sim

#endif // MXSIM_TENSOR_WARPMMA_H

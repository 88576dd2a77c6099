//===- WgmmaLayouts.h - Register layouts of wgmma ------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma prescribes which threads hold the elements of A and the accumulator,
// but rows of A, columns of B and the reduction may be computed in any order.
// These layouts permute all three so that each thread's elements are adjacent
// in memory:
//
//   reduction  16 adjacent elements of each 64, instead of 2 of each 8
//   columns    8 adjacent accumulators of each 32, instead of 2 of each 8
//   rows       adjacent rows of a warp, instead of 16 of each 64
//
// wgmma reads bf16 A from shared memory, so the reduction of A and B keeps its
// memory order. If warps own several blocks, rows of A are loaded in boxes of
// 16 in wgmma's order.
//
// Packed B is read in row pairs, as in the layout of packed weights, and
// written with permuted rows like unpacked B.
//
// mxgpu.relabel_fragment converts within each pair of layouts below.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/Wgmma.h"

namespace mx::mxgpu {

/// Rows of A per warp of an instruction.
inline constexpr int64_t kWgmmaWarpRows =
    target::kWgmmaM / target::kWarpGroupWarps;

/// Returns the number of MMA warpgroups: two if each can compute a block of 64
/// rows.
int64_t getWgmmaWarpgroups(int64_t rows);

/// Returns the number of warps for dequantizing a tile of B. The number doubles
/// if a single warpgroup multiplies a wide tile, which leaves more registers
/// and fewer MMAs to overlap. Threads own whole blocks of scales.
int64_t getDequantizeWarps(int64_t rows, int64_t columns);
class UpcastLayouts {
public:
  /// `readsA` is true if threads load A into registers, and `isPackedB` if B
  /// contains packed weights.
  UpcastLayouts(WgmmaAttr mma, int64_t tileK, bool readsA, bool isPackedB)
      : mma(mma), tileK(tileK), readsA(readsA), isPackedB(isPackedB) {}

  /// Return the number of 64-row blocks per warpgroup, and the layouts of a
  /// tile with one block per warpgroup.
  int64_t getBlocks() const { return mma.getBlocks(); }
  UpcastLayouts getBlock() const;
  WgmmaAttr getMma() const { return mma; }
  /// Layouts of a tile of A: as loaded, in wgmma's register order, and as
  /// interpreted by wgmma.
  FragmentLayoutAttr getALoad() const;
  FragmentLayoutAttr getAOrder() const;
  FragmentLayoutAttr getAOperand() const;
  /// Rows per box of A, and the first row of each box in a tile.
  int64_t getRowsOfBox() const;
  llvm::SmallVector<int64_t> getFirstRows() const;
  /// Layouts of a tile of B: as loaded and as written.
  FragmentLayoutAttr getBLoad() const;
  FragmentLayoutAttr getBOperand() const;
  /// Layouts of the accumulator and of the result elements that it represents.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;
  /// Dequantizing threads, in total and per row of B.
  int64_t getDequantizeThreads() const;
  int64_t getThreadsOfRow() const;

  WgmmaAttr mma;
  int64_t tileK;
  bool readsA, isPackedB;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H

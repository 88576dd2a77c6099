//===- WgmmaLayouts.h - Register layouts of wgmma ------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// wgmma fixes the threads of A's elements and of the accumulator, but a matmul
// is invariant under permutations of rows of A, columns of B and the reduction.
// These layouts permute them so that each thread's elements are adjacent in
// memory:
//
//   reduction  16 adjacent elements of each 64, instead of 2 of each 8
//   columns    8 adjacent accumulators of each 32, instead of 2 of each 8
//   rows       adjacent rows of a warp, instead of 16 of each 64
//
// wgmma reads bf16 A from shared memory, so the reduction of A and B keeps its
// memory order. If warps own several blocks, rows of A are loaded in boxes of
// 16 in wgmma's order.
//
// Packed B is read in the layout of packed weights, pairs of two rows, and
// written with permuted rows like any B.
//
// mxgpu.relabel_fragment converts within each pair of layouts below.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/Wgmma.h"

namespace mx::mxgpu {

/// Rows of A per warp of an instruction.
inline constexpr int64_t kWgmmaWarpRows =
    target::kWgmmaM / target::kWarpGroupWarps;

/// Returns the number of MMA warpgroups: two if each gets a block of 64 rows.
int64_t getWgmmaWarpgroups(int64_t rows);

/// Returns the warps that dequantize a tile of B: twice as many for low tiles,
/// which leave registers and less to overlap. Threads own whole blocks of
/// scales.
int64_t getDequantizeWarps(int64_t rows, int64_t columns);
class UpcastLayouts {
public:
  /// `readsA`: threads read A. `isPackedB`: B is packed weights.
  UpcastLayouts(WgmmaAttr mma, int64_t tileK, bool readsA, bool isPackedB)
      : mma(mma), tileK(tileK), readsA(readsA), isPackedB(isPackedB) {}

  /// Returns the blocks of 64 rows per warpgroup, and the layouts of a tile
  /// with a block per warpgroup.
  int64_t getBlocks() const { return mma.getBlocks(); }
  UpcastLayouts getBlock() const;
  WgmmaAttr getMma() const { return mma; }
  /// Layouts of a tile of A: as loaded, in wgmma's register order, and as
  /// interpreted by wgmma.
  FragmentLayoutAttr getALoad() const;
  FragmentLayoutAttr getAOrder() const;
  FragmentLayoutAttr getAOperand() const;
  /// Rows of a box of A, and the first row of each box of a tile.
  int64_t getRowsOfBox() const;
  llvm::SmallVector<int64_t> getFirstRows() const;
  /// Layouts of a tile of B: as loaded and as written.
  FragmentLayoutAttr getBLoad() const;
  FragmentLayoutAttr getBOperand() const;
  /// Layout of wgmma's accumulator, and of the result elements that it
  /// represents.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;
  /// Threads that dequantize B, in total and per row.
  int64_t getDequantizeThreads() const;
  int64_t getThreadsOfRow() const;

  WgmmaAttr mma;
  int64_t tileK;
  bool readsA, isPackedB;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H

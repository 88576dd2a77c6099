//===- WgmmaLayouts.h - Register layouts of A, B and sums -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// wgmma fixes which thread holds which elements of A and of the accumulator,
// but not what their rows and columns mean: a matmul is the same if rows of A,
// columns of B or the reduction are permuted. Threads that read, write and
// dequantize use this so that what they hold is adjacent in memory:
//
//   reduction  a thread's elements of A are 16 adjacent ones of each 64, where
//              wgmma has 2 of each 8;
//   columns    a thread's accumulators are 8 adjacent ones of each 32, where
//   wgmma has
//              2 of each 8;
//   rows       a warp has adjacent ones, where wgmma has 16 of each 64.
//
// An A of bf16 comes to shared memory by the copy engine, and wgmma reads it
// there: its reduction is as in memory, and so is that of B. Where warps have
// several blocks, its rows are loaded in boxes of 16, in the order in which
// wgmma deals them out.
//
// Of a packed B a thread has what the layout of packed weights gives it, pairs
// of two rows; where it writes them, rows are permuted as those of any B are.
//
// Each pair of layouts below has equal numbers of threads and registers:
// mxgpu.relabel_fragment goes from one to the other.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/Wgmma.h"

namespace mx::mxgpu {

/// Rows of an instruction's A that a warp multiplies.
inline constexpr int64_t kWgmmaWarpRows =
    target::kWgmmaM / target::kWarpGroupWarps;

/// Warpgroups that multiply tiles of `rows` rows by wgmma: two as soon as each
/// has a block of 64.
int64_t getWgmmaWarpgroups(int64_t rows);

/// Warps that dequantize B of a tile: low tiles leave registers for twice as
/// many, and have less else to wait for. A thread has whole blocks of scales.
int64_t getDequantizeWarps(int64_t rows, int64_t columns);
class UpcastLayouts {
public:
  /// `readsA` says whether threads read A, `isPackedB` whether B is packed
  /// weights.
  UpcastLayouts(WgmmaAttr mma, int64_t tileK, bool readsA, bool isPackedB)
      : mma(mma), tileK(tileK), readsA(readsA), isPackedB(isPackedB) {}

  /// Blocks of 64 rows that each warpgroup multiplies, and the layouts of a
  /// tile that has one block of each.
  int64_t getBlocks() const { return mma.getBlocks(); }
  UpcastLayouts getBlock() const;
  WgmmaAttr getMma() const { return mma; }
  /// A tile of A as threads read it, the same in the order of wgmma's
  /// registers, and what these are for wgmma.
  FragmentLayoutAttr getALoad() const;
  FragmentLayoutAttr getAOrder() const;
  FragmentLayoutAttr getAOperand() const;
  /// Where the copy engine loads A: rows of a box, and for each box of a tile
  /// in shared memory the row where it begins.
  int64_t getRowsOfBox() const;
  llvm::SmallVector<int64_t> getFirstRows() const;
  /// A tile of B as threads read it, and where they write it.
  FragmentLayoutAttr getBLoad() const;
  FragmentLayoutAttr getBOperand() const;
  /// Accumulators as wgmma gives them, and which elements of the result they
  /// are.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;
  /// Threads that dequantize B, and those of them that have a row.
  int64_t getDequantizeThreads() const;
  int64_t getThreadsOfRow() const;

  WgmmaAttr mma;
  int64_t tileK;
  bool readsA, isPackedB;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WGMMALAYOUTS_H

//===- Layouts.h - Who holds what of W times X^T -------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With wgmma_swap_ab the rows of wgmma are columns of the tile, rows of B, and
// its columns are rows of the tile: D^T = B * A^T. Its A is B, dequantized in
// the registers of the MMA warpgroups; its B is A, of bf16, where the copy
// engine put it. The reduction is as in memory, where wgmma gives a thread two
// adjacent elements of each eight: of narrow elements a byte, or two. With A in
// the order of mx.permute_reduction (mx/Support/ReductionOrder.h) they are
// adjacent.
//
// wgmma gives a thread rows i and i + 8 of each 64. Which rows of B they are is
// for us to say: two adjacent ones, so that eight lanes have 16 adjacent ones,
// of bf16 a sector of a row of the result; or where an epilogue takes the
// accumulator of two parts of B together, the same row of both parts.
//
// Accumulators of elements of B by rows of A are relabelled as rows of A by
// columns of the tile, and are then like any others.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_LAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_LAYOUTS_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"

namespace mx::mxgpu {

/// Warpgroups that multiply a tile: one for each 64 columns.
int64_t getSwapABWarpgroups(const ScheduleFields &fields);
/// The instruction of a tile.
WgmmaAttr getSwapABMma(const MatmulProblem &problem,
                       const ScheduleFields &fields);

class SwapABLayouts {
public:
  /// Of a B in `parts`, one or two. If `permuted` is not 0, A is in the order
  /// of mx.permute_reduction, blocks of `permuted` columns each on its own,
  /// and those of a thread are adjacent in memory.
  SwapABLayouts(WgmmaAttr mma, int64_t tileK, int64_t parts, int64_t permuted)
      : mma(mma), tileK(tileK), parts(parts), permuted(permuted) {}

  /// A tile of B as threads read it, dequantize it, and as wgmma takes it.
  FragmentLayoutAttr getLoad() const;
  FragmentLayoutAttr getDequantized() const;
  FragmentLayoutAttr getOperand() const;
  /// What `getLoad` gives, with columns by halves of the reduction: those of
  /// the first are what a thread multiplies first.
  FragmentLayoutAttr getHalves() const;
  /// Accumulators as wgmma gives them, and which elements of the result they
  /// are.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;

  /// Which of a thread's two rows of B.
  int64_t getStepOfTwo() const { return parts > 1 ? mma.getM() / parts : 1; }

  llvm::SmallVector<FragmentMode> getLoadThreads(int64_t run) const;
  /// Adjacent columns of a permuted tile that a thread has.
  int64_t getRun() const;

  WgmmaAttr mma;
  int64_t tileK, parts, permuted;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_LAYOUTS_H

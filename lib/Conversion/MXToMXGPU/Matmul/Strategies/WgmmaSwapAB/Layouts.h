//===- Layouts.h - Who holds what of W times X^T -------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With wgmma_swap_ab the rows of wgmma are columns of the tile, rows of B, and
// its columns are rows of the tile: D^T = B * A^T. Its A is B, dequantized in
// the registers of the MMA warpgroups; its B is A, of bf16, where the copy
// engine put it. The reduction is as in memory.
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
  /// Of a B in `parts`, one or two.
  SwapABLayouts(WgmmaAttr mma, int64_t tileK, int64_t parts)
      : mma(mma), tileK(tileK), parts(parts) {}

  /// A tile of B as threads read it, and as wgmma takes it.
  FragmentLayoutAttr getLoad() const;
  FragmentLayoutAttr getOperand() const;
  /// Accumulators as wgmma gives them, and which elements of the result they
  /// are.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResult() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;

  /// Which of a thread's two rows of B.
  int64_t getStepOfTwo() const { return parts > 1 ? mma.getM() / parts : 1; }

  WgmmaAttr mma;
  int64_t tileK, parts;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMASWAPAB_LAYOUTS_H

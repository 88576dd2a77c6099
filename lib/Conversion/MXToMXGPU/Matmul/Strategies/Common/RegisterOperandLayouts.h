//===- RegisterOperandLayouts.h - Who holds what ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The A of wgmma may be in registers. Kernels whose MMA warpgroups dequantize
// one operand of a matmul there multiply it by the other, of bf16, where the
// copy engine put it: wgmma_upcast_a the A of the matmul, wgmma_swap_ab its B.
//
// The reduction is as in memory, where wgmma gives a thread two adjacent
// elements of each eight: of narrow elements a byte, or two. With the other
// operand in #mxgpu.k_order (mx/Support/OperandOrders.h)
// they are adjacent.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Which rows of the operand the rows of the instruction are: how far apart
/// those of adjacent lanes are, a thread's two, and those of adjacent warps and
/// warpgroups.
struct RowSteps {
  int64_t lane, two, warp, warpgroup;

  /// As wgmma counts them: i and i + 8 are a thread's.
  static RowSteps ofInstruction();
  /// A thread's two are adjacent, so that eight lanes have 16 adjacent rows.
  static RowSteps ofPairs();
  /// A thread's two are the same row of both halves of `rows`.
  static RowSteps ofHalves(int64_t rows);
};

class RegisterOperandLayouts {
public:
  /// If `permuted` is not 0, the other operand is in
  /// #mxgpu.k_order, blocks of `permuted` columns each on its own.
  RegisterOperandLayouts(WgmmaAttr mma, int64_t tileK, RowSteps steps,
                         int64_t permuted)
      : mma(mma), tileK(tileK), steps(steps), permuted(permuted) {}

  /// A tile as threads read it, dequantize it, and as wgmma takes it.
  FragmentLayoutAttr getLoad() const;
  FragmentLayoutAttr getDequantized() const;
  FragmentLayoutAttr getOperand() const;
  /// What `getLoad` gives, with columns by halves of the reduction: those of
  /// the first are what a thread multiplies first.
  FragmentLayoutAttr getHalves() const;
  /// Accumulators as wgmma gives them, and which elements of the result they
  /// are where the operand is A, and where it is B.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResultOfA() const;
  FragmentLayoutAttr getResultOfB() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;
  llvm::SmallVector<FragmentMode> getLoadThreads(int64_t run) const;
  /// Adjacent columns of a permuted tile that a thread has.
  int64_t getRun() const;

  WgmmaAttr mma;
  int64_t tileK;
  RowSteps steps;
  int64_t permuted;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H

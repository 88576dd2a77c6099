//===- RegisterOperandLayouts.h - Register operand layouts ---- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// wgmma reads A from registers. Kernels whose MMA warpgroups dequantize one
// operand of the matmul use it as the register operand, with the bf16 operand
// in shared memory: the matmul's A in wgmma_upcast_a, its B in wgmma_swap_ab.
//
// By default, a thread owns two adjacent elements of each eight in the
// reduction: a byte or two of narrow elements. With the other operand in
// #mxgpu.k_order (mx/Support/OperandOrders.h), its elements are adjacent.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Row strides of the operand: between adjacent lanes, a thread's two rows,
/// warps and warpgroups.
struct RowSteps {
  int64_t lane, two, warp, warpgroup;

  /// Rows in wgmma order: a thread owns rows i and i + 8.
  static RowSteps ofInstruction();
  /// A thread's two rows are adjacent, so eight lanes own 16 adjacent rows.
  static RowSteps ofPairs();
  /// A thread's two rows are the same row of both halves of `rows`.
  static RowSteps ofHalves(int64_t rows);
};

class RegisterOperandLayouts {
public:
  /// Describes a tile of `tileK` columns. If `permuted` is not 0, the other
  /// operand is in #mxgpu.k_order with blocks of `permuted` columns.
  RegisterOperandLayouts(WgmmaAttr mma, int64_t tileK, RowSteps steps,
                         int64_t permuted)
      : mma(mma), tileK(tileK), steps(steps), permuted(permuted) {}

  /// Layouts of a tile for loads, for dequantization and for wgmma.
  FragmentLayoutAttr getLoad() const;
  FragmentLayoutAttr getDequantized() const;
  FragmentLayoutAttr getOperand() const;
  /// Returns `getLoad` with columns split into halves of the reduction; the
  /// thread multiplies the first half first.
  FragmentLayoutAttr getHalves() const;
  /// Layout of the wgmma accumulator, and of the result elements that it
  /// represents if the operand is A or B of the matmul.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResultOfA() const;
  FragmentLayoutAttr getResultOfB() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;
  llvm::SmallVector<FragmentMode> getLoadThreads(int64_t run) const;
  /// Returns the adjacent columns of a permuted tile that a thread owns.
  int64_t getRun() const;

  WgmmaAttr mma;
  int64_t tileK;
  RowSteps steps;
  int64_t permuted;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H

//===- RegisterOperandLayouts.h - Register operand layouts ---- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma can read its A from registers. If MMA warpgroups dequantize an operand
// of the matmul, that operand becomes wgmma's A in registers, and the bf16
// operand stays in shared memory. wgmma_upcast_a dequantizes the matmul's A,
// and wgmma_swap_ab dequantizes B.
//
// By default, a thread owns two adjacent elements (one or two bytes) of each
// eight reduction elements. If the other operand is in #mxgpu.k_order
// (mx/Support/OperandOrders.h), all elements of a thread are adjacent.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Row strides of the operand between adjacent lanes, between a thread's two
/// rows, between warps and between warpgroups.
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
  /// Returns `getLoad` with columns split into two halves of the reduction. The
  /// thread multiplies one half after the other.
  FragmentLayoutAttr getHalves() const;
  /// Layout of the wgmma accumulator, and layouts of the represented result
  /// elements if the register operand is the matmul's A or B.
  FragmentLayoutAttr getAccumulator() const;
  FragmentLayoutAttr getResultOfA() const;
  FragmentLayoutAttr getResultOfB() const;

private:
  FragmentLayoutAttr get(llvm::ArrayRef<FragmentMode> threads,
                         llvm::ArrayRef<FragmentMode> values) const;
  llvm::SmallVector<FragmentMode> getLoadThreads(int64_t run) const;
  /// Returns the number of adjacent columns per thread in a permuted tile.
  int64_t getRun() const;

  WgmmaAttr mma;
  int64_t tileK;
  RowSteps steps;
  int64_t permuted;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_REGISTEROPERANDLAYOUTS_H
